package sessionstore

import (
	"context"
	"fmt"
	"iter"
)

// ForUser returns a view of store that is confined to one owner, for code that serves
// one user and must not reach another's sessions whatever id it is given.
//
// [owner] Every method of the view treats another's session as ErrSessionNotFound, with
// no effect; Create and List force UserID; a fork or restore for another UserID is
// ErrInvalid; an empty user id confines to nothing, so every call of its view is
// ErrInvalid; closing the view leaves the store open.
//
// A store with [OwnerScoper] checks the owner inside its atomic steps. For any other the
// view reads the session first: a session that is deleted, and its id taken by another
// user, between the two steps is reached.
//
// The id of another user's session is in use all the same: creating it is
// ErrSessionExists. PurgeExpired on a view is errors.ErrUnsupported.
func ForUser(store SessionStore, userID string) SessionStore {
	if err := checkID("user_id", userID); err != nil {
		return Unusable(err)
	}
	if p, ok := store.(OwnerScoper); ok {
		return p.ForUser(userID)
	}
	return &confined{store: store, user: userID}
}

// Unusable returns a store all of whose methods fail with err. It stands in where a
// constructor without an error result was given something wrong.
func Unusable(err error) SessionStore { return &unusable{err: err} }

// confined is the view that ForUser falls back to.
type confined struct {
	store SessionStore
	user  string
	guard Guard
}

var (
	_ Forker      = (*confined)(nil)
	_ Restorer    = (*confined)(nil)
	_ OwnerScoper = (*confined)(nil)
)

var errOtherUser = invalid("user_id", "the store is confined to another user")

// own returns ErrSessionNotFound unless the session belongs to the view's user.
func (c *confined) own(ctx context.Context, id string) error {
	s, err := c.store.GetSession(ctx, id)
	if err != nil {
		return err
	}
	return c.check(s)
}

func (c *confined) check(s Session) error {
	if s.UserID != c.user {
		return fmt.Errorf("session %q: %w", clip(s.ID), ErrSessionNotFound)
	}
	return nil
}

func (c *confined) CreateSession(ctx context.Context, s Session) (Session, error) {
	if err := c.guard.Enter(ctx); err != nil {
		return Session{}, err
	}
	defer c.guard.Leave()
	s.UserID = c.user
	return c.store.CreateSession(ctx, s)
}

func (c *confined) GetSession(ctx context.Context, id string) (Session, error) {
	if err := c.guard.Enter(ctx); err != nil {
		return Session{}, err
	}
	defer c.guard.Leave()
	s, err := c.store.GetSession(ctx, id)
	if err == nil {
		err = c.check(s)
	}
	if err != nil {
		return Session{}, err
	}
	return s, nil
}

func (c *confined) UpdateSession(ctx context.Context, id string, u SessionUpdate) (Session, error) {
	if err := c.guard.Enter(ctx); err != nil {
		return Session{}, err
	}
	defer c.guard.Leave()
	u, err := u.Prepare()
	if err != nil {
		return Session{}, argument(ctx, c.store, id, err)
	}
	if err := c.own(ctx, id); err != nil {
		return Session{}, err
	}
	return c.store.UpdateSession(ctx, id, u)
}

func (c *confined) DeleteSession(ctx context.Context, id string) error {
	if err := c.guard.Enter(ctx); err != nil {
		return err
	}
	defer c.guard.Leave()
	if err := c.own(ctx, id); err != nil {
		return err
	}
	return c.store.DeleteSession(ctx, id)
}

func (c *confined) ListSessions(ctx context.Context, q SessionQuery) (SessionPage, error) {
	if err := c.guard.Enter(ctx); err != nil {
		return SessionPage{}, err
	}
	defer c.guard.Leave()
	q.UserID = c.user
	return c.store.ListSessions(ctx, q)
}

func (c *confined) AppendMessages(ctx context.Context, id string, a Append) ([]Message, error) {
	if err := c.guard.Enter(ctx); err != nil {
		return nil, err
	}
	defer c.guard.Leave()
	a, err := a.Prepare(id)
	if err != nil {
		return nil, argument(ctx, c.store, id, err)
	}
	if err := c.own(ctx, id); err != nil {
		return nil, err
	}
	return c.store.AppendMessages(ctx, id, a)
}

func (c *confined) ListMessages(ctx context.Context, id string, q MessageQuery) (MessagePage, error) {
	if err := c.guard.Enter(ctx); err != nil {
		return MessagePage{}, err
	}
	defer c.guard.Leave()
	page, err := c.store.ListMessages(ctx, id, q)
	if err == nil {
		err = c.check(page.Session)
	}
	if err != nil {
		return MessagePage{}, err
	}
	return page, nil
}

func (c *confined) TruncateMessages(ctx context.Context, id string, t Truncate) (Session, error) {
	if err := c.guard.Enter(ctx); err != nil {
		return Session{}, err
	}
	defer c.guard.Leave()
	t, err := t.Prepare()
	if err != nil {
		return Session{}, argument(ctx, c.store, id, err)
	}
	if err := c.own(ctx, id); err != nil {
		return Session{}, err
	}
	return c.store.TruncateMessages(ctx, id, t)
}

func (c *confined) ForkSession(ctx context.Context, id string, f Fork) (Session, error) {
	if err := c.guard.Enter(ctx); err != nil {
		return Session{}, err
	}
	defer c.guard.Leave()
	f, err := f.Prepare()
	if err != nil {
		return Session{}, argument(ctx, c.store, id, err)
	}
	if f.UserID != nil && *f.UserID != c.user {
		return Session{}, argument(ctx, c.store, id, errOtherUser)
	}
	if err := c.own(ctx, id); err != nil {
		return Session{}, err
	}
	return ForkSession(ctx, c.store, id, f)
}

func (c *confined) RestoreSession(ctx context.Context, s Session, messages iter.Seq2[Message, error]) (Session, error) {
	if err := c.guard.Enter(ctx); err != nil {
		return Session{}, err
	}
	defer c.guard.Leave()
	if s.UserID != c.user {
		return Session{}, argument(ctx, c.store, s.ID, errOtherUser)
	}
	return RestoreSession(ctx, c.store, s, messages)
}

func (c *confined) ForUser(userID string) SessionStore {
	if userID != c.user {
		return Unusable(errOtherUser)
	}
	return &confined{store: c, user: userID}
}

// Close closes the view, not the store.
func (c *confined) Close() error {
	c.guard.Close()
	return nil
}

type unusable struct {
	err   error
	guard Guard
}

func (u *unusable) fail(ctx context.Context) error {
	if err := u.guard.Enter(ctx); err != nil {
		return err
	}
	defer u.guard.Leave()
	return u.err
}

func (u *unusable) CreateSession(ctx context.Context, _ Session) (Session, error) {
	return Session{}, u.fail(ctx)
}

func (u *unusable) GetSession(ctx context.Context, _ string) (Session, error) {
	return Session{}, u.fail(ctx)
}

func (u *unusable) UpdateSession(ctx context.Context, _ string, _ SessionUpdate) (Session, error) {
	return Session{}, u.fail(ctx)
}

func (u *unusable) DeleteSession(ctx context.Context, _ string) error { return u.fail(ctx) }

func (u *unusable) ListSessions(ctx context.Context, _ SessionQuery) (SessionPage, error) {
	return SessionPage{}, u.fail(ctx)
}

func (u *unusable) AppendMessages(ctx context.Context, _ string, _ Append) ([]Message, error) {
	return nil, u.fail(ctx)
}

func (u *unusable) ListMessages(ctx context.Context, _ string, _ MessageQuery) (MessagePage, error) {
	return MessagePage{}, u.fail(ctx)
}

func (u *unusable) TruncateMessages(ctx context.Context, _ string, _ Truncate) (Session, error) {
	return Session{}, u.fail(ctx)
}

func (u *unusable) Close() error {
	u.guard.Close()
	return nil
}
