package stories

import (
	"encoding/json"
	"fmt"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/internal/wire"
	"github.com/sessionstore/sessionstore/internal/wire/chat"
	"github.com/sessionstore/sessionstore/internal/wire/claude"
	"github.com/sessionstore/sessionstore/internal/wire/responses"
	"github.com/sessionstore/sessionstore/internal/wirecheck"
)

// Sendable returns the error with which an API would refuse the prompt: Chat Completions,
// Responses, or Messages.
func Sendable(p sessionstore.Prompt) error {
	messages, _, err := chat.Messages(p, nil)
	if err := taken("Chat Completions", messages, err, wirecheck.Chat); err != nil {
		return err
	}
	items, err := responses.Items(p, true, nil)
	if err := taken("Responses", raws(items), err, wirecheck.Responses); err != nil {
		return err
	}
	system, turns, err := claude.Messages(p, nil)
	request := map[string]any{"system": raws(system)}
	list := []any{}
	for _, turn := range turns {
		list = append(list, map[string]any{"role": turn.Role, "content": raws(turn.Blocks)})
	}
	request["messages"] = list
	return taken("Messages", request, err, wirecheck.Anthropic)
}

func taken(api string, request any, err error, check func([]byte) error) error {
	var raw []byte
	if err == nil {
		raw, err = json.Marshal(request)
	}
	if err == nil {
		err = check(raw)
	}
	if err != nil {
		return fmt.Errorf("%s: %s: %w", api, raw, err)
	}
	return nil
}

func raws(objects []wire.Object) []json.RawMessage {
	out := []json.RawMessage{}
	for _, o := range objects {
		out = append(out, o.Raw())
	}
	return out
}
