package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/internal/scope"
)

// maxSkipped is how many sessions one call of ListSessions passes over, because they
// have expired or do not match, before it ends the page short.
const maxSkipped = 1000

// A list is a walk down one of the indexes, whose condition it repeats. What the walk
// meets but does not want comes as a key alone.
const (
	list       = listHead + ` AND updated_at > '-infinity'` + listTail
	listUser   = listHead + ` AND user_id = @user AND user_id <> ''` + listTail
	listParent = listHead + ` AND parent_id = @parent AND parent_id <> ''` + listTail

	listHead = `SELECT id, updated_at, CASE WHEN (expires_at IS NULL OR expires_at > @now)
				AND (@user = '' OR user_id = @user) AND (@agent = '' OR agent_name = @agent)
				AND (@parent = '' OR parent_id = @parent)
				AND (cardinality(@statuses) = 0 OR status = ANY (@statuses)) THEN body END,
			format, user_id, status, ttl, fork_seq, expires_at, last_seq, message_count, version
		FROM @sessions
		WHERE namespace = @namespace AND (updated_at, id) < (@cursor_time, @cursor_id)`
	listTail = ` ORDER BY updated_at DESC, id DESC LIMIT @limit`

	listParams = `namespace now user agent parent statuses cursor_time cursor_id limit`
)

// ListSessions returns one page of the sessions that match; see
// [sessionstore.SessionQuery]. A call reads at most q.Limit + 1,000 sessions.
func (h *handle) ListSessions(ctx context.Context, q sessionstore.SessionQuery) (sessionstore.SessionPage, error) {
	page, err := h.listSessions(ctx, q)
	if err != nil {
		return sessionstore.SessionPage{}, fmt.Errorf("postgres: list sessions: %w", err)
	}
	return page, nil
}

func (h *handle) listSessions(ctx context.Context, q sessionstore.SessionQuery) (page sessionstore.SessionPage, err error) {
	if err := h.scope.Enter(ctx); err != nil {
		return page, err
	}
	defer h.scope.Leave()
	q.UserID = h.scope.User(q.UserID)
	if q, err = q.Prepare(); err != nil {
		return page, err
	}
	at, ok, err := q.After()
	if err != nil {
		return page, err
	}
	if !ok {
		at = sessionstore.SessionKey{UpdatedAt: scope.MaxTime.Add(time.Second)}
	}
	w := &walk{h: h, q: q, now: h.clock(), at: at, page: sessionstore.SessionPage{Sessions: []sessionstore.Session{}}}
	// Most often nothing is passed over, and the first step is the only one.
	for step := q.Limit + 1; !w.done; step = min(4*step, q.Limit+1+maxSkipped) {
		err := retry(ctx, func() error { return w.take(ctx, step) })
		if err != nil {
			return page, err
		}
	}
	return w.page, nil
}

// walk is one call of ListSessions.
type walk struct {
	h       *handle
	q       sessionstore.SessionQuery
	now     time.Time
	at      sessionstore.SessionKey // of the session that was met last
	skipped int
	page    sessionstore.SessionPage
	done    bool
}

// take meets the next sessions, at most step of them.
func (w *walk) take(ctx context.Context, step int) error {
	text := w.h.sql.list
	switch { // a parent has fewer sessions than a user
	case w.q.ParentID != "":
		text = w.h.sql.listParent
	case w.q.UserID != "":
		text = w.h.sql.listUser
	}
	statuses := make([]string, len(w.q.Statuses))
	for i, s := range w.q.Statuses {
		statuses[i] = string(s)
	}
	rows, err := w.h.pool.Query(ctx, text, w.h.namespace, w.now, w.q.UserID, w.q.AgentName, w.q.ParentID, statuses,
		w.at.UpdatedAt, w.at.ID, step)
	if err != nil {
		return err
	}
	defer rows.Close()
	next, met := *w, 0 // kept only if the whole step succeeds: it may be taken again
	for rows.Next() {
		if met++; next.full() {
			next.page.Next, next.done = next.at.Cursor(), true
			break
		}
		var r row
		var id string
		if err := rows.Scan(&id, &r.updatedAt, &r.body, &r.format, &r.userID, &r.status, &r.ttl, &r.forkSeq,
			&r.expiresAt, &r.lastSeq, &r.count, &r.version); err != nil {
			return err
		}
		next.at = sessionstore.SessionKey{UpdatedAt: r.updatedAt.UTC(), ID: id}
		if err := next.meet(&r); err != nil {
			return fmt.Errorf("session %q: %w", id, err)
		}
	}
	rows.Close()
	if err := rows.Err(); err != nil {
		return err
	}
	if met < step {
		next.done = true // the end of the index
	}
	*w = next
	return nil
}

// full reports whether the next session belongs to the next page.
func (w *walk) full() bool { return len(w.page.Sessions) == w.q.Limit || w.skipped == maxSkipped }

// meet takes the session into the page, or passes over it.
func (w *walk) meet(r *row) error {
	if r.body == nil {
		w.skipped++
		return nil
	}
	s, err := r.session()
	if err != nil {
		return err
	}
	if w.q.Matches(s, w.now) {
		w.page.Sessions = append(w.page.Sessions, s)
	} else {
		w.skipped++
	}
	return nil
}
