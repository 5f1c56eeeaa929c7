package memory

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/sessionstore/sessionstore"
)

// lock returns the session's entry, which the caller is to unlock, and the time. One that
// has expired, or is not the view's, is not found.
func (s *Store) lock(id string) (*entry, time.Time, error) {
	e := s.space.find(id)
	if e == nil {
		return nil, time.Time{}, sessionstore.ErrSessionNotFound
	}
	e.mu.Lock()
	now := s.now()
	if e.gone || e.session.Expired(now) || !s.scope.Owns(e.session.UserID) {
		e.mu.Unlock()
		return nil, time.Time{}, sessionstore.ErrSessionNotFound
	}
	return e, now, nil
}

// set stores the session's new state. The caller holds the entry.
func (s *Store) set(e *entry, to sessionstore.Session) {
	moved := !to.UpdatedAt.Equal(e.session.UpdatedAt) || !to.ExpiresAt.Equal(e.session.ExpiresAt)
	e.session = to
	if moved {
		s.space.index.mark(e)
	}
}

// CreateSession implements [sessionstore.SessionStore].
func (s *Store) CreateSession(ctx context.Context, in sessionstore.Session) (_ sessionstore.Session, err error) {
	defer wrap(&err, "create", in.ID)
	if err := s.scope.Enter(ctx); err != nil {
		return sessionstore.Session{}, err
	}
	defer s.scope.Leave()
	in.UserID = s.scope.User(in.UserID)
	in, err = in.Prepare()
	if err != nil {
		return sessionstore.Session{}, err
	}
	var out sessionstore.Session
	err = s.space.insert(s.space.newEntry(in), s.now, func(stored *sessionstore.Session, now time.Time) (err error) {
		out, err = stored.Create(now)
		*stored = out
		return err
	})
	if err != nil {
		return sessionstore.Session{}, err
	}
	return cloneSession(out), nil
}

// GetSession implements [sessionstore.SessionStore].
func (s *Store) GetSession(ctx context.Context, id string) (_ sessionstore.Session, err error) {
	defer wrap(&err, "get", id)
	if err := s.scope.Enter(ctx); err != nil {
		return sessionstore.Session{}, err
	}
	defer s.scope.Leave()
	if err := sessionstore.CheckID(id); err != nil {
		return sessionstore.Session{}, err
	}
	e, _, err := s.lock(id)
	if err != nil {
		return sessionstore.Session{}, err
	}
	out := e.session
	e.mu.Unlock()
	return cloneSession(out), nil
}

// UpdateSession implements [sessionstore.SessionStore].
func (s *Store) UpdateSession(ctx context.Context, id string, u sessionstore.SessionUpdate) (_ sessionstore.Session, err error) {
	defer wrap(&err, "update", id)
	if err := s.scope.Enter(ctx); err != nil {
		return sessionstore.Session{}, err
	}
	defer s.scope.Leave()
	if err := sessionstore.CheckID(id); err != nil {
		return sessionstore.Session{}, err
	}
	if u, err = u.Prepare(); err != nil {
		return sessionstore.Session{}, err
	}
	out, err := s.update(id, u)
	if err != nil {
		return sessionstore.Session{}, err
	}
	s.space.index.relieve()
	return cloneSession(out), nil
}

func (s *Store) update(id string, u sessionstore.SessionUpdate) (sessionstore.Session, error) {
	e, now, err := s.lock(id)
	if err != nil {
		return sessionstore.Session{}, err
	}
	defer e.mu.Unlock()
	out, err := u.Apply(e.session, now)
	if err != nil {
		return sessionstore.Session{}, err
	}
	s.set(e, out)
	return out, nil
}

// DeleteSession implements [sessionstore.SessionStore].
func (s *Store) DeleteSession(ctx context.Context, id string) (err error) {
	defer wrap(&err, "delete", id)
	if err := s.scope.Enter(ctx); err != nil {
		return err
	}
	defer s.scope.Leave()
	if err := sessionstore.CheckID(id); err != nil {
		return err
	}
	found := s.space.remove(id, func(session *sessionstore.Session) bool {
		return !session.Expired(s.now()) && s.scope.Owns(session.UserID)
	})
	if !found {
		return sessionstore.ErrSessionNotFound
	}
	return nil
}

// ListSessions implements [sessionstore.SessionStore].
func (s *Store) ListSessions(ctx context.Context, q sessionstore.SessionQuery) (_ sessionstore.SessionPage, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("memory: list sessions: %w", err)
		}
	}()
	if err := s.scope.Enter(ctx); err != nil {
		return sessionstore.SessionPage{}, err
	}
	defer s.scope.Leave()
	q.UserID = s.scope.User(q.UserID)
	if q, err = q.Prepare(); err != nil {
		return sessionstore.SessionPage{}, err
	}
	after, bounded, err := q.After()
	if err != nil {
		return sessionstore.SessionPage{}, err
	}
	var from *item
	if bounded {
		from = &item{after.UpdatedAt.UnixMicro(), &entry{id: after.ID}}
	}
	found := s.space.index.list(&q, from, s.now)

	sessions := found.sessions
	if found.moved {
		// What was written during the walk is shown where it belongs now, which may be
		// on a page before this one.
		if bounded {
			sessions = slices.DeleteFunc(sessions, func(s sessionstore.Session) bool {
				return s.Key().Compare(after) >= 0
			})
		}
		slices.SortFunc(sessions, func(a, b sessionstore.Session) int {
			return b.Key().Compare(a.Key())
		})
	}
	for i := range sessions {
		sessions[i] = cloneSession(sessions[i])
	}
	out := sessionstore.SessionPage{Sessions: sessions}
	if found.more {
		out.Next = found.last.Cursor()
	}
	return out, nil
}
