package postgres

import (
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/sessionstore/sessionstore"
)

// A page is one statement, so that the session and the messages are those of one moment:
// a row of the session, and then a row for each message, which has nothing but seq and
// body. The window stops the page near its limit of bytes, without fetching what is
// beyond: octet_length does not read a value that lies out of line.
const (
	oldest = pageHead + `ORDER BY seq LIMIT @limit` + pageMiddle + `ORDER BY seq` + pageTail
	newest = pageHead + `ORDER BY seq DESC LIMIT @limit` + pageMiddle + `ORDER BY seq DESC` + pageTail

	pageHead = `WITH s AS (SELECT sid, ` + sessionColumns + ` FROM @sessions WHERE ` + named + ` AND ` + owned + `),
		m AS (SELECT seq, body, octet_length(body::text) AS size
			FROM @messages WHERE sid = (SELECT sid FROM s) AND seq > @after AND seq < @before `
	pageMiddle = `),
		p AS (SELECT seq, body, sum(size) OVER (`
	pageTail = ` ROWS UNBOUNDED PRECEDING) - size AS before FROM m)
		` + pageRows + `p WHERE before < @bytes`

	// pageRows are what readPage reads.
	pageRows = `SELECT ` + sessionColumns + `, NULL::bigint AS seq FROM s
		UNION ALL
		SELECT 0, body, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, seq FROM `
)

// ListMessages returns one page of a history; see [sessionstore.MessageQuery].
func (h *handle) ListMessages(ctx context.Context, id string, q sessionstore.MessageQuery) (sessionstore.MessagePage, error) {
	page, err := h.listMessages(ctx, id, q)
	if err != nil {
		return sessionstore.MessagePage{}, failed("list messages of", id, err)
	}
	return page, nil
}

func (h *handle) listMessages(ctx context.Context, id string, q sessionstore.MessageQuery) (page sessionstore.MessagePage, err error) {
	if err := h.scope.Enter(ctx); err != nil {
		return page, err
	}
	defer h.scope.Leave()
	if err := sessionstore.CheckID(id); err != nil {
		return page, err
	}
	if q, err = q.Prepare(); err != nil {
		return page, err
	}
	now := h.clock()
	err = retry(ctx, func() (err error) {
		page, err = h.page(ctx, id, q, now)
		return err
	})
	if err != nil {
		return page, err
	}
	if n := sessionstore.FitPage(page.Messages, q.Newest); n < len(page.Messages) || n > q.Limit {
		page.HasMore = true
		page.Messages = page.Messages[:min(n, q.Limit)]
	}
	if q.Newest {
		slices.Reverse(page.Messages)
	}
	return page, nil
}

// page reads one message more than the page may hold, from the end that it starts at.
func (h *handle) page(ctx context.Context, id string, q sessionstore.MessageQuery, now time.Time) (page sessionstore.MessagePage, err error) {
	text, before := h.sql.oldest, q.BeforeSeq
	if q.Newest {
		text = h.sql.newest
	}
	if before == 0 {
		before = 1<<63 - 1
	}
	rows, err := h.pool.Query(ctx, text, h.namespace, id, h.scope.Owner(), q.AfterSeq, before, q.Limit+1, sessionstore.MaxPageBytes)
	if err != nil {
		return page, err
	}
	return readPage(rows, id, now, q.Limit+1)
}

// readPage reads the rows of a session that exists at the time now, and of its messages,
// at most so many.
func readPage(rows pgx.Rows, id string, now time.Time, limit int) (page sessionstore.MessagePage, err error) {
	defer rows.Close()
	if !rows.Next() {
		if err := rows.Err(); err != nil {
			return page, err
		}
		return page, sessionstore.ErrSessionNotFound
	}
	var r row
	if err := rows.Scan(r.targets(nil)...); err != nil {
		return page, err
	}
	if page.Session, err = r.session(); err != nil {
		return page, err
	}
	if page.Session.Expired(now) {
		return page, sessionstore.ErrSessionNotFound
	}
	page.Messages = make([]sessionstore.Message, 0, min(r.count, int64(limit)))
	var seq int64
	var body pgtype.DriverBytes // what it was read from is decoded before the next row
	targets := make([]any, len(rows.FieldDescriptions()))
	targets[1], targets[len(targets)-1] = &body, &seq
	for rows.Next() {
		if err := rows.Scan(targets...); err != nil {
			return page, err
		}
		m, err := decodeMessage(body, id, seq)
		if err != nil {
			return page, err
		}
		page.Messages = append(page.Messages, m)
	}
	return page, rows.Err()
}
