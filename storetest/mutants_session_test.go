package storetest

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sessionstore/sessionstore"
)

// sessionMutants break the rules of sessions and lists.
var sessionMutants = []mutant{
	{"version starts at 0", "create", still(twist{create: func(o on, s session) (session, error) {
		s, err := o.CreateSession(o.ctx, s)
		s.Version = 0
		return s, err
	}})},
	{"ids made by counting", "create", func() twist {
		var mu sync.Mutex
		n := 0
		return twist{create: func(o on, s session) (session, error) {
			if s.ID == "" {
				mu.Lock()
				n++
				s.ID = fmt.Sprint(n)
				mu.Unlock()
			}
			return o.CreateSession(o.ctx, s)
		}}
	}},
	{"always created active", "create", still(twist{create: func(o on, s session) (session, error) {
		if s.Status.Valid() {
			s.Status = sessionstore.StatusActive
		}
		return o.CreateSession(o.ctx, s)
	}})},
	{"fork_seq without a parent accepted", "create", still(twist{create: func(o on, s session) (session, error) {
		if s.ParentID == "" {
			s.ForkSeq = 0
		}
		return o.CreateSession(o.ctx, s)
	}})},
	{"parent must exist", "create", still(twist{create: func(o on, s session) (session, error) {
		if s.ParentID != "" {
			if _, err := o.GetSession(o.ctx, s.ParentID); err != nil {
				return session{}, err
			}
		}
		return o.CreateSession(o.ctx, s)
	}})},
	{"create replaces", "create.exists", still(twist{create: func(o on, s session) (session, error) {
		out, err := o.CreateSession(o.ctx, s)
		if errors.Is(err, sessionstore.ErrSessionExists) && o.DeleteSession(o.ctx, s.ID) == nil {
			return o.CreateSession(o.ctx, s)
		}
		return out, err
	}})},
	{"create returns the one that is there", "create.exists", still(twist{create: func(o on, s session) (session, error) {
		out, err := o.CreateSession(o.ctx, s)
		if errors.Is(err, sessionstore.ErrSessionExists) {
			return o.GetSession(o.ctx, s.ID)
		}
		return out, err
	}})},
	{"id of an expired session stays taken", "create.exists", func() twist {
		var taken sync.Map
		return twist{
			create: func(o on, s session) (session, error) {
				if _, ok := taken.Load(o.config.Namespace + "/" + s.ID); ok && s.ID != "" {
					return session{}, sessionstore.ErrSessionExists
				}
				out, err := o.CreateSession(o.ctx, s)
				if err == nil {
					taken.Store(o.config.Namespace+"/"+out.ID, true)
				}
				return out, err
			},
			remove: func(o on, id string) error {
				err := o.DeleteSession(o.ctx, id)
				if err == nil {
					taken.Delete(o.config.Namespace + "/" + id)
				}
				return err
			},
		}
	}},
	{"ids without case", "id.any", still(twist{id: strings.ToLower})},
	{"ids trimmed", "id.any", still(twist{id: strings.TrimSpace})},
	{"control characters in ids accepted", "id.any", still(twist{id: func(id string) string { return strings.ReplaceAll(id, "\n", "?") }})},
	{"ids of 255 bytes refused", "id.any", still(twist{create: func(o on, s session) (session, error) {
		if len(s.ID) == sessionstore.MaxIDBytes {
			return session{}, &sessionstore.InvalidError{Field: "session_id", Reason: "too long"}
		}
		return o.CreateSession(o.ctx, s)
	}})},
	{"id taken for a pattern", "id.any", still(twist{remove: func(o on, id string) error {
		if prefix, ok := strings.CutSuffix(id, "*"); ok {
			p, _ := o.ListSessions(o.ctx, sessionstore.SessionQuery{})
			for _, s := range p.Sessions {
				if strings.HasPrefix(s.ID, prefix) && s.ID != id {
					_ = o.DeleteSession(o.ctx, s.ID)
				}
			}
		}
		return o.DeleteSession(o.ctx, id)
	}})},
	{"append creates", "get.missing", still(twist{append: func(o on, id string, a batch) ([]message, error) {
		out, err := o.AppendMessages(o.ctx, id, a)
		if errors.Is(err, sessionstore.ErrSessionNotFound) && len(a.Messages) > 0 {
			if _, err := o.CreateSession(o.ctx, session{ID: id}); err == nil {
				return o.AppendMessages(o.ctx, id, a)
			}
		}
		return out, err
	}})},
	{"delete of nothing succeeds", "get.missing", still(twist{remove: func(o on, id string) error {
		err := o.DeleteSession(o.ctx, id)
		if errors.Is(err, sessionstore.ErrSessionNotFound) {
			return nil
		}
		return err
	}})},
	{"history of nothing is empty", "get.missing", still(twist{messages: func(o on, id string, q sessionstore.MessageQuery) (page, error) {
		p, err := o.ListMessages(o.ctx, id, q)
		if errors.Is(err, sessionstore.ErrSessionNotFound) {
			return page{Messages: []message{}}, nil
		}
		return p, err
	}})},
	{"metadata replaced", "update.merge", still(twist{update: func(o on, id string, u update) (session, error) {
		if s, err := o.GetSession(o.ctx, id); err == nil && len(u.SetMetadata) > 0 {
			for k := range s.Metadata {
				if _, ok := u.SetMetadata[k]; !ok && !slices.Contains(u.DeleteMetadata, k) {
					u.DeleteMetadata = append(slices.Clone(u.DeleteMetadata), k)
				}
			}
		}
		return o.UpdateSession(o.ctx, id, u)
	}})},
	{"metadata merged deeply", "update.merge", still(twist{update: func(o on, id string, u update) (session, error) {
		s, err := o.GetSession(o.ctx, id)
		u.SetMetadata = u.SetMetadata.Clone()
		for k, v := range u.SetMetadata {
			old, ok1 := s.Metadata[k].(map[string]any)
			set, ok2 := v.(map[string]any)
			if err == nil && ok1 && ok2 {
				maps.Copy(old, set)
				u.SetMetadata[k] = old
			}
		}
		return o.UpdateSession(o.ctx, id, u)
	}})},
	{"nil removes the key", "update.merge", still(twist{update: func(o on, id string, u update) (session, error) {
		u.SetMetadata = u.SetMetadata.Clone()
		for k, v := range u.SetMetadata {
			if v == nil {
				delete(u.SetMetadata, k)
				u.DeleteMetadata = append(slices.Clone(u.DeleteMetadata), k)
			}
		}
		return o.UpdateSession(o.ctx, id, u)
	}})},
	{"key set and deleted accepted", "update.merge", still(twist{update: func(o on, id string, u update) (session, error) {
		u.DeleteMetadata = slices.DeleteFunc(slices.Clone(u.DeleteMetadata), func(k string) bool {
			_, ok := u.SetMetadata[k]
			return ok
		})
		return o.UpdateSession(o.ctx, id, u)
	}})},
	{"IfVersion ignored", "update.version", still(twist{update: func(o on, id string, u update) (session, error) {
		u.IfVersion = 0
		return o.UpdateSession(o.ctx, id, u)
	}})},
	{"append moves version", "update.version", still(twist{sessionOut: func(s session) session {
		s.Version += s.LastSeq
		return s
	}})},
	{"update of nothing moves UpdatedAt", "update.version", still(twist{update: func(o on, id string, u update) (session, error) {
		u.Touch = true
		return o.UpdateSession(o.ctx, id, u)
	}})},
	{"Touch moves version", "update.version", still(twist{update: func(o on, id string, u update) (session, error) {
		s, err := o.UpdateSession(o.ctx, id, u)
		if err == nil && u.Touch {
			return o.rewrite(id, func(s *session, m []message) []message { s.Version++; return m })
		}
		return s, err
	}})},
	{"closed session opened in silence", "lifecycle", still(twist{update: func(o on, id string, u update) (session, error) {
		s, err := o.UpdateSession(o.ctx, id, u)
		if errors.Is(err, sessionstore.ErrInvalidTransition) {
			return o.GetSession(o.ctx, id)
		}
		return s, err
	}})},
	{"closed session takes another agent", "lifecycle", still(twist{update: func(o on, id string, u update) (session, error) {
		s, err := o.UpdateSession(o.ctx, id, u)
		if errors.Is(err, sessionstore.ErrSessionClosed) {
			return o.GetSession(o.ctx, id)
		}
		return s, err
	}})},
	{"paused session not settable", "lifecycle", still(twist{update: func(o on, id string, u update) (session, error) {
		if s, err := o.GetSession(o.ctx, id); err == nil && s.Status == sessionstore.StatusPaused && u.System != nil {
			return session{}, sessionstore.ErrSessionPaused
		}
		return o.UpdateSession(o.ctx, id, u)
	}})},
	{"to the current state is an error", "lifecycle", still(twist{update: func(o on, id string, u update) (session, error) {
		if s, err := o.GetSession(o.ctx, id); err == nil && u.Status != nil && *u.Status == s.Status {
			return session{}, sessionstore.ErrInvalidTransition
		}
		return o.UpdateSession(o.ctx, id, u)
	}})},
	{"delete closes", "delete", still(twist{remove: func(o on, id string) error {
		_, err := o.UpdateSession(o.ctx, id, update{Status: ptr(sessionstore.StatusClosed)})
		return err
	}})},
	{"messages survive a delete", "delete", func() twist {
		var left sync.Map
		return twist{
			remove: func(o on, id string) error {
				msgs := o.all(id)
				err := o.DeleteSession(o.ctx, id)
				if err == nil && len(msgs) > 0 {
					left.Store(o.config.Namespace+"/"+id, msgs)
				}
				return err
			},
			create: func(o on, s session) (session, error) {
				out, err := o.CreateSession(o.ctx, s)
				if msgs, ok := left.LoadAndDelete(o.config.Namespace + "/" + s.ID); ok && err == nil && out.Status == sessionstore.StatusActive {
					_, err = o.AppendMessages(o.ctx, s.ID, batch{Messages: msgs.([]message)})
				}
				return out, err
			},
		}
	}},
	{"ties by id ascending", "list.order", still(twist{list: func(o on, q sessionstore.SessionQuery) (sessions, error) {
		p, err := o.ListSessions(o.ctx, q)
		slices.SortStableFunc(p.Sessions, func(a, b session) int {
			if c := b.UpdatedAt.Compare(a.UpdatedAt); c != 0 {
				return c
			}
			return strings.Compare(a.ID, b.ID)
		})
		return p, err
	}})},
	{"listed by creation", "list.order", still(twist{list: func(o on, q sessionstore.SessionQuery) (sessions, error) {
		p, err := o.ListSessions(o.ctx, q)
		slices.SortStableFunc(p.Sessions, func(a, b session) int { return b.CreatedAt.Compare(a.CreatedAt) })
		return p, err
	}})},
	{"list shows what was", "list.order", func() twist {
		var first sync.Map
		return twist{list: func(o on, q sessionstore.SessionQuery) (sessions, error) {
			p, err := o.ListSessions(o.ctx, q)
			for i, s := range p.Sessions {
				old, _ := first.LoadOrStore(o.config.Namespace+"/"+s.ID, s.MessageCount)
				p.Sessions[i].MessageCount = old.(int64)
			}
			return p, err
		}}
	}},
	{"filters combined by or", "list.order", still(twist{list: func(o on, q sessionstore.SessionQuery) (sessions, error) {
		if q.UserID != "" && q.AgentName != "" {
			q.UserID = ""
		}
		return o.ListSessions(o.ctx, q)
	}})},
	{"list reads the histories", "list.cost", still(twist{list: func(o on, q sessionstore.SessionQuery) (sessions, error) {
		p, err := o.ListSessions(o.ctx, q)
		for _, s := range p.Sessions {
			for _, m := range o.all(s.ID) {
				if _, err := m.AppendJSON(nil); err != nil {
					return p, err
				}
			}
		}
		return p, err
	}})},
	{"list walks the collection", "list.cost", still(twist{list: func(o on, q sessionstore.SessionQuery) (sessions, error) {
		for all := (sessionstore.SessionQuery{Limit: sessionstore.MaxSessions}); ; {
			p, err := o.ListSessions(o.ctx, all)
			for _, s := range p.Sessions { // a request each
				s, err := o.GetSession(o.ctx, s.ID)
				if b, jerr := s.AppendJSON(nil); err == nil && jerr == nil {
					_, err = sessionstore.DecodeSession(b)
				}
				if err != nil {
					return sessions{}, err
				}
			}
			if all.Cursor = p.Next; err != nil || p.Next == "" {
				return o.ListSessions(o.ctx, q)
			}
		}
	}})},
	{"limit ignored", "list.page", still(twist{list: func(o on, q sessionstore.SessionQuery) (sessions, error) {
		if q.Limit > 0 {
			q.Limit = max(q.Limit, 100)
		}
		return o.ListSessions(o.ctx, q)
	}})},
	{"cursor skips ties", "list.page", still(twist{list: func(o on, q sessionstore.SessionQuery) (sessions, error) {
		if k, err := sessionstore.ParseCursor(q.Cursor); err == nil {
			q.Cursor = sessionstore.SessionKey{UpdatedAt: k.UpdatedAt, ID: " "}.Cursor()
		}
		return o.ListSessions(o.ctx, q)
	}})},
	{"cursor needs its anchor", "list.page", still(twist{list: func(o on, q sessionstore.SessionQuery) (sessions, error) {
		if k, err := sessionstore.ParseCursor(q.Cursor); err == nil {
			if _, err := o.GetSession(o.ctx, k.ID); err != nil {
				return sessions{Sessions: []session{}}, nil
			}
		}
		return o.ListSessions(o.ctx, q)
	}})},
	{"any cursor accepted", "list.page", still(twist{list: func(o on, q sessionstore.SessionQuery) (sessions, error) {
		if _, err := sessionstore.ParseCursor(q.Cursor); err != nil {
			q.Cursor = ""
		}
		return o.ListSessions(o.ctx, q)
	}})},
	{"expired sessions listed", "expire", still(twist{list: func(o on, q sessionstore.SessionQuery) (sessions, error) {
		if err := o.ctx.Err(); err != nil {
			return sessions{}, err
		}
		if _, err := o.ListSessions(o.ctx, q); err != nil {
			return sessions{}, err
		}
		return o.late(time.Hour*24*365*50).ListSessions(o.ctx, q)
	}})},
	{"expired messages readable", "expire", still(twist{messages: func(o on, id string, q sessionstore.MessageQuery) (page, error) {
		p, err := o.ListMessages(o.ctx, id, q)
		if errors.Is(err, sessionstore.ErrSessionNotFound) {
			return o.late(time.Hour*24*365*50).ListMessages(o.ctx, id, q)
		}
		return p, err
	}})},
	{"alive at the moment of expiry", "expire", still(twist{get: func(o on, id string) (session, error) {
		s, err := o.GetSession(o.ctx, id)
		if errors.Is(err, sessionstore.ErrSessionNotFound) {
			return o.late(time.Microsecond).GetSession(o.ctx, id)
		}
		return s, err
	}})},
	{"reads keep alive", "expire", still(twist{get: func(o on, id string) (session, error) {
		s, err := o.GetSession(o.ctx, id)
		if err == nil && s.TTL > 0 {
			_, _ = o.UpdateSession(o.ctx, id, update{Touch: true})
		}
		return s, err
	}})},
	{"appends do not keep alive", "expire", still(twist{append: func(o on, id string, a batch) ([]message, error) {
		before, err := o.GetSession(o.ctx, id)
		if err != nil || before.TTL == 0 {
			return o.AppendMessages(o.ctx, id, a)
		}
		out, err := o.AppendMessages(o.ctx, id, a)
		if err == nil {
			_, err = o.rewrite(id, func(s *session, m []message) []message { s.UpdatedAt = before.UpdatedAt; return m })
		}
		return out, err
	}})},
	{"negative TTL is none", "expire", still(twist{create: func(o on, s session) (session, error) {
		s.TTL = max(s.TTL, 0)
		return o.CreateSession(o.ctx, s)
	}})},
	{"purge does not count", "expire", still(twist{purge: func(o on, limit int) (int, error) {
		_, err := sessionstore.PurgeExpired(o.ctx, o.SessionStore, limit)
		return 0, err
	}})},
}
