package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/url"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	goredis "github.com/redis/go-redis/v9"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/agent"
	"github.com/sessionstore/sessionstore/bolt"
	"github.com/sessionstore/sessionstore/internal/chatcheck"
	"github.com/sessionstore/sessionstore/internal/stories"
	"github.com/sessionstore/sessionstore/internal/testenv"
	"github.com/sessionstore/sessionstore/memory"
	_ "github.com/sessionstore/sessionstore/mongo"
	"github.com/sessionstore/sessionstore/postgres"
	"github.com/sessionstore/sessionstore/redis"
)

// answer is what a scripted model says to one request: events without the Finish, then an
// error if there is one.
type answer struct {
	events []agent.Event
	err    error
	cut    bool // the stream ends without Finish or error
	deaf   bool // it does not look at the context
	finish agent.Finish
	before func(agent.Request) // runs before the answer
}

func says(text string) answer {
	return answer{events: []agent.Event{agent.TextDelta{Text: text}}}
}

func calls(calls ...sessionstore.ToolCall) answer {
	var a answer
	for i, c := range calls {
		a.events = append(a.events, agent.ToolCallDone{Index: i, Call: c})
	}
	return a
}

// model is an agent that answers from a script, and checks that each request is one that a
// chat-completions API takes. After the last answer it says "…".
type model struct {
	tb testing.TB

	mu       sync.Mutex
	script   []answer
	requests []agent.Request
}

func newModel(tb testing.TB, script ...answer) *model { return &model{tb: tb, script: script} }

func (m *model) next(req agent.Request) answer {
	checkRequest(m.tb, req)
	m.mu.Lock()
	m.requests = append(m.requests, req)
	a := says("…")
	if len(m.script) > 0 {
		a, m.script = m.script[0], m.script[1:]
	}
	m.mu.Unlock()
	if a.before != nil {
		a.before(req)
	}
	return a
}

// asked returns how many requests there were.
func (m *model) asked() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.requests)
}

func (m *model) Run(ctx context.Context, req agent.Request) (agent.Response, error) {
	a := m.next(req)
	if err := ctx.Err(); err != nil {
		return agent.Response{}, err
	}
	if a.err != nil || a.cut {
		return agent.Response{}, errors.Join(a.err, errModel)
	}
	var acc agent.Accumulator
	for _, e := range a.events {
		acc.Add(e)
	}
	acc.Add(a.finish)
	r, _ := acc.Response()
	return r, nil
}

func (m *model) Stream(ctx context.Context, req agent.Request) iter.Seq2[agent.Event, error] {
	return func(yield func(agent.Event, error) bool) {
		a := m.next(req)
		for _, e := range a.events {
			if err := ctx.Err(); err != nil && !a.deaf {
				yield(nil, err)
				return
			}
			if !yield(e, nil) {
				return
			}
		}
		switch {
		case a.err != nil:
			yield(nil, a.err)
		case ctx.Err() != nil && !a.deaf:
			yield(nil, ctx.Err())
		case !a.cut:
			yield(a.finish, nil)
		}
	}
}

var errModel = errors.New("the model fails")

// checkRequest holds a request against what the APIs take.
func checkRequest(tb testing.TB, req agent.Request) {
	tb.Helper()
	list, err := json.Marshal(req.Prompt().ChatMessages())
	if err == nil {
		err = chatcheck.List(list)
	}
	if err != nil {
		tb.Errorf("request %s: got %v, want a valid list of messages", list, err)
	}
	if err := stories.Sendable(req.Prompt()); err != nil {
		tb.Errorf("request: %v", err)
	}
}

// backends are the stores that histories are compared on.
var backends = map[string]func(testing.TB) sessionstore.SessionStore{
	"memory": func(tb testing.TB) sessionstore.SessionStore { return newStore(tb) },
	"bolt": func(tb testing.TB) sessionstore.SessionStore {
		return openBolt(tb, filepath.Join(tb.TempDir(), "sessions.db"))
	},
	"postgres": func(tb testing.TB) sessionstore.SessionStore {
		pool, err := pgxpool.New(tb.Context(), testenv.Postgres(tb))
		if err != nil {
			tb.Fatalf("pgxpool.New: got %v, want nil", err)
		}
		tb.Cleanup(pool.Close)
		store, err := postgres.New(pool, &postgres.Options{Schema: "agent_test", Namespace: tb.Name() + time.Now().String()})
		if err == nil {
			err = store.Migrate(tb.Context())
		}
		if err != nil {
			tb.Fatalf("postgres: got %v, want nil", err)
		}
		return store
	},
	"redis": func(tb testing.TB) sessionstore.SessionStore {
		o, err := goredis.ParseURL(testenv.Redis(tb))
		if err != nil {
			tb.Fatalf("redis.ParseURL: got %v, want nil", err)
		}
		client := goredis.NewClient(o)
		tb.Cleanup(func() { client.Close() })
		store, err := redis.New(client, &redis.Options{Namespace: tb.Name() + time.Now().String()})
		if err != nil {
			tb.Fatalf("redis.New: got %v, want nil", err)
		}
		return store
	},
	"mongo": func(tb testing.TB) sessionstore.SessionStore {
		u, err := url.Parse(testenv.Mongo(tb))
		if err != nil {
			tb.Fatal("the URL of the MongoDB server is none")
		}
		query := u.Query()
		query.Set("namespace", tb.Name()+time.Now().String())
		u.RawQuery = query.Encode()
		store, err := sessionstore.Open(tb.Context(), u.String())
		if err != nil {
			tb.Fatalf("mongo: got %v, want nil", err)
		}
		tb.Cleanup(func() { store.Close() })
		return store
	},
}

func newStore(tb testing.TB) sessionstore.SessionStore {
	tb.Helper()
	store, err := memory.New(nil)
	if err != nil {
		tb.Fatalf("memory.New: got %v, want nil", err)
	}
	return store
}

func openBolt(tb testing.TB, path string) sessionstore.SessionStore {
	tb.Helper()
	store, err := bolt.Open(tb.Context(), path, nil)
	if err != nil {
		tb.Fatalf("bolt.Open: got %v, want nil", err)
	}
	tb.Cleanup(func() { store.Close() })
	return store
}

// start starts a conversation in a new session of the store.
func start(tb testing.TB, store sessionstore.SessionStore, a agent.Agent, opts ...agent.Option) *agent.Conversation {
	tb.Helper()
	c, err := agent.Start(tb.Context(), sessionstore.NewManager(store, nil), sessionstore.Session{AgentName: "helper", System: "Be kind."}, a, opts...)
	if err != nil {
		tb.Fatalf("Start: got %v, want nil", err)
	}
	return c
}

// reopen returns another handle on the session of c.
func reopen(tb testing.TB, store sessionstore.SessionStore, c *agent.Conversation, a agent.Agent, opts ...agent.Option) *agent.Conversation {
	tb.Helper()
	o, err := agent.Open(tb.Context(), sessionstore.NewManager(store, nil), c.SessionID(), a, opts...)
	if err != nil {
		tb.Fatalf("Open: got %v, want nil", err)
	}
	return o
}

func user(text string) sessionstore.Message { return sessionstore.UserMessage(text) }

// named returns a user's message with an id.
func named(id, text string) sessionstore.Message {
	m := user(text)
	m.ID = id
	return m
}

// run makes a turn that succeeds.
func run(tb testing.TB, c *agent.Conversation, input sessionstore.Message, opts ...agent.Option) agent.Response {
	tb.Helper()
	r, err := c.Run(tb.Context(), input, opts...)
	if err != nil {
		tb.Fatalf("Run(%q): got %v, want nil", input.Content, err)
	}
	return r
}

// drain reads a stream to its end.
func drain(s iter.Seq2[agent.Event, error]) (events []agent.Event, err error) {
	for e, err := range s {
		if err != nil {
			return events, err
		}
		events = append(events, e)
	}
	return events, nil
}

// finished returns the Response of the Finish that ends events.
func finished(tb testing.TB, events []agent.Event) agent.Response {
	tb.Helper()
	if len(events) > 0 {
		if f, ok := events[len(events)-1].(agent.Finish); ok {
			return f.Response
		}
	}
	tb.Fatalf("events: got %v, want a Finish at the end", events)
	return agent.Response{}
}

// history returns what is stored, as the store has it.
func history(tb testing.TB, c *agent.Conversation) []sessionstore.Message {
	tb.Helper()
	h, err := c.History(tb.Context(), 0)
	if err != nil {
		tb.Fatalf("History: got %v, want nil", err)
	}
	return h
}

// lines tells a history in short: "user: Hi", "assistant: Hello +call_1 !stopped".
func lines(h []sessionstore.Message) []string {
	out := []string{}
	for _, m := range h {
		var b strings.Builder
		fmt.Fprintf(&b, "%s: %s", m.Role, m.Content)
		for _, c := range m.ToolCalls {
			b.WriteString(" +" + c.ID)
		}
		if m.ToolCallID != "" {
			b.WriteString(" =" + m.ToolCallID)
		}
		if i, ok := agent.Interrupted(m); ok {
			b.WriteString(" !" + string(i.Reason))
		}
		out = append(out, b.String())
	}
	return out
}

// wantHistory compares what is stored with lines.
func wantHistory(tb testing.TB, c *agent.Conversation, want ...string) {
	tb.Helper()
	if got := lines(history(tb, c)); !slices.Equal(got, want) {
		tb.Errorf("history: got\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
	}
}

// wantNext checks that the conversation takes another turn.
func wantNext(tb testing.TB, store sessionstore.SessionStore, c *agent.Conversation) {
	tb.Helper()
	before := len(history(tb, c))
	run(tb, reopen(tb, store, c, newModel(tb)), user("And now?"))
	if _, err := c.Run(tb.Context(), user("And then?")); err != nil {
		tb.Errorf("next turn of the same handle: got %v, want nil", err)
	}
	if got := len(history(tb, c)); got != before+4 {
		tb.Errorf("after two more turns: got %d messages, want %d", got, before+4)
	}
}

// anonymous returns a history without ids and times.
func anonymous(h []sessionstore.Message) []sessionstore.Message {
	out := slices.Clone(h)
	for i := range out {
		out[i].ID, out[i].SessionID, out[i].CreatedAt = "", "", time.Time{}
	}
	return out
}

// wantSame compares histories, ids and times apart.
func wantSame(tb testing.TB, what string, got, want []sessionstore.Message) {
	tb.Helper()
	if got, want := anonymous(got), anonymous(want); !reflect.DeepEqual(got, want) {
		tb.Errorf("history after %s: got\n\t%+v\nwant\n\t%+v", what, got, want)
	}
}

func part(tb testing.TB, raw string) sessionstore.Part {
	tb.Helper()
	p, err := sessionstore.ParsePart([]byte(raw))
	if err != nil {
		tb.Fatalf("ParsePart(%s): got %v, want nil", raw, err)
	}
	return p
}

// adder is a tool that counts how often each call was run.
type adder struct {
	mu  sync.Mutex
	ran map[string]int
}

func (a *adder) tool() agent.Tool {
	return agent.Tool{
		Name: "add", Description: "Adds.", Parameters: json.RawMessage(`{"type":"object"}`),
		Run: func(_ context.Context, call sessionstore.ToolCall) (sessionstore.Content, error) {
			a.mu.Lock()
			defer a.mu.Unlock()
			if a.ran == nil {
				a.ran = map[string]int{}
			}
			a.ran[call.ID]++
			return sessionstore.Text("sum of " + call.ID), nil
		},
	}
}

func call(id string) sessionstore.ToolCall {
	return sessionstore.ToolCall{ID: id, Type: "function", Name: "add", Arguments: `{"n":1}`}
}
