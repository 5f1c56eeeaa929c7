package sessionstore

import (
	"context"
	"errors"
	"fmt"
	"iter"
)

// Forker is the optional power to fork a session inside the store. A method that
// returns errors.ErrUnsupported counts as absent, here and in the other powers.
type Forker interface {
	ForkSession(ctx context.Context, id string, f Fork) (Session, error)
}

// Purger is the optional power to remove what has expired, and what a crash left.
type Purger interface {
	// PurgeExpired removes up to limit expired sessions (0 = 1,000; negative is
	// ErrInvalid) and returns how many it removed. It also removes leftovers of deletes
	// that did not finish, which do not count.
	PurgeExpired(ctx context.Context, limit int) (int, error)
}

// Restorer is the optional power to write a session exactly as an export gave it.
//
// [restore] A session and its messages exactly as given (Seq, times, counters, Version,
// Status); an id in use is ErrSessionExists; complete or absent, also after a crash; a
// context that ends while the iterator runs gives its error, nothing written; Get, List
// and ListMessages then equal the source's byte for byte.
type Restorer interface {
	// RestoreSession writes s with the messages of the iterator, which come in ascending
	// Seq. The iterator is the caller's code: no lock is held while it runs, and an error
	// that it yields ends the call with nothing written. See [Restoration] for the rules.
	RestoreSession(ctx context.Context, s Session, messages iter.Seq2[Message, error]) (Session, error)
}

// OwnerScoper is the optional power to confine a store to one owner inside its atomic
// steps.
type OwnerScoper interface {
	// ForUser returns the view; see the function [ForUser]. For an empty or invalid
	// user id it is [Unusable].
	ForUser(userID string) SessionStore
}

// ForkSession makes a new session that starts with the history of the session id; see
// [Fork]. It uses the store's [Forker], else restores a copy through its [Restorer], else
// creates and appends one: that child is seen unfinished for a moment and deleted on
// failure, and it takes a source with Seqs 1 to n without gap, of at most 1,000 messages
// and 8 MiB; anything else is errors.ErrUnsupported.
func ForkSession(ctx context.Context, store SessionStore, id string, f Fork) (Session, error) {
	if p, ok := store.(Forker); ok {
		s, err := p.ForkSession(ctx, id, f)
		if !errors.Is(err, errors.ErrUnsupported) {
			return s, err
		}
	}
	s, err := forkByCopy(ctx, store, id, f)
	if err != nil {
		return Session{}, fmt.Errorf("fork of %q: %w", clip(id), err)
	}
	return s, nil
}

// PurgeExpired removes up to limit expired sessions (0 = 1,000) and what a crash left,
// and returns how many sessions it removed. A negative limit is ErrInvalid. A store without
// [Purger] gives errors.ErrUnsupported.
func PurgeExpired(ctx context.Context, store SessionStore, limit int) (int, error) {
	p, ok := store.(Purger)
	if !ok {
		return 0, fmt.Errorf("purge: %w", errors.ErrUnsupported)
	}
	return p.PurgeExpired(ctx, limit)
}

// RestoreSession writes a session and its messages exactly as given, through the
// store's [Restorer]. Without one it creates, appends and sets the status instead: the
// messages are renumbered from 1, and times and Version are those of the store. What has
// expired by this process's clock is ErrInvalid.
func RestoreSession(ctx context.Context, store SessionStore, s Session, messages iter.Seq2[Message, error]) (Session, error) {
	if p, ok := store.(Restorer); ok {
		out, err := p.RestoreSession(ctx, s, messages)
		if !errors.Is(err, errors.ErrUnsupported) {
			return out, err
		}
	}
	out, err := restoreByAppend(ctx, store, s, messages)
	if err != nil {
		return Session{}, fmt.Errorf("restore of %q: %w", clip(s.ID), err)
	}
	return out, nil
}
