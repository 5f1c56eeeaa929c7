package wire_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/internal/stories"
	"github.com/sessionstore/sessionstore/internal/wire/chat"
	"github.com/sessionstore/sessionstore/internal/wire/claude"
)

// prompt is a history as it is sent.
func prompt(t *testing.T, history ...sessionstore.Message) sessionstore.Prompt {
	t.Helper()
	for i := range history {
		history[i].ID, history[i].Seq = fmt.Sprint("m", i), int64(i+1)
	}
	p, err := sessionstore.NewPrompt(sessionstore.Session{System: "Be brief."}, history, nil)
	if err != nil {
		t.Fatalf("NewPrompt: got %v, want nil", err)
	}
	return p
}

// turns returns the messages of an Anthropic request, once all APIs would take the prompt.
func turns(t *testing.T, p sessionstore.Prompt) []claude.Turn {
	t.Helper()
	if err := stories.Sendable(p); err != nil {
		t.Error(err)
	}
	_, turns, err := claude.Messages(p, nil)
	if err != nil {
		t.Fatalf("claude.Messages: got %v, want nil", err)
	}
	return turns
}

// Field report C03: the results of one answer's parallel calls go into one user message,
// directly after it, whatever their order was.
func TestParallelResults(t *testing.T) {
	t.Parallel()
	for n := 1; n <= 8; n++ {
		var calls []sessionstore.ToolCall
		history := []sessionstore.Message{sessionstore.UserMessage("go"), {}}
		var ids []string
		for i := range n {
			ids = append(ids, fmt.Sprint("call_", i))
			calls = append(calls, sessionstore.ToolCall{ID: ids[i], Name: "f", Arguments: "{}"})
			history = append(history, sessionstore.ToolMessage(fmt.Sprint("call_", n-1-i), "done"))
		}
		history[1] = sessionstore.AssistantMessage("", calls...)
		got := turns(t, prompt(t, append(history, sessionstore.AssistantMessage("ok"))...))
		if len(got) != 4 || got[1].Role != "assistant" || got[2].Role != "user" || got[3].Role != "assistant" {
			t.Fatalf("%d calls: got %d messages, want user, assistant, user and assistant", n, len(got))
		}
		var answered []string
		for _, b := range got[2].Blocks {
			if b.String("type") == "tool_result" {
				answered = append(answered, b.String("tool_use_id"))
			}
		}
		slices.Sort(answered)
		if len(got[2].Blocks) != n || !slices.Equal(answered, ids) {
			t.Errorf("%d calls: the message after them answers %q in %d blocks, want %q", n, answered, len(got[2].Blocks), ids)
		}
	}
}

// Field report C04: no form of an empty content becomes an empty block of text, and a chat
// message has its content always.
func TestEmptyContents(t *testing.T) {
	t.Parallel()
	for name, content := range map[string]sessionstore.Content{
		"null": {}, "empty": sessionstore.Text(""), "spaces": sessionstore.Text("  "), "a text": sessionstore.Text("x"),
		"no parts": sessionstore.Parts(), "an empty part": sessionstore.Parts(sessionstore.TextPart("")),
		"a part of spaces": sessionstore.Parts(sessionstore.TextPart(" ")), "a part": sessionstore.Parts(sessionstore.TextPart("x")),
	} {
		for _, calls := range [][]sessionstore.ToolCall{nil, {{ID: "call_1", Name: "f", Arguments: "{}"}}} {
			t.Run(fmt.Sprintf("%s, %d calls", name, len(calls)), func(t *testing.T) {
				t.Parallel()
				m := sessionstore.Message{Role: sessionstore.RoleAssistant, Content: content, ToolCalls: calls}
				history := []sessionstore.Message{sessionstore.UserMessage("go"), m}
				if calls != nil {
					history = append(history, sessionstore.ToolMessage("call_1", "done"))
				}
				p := prompt(t, append(history, sessionstore.UserMessage("on"))...)
				for _, turn := range turns(t, p) {
					for _, b := range turn.Blocks {
						if b.String("type") == "text" && strings.TrimSpace(b.String("text")) == "" {
							t.Errorf("Anthropic gets the block %s", b.Raw())
						}
					}
				}
				messages, _, err := chat.Messages(p, nil)
				if err != nil {
					t.Fatal(err)
				}
				for _, m := range messages {
					if one, _ := m.AppendJSON(nil); !strings.Contains(string(one), `"content":`) {
						t.Errorf("%s has no content", one)
					}
				}
			})
		}
	}
}

// Field report C20: what roles come in whatever order, Anthropic's alternate, and all that
// was said is there in its order.
func TestRolesAlternate(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		var history []sessionstore.Message
		var said []string
		for i := range 1 + random.IntN(12) {
			said = append(said, fmt.Sprint("text ", i))
			if random.IntN(2) == 0 {
				history = append(history, sessionstore.UserMessage(said[i]))
			} else {
				history = append(history, sessionstore.AssistantMessage(said[i]))
			}
		}
		// Somebody has to be answered.
		said = append(said, "the end")
		p := prompt(t, append(history, sessionstore.UserMessage("the end"))...)
		var got []string
		last := ""
		for _, turn := range turns(t, p) {
			if turn.Role == last {
				t.Fatalf("two messages of role %s in a row", last)
			}
			last = turn.Role
			for _, b := range turn.Blocks {
				if text := b.String("text"); text != claude.Opening {
					got = append(got, strings.Split(text, "\n\n")...)
				}
			}
		}
		if !slices.Equal(got, said) {
			t.Fatalf("said %q, want %q", got, said)
		}
	}
}
