package openai_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/responses"
	"pgregory.net/rapid"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/internal/wirecheck"
	"github.com/sessionstore/sessionstore/providers/internal/stories"
	"github.com/sessionstore/sessionstore/providers/openai"
)

type fataler interface{ Fatalf(string, ...any) }

func prompt(t fataler, system string, history []sessionstore.Message) sessionstore.Prompt {
	p, err := sessionstore.NewPrompt(sessionstore.Session{ID: "s", System: system}, history, nil)
	if err != nil {
		t.Fatalf("NewPrompt() = %v", err)
	}
	return p
}

func marshal(t fataler, v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatalf("Marshal(%v) = %v", v, err)
	}
	return b
}

// chatWire and itemsWire return the JSON of what is sent, as the SDK writes it.
func chatWire(t fataler, p sessionstore.Prompt) ([]byte, error) {
	list, err := openai.ChatMessages(p)
	if err != nil {
		return nil, err
	}
	var body struct{ Messages json.RawMessage }
	if err := json.Unmarshal(marshal(t, sdk.ChatCompletionNewParams{Model: "m", Messages: list}), &body); err != nil {
		t.Fatalf("Unmarshal() = %v", err)
	}
	return body.Messages, nil
}

func itemsWire(t fataler, p sessionstore.Prompt) ([]byte, error) {
	items, err := openai.ResponseItems(p)
	if err != nil {
		return nil, err
	}
	var body struct{ Input json.RawMessage }
	params := responses.ResponseNewParams{Input: responses.ResponseNewParamsInputUnion{OfInputItemList: items}}
	if err := json.Unmarshal(marshal(t, params), &body); err != nil {
		t.Fatalf("Unmarshal() = %v", err)
	}
	return body.Input, nil
}

func TestAnyHistoryIsTaken(t *testing.T) {
	t.Parallel()
	for _, f := range []struct {
		name  string
		wire  func(fataler, sessionstore.Prompt) ([]byte, error)
		check func([]byte) error
	}{
		{"chat", chatWire, wirecheck.Chat},
		{"responses", itemsWire, wirecheck.Responses},
	} {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				history := stories.Histories().Draw(t, "history")
				before := marshal(t, history)
				p := prompt(t, rapid.SampledFrom([]string{"", "be kind"}).Draw(t, "system"), history)
				got, err := f.wire(t, p)
				if errors.Is(err, sessionstore.ErrInvalid) {
					if stories.HasTurn(p) {
						t.Fatalf("a prompt with something to answer is refused: %v", err)
					}
					return
				}
				if err != nil {
					t.Fatalf("got %v", err)
				}
				if err := f.check(got); err != nil {
					t.Fatalf("%v\nof %s", err, got)
				}
				again, err := f.wire(t, p)
				if err != nil || !bytes.Equal(got, again) {
					t.Fatalf("the same prompt gives\n%s and\n%s, %v", got, again, err)
				}
				if after := marshal(t, history); !bytes.Equal(before, after) {
					t.Fatalf("the history was changed:\n%s\n%s", before, after)
				}
			})
		})
	}
}

func TestGolden(t *testing.T) {
	t.Parallel()
	t.Run("chat", func(t *testing.T) {
		stories.Golden(t, "testdata/chat", func(p sessionstore.Prompt) ([]byte, error) { return chatWire(t, p) }, wirecheck.Chat)
	})
	t.Run("responses", func(t *testing.T) {
		stories.Golden(t, "testdata/responses", func(p sessionstore.Prompt) ([]byte, error) { return itemsWire(t, p) }, wirecheck.Responses)
	})
}
