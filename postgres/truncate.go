package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/sessionstore/sessionstore"
)

// See hold.go for why these are two.
const (
	holdActive = `UPDATE @sessions SET held = true WHERE ` + writable

	truncateHeld = `WITH gone AS (
			DELETE FROM @messages m USING @sessions s
			WHERE s.namespace = @namespace AND s.id = @id AND s.held AND m.sid = s.sid AND m.seq > @through
			RETURNING 1),
		gone_count AS (SELECT count(*) AS n FROM gone)
		UPDATE @sessions SET held = false, message_count = message_count - n,
			updated_at = CASE WHEN n > 0 THEN ` + touched + ` ELSE updated_at END,
			expires_at = CASE WHEN n > 0 THEN ` + untilThen + ` ELSE expires_at END
		FROM gone_count WHERE ` + named + ` AND held
		RETURNING ` + sessionColumns
)

// TruncateMessages removes the newest messages; see [sessionstore.Truncate].
func (h *handle) TruncateMessages(ctx context.Context, id string, t sessionstore.Truncate) (sessionstore.Session, error) {
	out, err := h.truncateMessages(ctx, id, t)
	if err != nil {
		return sessionstore.Session{}, failed("truncate", id, err)
	}
	return out, nil
}

func (h *handle) truncateMessages(ctx context.Context, id string, t sessionstore.Truncate) (out sessionstore.Session, err error) {
	if err := h.scope.Enter(ctx); err != nil {
		return out, err
	}
	defer h.scope.Leave()
	if err := sessionstore.CheckID(id); err != nil {
		return out, err
	}
	if t, err = t.Prepare(); err != nil {
		return out, err
	}
	for {
		out, err = h.tryTruncate(ctx, id, t)
		if !errors.Is(err, errRefused) {
			return out, err
		}
		now := h.clock()
		_, s, err := h.load(ctx, id, now)
		if err != nil {
			return out, err
		}
		// It has moved on if this shows no reason for the refusal.
		if _, err := t.Apply(s, s.MessageCount, now); err != nil {
			return out, err
		}
	}
}

func (h *handle) tryTruncate(ctx context.Context, id string, t sessionstore.Truncate) (sessionstore.Session, error) {
	var held pgconn.CommandTag
	var r row
	err := retry(ctx, func() error {
		now := h.clock()
		b := &pgx.Batch{}
		b.Queue(h.sql.holdActive, h.namespace, id, now, h.scope.Owner(), t.IfLastSeq).
			Exec(func(t pgconn.CommandTag) error { held = t; return nil })
		b.Queue(h.sql.truncateHeld, h.namespace, id, now, t.ThroughSeq).QueryRow(func(got pgx.Row) error {
			if err := got.Scan(r.targets()...); !errors.Is(err, pgx.ErrNoRows) {
				return err
			}
			return nil
		})
		return h.transact(ctx, b)
	})
	if err != nil {
		return sessionstore.Session{}, err
	}
	if held.RowsAffected() == 0 {
		return sessionstore.Session{}, errRefused
	}
	return r.session()
}
