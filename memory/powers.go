package memory

import (
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/sessionstore/sessionstore"
)

// purgeBatch is how many expired sessions are looked up at once.
const purgeBatch = 256

// ForkSession implements [sessionstore.Forker]. It takes a snapshot of the source, which
// shares its immutable chunks with the child.
func (s *Store) ForkSession(ctx context.Context, id string, f sessionstore.Fork) (_ sessionstore.Session, err error) {
	defer wrap(&err, "fork", id)
	if err := s.scope.Enter(ctx); err != nil {
		return sessionstore.Session{}, err
	}
	defer s.scope.Leave()
	if err := sessionstore.CheckID(id); err != nil {
		return sessionstore.Session{}, err
	}
	if f, err = f.Prepare(); err != nil {
		return sessionstore.Session{}, err
	}
	if f.UserID != nil {
		if err := s.scope.Admit(*f.UserID); err != nil {
			return sessionstore.Session{}, err
		}
	}
	child, err := s.fork(id, f)
	if err != nil {
		return sessionstore.Session{}, err
	}
	out := child.session
	if err := s.space.insert(child, s.now, nil); err != nil {
		return sessionstore.Session{}, err
	}
	return cloneSession(out), nil
}

// fork returns the child, not yet inserted. Everything of the source is read in one step.
func (s *Store) fork(id string, f sessionstore.Fork) (*entry, error) {
	src, now, err := s.lock(id)
	if err != nil {
		return nil, err
	}
	defer src.mu.Unlock()
	count := src.history.len()
	if f.AtSeq != nil {
		count = src.history.through(*f.AtSeq)
	}
	session, err := f.Apply(src.session, int64(count), now)
	if err != nil {
		return nil, err
	}
	child := s.space.newEntry(session)
	child.history, child.ids = src.history.head(count), src.ids.head(count)
	return child, nil
}

// RestoreSession implements [sessionstore.Restorer]. The session is built aside, while
// the iterator runs, and put in at the end.
func (s *Store) RestoreSession(ctx context.Context, in sessionstore.Session, messages iter.Seq2[sessionstore.Message, error]) (_ sessionstore.Session, err error) {
	defer wrap(&err, "restore", in.ID)
	if err := s.scope.Enter(ctx); err != nil {
		return sessionstore.Session{}, err
	}
	defer s.scope.Leave()
	r, err := sessionstore.NewRestoration(in)
	if err != nil {
		return sessionstore.Session{}, err
	}
	if err := s.scope.Admit(in.UserID); err != nil {
		return sessionstore.Session{}, err
	}
	e := s.space.newEntry(in)
	for m, err := range messages {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return sessionstore.Session{}, err
		}
		if m, err = r.Next(m); err != nil {
			return sessionstore.Session{}, fmt.Errorf("message %d: %w", e.history.len(), err)
		}
		if _, ok := e.ids.find(&e.history, m.ID); ok {
			return sessionstore.Session{}, fmt.Errorf("message %d: %w", e.history.len(),
				&sessionstore.InvalidError{Field: "message_id", Reason: fmt.Sprintf("%.64q is in the history twice", m.ID)})
		}
		e.add(&m)
	}
	var out sessionstore.Session
	err = s.space.insert(e, s.now, func(stored *sessionstore.Session, now time.Time) error {
		var err error
		out, err = r.Finish(now)
		*stored = out
		return err
	})
	if err != nil {
		return sessionstore.Session{}, err
	}
	return cloneSession(out), nil
}

// PurgeExpired implements [sessionstore.Purger]. A context that ends stops it between two
// sessions. A view has no such power: errors.ErrUnsupported.
func (s *Store) PurgeExpired(ctx context.Context, limit int) (n int, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("memory: purge: %w", err)
		}
	}()
	if err := s.scope.Enter(ctx); err != nil {
		return 0, err
	}
	defer s.scope.Leave()
	if limit, err = s.scope.PurgeLimit(limit); err != nil {
		return 0, err
	}
	expired := func(session *sessionstore.Session) bool { return session.Expired(s.now()) }
	for n < limit {
		before := n
		for _, id := range s.space.index.expired(min(limit-n, purgeBatch), s.now) {
			if err := ctx.Err(); err != nil {
				return n, err
			}
			if s.space.remove(id, expired) {
				n++
			}
		}
		if n == before {
			break
		}
	}
	return n, nil
}

// ForUser implements [sessionstore.OwnerScoper]: a view whose atomic steps check the
// owner.
func (s *Store) ForUser(userID string) sessionstore.SessionStore {
	viewed, err := s.scope.View(userID)
	if err != nil {
		return sessionstore.Unusable(fmt.Errorf("memory: view: %w", err))
	}
	view := *s
	view.scope = viewed
	return &view
}
