package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/sessionstore/sessionstore"
)

// Appending is one statement, so that the check of the session, its counters and the
// messages are one step. Whether an id is there already is for the unique constraint to
// decide: after a wait for the row's lock the statement still sees the messages of
// before it, and would find nothing.
const (
	// appendOne is appendMany for the most frequent batch: an unnest costs a quarter more.
	appendOne = `WITH s AS (
			UPDATE @sessions SET last_seq = last_seq + 1, message_count = message_count + 1, ` + slide + `
			WHERE ` + writable + ` RETURNING sid, last_seq)
		INSERT INTO @messages (sid, seq, id, role, created_at, body)
		SELECT sid, last_seq, @message_id, @role, @created_at, @body FROM s
		RETURNING seq`

	appendMany = `WITH s AS (
			UPDATE @sessions SET last_seq = last_seq + cardinality(@message_ids),
				message_count = message_count + cardinality(@message_ids), ` + slide + `
			WHERE ` + writable + ` RETURNING sid, last_seq),
		m AS (
			INSERT INTO @messages (sid, seq, id, role, created_at, body)
			SELECT s.sid, s.last_seq - cardinality(@message_ids) + u.n, u.id, u.role, u.created_at, u.body::json
			FROM s, unnest(@message_ids, @roles, @times, @bodies) WITH ORDINALITY AS u (id, role, created_at, body, n))
		SELECT last_seq FROM s`

	// writable is the check that appends and truncates share.
	writable = named + ` AND status = 'active' AND ` + alive + ` AND (@last_seq IS NULL OR last_seq = @last_seq)`

	slide = `updated_at = ` + touched + `, expires_at = ` + untilThen

	// findMessages is the session, and those of its messages that have one of the ids.
	// Each is looked up by itself: of a whole array the server may believe that reading
	// the session from end to end is cheaper.
	findMessages = `WITH s AS (SELECT sid, ` + sessionColumns + ` FROM @sessions WHERE ` + named + ` AND ` + owned + `)
		` + pageRows + `(SELECT m.seq, m.body FROM s, unnest(@message_ids) AS want (id),
			LATERAL (SELECT seq, body FROM @messages WHERE sid = s.sid AND id = want.id LIMIT 1) m) found`
)

// AppendMessages adds a batch to a history; see [sessionstore.Append]. A context that
// ends, or a connection that breaks, while the statement runs leaves the outcome
// unknown; repeating the call with the same ids settles it.
func (h *handle) AppendMessages(ctx context.Context, id string, a sessionstore.Append) ([]sessionstore.Message, error) {
	out, err := h.appendMessages(ctx, id, a)
	if err != nil {
		return nil, failed("append to", id, err)
	}
	return out, nil
}

func (h *handle) appendMessages(ctx context.Context, id string, a sessionstore.Append) ([]sessionstore.Message, error) {
	if err := h.scope.Enter(ctx); err != nil {
		return nil, err
	}
	defer h.scope.Leave()
	a, err := a.Prepare(id)
	if err != nil {
		return nil, err
	}
	for {
		if len(a.Messages) > 0 {
			out, err := h.tryAppend(ctx, id, a)
			if !errors.Is(err, errRefused) {
				return out, err
			}
		}
		// The session has moved on if reading it shows no reason for the refusal.
		out, err := h.judge(ctx, id, a)
		if out != nil || err != nil {
			return out, err
		}
	}
}

// errRefused says that the server wrote nothing: the session is not as it must be, or
// an id is there already.
var errRefused = errors.New("the session is not as it must be")

// tryAppend appends in one statement, perhaps together with others.
func (h *handle) tryAppend(ctx context.Context, id string, a sessionstore.Append) (out []sessionstore.Message, err error) {
	out = stamped(a.Messages, h.clock())
	r, err := newMessageRows(out)
	if err != nil {
		return nil, err
	}
	send := func(ctx context.Context, r messageRows) (int64, error) { return h.send(ctx, id, a.IfLastSeq, r) }
	var last int64
	if a.IfLastSeq == nil {
		last, err = h.lines.do(ctx, destination{id, h.scope.Owner()}, r, send)
	} else {
		last, err = send(ctx, r)
	}
	if err != nil {
		return nil, err
	}
	for i := range out {
		out[i].Seq = last - int64(len(out)-1-i)
	}
	return out, nil
}

// send appends rows in one statement, and returns the Seq of the last.
func (h *handle) send(ctx context.Context, id string, ifLastSeq *int64, r messageRows) (last int64, err error) {
	text, params := h.sql.appendMany, r.params
	if len(r) == 1 {
		text, params = h.sql.appendOne, r[0].params
	}
	args := append([]any{h.namespace, id, nil, h.scope.Owner(), ifLastSeq}, params()...)
	err = retry(ctx, func() error {
		args[2] = h.clock()
		return h.pool.QueryRow(ctx, text, args...).Scan(&last)
	})
	if errors.Is(err, pgx.ErrNoRows) || violates(err, messageIDs) {
		err = errRefused
	}
	return last, err
}

// stamped returns the messages with the times that they lack.
func stamped(msgs []sessionstore.Message, now time.Time) []sessionstore.Message {
	out := make([]sessionstore.Message, len(msgs))
	copy(out, msgs)
	for i := range out {
		if out[i].CreatedAt.IsZero() {
			out[i].CreatedAt = now
		}
	}
	return out
}

// judge finds out what the session as it is now means for the batch: a repeat of one
// that is stored, or an error. It returns nothing if it would be accepted.
func (h *handle) judge(ctx context.Context, id string, a sessionstore.Append) ([]sessionstore.Message, error) {
	now := h.clock()
	ids := make([]string, len(a.Messages))
	for i, m := range a.Messages {
		ids[i] = m.ID
	}
	var found sessionstore.MessagePage
	err := retry(ctx, func() error {
		rows, err := h.pool.Query(ctx, h.sql.findMessages, h.namespace, id, h.scope.Owner(), ids)
		if err != nil {
			return err
		}
		found, err = readPage(rows, id, now, len(ids))
		return err
	})
	if err != nil {
		return nil, err
	}
	if out, err := a.Repeat(found.Messages); out != nil || err != nil {
		return out, err
	}
	_, out, err := a.Apply(found.Session, now)
	if len(a.Messages) > 0 {
		out = nil
	}
	return out, err
}
