package sessionstore_test

import (
	"errors"
	"reflect"
	"testing"

	"github.com/sessionstore/sessionstore"
)

// Field report S22: another user's session is not there, for every method, and is not
// touched. Here for the fallback; storetest has the rule for every backend.
func TestForUserFallback(t *testing.T) {
	t.Parallel()
	mem := newMemory(t)
	store := plain{mem}
	theirs := fill(t, store, sessionstore.Session{ID: "theirs", UserID: "bob"}, 3)
	s := sessionstore.ForUser(store, "ann")
	closed := sessionstore.StatusClosed
	ctx := t.Context()
	for name, call := range map[string]func() error{
		"Get": func() error { _, err := s.GetSession(ctx, "theirs"); return err },
		"Update": func() error {
			_, err := s.UpdateSession(ctx, "theirs", sessionstore.SessionUpdate{Status: &closed})
			return err
		},
		"Delete": func() error { return s.DeleteSession(ctx, "theirs") },
		"Append": func() error {
			_, err := s.AppendMessages(ctx, "theirs", sessionstore.Append{Messages: []sessionstore.Message{sessionstore.UserMessage("x")}})
			return err
		},
		"Messages": func() error { _, err := s.ListMessages(ctx, "theirs", sessionstore.MessageQuery{}); return err },
		"Truncate": func() error { _, err := s.TruncateMessages(ctx, "theirs", sessionstore.Truncate{}); return err },
		"Fork":     func() error { _, err := sessionstore.ForkSession(ctx, s, "theirs", sessionstore.Fork{}); return err },
	} {
		if err := call(); !errors.Is(err, sessionstore.ErrSessionNotFound) {
			t.Errorf("%s of another's session: got %v, want ErrSessionNotFound", name, err)
		}
	}
	if got := history(t, store, "theirs"); !reflect.DeepEqual(got.Session, theirs) || len(got.Messages) != 3 {
		t.Errorf("another's session was touched: %+v", got)
	}

	mine, err := s.CreateSession(ctx, sessionstore.Session{ID: "mine", UserID: "bob"})
	if err != nil || mine.UserID != "ann" {
		t.Fatalf("Create: got %+v, %v, want it to be ann's", mine, err)
	}
	_, err = s.CreateSession(ctx, sessionstore.Session{ID: "theirs"})
	wantErr(t, "Create of an id in use", err, sessionstore.ErrSessionExists)
	page, err := s.ListSessions(ctx, sessionstore.SessionQuery{UserID: "bob"})
	if err != nil || len(page.Sessions) != 1 || page.Sessions[0].ID != "mine" {
		t.Errorf("List: got %+v, %v, want mine alone", page, err)
	}
	_, err = s.AppendMessages(ctx, "mine", sessionstore.Append{Messages: []sessionstore.Message{sessionstore.UserMessage("x")}})
	wantErr(t, "Append", err, nil)
	got, err := s.UpdateSession(ctx, "mine", sessionstore.SessionUpdate{SetMetadata: sessionstore.Metadata{"k": 1}})
	if err != nil || got.Version != 2 {
		t.Errorf("Update: got %+v, %v", got, err)
	}
	child, err := sessionstore.ForkSession(ctx, s, "mine", sessionstore.Fork{UserID: ptr("ann")})
	if err != nil || child.MessageCount != 1 {
		t.Errorf("Fork: got %+v, %v", child, err)
	}
	_, err = sessionstore.ForkSession(ctx, s, "mine", sessionstore.Fork{UserID: ptr("bob")})
	wantErr(t, "Fork for another user", err, sessionstore.ErrInvalid)
	_, err = s.TruncateMessages(ctx, "mine", sessionstore.Truncate{})
	wantErr(t, "Truncate", err, nil)
	if p := history(t, s, "mine"); p.Session.LastSeq != 1 || len(p.Messages) != 0 {
		t.Errorf("after Truncate: got %+v", p)
	}
	r := sessionstore.Session{ID: "r", UserID: "ann", CreatedAt: t0, UpdatedAt: t0, Version: 1}
	_, err = sessionstore.RestoreSession(ctx, s, r, messages())
	wantErr(t, "Restore", err, nil)
	r.ID, r.UserID = "r2", "bob"
	_, err = sessionstore.RestoreSession(ctx, s, r, messages())
	wantErr(t, "Restore for another user", err, sessionstore.ErrInvalid)
	if _, err := sessionstore.PurgeExpired(ctx, s, 0); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("Purge: got %v, want ErrUnsupported", err)
	}
	wantErr(t, "Delete", s.DeleteSession(ctx, "mine"), nil)

	// Arguments are judged before the session is looked for.
	_, err = s.AppendMessages(ctx, "theirs", sessionstore.Append{Messages: []sessionstore.Message{{}}})
	wantErr(t, "Append of a bad message", err, sessionstore.ErrInvalid)
	_, err = s.UpdateSession(ctx, "theirs", sessionstore.SessionUpdate{IfVersion: -1})
	wantErr(t, "a bad Update", err, sessionstore.ErrInvalid)
	_, err = s.TruncateMessages(ctx, "theirs", sessionstore.Truncate{ThroughSeq: -1})
	wantErr(t, "a bad Truncate", err, sessionstore.ErrInvalid)
	_, err = sessionstore.ForkSession(ctx, s, "theirs", sessionstore.Fork{AtSeq: ptr(int64(-1))})
	wantErr(t, "a bad Fork", err, sessionstore.ErrInvalid)

	// A view of the view.
	_, err = sessionstore.ForUser(s, "bob").GetSession(ctx, "theirs")
	wantErr(t, "a view for another user", err, sessionstore.ErrInvalid)
	same := sessionstore.ForUser(s, "ann")
	_, err = same.GetSession(ctx, "r")
	wantErr(t, "a view for the same user", err, nil)

	// Closing the view leaves the store open.
	wantErr(t, "Close", s.Close(), nil)
	wantErr(t, "Close again", s.Close(), nil)
	for name, err := range everyMethod(t, s) {
		if !errors.Is(err, sessionstore.ErrStoreClosed) {
			t.Errorf("%s on a closed view: got %v, want ErrStoreClosed", name, err)
		}
	}
	_, err = store.GetSession(ctx, "theirs")
	wantErr(t, "Get from the store after the view was closed", err, nil)
}

// everyMethod calls each method that takes a context, and the powers where s has them.
func everyMethod(t *testing.T, s sessionstore.SessionStore) map[string]error {
	t.Helper()
	ctx, errs := t.Context(), map[string]error{}
	_, errs["Create"] = s.CreateSession(ctx, sessionstore.Session{})
	_, errs["Get"] = s.GetSession(ctx, "x")
	_, errs["Update"] = s.UpdateSession(ctx, "x", sessionstore.SessionUpdate{})
	errs["Delete"] = s.DeleteSession(ctx, "x")
	_, errs["List"] = s.ListSessions(ctx, sessionstore.SessionQuery{})
	_, errs["Append"] = s.AppendMessages(ctx, "x", sessionstore.Append{})
	_, errs["Messages"] = s.ListMessages(ctx, "x", sessionstore.MessageQuery{})
	_, errs["Truncate"] = s.TruncateMessages(ctx, "x", sessionstore.Truncate{})
	_, errs["Fork"] = sessionstore.ForkSession(ctx, s, "x", sessionstore.Fork{})
	_, errs["Restore"] = sessionstore.RestoreSession(ctx, s, sessionstore.Session{ID: "x", CreatedAt: t0, UpdatedAt: t0, Version: 1}, messages())
	return errs
}

// An empty or odd user id confines to nothing, instead of to every user's sessions.
func TestForUserNobody(t *testing.T) {
	t.Parallel()
	mem := newMemory(t)
	for _, user := range []string{"", "a\n", "\xff"} {
		s := sessionstore.ForUser(mem, user)
		for name, err := range everyMethod(t, s) {
			if !errors.Is(err, sessionstore.ErrInvalid) {
				t.Errorf("%s for user %q: got %v, want ErrInvalid", name, user, err)
			}
		}
		wantErr(t, "Close", s.Close(), nil)
		_, err := s.GetSession(t.Context(), "x")
		wantErr(t, "Get after Close", err, sessionstore.ErrStoreClosed)
	}
}
