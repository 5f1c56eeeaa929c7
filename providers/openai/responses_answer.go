package openai

import (
	"fmt"

	"github.com/openai/openai-go/v3/responses"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/internal/wire"
	wireresponses "github.com/sessionstore/sessionstore/internal/wire/responses"
)

// ResponseMessage returns the answer of a Responses request as one message to store.
// Texts and refusals become parts, and calls tool calls by their call_id. Any other item
// (reasoning with its encrypted content, a web search) becomes a part exactly as it was
// received.
//
// r must be decoded from JSON, as what the SDK's client returns is. Errors: ErrInvalid.
func ResponseMessage(r responses.Response) (sessionstore.Message, error) {
	var a wire.Answer
	for i, item := range r.Output {
		o := wire.Parse([]byte(item.RawJSON()))
		if o == nil {
			return sessionstore.Message{}, fmt.Errorf("openai: output item %d: %w", i, wire.Invalid("output", "was not decoded from JSON"))
		}
		if err := wireresponses.AddItem(&a, o); err != nil {
			return sessionstore.Message{}, fmt.Errorf("openai: output item %d: %w", i, err)
		}
	}
	return a.Message(), nil
}
