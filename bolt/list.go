package bolt

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"go.etcd.io/bbolt"

	"github.com/sessionstore/sessionstore"
)

// maxSkipped is how many sessions one call of ListSessions passes over, because they
// have expired or do not match, before it ends the page short.
const maxSkipped = 1000

// ListSessions returns one page of the sessions that match; see
// [sessionstore.SessionQuery]. A call reads at most q.Limit + 1,000 sessions.
func (h *handle) ListSessions(ctx context.Context, q sessionstore.SessionQuery) (sessionstore.SessionPage, error) {
	page, err := h.listSessions(ctx, q)
	if err != nil {
		return sessionstore.SessionPage{}, fmt.Errorf("bolt: list sessions: %w", err)
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
	prefix, start, err := listRange(q)
	if err != nil {
		return page, err
	}
	err = h.read(func(sp *space, now time.Time) error {
		page = sessionstore.SessionPage{Sessions: []sessionstore.Session{}}
		if sp.index == nil {
			return nil
		}
		c := sp.index.Cursor()
		for skipped, key := 0, before(c, start); bytes.HasPrefix(key, prefix); {
			id := key[len(prefix)+microsecondsLen:]
			e, ok, err := sp.findKey(id)
			if err != nil {
				return fmt.Errorf("session %q: %w", id, err)
			}
			if !ok {
				return fmt.Errorf("index entry without its session %q: %w", id, errDamaged)
			}
			if q.Matches(e.session, now) {
				page.Sessions = append(page.Sessions, e.session)
			} else {
				skipped++
			}
			key, _ = c.Prev()
			if len(page.Sessions) == q.Limit || skipped == maxSkipped {
				if bytes.HasPrefix(key, prefix) {
					page.Next = e.session.Key().Cursor()
				}
				return nil
			}
		}
		return nil
	})
	return page, err
}

// listRange returns the prefix of the index keys that the query walks down, and the key
// that the walk starts below. A parent has fewer sessions than a user.
func listRange(q sessionstore.SessionQuery) (prefix, start []byte, err error) {
	switch {
	case q.ParentID != "":
		prefix = ownedPrefix(byParent, q.ParentID)
	case q.UserID != "":
		prefix = ownedPrefix(byUser, q.UserID)
	default:
		prefix = []byte{byTime}
	}
	k, ok, err := q.After()
	if err != nil {
		return nil, nil, err
	}
	if !ok {
		return prefix, after(prefix), nil
	}
	start = append(prefix[:len(prefix):len(prefix)], appendTime(nil, k.UpdatedAt)...)
	return prefix, append(start, k.ID...), nil
}

// before moves the cursor to the last key that is less than start.
func before(c *bbolt.Cursor, start []byte) []byte {
	key, _ := c.Seek(start)
	if key == nil {
		key, _ = c.Last()
	} else {
		key, _ = c.Prev()
	}
	return key
}
