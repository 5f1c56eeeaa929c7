package redis_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/internal/testenv"
	"github.com/sessionstore/sessionstore/redis"
)

// fixture is a store on the shared server, and the client to look behind it.
type fixture struct {
	*redis.Store
	client    *goredis.Client
	namespace string
	now       time.Time
}

func newFixture(t *testing.T, o redis.Options) *fixture {
	t.Helper()
	opts, err := goredis.ParseURL(testenv.Redis(t))
	if err != nil {
		t.Fatalf("ParseURL: got %v, want nil", err)
	}
	f := &fixture{client: goredis.NewClient(opts), now: time.Date(2040, 1, 1, 0, 0, 0, 0, time.UTC)}
	t.Cleanup(func() { f.client.Close() })
	if o.Namespace == "" {
		o.Namespace = fmt.Sprintf("%s %d", t.Name(), time.Now().UnixNano())
	}
	f.namespace = o.Namespace
	o.Now = func() time.Time { return f.now }
	if f.Store, err = redis.New(f.client, &o); err != nil {
		t.Fatalf("New: got %v, want nil", err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// keys returns the namespace's keys but that of its format.
func (f *fixture) keys(t *testing.T) []string {
	t.Helper()
	// As the package's documentation says; the name of a test needs no escapes but these.
	name := strings.NewReplacer("/", "%2F", " ", "%20").Replace(f.namespace)
	var out []string
	it := f.client.Scan(t.Context(), 0, "sessionstore:{"+name+":*", 1000).Iterator()
	for it.Next(t.Context()) {
		out = append(out, it.Val())
	}
	if err := it.Err(); err != nil {
		t.Fatalf("SCAN: got %v, want nil", err)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func (f *fixture) create(t *testing.T, s sessionstore.Session) sessionstore.Session {
	t.Helper()
	out, err := f.CreateSession(t.Context(), s)
	if err != nil {
		t.Fatalf("CreateSession(%q): got %v, want nil", s.ID, err)
	}
	return out
}

// say appends n messages with ids that begin with the prefix, at most 500 a call.
func (f *fixture) say(t *testing.T, id, prefix string, n int) {
	t.Helper()
	for from := 0; from < n; from += 500 {
		var a sessionstore.Append
		for i := from; i < min(from+500, n); i++ {
			m := sessionstore.UserMessage(fmt.Sprint("text ", i))
			m.ID = fmt.Sprint(prefix, i)
			a.Messages = append(a.Messages, m)
		}
		if _, err := f.AppendMessages(t.Context(), id, a); err != nil {
			t.Fatalf("AppendMessages(%q): got %v, want nil", id, err)
		}
	}
}

func history(t *testing.T, s sessionstore.SessionStore, id string) []sessionstore.Message {
	t.Helper()
	var out []sessionstore.Message
	for q := (sessionstore.MessageQuery{}); ; {
		page, err := s.ListMessages(t.Context(), id, q)
		if err != nil {
			t.Fatalf("ListMessages(%q): got %v, want nil", id, err)
		}
		out = append(out, page.Messages...)
		if !page.HasMore {
			return out
		}
		q.AfterSeq = out[len(out)-1].Seq
	}
}

// TestLayout pins what lies in the server: other versions of this package read it.
func TestLayout(t *testing.T) {
	t.Parallel()
	f := newFixture(t, redis.Options{})
	ctx := t.Context()
	f.create(t, sessionstore.Session{
		ID: "a {session}*", AgentName: "agent", UserID: "user", System: "be brief", TTL: time.Hour, ParentID: "parent", ForkSeq: 3,
		Metadata: sessionstore.Metadata{"k": "v"},
	})
	f.now = f.now.Add(time.Second)
	m := sessionstore.UserMessage("hello")
	m.ID = `an "id"`
	if _, err := f.AppendMessages(ctx, "a {session}*", sessionstore.Append{Messages: []sessionstore.Message{m}}); err != nil {
		t.Fatalf("AppendMessages: got %v, want nil", err)
	}

	tag := "sessionstore:{" + strings.ReplaceAll(f.namespace, " ", "%20") + ":00}:"
	id := "a%20%7Bsession%7D%2A"
	want := []string{tag + "expiry", tag + "i:" + id, tag + "index", tag + "m:" + id, tag + "s:" + id}
	if got := f.keys(t); !slices.Equal(got, want) {
		t.Errorf("keys\n  got:  %q\n  want: %q", got, want)
	}
	if got, err := f.client.HGetAll(ctx, "sessionstore:meta:"+strings.ReplaceAll(f.namespace, " ", "%20")).Result(); err != nil ||
		len(got) != 2 || got["format"] != "1" || got["shards"] != "1" {
		t.Errorf("the namespace's hash: got %v, %v; want format 1 and shards 1", got, err)
	}
	record := `{"message_id":"an \"id\"","session_id":"","role":"user","content":"hello","tool_call_id":null,"agent_name":null,` +
		`"created_at":"2040-01-01T00:00:01.000000+00:00","metadata":{}}`
	fields := map[string]string{
		"format": "1", "status": "active", "user": "user", "parent": "parent", "fork_seq": "3",
		"updated": redis.Stamp(f.now), "expires": redis.Stamp(f.now.Add(time.Hour)), "ttl": "3600000000",
		"last_seq": "1", "message_count": "1", "version": "1", "ops": "", "bytes": fmt.Sprint(len(record)),
		"session": `{"session_id":"a {session}*","agent_name":"agent","user_id":"user","status":"active","system":"be brief","metadata":{"k":"v"},` +
			`"ttl_seconds":3600,"parent_id":"parent","created_at":"2040-01-01T00:00:00.000000+00:00","updated_at":null}`,
	}
	hash, err := f.client.HGetAll(ctx, tag+"s:"+id).Result()
	if err != nil {
		t.Fatalf("HGETALL: got %v, want nil", err)
	}
	if len(hash["gen"]) != 16 {
		t.Errorf("gen: got %q, want 16 characters", hash["gen"])
	}
	delete(hash, "gen")
	for k, v := range fields {
		if hash[k] != v {
			t.Errorf("field %s\n  got:  %s\n  want: %s", k, hash[k], v)
		}
		delete(hash, k)
	}
	if len(hash) > 0 {
		t.Errorf("further fields: got %q, want none", hash)
	}
	if got, err := f.client.ZRangeWithScores(ctx, tag+"m:"+id, 0, -1).Result(); err != nil || len(got) != 1 || got[0].Score != 1 || got[0].Member != record {
		t.Errorf("messages\n  got:  %v, %v\n  want: 1 %s", got, err, record)
	}
	if got, err := f.client.HGetAll(ctx, tag+"i:"+id).Result(); err != nil || len(got) != 1 || got[m.ID] != "1" {
		t.Errorf("ids: got %q, %v; want %q at 1", got, err, m.ID)
	}
	place := "\n" + redis.Stamp(f.now) + "a {session}*"
	if got, err := f.client.ZRange(ctx, tag+"index", 0, -1).Result(); err != nil || !slices.Equal(got, []string{"a" + place, "pparent" + place, "uuser" + place}) {
		t.Errorf("index: got %q, %v; want the session by time, parent and user", got, err)
	}
	// Lazily: the append has not moved it.
	if got, err := f.client.ZScore(ctx, tag+"expiry", "a {session}*").Result(); err != nil || int64(got) != f.now.Add(time.Hour-time.Second).UnixMilli() {
		t.Errorf("expiry: got %v, %v; want the time as created", got, err)
	}
	if got, want := redis.Stamp(time.Date(2040, 1, 1, 0, 0, 0, 1000, time.UTC)), "064344585600000001"; got != want {
		t.Errorf("Stamp: got %s, want %s", got, want)
	}
}

// FuzzKeys is field reports S19 and S20: keys of one session in several slots, and ids that
// are patterns.
func FuzzKeys(f *testing.F) {
	for _, id := range []string{"a", "a*", "a?", "[ab]", "{", "}", "}{", "{}", "a}:b{", "%7B", `\`, "a b", "ü", ":", "\n"} {
		f.Add(id, id+"x", "{ns}", id)
		f.Add("a", id, id, "")
	}
	tag := func(key string) string {
		_, rest, _ := strings.Cut(key, "{")
		tag, _, _ := strings.Cut(rest, "}")
		return tag
	}
	f.Fuzz(func(t *testing.T, id, otherID, namespace, otherNamespace string) {
		keys := redis.Keys(namespace, 16, id)
		for _, key := range keys {
			if tag(key) != tag(keys[0]) || tag(key) == "" {
				t.Errorf("the keys of %q: got the tags %q and %q, want one", id, tag(key), tag(keys[0]))
			}
			if strings.ContainsAny(key, `*?[]^\`) || strings.Count(key, "{") != 1 || strings.Count(key, "}") != 1 {
				t.Errorf("a key of %q: got %q, want no pattern and one tag", id, key)
			}
		}
		for i, key := range redis.Keys(namespace, 16, otherID)[:3] {
			if (key == keys[i]) != (id == otherID) {
				t.Errorf("the keys of %q and %q: got %q and %q", id, otherID, keys[i], key)
			}
		}
		for i, key := range redis.Keys(otherNamespace, 16, id)[:5] {
			if (key == keys[i]) != (namespace == otherNamespace) {
				t.Errorf("the keys of the namespaces %q and %q: got %q and %q", namespace, otherNamespace, keys[i], key)
			}
		}
	})
}

// TestNothingLeft is field report S24: what a deleted or expired session leaves behind.
func TestNothingLeft(t *testing.T) {
	t.Parallel()
	for _, shards := range []int{1, 4} {
		f := newFixture(t, redis.Options{Shards: shards, Namespace: fmt.Sprintf("%s %d %d", t.Name(), shards, time.Now().UnixNano())})
		ctx := t.Context()
		made := []string{"s"}
		f.create(t, sessionstore.Session{ID: "s", UserID: "user", TTL: time.Hour})
		f.say(t, "s", "m", 1200)
		if _, err := f.TruncateMessages(ctx, "s", sessionstore.Truncate{ThroughSeq: 1100}); err != nil {
			t.Fatalf("TruncateMessages: got %v, want nil", err)
		}
		for i, at := range []int64{0, 3, 1000, 1100, 1200} {
			// Ten, so that some fall into each shard.
			for j := range 10 {
				id := fmt.Sprintf("fork %d %d", i, j)
				if _, err := f.ForkSession(ctx, "s", sessionstore.Fork{ID: id, AtSeq: &at}); err != nil {
					t.Fatalf("ForkSession(%q): got %v, want nil", id, err)
				}
				made = append(made, id)
			}
		}
		for _, id := range made {
			got := history(t, f, id)
			keys := redis.Keys(f.namespace, shards, id)
			ids, err := f.client.HLen(ctx, keys[2]).Result()
			if err != nil || ids != int64(len(got)) {
				t.Errorf("%d shards: ids of %q: got %d, %v; want those of its %d messages", shards, id, ids, err, len(got))
			}
			size := int64(0)
			for _, record := range f.client.ZRange(ctx, keys[1], 0, -1).Val() {
				size += int64(len(record))
			}
			if bytes, err := f.client.HGet(ctx, keys[0], "bytes").Int64(); err != nil || bytes != size {
				t.Errorf("%d shards: bytes of %q: got %d, %v; want %d", shards, id, bytes, err, size)
			}
		}
		for i, id := range made {
			if i%2 == 0 {
				if err := f.DeleteSession(ctx, id); err != nil {
					t.Fatalf("DeleteSession(%q): got %v, want nil", id, err)
				}
			}
		}
		f.now = f.now.Add(time.Hour)
		if n, err := f.PurgeExpired(ctx, 0); err != nil || n != len(made)/2 {
			t.Errorf("%d shards: PurgeExpired: got %d, %v; want %d", shards, n, err, len(made)/2)
		}
		if got := f.keys(t); len(got) > 0 {
			t.Errorf("%d shards: keys that are left: got %q, want none", shards, got)
		}
	}
}

// TestAbandoned leaves what a process that dies within a restore leaves.
func TestAbandoned(t *testing.T) {
	t.Parallel()
	f := newFixture(t, redis.Options{})
	const n = 2500
	in := sessionstore.Session{ID: "s", CreatedAt: f.now, UpdatedAt: f.now, Version: 1, LastSeq: n, MessageCount: n}
	died := errors.New("the process dies")
	restore := func(at func(i int)) (err error) {
		defer func() {
			if p := recover(); p != nil {
				err = p.(error)
			}
		}()
		_, err = f.RestoreSession(t.Context(), in, func(yield func(sessionstore.Message, error) bool) {
			for i := range n {
				at(i)
				m := sessionstore.UserMessage("x")
				m.ID, m.Seq, m.CreatedAt = fmt.Sprint(i), int64(i)+1, f.now
				if !yield(m, nil) {
					return
				}
			}
		})
		return err
	}
	purge := func() {
		t.Helper()
		if n, err := f.PurgeExpired(t.Context(), 0); err != nil || n != 0 {
			t.Fatalf("PurgeExpired: got %d, %v; want 0 sessions", n, err)
		}
	}
	err := restore(func(i int) {
		if i == n-1 {
			panic(died)
		}
	})
	if !errors.Is(err, died) {
		t.Fatalf("RestoreSession: got %v, want the iterator's panic", err)
	}
	staged := f.keys(t)
	if len(staged) != 3 {
		t.Fatalf("keys of a restore that died: got %q, want a register, messages and ids", staged)
	}
	if _, err := f.GetSession(t.Context(), "s"); !errors.Is(err, sessionstore.ErrSessionNotFound) {
		t.Errorf("GetSession: got %v, want ErrSessionNotFound", err)
	}
	f.now = f.now.Add(time.Hour - time.Millisecond)
	purge()
	if got := f.keys(t); !slices.Equal(got, staged) {
		t.Errorf("keys after a purge within the hour\n  got:  %q\n  want: %q", got, staged)
	}
	f.now = f.now.Add(time.Millisecond)
	purge()
	if got := f.keys(t); len(got) > 0 {
		t.Errorf("keys after a purge: got %q, want none", got)
	}

	// One that takes too long finds out, and leaves nothing.
	err = restore(func(i int) {
		if i == 1500 {
			f.now = f.now.Add(time.Hour)
			purge()
		}
	})
	if err == nil || !strings.Contains(err.Error(), "purged") {
		t.Errorf("RestoreSession with a purge in the middle: got %v, want that it was purged", err)
	}
	if got := f.keys(t); len(got) > 0 {
		t.Errorf("keys after it: got %q, want none", got)
	}
	if err := restore(func(int) {}); err != nil {
		t.Errorf("RestoreSession: got %v, want nil", err)
	}
	if got := len(history(t, f, "s")); got != n {
		t.Errorf("its history: got %d messages, want %d", got, n)
	}
}

// TestTooNew is field report O05: data of a later version is refused, and left alone.
func TestTooNew(t *testing.T) {
	t.Parallel()
	f := newFixture(t, redis.Options{})
	ctx := t.Context()
	f.create(t, sessionstore.Session{ID: "s", TTL: time.Minute})
	f.say(t, "s", "m", 3)
	key := redis.Keys(f.namespace, 1, "s")[0]
	if err := f.client.HSet(ctx, key, "format", "2").Err(); err != nil {
		t.Fatalf("HSET: got %v, want nil", err)
	}
	before := f.client.HGetAll(ctx, key).Val()
	check := func(store *redis.Store) {
		t.Helper()
		for name, call := range testenv.Calls(store) {
			if err := call(ctx); !errors.Is(err, sessionstore.ErrSchemaTooNew) {
				t.Errorf("%s: got %v, want ErrSchemaTooNew", name, err)
			}
		}
	}
	check(f.Store)
	f.now = f.now.Add(time.Hour)
	if n, err := f.PurgeExpired(ctx, 0); err != nil || n != 0 {
		t.Errorf("PurgeExpired: got %d, %v; want 0 sessions", n, err)
	}
	if after := f.client.HGetAll(ctx, key).Val(); fmt.Sprint(after) != fmt.Sprint(before) {
		t.Errorf("the session's hash\n  got:  %v\n  want: %v", after, before)
	}

	meta := "sessionstore:meta:" + f.namespace
	meta = strings.ReplaceAll(meta, " ", "%20")
	if err := f.client.HSet(ctx, meta, "format", "2").Err(); err != nil {
		t.Fatalf("HSET: got %v, want nil", err)
	}
	if err := f.client.HSet(ctx, key, "format", "1").Err(); err != nil {
		t.Fatalf("HSET: got %v, want nil", err)
	}
	other, err := redis.New(f.client, &redis.Options{Namespace: f.namespace})
	if err != nil {
		t.Fatalf("New: got %v, want nil", err)
	}
	defer other.Close()
	check(other)
}

// TestShards opens a namespace with another number of shards than it has.
func TestShards(t *testing.T) {
	t.Parallel()
	f := newFixture(t, redis.Options{Shards: 4})
	for i := range 20 {
		f.create(t, sessionstore.Session{ID: fmt.Sprint(i)})
	}
	other, err := redis.New(f.client, &redis.Options{Namespace: f.namespace})
	if err != nil {
		t.Fatalf("New: got %v, want nil", err)
	}
	defer other.Close()
	if page, err := other.ListSessions(t.Context(), sessionstore.SessionQuery{}); err != nil || len(page.Sessions) != 20 {
		t.Errorf("ListSessions by a store that asks for no number: got %d sessions, %v; want 20", len(page.Sessions), err)
	}
	wrong, err := redis.New(f.client, &redis.Options{Namespace: f.namespace, Shards: 5})
	if err != nil {
		t.Fatalf("New: got %v, want nil", err)
	}
	defer wrong.Close()
	if _, err := wrong.GetSession(t.Context(), "1"); !errors.Is(err, sessionstore.ErrInvalid) {
		t.Errorf("GetSession by a store that asks for 5 shards: got %v, want ErrInvalid", err)
	}
}
