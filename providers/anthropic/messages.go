package anthropic

import (
	"fmt"

	sdk "github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/internal/wire/claude"
)

// Opening is the text of the user message that goes before an answer which begins the
// conversation, such as a greeting, because the API wants a user first.
const Opening = claude.Opening

// Messages returns a prompt as the system and the messages of a Messages request; see the
// package's comment for what goes where. The same prompt gives the same bytes.
//
// Errors: ErrInvalid for an attachment that is malformed, and for a prompt without a
// message for the model to answer.
func Messages(p sessionstore.Prompt) ([]sdk.TextBlockParam, []sdk.MessageParam, error) {
	blocks, turns, err := claude.Messages(p, nil)
	if err != nil {
		return nil, nil, fmt.Errorf("anthropic: %w", err)
	}
	var system []sdk.TextBlockParam
	for _, o := range blocks {
		system = append(system, typed[sdk.TextBlockParam](o.Raw()))
	}
	messages := make([]sdk.MessageParam, 0, len(turns))
	for _, t := range turns {
		blocks := make([]sdk.ContentBlockParamUnion, len(t.Blocks))
		for i, o := range t.Blocks {
			blocks[i] = typed[sdk.ContentBlockParamUnion](o.Raw())
		}
		if t.Role == "assistant" {
			messages = append(messages, sdk.NewAssistantMessage(blocks...))
		} else {
			messages = append(messages, sdk.NewUserMessage(blocks...))
		}
	}
	return system, messages, nil
}
