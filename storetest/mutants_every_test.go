package storetest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sessionstore/sessionstore"
)

// mutant is a store with one fault, and the rule that is there to catch it.
type mutant struct {
	name  string
	meant RuleID
	make  func() twist // a function, so that mutants with a state do not share it
}

// still is a fault without a state.
func still(t twist) func() twist { return func() twist { return t } }

// mutants are the faults that the suite must find. Each is what some store does, or what
// a slip of one line in one would do.
var mutants = slices.Concat(everyMutants, sessionMutants, messageMutants, wholeMutants, keptMutants, raceMutants)

// everyMutants break what holds for every method.
var everyMutants = []mutant{
	{"missing session told before invalid argument", "precedence", still(twist{append: func(o on, id string, a batch) ([]message, error) {
		if _, err := o.GetSession(o.ctx, id); err != nil {
			return nil, err
		}
		return o.AppendMessages(o.ctx, id, a)
	}})},
	{"status told before repeat", "precedence", still(twist{append: func(o on, id string, a batch) ([]message, error) {
		if s, err := o.GetSession(o.ctx, id); err == nil && s.Status == sessionstore.StatusPaused && len(a.Messages) > 0 {
			return nil, sessionstore.ErrSessionPaused
		}
		return o.AppendMessages(o.ctx, id, a)
	}})},
	{"transition told before conflict", "precedence", still(twist{update: func(o on, id string, u update) (session, error) {
		s, err := o.GetSession(o.ctx, id)
		if err == nil && s.Status == sessionstore.StatusClosed && u.Status != nil && *u.Status != s.Status {
			return session{}, sessionstore.ErrInvalidTransition
		}
		return o.UpdateSession(o.ctx, id, u)
	}})},
	{"context told before closed store", "precedence", still(twist{get: func(o on, id string) (session, error) {
		if err := o.ctx.Err(); err != nil {
			return session{}, err
		}
		return o.GetSession(o.ctx, id)
	}})},
	{"metadata given out is the stored one", "own", func() twist {
		var cache sync.Map
		return twist{get: func(o on, id string) (session, error) {
			s, err := o.GetSession(o.ctx, id)
			if err == nil {
				m, _ := cache.LoadOrStore(fmt.Sprint(o.config.Namespace, "/", id, "/", s.Version), s.Metadata)
				s.Metadata = m.(sessionstore.Metadata)
			}
			return s, err
		}}
	}},
	{"metadata taken in is kept", "own", func() twist {
		var taken sync.Map
		return twist{
			create: func(o on, s session) (session, error) {
				out, err := o.CreateSession(o.ctx, s)
				if err == nil && s.Metadata != nil {
					taken.Store(o.config.Namespace+"/"+out.ID, s.Metadata)
				}
				return out, err
			},
			get: func(o on, id string) (session, error) {
				s, err := o.GetSession(o.ctx, id)
				if m, ok := taken.Load(o.config.Namespace + "/" + id); ok && err == nil && s.Version == 1 {
					s.Metadata = m.(sessionstore.Metadata)
				}
				return s, err
			},
		}
	}},
	{"calls of messages given out are the stored ones", "own", func() twist {
		var cache sync.Map
		return twist{messages: func(o on, id string, q sessionstore.MessageQuery) (page, error) {
			p, err := o.ListMessages(o.ctx, id, q)
			for i, m := range p.Messages {
				calls, _ := cache.LoadOrStore(fmt.Sprint(o.config.Namespace, "/", id, "/", m.ID, "/", m.Seq), m.ToolCalls)
				p.Messages[i].ToolCalls = calls.([]sessionstore.ToolCall)
			}
			return p, err
		}}
	}},
	{"U+0000 stripped", "same", still(twist{messageOut: func(m message) message {
		if m.Content.IsText() {
			m.Content = sessionstore.Text(strings.ReplaceAll(m.Content.String(), "\x00", ""))
		}
		return m
	}})},
	{"1.0 becomes 1", "same", still(twist{messageOut: func(m message) message {
		for k, v := range m.Metadata {
			if f, ok := v.(float64); ok && f == float64(int64(f)) {
				m.Metadata[k] = int64(f)
			}
		}
		return m
	}})},
	{"integers through float64", "same", still(twist{sessionOut: func(s session) session {
		for k, v := range s.Metadata {
			if n, ok := v.(int64); ok {
				s.Metadata[k] = int64(float64(n))
			}
		}
		return s
	}})},
	{"empty metadata is nil", "same", still(twist{messageOut: func(m message) message {
		if len(m.Metadata) == 0 {
			m.Metadata = nil
		}
		return m
	}})},
	{"empty text is null", "same", still(twist{messageOut: func(m message) message {
		if m.Content.IsText() && m.Content.String() == "" {
			m.Content = sessionstore.Content{}
		}
		return m
	}})},
	{"arguments compacted", "same", still(twist{messageOut: func(m message) message {
		for i := range m.ToolCalls {
			m.ToolCalls[i].Arguments = strings.ReplaceAll(m.ToolCalls[i].Arguments, ", ", ",")
		}
		return m
	}})},
	{"unknown keys dropped", "same", still(twist{messageOut: func(m message) message {
		m.Extra = nil
		return m
	}})},
	{"session keys with a dot split", "same", still(twist{sessionOut: func(s session) session {
		if v, ok := s.Metadata["a.b"]; ok {
			delete(s.Metadata, "a.b")
			s.Metadata["a"] = map[string]any{"b": v}
		}
		return s
	}})},
	{"times of messages to the millisecond", "same", still(twist{messageOut: func(m message) message {
		m.CreatedAt = m.CreatedAt.Truncate(time.Millisecond)
		return m
	}})},
	{"times in the local zone", "same", still(twist{sessionOut: func(s session) session {
		s.CreatedAt = s.CreatedAt.In(time.FixedZone("local", 3600))
		return s
	}})},
	{"done context ignored", "cancel", still(twist{context: context.WithoutCancel})},
	{"append ignores a done context", "cancel", still(twist{append: func(o on, id string, a batch) ([]message, error) {
		return o.AppendMessages(context.WithoutCancel(o.ctx), id, a)
	}})},
	{"second Close fails", "closed", func() twist {
		var closed sync.Map
		return twist{close: func(o on) error {
			if _, again := closed.LoadOrStore(o.SessionStore, true); again {
				return sessionstore.ErrStoreClosed
			}
			return o.Close()
		}}
	}},
	{"usable after Close", "closed", still(twist{close: func(on) error { return nil }})},
	{"gone after a restart", "durable", still(twist{reopened: func(c Config) Config {
		c.Namespace += " again"
		return c
	}})},
}
