package scope_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/internal/scope"
)

func TestClosedComesBeforeTheContext(t *testing.T) {
	t.Parallel()
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	store := scope.New()
	view, err := store.View("ada")
	if err != nil {
		t.Fatalf("View: got %v, want nil", err)
	}
	if err := view.Enter(cancelled); !errors.Is(err, context.Canceled) {
		t.Errorf("Enter with a cancelled context: got %v, want %v", err, context.Canceled)
	}
	if !store.Close() {
		t.Error("the first Close: got false, want true")
	}
	if err := view.Enter(cancelled); !errors.Is(err, sessionstore.ErrStoreClosed) {
		t.Errorf("Enter of a closed store's view: got %v, want %v", err, sessionstore.ErrStoreClosed)
	}
	if store.Close() {
		t.Error("the second Close: got true, want false")
	}
}

func TestClosingAViewLeavesTheStoreOpen(t *testing.T) {
	t.Parallel()
	store := scope.New()
	view, err := store.View("ada")
	if err != nil {
		t.Fatalf("View: got %v, want nil", err)
	}
	view.Close()
	if err := view.Enter(t.Context()); !errors.Is(err, sessionstore.ErrStoreClosed) {
		t.Errorf("Enter of a closed view: got %v, want %v", err, sessionstore.ErrStoreClosed)
	}
	if err := store.Enter(t.Context()); err != nil {
		t.Fatalf("Enter of its store: got %v, want nil", err)
	}
	store.Leave()
	store.Close() // would wait for ever if the view's refused call had entered the store
}

func TestOwner(t *testing.T) {
	t.Parallel()
	store := scope.New()
	view, err := store.View("ada")
	if err != nil {
		t.Fatalf("View: got %v, want nil", err)
	}
	for _, c := range []struct {
		of         string
		scope      *scope.Scope
		user       string
		owns       bool
		written    string
		viewFailed bool
	}{
		{"the store", &store, "bob", true, "bob", false},
		{"the store", &store, "", true, "", true},
		{"the store", &store, strings.Repeat("x", sessionstore.MaxIDBytes+1), true, strings.Repeat("x", sessionstore.MaxIDBytes+1), true},
		{"the view", &view, "ada", true, "ada", false},
		{"the view", &view, "bob", false, "ada", true},
		{"the view", &view, "", false, "ada", true},
	} {
		if got := c.scope.Owns(c.user); got != c.owns {
			t.Errorf("%s owns %.8q: got %v, want %v", c.of, c.user, got, c.owns)
		}
		if err := c.scope.Admit(c.user); errors.Is(err, sessionstore.ErrInvalid) == c.owns {
			t.Errorf("%s admits %.8q: got %v, want an error: %v", c.of, c.user, err, !c.owns)
		}
		if got := c.scope.User(c.user); got != c.written {
			t.Errorf("%s, user %.8q: got %.8q, want %.8q", c.of, c.user, got, c.written)
		}
		if _, err := c.scope.View(c.user); errors.Is(err, sessionstore.ErrInvalid) != c.viewFailed {
			t.Errorf("%s viewed for %.8q: got %v, want an error: %v", c.of, c.user, err, c.viewFailed)
		}
	}
}

func TestPurgeLimit(t *testing.T) {
	t.Parallel()
	store := scope.New()
	if n, err := store.PurgeLimit(0); n != sessionstore.DefaultPurge || err != nil {
		t.Errorf("PurgeLimit(0): got %d, %v, want %d, nil", n, err, sessionstore.DefaultPurge)
	}
	if n, err := store.PurgeLimit(3); n != 3 || err != nil {
		t.Errorf("PurgeLimit(3): got %d, %v, want 3, nil", n, err)
	}
	if _, err := store.PurgeLimit(-1); !errors.Is(err, sessionstore.ErrInvalid) {
		t.Errorf("PurgeLimit(-1): got %v, want ErrInvalid", err)
	}
	view, err := store.View("ada")
	if err != nil {
		t.Fatalf("View: got %v, want nil", err)
	}
	if _, err := view.PurgeLimit(1); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("PurgeLimit of a view: got %v, want ErrUnsupported", err)
	}
}

func TestCheckIDNamesTheField(t *testing.T) {
	t.Parallel()
	err := scope.CheckNamespace("a\x00b")
	inv, ok := errors.AsType[*sessionstore.InvalidError](err)
	if !ok || inv.Field != "namespace" {
		t.Errorf("CheckNamespace of a name with U+0000: got %v, want an InvalidError of the field namespace", err)
	}
	if err := scope.CheckNamespace(""); err != nil {
		t.Errorf("CheckNamespace of the empty name: got %v, want nil", err)
	}
}
