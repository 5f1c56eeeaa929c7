package sessionstore_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"sync"
	"testing"

	"github.com/sessionstore/sessionstore"
)

// watched calls before ahead of each page of messages that is read, with its number.
type watched struct {
	sessionstore.SessionStore
	pages  int
	before func(page int)
}

func (w *watched) ListMessages(ctx context.Context, id string, q sessionstore.MessageQuery) (sessionstore.MessagePage, error) {
	w.pages++
	w.before(w.pages)
	return w.SessionStore.ListMessages(ctx, id, q)
}

// startWith returns a manager of s with the session "s" of n messages "1", "2", …
func startWith(t *testing.T, s sessionstore.SessionStore, n int) *sessionstore.Manager {
	t.Helper()
	fill(t, s, sessionstore.Session{ID: "s"}, n)
	return sessionstore.NewManager(s, nil)
}

func texts(ms []sessionstore.Message) []string {
	out := []string{}
	for _, m := range ms {
		out = append(out, m.Content.String())
	}
	return out
}

// upTo returns "from" to "to" in decimals.
func upTo(from, to int) []string {
	out := []string{}
	for i := from; i <= to; i++ {
		out = append(out, fmt.Sprint(i))
	}
	return out
}

func wantTexts(t *testing.T, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: got %q, want %q", what, got, want)
	}
}

func TestManagerLifecycle(t *testing.T) {
	t.Parallel()
	ctx, store := t.Context(), newMemory(t)
	m := sessionstore.NewManager(store, &sessionstore.ManagerOptions{})
	if m.Store() != sessionstore.SessionStore(store) {
		t.Errorf("Store() = %v, want the store", m.Store())
	}
	s, err := m.Start(ctx, sessionstore.Session{AgentName: "support", UserID: "u"})
	wantErr(t, "Start", err, nil)
	for _, step := range []struct {
		name string
		do   func(context.Context, string) (sessionstore.Session, error)
		want sessionstore.Status
		err  error
	}{
		{"Pause", m.Pause, sessionstore.StatusPaused, nil},
		{"Pause again", m.Pause, sessionstore.StatusPaused, nil},
		{"Resume", m.Resume, sessionstore.StatusActive, nil},
		{"End", m.End, sessionstore.StatusClosed, nil},
		{"Resume after End", m.Resume, sessionstore.StatusClosed, sessionstore.ErrInvalidTransition},
	} {
		_, err := step.do(ctx, s.ID)
		wantErr(t, step.name, err, step.err)
		if got, err := m.Get(ctx, s.ID); err != nil || got.Status != step.want {
			t.Errorf("after %s: status %q, %v, want %q", step.name, got.Status, err, step.want)
		}
	}
	_, err = m.Append(ctx, s.ID, sessionstore.UserMessage("hi"))
	wantErr(t, "Append after End", err, sessionstore.ErrSessionClosed)
	child, err := m.Fork(ctx, s.ID, sessionstore.Fork{ID: "child"})
	if err != nil || child.ParentID != s.ID || child.Status != sessionstore.StatusActive {
		t.Errorf("Fork() = %+v, %v, want an active child of %q", child, err, s.ID)
	}
	page, err := m.List(ctx, sessionstore.SessionQuery{UserID: "u"})
	if err != nil || len(page.Sessions) != 2 {
		t.Errorf("List() = %v, %v, want both", page.Sessions, err)
	}
	wantErr(t, "Delete", m.Delete(ctx, s.ID), nil)
	_, err = m.Get(ctx, s.ID)
	wantErr(t, "Get after Delete", err, sessionstore.ErrSessionNotFound)
	wantErr(t, "Delete again", m.Delete(ctx, s.ID), sessionstore.ErrSessionNotFound)
}

// lossy loses the answers of appends, before or after they are done.
type lossy struct {
	sessionstore.SessionStore
	after bool
	left  int
}

var errLost = errors.New("connection lost")

func (l *lossy) AppendMessages(ctx context.Context, id string, a sessionstore.Append) ([]sessionstore.Message, error) {
	if l.left == 0 {
		return l.SessionStore.AppendMessages(ctx, id, a)
	}
	l.left--
	if l.after {
		if _, err := l.SessionStore.AppendMessages(ctx, id, a); err != nil {
			return nil, err
		}
	}
	return nil, errLost
}

// Field reports S15 and C28: whatever became of an append, repeating it is safe.
func TestManagerAppendIsSafeToRepeat(t *testing.T) {
	t.Parallel()
	for _, after := range []bool{false, true} {
		store := newMemory(t)
		startWith(t, store, 0)
		m := sessionstore.NewManager(&lossy{store, after, 2}, nil)
		in := []sessionstore.Message{sessionstore.UserMessage("a"), named("mine", sessionstore.AssistantMessage("b"))}
		out, err := m.Append(t.Context(), "s", in...)
		for range 2 {
			wantErr(t, "Append", err, errLost)
			if len(out) != 2 || out[0].ID == "" || out[1].ID != "mine" || !out[0].CreatedAt.IsZero() {
				t.Fatalf("a failed Append returned %v, want both with ids and no times", out)
			}
			out, err = m.Append(t.Context(), "s", out...)
		}
		wantErr(t, "the last Append", err, nil)
		if in[0].ID != "" {
			t.Errorf("Append wrote the id %q into its argument", in[0].ID)
		}
		got, err := m.History(t.Context(), "s", 0)
		if err != nil || !reflect.DeepEqual(got, out) {
			t.Errorf("lost after the commit: %v: stored %v, %v, want %v", after, got, err, out)
		}
	}
}

func TestManagerOptions(t *testing.T) {
	t.Parallel()
	n := 0
	w := sessionstore.Window{Last: 1}
	o := sessionstore.ManagerOptions{Window: &w, NewID: func() string { n++; return fmt.Sprint("id-", n) }}
	m := sessionstore.NewManager(newMemory(t), &o)
	w.Last = 2 // the manager has its own
	_, err := m.Start(t.Context(), sessionstore.Session{ID: "s", System: "be kind"})
	wantErr(t, "Start", err, nil)
	out, err := m.Append(t.Context(), "s", sessionstore.UserMessage("a"), sessionstore.UserMessage("b"))
	if err != nil || !slices.Equal(ids(out), []string{"id-1", "id-2"}) {
		t.Errorf("Append() = %q, %v, want the ids of NewID", ids(out), err)
	}
	for _, c := range []struct {
		w    *sessionstore.Window
		want int
	}{{nil, 2}, {&sessionstore.Window{}, 3}} {
		chat, err := m.ChatMessages(t.Context(), "s", c.w)
		if err != nil || len(chat) != c.want || chat[0].Content.String() != "be kind" {
			t.Errorf("ChatMessages(%v) = %v, %v, want %d messages with System first", c.w, chat, err, c.want)
		}
	}
	_, err = m.ChatMessages(t.Context(), "other", nil)
	wantErr(t, "ChatMessages of a missing session", err, sessionstore.ErrSessionNotFound)
}

func TestManagerHistory(t *testing.T) {
	t.Parallel()
	store := newMemory(t)
	for _, s := range []sessionstore.SessionStore{store, smallPages{store, 3}} {
		m := sessionstore.NewManager(s, nil)
		id := fmt.Sprintf("%T", s)
		fill(t, store, sessionstore.Session{ID: id}, 10)
		for last, want := range map[int][]string{0: upTo(1, 10), 1: upTo(10, 10), 4: upTo(7, 10), 10: upTo(1, 10), 11: upTo(1, 10), math.MaxInt: upTo(1, 10)} {
			got, err := m.History(t.Context(), id, last)
			wantErr(t, "History", err, nil)
			wantTexts(t, fmt.Sprintf("%T: History of %d", s, last), texts(got), want)
		}
	}
	m := startWith(t, store, 0)
	if got, err := m.History(t.Context(), "s", 0); err != nil || got == nil || len(got) != 0 {
		t.Errorf("History of no messages = %#v, %v, want an empty slice", got, err)
	}
	_, err := m.History(t.Context(), "s", -1)
	wantErr(t, "History of -1", err, sessionstore.ErrInvalid)
	_, err = m.History(t.Context(), "other", 0)
	wantErr(t, "History of a missing session", err, sessionstore.ErrSessionNotFound)
}

func TestManagerRewindAndClear(t *testing.T) {
	t.Parallel()
	m := startWith(t, newMemory(t), 5)
	s, err := m.Rewind(t.Context(), "s", 3)
	if err != nil || s.MessageCount != 3 || s.LastSeq != 5 {
		t.Errorf("Rewind(3) = %d messages, last seq %d, %v, want 3 and 5", s.MessageCount, s.LastSeq, err)
	}
	if s, err = m.Clear(t.Context(), "s"); err != nil || s.MessageCount != 0 || s.LastSeq != 5 {
		t.Errorf("Clear() = %d messages, last seq %d, %v, want 0 and 5", s.MessageCount, s.LastSeq, err)
	}
}

func walk(ctx context.Context, m *sessionstore.Manager, id string) (got []string, err error) {
	for msg, err := range m.Messages(ctx, id) {
		if err != nil {
			return got, err
		}
		got = append(got, msg.Content.String())
	}
	return got, nil
}

// A walk of the messages shows what was there when it began, also while others append,
// and calls of the store from within it are fine.
func TestManagerMessages(t *testing.T) {
	t.Parallel()
	store := newMemory(t)
	m := startWith(t, smallPages{store, 3}, 0)
	fillMessages(t, m, 10)
	var writers sync.WaitGroup
	defer writers.Wait()
	for range 4 {
		writers.Go(func() {
			for range 20 {
				if _, err := m.Append(context.Background(), "s", sessionstore.UserMessage("new")); err != nil {
					t.Errorf("Append while walking: %v", err)
				}
			}
		})
	}
	var got []string
	for msg, err := range m.Messages(t.Context(), "s") {
		wantErr(t, "Messages", err, nil)
		if msg.Content.String() != "new" {
			got = append(got, msg.Content.String())
		}
		if len(got) > 200 {
			t.Fatal("the walk follows what is appended during it")
		}
		if _, err := m.Append(t.Context(), "s", sessionstore.UserMessage("new")); err != nil {
			t.Fatalf("Append within the walk: %v", err)
		}
	}
	wantTexts(t, "Messages", got, upTo(1, 10))

	for range m.Messages(t.Context(), "s") {
		break
	}
	if _, err := walk(t.Context(), m, "other"); !errors.Is(err, sessionstore.ErrSessionNotFound) {
		t.Errorf("Messages of a missing session: %v, want ErrSessionNotFound", err)
	}
	done, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := walk(done, m, "s"); !errors.Is(err, context.Canceled) {
		t.Errorf("Messages with a done context: %v, want its error", err)
	}
}

func fillMessages(t *testing.T, m *sessionstore.Manager, n int) {
	t.Helper()
	for i := 1; i <= n; i++ {
		_, err := m.Append(t.Context(), "s", sessionstore.UserMessage(fmt.Sprint(i)))
		wantErr(t, "Append", err, nil)
	}
}

// A walk that others truncate, or whose session they replace, ends with an error, once.
func TestManagerMessagesMoved(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(context.Context, sessionstore.SessionStore) error{
		"truncate": func(ctx context.Context, s sessionstore.SessionStore) error {
			_, err := s.TruncateMessages(ctx, "s", sessionstore.Truncate{ThroughSeq: 5})
			return err
		},
		"replace": func(ctx context.Context, s sessionstore.SessionStore) error {
			if err := s.DeleteSession(ctx, "s"); err != nil {
				return err
			}
			_, err := s.CreateSession(ctx, sessionstore.Session{ID: "s"})
			return err
		},
	} {
		store := newMemory(t)
		w := &watched{SessionStore: smallPages{store, 3}, before: func(page int) {
			if page == 3 {
				wantErr(t, name, change(t.Context(), store), nil)
			}
		}}
		startWith(t, store, 10)
		m := sessionstore.NewManager(w, nil)
		var got []string
		var errs []error
		for msg, err := range m.Messages(t.Context(), "s") {
			if err != nil {
				errs = append(errs, err)
				continue
			}
			got = append(got, msg.Content.String())
		}
		wantTexts(t, name+": Messages", got, upTo(1, 6))
		if len(errs) != 1 || !errors.Is(errs[0], sessionstore.ErrConflict) {
			t.Errorf("%s: errors %v, want one ErrConflict", name, errs)
		}
	}
}

// What is read in several steps is of one state: it is read again if it was truncated.
func TestManagerReadsOneState(t *testing.T) {
	t.Parallel()
	reads := map[string]func(context.Context, *sessionstore.Manager) ([]string, error){
		"Prompt": func(ctx context.Context, m *sessionstore.Manager) ([]string, error) {
			p, err := m.Prompt(ctx, "s", nil)
			return texts(p.Messages), err
		},
		"Prompt of a window": func(ctx context.Context, m *sessionstore.Manager) ([]string, error) {
			p, err := m.Prompt(ctx, "s", &sessionstore.Window{Last: 1000})
			return texts(p.Messages), err
		},
		"History": func(ctx context.Context, m *sessionstore.Manager) ([]string, error) {
			ms, err := m.History(ctx, "s", 0)
			return texts(ms), err
		},
		"PendingToolCalls": func(ctx context.Context, m *sessionstore.Manager) ([]string, error) {
			calls, err := m.PendingToolCalls(ctx, "s")
			out := []string{}
			for _, c := range calls {
				out = append(out, c.ID)
			}
			return out, err
		},
	}
	for name, read := range reads {
		for page := 2; page <= 4; page++ {
			store := newMemory(t)
			startWith(t, store, 8)
			_, err := store.AppendMessages(t.Context(), "s", sessionstore.Append{Messages: []sessionstore.Message{calls("gone")}})
			wantErr(t, "AppendMessages", err, nil)
			w := &watched{SessionStore: smallPages{store, 2}, before: func(n int) {
				if n != page {
					return
				}
				_, err := store.TruncateMessages(t.Context(), "s", sessionstore.Truncate{ThroughSeq: 7})
				wantErr(t, "TruncateMessages", err, nil)
				_, err = store.AppendMessages(t.Context(), "s", sessionstore.Append{Messages: []sessionstore.Message{sessionstore.UserMessage("8b"), sessionstore.UserMessage("9b")}})
				wantErr(t, "AppendMessages", err, nil)
			}}
			got, err := read(t.Context(), sessionstore.NewManager(w, nil))
			wantErr(t, name, err, nil)
			want := append(upTo(1, 7), "8b", "9b")
			if name == "PendingToolCalls" {
				want = nil
			}
			wantTexts(t, fmt.Sprintf("%s, truncated before page %d", name, page), got, want)
		}

		// Somebody who truncates all the time is not waited for.
		store := newMemory(t)
		startWith(t, store, 1000)
		w := &watched{SessionStore: smallPages{store, 100}, before: func(n int) {
			_, err := store.TruncateMessages(t.Context(), "s", sessionstore.Truncate{ThroughSeq: int64(1000 - n)})
			wantErr(t, "TruncateMessages", err, nil)
		}}
		_, err := read(t.Context(), sessionstore.NewManager(w, nil))
		wantErr(t, name+" of what never rests", err, sessionstore.ErrConflict)
		if w.pages > 20 {
			t.Errorf("%s read %d pages before it gave up, want at most 20", name, w.pages)
		}
	}
}

// Appends during a reading are left out of it.
func TestManagerReadsBeforeAppends(t *testing.T) {
	t.Parallel()
	store := newMemory(t)
	startWith(t, store, 8)
	w := &watched{SessionStore: smallPages{store, 2}, before: func(n int) {
		if n > 1 {
			_, err := store.AppendMessages(t.Context(), "s", sessionstore.Append{Messages: []sessionstore.Message{sessionstore.UserMessage("new")}})
			wantErr(t, "AppendMessages", err, nil)
		}
	}}
	p, err := sessionstore.NewManager(w, nil).Prompt(t.Context(), "s", nil)
	wantErr(t, "Prompt", err, nil)
	wantTexts(t, "Prompt", texts(p.Messages), upTo(1, 8))
	if p.Session.LastSeq != 8 {
		t.Errorf("the prompt's session has last seq %d, want 8", p.Session.LastSeq)
	}
}

// emptyPages says that there is more and gives nothing, as no store may.
type emptyPages struct{ sessionstore.SessionStore }

func (e emptyPages) ListMessages(ctx context.Context, id string, q sessionstore.MessageQuery) (sessionstore.MessagePage, error) {
	page, err := e.SessionStore.ListMessages(ctx, id, q)
	if q.BeforeSeq != 0 {
		page.Messages, page.HasMore = page.Messages[:0], true
	}
	return page, err
}

// A broken store gives an error, not an endless loop.
func TestManagerOfABrokenStore(t *testing.T) {
	t.Parallel()
	store := newMemory(t)
	startWith(t, store, 40)
	for _, s := range []sessionstore.SessionStore{store, smallPages{store, 2}} {
		m := sessionstore.NewManager(emptyPages{s}, nil)
		if got, err := m.Prompt(t.Context(), "s", &sessionstore.Window{Last: 1}); err == nil {
			t.Errorf("Prompt() = %v, want an error", got)
		}
	}
	m := sessionstore.NewManager(emptyPages{smallPages{store, 2}}, nil)
	if got, err := m.History(t.Context(), "s", 0); err == nil {
		t.Errorf("History() = %v, want an error", got)
	}
}
