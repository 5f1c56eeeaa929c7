package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/agent"
	"github.com/sessionstore/sessionstore/verify"
)

// While a turn is under way, the same handle does not begin another, and says so before
// the model is asked.
func TestASecondTurnOfAHandleIsRefusedAtOnce(t *testing.T) {
	t.Parallel()
	m := newModel(t, says("Hello."))
	c := start(t, newStore(t), m)
	for e, err := range c.Stream(t.Context(), user("Hi")) {
		if err != nil {
			t.Fatalf("Stream: got %v, want nil", err)
		}
		if _, ok := e.(agent.TextDelta); !ok {
			continue
		}
		_, ran := c.Run(t.Context(), user("Me too"))
		_, streamed := drain(c.Stream(t.Context(), user("Me too")))
		batch, added := c.AddMessage(t.Context(), user("Me too"))
		if len(batch) != 1 || batch[0].ID == "" {
			t.Errorf("AddMessage during a turn: got %v, want the message with an id", batch)
		}
		_, continued := c.Continue(t.Context())
		for what, err := range map[string]error{"Run": ran, "Stream": streamed, "AddMessage": added, "Continue": continued, "Clear": c.Clear(t.Context())} {
			if !errors.Is(err, agent.ErrBusy) || !errors.Is(err, sessionstore.ErrConflict) {
				t.Errorf("%s during a turn: got %v, want %v, which is a conflict", what, err, agent.ErrBusy)
			}
		}
	}
	if m.asked() != 1 {
		t.Errorf("requests: got %d, want 1", m.asked())
	}
	wantHistory(t, c, "user: Hi", "assistant: Hello.")
	run(t, c, user("And now?"))
}

// A turn that waits runs after the one before it, on the history that it left.
func TestASecondTurnWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newModel(t, says("Hello."), says("Fine."))
		c := start(t, newStore(t), m, agent.WithWait(true))
		second := make(chan error, 1)
		for e, err := range c.Stream(t.Context(), user("Hi")) {
			if err != nil {
				t.Fatalf("Stream: got %v, want nil", err)
			}
			if _, ok := e.(agent.TextDelta); !ok {
				continue
			}
			go func() {
				_, err := c.Run(t.Context(), user("How are you?"))
				second <- err
			}()
			ctx, cancel := context.WithCancel(t.Context())
			third := make(chan error, 1)
			go func() {
				_, err := c.Run(ctx, user("Never mind"))
				third <- err
			}()
			synctest.Wait() // both wait
			if m.asked() != 1 {
				t.Errorf("requests while the first turn is under way: got %d, want 1", m.asked())
			}
			cancel()
			if err := <-third; !errors.Is(err, context.Canceled) {
				t.Errorf("a turn that is cancelled while it waits: got %v, want %v", err, context.Canceled)
			}
		}
		if err := <-second; err != nil {
			t.Errorf("the turn that waited: got %v, want nil", err)
		}
		wantHistory(t, c, "user: Hi", "assistant: Hello.", "user: How are you?", "assistant: Fine.")
		if got := len(m.requests[1].History); got != 2 {
			t.Errorf("history of the turn that waited: got %d messages, want 2", got)
		}
	})
}

// A tool that uses the conversation it is called in would wait for itself.
func TestAToolCannotWaitForItsOwnTurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var c *agent.Conversation
		tool := agent.Tool{Name: "add", Run: func(ctx context.Context, _ sessionstore.ToolCall) (sessionstore.Content, error) {
			_, err := c.Run(ctx, user("Hi"))
			return sessionstore.Content{}, err
		}}
		c = start(t, newStore(t), newModel(t, calls(call("a")), says("Well.")), agent.WithWait(true), agent.WithTools(tool))
		r := run(t, c, user("Hi"))
		if got := r.Turn[2].Content.String(); !strings.Contains(got, agent.ErrBusy.Error()) {
			t.Errorf("result of the tool: got %q, want %v", got, agent.ErrBusy)
		}
	})
}

// meanwhile makes an answer during which another handle makes a turn.
func meanwhile(t *testing.T, a answer, other func() *agent.Conversation, input sessionstore.Message) answer {
	a.before = func(agent.Request) {
		if _, err := other().Run(t.Context(), input); err != nil {
			t.Errorf("turn of another handle: got %v, want nil", err)
		}
	}
	return a
}

// Field report S09 (two turns at once interleave): of two handles on a session the one
// that is later gets a conflict, with its answer, and nothing of it is stored.
func TestTheLaterOfTwoHandlesGetsAConflict(t *testing.T) {
	t.Parallel()
	for backend, open := range backends {
		t.Run(backend, func(t *testing.T) {
			t.Parallel()
			store := open(t)
			ways := map[string]func(*agent.Conversation) error{
				"Run": func(c *agent.Conversation) error {
					r, err := c.Run(t.Context(), user("Hi"))
					if r.Text != "Hello." {
						t.Errorf("Run: got answer %q, want Hello.", r.Text)
					}
					return err
				},
				"Stream": func(c *agent.Conversation) error {
					_, err := drain(c.Stream(t.Context(), user("Hi")))
					return err
				},
			}
			for what, turn := range ways {
				var c *agent.Conversation
				other := func() *agent.Conversation { return reopen(t, store, c, newModel(t, says("First."))) }
				c = start(t, store, newModel(t, meanwhile(t, says("Hello."), other, user("Me first"))))
				err := turn(c)
				var unsaved *agent.UnsavedError
				var conflict *sessionstore.ConflictError
				if !errors.As(err, &unsaved) || !errors.As(err, &conflict) || unsaved.Cause != nil {
					t.Fatalf("%s: got %v, want an UnsavedError of a ConflictError without a cause", what, err)
				}
				if conflict.Field != "last_seq" || conflict.Expected != 0 || conflict.Actual != 2 {
					t.Errorf("%s: got %+v, want last_seq 0, but 2", what, *conflict)
				}
				wantHistory(t, c, "user: Me first", "assistant: First.")
				wantNext(t, store, c)

				// To store it all the same is the caller's decision.
				if _, err := c.AddMessage(t.Context(), unsaved.Append.Messages...); err != nil {
					t.Errorf("%s: append after a conflict: got %v, want nil", what, err)
				}
				if h := lines(history(t, c)); !slices.Equal(h[len(h)-2:], []string{"user: Hi", "assistant: Hello."}) {
					t.Errorf("%s: got history %q, want the turn at its end", what, h)
				}
			}
		})
	}
}

// A turn that waits is run again on the new history if another handle came first.
func TestAWaitingTurnRunsOnTheNewHistory(t *testing.T) {
	t.Parallel()
	store := newStore(t)
	for what, turn := range map[string]func(*agent.Conversation) (agent.Response, error){
		"Run": func(c *agent.Conversation) (agent.Response, error) { return c.Run(t.Context(), user("Hi")) },
		"Stream": func(c *agent.Conversation) (agent.Response, error) {
			events, err := drain(c.Stream(t.Context(), user("Hi")))
			if err != nil {
				return agent.Response{}, err
			}
			var acc agent.Accumulator
			for _, e := range events {
				acc.Add(e)
			}
			r := finished(t, events)
			if got, _ := acc.Response(); got.Text != r.Text || !slices.ContainsFunc(events, func(e agent.Event) bool { return e == agent.Event(agent.Restart{}) }) {
				t.Errorf("events: got %v, which add up to %q, want a Restart and %q", events, got.Text, r.Text)
			}
			return r, nil
		},
	} {
		var c *agent.Conversation
		other := func() *agent.Conversation { return reopen(t, store, c, newModel(t, says("First."))) }
		m := newModel(t, meanwhile(t, says("Void."), other, user("Me first")), says("Hello."))
		c = start(t, store, m, agent.WithWait(true))
		r, err := turn(c)
		if err != nil || r.Text != "Hello." || len(r.Turn) != 2 {
			t.Errorf("%s: got %q, a turn of %d, %v, want Hello., 2, nil", what, r.Text, len(r.Turn), err)
		}
		wantHistory(t, c, "user: Me first", "assistant: First.", "user: Hi", "assistant: Hello.")
		if got := len(m.requests[1].History); got != 2 {
			t.Errorf("%s: history of the second request: got %d messages, want 2", what, got)
		}
	}
}

// A turn that is beaten time and again gives up.
func TestAWaitingTurnGivesUp(t *testing.T) {
	t.Parallel()
	store := newStore(t)
	var c *agent.Conversation
	other := func() *agent.Conversation { return reopen(t, store, c, newModel(t)) }
	m := newModel(t)
	for range 20 {
		m.script = append(m.script, meanwhile(t, says("Void."), other, user("Me first")))
	}
	c = start(t, store, m, agent.WithWait(true))
	if _, err := c.Run(t.Context(), user("Hi")); !errors.Is(err, sessionstore.ErrConflict) {
		t.Errorf("got %v, want %v", err, sessionstore.ErrConflict)
	}
	if m.asked() != 11 {
		t.Errorf("requests: got %d, want 11", m.asked())
	}
}

// Between the steps of a tool loop another handle may come in; then the loop ends, so
// that nothing of it comes after the other's turn.
func TestAToolLoopDoesNotGoOnAfterAnothersTurn(t *testing.T) {
	t.Parallel()
	for _, wait := range []bool{false, true} {
		store := newStore(t)
		var c *agent.Conversation
		tool := agent.Tool{Name: "add", Run: func(context.Context, sessionstore.ToolCall) (sessionstore.Content, error) {
			run(t, reopen(t, store, c, newModel(t, says("First."))), user("Me first"))
			return sessionstore.Text("3"), nil
		}}
		c = start(t, store, newModel(t, calls(call("a"))), agent.WithTools(tool), agent.WithWait(wait))
		_, err := c.Run(t.Context(), user("Hi"))
		var unsaved *agent.UnsavedError
		if !errors.As(err, &unsaved) || !errors.Is(err, sessionstore.ErrConflict) || len(unsaved.Append.Messages) != 1 {
			t.Fatalf("wait %t: got %v, want a conflict with the result in it", wait, err)
		}
		wantHistory(t, c, "user: Hi", "assistant:  +a", "user: Me first", "assistant: First.")
		wantNext(t, store, c)
		// A late result is worth keeping: a request has it next to its call.
		if _, err := c.AddMessage(t.Context(), unsaved.Append.Messages...); err != nil {
			t.Errorf("wait %t: append of a late result: got %v, want nil", wait, err)
		}
		wantNext(t, store, c)
	}
}

// The same if the other handle comes in after the result is stored: the model is not asked
// again for an answer that could not be kept.
func TestAToolLoopLooksBeforeItAsksAgain(t *testing.T) {
	t.Parallel()
	store := newStore(t)
	var tool adder
	m := newModel(t, calls(call("a")))
	c := start(t, store, m, agent.WithTools(tool.tool()), agent.WithWait(true))
	var err error
	for e, failed := range c.Stream(t.Context(), user("Hi")) {
		if _, ok := e.(agent.ToolResult); ok {
			run(t, reopen(t, store, c, newModel(t, says("First."))), user("Me first"))
		}
		err = failed
	}
	var conflict *sessionstore.ConflictError
	if !errors.As(err, &conflict) || m.asked() != 1 {
		t.Errorf("got %v after %d requests, want a ConflictError after 1", err, m.asked())
	}
	wantHistory(t, c, "user: Hi", "assistant:  +a", "tool: sum of a =a", "user: Me first", "assistant: First.")
	wantNext(t, store, c)
}

// Field report S09: many turns at once, with tools, on one handle and on several. Each
// turn's messages lie together, what was acknowledged is there, and the history is valid.
func TestManyTurnsAtOnceDoNotInterleave(t *testing.T) {
	t.Parallel()
	const workers, turns = 4, 5
	for backend, open := range backends {
		for _, handles := range []int{1, workers} {
			t.Run(fmt.Sprintf("%s, %d handles", backend, handles), func(t *testing.T) {
				t.Parallel()
				store := open(t)
				tool, err := agent.NewTool("add", "Adds.", func(_ context.Context, n struct{ N string }) (string, error) { return n.N, nil })
				if err != nil {
					t.Fatalf("NewTool: got %v, want nil", err)
				}
				opts := []agent.Option{agent.WithTools(tool), agent.WithWait(true)}
				first := start(t, store, stepper{}, opts...)
				cs := []*agent.Conversation{first}
				for len(cs) < handles {
					cs = append(cs, reopen(t, store, first, stepper{}, opts...))
				}
				var mu sync.Mutex
				acked := map[string]bool{}
				var wg sync.WaitGroup
				for w := range workers {
					wg.Go(func() {
						for i := range turns {
							id := fmt.Sprintf("%d-%d", w, i)
							r, err := cs[w%handles].Run(t.Context(), named(id, id))
							switch {
							case err == nil && r.Text == "done "+id:
								mu.Lock()
								acked[id] = true
								mu.Unlock()
							case handles > 1 && errors.Is(err, sessionstore.ErrConflict):
							default:
								t.Errorf("turn %s: got %q, %v, want done, or a conflict between handles", id, r.Text, err)
							}
						}
					})
				}
				wg.Wait()
				if handles == 1 && len(acked) != workers*turns {
					t.Errorf("turns that succeeded on one handle: got %d, want %d", len(acked), workers*turns)
				}
				checkTurns(t, history(t, first), acked)
				if report, err := verify.Store(t.Context(), store, nil); err != nil || report.Err() != nil {
					t.Errorf("verify: got %v, %v, want nil", report, err)
				}
				run(t, first, user("last"))
			})
		}
	}
}

// stepper is a model that calls a tool with the id of the turn, and then is done.
type stepper struct{ agent.Echo }

func (stepper) Run(_ context.Context, req agent.Request) (agent.Response, error) {
	last := req.Prompt().Messages[len(req.Prompt().Messages)-1]
	if last.Role == sessionstore.RoleTool {
		return agent.Response{Text: "done " + last.Content.String()}, nil
	}
	args, err := json.Marshal(map[string]string{"N": last.Content.String()})
	return agent.Response{ToolCalls: []sessionstore.ToolCall{{ID: "call-" + last.Content.String(), Name: "add", Arguments: string(args)}}}, err
}

// checkTurns checks that a history consists of the beginnings of turns, and of all of
// those that were acknowledged.
func checkTurns(t *testing.T, h []sessionstore.Message, acked map[string]bool) {
	t.Helper()
	whole := map[string]bool{}
	for i := 0; i < len(h); {
		id := h[i].ID
		want := []string{"user: " + id, "assistant:  +call-" + id, "tool: " + id + " =call-" + id, "assistant: done " + id}
		n := 1
		for i+n < len(h) && h[i+n].Role != sessionstore.RoleUser {
			n++
		}
		if got := lines(h[i : i+n]); n > len(want) || n < 2 || !slices.Equal(got, want[:n]) {
			t.Errorf("messages from %d on: got %q, want the beginning of %q", i, got, want)
		}
		whole[id] = n == len(want)
		i += n
	}
	for id := range acked {
		if !whole[id] {
			t.Errorf("turn %s: got it in part or not at all, want all of it", id)
		}
	}
}
