package mongo_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"reflect"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/mongo"
	"github.com/sessionstore/sessionstore/verify"
)

// plug is pulled from a client at one of its commands: from then on it reaches nobody, as
// if its process had died.
type plug struct {
	at    atomic.Int64 // the command, from 1; 0: never
	reply atomic.Bool  // the server carries that one out, and its reply is lost

	sent   atomic.Int64
	losing atomic.Bool // the next message that is written is that command
	pulled atomic.Bool
	once   atomic.Bool // only that reply is lost; connections work again
}

func (p *plug) monitor() *event.CommandMonitor {
	return &event.CommandMonitor{Started: func(context.Context, *event.CommandStartedEvent) {
		n, at := p.sent.Add(1), p.at.Load()
		switch {
		case at == 0 || n < at:
		case n == at && p.reply.Load():
			p.losing.Store(true)
		case !p.once.Load():
			p.pulled.Store(true)
		}
	}}
}

var errPulled = errors.New("the plug is pulled")

func (p *plug) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	if p.pulled.Load() {
		return nil, errPulled
	}
	conn, err := new(net.Dialer).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return &pluggedConn{Conn: conn, plug: p}, nil
}

type pluggedConn struct {
	net.Conn
	plug *plug
	lose bool
}

func (c *pluggedConn) Write(b []byte) (int, error) {
	if c.plug.pulled.Load() {
		c.Close()
		return 0, errPulled
	}
	if c.plug.losing.CompareAndSwap(true, false) {
		c.lose = true
	}
	return c.Conn.Write(b)
}

func (c *pluggedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b) // once the reply is there, the command was carried out
	if c.lose {
		if !c.plug.once.Load() {
			c.plug.pulled.Store(true)
		}
		c.Close()
		return 0, io.ErrUnexpectedEOF
	}
	if c.plug.pulled.Load() {
		c.Close()
		return 0, errPulled
	}
	return n, err
}

func (p *plug) options(o *options.ClientOptions) {
	o.SetDialer(p).SetMonitor(p.monitor()).SetServerSelectionTimeout(time.Second)
}

// crash is a call that takes several commands, on a session that exists, or does not.
type crash struct {
	name string
	id   string // of the session that it is about
	make func(tb testing.TB, f *fixture)
	call func(ctx context.Context, s *mongo.Store, f *fixture) error
}

var crashes = []crash{
	{"append that spills", "s", func(tb testing.TB, f *fixture) {
		f.create(tb, sessionstore.Session{ID: "s"})
		say(tb, f, "s", "m", 95)
	}, func(ctx context.Context, s *mongo.Store, _ *fixture) error {
		_, err := s.AppendMessages(ctx, "s", batch("n", 1))
		return err
	}},
	{"append of a large batch", "s", func(tb testing.TB, f *fixture) {
		f.create(tb, sessionstore.Session{ID: "s"})
		say(tb, f, "s", "m", 3)
	}, func(ctx context.Context, s *mongo.Store, _ *fixture) error {
		_, err := s.AppendMessages(ctx, "s", batch("n", 100))
		return err
	}},
	{"truncate", "s", withBlocks, func(ctx context.Context, s *mongo.Store, _ *fixture) error {
		_, err := s.TruncateMessages(ctx, "s", sessionstore.Truncate{ThroughSeq: 50})
		return err
	}},
	{"truncate to nothing", "s", withBlocks, func(ctx context.Context, s *mongo.Store, _ *fixture) error {
		_, err := s.TruncateMessages(ctx, "s", sessionstore.Truncate{})
		return err
	}},
	{"update", "s", withBlocks, func(ctx context.Context, s *mongo.Store, _ *fixture) error {
		_, err := s.UpdateSession(ctx, "s", sessionstore.SessionUpdate{SetMetadata: sessionstore.Metadata{"k": "v"}})
		return err
	}},
	{"delete", "s", withBlocks, func(ctx context.Context, s *mongo.Store, _ *fixture) error {
		return s.DeleteSession(ctx, "s")
	}},
	{"create over an expired session", "s", func(tb testing.TB, f *fixture) {
		ttl := time.Minute
		withBlocks(tb, f)
		if _, err := f.UpdateSession(tb.Context(), "s", sessionstore.SessionUpdate{TTL: &ttl}); err != nil {
			tb.Fatalf("UpdateSession: got %v, want nil", err)
		}
		f.now = f.now.Add(time.Minute)
	}, func(ctx context.Context, s *mongo.Store, _ *fixture) error {
		_, err := s.CreateSession(ctx, sessionstore.Session{ID: "s", UserID: "another"})
		return err
	}},
	{"fork", "child", withBlocks, func(ctx context.Context, s *mongo.Store, _ *fixture) error {
		_, err := s.ForkSession(ctx, "s", sessionstore.Fork{ID: "child"})
		return err
	}},
	{"restore", "r", func(testing.TB, *fixture) {}, func(ctx context.Context, s *mongo.Store, f *fixture) error {
		session, messages := archive("r", 150, f.now)
		_, err := s.RestoreSession(ctx, session, messages)
		return err
	}},
	{"purge", "s", func(tb testing.TB, f *fixture) {
		f.create(tb, sessionstore.Session{ID: "s", TTL: time.Minute})
		say(tb, f, "s", "m", 100)
		f.create(tb, sessionstore.Session{ID: "keep"})
		say(tb, f, "keep", "m", 100)
		f.now = f.now.Add(2 * time.Hour)
	}, func(ctx context.Context, s *mongo.Store, _ *fixture) error {
		_, err := s.PurgeExpired(ctx, 0)
		return err
	}},
}

func withBlocks(tb testing.TB, f *fixture) {
	f.create(tb, sessionstore.Session{ID: "s"})
	say(tb, f, "s", "m", 110)
}

// snapshot is a session with its messages; nil if there is none.
func snapshot(tb testing.TB, s sessionstore.SessionStore, id string) any {
	tb.Helper()
	session, err := s.GetSession(tb.Context(), id)
	if errors.Is(err, sessionstore.ErrSessionNotFound) {
		return nil
	}
	if err != nil {
		tb.Fatalf("GetSession(%q): got %v, want nil", id, err)
	}
	return []any{session, history(tb, s, id)}
}

// TestCrash stops each call at each of its commands, before the server has it and after:
// what is left reads as before the call or as after it, can be written to, and after a
// purge nothing else is left.
func TestCrash(t *testing.T) {
	t.Parallel()
	for _, c := range crashes {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, "", nil)
			start := f.now
			reset := func() {
				f.now = start
				for _, name := range []string{"sessions", "blocks"} {
					if _, err := f.db.Collection("sessionstore."+name).DeleteMany(t.Context(), bson.D{}); err != nil {
						t.Fatalf("DeleteMany: got %v, want nil", err)
					}
				}
				c.make(t, f)
			}
			// Once whole, for what it leads to and how many commands it takes.
			var whole plug
			store := f.store(t, "", connect(t, whole.options))
			reach(t, store)
			reset()
			before := snapshot(t, f, c.id)
			whole.sent.Store(0)
			if err := c.call(t.Context(), store, f); err != nil {
				t.Fatalf("%s: got %v, want nil", c.name, err)
			}
			n := whole.sent.Load()
			after := snapshot(t, f, c.id)
			if got := f.loose(t); len(got) > 0 {
				t.Errorf("%s: got %q, want nothing that is no session's", c.name, got)
			}
			for at := int64(1); at <= n; at++ {
				for _, reply := range []bool{false, true} {
					if testing.Short() && !reply && at > 1 {
						continue // much the same as the reply to the command before being lost
					}
					reset()
					where := fmt.Sprintf("%s that stops at command %d of %d, reply %v", c.name, at, n, reply)
					c.stop(t, f, where, at, reply)
					got := snapshot(t, f, c.id)
					if !reflect.DeepEqual(got, before) && !reflect.DeepEqual(got, after) {
						t.Errorf("%s\n  got:  %v\n  want: %v\n  or:   %v", where, got, before, after)
					}
					c.goOn(t, f, where)
				}
			}
		})
	}
}

// reach waits for the client of the store to reach the server, which it gives little time,
// and for the store to have learned what the server cannot do: both take commands that are
// none of the call's.
func reach(t *testing.T, store *mongo.Store) {
	t.Helper()
	for {
		err := store.DeleteSession(t.Context(), "none")
		if errors.Is(err, sessionstore.ErrSessionNotFound) {
			return
		}
		if t.Context().Err() != nil {
			t.Fatalf("DeleteSession: got %v, want ErrSessionNotFound", err)
		}
	}
}

// stop makes the call with a client that stops at a command.
func (c crash) stop(t *testing.T, f *fixture, where string, at int64, reply bool) {
	t.Helper()
	var p plug
	client := connect(t, p.options)
	store := f.store(t, "", client)
	reach(t, store)
	p.sent.Store(0)
	p.reply.Store(reply)
	p.at.Store(at)
	_ = c.call(t.Context(), store, f)
	if !p.pulled.Load() {
		t.Errorf("%s: got all commands through", where)
	}
	_ = client.Disconnect(context.WithoutCancel(t.Context()))
}

// goOn writes to what a crash has left, checks all of it, and purges.
func (c crash) goOn(t *testing.T, f *fixture, where string) {
	t.Helper()
	ctx := t.Context()
	if _, err := f.CreateSession(ctx, sessionstore.Session{ID: c.id}); err != nil && !errors.Is(err, sessionstore.ErrSessionExists) {
		t.Errorf("CreateSession after %s: got %v, want nil or ErrSessionExists", where, err)
	}
	last, err := f.AppendMessages(ctx, c.id, batch("zz", 97))
	if err != nil {
		t.Fatalf("AppendMessages after %s: got %v, want nil", where, err)
	}
	report, err := verify.Store(ctx, f, nil)
	if err := errors.Join(err, report.Err()); err != nil {
		t.Errorf("verify.Store after %s: got %v, want nil", where, err)
	}
	want := snapshot(t, f, c.id)
	f.now = f.now.Add(2 * time.Hour)
	if _, err := f.PurgeExpired(ctx, 0); err != nil {
		t.Errorf("PurgeExpired after %s: got %v, want nil", where, err)
	}
	if got := f.loose(t); len(got) > 0 {
		t.Errorf("a purge after %s: got %q, want nothing that is no session's", where, got)
	}
	if got := snapshot(t, f, c.id); !reflect.DeepEqual(got, want) {
		t.Errorf("a purge after %s\n  got:  %v\n  want: %v", where, got, want)
	}
	if got := seqs(history(t, f, c.id)); got[len(got)-1] != last[len(last)-1].Seq || !slices.IsSorted(got) {
		t.Errorf("the history after %s: got %v, want it to end with %d", where, got, last[len(last)-1].Seq)
	}
}

// TestLostReply is field report S16: a command whose reply is lost is sent again, by the
// driver where the server knows such commands, else by the caller. It counts once.
func TestLostReply(t *testing.T) {
	t.Parallel()
	var p plug
	p.once.Store(true)
	p.reply.Store(true)
	f := newFixture(t, "", func(o *options.ClientOptions) {
		p.options(o)
		o.SetServerSelectionTimeout(30 * time.Second) // it finds the server again
	})
	ctx := t.Context()
	f.create(t, sessionstore.Session{ID: "s"})
	say(t, f, "s", "a", 1)
	for _, n := range []int{1, 3, 100} {
		a := batch(fmt.Sprint("n", n, " "), n)
		for at := int64(1); ; at++ {
			p.sent.Store(0)
			p.at.Store(at)
			got, err := f.AppendMessages(ctx, "s", a)
			p.at.Store(0)
			if err != nil {
				if got, err = f.AppendMessages(ctx, "s", a); err != nil {
					t.Fatalf("AppendMessages of %d, again after the reply to command %d was lost: got %v, want nil", n, at, err)
				}
			}
			h := history(t, f, "s")
			if stored := h[len(h)-n:]; !reflect.DeepEqual(got, stored) {
				t.Errorf("AppendMessages of %d, command %d lost\n  got:    %v\n  stored: %v", n, at, got, stored)
			}
			if p.sent.Load() < at {
				break
			}
			if _, err := f.TruncateMessages(ctx, "s", sessionstore.Truncate{ThroughSeq: got[0].Seq - 1}); err != nil {
				t.Fatalf("TruncateMessages: got %v, want nil", err)
			}
		}
	}
	if got := len(history(t, f, "s")); got != 105 {
		t.Errorf("the history: got %d messages, want 105", got)
	}
}

// TestSlowWriters leaves two writers at the point where they have written blocks that no
// head knows, purges two hours later, and lets them go on: what was purged is not referred
// to.
func TestSlowWriters(t *testing.T) {
	t.Parallel()
	for _, call := range []string{"append", "truncate", "fork", "restore"} {
		t.Run(call, func(t *testing.T) {
			t.Parallel()
			var between atomic.Pointer[func()]
			f := newFixture(t, "", func(o *options.ClientOptions) {
				o.SetMonitor(&event.CommandMonitor{Succeeded: func(_ context.Context, e *event.CommandSucceededEvent) {
					if e.CommandName != "insert" {
						return
					}
					if then := between.Swap(nil); then != nil {
						(*then)()
					}
				}})
			})
			withBlocks(t, f)
			other := f.store(t, "", connect(t, nil))
			ctx := t.Context()
			purge := func() {
				f.now = f.now.Add(2 * time.Hour)
				if n, err := other.PurgeExpired(ctx, 0); n != 0 || err != nil {
					t.Errorf("PurgeExpired: got %d, %v; want 0", n, err)
				}
			}
			between.Store(&purge)
			var err error
			switch call {
			case "append":
				_, err = f.AppendMessages(ctx, "s", batch("n", 100))
			case "truncate":
				_, err = f.TruncateMessages(ctx, "s", sessionstore.Truncate{ThroughSeq: 50})
			case "fork":
				_, err = f.ForkSession(ctx, "s", sessionstore.Fork{ID: "child"})
			case "restore":
				s, messages := archive("r", 150, f.now)
				_, err = f.RestoreSession(ctx, s, messages)
			}
			if between.Load() != nil {
				t.Fatalf("%s: got no block written, want one", call)
			}
			if staged := call == "fork" || call == "restore"; (err != nil) != staged {
				t.Errorf("%s that is held up for two hours: got error %v; want one: %t", call, err, staged)
			}
			report, err := verify.Store(ctx, other, nil)
			if err := errors.Join(err, report.Err()); err != nil {
				t.Errorf("verify.Store: got %v, want nil", err)
			}
			f.now = f.now.Add(2 * time.Hour)
			purge()
			if got := f.loose(t); len(got) > 0 {
				t.Errorf("after a purge: got %q, want nothing that is no session's", got)
			}
		})
	}
}
