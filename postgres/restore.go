package postgres

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/sessionstore/sessionstore"
)

// A restore keeps this much in memory. What is more is staged, a statement for each time
// that one of the bounds is reached.
const (
	maxBufferBytes    = 4 << 20
	maxBufferMessages = 4000

	// abandonTimeout bounds the clean-up after a failure, when the server may be gone.
	abandonTimeout = 10 * time.Second
)

// Staged messages lie under a sid that no session has, so that no method finds them. The
// row in restores says that they are somebody's: who writes or takes them, or purges
// them, locks it.
const (
	stage = `INSERT INTO @restores DEFAULT VALUES RETURNING sid`

	stageMessages = `WITH s AS (UPDATE @restores SET touched_at = now() WHERE sid = @sid RETURNING sid),
		m AS (INSERT INTO @messages (sid, seq, id, role, created_at, body) SELECT s.sid, ` + restored + `)
		SELECT sid FROM s`

	unstage = `WITH s AS (DELETE FROM @restores WHERE sid = @sid RETURNING sid)
		DELETE FROM @messages m USING s WHERE m.sid = s.sid`

	// restore makes the session appear. It gives a row with the sid, or null if the id is
	// in use, and whether the staged messages, if there are any, are still there.
	restore = `WITH claim AS (SELECT sid FROM @restores WHERE sid = @sid FOR UPDATE),
		s AS (
			INSERT INTO @sessions (sid, ` + newSessionColumns + `)
			SELECT COALESCE(@sid, nextval(@sequence)), ` + newSessionValues + `, @fork_seq, @last_seq, @message_count
			WHERE @sid IS NULL OR EXISTS (SELECT 1 FROM claim)
			ON CONFLICT (namespace, id) DO NOTHING RETURNING sid),
		done AS (DELETE FROM @restores r USING s WHERE r.sid = s.sid),
		m AS (INSERT INTO @messages (sid, seq, id, role, created_at, body) SELECT s.sid, ` + restored + `)
		SELECT s.sid, @sid IS NULL OR EXISTS (SELECT 1 FROM claim) FROM (VALUES (1)) AS one LEFT JOIN s ON true`

	restored = `u.seq, u.id, u.role, u.created_at, u.body::json
		FROM s, unnest(@seqs, @message_ids, @roles, @times, @bodies) AS u (seq, id, role, created_at, body)`

	restoreParams = newSessionParams + ` fork_seq last_seq message_count sid seqs message_ids roles times bodies`
)

// RestoreSession writes a session as an export gave it; see [sessionstore.Restorer]. The
// iterator may use the store, but must not close it: no connection is held while it
// runs. A history of up to 4 MiB is written by one transaction; of a larger one, parts
// are staged where no method finds them, and the last transaction makes them the
// session's. What a crash leaves there PurgeExpired removes after an hour; an iterator
// that takes longer than that for 4 MiB makes the restore fail.
func (h *handle) RestoreSession(ctx context.Context, s sessionstore.Session, messages iter.Seq2[sessionstore.Message, error]) (sessionstore.Session, error) {
	out, err := h.restoreSession(ctx, s, messages)
	if err != nil {
		return sessionstore.Session{}, failed("restore", s.ID, err)
	}
	return out, nil
}

func (h *handle) restoreSession(ctx context.Context, s sessionstore.Session, messages iter.Seq2[sessionstore.Message, error]) (out sessionstore.Session, err error) {
	if err := h.scope.Enter(ctx); err != nil {
		return out, err
	}
	defer h.scope.Leave()
	if err := h.scope.Admit(s.UserID); err != nil {
		return out, err
	}
	rules, err := sessionstore.NewRestoration(s)
	if err != nil {
		return out, err
	}
	st := &staging{h: h}
	defer st.abandon(ctx)
	for m, err := range messages {
		if err != nil {
			return out, err
		}
		if err := ctx.Err(); err != nil {
			return out, err
		}
		if m, err = rules.Next(m); err != nil {
			return out, err
		}
		if err := st.add(ctx, m); err != nil {
			return out, err
		}
	}
	return st.finish(ctx, rules)
}

// staging holds the messages of a restore that has not finished.
type staging struct {
	h       *handle
	sid     *int64 // of the staged messages; nil: there are none
	encoder rowEncoder
	pending messageRows
	size    int // of pending, in bytes
}

var (
	errRepeatedID = invalid("message_id", "is in the history twice")
	errPurged     = errors.New("the staged messages were purged: the iterator took more than an hour for a part")
)

func (st *staging) add(ctx context.Context, m sessionstore.Message) error {
	if st.size >= maxBufferBytes || len(st.pending) >= maxBufferMessages {
		if err := st.flush(ctx); err != nil {
			return err
		}
	}
	r, err := st.encoder.row(m)
	if err == nil {
		st.pending = append(st.pending, r)
		st.size += len(r.body)
	}
	return err
}

// flush stages what is in memory.
func (st *staging) flush(ctx context.Context) error {
	if st.sid == nil {
		var sid int64
		err := retry(ctx, func() error { return st.h.pool.QueryRow(ctx, st.h.sql.stage).Scan(&sid) })
		if err != nil {
			return err
		}
		st.sid = &sid
	}
	args := append([]any{st.sid, st.pending.seqs()}, st.pending.params()...)
	err := retry(ctx, func() error {
		var sid int64
		return st.h.pool.QueryRow(ctx, st.h.sql.stageMessages, args...).Scan(&sid)
	})
	if err != nil {
		return st.judged(err)
	}
	st.pending, st.size = nil, 0
	return nil
}

// judged says what an error of writing messages means.
func (st *staging) judged(err error) error {
	switch {
	case violates(err, messageIDs):
		return fmt.Errorf("%w: %w", errRepeatedID, err)
	case errors.Is(err, pgx.ErrNoRows):
		return errPurged
	}
	return err
}

// finish makes the session appear.
func (st *staging) finish(ctx context.Context, rules *sessionstore.Restoration) (out sessionstore.Session, err error) {
	var sid *int64
	var there bool
	err = retry(ctx, func() error {
		now := st.h.clock()
		if out, err = rules.Finish(now); err != nil {
			return err
		}
		args, err := st.h.newSessionArgs(out)
		if err != nil {
			return err
		}
		args = append(args, out.ForkSeq, out.LastSeq, out.MessageCount, st.sid, st.pending.seqs())
		args = append(args, st.pending.params()...)
		b := &pgx.Batch{}
		st.h.queueRemains(b, out.ID, now)
		b.Queue(st.h.sql.restore, args...).QueryRow(func(got pgx.Row) error { return got.Scan(&sid, &there) })
		return st.h.transact(ctx, b)
	})
	switch {
	case err != nil:
		return out, st.judged(err)
	case !there:
		return out, errPurged
	case sid == nil:
		return out, sessionstore.ErrSessionExists
	}
	st.sid = nil
	return out, nil
}

// abandon removes the staged messages of a restore that did not finish. Where that
// fails, PurgeExpired will do it.
func (st *staging) abandon(ctx context.Context) {
	if st.sid == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), abandonTimeout)
	defer cancel()
	_ = retry(ctx, func() error {
		_, err := st.h.pool.Exec(ctx, st.h.sql.unstage, st.sid)
		return err
	})
}
