package storetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/sessionstore/sessionstore"
)

// noExtra drops what is in no column of its own, and keeps the error of the write before.
func noExtra(o on, id string, err error) (session, error) {
	if err != nil {
		return session{}, err
	}
	return o.rewrite(id, func(s *session, m []message) []message { s.Extra = nil; return m })
}

// floats sends every number of a value through a float64.
func floats(v any) any {
	switch v := v.(type) {
	case int64:
		return int64(float64(v))
	case float64:
		if v == float64(int64(v)) {
			return int64(v)
		}
	case json.Number:
		if f, err := v.Float64(); err == nil {
			return f
		}
	case []any:
		for i := range v {
			v[i] = floats(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = floats(v[k])
		}
	}
	return v
}

func allFloats(m sessionstore.Metadata) {
	for k := range m {
		m[k] = floats(m[k])
	}
}

// keptMutants lose, on the way of one write, what another had stored; and break what is
// seen only with ids, sizes and numbers of messages that are out of the common run.
var keptMutants = []mutant{
	{"append drops unknown keys of the session", "same", still(twist{append: func(o on, id string, a batch) ([]message, error) {
		out, err := o.AppendMessages(o.ctx, id, a)
		if len(out) > 0 {
			_, err = noExtra(o, id, err)
		}
		return out, err
	}})},
	{"truncate drops unknown keys of the session", "same", still(twist{truncate: func(o on, id string, t cut) (session, error) {
		_, err := o.TruncateMessages(o.ctx, id, t)
		return noExtra(o, id, err)
	}})},
	{"Touch drops unknown keys of the session", "same", still(twist{update: func(o on, id string, u update) (session, error) {
		s, err := o.UpdateSession(o.ctx, id, u)
		if u.Touch {
			return noExtra(o, id, err)
		}
		return s, err
	}})},
	{"merge sends what was there through float64", "same", still(twist{update: func(o on, id string, u update) (session, error) {
		s, err := o.UpdateSession(o.ctx, id, u)
		if err != nil || len(u.SetMetadata) == 0 {
			return s, err
		}
		return o.rewrite(id, func(s *session, m []message) []message { allFloats(s.Metadata); return m })
	}})},
	{"fork sends metadata of messages through float64", "same", still(twist{fork: func(o on, id string, f sessionstore.Fork) (session, error) {
		child, err := sessionstore.ForkSession(o.ctx, o.SessionStore, id, f)
		if err != nil {
			return child, err
		}
		return o.rewrite(child.ID, func(s *session, msgs []message) []message {
			for i := range msgs {
				allFloats(msgs[i].Metadata)
			}
			return msgs
		})
	}})},
	{"page size by its oldest message", "messages", still(twist{messages: func(o on, id string, q sessionstore.MessageQuery) (page, error) {
		p, err := o.ListMessages(o.ctx, id, q)
		if err != nil || !q.Newest || !p.HasMore || q.Limit > 0 {
			return p, err
		}
		q.BeforeSeq = p.Messages[0].Seq
		before, err := o.ListMessages(o.ctx, id, q)
		if err == nil && len(before.Messages) > 0 && len(before.Messages[0].Content.String()) < 1000 {
			before.Messages = append(before.Messages, p.Messages...)
			return before, nil
		}
		return p, err
	}})},
	{"page size by its newest message", "messages", still(twist{messages: func(o on, id string, q sessionstore.MessageQuery) (page, error) {
		p, err := o.ListMessages(o.ctx, id, q)
		if err != nil || q.Newest || !p.HasMore || q.Limit > 0 {
			return p, err
		}
		q.AfterSeq = p.Messages[len(p.Messages)-1].Seq
		after, err := o.ListMessages(o.ctx, id, q)
		if n := len(after.Messages); err == nil && n > 0 && len(after.Messages[n-1].Content.String()) < 1000 {
			after.Messages = append(p.Messages, after.Messages...)
			return after, nil
		}
		return p, err
	}})},
	{"a filtered walk ends after 1,000", "list.cost", still(twist{list: func(o on, q sessionstore.SessionQuery) (sessions, error) {
		if q.AgentName == "" {
			return o.ListSessions(o.ctx, q)
		}
		all := q
		all.AgentName, all.Limit = "", sessionstore.MaxSessions
		p, err := o.ListSessions(o.ctx, all)
		p.Sessions = slices.DeleteFunc(p.Sessions, func(s session) bool { return s.AgentName != q.AgentName })
		p.Next = ""
		if q.Limit > 0 && len(p.Sessions) > q.Limit {
			p.Sessions = p.Sessions[:q.Limit]
			p.Next = p.Sessions[q.Limit-1].Key().Cursor()
		}
		return p, err
	}})},
	{"message ids joined to the session's", "id.any", func() twist {
		var owners sync.Map
		return twist{append: func(o on, id string, a batch) ([]message, error) {
			for _, m := range a.Messages {
				if owner, ok := owners.LoadOrStore(o.key(id+":"+m.ID), id); ok && owner != id {
					return nil, sessionstore.ErrMessageExists
				}
			}
			return o.AppendMessages(o.ctx, id, a)
		}}
	}},
	{"missing id taken for a pattern", "id.any", still(twist{append: func(o on, id string, a batch) ([]message, error) {
		out, err := o.AppendMessages(o.ctx, id, a)
		prefix, pattern := strings.CutSuffix(id, "*")
		if !pattern || !errors.Is(err, sessionstore.ErrSessionNotFound) {
			return out, err
		}
		p, _ := o.ListSessions(o.ctx, sessionstore.SessionQuery{})
		for _, s := range p.Sessions {
			if strings.HasPrefix(s.ID, prefix) {
				return o.AppendMessages(o.ctx, s.ID, a)
			}
		}
		return out, err
	}})},
	{"invalid without saying what", "id.any", still(twist{get: func(o on, id string) (session, error) {
		s, err := o.GetSession(o.ctx, id)
		if errors.Is(err, sessionstore.ErrInvalid) {
			err = fmt.Errorf("get: %w", sessionstore.ErrInvalid)
		}
		return s, err
	}})},
	{"repeats known of the last 10,000 messages", "limits", still(twist{append: func(o on, id string, a batch) ([]message, error) {
		if len(a.Messages) == 1 && a.Messages[0].ID != "" {
			s, err := o.GetSession(o.ctx, id)
			p, lerr := o.ListMessages(o.ctx, id, sessionstore.MessageQuery{BeforeSeq: max(1, s.LastSeq-10_000)})
			if err == nil && lerr == nil && slices.ContainsFunc(p.Messages, func(m message) bool { return m.ID == a.Messages[0].ID }) {
				a.Messages = slices.Clone(a.Messages)
				a.Messages[0].ID += "'"
			}
		}
		return o.AppendMessages(o.ctx, id, a)
	}})},
	{"purge of 0 removes 100", "expire", still(twist{purge: func(o on, limit int) (int, error) {
		if limit == 0 {
			limit = 100
		}
		return sessionstore.PurgeExpired(o.ctx, o.SessionStore, limit)
	}})},
	{"view of nobody is the store", "owner", still(twist{forUser: func(o on, user string) sessionstore.SessionStore {
		if user == "" {
			return &leak{SessionStore: o.SessionStore, all: o.SessionStore}
		}
		return sessionstore.ForUser(o.SessionStore, user)
	}})},
}
