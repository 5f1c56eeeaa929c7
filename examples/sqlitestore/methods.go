package sqlitestore

import (
	"context"
	"encoding/json"
	"math"
	"slices"
	"time"

	"github.com/sessionstore/sessionstore"
)

// The powers where SQL does better than package sessionstore can through the interface.
var (
	_ sessionstore.SessionStore = (*Store)(nil)
	_ sessionstore.Forker       = (*Store)(nil)
	_ sessionstore.Purger       = (*Store)(nil)
)

// CreateSession stores a new session.
func (s *Store) CreateSession(ctx context.Context, in sessionstore.Session) (sessionstore.Session, error) {
	// Create is called twice: here it judges and copies the input, which may run code of the
	// caller (a MarshalJSON in the metadata), and in the step it sets the time.
	judged, bad := in.Create(time.Time{})
	judged.CreatedAt = in.CreatedAt
	return run(ctx, s, s.writer, "create", bad, func(tx *step) (sessionstore.Session, error) {
		out, err := judged.Create(tx.now)
		if err == nil {
			_, err = tx.insert(out)
		}
		return out, err
	})
}

// GetSession returns a session.
func (s *Store) GetSession(ctx context.Context, id string) (sessionstore.Session, error) {
	return runOn(ctx, s, s.reader, "get", id, nil, func(_ *step, in row) (sessionstore.Session, error) {
		return in.Session, nil
	})
}

// UpdateSession changes a session's own state.
func (s *Store) UpdateSession(ctx context.Context, id string, u sessionstore.SessionUpdate) (sessionstore.Session, error) {
	u, bad := u.Prepare()
	return runOn(ctx, s, s.writer, "update", id, bad, func(tx *step, in row) (sessionstore.Session, error) {
		out, err := u.Apply(in.Session, tx.now)
		if err == nil {
			err = tx.save(in.num, out)
		}
		return out, err
	})
}

// DeleteSession removes a session; the schema sees to its messages.
func (s *Store) DeleteSession(ctx context.Context, id string) error {
	_, err := runOn(ctx, s, s.writer, "delete", id, nil, func(tx *step, in row) (int64, error) {
		return tx.exec(`DELETE FROM sessions WHERE num = ?`, in.num), nil
	})
	return err
}

// maxSkipped is how many sessions a call of ListSessions passes over, because they have
// expired or do not match, before it ends the page short.
const maxSkipped = 1000

// ListSessions walks down the index of the parent, of the user, or of all sessions.
func (s *Store) ListSessions(ctx context.Context, q sessionstore.SessionQuery) (sessionstore.SessionPage, error) {
	q, bad := q.Prepare()
	return run(ctx, s, s.reader, "list sessions", bad, func(tx *step) (sessionstore.SessionPage, error) {
		where, args := `namespace = ?`, []any{tx.namespace}
		if q.ParentID != "" { // a parent has fewer sessions than a user
			where, args = where+` AND parent_id = ?`, append(args, q.ParentID)
		} else if q.UserID != "" {
			where, args = where+` AND user_id = ?`, append(args, q.UserID)
		}
		if after, ok, _ := q.After(); ok { // Prepare has judged it
			where, args = where+` AND list_key < ?`, append(args, after.String())
		}
		page := sessionstore.SessionPage{Sessions: []sessionstore.Session{}}
		var last sessionstore.SessionKey
		skipped := 0
		for _, record := range tx.query(`SELECT num, record FROM sessions WHERE `+where+` ORDER BY list_key DESC`, args...) {
			if len(page.Sessions) == q.Limit || skipped == maxSkipped {
				page.Next = last.Cursor()
				break
			}
			found, err := sessionstore.DecodeSession(record)
			if err != nil {
				return page, err
			}
			if last = found.Key(); q.Matches(found, tx.now) {
				page.Sessions = append(page.Sessions, found)
			} else {
				skipped++
			}
		}
		return page, nil
	})
}

// AppendMessages adds a batch at the end of a history.
func (s *Store) AppendMessages(ctx context.Context, id string, a sessionstore.Append) ([]sessionstore.Message, error) {
	a, bad := a.Prepare(id)
	return runOn(ctx, s, s.writer, "append to", id, bad, func(tx *step, in row) ([]sessionstore.Message, error) {
		ids := make([]string, len(a.Messages))
		for i, m := range a.Messages {
			ids[i] = m.ID
		}
		list, _ := json.Marshal(ids) // strings always marshal
		// Messages beyond the bytes of a page are left out. Repeat then says that they
		// differ, and is right: a batch cannot hold so much.
		stored, _, err := tx.messages(id, len(ids), `SELECT seq, record FROM messages
			WHERE session = ? AND id IN (SELECT value FROM json_each(?))`, in.num, string(list))
		if err != nil {
			return nil, err
		}
		if repeat, err := a.Repeat(stored); repeat != nil || err != nil {
			return repeat, err
		}
		after, out, err := a.Apply(in.Session, tx.now)
		if err != nil || len(out) == 0 {
			return out, err
		}
		for _, m := range out {
			m.SessionID = ""
			record, err := m.AppendJSON(nil)
			if err != nil {
				return nil, err
			}
			tx.exec(`INSERT INTO messages (session, seq, id, record) VALUES (?, ?, ?, ?)`, in.num, m.Seq, m.ID, record)
		}
		return out, tx.save(in.num, after)
	})
}

// ListMessages returns one page of a history.
func (s *Store) ListMessages(ctx context.Context, id string, q sessionstore.MessageQuery) (sessionstore.MessagePage, error) {
	q, bad := q.Prepare()
	return runOn(ctx, s, s.reader, "list messages of", id, bad, func(tx *step, in row) (sessionstore.MessagePage, error) {
		through, order := int64(math.MaxInt64), `ASC`
		if q.BeforeSeq > 0 {
			through = q.BeforeSeq - 1
		}
		if q.Newest {
			order = `DESC`
		}
		found, more, err := tx.messages(id, q.Limit, `SELECT seq, record FROM messages
			WHERE session = ? AND seq > ? AND seq <= ? ORDER BY seq `+order, in.num, q.AfterSeq, through)
		if q.Newest {
			slices.Reverse(found)
		}
		fit := sessionstore.FitPage(found, q.Newest)
		page := sessionstore.MessagePage{Session: in.Session, Messages: found[:fit], HasMore: more || fit < len(found)}
		if q.Newest {
			page.Messages = found[len(found)-fit:]
		}
		return page, err
	})
}

// messages returns at most limit messages of a query, and not many more bytes than a page
// may have. A record is shorter than the JSON that FitPage counts: it has the last word.
func (tx *step) messages(id string, limit int, query string, args ...any) (found []sessionstore.Message, more bool, err error) {
	found = []sessionstore.Message{}
	bytes := 0
	for _, record := range tx.query(query, args...) {
		if len(found) == limit || bytes > sessionstore.MaxPageBytes {
			return found, true, nil
		}
		m, err := sessionstore.DecodeMessage(record)
		if err != nil {
			return nil, false, err
		}
		m.SessionID = id
		found, bytes = append(found, m), bytes+len(record)
	}
	return found, false, nil
}

// TruncateMessages removes the newest messages, before it knows whether it may: so it
// knows how many there were. A refusal brings them back with the transaction.
func (s *Store) TruncateMessages(ctx context.Context, id string, t sessionstore.Truncate) (sessionstore.Session, error) {
	t, bad := t.Prepare()
	return runOn(ctx, s, s.writer, "truncate", id, bad, func(tx *step, in row) (sessionstore.Session, error) {
		removed := tx.exec(`DELETE FROM messages WHERE session = ? AND seq > ?`, in.num, t.ThroughSeq)
		out, err := t.Apply(in.Session, in.MessageCount-removed, tx.now)
		if err == nil {
			err = tx.save(in.num, out)
		}
		return out, err
	})
}

// ForkSession makes a new session with another's history, which stays in the database.
func (s *Store) ForkSession(ctx context.Context, id string, f sessionstore.Fork) (sessionstore.Session, error) {
	f, bad := f.Prepare()
	return runOn(ctx, s, s.writer, "fork", id, bad, func(tx *step, in row) (sessionstore.Session, error) {
		at, count := in.LastSeq, in.MessageCount
		if f.AtSeq != nil {
			at = *f.AtSeq
			for n := range tx.query(`SELECT count(*), NULL FROM messages WHERE session = ? AND seq <= ?`, in.num, at) {
				count = n
			}
		}
		child, err := f.Apply(in.Session, count, tx.now)
		if err != nil {
			return child, err
		}
		num, err := tx.insert(child)
		tx.exec(`INSERT INTO messages (session, seq, id, record)
			SELECT ?, seq, id, record FROM messages WHERE session = ? AND seq <= ?`, num, in.num, at)
		return child, err
	})
}

// PurgeExpired removes up to limit expired sessions (0: 1,000) and returns how many. A
// crash leaves nothing to remove, because every write is one transaction.
func (s *Store) PurgeExpired(ctx context.Context, limit int) (int, error) {
	var bad error
	if limit < 0 {
		bad = &sessionstore.InvalidError{Field: "limit", Reason: "must not be negative"}
	} else if limit == 0 {
		limit = sessionstore.DefaultPurge
	}
	return run(ctx, s, s.writer, "purge", bad, func(tx *step) (int, error) {
		return int(tx.exec(`DELETE FROM sessions WHERE num IN (SELECT num FROM sessions
			WHERE namespace = ? AND expires_at <= ? ORDER BY expires_at LIMIT ?)`, tx.namespace, tx.now.UnixMicro(), limit)), nil
	})
}
