package openai_test

import (
	"encoding/json"
	"testing"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/responses"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/internal/stories"
	"github.com/sessionstore/sessionstore/internal/wirecheck"
	"github.com/sessionstore/sessionstore/providers/openai"
)

// chatWire and itemsWire return the JSON of what is sent, as the SDK writes it.
func chatWire(p sessionstore.Prompt) ([]byte, error) {
	list, err := openai.ChatMessages(p)
	if err != nil {
		return nil, err
	}
	return member("messages", sdk.ChatCompletionNewParams{Model: "m", Messages: list})
}

func itemsWire(p sessionstore.Prompt) ([]byte, error) {
	items, err := openai.ResponseItems(p)
	if err != nil {
		return nil, err
	}
	return member("input", responses.ResponseNewParams{Input: responses.ResponseNewParamsInputUnion{OfInputItemList: items}})
}

// member returns one member of the JSON of v.
func member(key string, v any) ([]byte, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	var body map[string]json.RawMessage
	err = json.Unmarshal(b, &body)
	return body[key], err
}

func TestAnyHistoryIsTaken(t *testing.T) {
	t.Parallel()
	t.Run("chat", func(t *testing.T) {
		t.Parallel()
		stories.AnyHistory(t, chatWire, wirecheck.Chat)
	})
	t.Run("responses", func(t *testing.T) {
		t.Parallel()
		stories.AnyHistory(t, itemsWire, wirecheck.Responses)
	})
}

func TestGolden(t *testing.T) {
	t.Parallel()
	t.Run("chat", func(t *testing.T) {
		stories.Golden(t, "testdata/chat", chatWire, wirecheck.Chat)
	})
	t.Run("responses", func(t *testing.T) {
		stories.Golden(t, "testdata/responses", itemsWire, wirecheck.Responses)
	})
}
