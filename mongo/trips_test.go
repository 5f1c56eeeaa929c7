package mongo_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/event"
	driver "go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readconcern"
	"go.mongodb.org/mongo-driver/v2/mongo/readpref"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/internal/testenv"
	"github.com/sessionstore/sessionstore/mongo"
)

// commands are those that a client has sent.
type commands struct {
	mu   sync.Mutex
	sent []*event.CommandStartedEvent
}

func (c *commands) monitor() *event.CommandMonitor {
	return &event.CommandMonitor{Started: func(_ context.Context, e *event.CommandStartedEvent) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.sent = append(c.sent, e)
	}}
}

func (c *commands) take() []*event.CommandStartedEvent {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := c.sent
	c.sent = nil
	return out
}

func commandNames(sent []*event.CommandStartedEvent) []string {
	out := make([]string, len(sent))
	for i, e := range sent {
		out[i] = e.CommandName
	}
	return out
}

// TestRoundTrips pins the costs that the package's documentation promises: each command is
// a round trip.
func TestRoundTrips(t *testing.T) {
	t.Parallel()
	var c commands
	f := newFixture(t, "", func(o *options.ClientOptions) { o.SetMonitor(c.monitor()) })
	ctx := t.Context()
	check := func(name string, err error, want ...string) {
		t.Helper()
		if got := commandNames(c.take()); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s\n  got:  %q, error %v\n  want: %q", name, got, err, want)
		}
	}
	f.create(t, sessionstore.Session{ID: "warm"})
	say(t, f, "warm", "m", 1) // learns what the server cannot do
	c.take()
	all := testenv.Calls(f.Store)
	check("CreateSession", all["CreateSession"](ctx), "insert")
	check("GetSession", all["GetSession"](ctx), "find")
	for range 3 {
		check("AppendMessages", all["AppendMessages"](ctx), "findAndModify")
	}
	check("ListMessages of a tail", all["ListMessages"](ctx), "find")
	check("ListSessions", all["ListSessions"](ctx), "find")
	check("UpdateSession", all["UpdateSession"](ctx), "find", "findAndModify")
	check("UpdateSession that changes nothing", all["UpdateSession"](ctx), "find")
	check("ForkSession of a tail", all["ForkSession"](ctx), "find", "insert")
	check("TruncateMessages within a tail", all["TruncateMessages"](ctx), "find", "insert", "findAndModify")
	check("TruncateMessages that removes nothing", all["TruncateMessages"](ctx), "find")
	say(t, f, "s", "zm", 95)
	check("95 messages", nil, "findAndModify")
	say(t, f, "s", "zn", 1)
	check("AppendMessages that fills the tail", nil, "findAndModify", "find", "insert", "findAndModify")
	check("ListMessages of a tail and blocks", all["ListMessages"](ctx), "find", "find")
	_, err := f.ListMessages(ctx, "s", sessionstore.MessageQuery{Newest: true, Limit: 20})
	check("ListMessages of the newest 20", err, "find")
	_, err = f.ForkSession(ctx, "s", sessionstore.Fork{ID: "child"})
	check("ForkSession with blocks", err, "find", "find", "update", "insert", "update")
	_, err = f.TruncateMessages(ctx, "s", sessionstore.Truncate{ThroughSeq: 10})
	check("TruncateMessages of blocks", err, "find", "find", "insert", "update", "findAndModify", "delete")
	_, err = f.TruncateMessages(ctx, "s", sessionstore.Truncate{})
	check("TruncateMessages to nothing", err, "find", "update", "findAndModify", "delete")
	check("DeleteSession", all["DeleteSession"](ctx), "findAndModify", "delete", "delete")
	s, messages := archive("small", 20, f.now)
	_, err = f.RestoreSession(ctx, s, messages)
	check("RestoreSession of a tail", err, "insert")
	s, messages = archive("large", 2000, f.now)
	_, err = f.RestoreSession(ctx, s, messages)
	check("RestoreSession of 2,000", err, "update", "insert", "update")
}

// TestListCost is field report O01 and C38: a list that reads all sessions, or messages.
func TestListCost(t *testing.T) {
	t.Parallel()
	var c commands
	f := newFixture(t, "", func(o *options.ClientOptions) { o.SetMonitor(c.monitor()) })
	for i := range 60 {
		f.create(t, sessionstore.Session{ID: fmt.Sprint(i), UserID: "u"})
	}
	c.take()
	page, err := f.ListSessions(t.Context(), sessionstore.SessionQuery{UserID: "u", Limit: 50})
	if err != nil || len(page.Sessions) != 50 || page.Next == "" {
		t.Fatalf("ListSessions: got %d sessions, Next %q, %v; want 50 and a Next", len(page.Sessions), page.Next, err)
	}
	sent := c.take()
	if len(sent) != 1 {
		t.Fatalf("ListSessions of 50 among 60: got %q, want one command", commandNames(sent))
	}
	for field, want := range map[string]string{
		"limit": `{"$numberLong":"51"}`, "sort": `{"place": {"$numberInt":"-1"}}`,
		"projection": `{"refs": {"$numberInt":"0"},"tail": {"$numberInt":"0"},"ids": {"$numberInt":"0"}}`,
	} {
		if got := sent[0].Command.Lookup(field).String(); got != want {
			t.Errorf("the list's %s: got %s, want %s", field, got, want)
		}
	}
}

// TestConcerns sends each method's commands with the concerns that the store promises,
// whatever the client's are, and without a transaction (field report O15), even of the
// caller's.
func TestConcerns(t *testing.T) {
	t.Parallel()
	var c commands
	f := newFixture(t, "", func(o *options.ClientOptions) {
		o.SetMonitor(c.monitor()).SetReadConcern(readconcern.Available()).SetWriteConcern(writeconcern.W1()).
			SetReadPreference(readpref.SecondaryPreferred()).SetBSONOptions(&options.BSONOptions{OmitEmpty: true})
	})
	c.take() // what Migrate has sent
	all := testenv.Calls(f.Store)
	session, err := f.client.StartSession()
	if err != nil {
		t.Fatalf("StartSession: got %v, want nil", err)
	}
	defer session.EndSession(context.WithoutCancel(t.Context()))
	if err := session.StartTransaction(); err != nil {
		t.Fatalf("StartTransaction: got %v, want nil", err)
	}
	ctx := driver.NewSessionContext(t.Context(), session)
	for _, name := range []string{
		"CreateSession", "GetSession", "AppendMessages", "ListMessages", "UpdateSession", "ListSessions", "ForkSession", "TruncateMessages", "DeleteSession",
	} {
		if err := all[name](ctx); err != nil {
			t.Fatalf("%s: got %v, want nil", name, err)
		}
		for _, e := range c.take() {
			for _, field := range []string{"startTransaction", "autocommit"} {
				if e.Command.Lookup(field).Type != 0 {
					t.Errorf("%s sends %s with %s, want no transaction", name, e.CommandName, field)
				}
			}
			if e.CommandName == "find" {
				if got := e.Command.Lookup("readConcern", "level").StringValue(); got != "majority" {
					t.Errorf("%s: got a read concern %q, want majority", name, got)
				}
				if mode, ok := e.Command.Lookup("$readPreference", "mode").StringValueOK(); ok && mode != "primary" && mode != "primaryPreferred" {
					t.Errorf("%s: got the read preference %q, want the primary", name, mode)
				}
				continue
			}
			if w := e.Command.Lookup("writeConcern", "w").StringValue(); w != "majority" || !e.Command.Lookup("writeConcern", "j").Boolean() {
				t.Errorf("%s: %s with the write concern %v, want majority, journalled", name, e.CommandName, e.Command.Lookup("writeConcern"))
			}
		}
	}
}

// TestHungServer ends calls whose server takes them and does not answer.
func TestHungServer(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("Listen: got %v, want nil", err)
	}
	defer l.Close() // and with it the connections that nobody has accepted
	client, err := driver.Connect(options.Client().ApplyURI("mongodb://" + l.Addr().String()))
	if err != nil {
		t.Fatalf("Connect: got %v, want nil", err)
	}
	defer func() { _ = client.Disconnect(context.Background()) }()
	store, err := mongo.New(client.Database("db"), nil)
	if err != nil {
		t.Fatalf("New: got %v, want nil", err)
	}
	defer store.Close()
	for name, call := range testenv.Calls(store) {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		if err := call(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: got %v, want context.DeadlineExceeded", name, err)
		}
		cancel()
		ctx, cancel = context.WithCancel(t.Context())
		time.AfterFunc(20*time.Millisecond, cancel)
		if err := call(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: got %v, want context.Canceled", name, err)
		}
	}
}

// TestTTLGuess appends to sessions whose TTL another store has set or changed, so that what
// this one takes it for is wrong.
func TestTTLGuess(t *testing.T) {
	t.Parallel()
	var c commands
	f := newFixture(t, "", func(o *options.ClientOptions) { o.SetMonitor(c.monitor()) })
	other := f.store(t, "", connect(t, nil))
	ctx := t.Context()
	if _, err := other.CreateSession(ctx, sessionstore.Session{ID: "s", TTL: time.Hour}); err != nil {
		t.Fatalf("CreateSession: got %v, want nil", err)
	}
	for _, ttl := range []time.Duration{time.Hour, time.Minute, 0, 2 * time.Hour} {
		if _, err := other.UpdateSession(ctx, "s", sessionstore.SessionUpdate{TTL: &ttl}); err != nil {
			t.Fatalf("UpdateSession: got %v, want nil", err)
		}
		f.now = f.now.Add(time.Second)
		say(t, f, "s", ttl.String(), 1)
		c.take()
		f.now = f.now.Add(time.Second)
		say(t, f, "s", ttl.String()+" again", 1)
		if got := commandNames(c.take()); len(got) != 1 {
			t.Errorf("the second append with the TTL %v: got %q, want one command", ttl, got)
		}
		s, err := f.GetSession(ctx, "s")
		want := time.Time{}
		if ttl > 0 {
			want = f.now.Add(ttl)
		}
		if err != nil || s.TTL != ttl || !s.ExpiresAt.Equal(want) {
			t.Errorf("after appends with the TTL %v: got %v, ExpiresAt %v, %v; want %v", ttl, s.TTL, s.ExpiresAt, err, want)
		}
	}
	f.now = f.now.Add(2 * time.Hour)
	if _, err := f.AppendMessages(ctx, "s", batch("late", 1)); !errors.Is(err, sessionstore.ErrSessionNotFound) {
		t.Errorf("AppendMessages to an expired session: got %v, want ErrSessionNotFound", err)
	}
}

// FuzzKeys is field report S20: ids that are patterns, or meet in one document.
func FuzzKeys(f *testing.F) {
	for _, id := range []string{"a", "a*", "$a", "a.b", "{", "", "\n", "a\nb", "ü"} {
		f.Add(id, id+"x", "ns", id)
		f.Add("a", id, id, "")
	}
	f.Fuzz(func(t *testing.T, id, otherID, namespace, otherNamespace string) {
		for _, name := range []string{id, otherID, namespace, otherNamespace} {
			if strings.Contains(name, "\n") {
				t.Skip("no id or namespace has a control character")
			}
		}
		got := mongo.Key(namespace, id) == mongo.Key(otherNamespace, otherID)
		if want := namespace == otherNamespace && id == otherID; got != want {
			t.Errorf("the keys of %q in %q and of %q in %q: got the same: %t, want %t", id, namespace, otherID, otherNamespace, got, want)
		}
	})
}
