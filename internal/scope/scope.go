// Package scope has what the backends of this module share beside the rules of the root
// package: the life of a store and of the views on it, the owner that a view is confined
// to, and a clock that stays in the range of times.
package scope

import (
	"context"
	"errors"

	"github.com/sessionstore/sessionstore"
)

// Scope is what a store and each view on it have of their own. It is copied freely.
type Scope struct {
	// guards are those of the stores that this is a view of, and last its own.
	guards []*sessionstore.Guard

	// owner is the user that a view is confined to; empty for all sessions.
	owner string
}

// New returns the scope of a new store: all sessions.
func New() Scope {
	return Scope{guards: []*sessionstore.Guard{new(sessionstore.Guard)}}
}

// Enter begins a call on the store and, for a view, on those that it is a view of. That
// any of them is closed comes before the context's error, so only the last guard is given
// the context.
func (s *Scope) Enter(ctx context.Context) error {
	last := len(s.guards) - 1
	for i, g := range s.guards {
		c := context.Background()
		if i == last {
			c = ctx
		}
		if err := g.Enter(c); err != nil {
			leave(s.guards[:i])
			return err
		}
	}
	return nil
}

// Leave ends a call that Enter began.
func (s *Scope) Leave() { leave(s.guards) }

func leave(guards []*sessionstore.Guard) {
	for _, g := range guards {
		g.Leave()
	}
}

// Close makes later calls fail and waits for those in flight; that of a view leaves the
// store open. It reports whether it is the first Close.
func (s *Scope) Close() (first bool) { return s.guards[len(s.guards)-1].Close() }

// View returns the scope of a view confined to one user. Errors: ErrInvalid, for what is
// no user id and for another user than the one that s is confined to.
func (s *Scope) View(userID string) (Scope, error) {
	if err := CheckID("user_id", userID); err != nil {
		return Scope{}, err
	}
	if err := s.Admit(userID); err != nil {
		return Scope{}, err
	}
	guards := append(append([]*sessionstore.Guard(nil), s.guards...), new(sessionstore.Guard))
	return Scope{guards: guards, owner: userID}, nil
}

// Owner is the user that a view is confined to, "" for a store.
func (s *Scope) Owner() string { return s.owner }

// Owns reports whether a session of that user is to be seen.
func (s *Scope) Owns(userID string) bool { return s.owner == "" || s.owner == userID }

// Admit refuses to write a session of a user whom the view is not for. Errors: ErrInvalid.
func (s *Scope) Admit(userID string) error {
	if s.Owns(userID) {
		return nil
	}
	return &sessionstore.InvalidError{Field: "user_id", Reason: "the store is confined to another user"}
}

// User returns the owner of what a call makes or looks for: in a view always its own.
func (s *Scope) User(userID string) string {
	if s.owner != "" {
		return s.owner
	}
	return userID
}

// PurgeLimit returns how many sessions a purge removes at most. A view has no purge. Errors:
// ErrInvalid, errors.ErrUnsupported.
func (s *Scope) PurgeLimit(limit int) (int, error) {
	switch {
	case s.owner != "":
		return 0, errors.ErrUnsupported
	case limit < 0:
		return 0, &sessionstore.InvalidError{Field: "limit", Reason: "must not be negative"}
	case limit == 0:
		return sessionstore.DefaultPurge, nil
	}
	return limit, nil
}

// CheckID is sessionstore.CheckID with an error that names the field.
func CheckID(field, id string) error {
	err := sessionstore.CheckID(id)
	if inv, ok := errors.AsType[*sessionstore.InvalidError](err); ok {
		return &sessionstore.InvalidError{Field: field, Reason: inv.Reason}
	}
	return err
}

// CheckNamespace accepts what CheckID does, and "".
func CheckNamespace(name string) error {
	if name == "" {
		return nil
	}
	return CheckID("namespace", name)
}
