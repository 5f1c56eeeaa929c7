package storetest_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/memory"
	"github.com/sessionstore/sessionstore/storetest"
)

// faulty returns a store over memory that fails as decide says, and the store below.
func faulty(t *testing.T, decide func(storetest.Call) storetest.Fault) (*storetest.Faulty, sessionstore.SessionStore) {
	t.Helper()
	inner, err := memory.New(nil)
	if err != nil {
		t.Fatalf("memory.New(nil): got %v, want nil", err)
	}
	t.Cleanup(func() { _ = inner.Close() })
	return storetest.NewFaulty(inner, decide), inner
}

// tell makes a session and tells it n turns, each again until it is stored, as a caller
// does that takes a failed append for unknown and repeats it with its ids.
func tell(ctx context.Context, store sessionstore.SessionStore, n int) error {
	for try := 0; ; try++ {
		_, err := store.CreateSession(ctx, sessionstore.Session{ID: "s"})
		if err == nil || errors.Is(err, sessionstore.ErrSessionExists) && try > 0 {
			break
		}
		if try == 2 {
			return err
		}
	}
	for turn := range n {
		for try := 0; ; try++ {
			user, answer := sessionstore.UserMessage("call it"), sessionstore.ToolMessage("c", "result")
			user.ID, answer.ID = fmt.Sprint("u", turn), fmt.Sprint("a", turn)
			_, err := store.AppendMessages(ctx, "s", sessionstore.Append{Messages: []sessionstore.Message{user, answer}})
			if err == nil {
				break
			}
			if try == 2 {
				return err
			}
		}
	}
	return nil
}

// TestEveryCallMayFail fails each call of a caller in turn, before and after the commit.
// Field report S15: a crash between two commands leaves half a history. Field report C28:
// the result of a tool is lost when its append fails once.
func TestEveryCallMayFail(t *testing.T) {
	t.Parallel()
	const turns = 3
	for _, fault := range []storetest.Fault{storetest.Pass, storetest.FailBefore, storetest.FailAfter} {
		for k := range int64(turns + 1) {
			store, inner := faulty(t, storetest.FailCall(k+1, fault))
			if err := tell(t.Context(), store, turns); err != nil {
				t.Fatalf("call %d with fault %d: got %v, want nil", k+1, fault, err)
			}
			page, err := inner.ListMessages(t.Context(), "s", sessionstore.MessageQuery{})
			if err != nil || len(page.Messages) != 2*turns || page.Session.LastSeq != 2*turns {
				t.Errorf("call %d with fault %d: got %d messages, last_seq %d, %v, want %d, %d, nil", k+1, fault, len(page.Messages), page.Session.LastSeq, err, 2*turns, 2*turns)
			}
			want := int64(turns + 1)
			if fault != storetest.Pass {
				want++
			}
			if got := store.Calls(); got != want {
				t.Errorf("call %d with fault %d: got %d calls, want %d", k+1, fault, got, want)
			}
		}
	}
}

// TestFaultyMethods fails every method before and after, and looks at what is left.
func TestFaultyMethods(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	status := sessionstore.StatusPaused
	methods := []struct {
		name    string
		call    func(s sessionstore.SessionStore) error
		changed func(s sessionstore.SessionStore) bool // nil: it reads
	}{
		{"CreateSession", func(s sessionstore.SessionStore) error {
			_, err := s.CreateSession(ctx, sessionstore.Session{ID: "new"})
			return err
		}, func(s sessionstore.SessionStore) bool { return there(ctx, s, "new") }},
		{"GetSession", func(s sessionstore.SessionStore) error { _, err := s.GetSession(ctx, "s"); return err }, nil},
		{"UpdateSession", func(s sessionstore.SessionStore) error {
			_, err := s.UpdateSession(ctx, "s", sessionstore.SessionUpdate{Status: &status})
			return err
		}, func(s sessionstore.SessionStore) bool {
			got, _ := s.GetSession(ctx, "s")
			return got.Status == status
		}},
		{"DeleteSession", func(s sessionstore.SessionStore) error { return s.DeleteSession(ctx, "s") },
			func(s sessionstore.SessionStore) bool { return !there(ctx, s, "s") }},
		{"ListSessions", func(s sessionstore.SessionStore) error {
			_, err := s.ListSessions(ctx, sessionstore.SessionQuery{})
			return err
		}, nil},
		{"AppendMessages", func(s sessionstore.SessionStore) error {
			_, err := s.AppendMessages(ctx, "s", sessionstore.Append{Messages: []sessionstore.Message{sessionstore.UserMessage("x")}})
			return err
		}, func(s sessionstore.SessionStore) bool { return count(ctx, s) == 2 }},
		{"ListMessages", func(s sessionstore.SessionStore) error {
			_, err := s.ListMessages(ctx, "s", sessionstore.MessageQuery{})
			return err
		}, nil},
		{"TruncateMessages", func(s sessionstore.SessionStore) error {
			_, err := s.TruncateMessages(ctx, "s", sessionstore.Truncate{})
			return err
		}, func(s sessionstore.SessionStore) bool { return count(ctx, s) == 0 }},
		{"ForkSession", func(s sessionstore.SessionStore) error {
			_, err := sessionstore.ForkSession(ctx, s, "s", sessionstore.Fork{ID: "child"})
			return err
		}, func(s sessionstore.SessionStore) bool { return there(ctx, s, "child") }},
		{"RestoreSession", func(s sessionstore.SessionStore) error {
			src, err := sessionstore.Session{ID: "back"}.Create(time.Now())
			if err != nil {
				return err
			}
			_, err = sessionstore.RestoreSession(ctx, s, src, func(func(sessionstore.Message, error) bool) {})
			return err
		}, func(s sessionstore.SessionStore) bool { return there(ctx, s, "back") }},
		{"PurgeExpired", func(s sessionstore.SessionStore) error { _, err := sessionstore.PurgeExpired(ctx, s, 0); return err }, nil},
	}
	own := errors.New("the network is down")
	for _, m := range methods {
		for _, fault := range []storetest.Fault{storetest.FailBefore, storetest.FailAfter} {
			var asked []storetest.Call
			store, inner := faulty(t, func(c storetest.Call) storetest.Fault { asked = append(asked, c); return fault })
			store.Err = own
			if _, err := inner.CreateSession(ctx, sessionstore.Session{ID: "s", UserID: "u"}); err != nil {
				t.Fatalf("CreateSession: got %v, want nil", err)
			}
			if _, err := inner.AppendMessages(ctx, "s", sessionstore.Append{Messages: []sessionstore.Message{sessionstore.UserMessage("x")}}); err != nil {
				t.Fatalf("AppendMessages: got %v, want nil", err)
			}
			if err := m.call(store); !errors.Is(err, own) {
				t.Errorf("%s with fault %d: got %v, want %v", m.name, fault, err, own)
			}
			if len(asked) != 1 || asked[0].Method != m.name || asked[0].N != 1 {
				t.Errorf("%s with fault %d: got Decide asked %+v, want once, for call 1 of that method", m.name, fault, asked)
			}
			if m.changed != nil && m.changed(inner) != (fault == storetest.FailAfter) {
				t.Errorf("%s with fault %d: got changed %t, want %t", m.name, fault, m.changed(inner), fault == storetest.FailAfter)
			}
		}
	}
}

// TestFaultyView shows that a view fails as its store does, and that its own errors stay.
func TestFaultyView(t *testing.T) {
	t.Parallel()
	store, inner := faulty(t, storetest.FailCall(2, storetest.FailAfter))
	if _, err := inner.CreateSession(t.Context(), sessionstore.Session{ID: "s", UserID: "u"}); err != nil {
		t.Fatalf("CreateSession: got %v, want nil", err)
	}
	view := sessionstore.ForUser(store, "u")
	if _, err := view.GetSession(t.Context(), "s"); err != nil {
		t.Errorf("the first call: got %v, want nil", err)
	}
	if _, err := view.GetSession(t.Context(), "s"); !errors.Is(err, storetest.ErrFault) {
		t.Errorf("the second call: got %v, want %v", err, storetest.ErrFault)
	}
	other := sessionstore.ForUser(store, "v")
	if _, err := other.GetSession(t.Context(), "s"); !errors.Is(err, sessionstore.ErrSessionNotFound) {
		t.Errorf("another user's call: got %v, want %v", err, sessionstore.ErrSessionNotFound)
	}
	if got := store.Calls(); got != 3 {
		t.Errorf("Calls: got %d, want 3", got)
	}

	store, _ = faulty(t, storetest.FailCall(1, storetest.FailAfter))
	if _, err := store.GetSession(t.Context(), "missing"); !errors.Is(err, sessionstore.ErrSessionNotFound) {
		t.Errorf("a call that fails by itself: got %v, want %v", err, sessionstore.ErrSessionNotFound)
	}
}

func there(ctx context.Context, s sessionstore.SessionStore, id string) bool {
	_, err := s.GetSession(ctx, id)
	return err == nil
}

func count(ctx context.Context, s sessionstore.SessionStore) int {
	page, _ := s.ListMessages(ctx, "s", sessionstore.MessageQuery{})
	return len(page.Messages)
}

// TestFaultyFallback shows that a power which the store below lacks is lacking, so that
// the calls of the fallback may fail one by one.
func TestFaultyFallback(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	plain := func(decide func(storetest.Call) storetest.Fault) (*storetest.Faulty, sessionstore.SessionStore) {
		_, inner := faulty(t, nil)
		if _, err := inner.CreateSession(ctx, sessionstore.Session{ID: "s"}); err != nil {
			t.Fatalf("CreateSession: got %v, want nil", err)
		}
		if _, err := inner.AppendMessages(ctx, "s", sessionstore.Append{Messages: []sessionstore.Message{sessionstore.UserMessage("x")}}); err != nil {
			t.Fatalf("AppendMessages: got %v, want nil", err)
		}
		return storetest.NewFaulty(struct{ sessionstore.SessionStore }{inner}, decide), inner
	}
	store, inner := plain(nil)
	if _, err := sessionstore.ForkSession(ctx, store, "s", sessionstore.Fork{ID: "child"}); err != nil || !there(ctx, inner, "child") || store.Calls() < 3 {
		t.Errorf("ForkSession by the fallback: got %v after %d calls, want nil after reading, creating and appending", err, store.Calls())
	}
	calls := store.Calls()
	if _, err := sessionstore.PurgeExpired(ctx, store, 0); !errors.Is(err, errors.ErrUnsupported) || store.Calls() != calls {
		t.Errorf("PurgeExpired: got %v, want %v and no call", err, errors.ErrUnsupported)
	}
	for k := range calls {
		store, inner := plain(storetest.FailCall(k+1, storetest.FailBefore))
		_, err := sessionstore.ForkSession(ctx, store, "s", sessionstore.Fork{ID: "child"})
		if !errors.Is(err, storetest.ErrFault) {
			t.Errorf("ForkSession whose call %d fails: got %v, want %v", k+1, err, storetest.ErrFault)
		}
		// Half a child is never left. A whole one may be: the outcome is unknown.
		page, err := inner.ListMessages(ctx, "child", sessionstore.MessageQuery{})
		if err == nil && len(page.Messages) != 1 {
			t.Errorf("ForkSession whose call %d fails: got a child of %d messages, want none or one of 1 message", k+1, len(page.Messages))
		}
	}
}
