package storetest

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/sessionstore/sessionstore"
)

// messageMutants break the rules of appends and histories.
var messageMutants = []mutant{
	{"batch backwards", "append.order", still(twist{append: func(o on, id string, a batch) ([]message, error) {
		a.Messages = slices.Clone(a.Messages)
		slices.Reverse(a.Messages)
		out, err := o.AppendMessages(o.ctx, id, a)
		slices.Reverse(out)
		return out, err
	}})},
	{"seq by clock", "append.order", still(twist{append: func(o on, id string, a batch) ([]message, error) {
		s, err := o.GetSession(o.ctx, id)
		out, aerr := o.AppendMessages(o.ctx, id, a)
		if err != nil || aerr != nil || len(out) == 0 || out[0].Seq <= s.LastSeq {
			return out, aerr
		}
		step := o.config.Now().UnixMicro() - s.LastSeq
		_, err = o.rewrite(id, func(s *session, msgs []message) []message {
			s.LastSeq += step
			for i := range msgs {
				if msgs[i].Seq >= out[0].Seq {
					msgs[i].Seq += step
				}
			}
			return msgs
		})
		for i := range out {
			out[i].Seq += step
		}
		return out, err
	}})},
	{"seq used again after a truncate", "append.order", still(twist{truncate: func(o on, id string, t cut) (session, error) {
		s, err := o.TruncateMessages(o.ctx, id, t)
		if err != nil || s.LastSeq <= t.ThroughSeq {
			return s, err
		}
		return o.rewrite(id, func(s *session, m []message) []message { s.LastSeq = t.ThroughSeq; return m })
	}})},
	{"UpdatedAt moves back", "append.order", still(twist{append: func(o on, id string, a batch) ([]message, error) {
		out, err := o.AppendMessages(o.ctx, id, a)
		if now := o.config.Now().UTC().Truncate(time.Microsecond); err == nil && len(out) > 0 && out[0].CreatedAt.Equal(now) {
			_, err = o.rewrite(id, func(s *session, m []message) []message { s.UpdatedAt = now; return m })
		}
		return out, err
	}})},
	{"batch written one by one", "append.atomic", still(twist{append: func(o on, id string, a batch) ([]message, error) {
		if _, err := a.Prepare(id); err != nil || len(a.Messages) < 2 {
			return o.AppendMessages(o.ctx, id, a)
		}
		var out []message
		for i := range a.Messages {
			m, err := o.AppendMessages(o.ctx, id, batch{Messages: a.Messages[i : i+1], IfLastSeq: a.IfLastSeq})
			if err != nil {
				return nil, err
			}
			out, a.IfLastSeq = append(out, m...), nil
			runtime.Gosched()
		}
		return out, nil
	}})},
	{"counters follow later", "append.atomic", func() twist {
		var last sync.Map
		return twist{messages: func(o on, id string, q sessionstore.MessageQuery) (page, error) {
			p, err := o.ListMessages(o.ctx, id, q)
			if err == nil {
				old, _ := last.Swap(o.config.Namespace+"/"+id, p.Session.MessageCount)
				if n, ok := old.(int64); ok {
					p.Session.MessageCount = n
				}
			}
			return p, err
		}}
	}},
	{"append by read, modify, write", "append.concurrent", still(twist{append: func(o on, id string, a batch) ([]message, error) {
		if s, err := o.GetSession(o.ctx, id); err == nil && a.IfLastSeq == nil {
			a.IfLastSeq = &s.LastSeq
			for range 8 {
				runtime.Gosched()
			}
		}
		return o.AppendMessages(o.ctx, id, a)
	}})},
	{"reads from a replica that lags", "append.concurrent", func() twist {
		var last sync.Map
		return twist{messages: func(o on, id string, q sessionstore.MessageQuery) (page, error) {
			p, err := o.ListMessages(o.ctx, id, q)
			if err != nil || q.Newest {
				return p, err
			}
			key := fmt.Sprint(o.config.Namespace, "/", id, "/", q.AfterSeq, "/", q.BeforeSeq)
			if old, ok := last.Swap(key, p); ok {
				return old.(page), nil
			}
			return p, err
		}}
	}},
	{"other content under a known id accepted", "append.idempotent", still(twist{append: func(o on, id string, a batch) ([]message, error) {
		out, err := o.AppendMessages(o.ctx, id, a)
		if errors.Is(err, sessionstore.ErrMessageExists) {
			p, err := a.Prepare(id)
			return p.Messages, err
		}
		return out, err
	}})},
	{"repeat appended again", "append.idempotent", still(twist{append: func(o on, id string, a batch) ([]message, error) {
		known := map[string]bool{}
		for _, m := range o.all(id) {
			known[m.ID] = true
		}
		a.Messages = slices.Clone(a.Messages)
		for i, m := range a.Messages {
			if known[m.ID] {
				a.Messages[i].ID = m.ID + "'"
			}
		}
		return o.AppendMessages(o.ctx, id, a)
	}})},
	{"a time of its own is content", "append.idempotent", still(twist{append: func(o on, id string, a batch) ([]message, error) {
		out, err := o.AppendMessages(o.ctx, id, a)
		for i, m := range out {
			if at := a.Messages[i].CreatedAt; !at.IsZero() && !at.UTC().Truncate(time.Microsecond).Equal(m.CreatedAt) {
				return nil, sessionstore.ErrMessageExists
			}
		}
		return out, err
	}})},
	{"an id twice in a batch is one", "append.idempotent", still(twist{append: func(o on, id string, a batch) ([]message, error) {
		seen := map[string]bool{}
		a.Messages = slices.DeleteFunc(slices.Clone(a.Messages), func(m message) bool {
			again := m.ID != "" && seen[m.ID]
			seen[m.ID] = true
			return again
		})
		return o.AppendMessages(o.ctx, id, a)
	}})},
	{"foreign session id overwritten", "append.idempotent", still(twist{append: func(o on, id string, a batch) ([]message, error) {
		a.Messages = slices.Clone(a.Messages)
		for i := range a.Messages {
			a.Messages[i].SessionID = ""
		}
		return o.AppendMessages(o.ctx, id, a)
	}})},
	{"truncated ids stay taken", "append.idempotent", func() twist {
		var gone sync.Map
		return twist{
			truncate: func(o on, id string, t cut) (session, error) {
				before := o.all(id)
				s, err := o.TruncateMessages(o.ctx, id, t)
				for _, m := range before {
					if err == nil && m.Seq > t.ThroughSeq {
						gone.Store(o.config.Namespace+"/"+id+"/"+m.ID, true)
					}
				}
				return s, err
			},
			append: func(o on, id string, a batch) ([]message, error) {
				for _, m := range a.Messages {
					if _, ok := gone.Load(o.config.Namespace + "/" + id + "/" + m.ID); ok {
						return nil, sessionstore.ErrMessageExists
					}
				}
				return o.AppendMessages(o.ctx, id, a)
			},
		}
	}},
	{"IfLastSeq ignored", "append.expect", still(twist{append: func(o on, id string, a batch) ([]message, error) {
		a.IfLastSeq = nil
		return o.AppendMessages(o.ctx, id, a)
	}})},
	{"IfLastSeq of 0 is none", "append.expect", still(twist{append: func(o on, id string, a batch) ([]message, error) {
		if a.IfLastSeq != nil && *a.IfLastSeq == 0 {
			a.IfLastSeq = nil
		}
		return o.AppendMessages(o.ctx, id, a)
	}})},
	{"IfLastSeq is the count", "append.expect", still(twist{append: func(o on, id string, a batch) ([]message, error) {
		if s, err := o.GetSession(o.ctx, id); err == nil && a.IfLastSeq != nil {
			a.IfLastSeq = ptr(*a.IfLastSeq + s.LastSeq - s.MessageCount)
		}
		return o.AppendMessages(o.ctx, id, a)
	}})},
	{"paused takes messages", "append.active", still(twist{append: func(o on, id string, a batch) ([]message, error) {
		out, err := o.AppendMessages(o.ctx, id, a)
		if errors.Is(err, sessionstore.ErrSessionPaused) {
			if _, err := o.UpdateSession(o.ctx, id, update{Status: ptr(sessionstore.StatusActive)}); err != nil {
				return nil, err
			}
			defer func() { _, _ = o.UpdateSession(o.ctx, id, update{Status: ptr(sessionstore.StatusPaused)}) }()
			return o.AppendMessages(o.ctx, id, a)
		}
		return out, err
	}})},
	{"closed reported as paused", "append.active", still(twist{append: func(o on, id string, a batch) ([]message, error) {
		out, err := o.AppendMessages(o.ctx, id, a)
		if errors.Is(err, sessionstore.ErrSessionClosed) {
			err = sessionstore.ErrSessionPaused
		}
		return out, err
	}})},
	{"append reads and writes the whole document", "append.flat", still(twist{append: func(o on, id string, a batch) ([]message, error) {
		for _, m := range o.all(id) {
			b, err := m.AppendJSON(nil)
			if err == nil {
				_, err = sessionstore.DecodeMessage(b)
			}
			if err != nil {
				return nil, err
			}
		}
		return o.AppendMessages(o.ctx, id, a)
	}})},
	{"no messages, no slice", "append.empty", still(twist{append: func(o on, id string, a batch) ([]message, error) {
		out, err := o.AppendMessages(o.ctx, id, a)
		if len(out) == 0 {
			out = nil
		}
		return out, err
	}})},
	{"no messages keep alive", "append.empty", still(twist{append: func(o on, id string, a batch) ([]message, error) {
		out, err := o.AppendMessages(o.ctx, id, a)
		if err == nil && len(out) == 0 {
			_, err = o.UpdateSession(o.ctx, id, update{Touch: true})
		}
		return out, err
	}})},
	{"newest page backwards", "messages", still(twist{messages: func(o on, id string, q sessionstore.MessageQuery) (page, error) {
		p, err := o.ListMessages(o.ctx, id, q)
		if q.Newest {
			slices.Reverse(p.Messages)
		}
		return p, err
	}})},
	{"newest page from the oldest end", "messages", still(twist{messages: func(o on, id string, q sessionstore.MessageQuery) (page, error) {
		q.Newest = false
		return o.ListMessages(o.ctx, id, q)
	}})},
	{"HasMore when the page is full", "messages", still(twist{messages: func(o on, id string, q sessionstore.MessageQuery) (page, error) {
		p, err := o.ListMessages(o.ctx, id, q)
		p.HasMore = err == nil && q.Limit > 0 && len(p.Messages) == q.Limit
		return p, err
	}})},
	{"AfterSeq included", "messages", still(twist{messages: func(o on, id string, q sessionstore.MessageQuery) (page, error) {
		if q.AfterSeq > 0 {
			q.AfterSeq--
		}
		return o.ListMessages(o.ctx, id, q)
	}})},
	{"BeforeSeq included", "messages", still(twist{messages: func(o on, id string, q sessionstore.MessageQuery) (page, error) {
		if q.BeforeSeq > 0 {
			q.BeforeSeq++
		}
		return o.ListMessages(o.ctx, id, q)
	}})},
	{"limit 0 is 100", "messages", still(twist{messages: func(o on, id string, q sessionstore.MessageQuery) (page, error) {
		if q.Limit == 0 {
			q.Limit = 100
		}
		return o.ListMessages(o.ctx, id, q)
	}})},
	{"nil for an empty page", "messages", still(twist{messages: func(o on, id string, q sessionstore.MessageQuery) (page, error) {
		p, err := o.ListMessages(o.ctx, id, q)
		if len(p.Messages) == 0 {
			p.Messages = nil
		}
		return p, err
	}})},
	{"ThroughSeq removed too", "truncate", still(twist{truncate: func(o on, id string, t cut) (session, error) {
		if t.ThroughSeq > 0 {
			t.ThroughSeq--
		}
		return o.TruncateMessages(o.ctx, id, t)
	}})},
	{"truncate moves version", "truncate", still(twist{truncate: func(o on, id string, t cut) (session, error) {
		before, _ := o.GetSession(o.ctx, id)
		s, err := o.TruncateMessages(o.ctx, id, t)
		if err != nil || s.MessageCount == before.MessageCount {
			return s, err
		}
		return o.rewrite(id, func(s *session, m []message) []message { s.Version++; return m })
	}})},
	{"truncate of nothing keeps alive", "truncate", still(twist{truncate: func(o on, id string, t cut) (session, error) {
		s, err := o.TruncateMessages(o.ctx, id, t)
		if err != nil {
			return s, err
		}
		return o.UpdateSession(o.ctx, id, update{Touch: true})
	}})},
	{"truncate of a paused session", "truncate", still(twist{truncate: func(o on, id string, t cut) (session, error) {
		s, err := o.TruncateMessages(o.ctx, id, t)
		if errors.Is(err, sessionstore.ErrSessionPaused) {
			return o.GetSession(o.ctx, id)
		}
		return s, err
	}})},
	{"truncate ignores IfLastSeq", "truncate", still(twist{truncate: func(o on, id string, t cut) (session, error) {
		t.IfLastSeq = nil
		return o.TruncateMessages(o.ctx, id, t)
	}})},
}
