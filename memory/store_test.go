package memory_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
	"testing"
	"time"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/memory"
)

func TestNewRefusesNamespace(t *testing.T) {
	t.Parallel()
	store, err := memory.New(&memory.Options{Namespace: "a\nb"})
	var invalid *sessionstore.InvalidError
	if !errors.As(err, &invalid) || invalid.Field != "namespace" || store != nil {
		t.Errorf(`New(namespace "a\nb") = %v, %v; want nil and an InvalidError of "namespace"`, store, err)
	}
}

func TestStoresShareDB(t *testing.T) {
	t.Parallel()
	db := memory.NewDB()
	first := newStore(t, &memory.Options{DB: db, Namespace: "a"})
	second := newStore(t, &memory.Options{DB: db, Namespace: "a"})
	other := newStore(t, &memory.Options{DB: db, Namespace: "b"})
	private := newStore(t, nil)
	create(t, first, sessionstore.Session{ID: "s"})
	first.Close()

	if _, err := second.GetSession(t.Context(), "s"); err != nil {
		t.Errorf("GetSession by another handle, the first one closed = %v, want nil", err)
	}
	for name, store := range map[string]*memory.Store{"another namespace": other, "another DB": private} {
		if _, err := store.GetSession(t.Context(), "s"); !errors.Is(err, sessionstore.ErrSessionNotFound) {
			t.Errorf("GetSession in %s = %v, want ErrSessionNotFound", name, err)
		}
	}
}

func TestOpen(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"memory:", "memory:?namespace=a%20b", "MEMORY:?migrate=off&timeout=1s"} {
		store, err := sessionstore.Open(t.Context(), url)
		if err != nil {
			t.Errorf("Open(%q) = %v, want nil", url, err)
			continue
		}
		create(t, store, sessionstore.Session{ID: "s"}) // each has a DB of its own
		if err := store.Close(); err != nil {
			t.Errorf("Close of %q = %v, want nil", url, err)
		}
	}
	for _, url := range []string{
		"memory:file", "memory:/path", "memory://host", "memory://user:secret@/", "memory:?namespce=a",
		"memory:?namespace=%zz", "memory:?namespace=%00", "memory:\x7f",
	} {
		if store, err := sessionstore.Open(t.Context(), url); !errors.Is(err, sessionstore.ErrInvalid) || store != nil {
			t.Errorf("Open(%q) = %v, %v; want nil and ErrInvalid", url, store, err)
		}
	}
}

// Every method, called with ctx. The ids and arguments are valid ones.
func calls(ctx context.Context, s *memory.Store) map[string]error {
	none := func(func(sessionstore.Message, error) bool) {}
	now := time.Now()
	errs := map[string]error{}
	_, errs["CreateSession"] = s.CreateSession(ctx, sessionstore.Session{})
	_, errs["GetSession"] = s.GetSession(ctx, "s")
	_, errs["UpdateSession"] = s.UpdateSession(ctx, "s", sessionstore.SessionUpdate{Touch: true})
	errs["DeleteSession"] = s.DeleteSession(ctx, "s")
	_, errs["ListSessions"] = s.ListSessions(ctx, sessionstore.SessionQuery{})
	_, errs["AppendMessages"] = s.AppendMessages(ctx, "s", sessionstore.Append{})
	_, errs["ListMessages"] = s.ListMessages(ctx, "s", sessionstore.MessageQuery{})
	_, errs["TruncateMessages"] = s.TruncateMessages(ctx, "s", sessionstore.Truncate{})
	_, errs["ForkSession"] = s.ForkSession(ctx, "s", sessionstore.Fork{})
	_, errs["RestoreSession"] = s.RestoreSession(ctx, sessionstore.Session{ID: "r", CreatedAt: now, UpdatedAt: now, Version: 1}, none)
	_, errs["PurgeExpired"] = s.PurgeExpired(ctx, 0)
	return errs
}

func TestClosedAndCancelled(t *testing.T) {
	t.Parallel()
	done, cancel := context.WithCancel(t.Context())
	cancel()
	open := newStore(t, nil)
	closed := newStore(t, nil)
	closed.Close()
	closedView := newStore(t, nil).ForUser("u").(*memory.Store)
	closedView.Close()
	base := newStore(t, nil)
	viewOfClosed := base.ForUser("u").(*memory.Store).ForUser("u").(*memory.Store)
	base.Close()

	for _, c := range []struct {
		name  string
		store *memory.Store
		want  error
	}{
		{"a store, the context done", open, context.Canceled},
		{"a closed store, the context done", closed, sessionstore.ErrStoreClosed},
		{"a closed view, the context done", closedView, sessionstore.ErrStoreClosed},
		{"a view of a closed store, the context done", viewOfClosed, sessionstore.ErrStoreClosed},
	} {
		for method, err := range calls(done, c.store) {
			if !errors.Is(err, c.want) {
				t.Errorf("%s of %s = %v, want %v", method, c.name, err, c.want)
			}
		}
	}
}

func TestInvalidIDComesFirst(t *testing.T) {
	t.Parallel()
	s := newStore(t, nil)
	long := string(make([]byte, 1000))
	ctx := t.Context()
	errs := map[string]error{}
	_, errs["GetSession"] = s.GetSession(ctx, long)
	_, errs["UpdateSession"] = s.UpdateSession(ctx, long, sessionstore.SessionUpdate{})
	errs["DeleteSession"] = s.DeleteSession(ctx, long)
	_, errs["AppendMessages"] = s.AppendMessages(ctx, long, sessionstore.Append{})
	_, errs["ListMessages"] = s.ListMessages(ctx, long, sessionstore.MessageQuery{})
	_, errs["TruncateMessages"] = s.TruncateMessages(ctx, long, sessionstore.Truncate{})
	_, errs["ForkSession"] = s.ForkSession(ctx, long, sessionstore.Fork{})
	_, errs["PurgeExpired"] = s.PurgeExpired(ctx, -1)
	_, errs["ListMessages, limit"] = s.ListMessages(ctx, "missing", sessionstore.MessageQuery{Limit: -1})
	_, errs["TruncateMessages, seq"] = s.TruncateMessages(ctx, "missing", sessionstore.Truncate{ThroughSeq: -1})
	_, errs["UpdateSession, version"] = s.UpdateSession(ctx, "missing", sessionstore.SessionUpdate{IfVersion: -1})
	_, errs["ForkSession, seq"] = s.ForkSession(ctx, "missing", sessionstore.Fork{AtSeq: new(int64(-1))})
	_, errs["ListSessions, cursor"] = s.ListSessions(ctx, sessionstore.SessionQuery{Cursor: "?"})
	for method, err := range errs {
		if !errors.Is(err, sessionstore.ErrInvalid) {
			t.Errorf("%s = %.200v, want ErrInvalid", method, err)
		} else if n := len(err.Error()); n > 2000 {
			t.Errorf("%s: the error has %d bytes, want the id to be cut", method, n)
		}
	}
}

func TestViewUnusable(t *testing.T) {
	t.Parallel()
	s := newStore(t, nil)
	for name, view := range map[string]sessionstore.SessionStore{
		"an empty user":            s.ForUser(""),
		"a user that is no id":     s.ForUser("\x00"),
		"another user of the view": s.ForUser("u").(*memory.Store).ForUser("v"),
	} {
		_, err := view.GetSession(t.Context(), "s")
		var invalid *sessionstore.InvalidError
		if !errors.As(err, &invalid) || invalid.Field != "user_id" {
			t.Errorf("GetSession of the view for %s = %v, want an InvalidError of user_id", name, err)
		}
	}
	if _, err := s.ForUser("u").(*memory.Store).PurgeExpired(t.Context(), 1); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("PurgeExpired of a view = %v, want ErrUnsupported", err)
	}
}

func TestPurgeStopsWithContext(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	ctx, cancel := context.WithCancel(t.Context())
	asked := 0
	s := newStore(t, &memory.Options{Now: func() time.Time {
		// The first reading is that of the look-up, each further one that of a removal.
		if ctx.Err() == nil && now.Second() == 6 {
			if asked++; asked == 3 {
				cancel()
			}
		}
		return now
	}})
	for i := range 10 {
		create(t, s, sessionstore.Session{ID: fmt.Sprint(i), TTL: time.Second})
	}
	now = now.Add(time.Second)
	if n, err := s.PurgeExpired(ctx, 10); n != 2 || !errors.Is(err, context.Canceled) {
		t.Errorf("PurgeExpired, cancelled at the second removal = %d, %v; want 2, context.Canceled", n, err)
	}
	if n, err := s.PurgeExpired(t.Context(), 5); n != 5 || err != nil {
		t.Errorf("PurgeExpired(5) with 8 left = %d, %v; want 5, nil", n, err)
	}
	if n, err := s.PurgeExpired(t.Context(), 0); n != 3 || err != nil {
		t.Errorf("PurgeExpired(0) with 3 left = %d, %v; want 3, nil", n, err)
	}
}

func TestRestoreRefuses(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	session := sessionstore.Session{
		ID: "s", CreatedAt: now, UpdatedAt: now, Version: 1, LastSeq: 2, MessageCount: 2,
	}
	message := func(id string, seq int64) sessionstore.Message {
		m := benchMessage(id)
		m.Seq, m.CreatedAt = seq, now
		return m
	}
	broken := errors.New("broken")
	ctx, cancel := context.WithCancel(t.Context())
	for name, c := range map[string]struct {
		messages iter.Seq2[sessionstore.Message, error]
		want     error
	}{
		"an error of the iterator": {func(yield func(sessionstore.Message, error) bool) {
			_ = yield(message("a", 1), nil) && yield(sessionstore.Message{}, broken)
		}, broken},
		"an id twice": {func(yield func(sessionstore.Message, error) bool) {
			_ = yield(message("a", 1), nil) && yield(message("a", 2), nil)
		}, sessionstore.ErrInvalid},
		"a Seq twice": {func(yield func(sessionstore.Message, error) bool) {
			_ = yield(message("a", 1), nil) && yield(message("b", 1), nil)
		}, sessionstore.ErrInvalid},
		"too few messages": {func(yield func(sessionstore.Message, error) bool) {
			_ = yield(message("a", 1), nil)
		}, sessionstore.ErrInvalid},
		"a context that ends": {func(yield func(sessionstore.Message, error) bool) {
			if yield(message("a", 1), nil) {
				cancel()
				_ = yield(message("b", 2), nil)
			}
		}, context.Canceled},
	} {
		store := newStore(t, nil)
		callCtx := t.Context()
		if errors.Is(c.want, context.Canceled) {
			callCtx = ctx
		}
		if _, err := store.RestoreSession(callCtx, session, c.messages); !errors.Is(err, c.want) {
			t.Errorf("RestoreSession with %s = %v, want %v", name, err, c.want)
		}
		if _, err := store.GetSession(t.Context(), "s"); !errors.Is(err, sessionstore.ErrSessionNotFound) {
			t.Errorf("GetSession after a restore with %s = %v, want ErrSessionNotFound", name, err)
		}
	}
	session.Version = 0
	if _, err := newStore(t, nil).RestoreSession(t.Context(), session, nil); !errors.Is(err, sessionstore.ErrInvalid) {
		t.Errorf("RestoreSession of version 0 = %v, want ErrInvalid", err)
	}
}

// The iterator is the caller's code and may use the store.
func TestRestoreHoldsNoLock(t *testing.T) {
	t.Parallel()
	s := newStore(t, nil)
	create(t, s, sessionstore.Session{ID: "source"})
	fill(t, s, "source", "m", 150)
	source, err := s.GetSession(t.Context(), "source")
	if err != nil {
		t.Fatal(err)
	}
	source.ID = "copy"
	out, err := s.RestoreSession(t.Context(), source, func(yield func(sessionstore.Message, error) bool) {
		for after := int64(0); ; {
			page, err := s.ListMessages(t.Context(), "source", sessionstore.MessageQuery{AfterSeq: after, Limit: 40})
			if err != nil {
				yield(sessionstore.Message{}, err)
				return
			}
			for _, m := range page.Messages {
				m.SessionID, after = "", m.Seq
				if !yield(m, nil) {
					return
				}
			}
			if !page.HasMore {
				return
			}
		}
	})
	if err != nil || out.MessageCount != 150 || out.LastSeq != 150 {
		t.Errorf("RestoreSession from the same store = %d messages, last seq %d, %v; want 150, 150, nil", out.MessageCount, out.LastSeq, err)
	}
}

// One message with two metadata keys takes so many allocations, its id given, whatever
// the length of the history.
func TestAppendAllocations(t *testing.T) {
	for _, size := range []int{0, 10000} {
		s := newStore(t, nil)
		create(t, s, sessionstore.Session{ID: "s"})
		fill(t, s, "s", "old", size)
		given := ids("new", 2001)
		batch := []sessionstore.Message{benchMessage("")}
		i := 0
		got := testing.AllocsPerRun(2000, func() {
			batch[0].ID = given[i]
			i++
			if _, err := s.AppendMessages(t.Context(), "s", sessionstore.Append{Messages: batch}); err != nil {
				t.Fatal(err)
			}
		})
		if got > 6 {
			t.Errorf("append of a message to a session of %d takes %.1f allocations, want at most 6", size, got)
		}
	}
}

// Writers of every kind at once: for the race detector, and for the list, which must show
// exactly the sessions that are there when they are done.
func TestRace(t *testing.T) {
	t.Parallel()
	const writers, rounds, names = 8, 60, 12
	s := newStore(t, nil)
	ctx := t.Context()
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range rounds {
				id := fmt.Sprint("s", (i*7+w)%names)
				user := fmt.Sprint("u", (i+w)%3)
				var err error
				switch (i + w) % 9 {
				case 0, 1:
					_, err = s.CreateSession(ctx, sessionstore.Session{ID: id, UserID: user, ParentID: "p"})
				case 2, 3:
					_, err = s.AppendMessages(ctx, id, sessionstore.Append{Messages: []sessionstore.Message{benchMessage(""), benchMessage("")}})
				case 4:
					_, err = s.TruncateMessages(ctx, id, sessionstore.Truncate{ThroughSeq: int64(i)})
				case 5:
					_, err = s.UpdateSession(ctx, id, sessionstore.SessionUpdate{SetMetadata: sessionstore.Metadata{id: []any{w, i}}})
				case 6:
					_, err = s.ForkSession(ctx, id, sessionstore.Fork{ID: fmt.Sprint("s", i%names)})
				case 7:
					err = s.DeleteSession(ctx, id)
				case 8:
					_, err = s.ListMessages(ctx, id, sessionstore.MessageQuery{Newest: true, Limit: 3})
				}
				if err != nil && !errors.Is(err, sessionstore.ErrSessionNotFound) && !errors.Is(err, sessionstore.ErrSessionExists) {
					t.Errorf("operation %d on %q = %v, want nil, ErrSessionNotFound or ErrSessionExists", (i+w)%9, id, err)
				}
				page, err := s.ListSessions(ctx, sessionstore.SessionQuery{UserID: user})
				if err != nil {
					t.Errorf("ListSessions = %v, want nil", err)
				}
				for j := 1; j < len(page.Sessions); j++ {
					if a, b := page.Sessions[j-1].Key(), page.Sessions[j].Key(); a.Compare(b) <= 0 {
						t.Errorf("ListSessions shows %v before %v, want descending order", a, b)
					}
				}
			}
		})
	}
	wg.Wait()
	page, err := s.ListSessions(ctx, sessionstore.SessionQuery{})
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]bool{}
	for _, session := range page.Sessions {
		listed[session.ID] = true
	}
	for i := range names {
		id := fmt.Sprint("s", i)
		_, err := s.GetSession(ctx, id)
		if got, want := listed[id], err == nil; got != want {
			t.Errorf("session %q is listed: %t; want %t, as GetSession gives %v", id, got, want, err)
		}
	}
	if len(listed) != len(page.Sessions) {
		t.Errorf("the list has %d sessions with %d different ids, want each once", len(page.Sessions), len(listed))
	}
}
