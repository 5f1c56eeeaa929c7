package bolt_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/bolt"
)

func openDB(t *testing.T, o *bbolt.Options) *bbolt.DB {
	t.Helper()
	db, err := bbolt.Open(filepath.Join(t.TempDir(), "test.db"), 0o600, o)
	if err != nil {
		t.Fatalf("open: got %v, want nil", err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Errorf("close: got %v, want nil", err)
		}
	})
	return db
}

func newStore(t *testing.T, db *bbolt.DB, o *bolt.Options) *bolt.Store {
	t.Helper()
	s, err := bolt.New(db, o)
	if err != nil {
		t.Fatalf("New: got %v, want nil", err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("Close: got %v, want nil", err)
		}
	})
	return s
}

func create(t *testing.T, s sessionstore.SessionStore, in sessionstore.Session) sessionstore.Session {
	t.Helper()
	out, err := s.CreateSession(t.Context(), in)
	if err != nil {
		t.Fatalf("CreateSession(%q): got %v, want nil", in.ID, err)
	}
	return out
}

func say(texts ...string) sessionstore.Append {
	var a sessionstore.Append
	for _, text := range texts {
		m := sessionstore.UserMessage(text)
		if len(text) < 100 {
			m.ID = text
		}
		a.Messages = append(a.Messages, m)
	}
	return a
}

func appendTexts(t *testing.T, s sessionstore.SessionStore, id string, texts ...string) {
	t.Helper()
	if _, err := s.AppendMessages(t.Context(), id, say(texts...)); err != nil {
		t.Fatalf("AppendMessages(%q): got %v, want nil", id, err)
	}
}

// texts returns the history of a session that has one page.
func texts(t *testing.T, s sessionstore.SessionStore, id string) string {
	t.Helper()
	page, err := s.ListMessages(t.Context(), id, sessionstore.MessageQuery{})
	if err != nil {
		t.Fatalf("ListMessages(%q): got %v, want nil", id, err)
	}
	var out []string
	for _, m := range page.Messages {
		out = append(out, m.Content.String())
	}
	return strings.Join(out, " ")
}

// commits returns the number of the database's last committed transaction.
func commits(t *testing.T, db *bbolt.DB) (n int) {
	t.Helper()
	if err := db.View(func(tx *bbolt.Tx) error { n = tx.ID(); return nil }); err != nil {
		t.Fatalf("View: got %v, want nil", err)
	}
	return n
}

// until waits for other goroutines to make cond true; the test's timeout ends it.
func until(t *testing.T, what string, cond func() bool) {
	t.Helper()
	for !cond() {
		if t.Context().Err() != nil {
			t.Fatalf("still waiting for %s", what)
		}
		runtime.Gosched()
	}
}

// block takes bbolt's own lock, so that who leads waits at the beginning of its
// transaction, and returns what lets it go.
func block(t *testing.T, db *bbolt.DB) (release func()) {
	t.Helper()
	tx, err := db.Begin(true)
	if err != nil {
		t.Fatalf("Begin: got %v, want nil", err)
	}
	return sync.OnceFunc(func() { _ = tx.Rollback() })
}

func TestCommitIsShared(t *testing.T) {
	t.Parallel()
	db := openDB(t, nil)
	// Two stores, one line.
	stores := []*bolt.Store{newStore(t, db, nil), newStore(t, db, &bolt.Options{Namespace: "other"})}
	for _, s := range stores {
		create(t, s, sessionstore.Session{ID: "s"})
	}
	before := commits(t, db)
	appendTexts(t, stores[0], "s", "alone")
	if got := commits(t, db) - before; got != 1 {
		t.Errorf("commits of a lone append: got %d, want 1", got)
	}
	before = commits(t, db)
	if _, err := stores[0].AppendMessages(t.Context(), "s", say("alone")); err != nil {
		t.Errorf("a repeat: got %v, want nil", err)
	}
	if got := commits(t, db) - before; got != 0 {
		t.Errorf("commits of a repeat: got %d, want 0", got)
	}

	release := block(t, db)
	defer release()
	var wg sync.WaitGroup
	started := func(i int) {
		wg.Go(func() {
			if _, err := stores[i%2].AppendMessages(t.Context(), "s", say(fmt.Sprint("w", i))); err != nil {
				t.Errorf("append %d: got %v, want nil", i, err)
			}
		})
	}
	started(0)
	until(t, "the leader", func() bool { return stores[0].Leading() && stores[0].Waiting() == 0 })
	for i := 1; i < 32; i++ {
		started(i)
	}
	until(t, "31 writers in line", func() bool { return stores[0].Waiting() == 31 })
	before = commits(t, db)
	release()
	wg.Wait()
	if got := commits(t, db) - before; got != 1 {
		t.Errorf("commits of 32 writers that wait: got %d, want 1", got)
	}
}

func TestRefusedWriteLeavesTheOthers(t *testing.T) {
	t.Parallel()
	db := openDB(t, nil)
	s := newStore(t, db, nil)
	create(t, s, sessionstore.Session{ID: "s"})
	create(t, s, sessionstore.Session{ID: "paused", Status: sessionstore.StatusPaused})
	release := block(t, db)
	defer release()
	errs := make([]error, 4)
	var wg sync.WaitGroup
	for i, id := range []string{"s", "paused", "missing", "s"} {
		wg.Go(func() { _, errs[i] = s.AppendMessages(t.Context(), id, say(fmt.Sprint("w", i))) })
	}
	until(t, "three in line", func() bool { return s.Waiting() == 3 && s.Leading() })
	release()
	wg.Wait()
	for i, want := range []error{nil, sessionstore.ErrSessionPaused, sessionstore.ErrSessionNotFound, nil} {
		if !errors.Is(errs[i], want) {
			t.Errorf("append %d: got %v, want %v", i, errs[i], want)
		}
	}
	if got := texts(t, s, "s"); got != "w0 w3" && got != "w3 w0" {
		t.Errorf("history: got %q, want w0 and w3", got)
	}
}

func TestContextLeavesTheLine(t *testing.T) {
	t.Parallel()
	db := openDB(t, nil)
	s := newStore(t, db, nil)
	create(t, s, sessionstore.Session{ID: "s"})
	release := block(t, db)
	defer release()

	leaderCtx, cancelLeader := context.WithCancel(t.Context())
	leader := make(chan error, 1)
	go func() {
		_, err := s.AppendMessages(leaderCtx, "s", say("taken"))
		leader <- err
	}()
	until(t, "the leader", func() bool { return s.Leading() && s.Waiting() == 0 })

	ctx, cancel := context.WithCancel(t.Context())
	waiter := make(chan error, 1)
	go func() {
		_, err := s.AppendMessages(ctx, "s", say("waits"))
		waiter <- err
	}()
	until(t, "one in line", func() bool { return s.Waiting() == 1 })
	cancel()
	if err := <-waiter; !errors.Is(err, context.Canceled) {
		t.Errorf("append whose context ended in line: got %v, want %v", err, context.Canceled)
	}
	cancelLeader()
	release()
	if err := <-leader; err != nil {
		t.Errorf("append whose context ended in its transaction: got %v, want the truth: nil", err)
	}
	if got := texts(t, s, "s"); got != "taken" {
		t.Errorf("history: got %q, want %q", got, "taken")
	}
}

// TestSpoiledTransaction has a write fail in the middle, between others.
func TestSpoiledTransaction(t *testing.T) {
	t.Parallel()
	db := openDB(t, nil)
	s := newStore(t, db, nil)
	put := func(key string, err error) func(tx *bbolt.Tx) (func() error, error) {
		return func(tx *bbolt.Tx) (func() error, error) {
			return func() error {
				b, berr := tx.CreateBucketIfNotExists([]byte("test"))
				if berr != nil {
					return berr
				}
				if perr := b.Put([]byte(key), nil); perr != nil {
					return perr
				}
				if key == "panics" {
					panic("a page is not what it should be")
				}
				return err
			}, nil
		}
	}
	errFails := errors.New("it fails")
	release := block(t, db)
	defer release()
	errs := make([]error, 5)
	var wg sync.WaitGroup
	for i, key := range []string{"first", "fails", "between", "panics", "last"} {
		err := error(nil)
		if key == "fails" {
			err = errFails
		}
		wg.Go(func() { errs[i] = s.Do(t.Context(), put(key, err)) })
		// One after the other, so that the order is known.
		until(t, "one more", func() bool { return s.Leading() && s.Waiting() == i })
	}
	release()
	wg.Wait()
	for i, want := range []error{nil, errFails, nil, bolt.ErrDamaged, nil} {
		if !errors.Is(errs[i], want) {
			t.Errorf("write %d: got %v, want %v", i, errs[i], want)
		}
	}
	var got []string
	err := db.View(func(tx *bbolt.Tx) error {
		return tx.Bucket([]byte("test")).ForEach(func(k, _ []byte) error {
			got = append(got, string(k))
			return nil
		})
	})
	if want := "between first last"; err != nil || strings.Join(got, " ") != want {
		t.Errorf("stored: got %q, %v, want %q", got, err, want)
	}
}

func TestClockPanics(t *testing.T) {
	t.Parallel()
	var broken atomic.Bool
	db := openDB(t, nil)
	s := newStore(t, db, nil)
	bad := newStore(t, db, &bolt.Options{Now: func() time.Time {
		if broken.Load() {
			panic("no time")
		}
		return time.Now()
	}})
	create(t, s, sessionstore.Session{ID: "s"})
	broken.Store(true)
	for what, call := range map[string]func(){
		"append": func() { _, _ = bad.AppendMessages(t.Context(), "s", say("x")) },
		"get":    func() { _, _ = bad.GetSession(t.Context(), "s") },
	} {
		func() {
			defer func() {
				if got := recover(); got != "no time" {
					t.Errorf("%s: got panic %v, want the clock's own", what, got)
				}
			}()
			call()
		}()
	}
	appendTexts(t, s, "s", "after")
	if got := texts(t, s, "s"); got != "after" {
		t.Errorf("history: got %q, want %q", got, "after")
	}
}

// TestLeaderExits has the leader's goroutine end in the middle, as a clock that calls
// t.FailNow makes it.
func TestLeaderExits(t *testing.T) {
	t.Parallel()
	db := openDB(t, nil)
	s := newStore(t, db, nil)
	create(t, s, sessionstore.Session{ID: "s"})
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = s.Do(t.Context(), func(*bbolt.Tx) (func() error, error) { runtime.Goexit(); return nil, nil })
	}()
	<-done
	appendTexts(t, s, "s", "after")
	if got := texts(t, s, "s"); got != "after" {
		t.Errorf("history: got %q, want %q", got, "after")
	}
}

func TestCommitThatFails(t *testing.T) {
	t.Parallel()
	db := openDB(t, &bbolt.Options{MaxSize: 1 << 20})
	s := newStore(t, db, nil)
	create(t, s, sessionstore.Session{ID: "s"})
	_, err := s.AppendMessages(t.Context(), "s", say(strings.Repeat("x", 4<<20)))
	if !errors.Is(err, bolterrors.ErrMaxSizeReached) {
		t.Errorf("append to a full database: got %v, want %v", err, bolterrors.ErrMaxSizeReached)
	}
	appendTexts(t, s, "s", "after")
	if got := texts(t, s, "s"); got != "after" {
		t.Errorf("history: got %q, want %q", got, "after")
	}
}

func TestLineIsFreed(t *testing.T) {
	t.Parallel()
	db := openDB(t, nil)
	a, b := newStore(t, db, nil), newStore(t, db, nil)
	if err := a.Close(); err != nil || !bolt.HasWriter(db) {
		t.Errorf("after the first Close: got %v, line %t, want nil, true", err, bolt.HasWriter(db))
	}
	if err := errors.Join(a.Close(), b.Close()); err != nil || bolt.HasWriter(db) {
		t.Errorf("after the last Close: got %v, line %t, want nil, false", err, bolt.HasWriter(db))
	}
}

func TestDatabaseClosedUnderneath(t *testing.T) {
	t.Parallel()
	db := openDB(t, nil)
	s := newStore(t, db, nil)
	create(t, s, sessionstore.Session{ID: "s"})
	if err := db.Close(); err != nil {
		t.Fatalf("close: got %v, want nil", err)
	}
	if _, err := s.GetSession(t.Context(), "s"); !errors.Is(err, bolterrors.ErrDatabaseNotOpen) {
		t.Errorf("get: got %v, want %v", err, bolterrors.ErrDatabaseNotOpen)
	}
	if _, err := s.AppendMessages(t.Context(), "s", say("x")); !errors.Is(err, bolterrors.ErrDatabaseNotOpen) {
		t.Errorf("append: got %v, want %v", err, bolterrors.ErrDatabaseNotOpen)
	}
}
