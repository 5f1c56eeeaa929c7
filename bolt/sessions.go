package bolt

import (
	"context"
	"time"

	"github.com/sessionstore/sessionstore"
)

// CreateSession stores a new session; see [sessionstore.SessionStore].
func (h *handle) CreateSession(ctx context.Context, s sessionstore.Session) (sessionstore.Session, error) {
	out, err := h.createSession(ctx, s)
	if err != nil {
		return sessionstore.Session{}, failed("create", s.ID, err)
	}
	return out, nil
}

func (h *handle) createSession(ctx context.Context, s sessionstore.Session) (out sessionstore.Session, err error) {
	if err := h.scope.Enter(ctx); err != nil {
		return out, err
	}
	defer h.scope.Leave()
	s.UserID = h.scope.User(s.UserID)
	if s, err = s.Prepare(); err != nil {
		return out, err
	}
	err = h.write(ctx, func(sp *space, now time.Time) (func() error, error) {
		created, err := s.Create(now)
		if err != nil {
			return nil, err
		}
		remains, err := sp.free(created.ID, now)
		if err != nil {
			return nil, err
		}
		out = created
		return func() error {
			b, err := sp.insert(created.ID, remains)
			if err != nil {
				return err
			}
			return sp.finish(b, created)
		}, nil
	})
	return out, err
}

// GetSession returns a session; see [sessionstore.SessionStore].
func (h *handle) GetSession(ctx context.Context, id string) (sessionstore.Session, error) {
	out, err := h.getSession(ctx, id)
	if err != nil {
		return sessionstore.Session{}, failed("get", id, err)
	}
	return out, nil
}

func (h *handle) getSession(ctx context.Context, id string) (out sessionstore.Session, err error) {
	if err := h.scope.Enter(ctx); err != nil {
		return out, err
	}
	defer h.scope.Leave()
	if err := sessionstore.CheckID(id); err != nil {
		return out, err
	}
	err = h.read(func(sp *space, now time.Time) error {
		e, err := sp.load(id, h.scope.Owner(), now)
		out = e.session
		return err
	})
	return out, err
}

// UpdateSession changes a session's own state; see [sessionstore.SessionUpdate].
func (h *handle) UpdateSession(ctx context.Context, id string, u sessionstore.SessionUpdate) (sessionstore.Session, error) {
	out, err := h.updateSession(ctx, id, u)
	if err != nil {
		return sessionstore.Session{}, failed("update", id, err)
	}
	return out, nil
}

func (h *handle) updateSession(ctx context.Context, id string, u sessionstore.SessionUpdate) (out sessionstore.Session, err error) {
	if err := h.scope.Enter(ctx); err != nil {
		return out, err
	}
	defer h.scope.Leave()
	if err := sessionstore.CheckID(id); err != nil {
		return out, err
	}
	if u, err = u.Prepare(); err != nil {
		return out, err
	}
	err = h.write(ctx, func(sp *space, now time.Time) (func() error, error) {
		e, err := sp.load(id, h.scope.Owner(), now)
		if err != nil {
			return nil, err
		}
		changed, err := u.Apply(e.session, now)
		if err != nil {
			return nil, err
		}
		out = changed
		if changed.Version == e.session.Version && changed.UpdatedAt.Equal(e.session.UpdatedAt) {
			return nil, nil
		}
		return func() error {
			if err := sp.change(e, changed); err != nil {
				return err
			}
			return sp.setExpiry(e.bucket, changed)
		}, nil
	})
	return out, err
}

// DeleteSession removes a session with its messages; see [sessionstore.SessionStore].
func (h *handle) DeleteSession(ctx context.Context, id string) error {
	if err := h.deleteSession(ctx, id); err != nil {
		return failed("delete", id, err)
	}
	return nil
}

func (h *handle) deleteSession(ctx context.Context, id string) error {
	if err := h.scope.Enter(ctx); err != nil {
		return err
	}
	defer h.scope.Leave()
	if err := sessionstore.CheckID(id); err != nil {
		return err
	}
	return h.write(ctx, func(sp *space, now time.Time) (func() error, error) {
		e, err := sp.load(id, h.scope.Owner(), now)
		if err != nil {
			return nil, err
		}
		return func() error { return sp.remove(e) }, nil
	})
}
