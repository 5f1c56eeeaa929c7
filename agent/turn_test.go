package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/agent"
	"github.com/sessionstore/sessionstore/storetest"
)

// A turn is one append, and it comes after the answer is complete.
func TestATurnIsOneAppendAfterTheAnswer(t *testing.T) {
	t.Parallel()
	appends := 0
	store := storetest.NewFaulty(newStore(t), func(c storetest.Call) storetest.Fault {
		if c.Method == "AppendMessages" {
			appends++
		}
		return storetest.Pass
	})
	complete := false
	m := newModel(t, says("Hello."), says("Bye."))
	m.script[0].before = func(agent.Request) {
		if appends != 0 {
			t.Errorf("appends before the answer: got %d, want 0", appends)
		}
	}
	c := start(t, store, m)
	r := run(t, c, user("Hi"))
	if appends != 1 {
		t.Errorf("appends of Run: got %d, want 1", appends)
	}
	if got := lines(r.Turn); !slices.Equal(got, lines(history(t, c))) || r.Text != "Hello." || r.Message.Seq != 2 {
		t.Errorf("Run: got turn %v, text %q, seq %d", got, r.Text, r.Message.Seq)
	}

	for e, err := range c.Stream(t.Context(), user("And bye")) {
		if err != nil {
			t.Fatalf("Stream: got %v, want nil", err)
		}
		if _, complete = e.(agent.Finish); complete {
			if appends != 2 {
				t.Errorf("appends when Finish comes: got %d, want 2", appends)
			}
		} else if appends != 1 {
			t.Errorf("appends before the stream is exhausted: got %d, want 1", appends)
		}
	}
	if !complete || appends != 2 {
		t.Errorf("Stream: got Finish %t, appends %d, want true, 2", complete, appends)
	}
	wantHistory(t, c, "user: Hi", "assistant: Hello.", "user: And bye", "assistant: Bye.")
}

// conversations are what the ways to make a turn are compared on.
func conversations(tb testing.TB) map[string][]answer {
	thinking := part(tb, `{"type":"thinking","thinking":"<hm>","signature":"c2ln"}`)
	refusal := part(tb, `{"type":"refusal","refusal":"<no>"}`)
	return map[string][]answer{
		"text":  {{events: []agent.Event{agent.TextDelta{Text: "Hel"}, agent.TextDelta{Text: "lo"}}}},
		"empty": {{}},
		"reasoning and parts": {{events: []agent.Event{
			agent.ReasoningDelta{Text: "<hm>"}, agent.PartDone{Part: thinking},
			agent.TextDelta{Text: "He"}, agent.TextDelta{Text: "re:"}, agent.PartDone{Part: refusal}, agent.TextDelta{Text: "."},
		}}},
		"parallel tool calls in pieces": {
			{events: []agent.Event{
				agent.TextDelta{Text: "Let me add."},
				agent.ToolCallStart{Index: 0, ID: "a", Name: "add"},
				agent.ToolCallStart{Index: 1, ID: "b", Name: "add"},
				agent.ToolCallDelta{Index: 0, Arguments: `{"n"`},
				agent.ToolCallDelta{Index: 1, Arguments: `{}`},
				agent.ToolCallDelta{Index: 0, Arguments: `:1}`},
				agent.ToolCallDone{Index: 0, Call: call("a")},
			}},
			calls(call("c")),
			says("Three."),
		},
		"call without arguments": {calls(sessionstore.ToolCall{ID: "a", Name: "add"}), says("Done.")},
		"a message of the provider's own": {{finish: agent.Finish{Response: agent.Response{Message: sessionstore.Message{
			Role: sessionstore.RoleAssistant, Content: sessionstore.Parts(thinking, sessionstore.TextPart("Yes")),
			Extra: map[string]json.RawMessage{"refusal": json.RawMessage(`"<no>"`)},
		}}}, events: []agent.Event{agent.TextDelta{Text: "Yes"}}}},
		"json": {says("```json\n{\"n\":1}\n```")},
	}
}

// Field reports C24 (a stream and a run of the same answer are stored differently), C51
// (JSON stores something else than the answer) and C26 (a second run stores the history
// again).
func TestRunStreamAndJSONLeaveEqualHistories(t *testing.T) {
	t.Parallel()
	for backend, open := range backends {
		t.Run(backend, func(t *testing.T) {
			t.Parallel()
			store := open(t)
			for name, script := range conversations(t) {
				turn := func(what string, do func(c *agent.Conversation, input sessionstore.Message) error) []sessionstore.Message {
					var tool adder
					c := start(t, store, newModel(t, slices.Concat(script, script)...), agent.WithTools(tool.tool()))
					for _, input := range []sessionstore.Message{user("one"), {Role: sessionstore.RoleUser, Content: sessionstore.Parts(sessionstore.TextPart("two"))}} {
						if err := do(c, input); err != nil {
							t.Fatalf("%s of %s: got %v, want nil", what, name, err)
						}
					}
					return history(t, c)
				}
				want := turn("Run", func(c *agent.Conversation, input sessionstore.Message) error {
					_, err := c.Run(t.Context(), input)
					return err
				})
				wantSame(t, "Stream of "+name, turn("Stream", func(c *agent.Conversation, input sessionstore.Message) error {
					events, err := drain(c.Stream(t.Context(), input))
					if err == nil {
						got := finished(t, events)
						h := history(t, c)
						wantSame(t, "Finish.Response.Turn", got.Turn, h[len(h)-len(got.Turn):])
					}
					return err
				}), want)
				wantSame(t, "JSON of "+name, turn("JSON", func(c *agent.Conversation, input sessionstore.Message) error {
					_, _, err := c.JSON(t.Context(), input, agent.Schema{Name: "n", JSON: json.RawMessage(`{}`)})
					if decode := (*agent.DecodeError)(nil); errors.As(err, &decode) {
						err = nil
					}
					return err
				}), want)
				answers := 0
				for _, m := range want {
					if m.Role == sessionstore.RoleAssistant {
						answers++
					}
				}
				if answers != 2*len(script) {
					t.Errorf("%s: got %d assistant messages, want one for each of %d answers", name, answers, 2*len(script))
				}
			}
		})
	}
}

// The events of a stream and those of a turn that is returned again add up to the answer.
func TestARepeatedStreamAddsUpToTheAnswer(t *testing.T) {
	t.Parallel()
	store := newStore(t)
	for name, script := range conversations(t) {
		var tool adder
		m := newModel(t, script...)
		c := start(t, store, m, agent.WithTools(tool.tool()))
		stream := c.Stream(t.Context(), user("one"))
		first, err := drain(stream)
		if err != nil {
			t.Fatalf("%s: got %v, want nil", name, err)
		}
		asked, ran := m.asked(), fmt.Sprint(tool.ran)
		again, err := drain(stream)
		if err != nil {
			t.Fatalf("%s, second iteration: got %v, want nil", name, err)
		}
		var acc agent.Accumulator
		for _, e := range again[:len(again)-1] {
			acc.Add(e)
		}
		added, _ := acc.Response()
		got, want := finished(t, again), finished(t, first)
		if !got.Repeated || !added.Message.Content.Equal(want.Message.Content) {
			t.Errorf("%s, again: got Repeated %t, events of %s, want true, %s", name, got.Repeated, added.Message.Content, want.Message.Content)
		}
		if m.asked() != asked || fmt.Sprint(tool.ran) != ran {
			t.Errorf("%s, again: got %d requests, %v calls run, want %d, %v", name, m.asked(), tool.ran, asked, ran)
		}
		wantSame(t, "iterating again: "+name, got.Turn, want.Turn)
	}
}

// Field report C26: k runs store 2k messages.
func TestRunsAppendNewMessagesOnly(t *testing.T) {
	t.Parallel()
	store := newStore(t)
	c := start(t, store, agent.Echo{}, agent.WithWindow(&sessionstore.Window{Last: 2}))
	const k = 7
	for i := range k {
		run(t, c, user(fmt.Sprint(i)))
	}
	// Field report C45: what is outside of the window stays.
	h := history(t, c)
	if len(h) != 2*k {
		t.Fatalf("messages after %d runs: got %d, want %d", k, len(h), 2*k)
	}
	for i, m := range h {
		if want := fmt.Sprint(i / 2); m.Content.String() != want {
			t.Errorf("message %d: got %q, want %q", i, m.Content, want)
		}
	}
}

// Field report C17: instructions go out once, as they are now, and are not stored.
func TestSystemIsConfiguration(t *testing.T) {
	t.Parallel()
	store := newStore(t)
	m := newModel(t)
	c := start(t, store, m)
	run(t, c, user("1"))
	if err := c.SetSystem(t.Context(), "Be brief."); err != nil {
		t.Fatalf("SetSystem: got %v, want nil", err)
	}
	run(t, reopen(t, store, c, m), user("2"))
	run(t, c, user("3"), agent.WithSystem("Be rude."))
	run(t, c, user("4"))
	var got []string
	for _, req := range m.requests {
		var systems []string
		for _, msg := range req.Prompt().ChatMessages() {
			if msg.Role == sessionstore.RoleSystem {
				systems = append(systems, msg.Content.String())
			}
		}
		got = append(got, fmt.Sprint(systems))
	}
	if want := []string{"[Be kind.]", "[Be brief.]", "[Be rude.]", "[Be brief.]"}; !slices.Equal(got, want) {
		t.Errorf("system of each request: got %v, want %v", got, want)
	}
	if s, err := c.System(t.Context()); err != nil || s != "Be brief." {
		t.Errorf("System: got %q, %v, want Be brief.", s, err)
	}
	for _, msg := range history(t, c) {
		if msg.Role == sessionstore.RoleSystem {
			t.Errorf("stored: got a system message %q, want none", msg.Content)
		}
	}
}

// The options of a call take precedence over those of the handle.
func TestOptionsOfACallOverrideTheHandles(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	c := start(t, newStore(t), m,
		agent.WithTemperature(0.2), agent.WithMaxTokens(10), agent.WithMetadata(sessionstore.Metadata{"user": "ada", "tier": "free"}))
	run(t, c, user("1"), agent.WithTemperature(0), agent.WithMaxTokens(20), agent.WithMetadata(sessionstore.Metadata{"tier": "paid"}))
	run(t, c, user("2"))
	for i, want := range []string{"0 20 map[tier:paid user:ada]", "0.2 10 map[tier:free user:ada]"} {
		req := m.requests[i]
		if got := fmt.Sprint(*req.Temperature, req.MaxTokens, map[string]any(req.Metadata)); got != want {
			t.Errorf("request %d: got %s, want %s", i, got, want)
		}
		if req.SessionID != c.SessionID() {
			t.Errorf("request %d: got session %q, want %q", i, req.SessionID, c.SessionID())
		}
	}
	for _, msg := range history(t, c) {
		if len(msg.Metadata) != 0 {
			t.Errorf("stored metadata: got %v, want none", msg.Metadata)
		}
	}
}

// What the store would refuse is refused before the model is asked, and the handle is
// free afterwards.
func TestRefusedBeforeTheModelIsAsked(t *testing.T) {
	t.Parallel()
	store := newStore(t)
	manager := sessionstore.NewManager(store, nil)
	set := func(s sessionstore.Status) func(*agent.Conversation) {
		return func(c *agent.Conversation) {
			if _, err := manager.Update(t.Context(), c.SessionID(), sessionstore.SessionUpdate{Status: &s}); err != nil {
				t.Fatalf("to %s: got %v, want nil", s, err)
			}
		}
	}
	for _, tc := range []struct {
		name   string
		before func(*agent.Conversation)
		input  sessionstore.Message
		want   error
	}{
		{"assistant", nil, sessionstore.AssistantMessage("I said so"), sessionstore.ErrInvalid},
		{"tool", nil, sessionstore.ToolMessage("a", "42"), sessionstore.ErrInvalid},
		{"system", nil, sessionstore.Message{Role: sessionstore.RoleSystem}, sessionstore.ErrInvalid},
		{"invalid UTF-8", nil, user("\xff"), sessionstore.ErrInvalid},
		{"paused", set(sessionstore.StatusPaused), user("Hi"), sessionstore.ErrSessionPaused},
		{"paused, with an id", set(sessionstore.StatusPaused), named("t", "Hi"), sessionstore.ErrSessionPaused},
		{"closed", set(sessionstore.StatusClosed), user("Hi"), sessionstore.ErrSessionClosed},
		{"deleted", func(c *agent.Conversation) { manager.Delete(t.Context(), c.SessionID()) }, user("Hi"), sessionstore.ErrSessionNotFound},
	} {
		m := newModel(t)
		c := start(t, store, m)
		if tc.before != nil {
			tc.before(c)
		}
		for range 2 {
			if _, err := c.Run(t.Context(), tc.input); !errors.Is(err, tc.want) {
				t.Errorf("%s: got %v, want %v", tc.name, err, tc.want)
			}
			if _, err := drain(c.Stream(t.Context(), tc.input)); !errors.Is(err, tc.want) {
				t.Errorf("%s, Stream: got %v, want %v", tc.name, err, tc.want)
			}
		}
		if m.asked() != 0 {
			t.Errorf("%s: got %d requests, want 0", tc.name, m.asked())
		}
	}

	m := newModel(t)
	c := start(t, store, m)
	done, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Run(done, user("Hi")); !errors.Is(err, context.Canceled) || m.asked() != 0 {
		t.Errorf("Run with a done context: got %v, %d requests, want %v, 0", err, m.asked(), context.Canceled)
	}
	wantHistory(t, c)
}

// The messages of an answer name the agent of the session.
func TestAnswersNameTheAgent(t *testing.T) {
	t.Parallel()
	c := start(t, newStore(t), agent.Echo{})
	r := run(t, c, user("Hi"))
	if r.Turn[0].AgentName != "" || r.Message.AgentName != "helper" {
		t.Errorf("agent names: got %q and %q, want none and helper", r.Turn[0].AgentName, r.Message.AgentName)
	}
}
