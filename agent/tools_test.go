package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/agent"
	"github.com/sessionstore/sessionstore/storetest"
)

// Each step of a tool loop is stored as it comes: an answer before its calls are run, a
// result before the next call is.
func TestEachStepIsStoredAsItComes(t *testing.T) {
	t.Parallel()
	var appends [][]string
	store := &recorder{SessionStore: newStore(t), append: func(a sessionstore.Append) { appends = append(appends, lines(a.Messages)) }}
	var c *agent.Conversation
	var seen []string
	tool := agent.Tool{Name: "add", Run: func(_ context.Context, call sessionstore.ToolCall) (sessionstore.Content, error) {
		h := lines(history(t, c))
		seen = append(seen, fmt.Sprintf("%s after %s", call.ID, h[len(h)-1]))
		return sessionstore.Text("sum of " + call.ID), nil
	}}
	c = start(t, store, newModel(t, loopScript()...), agent.WithTools(tool))
	r := run(t, c, user("Hi"))
	wantHistory(t, c, loopHistory...)
	// Field report C04: a turn of calls alone has no text, not an empty one.
	if !r.Turn[1].Content.IsNull() {
		t.Errorf("content beside calls: got %#v, want null", r.Turn[1].Content.String())
	}
	if got := lines(r.Turn); !slices.Equal(got, loopHistory) {
		t.Errorf("Turn: got %q, want %q", got, loopHistory)
	}
	want := []string{"a after assistant:  +a +b", "b after tool: sum of a =a", "c after assistant:  +c"}
	if !slices.Equal(seen, want) {
		t.Errorf("what the tool finds stored: got %q, want %q", seen, want)
	}
	if got, want := fmt.Sprint(appends), fmt.Sprint([][]string{loopHistory[:2], loopHistory[2:3], loopHistory[3:4], loopHistory[4:5], loopHistory[5:6], loopHistory[6:]}); got != want {
		t.Errorf("appends: got %s, want %s", got, want)
	}
}

// recorder is a store that tells of appends.
type recorder struct {
	sessionstore.SessionStore
	append func(sessionstore.Append)
}

func (r *recorder) AppendMessages(ctx context.Context, id string, a sessionstore.Append) ([]sessionstore.Message, error) {
	r.append(a)
	return r.SessionStore.AppendMessages(ctx, id, a)
}

// The events of a tool loop, and the usage of its answers and of the whole.
func TestEventsOfAToolLoop(t *testing.T) {
	t.Parallel()
	script := loopScript()
	for i := range script {
		script[i].finish.Response.Usage = agent.Usage{InputTokens: 100, OutputTokens: int64(i) + 1}
	}
	var tool adder
	c := start(t, newStore(t), newModel(t, script...), agent.WithTools(tool.tool()))
	events, err := drain(c.Stream(t.Context(), user("Hi")))
	if err != nil {
		t.Fatalf("Stream: got %v, want nil", err)
	}
	var got []string
	for _, e := range events {
		name := strings.TrimPrefix(fmt.Sprintf("%T", e), "agent.")
		switch e := e.(type) {
		case agent.Step:
			name += fmt.Sprintf(" %d/%d @%d", e.Response.Usage.InputTokens, e.Response.Usage.OutputTokens, e.Response.Message.Seq)
		case agent.Finish:
			name += fmt.Sprintf(" %d/%d @%d %s", e.Response.Usage.InputTokens, e.Response.Usage.OutputTokens, e.Response.Message.Seq, e.Response.FinishReason)
		case agent.ToolResult:
			name += " " + e.Message.ToolCallID
		}
		got = append(got, name)
	}
	want := []string{
		"ToolCallDone", "ToolCallDone", "Step 100/1 @2", "ToolResult a", "ToolResult b",
		"ToolCallDone", "Step 100/2 @5", "ToolResult c",
		"TextDelta", "Finish 300/6 @7 stop",
	}
	if !slices.Equal(got, want) {
		t.Errorf("events: got %q, want %q", got, want)
	}
}

// The loop is bounded, and can go on from where the bound ended it.
func TestAToolLoopIsBounded(t *testing.T) {
	t.Parallel()
	var tool adder
	m := newModel(t, calls(call("a")), calls(call("b")), calls(call("c")), says("Done."))
	c := start(t, newStore(t), m, agent.WithTools(tool.tool()), agent.WithMaxSteps(2))
	r, err := c.Run(t.Context(), user("Hi"))
	if !errors.Is(err, agent.ErrMaxSteps) || len(r.ToolCalls) != 1 || r.ToolCalls[0].ID != "b" || m.asked() != 2 {
		t.Errorf("got calls %v, %v after %d requests, want b, %v, 2", r.ToolCalls, err, m.asked(), agent.ErrMaxSteps)
	}
	wantHistory(t, c, "user: Hi", "assistant:  +a", "tool: sum of a =a", "assistant:  +b")
	if got := fmt.Sprint(tool.ran); got != "map[a:1]" {
		t.Errorf("calls run: got %s, want a alone", got)
	}
	r, err = c.Continue(t.Context())
	if err != nil || r.Text != "Done." {
		t.Errorf("Continue: got %q, %v, want Done.", r.Text, err)
	}
	if got := fmt.Sprint(tool.ran); got != "map[a:1 b:1 c:1]" {
		t.Errorf("calls run: got %s, want each once", got)
	}
	if _, err := drain(c.Stream(t.Context(), user("Hi"), agent.WithMaxSteps(0))); err != nil {
		t.Errorf("a bound of 0, which is the default: got %v, want nil", err)
	}
}

// What goes wrong with a tool is for the model to see, marked as an error.
func TestFailuresOfATool(t *testing.T) {
	t.Parallel()
	failing := func(c sessionstore.Content, err error) agent.Tool {
		return agent.Tool{Name: "add", Run: func(context.Context, sessionstore.ToolCall) (sessionstore.Content, error) { return c, err }}
	}
	typed, err := agent.NewTool("add", "", func(_ context.Context, args struct {
		N int `json:"n"`
	}) (string, error) {
		return fmt.Sprint(args.N), nil
	})
	if err != nil {
		t.Fatalf("NewTool: got %v, want nil", err)
	}
	for _, tc := range []struct {
		name, arguments string
		tool            agent.Tool
		want            string
		wrong           bool
	}{
		{"error", "{}", failing(sessionstore.Content{}, errors.New("no \xff route")), "Error: no  route", true},
		{"null", "{}", failing(sessionstore.Content{}, nil), "", false},
		{"invalid UTF-8", "{}", failing(sessionstore.Text("\xff"), nil), "Error: the tool has run, but its result cannot be kept", true},
		{"too large", "{}", failing(sessionstore.Text(strings.Repeat("x", sessionstore.MaxAppendBytes)), nil), "Error: the tool has run, but its result cannot be kept", true},
		{"unknown", "{}", agent.Tool{Name: "sub", Run: typed.Run}, `Error: there is no tool "add"`, true},
		{"arguments that do not fit", `{"n":"1"}`, typed, "Error: invalid arguments", true},
		{"arguments that are cut", `{"n":`, typed, "Error: invalid arguments", true},
		{"arguments", `{"n":7}`, typed, "7", false},
		// Field report C07: a call without arguments.
		{"no arguments", "", typed, "0", false},
		{"blank arguments", " ", typed, "0", false},
		{"empty arguments", "{}", typed, "0", false},
		{"null arguments", "null", typed, "0", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			store := newStore(t)
			c := start(t, store, newModel(t, calls(sessionstore.ToolCall{ID: "a", Name: "add", Arguments: tc.arguments}), says("Well.")), agent.WithTools(tc.tool))
			r := run(t, c, user("Hi"))
			result := r.Turn[2]
			if !result.Content.IsText() {
				t.Errorf("result: got content %v, want a text", result.Content)
			}
			if got := result.Content.String(); got != tc.want && (!tc.wrong || !strings.HasPrefix(got, tc.want)) {
				t.Errorf("result: got %.80q, want %q", got, tc.want)
			}
			if got := string(result.Extra["is_error"]); (got == "true") != tc.wrong {
				t.Errorf("is_error: got %q, want %t", got, tc.wrong)
			}
			if got := r.Turn[1].ToolCalls[0].Arguments; got != tc.arguments {
				t.Errorf("arguments stored: got %q, want %q", got, tc.arguments)
			}
			wantNext(t, store, c)
		})
	}
}

// A tool that ends because the turn does leaves its call unanswered; one that has run
// until the end is kept, whatever became of the context.
func TestATurnCancelledInATool(t *testing.T) {
	t.Parallel()
	for name, result := range map[string]error{"fails": errors.New("killed"), "succeeds": nil} {
		store := newStore(t)
		ctx, cancel := context.WithCancel(t.Context())
		tool := agent.Tool{Name: "add", Run: func(ctx context.Context, call sessionstore.ToolCall) (sessionstore.Content, error) {
			cancel()
			<-ctx.Done()
			return sessionstore.Text("sum of " + call.ID), result
		}}
		m := newModel(t, calls(call("a"), call("b")), says("Done."))
		c := start(t, store, m, agent.WithTools(tool))
		if _, err := c.Run(ctx, user("Hi")); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: got %v, want %v", name, err, context.Canceled)
		}
		want := loopHistory[:2]
		if result == nil {
			want = loopHistory[:3]
		}
		wantHistory(t, c, want...)
		var other adder
		if r, err := c.Continue(t.Context(), agent.WithTools(other.tool())); err != nil || r.Text != "Done." {
			t.Errorf("%s, Continue: got %q, %v, want Done.", name, r.Text, err)
		}
		if got := len(other.ran); got != 4-len(want) {
			t.Errorf("%s: got %d calls run by Continue, want %d", name, got, 4-len(want))
		}
		wantNext(t, store, c)
	}
}

// A tool that panics leaves its call pending, and the handle free.
func TestAToolThatPanics(t *testing.T) {
	t.Parallel()
	store := newStore(t)
	tool := agent.Tool{Name: "add", Run: func(context.Context, sessionstore.ToolCall) (sessionstore.Content, error) { panic(boom{}) }}
	c := start(t, store, newModel(t, calls(call("a"))), agent.WithTools(tool))
	func() {
		defer func() {
			if p := recover(); p != (boom{}) {
				t.Errorf("recovered %v, want the tool's panic", p)
			}
		}()
		c.Run(t.Context(), user("Hi"))
	}()
	wantHistory(t, c, "user: Hi", "assistant:  +a")
	wantNext(t, store, c)
}

// An agent that panics: nothing of Run, what came of Stream; the handle is free.
func TestAnAgentThatPanics(t *testing.T) {
	t.Parallel()
	store := newStore(t)
	a := says("")
	a.before = func(agent.Request) { panic(boom{}) }
	c := start(t, store, newModel(t, a, a))
	for name, turn := range map[string]func(){
		"Run":    func() { c.Run(t.Context(), user("Hi")) },
		"Stream": func() { drain(c.Stream(t.Context(), user("Hi"))) },
	} {
		func() {
			defer func() {
				if p := recover(); p != (boom{}) {
					t.Errorf("%s: recovered %v, want the agent's panic", name, p)
				}
			}()
			turn()
		}()
	}
	wantHistory(t, c)
	wantNext(t, store, c)
}

// Calls of tools that the conversation cannot run end the turn; who runs them adds the
// results and continues.
func TestCallsThatAreLeftToTheCaller(t *testing.T) {
	t.Parallel()
	var tool adder
	ask := agent.Tool{Name: "ask", Description: "Asks the user."}
	asks := sessionstore.ToolCall{ID: "q", Name: "ask", Arguments: "{}"}
	for _, tc := range []struct {
		name   string
		tools  []agent.Tool
		call   answer
		stored []string
		ran    int
	}{
		{"no tools", nil, calls(call("a")), []string{"user: Hi", "assistant:  +a"}, 0},
		{"a tool that is not ours", []agent.Tool{ask}, calls(asks), []string{"user: Hi", "assistant:  +q"}, 0},
		{"one of each", []agent.Tool{tool.tool(), ask}, calls(asks, call("a")), []string{"user: Hi", "assistant:  +q +a", "tool: sum of a =a"}, 1},
	} {
		m := newModel(t, tc.call, says("Done."))
		c := start(t, newStore(t), m, agent.WithTools(tc.tools...))
		r := run(t, c, user("Hi"))
		if r.FinishReason != agent.FinishToolCalls || len(r.Turn) != len(tc.stored) || m.asked() != 1 {
			t.Errorf("%s: got %q, a turn of %d, %d requests, want tool_calls, %d, 1", tc.name, r.FinishReason, len(r.Turn), m.asked(), len(tc.stored))
		}
		wantHistory(t, c, tc.stored...)
		r, err := c.Continue(t.Context())
		if err != nil || r.FinishReason != agent.FinishToolCalls || !r.Repeated || m.asked() != 1 {
			t.Errorf("%s, Continue without the result: got %q, Repeated %t, %v, want the same answer", tc.name, r.FinishReason, r.Repeated, err)
		}
		pending, err := c.PendingToolCalls(t.Context())
		if err != nil || len(pending) != 1 {
			t.Fatalf("%s: got pending calls %v, %v, want one", tc.name, pending, err)
		}
		if _, err := c.AddMessage(t.Context(), sessionstore.ToolMessage(pending[0].ID, "Yes.")); err != nil {
			t.Fatalf("AddMessage: got %v, want nil", err)
		}
		if r, err := c.Continue(t.Context()); err != nil || r.Text != "Done." {
			t.Errorf("%s, Continue: got %q, %v, want Done.", tc.name, r.Text, err)
		}
	}
}

// Calls without an id, or with the same, are each run once.
func TestCallsWithTheSameID(t *testing.T) {
	t.Parallel()
	ran := 0
	tool := agent.Tool{Name: "add", Run: func(context.Context, sessionstore.ToolCall) (sessionstore.Content, error) {
		ran++
		return sessionstore.Text(fmt.Sprint(ran)), nil
	}}
	store := newStore(t)
	full := start(t, store, newModel(t, calls(call("a"), call("a"), call(""), call("")), says("Done.")), agent.WithTools(tool))
	run(t, full, user("Hi"))
	wantHistory(t, full, "user: Hi", "assistant:  +a +a + +", "tool: 1 =a", "tool: 2 =a", "tool: 3", "tool: 4", "assistant: Done.")
	stored := history(t, full)
	for k := 2; k <= 6; k++ {
		ran = k - 2
		c := crashed(t, store, stored[:k], newModel(t, says("Done.")), agent.WithTools(tool))
		if _, err := c.Continue(t.Context()); err != nil {
			t.Errorf("Continue: got %v, want nil", err)
		}
		wantHistory(t, c, lines(stored)...)
	}
}

// Continue finds the answer before any number of results.
func TestContinueAfterManyResults(t *testing.T) {
	t.Parallel()
	const n = 1200 // more than a page
	var many []sessionstore.ToolCall
	for i := range n {
		many = append(many, call(fmt.Sprint(i)))
	}
	store := newStore(t)
	var tool adder
	c := start(t, store, newModel(t, says("Done.")), agent.WithTools(tool.tool()))
	batch := []sessionstore.Message{user("Hi"), sessionstore.AssistantMessage("", many...)}
	for i := range n - 1 {
		batch = append(batch, sessionstore.ToolMessage(fmt.Sprint(i), "3"))
	}
	for chunk := range slices.Chunk(batch, sessionstore.MaxAppendMessages) {
		if _, err := c.AddMessage(t.Context(), chunk...); err != nil {
			t.Fatalf("AddMessage: got %v, want nil", err)
		}
	}
	if r, err := c.Continue(t.Context()); err != nil || r.Text != "Done." {
		t.Errorf("Continue: got %q, %v, want Done.", r.Text, err)
	}
	if got := fmt.Sprint(tool.ran); got != fmt.Sprintf("map[%d:1]", n-1) {
		t.Errorf("calls run: got %s, want the last alone", got)
	}
}

// Continue without anything to go on from.
func TestContinueOfAnEmptyConversation(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	c := start(t, newStore(t), m)
	if _, err := c.Continue(t.Context()); !errors.Is(err, agent.ErrNothingToContinue) || m.asked() != 0 {
		t.Errorf("got %v, %d requests, want %v, 0", err, m.asked(), agent.ErrNothingToContinue)
	}
	if _, err := drain(c.ContinueStream(t.Context())); !errors.Is(err, agent.ErrNothingToContinue) {
		t.Errorf("ContinueStream: got %v, want %v", err, agent.ErrNothingToContinue)
	}
}

// A paused session runs no tool whose result it would not take.
func TestContinueOfAPausedSession(t *testing.T) {
	t.Parallel()
	store := newStore(t)
	var tool adder
	c := crashed(t, store, []sessionstore.Message{named("turn", "Hi"), sessionstore.AssistantMessage("", call("a"))}, newModel(t), agent.WithTools(tool.tool()))
	if _, err := sessionstore.NewManager(store, nil).Pause(t.Context(), c.SessionID()); err != nil {
		t.Fatalf("Pause: got %v, want nil", err)
	}
	_, continued := c.Continue(t.Context())
	_, ran := c.Run(t.Context(), named("turn", "Hi"))
	if !errors.Is(continued, sessionstore.ErrSessionPaused) || !errors.Is(ran, sessionstore.ErrSessionPaused) || len(tool.ran) != 0 {
		t.Errorf("got %v, %v, calls %v run, want %v twice, none", continued, ran, tool.ran, sessionstore.ErrSessionPaused)
	}
}

// What a tool is told to the provider as.
func TestNewTool(t *testing.T) {
	t.Parallel()
	tool, err := agent.NewTool("weather", "Tells the weather.", func(_ context.Context, in struct {
		City string `json:"city" description:"Its name."`
	}) (string, error) {
		return "rain in " + in.City, nil
	})
	if err != nil {
		t.Fatalf("got %v, want nil", err)
	}
	want := `{"type":"object","properties":{"city":{"type":"string","description":"Its name."}},"required":["city"],"additionalProperties":false}`
	if string(tool.Parameters) != want || !json.Valid(tool.Parameters) || !tool.Strict {
		t.Errorf("parameters: got %s, strict %t, want %s, true", tool.Parameters, tool.Strict, want)
	}
	if _, err := agent.NewTool("bad", "", func(context.Context, chan int) (string, error) { return "", nil }); err == nil {
		t.Error("a tool whose arguments JSON does not have: got nil, want an error")
	}
}

// A store that fails once a tool has run: its result is in the error.
func TestAResultThatCannotBeStored(t *testing.T) {
	t.Parallel()
	appends := 0
	store := storetest.NewFaulty(newStore(t), func(c storetest.Call) storetest.Fault {
		if c.Method == "AppendMessages" {
			if appends++; appends == 2 {
				return storetest.FailBefore
			}
		}
		return storetest.Pass
	})
	var tool adder
	c := start(t, store, newModel(t, calls(call("a")), says("Done.")), agent.WithTools(tool.tool()))
	r, err := c.Run(t.Context(), user("Hi"))
	var unsaved *agent.UnsavedError
	if !errors.As(err, &unsaved) || !slices.Equal(lines(unsaved.Append.Messages), []string{"tool: sum of a =a"}) {
		t.Fatalf("got %v, want the result in an UnsavedError", err)
	}
	if got := lines(r.Turn); !slices.Equal(got, []string{"user: Hi", "assistant:  +a"}) {
		t.Errorf("Turn: got %q, want what is stored", got)
	}
}
