package postgres

import (
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/sessionstore/sessionstore"
)

// recordFormat is the version of what a session's and a message's body hold. A session
// of a higher one is refused, and never written to.
const (
	recordFormat     = 1
	recordFormatText = "1"
)

// errDamaged is for data that no version of this package has written.
var errDamaged = errors.New("the record is damaged")

// sessionColumns are what row scans. The body says the rest; where both have a field,
// the column holds.
const sessionColumns = `format, body, user_id, status, ttl, fork_seq, updated_at, expires_at, last_seq, message_count, version`

// row is a session as it is stored.
type row struct {
	format    int16
	body      []byte
	userID    string
	status    string
	ttl       int64
	forkSeq   int64
	updatedAt time.Time
	expiresAt *time.Time
	lastSeq   int64
	count     int64
	version   int64
}

// targets are what the sessionColumns are scanned into.
func (r *row) targets(more ...any) []any {
	return append([]any{
		&r.format, &r.body, &r.userID, &r.status, &r.ttl, &r.forkSeq, &r.updatedAt, &r.expiresAt, &r.lastSeq, &r.count, &r.version,
	}, more...)
}

func (r *row) session() (sessionstore.Session, error) {
	if r.format > recordFormat {
		return sessionstore.Session{}, fmt.Errorf("a record of format %d, this version reads up to %d: %w",
			r.format, recordFormat, sessionstore.ErrSchemaTooNew)
	}
	s, err := sessionstore.DecodeSession(r.body)
	if err != nil {
		return sessionstore.Session{}, fmt.Errorf("%w: session: %w", errDamaged, err)
	}
	s.UserID, s.Status, s.ForkSeq = r.userID, sessionstore.Status(r.status), r.forkSeq
	s.TTL = time.Duration(r.ttl) * time.Microsecond
	s.Version = r.version
	r.live(&s)
	return s, nil
}

// live sets what changes with the messages.
func (r *row) live(s *sessionstore.Session) {
	s.UpdatedAt, s.ExpiresAt = r.updatedAt.UTC(), time.Time{}
	if r.expiresAt != nil {
		s.ExpiresAt = r.expiresAt.UTC()
	}
	s.LastSeq, s.MessageCount = r.lastSeq, r.count
}

// encodeSession returns the session's body.
func encodeSession(s sessionstore.Session) (string, error) {
	s.UpdatedAt, s.ExpiresAt = time.Time{}, time.Time{}
	s.LastSeq, s.MessageCount, s.Version, s.ForkSeq = 0, 0, 0, 0
	b, err := s.AppendJSON(nil)
	return string(b), err
}

// A new session's columns, their values, and the parameters that hold these.
const (
	newSessionColumns = `namespace, id, format, user_id, agent_name, parent_id, status, ttl, updated_at, expires_at, version, body, fork_seq, last_seq, message_count`
	newSessionValues  = `@namespace, @id, ` + recordFormatText + `, @user_id, @agent_name, @parent_id, @status, @ttl, @updated_at, @expires_at, @version, @body`
	newSessionParams  = `namespace id user_id agent_name parent_id status ttl updated_at expires_at version body`
)

func (h *handle) newSessionArgs(s sessionstore.Session) ([]any, error) {
	body, err := encodeSession(s)
	if err != nil {
		return nil, err
	}
	return []any{
		h.namespace, s.ID, s.UserID, s.AgentName, s.ParentID, string(s.Status),
		s.TTL.Microseconds(), s.UpdatedAt, nullTime(s.ExpiresAt), s.Version, body,
	}, nil
}

// nullTime is null for the zero time.
func nullTime(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

func decodeMessage(body []byte, sessionID string, seq int64) (sessionstore.Message, error) {
	m, err := sessionstore.DecodeMessage(body)
	if err != nil {
		return sessionstore.Message{}, fmt.Errorf("%w: message %d: %w", errDamaged, seq, err)
	}
	m.SessionID, m.Seq = sessionID, seq
	return m, nil
}

// messageRow is a message as it is stored. The body names neither the session nor the
// place in it, so that a fork copies it as it is and the server may number it.
type messageRow struct {
	seq       int64
	id, role  string
	createdAt time.Time
	body      string
}

// rowEncoder makes rows of messages. It keeps its buffer from one to the next.
type rowEncoder struct{ buf []byte }

func (e *rowEncoder) row(m sessionstore.Message) (r messageRow, err error) {
	if e.buf == nil {
		e.buf = make([]byte, 0, 1024) // most messages fit
	}
	r = messageRow{seq: m.Seq, id: m.ID, role: string(m.Role), createdAt: m.CreatedAt}
	m.SessionID, m.Seq = "", 0
	e.buf, err = m.AppendJSON(e.buf[:0])
	r.body = string(e.buf)
	return r, err
}

// params are those of one row in a statement, without the seq.
func (r *messageRow) params() []any { return []any{r.id, r.role, r.createdAt, r.body} }

type messageRows []messageRow

func newMessageRows(msgs []sessionstore.Message) (messageRows, error) {
	rows := make(messageRows, len(msgs))
	var e rowEncoder
	for i, m := range msgs {
		var err error
		if rows[i], err = e.row(m); err != nil {
			return nil, err
		}
	}
	return rows, nil
}

// size is that of the bodies, in bytes.
func (rows messageRows) size() (n int) {
	for i := range rows {
		n += len(rows[i].body)
	}
	return n
}

// params are those of any number of rows: an array for each column.
func (rows messageRows) params() []any {
	n := len(rows)
	ids, roles, times, bodies := make([]string, n), make([]string, n), make([]time.Time, n), make([]string, n)
	for i, r := range rows {
		ids[i], roles[i], times[i], bodies[i] = r.id, r.role, r.createdAt, r.body
	}
	return []any{ids, roles, times, bodies}
}

func (rows messageRows) seqs() []int64 {
	seqs := make([]int64, len(rows))
	for i := range rows {
		seqs[i] = rows[i].seq
	}
	return seqs
}

// notFound turns the driver's word for no row into the store's.
func notFound(err error) error {
	if errors.Is(err, pgx.ErrNoRows) {
		return sessionstore.ErrSessionNotFound
	}
	return err
}
