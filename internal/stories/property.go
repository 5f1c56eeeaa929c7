package stories

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"

	"pgregory.net/rapid"

	"github.com/sessionstore/sessionstore"
)

// AnyHistory checks that the request which wire makes of any history is one that the API
// takes, the same each time, and leaves the history as it is. Only a prompt without
// anything to answer may be refused.
func AnyHistory(t *testing.T, wire func(sessionstore.Prompt) ([]byte, error), check func([]byte) error) {
	rapid.Check(t, func(t *rapid.T) {
		history := Histories().Draw(t, "history")
		system := rapid.SampledFrom([]string{"", "be kind"}).Draw(t, "system")
		before := JSON(t, history)
		p := Prompt(t, system, history)
		got, err := wire(p)
		if errors.Is(err, sessionstore.ErrInvalid) {
			if HasTurn(p) {
				t.Fatalf("a prompt with something to answer is refused: %v", err)
			}
			return
		}
		if err != nil {
			t.Fatalf("got %v", err)
		}
		if err := check(got); err != nil {
			t.Fatalf("%v\nof %s", err, got)
		}
		again, err := wire(p)
		if err != nil || !bytes.Equal(got, again) {
			t.Fatalf("the same prompt gives\n%s and\n%s, %v", got, again, err)
		}
		if after := JSON(t, history); !bytes.Equal(before, after) {
			t.Fatalf("the history was changed:\n%s\n%s", before, after)
		}
	})
}

// Prompt returns the prompt of a session with that history.
func Prompt(t Fataler, system string, history []sessionstore.Message) sessionstore.Prompt {
	p, err := sessionstore.NewPrompt(sessionstore.Session{ID: "s", System: system}, history, nil)
	if err != nil {
		t.Fatalf("NewPrompt() = %v", err)
	}
	return p
}

// JSON returns v as JSON.
func JSON(t Fataler, v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatalf("Marshal(%v) = %v", v, err)
	}
	return b
}

// Fataler is a test, or a check of rapid's in one.
type Fataler interface {
	Fatalf(format string, args ...any)
}
