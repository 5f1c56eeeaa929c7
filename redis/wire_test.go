package redis_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/internal/testenv"
	"github.com/sessionstore/sessionstore/redis"
)

// trips counts what a client sends: each command or pipeline is one round trip.
type trips struct {
	mu    sync.Mutex
	n     int
	names []string
}

func (h *trips) DialHook(next goredis.DialHook) goredis.DialHook { return next }

func (h *trips) ProcessHook(next goredis.ProcessHook) goredis.ProcessHook {
	return func(ctx context.Context, cmd goredis.Cmder) error {
		h.add(cmd)
		return next(ctx, cmd)
	}
}

func (h *trips) ProcessPipelineHook(next goredis.ProcessPipelineHook) goredis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []goredis.Cmder) error {
		h.add(cmds...)
		return next(ctx, cmds)
	}
}

func (h *trips) add(cmds ...goredis.Cmder) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.n++
	for _, c := range cmds {
		h.names = append(h.names, strings.ToLower(c.Name()))
	}
}

func (h *trips) take() (n int, names []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	n, names = h.n, h.names
	h.n, h.names = 0, nil
	return n, names
}

// TestRoundTrips pins the costs that the package's documentation promises.
func TestRoundTrips(t *testing.T) {
	t.Parallel()
	f := newFixture(t, redis.Options{})
	ctx := t.Context()
	all := testenv.Calls(f.Store)
	order := []struct {
		name  string
		trips int
	}{
		{"GetSession", 1}, {"AppendMessages", 1}, {"ListMessages", 1}, {"UpdateSession", 2},
		{"ForkSession", 2}, {"TruncateMessages", 1}, {"ListSessions", 2}, {"DeleteSession", 1}, {"CreateSession", 1},
	}
	f.create(t, sessionstore.Session{ID: "s", UserID: "user"})
	for _, c := range order { // the first use of a script sends its text
		if err := all[c.name](ctx); err != nil {
			t.Fatalf("%s: got %v, want nil", c.name, err)
		}
	}
	f.say(t, "s", "m", 2500)
	var h trips
	f.client.AddHook(&h)
	check := func(name string, want int, err error) {
		t.Helper()
		got, names := h.take()
		if err != nil || got != want {
			t.Errorf("%s: got %d round trips, error %v; want %d", name, got, err, want)
		}
		for _, command := range names {
			if command == "keys" || command == "scan" {
				t.Errorf("%s: got the command %s, want none that goes through all keys", name, command)
			}
		}
	}
	for _, c := range order {
		check(c.name, c.trips, all[c.name](ctx))
	}

	// Field report O01: a list of many sessions.
	for i := range 300 {
		f.create(t, sessionstore.Session{ID: fmt.Sprint("many ", i), UserID: "many"})
	}
	h.take()
	page, err := f.ListSessions(ctx, sessionstore.SessionQuery{UserID: "many", Limit: 50})
	if len(page.Sessions) != 50 || page.Next == "" {
		t.Errorf("ListSessions of 300: got %d sessions, Next %q; want 50 and a Next", len(page.Sessions), page.Next)
	}
	h.mu.Lock()
	read := 0
	for _, name := range h.names {
		if name == "hmget" {
			read++
		}
	}
	h.mu.Unlock()
	if read != 50 {
		t.Errorf("ListSessions of 50 among 300: got %d sessions read, want 50", read)
	}
	check("ListSessions of 50 among 300", 2, err)
}

// lossy loses the reply of the next command that is sent once it is armed: the server has
// carried it out, the client cannot know.
type lossy struct {
	net.Conn
	armed *atomic.Bool
	lost  *atomic.Int32
	lose  bool
}

func (c *lossy) Write(b []byte) (int, error) {
	if bytes.Contains(bytes.ToLower(b), []byte("evalsha")) && c.armed.CompareAndSwap(true, false) {
		c.lose = true
	}
	return c.Conn.Write(b)
}

func (c *lossy) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b) // the reply is there: the command was carried out
	if c.lose {
		if n > 0 {
			c.lost.Add(1)
		}
		c.Close()
		return 0, net.ErrClosed
	}
	return n, err
}

// TestLostReply is field report S16: the driver sends a command again whose reply was
// lost, and it is carried out twice.
func TestLostReply(t *testing.T) {
	t.Parallel()
	opts, err := goredis.ParseURL(testenv.Redis(t))
	if err != nil {
		t.Fatalf("ParseURL: got %v, want nil", err)
	}
	var armed atomic.Bool
	var lost atomic.Int32
	opts.Dialer = func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := new(net.Dialer).DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &lossy{Conn: c, armed: &armed, lost: &lost}, nil
	}
	client := goredis.NewClient(opts)
	defer client.Close()
	now := time.Date(2040, 1, 1, 0, 0, 0, 0, time.UTC)
	clock := func() time.Time { now = now.Add(time.Second); return now }
	store, err := redis.New(client, &redis.Options{Namespace: fmt.Sprint(t.Name(), time.Now().UnixNano()), Now: clock})
	if err != nil {
		t.Fatalf("New: got %v, want nil", err)
	}
	defer store.Close()
	ctx := t.Context()
	lose := func(name string, call func() error) {
		t.Helper()
		before := lost.Load()
		armed.Store(true)
		err := call()
		if err != nil || lost.Load() != before+1 {
			t.Errorf("%s whose reply is lost once: got error %v, %d replies lost; want none and 1", name, err, lost.Load()-before)
		}
	}
	same := func(name string, got sessionstore.Session) {
		t.Helper()
		want, err := store.GetSession(ctx, got.ID)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s whose reply is lost once\n  got:    %+v\n  stored: %+v, %v", name, got, want, err)
		}
	}
	restore := func(id string, n int) (sessionstore.Session, error) {
		return store.RestoreSession(ctx, sessionstore.Session{
			ID: id, CreatedAt: now, UpdatedAt: now, Version: 1, LastSeq: int64(n), MessageCount: int64(n),
		}, func(yield func(sessionstore.Message, error) bool) {
			for i := range n {
				m := sessionstore.UserMessage("x")
				m.ID, m.Seq, m.CreatedAt = fmt.Sprint(i), int64(i)+1, now
				if !yield(m, nil) {
					return
				}
			}
		})
	}
	// The server has the text of each script from now on, so that the reply that is lost
	// is not the one that asks for it.
	if _, err := restore("warm", 2500); err != nil {
		t.Fatalf("RestoreSession: got %v, want nil", err)
	}
	all := testenv.Calls(store)
	for _, name := range []string{
		"CreateSession", "AppendMessages", "UpdateSession", "TruncateMessages", "ForkSession", "ListMessages", "DeleteSession",
	} {
		if err := all[name](ctx); err != nil {
			t.Fatalf("%s: got %v, want nil", name, err)
		}
	}
	var s sessionstore.Session
	lose("CreateSession", func() (err error) {
		s, err = store.CreateSession(ctx, sessionstore.Session{ID: "s", Metadata: sessionstore.Metadata{"n": 0}})
		return err
	})
	same("CreateSession", s)
	lose("AppendMessages", func() error {
		var a sessionstore.Append
		for range 4 {
			a.Messages = append(a.Messages, sessionstore.UserMessage("x"))
		}
		got, err := store.AppendMessages(ctx, "s", a)
		if stored := history(t, store, "s"); !reflect.DeepEqual(got, stored) {
			t.Errorf("AppendMessages whose reply is lost once\n  got:    %v\n  stored: %v", got, stored)
		}
		return err
	})
	lose("UpdateSession", func() (err error) {
		s, err = store.UpdateSession(ctx, "s", sessionstore.SessionUpdate{IfVersion: 1, SetMetadata: sessionstore.Metadata{"n": 1}})
		return err
	})
	same("UpdateSession", s)
	if s.Version != 2 {
		t.Errorf("UpdateSession whose reply is lost once: got Version %d, want 2", s.Version)
	}
	lose("TruncateMessages", func() (err error) {
		s, err = store.TruncateMessages(ctx, "s", sessionstore.Truncate{ThroughSeq: 2})
		return err
	})
	same("TruncateMessages", s)
	lose("ForkSession", func() (err error) {
		s, err = store.ForkSession(ctx, "s", sessionstore.Fork{ID: "child"})
		return err
	})
	same("ForkSession", s)
	if got := history(t, store, "child"); len(got) != 2 {
		t.Errorf("ForkSession whose reply is lost once: got %d messages, want 2", len(got))
	}
	for _, n := range []int{3, 2500} { // the reply to the last script, and to the first batch that is staged
		id := fmt.Sprint("restored ", n)
		lose("RestoreSession", func() (err error) {
			s, err = restore(id, n)
			return err
		})
		same("RestoreSession", s)
		if got := history(t, store, id); len(got) != n {
			t.Errorf("RestoreSession whose reply is lost once: got %d messages, want %d", len(got), n)
		}
	}
}

// TestTruncateCountsOnce sends a truncate again after others have appended: what they wrote
// stays.
func TestTruncateCountsOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t, redis.Options{})
	f.create(t, sessionstore.Session{ID: "s"})
	f.say(t, "s", "m", 3)
	// The driver's retry: the same script with the same arguments, once more.
	again := &replay{}
	f.client.AddHook(again)
	again.between = func() { f.say(t, "s", "late", 2) }
	s, err := f.TruncateMessages(t.Context(), "s", sessionstore.Truncate{ThroughSeq: 1})
	if err != nil || s.MessageCount != 3 {
		t.Errorf("TruncateMessages that is sent twice, 2 messages appended between: got %+v, %v; want 3 messages", s, err)
	}
	var seqs []int64
	for _, m := range history(t, f, "s") {
		seqs = append(seqs, m.Seq)
	}
	if want := []int64{1, 4, 5}; !slices.Equal(seqs, want) {
		t.Errorf("the history after it: got the seqs %v, want %v", seqs, want)
	}
}

// replay sends a script a second time, with a call in between.
type replay struct {
	between func()
}

func (h *replay) DialHook(next goredis.DialHook) goredis.DialHook { return next }

func (h *replay) ProcessPipelineHook(next goredis.ProcessPipelineHook) goredis.ProcessPipelineHook {
	return next
}

func (h *replay) ProcessHook(next goredis.ProcessHook) goredis.ProcessHook {
	return func(ctx context.Context, cmd goredis.Cmder) error {
		err := next(ctx, cmd)
		between := h.between
		if err != nil || between == nil || !strings.HasPrefix(strings.ToLower(cmd.Name()), "eval") {
			return err
		}
		h.between = nil
		between()
		return next(ctx, cmd)
	}
}

// TestLargePage is field report C38: a page of large messages is cut in the server, not in
// the client.
func TestLargePage(t *testing.T) {
	t.Parallel()
	f := newFixture(t, redis.Options{})
	f.create(t, sessionstore.Session{ID: "s"})
	t.Cleanup(func() { _ = f.client.Unlink(context.Background(), redis.Keys(f.namespace, 1, "s")...).Err() })
	text := strings.Repeat("x", 5<<20)
	const n = 12
	for i := range n {
		m := sessionstore.UserMessage(text)
		m.ID = fmt.Sprint(i)
		if _, err := f.AppendMessages(t.Context(), "s", sessionstore.Append{Messages: []sessionstore.Message{m}}); err != nil {
			t.Fatalf("AppendMessages of 5 MiB: got %v, want nil", err)
		}
	}
	replies := &replySize{}
	f.client.AddHook(replies)
	for _, newest := range []bool{false, true} {
		replies.size = 0
		page, err := f.ListMessages(t.Context(), "s", sessionstore.MessageQuery{Newest: newest})
		if err != nil || len(page.Messages) != 6 || !page.HasMore {
			t.Errorf("ListMessages of %d of 5 MiB, newest %v: got %d messages, HasMore %v, %v; want 6, and more to come", n, newest, len(page.Messages), page.HasMore, err)
		}
		if want := 8 * (len(text) + 1000); replies.size > want {
			t.Errorf("ListMessages, newest %v: got a reply of %d bytes, want at most %d", newest, replies.size, want)
		}
	}
	if got := len(history(t, f, "s")); got != n {
		t.Errorf("all pages: got %d messages, want %d", got, n)
	}
}

// replySize adds up the strings in the replies of scripts.
type replySize struct{ size int }

func (h *replySize) DialHook(next goredis.DialHook) goredis.DialHook { return next }

func (h *replySize) ProcessPipelineHook(next goredis.ProcessPipelineHook) goredis.ProcessPipelineHook {
	return next
}

func (h *replySize) ProcessHook(next goredis.ProcessHook) goredis.ProcessHook {
	return func(ctx context.Context, cmd goredis.Cmder) error {
		err := next(ctx, cmd)
		if c, ok := cmd.(*goredis.Cmd); ok {
			var add func(v any)
			add = func(v any) {
				switch v := v.(type) {
				case string:
					h.size += len(v)
				case []any:
					for _, e := range v {
						add(e)
					}
				}
			}
			add(c.Val())
		}
		return err
	}
}

// TestEvictionWarning changes a setting of the server, and so runs by itself.
func TestEvictionWarning(t *testing.T) {
	opts, err := goredis.ParseURL(testenv.Redis(t))
	if err != nil {
		t.Fatalf("ParseURL: got %v, want nil", err)
	}
	client := goredis.NewClient(opts)
	defer client.Close()
	ctx := t.Context()
	was, err := client.ConfigGet(ctx, "maxmemory-policy").Result()
	if err != nil {
		t.Fatalf("CONFIG GET: got %v, want nil", err)
	}
	defer func() {
		if err := client.ConfigSet(context.Background(), "maxmemory-policy", was["maxmemory-policy"]).Err(); err != nil {
			t.Errorf("CONFIG SET back: got %v, want nil", err)
		}
	}()
	for policy, want := range map[string]int{"allkeys-lru": 1, "volatile-lru": 0, "noeviction": 0} {
		if err := client.ConfigSet(ctx, "maxmemory-policy", policy).Err(); err != nil {
			t.Fatalf("CONFIG SET: got %v, want nil", err)
		}
		var log bytes.Buffer
		store, err := redis.New(client, &redis.Options{
			Namespace: fmt.Sprint(t.Name(), time.Now().UnixNano()),
			Logger:    slog.New(slog.NewTextHandler(&log, nil)),
		})
		if err != nil {
			t.Fatalf("New: got %v, want nil", err)
		}
		for range 3 {
			if _, err := store.GetSession(ctx, "s"); !errors.Is(err, sessionstore.ErrSessionNotFound) {
				t.Errorf("GetSession: got %v, want ErrSessionNotFound", err)
			}
		}
		if got := strings.Count(log.String(), "level=WARN"); got != want || (want > 0 && !strings.Contains(log.String(), policy)) {
			t.Errorf("with %s: got %d warnings, want %d that name it: %s", policy, got, want, log.String())
		}
		store.Close()
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
	// Without any timeout: only the context can end a call.
	client := goredis.NewClient(&goredis.Options{
		Addr: l.Addr().String(), ReadTimeout: -1, WriteTimeout: -1, ContextTimeoutEnabled: true,
	})
	defer client.Close()
	store, err := redis.New(client, nil)
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
	}
}
