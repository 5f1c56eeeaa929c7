package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/sessionstore/sessionstore"
)

const (
	getSession = `SELECT sid, ` + sessionColumns + ` FROM @sessions WHERE ` + named + ` AND ` + owned

	insertSession = `INSERT INTO @sessions (` + newSessionColumns + `) VALUES (` + newSessionValues + `, @fork_seq, 0, 0)
		ON CONFLICT (namespace, id) DO NOTHING`

	// The session is the one that was read, in the state that was read.
	updateSession = `UPDATE @sessions SET agent_name = @agent_name, status = @status, ttl = @ttl, version = @version,
			body = @body, updated_at = ` + touched + `,
			expires_at = CASE WHEN @ttl > 0 THEN LEAST(` + touched + ` + @ttl * interval '1 microsecond', ` + lastTime + `) END
		WHERE ` + named + ` AND sid = @sid AND version = @old_version AND (expires_at IS NULL OR expires_at > @now)
		RETURNING ` + sessionColumns
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
	if out, err = s.Create(h.clock()); err != nil {
		return out, err
	}
	args, err := h.newSessionArgs(out)
	if err != nil {
		return out, err
	}
	args = append(args, out.ForkSeq)
	var tag pgconn.CommandTag
	err = retry(ctx, func() (err error) {
		tag, err = h.pool.Exec(ctx, h.sql.insertSession, args...)
		return err
	})
	if err != nil || tag.RowsAffected() == 1 {
		return out, err
	}
	// The id is in use, or was until its session expired.
	err = retry(ctx, func() error {
		b := &pgx.Batch{}
		h.queueRemains(b, out.ID, out.UpdatedAt)
		b.Queue(h.sql.insertSession, args...).Exec(func(t pgconn.CommandTag) error { tag = t; return nil })
		return h.transact(ctx, b)
	})
	if err == nil && tag.RowsAffected() == 0 {
		err = sessionstore.ErrSessionExists
	}
	return out, err
}

// queueRemains adds to a transaction what frees the id of an expired session.
func (h *handle) queueRemains(b *pgx.Batch, id string, now time.Time) {
	b.Queue(h.sql.holdExpired, h.namespace, id, now)
	b.Queue(h.sql.removeHeld, h.namespace, id)
}

// GetSession returns a session; see [sessionstore.SessionStore].
func (h *handle) GetSession(ctx context.Context, id string) (sessionstore.Session, error) {
	out, err := h.oneSession(ctx, id)
	if err != nil {
		return sessionstore.Session{}, failed("get", id, err)
	}
	return out, nil
}

func (h *handle) oneSession(ctx context.Context, id string) (out sessionstore.Session, err error) {
	if err := h.scope.Enter(ctx); err != nil {
		return out, err
	}
	defer h.scope.Leave()
	if err := sessionstore.CheckID(id); err != nil {
		return out, err
	}
	_, out, err = h.load(ctx, id, h.clock())
	return out, err
}

// load returns a session that exists at the time now, and the number of its row.
func (h *handle) load(ctx context.Context, id string, now time.Time) (sid int64, s sessionstore.Session, err error) {
	var r row
	err = retry(ctx, func() error {
		return h.pool.QueryRow(ctx, h.sql.getSession, h.namespace, id, h.scope.Owner()).Scan(append([]any{&sid}, r.targets()...)...)
	})
	if err != nil {
		return 0, s, notFound(err)
	}
	if s, err = r.session(); err != nil {
		return 0, s, err
	}
	if s.Expired(now) {
		return 0, s, sessionstore.ErrSessionNotFound
	}
	return sid, s, nil
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
	// Each time that the session has moved on between reading and writing, somebody else's
	// update went through.
	for {
		now := h.clock()
		sid, old, err := h.load(ctx, id, now)
		if err != nil {
			return out, err
		}
		changed, err := u.Apply(old, now)
		if err != nil {
			return out, err
		}
		if changed.Version == old.Version && changed.UpdatedAt.Equal(old.UpdatedAt) {
			return changed, nil
		}
		err = h.replace(ctx, sid, old.Version, &changed, now)
		if !errors.Is(err, pgx.ErrNoRows) {
			return changed, err
		}
	}
}

// replace writes the session, unless its version has changed, or it is gone, by now:
// pgx.ErrNoRows.
func (h *handle) replace(ctx context.Context, sid, version int64, s *sessionstore.Session, now time.Time) error {
	body, err := encodeSession(*s)
	if err != nil {
		return err
	}
	var r row
	err = retry(ctx, func() error {
		return h.pool.QueryRow(ctx, h.sql.updateSession, h.namespace, s.ID, sid, version, now,
			s.AgentName, string(s.Status), s.TTL.Microseconds(), s.Version, body).Scan(r.targets()...)
	})
	if err == nil {
		r.live(s) // appends may have gone in between
	}
	return err
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
	var tag pgconn.CommandTag
	err := retry(ctx, func() error {
		b := &pgx.Batch{}
		b.Queue(h.sql.hold, h.namespace, id, h.clock(), h.scope.Owner()).Exec(func(t pgconn.CommandTag) error { tag = t; return nil })
		b.Queue(h.sql.removeHeld, h.namespace, id)
		return h.transact(ctx, b)
	})
	if err == nil && tag.RowsAffected() == 0 {
		// Not there, or written by a newer version: reading it tells.
		if _, _, err = h.load(ctx, id, h.clock()); err == nil {
			err = sessionstore.ErrSessionNotFound // it was not, a moment ago
		}
	}
	return err
}
