package sqlitestore

import (
	"cmp"
	"context"
	"encoding/json"
	"math"
	"slices"

	"github.com/sessionstore/sessionstore"
)

// CreateSession stores a new session.
func (s *Store) CreateSession(ctx context.Context, in sessionstore.Session) (sessionstore.Session, error) {
	in, bad := in.Prepare()
	return run(ctx, s, s.writer, "create", bad, func(tx *step) (sessionstore.Session, error) {
		return tx.insert(in.Create(tx.now))
	})
}

// GetSession returns a session.
func (s *Store) GetSession(ctx context.Context, id string) (sessionstore.Session, error) {
	return runOn(ctx, s, s.reader, "get", id, nil, func(_ *step, in sessionstore.Session) (sessionstore.Session, error) {
		return in, nil
	})
}

// UpdateSession changes a session's own state.
func (s *Store) UpdateSession(ctx context.Context, id string, u sessionstore.SessionUpdate) (sessionstore.Session, error) {
	u, bad := u.Prepare()
	return runOn(ctx, s, s.writer, "update", id, bad, func(tx *step, in sessionstore.Session) (sessionstore.Session, error) {
		return tx.save(u.Apply(in, tx.now))
	})
}

// DeleteSession removes a session; the schema sees to its messages.
func (s *Store) DeleteSession(ctx context.Context, id string) error {
	_, err := runOn(ctx, s, s.writer, "delete", id, nil, func(tx *step, in sessionstore.Session) (int64, error) {
		return tx.exec(`DELETE FROM sessions WHERE num = ?`, tx.num), nil
	})
	return err
}

// ListSessions walks down the index of the parent, of the user, or of all sessions, and
// past at most MaxSessions that have expired or do not match.
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
		last, skipped := sessionstore.SessionKey{}, 0
		for _, found := range query(tx, sessionstore.DecodeSession, `SELECT num, record FROM sessions WHERE `+where+` ORDER BY list_key DESC`, args...) {
			if len(page.Sessions) == q.Limit || skipped == sessionstore.MaxSessions {
				page.Next = last.Cursor()
				break
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
	return runOn(ctx, s, s.writer, "append to", id, bad, func(tx *step, in sessionstore.Session) ([]sessionstore.Message, error) {
		ids := make([]string, len(a.Messages))
		for i, m := range a.Messages {
			ids[i] = m.ID
		}
		list, _ := json.Marshal(ids) // strings always marshal
		// Messages beyond the bytes of a page are left out. Repeat then says that they
		// differ, and is right: a batch cannot hold so much.
		stored, _ := tx.messages(id, len(ids), `SELECT length(record), record FROM messages
			WHERE session = ? AND id IN (SELECT value FROM json_each(?))`, tx.num, string(list))
		if repeat, err := a.Repeat(stored); repeat != nil || err != nil {
			return repeat, err
		}
		after, out, err := a.Apply(in, tx.now)
		if err != nil || len(out) == 0 {
			return out, err
		}
		for _, m := range out {
			m.SessionID = ""
			record, err := m.AppendJSON(nil)
			tx.err = cmp.Or(tx.err, err)
			tx.exec(`INSERT INTO messages (session, seq, id, record) VALUES (?, ?, ?, ?)`, tx.num, m.Seq, m.ID, record)
		}
		_, err = tx.save(after, nil)
		return out, err
	})
}

// ListMessages returns one page of a history.
func (s *Store) ListMessages(ctx context.Context, id string, q sessionstore.MessageQuery) (sessionstore.MessagePage, error) {
	q, bad := q.Prepare()
	return runOn(ctx, s, s.reader, "list messages of", id, bad, func(tx *step, in sessionstore.Session) (sessionstore.MessagePage, error) {
		order := map[bool]string{false: `ASC`, true: `DESC`}[q.Newest]
		found, more := tx.messages(id, q.Limit, `SELECT length(record), record FROM messages
			WHERE session = ? AND seq > ? AND seq < ? ORDER BY seq `+order, tx.num, q.AfterSeq, cmp.Or(q.BeforeSeq, math.MaxInt64))
		if q.Newest {
			slices.Reverse(found)
		}
		return sessionstore.MessagePage{Session: in, Messages: found, HasMore: more}, nil
	})
}

// messages returns what a query finds: at most limit messages, and a page's bytes. Those
// are counted twice: by records, which are a little short, to stop reading, and exactly.
func (tx *step) messages(id string, limit int, sql string, args ...any) (found []sessionstore.Message, more bool) {
	found, bytes := []sessionstore.Message{}, int64(0)
	for size, m := range query(tx, sessionstore.DecodeMessage, sql, args...) {
		if more = len(found) == limit || bytes > sessionstore.MaxPageBytes; more {
			break
		}
		m.SessionID = id
		found, bytes = append(found, m), bytes+size
	}
	fit := sessionstore.FitPage(found, false) // the query's order is that of the walk
	return found[:fit], more || fit < len(found)
}

// TruncateMessages removes the newest messages, before it knows whether it may: so it
// knows how many there were. A refusal brings them back with the transaction.
func (s *Store) TruncateMessages(ctx context.Context, id string, t sessionstore.Truncate) (sessionstore.Session, error) {
	t, bad := t.Prepare()
	return runOn(ctx, s, s.writer, "truncate", id, bad, func(tx *step, in sessionstore.Session) (sessionstore.Session, error) {
		removed := tx.exec(`DELETE FROM messages WHERE session = ? AND seq > ?`, tx.num, t.ThroughSeq)
		return tx.save(t.Apply(in, in.MessageCount-removed, tx.now))
	})
}

// ForkSession makes a new session with another's history, which stays in the database.
func (s *Store) ForkSession(ctx context.Context, id string, f sessionstore.Fork) (sessionstore.Session, error) {
	f, bad := f.Prepare()
	return runOn(ctx, s, s.writer, "fork", id, bad, func(tx *step, in sessionstore.Session) (sessionstore.Session, error) {
		from, at := tx.num, in.LastSeq
		if f.AtSeq != nil {
			at = *f.AtSeq
		}
		count := tx.number(`SELECT count(*) FROM messages WHERE session = ? AND seq <= ?`, from, at)
		child, err := tx.insert(f.Apply(in, count, tx.now))
		if err == nil {
			tx.exec(`INSERT INTO messages (session, seq, id, record)
				SELECT ?, seq, id, record FROM messages WHERE session = ? AND seq <= ?`, tx.num, from, at)
		}
		return child, err
	})
}

// PurgeExpired removes up to limit expired sessions (0: 1,000) and returns how many. A
// crash leaves nothing to remove, because every write is one transaction.
func (s *Store) PurgeExpired(ctx context.Context, limit int) (int, error) {
	var bad error
	if limit = cmp.Or(limit, sessionstore.DefaultPurge); limit < 0 {
		bad = &sessionstore.InvalidError{Field: "limit", Reason: "must not be negative"}
	}
	return run(ctx, s, s.writer, "purge", bad, func(tx *step) (int, error) {
		return int(tx.exec(`DELETE FROM sessions WHERE num IN (SELECT num FROM sessions
			WHERE namespace = ? AND expires_at <= ? ORDER BY expires_at LIMIT ?)`, tx.namespace, tx.now.UnixMicro(), limit)), nil
	})
}
