package bolt_test

import (
	"context"
	"errors"
	"io"
	"testing"

	"github.com/sessionstore/sessionstore"
)

// TestViewOfUser is what a store's own view does beyond the rule [owner].
func TestViewOfUser(t *testing.T) {
	t.Parallel()
	s := newStore(t, openDB(t, nil), nil)
	view := s.ForUser("u")
	create(t, view, sessionstore.Session{ID: "s", UserID: "other"})
	if got, err := s.GetSession(t.Context(), "s"); err != nil || got.UserID != "u" {
		t.Errorf("a session that the view made: got user %q, %v, want u", got.UserID, err)
	}
	nested := view.(sessionstore.OwnerScoper)
	if got := texts(t, nested.ForUser("u"), "s"); got != "" {
		t.Errorf("history by a view of the view: got %q, want none", got)
	}
	for user, v := range map[string]sessionstore.SessionStore{
		"v of u's view": nested.ForUser("v"), "nobody": s.ForUser(""), "control character": s.ForUser("\n"),
	} {
		_, err := v.GetSession(t.Context(), "s")
		var inv *sessionstore.InvalidError
		if !errors.As(err, &inv) || inv.Field != "user_id" {
			t.Errorf("view of %s: got %v, want an InvalidError of user_id", user, err)
		}
	}
	if _, err := view.(sessionstore.Purger).PurgeExpired(t.Context(), 0); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("purge by a view: got %v, want %v", err, errors.ErrUnsupported)
	}
	if _, ok := view.(interface {
		Backup(context.Context, io.Writer) (int64, error)
	}); ok {
		t.Error("a view has Backup, want none: it would copy every user's sessions")
	}

	other := s.ForUser("u")
	if err := errors.Join(view.Close(), view.Close()); err != nil {
		t.Errorf("Close of a view: got %v, want nil", err)
	}
	if _, err := view.(sessionstore.Purger).PurgeExpired(t.Context(), 0); !errors.Is(err, sessionstore.ErrStoreClosed) {
		t.Errorf("purge by a closed view: got %v, want ErrStoreClosed", err)
	}
	if _, err := other.GetSession(t.Context(), "s"); err != nil {
		t.Errorf("get by another view: got %v, want nil", err)
	}
	if err := s.Close(); err != nil {
		t.Errorf("Close: got %v, want nil", err)
	}
	if _, err := other.GetSession(t.Context(), "s"); !errors.Is(err, sessionstore.ErrStoreClosed) {
		t.Errorf("get by a view of a closed store: got %v, want ErrStoreClosed", err)
	}
}
