package openai

import (
	"encoding/json"
	"fmt"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/param"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/internal/wire"
	wirechat "github.com/sessionstore/sessionstore/internal/wire/chat"
)

// ChatMessages returns a prompt as the messages of a Chat Completions request, as
// [sessionstore.Prompt.ChatMessages] does, and leaves out or translates what that API,
// or a server compatible with it, refuses; see the package's comment. The same prompt
// gives the same bytes.
//
// Errors: ErrInvalid for an attachment that is malformed, and for a prompt without a
// message for the model to answer.
func ChatMessages(p sessionstore.Prompt) ([]sdk.ChatCompletionMessageParamUnion, error) {
	chat, _, err := wirechat.Messages(p, nil)
	if err != nil {
		return nil, fmt.Errorf("openai: %w", err)
	}
	out := make([]sdk.ChatCompletionMessageParamUnion, 0, len(chat))
	for _, c := range chat {
		raw, err := c.AppendJSON(nil)
		if err != nil {
			return nil, fmt.Errorf("openai: %w", err)
		}
		v := typed[sdk.ChatCompletionMessageParamUnion](raw)
		if c.Role == sessionstore.RoleAssistant && c.Content.IsNull() {
			v = nullContent(v, raw)
		}
		out = append(out, v)
	}
	return out, nil
}

// nullContent sets the fields of an answer whose content is null, which the SDK does not
// read from JSON.
func nullContent(v sdk.ChatCompletionMessageParamUnion, raw json.RawMessage) sdk.ChatCompletionMessageParamUnion {
	var a sdk.ChatCompletionAssistantMessageParam
	if a.UnmarshalJSON(raw) != nil {
		return v
	}
	a.Content = param.NullStruct[sdk.ChatCompletionAssistantMessageParamContentUnion]()
	if b, err := json.Marshal(a); err != nil || !wire.Same(b, raw) {
		return v
	}
	return sdk.ChatCompletionMessageParamUnion{OfAssistant: &a}
}
