package agent_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/agent"
	"github.com/sessionstore/sessionstore/storetest"
)

// Field report C26 (a retry stores the turn again): a turn that is tried again with its id
// is stored once, and the model is not asked again.
func TestARepeatedTurnIsStoredOnce(t *testing.T) {
	t.Parallel()
	for backend, open := range backends {
		t.Run(backend, func(t *testing.T) {
			t.Parallel()
			store := open(t)
			m := newModel(t, says("Hello."), says("Bye."))
			c := start(t, store, m)
			first := run(t, c, named("t1", "Hi"))
			run(t, c, user("Bye"))
			for _, c := range []*agent.Conversation{c, reopen(t, store, c, m)} {
				again := run(t, c, named("t1", "Hi"))
				if !again.Repeated || first.Repeated || again.Text != "Hello." || again.Message.ID != first.Message.ID {
					t.Errorf("again: got Repeated %t, %q, message %s, want true, Hello., %s", again.Repeated, again.Text, again.Message.ID, first.Message.ID)
				}
				wantSame(t, "repeating", again.Turn, first.Turn)
				events, err := drain(c.Stream(t.Context(), named("t1", "Hi")))
				if err != nil || !finished(t, events).Repeated {
					t.Errorf("Stream again: got %v, %v, want a repeated answer", events, err)
				}
				if _, err := c.Run(t.Context(), named("t1", "Something else")); !errors.Is(err, sessionstore.ErrMessageExists) {
					t.Errorf("the id with another text: got %v, want %v", err, sessionstore.ErrMessageExists)
				}
			}
			if m.asked() != 2 {
				t.Errorf("requests: got %d, want 2", m.asked())
			}
			wantHistory(t, c, "user: Hi", "assistant: Hello.", "user: Bye", "assistant: Bye.")

			// A turn that is stored can be had again from a session that takes no more.
			if _, err := sessionstore.NewManager(store, nil).End(t.Context(), c.SessionID()); err != nil {
				t.Fatalf("End: got %v, want nil", err)
			}
			if again := run(t, c, named("t1", "Hi")); again.Text != "Hello." {
				t.Errorf("again, closed: got %q, want Hello.", again.Text)
			}
		})
	}
}

// Two attempts of a turn at the same time: the one that is later gets the answer of the
// other.
func TestTwoAttemptsAtOnce(t *testing.T) {
	t.Parallel()
	for _, wait := range []bool{false, true} {
		store := newStore(t)
		var c *agent.Conversation
		other := func() *agent.Conversation { return reopen(t, store, c, newModel(t, says("First."))) }
		m := newModel(t,
			meanwhile(t, says("Void."), other, named("t1", "Hi")),
			meanwhile(t, says("Void."), other, named("t2", "Hi")),
		)
		c = start(t, store, m, agent.WithWait(wait))
		if r := run(t, c, named("t1", "Hi")); r.Text != "First." || !r.Repeated {
			t.Errorf("wait %t: got %q, Repeated %t, want First., true", wait, r.Text, r.Repeated)
		}
		events, err := drain(c.Stream(t.Context(), named("t2", "Hi")))
		if err != nil {
			t.Fatalf("wait %t, Stream: got %v, want nil", wait, err)
		}
		var acc agent.Accumulator
		for _, e := range events[:len(events)-1] {
			acc.Add(e)
		}
		added, _ := acc.Response()
		if r := finished(t, events); r.Text != "First." || !r.Repeated || added.Text != r.Text {
			t.Errorf("wait %t, Stream: got %q, Repeated %t, and events of %q, want First., true, First.", wait, r.Text, r.Repeated, added.Text)
		}
		wantHistory(t, c, "user: Hi", "assistant: First.", "user: Hi", "assistant: First.")
	}
}

// A turn whose append succeeded though its answer was lost is not stored again, neither by
// another try nor by an append of what the error has.
func TestALostAnswerOfTheStore(t *testing.T) {
	t.Parallel()
	lose := true
	store := storetest.NewFaulty(newStore(t), func(c storetest.Call) storetest.Fault {
		if c.Method == "AppendMessages" && lose {
			lose = false
			return storetest.FailAfter
		}
		return storetest.Pass
	})
	m := newModel(t, says("Hello."))
	c := start(t, store, m)
	input := user("Hi")
	r, err := c.Run(t.Context(), input)
	var unsaved *agent.UnsavedError
	if !errors.As(err, &unsaved) || !errors.Is(err, storetest.ErrFault) || r.Text != "Hello." {
		t.Fatalf("got %q, %v, want Hello. and an UnsavedError", r.Text, err)
	}
	again := run(t, c, unsaved.Append.Messages[0]) // has the turn's id
	if !again.Repeated || again.Text != "Hello." || m.asked() != 1 {
		t.Errorf("again: got Repeated %t, %q, %d requests, want true, Hello., 1", again.Repeated, again.Text, m.asked())
	}
	if _, err := store.AppendMessages(t.Context(), c.SessionID(), unsaved.Append); err != nil {
		t.Errorf("append again: got %v, want nil", err)
	}
	wantHistory(t, c, "user: Hi", "assistant: Hello.")
}

// loopScript is a turn of three answers with calls, which stores loopHistory.
func loopScript() []answer {
	return []answer{calls(call("a"), call("b")), calls(call("c")), says("Done.")}
}

var loopHistory = []string{
	"user: Hi", "assistant:  +a +b", "tool: sum of a =a", "tool: sum of b =b",
	"assistant:  +c", "tool: sum of c =c", "assistant: Done.",
}

// Field report C02 (a crash within a turn with tools leaves a session that no request can
// be made of): whatever part of a turn is stored when the process dies, the next turn is
// valid; Continue, or the same turn again, takes the turn up where it stands, and runs no
// call again that has a result.
func TestATurnIsTakenUpAfterACrash(t *testing.T) {
	t.Parallel()
	store := newStore(t)
	var tool adder
	full := start(t, store, newModel(t, loopScript()...), agent.WithTools(tool.tool()))
	input := named("turn", "Hi")
	run(t, full, input)
	wantHistory(t, full, loopHistory...)
	stored := history(t, full)

	for what, takeUp := range map[string]func(*agent.Conversation) (agent.Response, error){
		"Run":      func(c *agent.Conversation) (agent.Response, error) { return c.Run(t.Context(), input) },
		"Continue": func(c *agent.Conversation) (agent.Response, error) { return c.Continue(t.Context()) },
		"Stream": func(c *agent.Conversation) (agent.Response, error) {
			events, err := drain(c.Stream(t.Context(), input))
			if err != nil {
				return agent.Response{}, err
			}
			return finished(t, events), nil
		},
		"ContinueStream": func(c *agent.Conversation) (agent.Response, error) {
			events, err := drain(c.ContinueStream(t.Context()))
			if err != nil {
				return agent.Response{}, err
			}
			return finished(t, events), nil
		},
	} {
		for k := 1; k <= len(stored); k++ {
			// The answers that are stored already will not be given again.
			answers := loopScript()
			for _, m := range stored[:k] {
				if m.Role == sessionstore.RoleAssistant {
					answers = answers[1:]
				}
			}
			open := map[int]string{2: "map[a:1 b:1 c:1]", 3: "map[b:1 c:1]", 4: "map[c:1]", 5: "map[c:1]"}
			var tool adder
			m := newModel(t, answers...)
			c := crashed(t, store, stored[:k], m, agent.WithTools(tool.tool()))
			pending, err := c.PendingToolCalls(t.Context())
			if want := map[int]int{2: 2, 3: 1, 5: 1}[k]; err != nil || len(pending) != want {
				t.Errorf("%d messages: got %d pending calls, %v, want %d", k, len(pending), err, want)
			}
			r, err := takeUp(c)
			if err != nil || r.Text != "Done." || r.Repeated != (k == len(stored)) {
				t.Errorf("%s after %d messages: got %q, Repeated %t, %v, want Done., %t, nil", what, k, r.Text, r.Repeated, err, k == len(stored))
			}
			wantHistory(t, c, loopHistory...)
			want := open[k]
			if k == 1 {
				want = "map[a:1 b:1 c:1]"
			} else if want == "" {
				want = "map[]"
			}
			if got := fmt.Sprint(tool.ran); got != want {
				t.Errorf("%s after %d messages: got calls %s run, want %s", what, k, got, want)
			}
			if m.asked() != len(answers) {
				t.Errorf("%s after %d messages: got %d requests, want %d", what, k, m.asked(), len(answers))
			}

			// Or it is left alone, and the user goes on.
			c = crashed(t, store, stored[:k], newModel(t), agent.WithTools(tool.tool()))
			run(t, c, user("Something else"))
			if k == len(stored) {
				continue
			}
			if _, err := c.Run(t.Context(), input); !errors.Is(err, sessionstore.ErrConflict) {
				t.Errorf("Run of a turn that was left after %d messages: got %v, want %v", k, err, sessionstore.ErrConflict)
			}
			if r, err := c.Continue(t.Context()); err != nil || !r.Repeated || r.Text != "…" {
				t.Errorf("Continue after a turn that was left: got %q, Repeated %t, %v, want the last answer", r.Text, r.Repeated, err)
			}
		}
	}
}

// crashed returns a conversation whose session holds the messages.
func crashed(tb testing.TB, store sessionstore.SessionStore, messages []sessionstore.Message, a agent.Agent, opts ...agent.Option) *agent.Conversation {
	tb.Helper()
	c := start(tb, store, a, opts...)
	var batch []sessionstore.Message
	for _, m := range messages {
		m.SessionID = ""
		batch = append(batch, m)
	}
	if _, err := c.AddMessage(tb.Context(), batch...); err != nil {
		tb.Fatalf("AddMessage: got %v, want nil", err)
	}
	return c
}

// Field report C28 (a tool has run, but storing its result fails: its result is lost, or it
// is run again): whichever append of a turn fails, the error has what was to be stored.
// Once that is appended the turn goes on, and no tool runs twice.
func TestAFailedAppendOfAnyStep(t *testing.T) {
	t.Parallel()
	for _, fault := range []storetest.Fault{storetest.FailBefore, storetest.FailAfter} {
		for k := 1; k <= 6; k++ {
			appends := 0
			store := storetest.NewFaulty(newStore(t), func(c storetest.Call) storetest.Fault {
				if c.Method == "AppendMessages" {
					if appends++; appends == k {
						return fault
					}
				}
				return storetest.Pass
			})
			var tool adder
			c := start(t, store, newModel(t, loopScript()...), agent.WithTools(tool.tool()))
			_, err := c.Run(t.Context(), user("Hi"))
			var unsaved *agent.UnsavedError
			if !errors.As(err, &unsaved) || !errors.Is(err, storetest.ErrFault) {
				t.Fatalf("append %d: got %v, want an UnsavedError", k, err)
			}
			for range 2 {
				if _, err := store.AppendMessages(t.Context(), unsaved.SessionID, unsaved.Append); err != nil {
					t.Errorf("append %d, again: got %v, want nil", k, err)
				}
			}
			if r, err := c.Continue(t.Context()); err != nil || r.Text != "Done." {
				t.Errorf("after append %d failed: got %q, %v, want Done.", k, r.Text, err)
			}
			wantHistory(t, c, loopHistory...)
			if got := fmt.Sprint(tool.ran); got != "map[a:1 b:1 c:1]" {
				t.Errorf("after append %d failed: got calls %s run, want each once", k, got)
			}
		}
	}
}

// Whichever append fails, the turn can also be forgotten: the conversation goes on.
func TestAFailedAppendDoesNotStopTheConversation(t *testing.T) {
	t.Parallel()
	for k := 1; k <= 6; k++ {
		appends := 0
		store := storetest.NewFaulty(newStore(t), func(c storetest.Call) storetest.Fault {
			if c.Method == "AppendMessages" {
				if appends++; appends == k {
					return storetest.FailBefore
				}
			}
			return storetest.Pass
		})
		var tool adder
		c := start(t, store, newModel(t, loopScript()...), agent.WithTools(tool.tool()))
		if _, err := drain(c.Stream(t.Context(), user("Hi"))); !errors.Is(err, storetest.ErrFault) {
			t.Fatalf("append %d: got %v, want %v", k, err, storetest.ErrFault)
		}
		wantHistory(t, c, loopHistory[:[]int{0, 2, 3, 4, 5, 6}[k-1]]...)
		c = reopen(t, store, c, newModel(t))
		wantNext(t, store, c)
	}
}

// Any call to the store may fail: the error says so, and the handle stays usable.
func TestAnyFailureOfTheStore(t *testing.T) {
	t.Parallel()
	for _, input := range []sessionstore.Message{user("Hi"), named("turn", "Hi")} {
		for k := int64(2); ; k++ { // the first call creates the session
			store := storetest.NewFaulty(newStore(t), storetest.FailCall(k, storetest.FailBefore))
			var tool adder
			c := start(t, store, newModel(t, loopScript()...), agent.WithTools(tool.tool()))
			_, err := c.Run(t.Context(), input)
			if err == nil {
				if k < 10 {
					t.Errorf("calls of a turn with three answers: got %d, want more", k-2)
				}
				break
			}
			if !errors.Is(err, storetest.ErrFault) {
				t.Errorf("call %d: got %v, want %v", k, err, storetest.ErrFault)
			}
			wantNext(t, store.SessionStore, reopen(t, store.SessionStore, c, newModel(t)))
			if r, err := c.Run(t.Context(), user("Again")); err != nil || r.Text == "" && len(r.ToolCalls) == 0 {
				t.Errorf("the same handle after call %d failed: got %q, %v, want an answer", k, r.Text, err)
			}
		}
	}
}

// Field report S41 (what was acknowledged is lost when the process ends): a turn that has
// returned is in the file.
func TestATurnThatReturnedIsDurable(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "sessions.db")
	store := openBolt(t, path)
	c := start(t, store, newModel(t, says("Hello."), answer{events: pieces(t)}))
	run(t, c, user("Hi"))
	ctx, cancel := context.WithCancel(t.Context())
	at(c.Stream(ctx, user("And?")), 4, func() bool { cancel(); return true })
	if err := store.Close(); err != nil {
		t.Fatalf("Close: got %v, want nil", err)
	}
	if _, err := c.Run(t.Context(), user("Hi")); !errors.Is(err, sessionstore.ErrStoreClosed) {
		t.Errorf("Run on a closed store: got %v, want %v", err, sessionstore.ErrStoreClosed)
	}
	store = openBolt(t, path)
	c = reopen(t, store, c, newModel(t))
	wantHistory(t, c, "user: Hi", "assistant: Hello.", "user: And?", "assistant: Let  !cancelled")
	wantNext(t, store, c)
}

// An interrupted turn that is tried again with its id is returned as it is.
func TestAnInterruptedTurnIsNotMadeAgain(t *testing.T) {
	t.Parallel()
	m := newModel(t, answer{events: pieces(t), err: errModel})
	c := start(t, newStore(t), m)
	input := named("turn", "Hi")
	if _, err := drain(c.Stream(t.Context(), input)); !errors.Is(err, errModel) {
		t.Fatalf("got %v, want %v", err, errModel)
	}
	for range 2 {
		r := run(t, c, input)
		if r.FinishReason != agent.FinishInterrupted || !r.Repeated || r.Text != "Let me see." {
			t.Errorf("again: got %q, %q, Repeated %t, want interrupted, the text so far, true", r.FinishReason, r.Text, r.Repeated)
		}
	}
	if r, err := c.Continue(t.Context()); err != nil || r.FinishReason != agent.FinishInterrupted || m.asked() != 1 {
		t.Errorf("Continue: got %q, %v, %d requests, want interrupted, nil, 1", r.FinishReason, err, m.asked())
	}
}
