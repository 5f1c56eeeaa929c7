package gemini_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"

	"google.golang.org/genai"
	"pgregory.net/rapid"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/internal/wirecheck"
	"github.com/sessionstore/sessionstore/providers/gemini"
	"github.com/sessionstore/sessionstore/providers/internal/stories"
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

// wireJSON returns the JSON of what is sent, under the API's keys.
func wireJSON(t fataler, p sessionstore.Prompt) ([]byte, error) {
	system, contents, err := gemini.Contents(p)
	if err != nil {
		return nil, err
	}
	return marshal(t, struct {
		System   *genai.Content   `json:"systemInstruction,omitempty"`
		Contents []*genai.Content `json:"contents"`
	}{system, contents}), nil
}

func TestAnyHistoryIsTaken(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		history := stories.Histories().Draw(t, "history")
		before := marshal(t, history)
		p := prompt(t, rapid.SampledFrom([]string{"", "be kind"}).Draw(t, "system"), history)
		got, err := wireJSON(t, p)
		if errors.Is(err, sessionstore.ErrInvalid) {
			if stories.HasTurn(p) {
				t.Fatalf("a prompt with something to answer is refused: %v", err)
			}
			return
		}
		if err != nil {
			t.Fatalf("got %v", err)
		}
		if err := wirecheck.Gemini(got); err != nil {
			t.Fatalf("%v\nof %s", err, got)
		}
		again, err := wireJSON(t, p)
		if err != nil || !bytes.Equal(got, again) {
			t.Fatalf("the same prompt gives\n%s and\n%s, %v", got, again, err)
		}
		if after := marshal(t, history); !bytes.Equal(before, after) {
			t.Fatalf("the history was changed:\n%s\n%s", before, after)
		}
	})
}

func TestGolden(t *testing.T) {
	t.Parallel()
	stories.Golden(t, "testdata/contents", func(p sessionstore.Prompt) ([]byte, error) { return wireJSON(t, p) }, wirecheck.Gemini)
}
