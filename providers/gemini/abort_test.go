package gemini_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"testing"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/agent"
	"github.com/sessionstore/sessionstore/internal/wirecheck"
	"github.com/sessionstore/sessionstore/memory"
)

// broken is an agent whose stream fails after some of its events.
type broken struct{ events []agent.Event }

var errBroken = errors.New("the stream broke")

func (b broken) Run(context.Context, agent.Request) (agent.Response, error) {
	return agent.Response{}, errBroken
}

func (b broken) Stream(context.Context, agent.Request) iter.Seq2[agent.Event, error] {
	return func(yield func(agent.Event, error) bool) {
		for _, e := range b.events {
			if !yield(e, nil) {
				return
			}
		}
		yield(nil, errBroken)
	}
}

// A stream that ends after any of its events leaves a history that the API takes with the
// next question.
func TestAbortAtEveryEvent(t *testing.T) {
	t.Parallel()
	thought, err := sessionstore.ParsePart([]byte(`{"type":"thinking","thinking":"hm","signature":"c2ln"}`))
	if err != nil {
		t.Fatal(err)
	}
	events := []agent.Event{
		agent.ReasoningDelta{Text: "hm"},
		agent.PartDone{Part: thought},
		agent.TextDelta{Text: "Let me "},
		agent.TextDelta{Text: "see."},
		agent.ToolCallStart{Index: 0, ID: "a", Name: "add"},
		agent.ToolCallStart{Index: 1, ID: "b", Name: "add"},
		agent.ToolCallDelta{Index: 1, Arguments: `{"n"`},
		agent.ToolCallDelta{Index: 0, Arguments: `{}`},
		agent.ToolCallDone{Index: 0, Call: sessionstore.ToolCall{ID: "a", Name: "add", Arguments: `{}`}},
	}
	for n := range len(events) + 1 {
		t.Run(fmt.Sprint("after ", n), func(t *testing.T) {
			t.Parallel()
			store, err := memory.New(nil)
			if err != nil {
				t.Fatal(err)
			}
			m := sessionstore.NewManager(store, nil)
			c, err := agent.Start(t.Context(), m, sessionstore.Session{System: "Be brief."}, broken{events[:n]})
			if err != nil {
				t.Fatal(err)
			}
			for _, err = range c.Stream(t.Context(), sessionstore.UserMessage("Hi")) {
			}
			if !errors.Is(err, errBroken) {
				t.Fatalf("Stream: got %v, want %v", err, errBroken)
			}
			if _, err := c.AddMessage(t.Context(), sessionstore.UserMessage("Are you there?")); err != nil {
				t.Fatal(err)
			}
			p, err := m.Prompt(t.Context(), c.SessionID(), nil)
			if err != nil {
				t.Fatal(err)
			}
			request, err := wireJSON(p)
			if err == nil {
				err = wirecheck.Gemini(request)
			}
			if err != nil {
				t.Errorf("%s: got %v, want a request that the API takes", request, err)
			}
		})
	}
}
