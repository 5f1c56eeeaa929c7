package openai

import (
	"fmt"

	"github.com/openai/openai-go/v3/responses"

	"github.com/sessionstore/sessionstore"
	wireresponses "github.com/sessionstore/sessionstore/internal/wire/responses"
)

// ResponseItems returns a prompt as the input of a Responses request: Session.System
// first, as a message of role system, then an item for each message, call, result and
// piece of reasoning, in their order; see the package's comment. The same prompt gives
// the same bytes.
//
// The items are whole, without the ids that OpenAI stores them under, so that they may
// be sent with store false; reasoning then needs its encrypted content, which a request
// with include reasoning.encrypted_content gets.
//
// Errors: ErrInvalid for an attachment that is malformed, and for a prompt without a
// message for the model to answer.
func ResponseItems(p sessionstore.Prompt) (responses.ResponseInputParam, error) {
	items, err := wireresponses.Items(p, true, nil)
	if err != nil {
		return nil, fmt.Errorf("openai: %w", err)
	}
	out := make(responses.ResponseInputParam, len(items))
	for i, o := range items {
		out[i] = typed[responses.ResponseInputItemUnionParam](o.Raw())
	}
	return out, nil
}
