package agent_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/agent"
	"github.com/sessionstore/sessionstore/storetest"
)

// The pieces of a stream that is aborted at each of them: reasoning with its part, text,
// and tool calls in parallel, one of them whole.
func pieces(tb testing.TB) []agent.Event {
	return []agent.Event{
		agent.ReasoningDelta{Text: "hm"},
		agent.ReasoningDelta{Text: "m"},
		agent.PartDone{Part: part(tb, `{"type":"thinking","thinking":"hmm","signature":"c2ln"}`)},
		agent.TextDelta{Text: "Let "},
		agent.TextDelta{Text: "me see."},
		agent.ToolCallStart{Index: 0, ID: "a", Name: "add"},
		agent.ToolCallStart{Index: 1, ID: "b", Name: "add"},
		agent.ToolCallDelta{Index: 1, Arguments: `{"n"`},
		agent.ToolCallDelta{Index: 0, Arguments: `{}`},
		agent.ToolCallDone{Index: 0, Call: sessionstore.ToolCall{ID: "a", Name: "add", Arguments: `{}`}},
		agent.ToolCallDelta{Index: 1, Arguments: `:`},
	}
}

// abort is a way for a stream to end after n of its events have been consumed.
type abort struct {
	name   string
	reason agent.Reason
	// script returns what the model does, if it is the model that ends the stream.
	script func(events []agent.Event, n int) answer
	// consume reads the stream and ends it at the n-th event. It returns the error that came.
	consume func(ctx context.Context, s func(context.Context) iter.Seq2[agent.Event, error], n int) error
	want    error
}

func whole(events []agent.Event, _ int) answer { return answer{events: events} }

// at calls do once the n-th event has come, and reads on if do returns true.
func at(s iter.Seq2[agent.Event, error], n int, do func() bool) error {
	seen := 0
	for _, err := range s {
		if err != nil {
			return err
		}
		if seen++; seen == n && !do() {
			return nil
		}
	}
	return nil
}

func always() bool { return true }

type boom struct{}

var aborts = []abort{
	{
		name: "break", reason: agent.ReasonStopped, script: whole,
		consume: func(ctx context.Context, s func(context.Context) iter.Seq2[agent.Event, error], n int) error {
			return at(s(ctx), n, func() bool { return false })
		},
	},
	{
		name: "pulled and stopped", reason: agent.ReasonStopped, script: whole,
		consume: func(ctx context.Context, s func(context.Context) iter.Seq2[agent.Event, error], n int) error {
			next, stop := iter.Pull2(s(ctx))
			defer stop()
			for range n {
				if _, err, ok := next(); err != nil || !ok {
					return errors.Join(err, errors.New("too few events"))
				}
			}
			return nil
		},
	},
	{
		name: "panic", reason: agent.ReasonPanicked, script: whole,
		consume: func(ctx context.Context, s func(context.Context) iter.Seq2[agent.Event, error], n int) (err error) {
			defer func() {
				if p := recover(); p != (boom{}) {
					err = fmt.Errorf("recovered %v, want the consumer's panic", p)
				}
			}()
			return at(s(ctx), n, func() bool { panic(boom{}) })
		},
	},
	{
		name: "goroutine ended", reason: agent.ReasonPanicked, script: whole,
		consume: func(ctx context.Context, s func(context.Context) iter.Seq2[agent.Event, error], n int) error {
			done := make(chan struct{})
			go func() {
				defer close(done)
				at(s(ctx), n, func() bool { runtime.Goexit(); return false })
			}()
			<-done
			return nil
		},
	},
	{
		name: "cancel", reason: agent.ReasonCancelled, script: whole, want: context.Canceled,
		consume: func(ctx context.Context, s func(context.Context) iter.Seq2[agent.Event, error], n int) error {
			ctx, cancel := context.WithCancel(ctx)
			defer cancel()
			return at(s(ctx), n, func() bool { cancel(); return true })
		},
	},
	{
		name: "deadline", reason: agent.ReasonTimeout, script: whole, want: context.DeadlineExceeded,
		consume: func(ctx context.Context, s func(context.Context) iter.Seq2[agent.Event, error], n int) error {
			ctx, cancel := context.WithTimeout(ctx, time.Hour)
			defer cancel()
			return at(s(ctx), n, func() bool { <-ctx.Done(); return true })
		},
	},
	{
		name: "error", reason: agent.ReasonFailed, want: errModel,
		script: func(events []agent.Event, n int) answer { return answer{events: events[:n], err: errModel} },
		consume: func(ctx context.Context, s func(context.Context) iter.Seq2[agent.Event, error], n int) error {
			return at(s(ctx), n, always)
		},
	},
	{
		name: "cut", reason: agent.ReasonFailed, want: io.ErrUnexpectedEOF,
		script: func(events []agent.Event, n int) answer { return answer{events: events[:n], cut: true} },
		consume: func(ctx context.Context, s func(context.Context) iter.Seq2[agent.Event, error], n int) error {
			return at(s(ctx), n, always)
		},
	},
}

// partialText is the text of events.
func partialText(events []agent.Event) string {
	var b strings.Builder
	for _, e := range events {
		if d, ok := e.(agent.TextDelta); ok {
			b.WriteString(d.Text)
		}
	}
	return b.String()
}

// Field reports C22 (the partial answer, and the user's turn, are lost when a stream is
// aborted), C23 (half a tool call, or reasoning without what follows it, spoils the next
// request) and C20 (an aborted turn leaves an undefined state): abort at every event, in
// every way, leaves the user's message and the text so far, marked. The next request is
// valid, the handle free, and no goroutine left: synctest fails if there is one.
func TestAbortAtEveryEventLeavesTheDocumentedState(t *testing.T) {
	t.Parallel()
	for _, a := range aborts {
		t.Run(a.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				events := pieces(t)
				for n := 1; n <= len(events); n++ {
					store := newStore(t)
					m := newModel(t, a.script(events, n))
					c := start(t, store, m)
					stream := func(ctx context.Context) iter.Seq2[agent.Event, error] { return c.Stream(ctx, user("Hi")) }
					if err := a.consume(t.Context(), stream, n); !errors.Is(err, a.want) {
						t.Errorf("event %d: got error %v, want %v", n, err, a.want)
					}
					wantHistory(t, c, "user: Hi", "assistant: "+partialText(events[:n])+" !"+string(a.reason))
					wantRaw(t, history(t, c)[1], n)
					wantNext(t, store, c)
				}
			})
		})
	}
}

// wantRaw checks that what was left out of an aborted answer can be looked at, and is not
// sent.
func wantRaw(tb testing.TB, m sessionstore.Message, n int) {
	tb.Helper()
	i, ok := agent.Interrupted(m)
	if !ok {
		tb.Fatalf("event %d: got metadata %v, want an interruption", n, m.Metadata)
	}
	if len(m.ToolCalls) != 0 || !m.Content.IsText() {
		tb.Errorf("event %d: got content %v and calls %v, want text alone", n, m.Content, m.ToolCalls)
	}
	reasoning := []string{"", "hm", "hmm"}[min(n, 2)]
	if i.Reasoning != reasoning || len(i.Parts) != min(1, n/3) {
		tb.Errorf("event %d: got reasoning %q and parts %q, want %q and %d", n, i.Reasoning, i.Parts, reasoning, min(1, n/3))
	}
	var calls []agent.PartialCall
	if n >= 6 {
		calls = append(calls, agent.PartialCall{ID: "a", Name: "add"})
	}
	if n >= 7 {
		calls = append(calls, agent.PartialCall{ID: "b", Name: "add"})
	}
	if n >= 8 {
		calls[1].Arguments = `{"n"`
	}
	if n >= 9 {
		calls[0].Arguments = `{}`
	}
	if n >= 11 {
		calls[1].Arguments = `{"n":`
	}
	if !slices.Equal(i.ToolCalls, calls) {
		tb.Errorf("event %d: got calls %v, want %v", n, i.ToolCalls, calls)
	}
}

// A model that does not look at the context is stopped at its next event; but if that is
// the last one, the answer is complete, and kept as such.
func TestACancelledStreamOfADeafModel(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"a b c": "assistant: a  !cancelled", "a": "assistant: a"} {
		var events []agent.Event
		for word := range strings.SplitAfterSeq(text, " ") {
			events = append(events, agent.TextDelta{Text: word})
		}
		c := start(t, newStore(t), newModel(t, answer{events: events, deaf: true}))
		ctx, cancel := context.WithCancel(t.Context())
		at(c.Stream(ctx, user("Hi")), 1, func() bool { cancel(); return true })
		wantHistory(t, c, "user: Hi", want)
	}
}

// The same on every backend, for one way: a context that is done does not keep the turn
// from being stored.
func TestAnAbortedTurnIsStoredOnEveryBackend(t *testing.T) {
	t.Parallel()
	for backend, open := range backends {
		t.Run(backend, func(t *testing.T) {
			t.Parallel()
			store := open(t)
			events := pieces(t)
			for n := 1; n <= len(events); n++ {
				c := start(t, store, newModel(t, answer{events: events}))
				ctx, cancel := context.WithCancel(t.Context())
				if err := at(c.Stream(ctx, user("Hi")), n, func() bool { cancel(); return true }); !errors.Is(err, context.Canceled) {
					t.Errorf("event %d: got %v, want %v", n, err, context.Canceled)
				}
				wantHistory(t, c, "user: Hi", "assistant: "+partialText(events[:n])+" !cancelled")
				wantNext(t, store, c)
			}
		})
	}
}

// An abort in a later step of a tool loop leaves the steps before it, and the partial
// answer after them.
func TestAbortInALaterStep(t *testing.T) {
	t.Parallel()
	for _, a := range aborts {
		t.Run(a.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				events := pieces(t)
				for n := 1; n <= len(events); n++ {
					store := newStore(t)
					var tool adder
					c := start(t, store, newModel(t, calls(call("x")), a.script(events, n)), agent.WithTools(tool.tool()))
					const before = 3 // the call, Step and ToolResult
					stream := func(ctx context.Context) iter.Seq2[agent.Event, error] { return c.Stream(ctx, user("Hi")) }
					if err := a.consume(t.Context(), stream, before+n); !errors.Is(err, a.want) {
						t.Errorf("event %d: got error %v, want %v", n, err, a.want)
					}
					wantHistory(t, c, "user: Hi", "assistant:  +x", "tool: sum of x =x", "assistant: "+partialText(events[:n])+" !"+string(a.reason))
					wantNext(t, store, c)
				}
			})
		})
	}
}

// To leave a stream between the steps of a tool loop ends the turn there: what was
// answered is stored, and the calls that have not been run are pending.
func TestLeavingBetweenSteps(t *testing.T) {
	t.Parallel()
	for _, a := range aborts {
		if a.reason == agent.ReasonFailed { // the model does not come into it
			continue
		}
		for n, want := range map[int][]string{
			3: {"user: Hi", "assistant:  +a +b"},                                           // at Step
			4: {"user: Hi", "assistant:  +a +b", "tool: sum of a =a"},                      // at the first result
			5: {"user: Hi", "assistant:  +a +b", "tool: sum of a =a", "tool: sum of b =b"}, // at the second
		} {
			t.Run(fmt.Sprintf("%s at event %d", a.name, n), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					store := newStore(t)
					var tool adder
					c := start(t, store, newModel(t, calls(call("a"), call("b")), says("Done.")), agent.WithTools(tool.tool()))
					stream := func(ctx context.Context) iter.Seq2[agent.Event, error] { return c.Stream(ctx, user("Hi")) }
					if err := a.consume(t.Context(), stream, n); !errors.Is(err, a.want) {
						t.Errorf("got error %v, want %v", err, a.want)
					}
					wantHistory(t, c, want...)
					if a.want == nil { // a context that is done has kept the model from being asked
						r, err := c.Continue(t.Context())
						if err != nil || r.Text != "Done." {
							t.Errorf("Continue: got %q, %v, want Done.", r.Text, err)
						}
						if got := fmt.Sprint(tool.ran); got != "map[a:1 b:1]" {
							t.Errorf("calls run: got %s, want each once", got)
						}
					}
					wantNext(t, store, c)
				})
			})
		}
	}
}

// A model that fails, or a consumer that leaves, before there is any output leaves no
// trace.
func TestWithoutOutputNothingIsStored(t *testing.T) {
	t.Parallel()
	for name, a := range map[string]answer{
		"error":            {err: errModel},
		"cut":              {cut: true},
		"nothing but \"\"": {events: []agent.Event{agent.TextDelta{}, agent.ReasoningDelta{}}, err: errModel},
	} {
		store := newStore(t)
		c := start(t, store, newModel(t, a, a))
		if _, err := c.Run(t.Context(), user("Hi")); !errors.Is(err, errModel) {
			t.Errorf("%s, Run: got %v, want %v", name, err, errModel)
		}
		if _, err := drain(c.Stream(t.Context(), user("Hi"))); err == nil {
			t.Errorf("%s, Stream: got nil, want an error", name)
		}
		wantHistory(t, c)
		wantNext(t, store, c)
	}

	store := newStore(t)
	c := start(t, store, newModel(t, answer{events: []agent.Event{agent.TextDelta{}}}))
	for range c.Stream(t.Context(), user("Hi")) {
		break
	}
	wantHistory(t, c)
}

// A stream that nobody iterates does nothing.
func TestAStreamBeginsWithItsIteration(t *testing.T) {
	t.Parallel()
	store := newStore(t)
	m := newModel(t)
	c := start(t, store, m)
	c.Stream(t.Context(), user("Hi"))
	if m.asked() != 0 {
		t.Errorf("requests: got %d, want 0", m.asked())
	}
	wantNext(t, store, c)
}

// What is kept of an unfinished turn is an option.
func TestUnfinished(t *testing.T) {
	t.Parallel()
	partial := answer{events: []agent.Event{agent.TextDelta{Text: "Hel"}}, err: errModel}
	nothing := answer{err: errModel}
	for _, tc := range []struct {
		name   string
		opt    agent.Unfinished
		script answer
		want   []string
	}{
		{"partial", agent.KeepPartial, partial, []string{"user: Hi", "assistant: Hel !failed"}},
		{"partial, no output", agent.KeepPartial, nothing, nil},
		{"nothing", agent.KeepNothing, partial, nil},
		{"input", agent.KeepInput, partial, []string{"user: Hi", "assistant: Hel !failed"}},
		{"input, no output", agent.KeepInput, nothing, []string{"user: Hi"}},
	} {
		c := start(t, newStore(t), newModel(t, tc.script, says("Hello.")), agent.WithUnfinished(tc.opt))
		if _, err := drain(c.Stream(t.Context(), named("t", "Hi"))); !errors.Is(err, errModel) {
			t.Errorf("%s: got %v, want %v", tc.name, err, errModel)
		}
		wantHistory(t, c, tc.want...)
		if len(tc.want) == 1 { // the input alone: it can be answered later
			if r, err := c.Continue(t.Context()); err != nil || r.Text != "Hello." {
				t.Errorf("%s, Continue: got %q, %v, want Hello.", tc.name, r.Text, err)
			}
			wantHistory(t, c, "user: Hi", "assistant: Hello.")
		}
	}

	// Run has no partial output.
	c := start(t, newStore(t), newModel(t, nothing, says("Hello.")), agent.WithUnfinished(agent.KeepInput))
	if _, err := c.Run(t.Context(), named("t", "Hi")); !errors.Is(err, errModel) {
		t.Errorf("Run: got %v, want %v", err, errModel)
	}
	wantHistory(t, c, "user: Hi")
	run(t, c, named("t", "Hi"))
	wantHistory(t, c, "user: Hi", "assistant: Hello.")
}

// A stream may be cut within a character.
func TestPartialTextIsValid(t *testing.T) {
	t.Parallel()
	c := start(t, newStore(t), newModel(t, answer{events: []agent.Event{
		agent.TextDelta{Text: "gr\xc3\xbc"}, agent.TextDelta{Text: "\xc3"},
		agent.ToolCallStart{ID: "a", Name: "add"}, agent.ToolCallDelta{Arguments: "{\"s\":\"\xf0\x9f"},
	}, cut: true}))
	if _, err := drain(c.Stream(t.Context(), user("Hi"))); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("got %v, want %v", err, io.ErrUnexpectedEOF)
	}
	wantHistory(t, c, "user: Hi", "assistant: grü !failed")
}

// The text between parts is text of the partial answer.
func TestPartialTextAroundParts(t *testing.T) {
	t.Parallel()
	c := start(t, newStore(t), newModel(t, answer{events: []agent.Event{
		agent.TextDelta{Text: "He"}, agent.PartDone{Part: part(t, `{"type":"refusal","refusal":"no"}`)},
		agent.PartDone{Part: sessionstore.TextPart("ll")}, agent.TextDelta{Text: "o"},
	}, cut: true}))
	if _, err := drain(c.Stream(t.Context(), user("Hi"))); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("got %v, want %v", err, io.ErrUnexpectedEOF)
	}
	wantHistory(t, c, "user: Hi", "assistant: Hello !failed")
	if i, _ := agent.Interrupted(history(t, c)[1]); !slices.Equal(i.Parts, []string{`{"type":"refusal","refusal":"no"}`}) {
		t.Errorf("parts: got %q, want the refusal", i.Parts)
	}
}

// If the store fails, too, the partial turn is in the error, or where nobody can get one,
// given to WithOnUnsaved.
func TestAPartialTurnThatCannotBeStoredIsNotLost(t *testing.T) {
	t.Parallel()
	for _, a := range aborts {
		t.Run(a.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				fail := true
				store := storetest.NewFaulty(newStore(t), func(c storetest.Call) storetest.Fault {
					if fail && c.Method == "AppendMessages" {
						return storetest.FailBefore
					}
					return storetest.Pass
				})
				var told []*agent.UnsavedError
				c := start(t, store, newModel(t, a.script(pieces(t), 4)), agent.WithOnUnsaved(func(e *agent.UnsavedError) { told = append(told, e) }))
				stream := func(ctx context.Context) iter.Seq2[agent.Event, error] { return c.Stream(ctx, user("Hi")) }
				err := a.consume(t.Context(), stream, 4)
				var unsaved *agent.UnsavedError
				switch {
				case a.want == nil && err == nil && len(told) == 1:
					unsaved = told[0]
				case a.want != nil && errors.Is(err, a.want) && errors.As(err, &unsaved) && len(told) == 0:
				default:
					t.Fatalf("got error %v, and %v given to WithOnUnsaved, want one UnsavedError", err, told)
				}
				if !errors.Is(unsaved, storetest.ErrFault) || unsaved.SessionID != c.SessionID() || unsaved.Cause == nil {
					t.Errorf("got %v of %q, cause %v, want the store's error, the session and a cause", unsaved, unsaved.SessionID, unsaved.Cause)
				}
				wantHistory(t, c)
				fail = false
				if _, err := store.AppendMessages(t.Context(), unsaved.SessionID, unsaved.Append); err != nil {
					t.Errorf("append again: got %v, want nil", err)
				}
				wantHistory(t, c, "user: Hi", "assistant: Let  !"+string(a.reason))
				wantNext(t, store, c)
			})
		})
	}
}

// starter is an agent that leaves a goroutine behind that ends with its context.
type starter struct{ agent.Echo }

func (s starter) Run(ctx context.Context, req agent.Request) (agent.Response, error) {
	go func() { <-ctx.Done() }()
	return s.Echo.Run(ctx, req)
}

func (s starter) Stream(ctx context.Context, req agent.Request) iter.Seq2[agent.Event, error] {
	go func() { <-ctx.Done() }()
	return s.Echo.Stream(ctx, req)
}

// The context that an agent is given ends with the turn: synctest fails if a goroutine
// that waits for it is left.
func TestTheContextOfATurnEndsWithIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := start(t, newStore(t), starter{})
		for range 2 {
			if _, err := c.Run(context.Background(), user("Hi")); err != nil {
				t.Errorf("Run: got %v, want nil", err)
			}
			for range c.Stream(context.Background(), user("Hi")) {
				break
			}
		}
	})
}

// An answer that is none fails like a model that fails.
func TestAnAnswerOfAnotherRole(t *testing.T) {
	t.Parallel()
	wrong := answer{finish: agent.Finish{Response: agent.Response{Message: user("I am you")}}}
	c := start(t, newStore(t), newModel(t, wrong, wrong, answer{events: []agent.Event{agent.TextDelta{Text: "I"}}, finish: wrong.finish}))
	if _, err := c.Run(t.Context(), user("Hi")); err == nil {
		t.Error("Run: got nil, want an error")
	}
	if _, err := drain(c.Stream(t.Context(), user("Hi"))); err == nil {
		t.Error("Stream: got nil, want an error")
	}
	wantHistory(t, c)
	if _, err := drain(c.Stream(t.Context(), user("Hi"))); err == nil {
		t.Error("Stream with output: got nil, want an error")
	}
	wantHistory(t, c, "user: Hi", "assistant: I !failed")
}

// An answer that no store takes, or that does not end, costs neither its text nor the
// question.
func TestAnAnswerThatCannotBeStored(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", agent.MaxAnswerBytes/4)
	for _, tt := range []struct {
		name   string
		answer answer
		want   error
		kept   string
	}{
		{"a name with a control character", answer{events: []agent.Event{agent.TextDelta{Text: "Useful."},
			agent.ToolCallDone{Call: sessionstore.ToolCall{ID: "a", Name: "f\x1b"}}}}, sessionstore.ErrInvalid, "Useful."},
		{"an id that is too long", answer{events: []agent.Event{agent.TextDelta{Text: "Useful."},
			agent.ToolCallDone{Call: sessionstore.ToolCall{ID: strings.Repeat("i", sessionstore.MaxNameBytes+1), Name: "f"}}}}, sessionstore.ErrInvalid, "Useful."},
		{"without end", answer{events: slices.Repeat([]agent.Event{agent.TextDelta{Text: long}}, 100)}, sessionstore.ErrTooLarge, strings.Repeat(long, 4)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			store := newStore(t)
			c := start(t, store, newModel(t, tt.answer))
			var err error
			for _, err = range c.Stream(t.Context(), user("Hi")) {
				if err != nil {
					break
				}
			}
			if !errors.Is(err, tt.want) {
				t.Errorf("Stream: got %v, want %v", err, tt.want)
			}
			wantHistory(t, c, "user: Hi", "assistant: "+tt.kept+" !failed")
			wantNext(t, store, c)
		})
	}
}
