package bolt_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.etcd.io/bbolt"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/bolt"
)

// dump returns every bucket ("name/") and key of the database, with the keys of one
// bucket below it.
func dump(t *testing.T, db *bbolt.DB) (out []string) {
	t.Helper()
	var walk func(path string, b *bbolt.Bucket) error
	walk = func(path string, b *bbolt.Bucket) error {
		out = append(out, path)
		return b.ForEach(func(k, v []byte) error {
			if v == nil {
				return walk(path+string(k)+"/", b.Bucket(k))
			}
			out = append(out, fmt.Sprintf("%s%q", path, k))
			return nil
		})
	}
	err := db.View(func(tx *bbolt.Tx) error {
		return tx.ForEach(func(name []byte, b *bbolt.Bucket) error { return walk(string(name)+"/", b) })
	})
	if err != nil {
		t.Fatalf("View: got %v, want nil", err)
	}
	return out
}

// empty is a database with nothing in it but what the first write has made.
var empty = []string{
	"sessionstore.index:n/", "sessionstore.meta/", `sessionstore.meta/"format"`, "sessionstore.sessions:n/",
}

func wantDump(t *testing.T, db *bbolt.DB, what string, want []string) {
	t.Helper()
	if got := dump(t, db); !slices.Equal(got, want) {
		t.Errorf("%s: the database has\n  got:  %q\n  want: %q", what, got, want)
	}
}

// clock stands still until it is moved.
type clock struct{ now time.Time }

func newClock() *clock { return &clock{time.Date(2030, 1, 2, 3, 4, 5, 6000, time.UTC)} }

func (c *clock) Now() time.Time { return c.now }

func TestLayout(t *testing.T) {
	t.Parallel()
	db, c := openDB(t, nil), newClock()
	s := newStore(t, db, &bolt.Options{Now: c.Now, Namespace: "n"})
	create(t, s, sessionstore.Session{ID: "s", UserID: "u", ParentID: "p", TTL: time.Hour})
	first := c.now
	c.now = c.now.Add(time.Second)
	appendTexts(t, s, "s", "one")
	at := string(bolt.TimeKey('t', c.now, "s")[1:])
	wantDump(t, db, "a session with one message", []string{
		"sessionstore.index:n/",
		fmt.Sprintf("sessionstore.index:n/%q", "a"+at),
		fmt.Sprintf("sessionstore.index:n/%q", "p\x01p"+at),
		fmt.Sprintf("sessionstore.index:n/%q", "u\x01u"+at),
		fmt.Sprintf("sessionstore.index:n/%q", bolt.TimeKey('x', first.Add(time.Hour), "s")),
		"sessionstore.meta/", `sessionstore.meta/"format"`,
		"sessionstore.sessions:n/", "sessionstore.sessions:n/s/",
		`sessionstore.sessions:n/s/"e"`, `sessionstore.sessions:n/s/"ione"`,
		`sessionstore.sessions:n/s/"m\x00\x00\x00\x00\x00\x00\x00\x01"`, `sessionstore.sessions:n/s/"r"`,
	})
}

// TestNothingIsLeft is field report S24: leftovers of a deleted session.
func TestNothingIsLeft(t *testing.T) {
	t.Parallel()
	db, c := openDB(t, nil), newClock()
	s := newStore(t, db, &bolt.Options{Now: c.Now, Namespace: "n"})
	fill := func(in sessionstore.Session) {
		create(t, s, in)
		for i := range 30 {
			c.now = c.now.Add(time.Second)
			appendTexts(t, s, in.ID, fmt.Sprint("a", i), fmt.Sprint("b", i), strings.Repeat("long ", 1000))
		}
	}
	in := sessionstore.Session{ID: "s", UserID: "u", ParentID: "p", TTL: time.Hour}

	fill(in)
	ttl, none := time.Minute, time.Duration(0)
	for _, ttl := range []*time.Duration{&ttl, &none} {
		if _, err := s.UpdateSession(t.Context(), "s", sessionstore.SessionUpdate{TTL: ttl}); err != nil {
			t.Fatalf("UpdateSession: got %v, want nil", err)
		}
	}
	if _, err := sessionstore.ForkSession(t.Context(), s, "s", sessionstore.Fork{ID: "fork"}); err != nil {
		t.Fatalf("ForkSession: got %v, want nil", err)
	}
	if _, err := s.TruncateMessages(t.Context(), "s", sessionstore.Truncate{}); err != nil {
		t.Fatalf("TruncateMessages: got %v, want nil", err)
	}
	for _, id := range []string{"s", "fork"} {
		if err := s.DeleteSession(t.Context(), id); err != nil {
			t.Fatalf("DeleteSession: got %v, want nil", err)
		}
	}
	wantDump(t, db, "after deletes", empty)

	fill(in)
	c.now = c.now.Add(time.Hour)
	create(t, s, sessionstore.Session{ID: "s"}) // over what has expired
	if err := s.DeleteSession(t.Context(), "s"); err != nil {
		t.Fatalf("DeleteSession: got %v, want nil", err)
	}
	wantDump(t, db, "after a create over an expired session, and its delete", empty)

	fill(in)
	c.now = c.now.Add(time.Hour)
	if n, err := s.PurgeExpired(t.Context(), 0); n != 1 || err != nil {
		t.Errorf("PurgeExpired: got %d, %v, want 1, nil", n, err)
	}
	wantDump(t, db, "after a purge", empty)
}

// TestPurgeMovesOn has sessions whose entry in the purge index is out of date.
func TestPurgeMovesOn(t *testing.T) {
	t.Parallel()
	db, c := openDB(t, nil), newClock()
	s := newStore(t, db, &bolt.Options{Now: c.Now, Namespace: "n"})
	const sessions = 150 // more than one transaction looks at
	for i := range sessions {
		create(t, s, sessionstore.Session{ID: fmt.Sprint("s", i), TTL: time.Minute})
	}
	c.now = c.now.Add(30 * time.Second)
	for i := range sessions / 2 {
		appendTexts(t, s, fmt.Sprint("s", i), "keeps it alive")
	}
	c.now = c.now.Add(30 * time.Second)
	if n, err := s.PurgeExpired(t.Context(), 10); n != 10 || err != nil {
		t.Errorf("PurgeExpired(10): got %d, %v, want 10, nil", n, err)
	}
	if n, err := s.PurgeExpired(t.Context(), 0); n != sessions/2-10 || err != nil {
		t.Errorf("PurgeExpired: got %d, %v, want %d, nil", n, err, sessions/2-10)
	}
	c.now = c.now.Add(30 * time.Second)
	if n, err := s.PurgeExpired(t.Context(), 0); n != sessions/2 || err != nil {
		t.Errorf("PurgeExpired after half a minute: got %d, %v, want %d, nil", n, err, sessions/2)
	}
	wantDump(t, db, "after purges", empty)
	if _, err := s.PurgeExpired(t.Context(), -1); !errors.Is(err, sessionstore.ErrInvalid) {
		t.Errorf("PurgeExpired(-1): got %v, want ErrInvalid", err)
	}
}

func TestTimeKeysKeepOrder(t *testing.T) {
	t.Parallel()
	times := []time.Time{
		time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(1969, 12, 31, 23, 59, 59, 999_999_000, time.UTC),
		time.Unix(0, 0), time.Unix(0, 1000), newClock().now, time.Date(9999, 12, 31, 23, 59, 59, 999_999_000, time.UTC),
	}
	var last []byte
	for _, at := range times {
		for _, id := range []string{"!", "a", "aa", "b", "é", "🙂"} {
			key := bolt.TimeKey('a', at, id)
			if bytes.Compare(last, key) >= 0 {
				t.Errorf("key of %v and %q: got %q, want more than %q", at, id, key, last)
			}
			last = key
		}
		if got := bolt.ReadTime(last[1:]); !got.Equal(at) {
			t.Errorf("time read from a key: got %v, want %v", got, at)
		}
	}
}

// exported returns a session and n messages of a given size, as an export gives them.
func exported(n, size int) (sessionstore.Session, iter.Seq2[sessionstore.Message, error]) {
	at := newClock().now
	s := sessionstore.Session{
		ID: "s", Status: sessionstore.StatusActive, Version: 3, CreatedAt: at, UpdatedAt: at,
		LastSeq: int64(n), MessageCount: int64(n),
	}
	text := strings.Repeat("x", size)
	return s, func(yield func(sessionstore.Message, error) bool) {
		for i := range n {
			m := sessionstore.UserMessage(text)
			m.ID, m.Seq, m.CreatedAt = fmt.Sprint("m", i), int64(i+1), at
			if !yield(m, nil) {
				return
			}
		}
	}
}

func hasStaged(t *testing.T, db *bbolt.DB) bool {
	t.Helper()
	return slices.ContainsFunc(dump(t, db), func(s string) bool {
		rest, ok := strings.CutPrefix(s, "sessionstore.staged:n/")
		return ok && rest != ""
	})
}

// TestLargeRestore has a history that does not fit into one transaction.
func TestLargeRestore(t *testing.T) {
	t.Parallel()
	db := openDB(t, nil)
	s := newStore(t, db, &bolt.Options{Namespace: "n"})
	create(t, s, sessionstore.Session{ID: "other"})
	in, messages := exported(1200, 10_000)
	seen := 0
	watched := func(yield func(sessionstore.Message, error) bool) {
		for m, err := range messages {
			if seen++; seen%400 == 0 {
				// The caller's code runs outside of any transaction: it may use the store.
				appendTexts(t, s, "other", fmt.Sprint(seen))
				if _, err := s.GetSession(t.Context(), "s"); !errors.Is(err, sessionstore.ErrSessionNotFound) {
					t.Errorf("get while it is restored: got %v, want ErrSessionNotFound", err)
				}
				if _, err := s.PurgeExpired(t.Context(), 0); err != nil {
					t.Errorf("PurgeExpired: got %v, want nil", err)
				}
			}
			if seen == 1200 && !hasStaged(t, db) {
				t.Error("after 12 MB: got nothing staged, want some")
			}
			if !yield(m, err) {
				return
			}
		}
	}
	if _, err := s.RestoreSession(t.Context(), in, watched); err != nil {
		t.Fatalf("RestoreSession: got %v, want nil", err)
	}
	if hasStaged(t, db) {
		t.Error("after the restore: got staged buckets, want none")
	}
	page, err := s.ListMessages(t.Context(), "s", sessionstore.MessageQuery{AfterSeq: 1199})
	if err != nil || len(page.Messages) != 1 || page.Messages[0].ID != "m1199" || page.Session.MessageCount != 1200 {
		t.Errorf("the last message: got %d messages, %v, want m1199", len(page.Messages), err)
	}
	if _, err := s.RestoreSession(t.Context(), in, messages); !errors.Is(err, sessionstore.ErrSessionExists) {
		t.Errorf("a second restore: got %v, want ErrSessionExists", err)
	}
	for _, id := range []string{"s", "other"} {
		if err := s.DeleteSession(t.Context(), id); err != nil {
			t.Errorf("DeleteSession: got %v, want nil", err)
		}
	}
	if got := dump(t, db); len(got) != len(empty)+1 { // the empty bucket for what is staged
		t.Errorf("after deletes: got %q, want %q and a staged bucket", got, empty)
	}
}

func TestLargeRestoreThatFails(t *testing.T) {
	t.Parallel()
	c := newClock()
	db := openDB(t, nil)
	s := newStore(t, db, &bolt.Options{Now: c.Now, Namespace: "n"})
	errExport := errors.New("the export is cut")
	in, messages := exported(1200, 10_000)
	for name, test := range map[string]struct {
		change func(m *sessionstore.Message, err *error)
		want   error
	}{
		"error":       {func(m *sessionstore.Message, err *error) { *err = errExport }, errExport},
		"repeated id": {func(m *sessionstore.Message, _ *error) { m.ID = "m7" }, sessionstore.ErrInvalid},
		"same chunk":  {func(m *sessionstore.Message, _ *error) { m.ID = "m1198" }, sessionstore.ErrInvalid},
		"bad role":    {func(m *sessionstore.Message, _ *error) { m.Role = "none" }, sessionstore.ErrInvalid},
	} {
		_, err := s.RestoreSession(t.Context(), in, func(yield func(sessionstore.Message, error) bool) {
			for m, err := range messages {
				if m.Seq == 1200 {
					test.change(&m, &err)
				}
				if !yield(m, err) {
					return
				}
			}
		})
		if !errors.Is(err, test.want) {
			t.Errorf("%s: got %v, want %v", name, err, test.want)
		}
		if hasStaged(t, db) {
			t.Errorf("%s: got staged buckets after it, want none", name)
		}
	}
	// What a crash leaves.
	err := db.Update(func(tx *bbolt.Tx) error {
		b, err := tx.Bucket([]byte("sessionstore.staged:n")).CreateBucket([]byte("token"))
		if err == nil {
			_, err = b.CreateBucket([]byte("s"))
		}
		return err
	})
	if err != nil || !hasStaged(t, db) {
		t.Fatalf("Update: got %v, want nil", err)
	}
	if n, err := s.PurgeExpired(t.Context(), 0); n != 0 || err != nil || hasStaged(t, db) {
		t.Errorf("PurgeExpired: got %d, %v, staged %t, want 0, nil, false", n, err, hasStaged(t, db))
	}
}

// TestNewerFormat is data of a later version of the package.
func TestNewerFormat(t *testing.T) {
	t.Parallel()
	set := func(path []string, key string, change func(v []byte) []byte) func(tx *bbolt.Tx) error {
		return func(tx *bbolt.Tx) error {
			b := tx.Bucket([]byte(path[0]))
			for _, name := range path[1:] {
				b = b.Bucket([]byte(name))
			}
			return b.Put([]byte(key), change(bytes.Clone(b.Get([]byte(key)))))
		}
	}
	newer := func(v []byte) []byte { v[0] = 2; return v }
	session := []string{"sessionstore.sessions:n", "s"}
	message := "m\x00\x00\x00\x00\x00\x00\x00\x01"
	for name, test := range map[string]struct {
		change func(tx *bbolt.Tx) error
		want   error
	}{
		"database":         {set([]string{"sessionstore.meta"}, "format", func([]byte) []byte { return []byte("2") }), sessionstore.ErrSchemaTooNew},
		"session":          {set(session, "r", newer), sessionstore.ErrSchemaTooNew},
		"message":          {set(session, message, newer), sessionstore.ErrSchemaTooNew},
		"database damaged": {set([]string{"sessionstore.meta"}, "format", func([]byte) []byte { return []byte("?") }), bolt.ErrDamaged},
		"session damaged":  {set(session, "r", func([]byte) []byte { return []byte("\x01{") }), bolt.ErrDamaged},
		"session missing":  {set(session, "r", func([]byte) []byte { return nil }), bolt.ErrDamaged},
		"message damaged":  {set(session, message, func([]byte) []byte { return []byte("\x01[]") }), bolt.ErrDamaged},
		"id damaged":       {set(session, "ione", func([]byte) []byte { return []byte("?") }), bolt.ErrDamaged},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := openDB(t, nil)
			s := newStore(t, db, &bolt.Options{Namespace: "n"})
			create(t, s, sessionstore.Session{ID: "s"})
			appendTexts(t, s, "s", "one", "two")
			if err := db.Update(test.change); err != nil {
				t.Fatalf("Update: got %v, want nil", err)
			}
			before := commits(t, db)
			calls := map[string]func() error{
				"append": func() error { _, err := s.AppendMessages(t.Context(), "s", say("one")); return err },
			}
			if name != "id damaged" {
				calls["list messages"] = func() error {
					_, err := s.ListMessages(t.Context(), "s", sessionstore.MessageQuery{})
					return err
				}
				calls["truncate"] = func() error {
					_, err := s.TruncateMessages(t.Context(), "s", sessionstore.Truncate{})
					return err
				}
			} else {
				calls["fork"] = func() error { _, err := s.ForkSession(t.Context(), "s", sessionstore.Fork{}); return err }
			}
			if !strings.Contains(name, "message") && name != "id damaged" {
				calls["get"] = func() error { _, err := s.GetSession(t.Context(), "s"); return err }
				calls["list"] = func() error { _, err := s.ListSessions(t.Context(), sessionstore.SessionQuery{}); return err }
				calls["delete"] = func() error { return s.DeleteSession(t.Context(), "s") }
				calls["create"] = func() error {
					_, err := s.CreateSession(t.Context(), sessionstore.Session{ID: "s"})
					return err
				}
			}
			for call, f := range calls {
				if err := f(); !errors.Is(err, test.want) {
					t.Errorf("%s: got %v, want %v", call, err, test.want)
				}
			}
			if got := commits(t, db) - before; got != 0 {
				t.Errorf("commits: got %d, want 0", got)
			}
		})
	}
}

// TestIndexWithoutSession is an index entry that leads nowhere.
func TestIndexWithoutSession(t *testing.T) {
	t.Parallel()
	db, c := openDB(t, nil), newClock()
	s := newStore(t, db, &bolt.Options{Now: c.Now, Namespace: "n"})
	create(t, s, sessionstore.Session{ID: "s", TTL: time.Minute})
	err := db.Update(func(tx *bbolt.Tx) error {
		return tx.Bucket([]byte("sessionstore.sessions:n")).DeleteBucket([]byte("s"))
	})
	if err != nil {
		t.Fatalf("Update: got %v, want nil", err)
	}
	if _, err := s.ListSessions(t.Context(), sessionstore.SessionQuery{}); !errors.Is(err, bolt.ErrDamaged) {
		t.Errorf("list: got %v, want %v", err, bolt.ErrDamaged)
	}
	c.now = c.now.Add(time.Minute)
	if _, err := s.PurgeExpired(t.Context(), 0); !errors.Is(err, bolt.ErrDamaged) {
		t.Errorf("purge: got %v, want %v", err, bolt.ErrDamaged)
	}
}

// TestListIsBounded has a filter that matches nothing among many.
func TestListIsBounded(t *testing.T) {
	t.Parallel()
	db := openDB(t, &bbolt.Options{NoSync: true})
	s := newStore(t, db, nil)
	for i := range 1100 {
		create(t, s, sessionstore.Session{ID: fmt.Sprint("s", i), UserID: "u"})
	}
	q := sessionstore.SessionQuery{UserID: "u", AgentName: "other", Limit: 10}
	page, err := s.ListSessions(t.Context(), q)
	if err != nil || len(page.Sessions) != 0 || page.Next == "" {
		t.Errorf("first page: got %d sessions, next %q, %v, want none, a cursor, nil", len(page.Sessions), page.Next, err)
	}
	q.Cursor = page.Next
	page, err = s.ListSessions(t.Context(), q)
	if err != nil || len(page.Sessions) != 0 || page.Next != "" {
		t.Errorf("second page: got %d sessions, next %q, %v, want none, the end, nil", len(page.Sessions), page.Next, err)
	}
}

// TestReadsAreCopies is field report S34: bytes of the memory map used after the
// transaction.
func TestReadsAreCopies(t *testing.T) {
	t.Parallel()
	db := openDB(t, &bbolt.Options{NoSync: true})
	s := newStore(t, db, nil)
	in, messages := exported(1000, 400)
	if _, err := s.RestoreSession(t.Context(), in, messages); err != nil {
		t.Fatalf("RestoreSession: got %v, want nil", err)
	}
	page, err := s.ListMessages(t.Context(), "s", sessionstore.MessageQuery{})
	if err != nil || len(page.Messages) != 1000 {
		t.Fatalf("ListMessages: got %d, %v, want 1000, nil", len(page.Messages), err)
	}
	sum := func() string {
		h := sha256.New()
		for _, m := range page.Messages {
			b, err := m.AppendJSON(nil)
			if err != nil {
				t.Fatalf("AppendJSON: got %v, want nil", err)
			}
			h.Write(b)
		}
		return fmt.Sprintf("%x", h.Sum(nil))
	}
	before := sum()
	if err := s.DeleteSession(t.Context(), "s"); err != nil {
		t.Fatalf("DeleteSession: got %v, want nil", err)
	}
	create(t, s, sessionstore.Session{ID: "grows"})
	for range 13 {
		appendTexts(t, s, "grows", strings.Repeat("y", 4<<20))
	}
	if got := sum(); got != before {
		t.Errorf("hash of what was read: got %s, want %s", got, before)
	}
}

// TestAppendWhileReading is field report S36: an iteration whose body writes, until the
// file has to be mapped anew.
func TestAppendWhileReading(t *testing.T) {
	t.Parallel()
	db := openDB(t, &bbolt.Options{NoSync: true})
	s := newStore(t, db, nil)
	create(t, s, sessionstore.Session{ID: "s"})
	appendTexts(t, s, "s", "start")
	q := sessionstore.MessageQuery{Limit: 1}
	for n := 0; n < 5000; n++ {
		page, err := s.ListMessages(t.Context(), "s", q)
		if err != nil || len(page.Messages) != 1 {
			t.Fatalf("ListMessages after %d: got %d messages, %v, want 1, nil", q.AfterSeq, len(page.Messages), err)
		}
		q.AfterSeq = page.Messages[0].Seq
		appendTexts(t, s, "s", fmt.Sprint("reply ", n, strings.Repeat("z", 400)))
	}
}

func TestSpaceIsUsedAgain(t *testing.T) {
	t.Parallel()
	db := openDB(t, &bbolt.Options{NoSync: true})
	s := newStore(t, db, nil)
	size := func() int64 {
		info, err := os.Stat(db.Path())
		if err != nil {
			t.Fatalf("Stat: got %v, want nil", err)
		}
		return info.Size()
	}
	round := func() {
		in, messages := exported(2000, 2000)
		if _, err := s.RestoreSession(t.Context(), in, messages); err != nil {
			t.Fatalf("RestoreSession: got %v, want nil", err)
		}
		if err := s.DeleteSession(t.Context(), "s"); err != nil {
			t.Fatalf("DeleteSession: got %v, want nil", err)
		}
	}
	for range 3 {
		round()
	}
	before := size()
	for range 10 {
		round()
	}
	if got := size(); got > before+before/4 {
		t.Errorf("file after 10 more rounds of the same: got %d bytes, want about %d", got, before)
	}
}

var update = flag.Bool("update", false, "write testdata/v1.db anew (only while version 1 is not released)")

// golden fills a store with one of everything, all by a clock.
func golden(t *testing.T, s *bolt.Store, c *clock) {
	t.Helper()
	create(t, s, sessionstore.Session{
		ID: "full ☃", UserID: "user", AgentName: "agent", System: "Be brief.", TTL: 1000 * time.Hour,
		Metadata: sessionstore.Metadata{"n": int64(1), "f": 1.5, "a.b": []any{nil, true}},
	})
	call := sessionstore.AssistantMessage("", sessionstore.ToolCall{ID: "c1", Name: "f", Arguments: `{"x": 1}`})
	call.ID = "m2"
	reply := sessionstore.ToolMessage("c1", "42")
	reply.ID = "m3"
	user := sessionstore.UserMessage("What is f(1)?")
	user.ID = "m1"
	c.now = c.now.Add(time.Second)
	a := sessionstore.Append{Messages: []sessionstore.Message{user, call, reply}}
	if _, err := s.AppendMessages(t.Context(), "full ☃", a); err != nil {
		t.Fatalf("AppendMessages: got %v, want nil", err)
	}
	c.now = c.now.Add(time.Second)
	at := int64(2)
	if _, err := s.ForkSession(t.Context(), "full ☃", sessionstore.Fork{ID: "child", AtSeq: &at}); err != nil {
		t.Fatalf("ForkSession: got %v, want nil", err)
	}
	c.now = c.now.Add(time.Second)
	create(t, s, sessionstore.Session{ID: "closed", Status: sessionstore.StatusClosed})
}

// everything is all that can be read of a store, as text.
func everything(t *testing.T, s *bolt.Store) string {
	t.Helper()
	page, err := s.ListSessions(t.Context(), sessionstore.SessionQuery{})
	if err != nil {
		t.Fatalf("ListSessions: got %v, want nil", err)
	}
	var out []byte
	for _, session := range page.Sessions {
		if out, err = session.AppendJSON(out); err != nil {
			t.Fatalf("AppendJSON: got %v, want nil", err)
		}
		msgs, err := s.ListMessages(t.Context(), session.ID, sessionstore.MessageQuery{})
		if err != nil {
			t.Fatalf("ListMessages: got %v, want nil", err)
		}
		for _, m := range msgs.Messages {
			if out, err = m.AppendJSON(append(out, '\n')); err != nil {
				t.Fatalf("AppendJSON: got %v, want nil", err)
			}
		}
		out = append(out, '\n')
	}
	return string(out)
}

// TestGolden reads, and goes on with, a file that version 1 of the layout has written.
func TestGolden(t *testing.T) {
	t.Parallel()
	const path = "testdata/v1.golden"
	if *update {
		_ = os.Remove(path)
		c := newClock()
		s, err := bolt.Open(t.Context(), path, &bolt.OpenOptions{Options: bolt.Options{Now: c.Now, Namespace: "n"}})
		if err != nil {
			t.Fatalf("Open: got %v, want nil", err)
		}
		golden(t, s, c)
		if err := s.Close(); err != nil {
			t.Fatalf("Close: got %v, want nil", err)
		}
	}
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("ReadFile: got %v, want nil", err)
	}
	copied := filepath.Join(t.TempDir(), "v1.db")
	if err := os.WriteFile(copied, file, 0o600); err != nil {
		t.Fatalf("WriteFile: got %v, want nil", err)
	}
	c := newClock()
	old, err := bolt.Open(t.Context(), copied, &bolt.OpenOptions{Options: bolt.Options{Now: c.Now, Namespace: "n"}})
	if err != nil {
		t.Fatalf("Open: got %v, want nil", err)
	}
	defer old.Close()
	fresh := newStore(t, openDB(t, nil), &bolt.Options{Now: c.Now, Namespace: "n"})
	golden(t, fresh, c)
	if got, want := everything(t, old), everything(t, fresh); got != want {
		t.Errorf("the old file\n  got:  %s\n  want: %s", got, want)
	}
	appendTexts(t, old, "full ☃", "next")
	if err := old.DeleteSession(t.Context(), "full ☃"); err != nil {
		t.Errorf("DeleteSession: got %v, want nil", err)
	}
	if _, err := old.GetSession(t.Context(), "full ☃"); !errors.Is(err, sessionstore.ErrSessionNotFound) {
		t.Errorf("get after a delete: got %v, want ErrSessionNotFound", err)
	}
}
