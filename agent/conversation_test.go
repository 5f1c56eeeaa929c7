package agent_test

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/agent"
	"github.com/sessionstore/sessionstore/storetest"
)

func TestOpenAndStart(t *testing.T) {
	t.Parallel()
	store := newStore(t)
	m := sessionstore.NewManager(store, nil)
	if _, err := agent.Open(t.Context(), m, "none", agent.Echo{}); !errors.Is(err, sessionstore.ErrSessionNotFound) {
		t.Errorf("Open: got %v, want %v", err, sessionstore.ErrSessionNotFound)
	}
	c, err := agent.Start(t.Context(), m, sessionstore.Session{ID: "s"}, agent.Echo{})
	if err != nil || c.SessionID() != "s" {
		t.Fatalf("Start: got %v, want a conversation in s", err)
	}
	if _, err := agent.Start(t.Context(), m, sessionstore.Session{ID: "s"}, agent.Echo{}); !errors.Is(err, sessionstore.ErrSessionExists) {
		t.Errorf("Start again: got %v, want %v", err, sessionstore.ErrSessionExists)
	}
	if _, err := agent.New(m, "none", agent.Echo{}).Run(t.Context(), user("Hi")); !errors.Is(err, sessionstore.ErrSessionNotFound) {
		t.Errorf("Run of New on no session: got %v, want %v", err, sessionstore.ErrSessionNotFound)
	}
	s, err := agent.New(m, "s", agent.Echo{}).Session(t.Context())
	if err != nil || s.ID != "s" {
		t.Errorf("Session: got %q, %v, want s", s.ID, err)
	}
}

func TestHistoryAddAndClear(t *testing.T) {
	t.Parallel()
	store := newStore(t)
	c := start(t, store, agent.Echo{})
	stored, err := c.AddMessage(t.Context(), user("1"), sessionstore.AssistantMessage("2"))
	if err != nil || len(stored) != 2 || stored[1].Seq != 2 {
		t.Errorf("AddMessage: got %v, %v, want both as stored", stored, err)
	}
	run(t, c, user("3"))
	last, err := c.History(t.Context(), 2)
	if err != nil || len(last) != 2 || last[0].Content.String() != "3" {
		t.Errorf("History(2): got %v, %v, want the last turn", lines(last), err)
	}
	if err := c.Clear(t.Context()); err != nil {
		t.Errorf("Clear: got %v, want nil", err)
	}
	wantHistory(t, c)
	if r := run(t, c, user("4")); r.Message.Seq != 6 {
		t.Errorf("seq after a clear: got %d, want 6", r.Message.Seq)
	}
}

// What AddMessage could not store comes back with ids, and can be passed in again.
func TestAddMessageIsRepeatable(t *testing.T) {
	t.Parallel()
	store := storetest.NewFaulty(newStore(t), storetest.FailCall(2, storetest.FailAfter))
	c := start(t, store, agent.Echo{})
	batch, err := c.AddMessage(t.Context(), user("1"))
	if !errors.Is(err, storetest.ErrFault) || len(batch) != 1 || batch[0].ID == "" {
		t.Fatalf("got %v, %v, want the message with an id and %v", batch, err, storetest.ErrFault)
	}
	if _, err := c.AddMessage(t.Context(), batch...); err != nil {
		t.Errorf("again: got %v, want nil", err)
	}
	wantHistory(t, c, "user: 1")
}

// Field report C41 (a fork shares state with its source): turns of either do not reach
// the other.
func TestForksShareNothing(t *testing.T) {
	t.Parallel()
	store := newStore(t)
	c := start(t, store, agent.Echo{}, agent.WithSystem("Be brief."))
	run(t, c, user("1"))
	f, err := c.Fork(t.Context(), sessionstore.Fork{})
	if err != nil || f.SessionID() == c.SessionID() {
		t.Fatalf("Fork: got %v, want another session", err)
	}
	for i := range 5 {
		run(t, c, user(fmt.Sprint("c", i)))
		run(t, f, user(fmt.Sprint("f", i)))
	}
	for name, h := range map[string][]sessionstore.Message{"c": history(t, c), "f": history(t, f)} {
		if len(h) != 12 {
			t.Errorf("%s: got %d messages, want 12", name, len(h))
		}
		for _, m := range h[2:] {
			if !strings.HasPrefix(m.Content.String(), name) {
				t.Errorf("%s: got message %q of the other", name, m.Content)
			}
		}
	}
	if err := f.Clear(t.Context()); err != nil {
		t.Errorf("Clear: got %v, want nil", err)
	}
	if got := len(history(t, c)); got != 12 {
		t.Errorf("source after a clear of the fork: got %d messages, want 12", got)
	}
	if _, err := agent.New(sessionstore.NewManager(store, nil), "none", agent.Echo{}).Fork(t.Context(), sessionstore.Fork{}); !errors.Is(err, sessionstore.ErrSessionNotFound) {
		t.Errorf("Fork of no session: got %v, want %v", err, sessionstore.ErrSessionNotFound)
	}
}

func TestExportAndImport(t *testing.T) {
	t.Parallel()
	store := newStore(t)
	var tool adder
	c := start(t, store, newModel(t, append(loopScript(), answer{events: pieces(t), err: errModel})...), agent.WithTools(tool.tool()))
	run(t, c, user("<Hi>"))
	drain(c.Stream(t.Context(), user("And?")))
	var file bytes.Buffer
	if err := c.Export(t.Context(), &file); err != nil {
		t.Fatalf("Export: got %v, want nil", err)
	}
	exported := file.String()

	other := newStore(t)
	m := sessionstore.NewManager(other, nil)
	for range 2 { // also when it is there already
		i, err := agent.Import(t.Context(), m, strings.NewReader(exported), newModel(t))
		if err != nil {
			t.Fatalf("Import: got %v, want nil", err)
		}
		if got, want := history(t, i), history(t, c); i.SessionID() != c.SessionID() || !reflect.DeepEqual(got, want) {
			t.Errorf("Import: got %s\n%+v\nwant %s\n%+v", i.SessionID(), got, c.SessionID(), want)
		}
	}
	i := agent.New(m, c.SessionID(), newModel(t))
	wantNext(t, other, i)

	if _, err := agent.Import(t.Context(), m, strings.NewReader(exported), newModel(t)); !errors.Is(err, sessionstore.ErrSessionExists) {
		t.Errorf("Import over a session that has gone on: got %v, want %v", err, sessionstore.ErrSessionExists)
	}
	for name, file := range map[string]string{"cut": exported[:len(exported)-20], "empty": "", "another": "{}\n", "binary": "\x00\xff"} {
		if _, err := agent.Import(t.Context(), sessionstore.NewManager(newStore(t), nil), strings.NewReader(file), newModel(t)); err == nil {
			t.Errorf("Import of a file that is %s: got nil, want an error", name)
		}
	}
	var none bytes.Buffer
	if err := agent.New(m, "none", agent.Echo{}).Export(t.Context(), &none); !errors.Is(err, sessionstore.ErrSessionNotFound) {
		t.Errorf("Export of no session: got %v, want %v", err, sessionstore.ErrSessionNotFound)
	}
	if _, err := agent.Import(t.Context(), m, &none, agent.Echo{}); !errors.Is(err, sessionstore.ErrSessionNotFound) {
		t.Errorf("Import of no session: got %v, want %v", err, sessionstore.ErrSessionNotFound)
	}
}

// The echo agent answers the same whether it streams or not, and stops when it is told to.
func TestEcho(t *testing.T) {
	t.Parallel()
	store := newStore(t)
	c := start(t, store, agent.Echo{})
	for _, text := range []string{"Hello there,  world ", "", "x", "  "} {
		ran := run(t, c, user(text))
		events, err := drain(c.Stream(t.Context(), user(text)))
		if err != nil {
			t.Fatalf("Stream(%q): got %v, want nil", text, err)
		}
		streamed := finished(t, events)
		if ran.Text != text || streamed.Text != text || ran.FinishReason != streamed.FinishReason || ran.Model != "echo" {
			t.Errorf("echo of %q: got %q and %q, %s", text, ran.Text, streamed.Text, ran.FinishReason)
		}
		if words := len(strings.Fields(text)); ran.Usage.OutputTokens != int64(words) {
			t.Errorf("tokens of %q: got %d, want %d", text, ran.Usage.OutputTokens, words)
		}
	}
	next := 0
	for e, err := range (agent.Echo{}).Stream(t.Context(), agent.Request{Input: user("a b c")}) {
		if next++; err != nil || e != agent.Event(agent.TextDelta{Text: "a "}) {
			t.Errorf("first event: got %v, %v, want a", e, err)
		}
		break
	}
	if next != 1 {
		t.Errorf("events: got %d, want 1", next)
	}
}
