package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/sessionstore/sessionstore"
)

// fork copies a session that has not changed its own state since it was read, and its
// messages as they are now. It gives no row if it has; else what the child became, or
// null if the child's id is in use.
const fork = `WITH src AS (
			SELECT sid, COALESCE(@at, last_seq) AS at FROM @sessions
			WHERE namespace = @namespace AND id = @source AND sid = @sid AND version = @old_version AND ` + alive + `),
		child AS (
			INSERT INTO @sessions (` + newSessionColumns + `)
			SELECT ` + newSessionValues + `, at, at, (SELECT count(*) FROM @messages m WHERE m.sid = src.sid AND m.seq <= src.at)
			FROM src ON CONFLICT (namespace, id) DO NOTHING
			RETURNING sid, last_seq, message_count),
		copied AS (
			INSERT INTO @messages (sid, seq, id, role, created_at, body)
			SELECT child.sid, m.seq, m.id, m.role, m.created_at, m.body
			FROM src, child, @messages m WHERE m.sid = src.sid AND m.seq <= src.at)
		SELECT child.last_seq, child.message_count FROM src LEFT JOIN child ON true`

// ForkSession makes a new session that starts with another's history; see
// [sessionstore.Fork]. The messages do not leave the server.
func (h *handle) ForkSession(ctx context.Context, id string, f sessionstore.Fork) (sessionstore.Session, error) {
	out, err := h.forkSession(ctx, id, f)
	if err != nil {
		return sessionstore.Session{}, failed("fork", id, err)
	}
	return out, nil
}

func (h *handle) forkSession(ctx context.Context, id string, f sessionstore.Fork) (out sessionstore.Session, err error) {
	if err := h.scope.Enter(ctx); err != nil {
		return out, err
	}
	defer h.scope.Leave()
	if err := sessionstore.CheckID(id); err != nil {
		return out, err
	}
	if f, err = f.Prepare(); err != nil {
		return out, err
	}
	if f.UserID != nil {
		if err := h.scope.Admit(*f.UserID); err != nil {
			return out, err
		}
	}
	for {
		now := h.clock()
		sid, src, err := h.load(ctx, id, now)
		if err != nil {
			return out, err
		}
		// The counters are the server's to say: the source may get messages until it copies.
		if out, err = f.Apply(src, 0, now); err != nil {
			return out, err
		}
		args, err := h.newSessionArgs(out)
		if err != nil {
			return out, err
		}
		args = append(args, id, sid, src.Version, now, h.scope.Owner(), f.AtSeq)
		moved := false
		var last, count *int64
		err = retry(ctx, func() error {
			b := &pgx.Batch{}
			h.queueRemains(b, out.ID, now)
			b.Queue(h.sql.fork, args...).QueryRow(func(got pgx.Row) error {
				err := got.Scan(&last, &count)
				if moved = errors.Is(err, pgx.ErrNoRows); moved {
					return nil
				}
				return err
			})
			return h.transact(ctx, b)
		})
		switch {
		case err != nil:
			return out, err
		case moved:
			continue
		case last == nil:
			return out, sessionstore.ErrSessionExists
		}
		out.ForkSeq, out.LastSeq, out.MessageCount = *last, *last, *count
		return out, nil
	}
}
