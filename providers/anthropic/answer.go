package anthropic

import (
	"fmt"

	sdk "github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/internal/wire"
	"github.com/sessionstore/sessionstore/internal/wire/claude"
)

// Message returns an answer of the Messages API as the message to store. A tool_use
// becomes a tool call; any other block a part, exactly as it was received but for keys
// that are null.
//
// m must be decoded from JSON, as what the SDK's client returns is, or accumulated from a
// stream that has ended. Errors: ErrInvalid.
func Message(m sdk.Message) (sessionstore.Message, error) {
	var a wire.Answer
	for i, block := range m.Content {
		if err := claude.AddBlock(&a, wire.Parse([]byte(block.RawJSON()))); err != nil {
			return sessionstore.Message{}, fmt.Errorf("anthropic: block %d of the answer: %w", i, err)
		}
	}
	return a.Message(), nil
}
