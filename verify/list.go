package verify

import (
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/sessionstore/sessionstore"
)

// sessions walks the list and checks each session on its way.
func (c *checker) sessions() error {
	q := sessionstore.SessionQuery{UserID: c.opt.UserID, Limit: c.opt.PageSize}
	for {
		page, err := c.page(q)
		if err != nil {
			return err
		}
		for _, s := range page.Sessions {
			if err := c.session(s); err != nil {
				return fmt.Errorf("session %q: %w", s.ID, err)
			}
		}
		if page.Next == "" {
			return nil
		}
		if page.Next == q.Cursor {
			c.problem("", found("list.page", "", "the cursor %q leads to itself", q.Cursor))
			return nil
		}
		q.Cursor = page.Next
	}
}

// page reads one page of the list and checks the page itself.
func (c *checker) page(q sessionstore.SessionQuery) (sessionstore.SessionPage, error) {
	var page sessionstore.SessionPage
	err := c.settle("", func() ([]finding, error) {
		var err error
		if page, err = c.store.ListSessions(c.ctx, q); err != nil {
			return nil, fmt.Errorf("list after cursor %q: %w", q.Cursor, err)
		}
		return inspectPage(q, page), nil
	})
	return page, err
}

// inspectPage checks what a page of a list must be, whatever the store holds.
func inspectPage(q sessionstore.SessionQuery, page sessionstore.SessionPage) []finding {
	var out []finding
	if page.Sessions == nil {
		out = append(out, found("same", "nil page", "a page's Sessions is nil, not an empty slice"))
	}
	if len(page.Sessions) > q.Limit {
		out = append(out, found("list.page", "limit", "a page of %d sessions for the limit %d", len(page.Sessions), q.Limit))
	}
	above, bounded, err := q.After()
	if err != nil {
		out = append(out, found("list.page", q.Cursor, "the store's own cursor %q is invalid: %v", q.Cursor, err))
	}
	for _, s := range page.Sessions {
		k := s.Key()
		if bounded && k.Compare(above) >= 0 {
			out = append(out, found("list.order", "order "+k.String(),
				"%q of %v is listed after %q of %v", s.ID, k.UpdatedAt, above.ID, above.UpdatedAt))
		}
		above, bounded = k, true
		if q.UserID != "" && q.UserID != s.UserID || q.ParentID != "" && q.ParentID != s.ParentID {
			out = append(out, found("list.order", "filter "+s.ID,
				"%q of user %q and parent %q is in the list of user %q and parent %q", s.ID, s.UserID, s.ParentID, q.UserID, q.ParentID))
		}
	}
	return out
}

// session checks one session that a list showed.
func (c *checker) session(listed sessionstore.Session) error {
	id := listed.ID
	c.report.Sessions++
	gone := false
	err := c.settle(id, func() ([]finding, error) {
		gone = false
		got, err := c.store.GetSession(c.ctx, id)
		switch {
		case err == nil && reflect.DeepEqual(got, listed):
			return inspectSession(got), nil
		case err != nil && !errors.Is(err, sessionstore.ErrSessionNotFound):
			if unreadable(err) {
				gone = true
				return []finding{found("same", "get", "it cannot be read: %v", err)}, nil
			}
			return nil, err
		}
		// The list and Get differ: that is a fault only if the list, asked again, still
		// shows what it showed.
		again, ok, lerr := c.seek(sessionstore.SessionQuery{UserID: c.opt.UserID}, listed)
		if lerr != nil {
			return nil, lerr
		}
		if err != nil {
			if gone = true; !ok {
				return nil, nil
			}
			return []finding{found("list.order", "ghost", "it is listed, but Get says: %v", err)}, nil
		}
		if ok && reflect.DeepEqual(again, listed) {
			return []finding{found("list.order", "stale", "the list shows %s, Get %s", sketch(listed), sketch(got))}, nil
		}
		listed = got
		return inspectSession(got), nil
	})
	if err != nil || gone {
		return err
	}
	if err := c.indexes(id); err != nil {
		return err
	}
	return c.history(id)
}

// indexes checks that the session is found by each filter that must find it.
func (c *checker) indexes(id string) error {
	return c.settle(id, func() ([]finding, error) {
		s, err := c.store.GetSession(c.ctx, id)
		if err != nil {
			if errors.Is(err, sessionstore.ErrSessionNotFound) || unreadable(err) {
				return nil, nil // gone meanwhile, or reported already
			}
			return nil, err
		}
		if len(inspectSession(s)) > 0 {
			return nil, nil // reported already, and no query takes a field that is not valid
		}
		queries := []sessionstore.SessionQuery{
			{UserID: c.opt.UserID},
			{UserID: s.UserID, AgentName: s.AgentName, Statuses: []sessionstore.Status{s.Status}},
		}
		if s.ParentID != "" {
			queries = append(queries, sessionstore.SessionQuery{ParentID: s.ParentID})
		}
		var out []finding
		for _, q := range queries {
			got, ok, err := c.seek(q, s)
			if err != nil {
				return nil, err
			}
			what := fmt.Sprintf("user %q, agent %q, parent %q, statuses %v", q.UserID, q.AgentName, q.ParentID, q.Statuses)
			if !ok {
				out = append(out, found("list.order", "missing "+s.Key().String()+what, "it is not at its place in the list of %s", what))
			} else if !reflect.DeepEqual(got, s) {
				out = append(out, found("list.order", "stale "+s.Key().String()+what, "the list of %s shows %s, Get %s", what, sketch(got), sketch(s)))
			}
		}
		return out, nil
	})
}

// seek looks for s where its key belongs in the list of q.
func (c *checker) seek(q sessionstore.SessionQuery, s sessionstore.Session) (sessionstore.Session, bool, error) {
	place := s.Key()
	q.Limit, q.Cursor = 2, justAbove(place).Cursor()
	for {
		page, err := c.store.ListSessions(c.ctx, q)
		if err != nil {
			return sessionstore.Session{}, false, fmt.Errorf("list after cursor %q: %w", q.Cursor, err)
		}
		for _, got := range page.Sessions {
			if got.ID == s.ID {
				return got, true, nil
			}
			if got.Key().Compare(place) < 0 {
				return sessionstore.Session{}, false, nil
			}
		}
		if page.Next == "" || page.Next == q.Cursor {
			return sessionstore.Session{}, false, nil
		}
		if k, err := sessionstore.ParseCursor(page.Next); err == nil && k.Compare(place) < 0 {
			return sessionstore.Session{}, false, nil
		}
		q.Cursor, q.Limit = page.Next, c.opt.PageSize
	}
}

// justAbove returns a key whose successor in the list is k: no id lies between an id and
// the same with a space behind it, since control characters are not allowed. Where no
// room is left for the space, it is one of the keys above.
func justAbove(k sessionstore.SessionKey) sessionstore.SessionKey {
	if len(k.ID) < sessionstore.MaxIDBytes {
		k.ID += " "
		return k
	}
	k.ID = greatestID
	return k
}

// greatestID is the last of all ids by its bytes.
var greatestID = strings.Repeat("\U0010FFFF", 63) + "\uFFFF"

// sketch shows what of a session concurrent writes move.
func sketch(s sessionstore.Session) string {
	return fmt.Sprintf("status %s, version %d, last_seq %d, message_count %d, updated_at %v", s.Status, s.Version, s.LastSeq, s.MessageCount, s.UpdatedAt)
}
