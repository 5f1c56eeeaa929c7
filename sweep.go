package sessionstore

import (
	"context"
	"fmt"
	"time"
)

// maxSweepSkew is by how much the clocks of those who write to one store may differ for a
// sweep to miss nothing.
const maxSweepSkew = time.Minute

// sweep visits each session that q finds and that is there from beginning to end, once,
// whatever is written meanwhile. Visit reports whether the session still exists. The ids
// of those visited are kept in memory. Errors: visit's, the store's, and ErrConflict for
// a list that never rests.
//
// A session that is written to during the walk moves to the head of the list, perhaps
// before the walk has come to it. So the head is walked again, down to where it was before,
// until nothing new is found there by one page, which nobody can slip past, or by two
// walks.
func sweep(ctx context.Context, store SessionStore, q SessionQuery, visit func(Session) (bool, error)) error {
	q.Limit = MaxSessions
	done := make(map[string]struct{})
	var head SessionKey
	quiet := false // the walk before found nothing new
	for range maxRereads {
		bottom := head.UpdatedAt.Add(-maxSweepSkew)
		found, pages := false, 0
		head = SessionKey{}
		for q.Cursor = ""; ; {
			page, err := store.ListSessions(ctx, q)
			if err != nil {
				return err
			}
			for _, s := range page.Sessions {
				if head.ID == "" {
					head = s.Key()
				}
				if s.UpdatedAt.Before(bottom) {
					page.Next = ""
					break
				}
				if _, ok := done[s.ID]; ok {
					continue
				}
				ok, err := visit(s)
				if err != nil {
					return err
				}
				if ok {
					done[s.ID] = struct{}{}
					found = true
				}
			}
			pages++
			if page.Next == "" {
				break
			}
			// A page may hold less than was looked at.
			if k, err := ParseCursor(page.Next); err == nil && k.UpdatedAt.Before(bottom) {
				break
			}
			q.Cursor = page.Next
		}
		if !found && (pages <= 1 || quiet) {
			return nil
		}
		quiet = !found
	}
	return fmt.Errorf("list of sessions: %w", moved(maxRereads))
}

// checkChoice validates what an export or a copy is told to take: sessions by id, or those
// that a query finds, in which case the query is returned prepared.
func checkChoice(ids []string, q SessionQuery) (SessionQuery, error) {
	q, err := q.Prepare()
	switch {
	case err != nil:
		return q, err
	case q.Cursor != "":
		return q, invalid("query.cursor", "must be empty")
	case len(ids) > 0 && (q.UserID != "" || q.AgentName != "" || q.ParentID != "" || len(q.Statuses) > 0):
		return q, invalid("query", "cannot be combined with ids")
	}
	return q, nil
}
