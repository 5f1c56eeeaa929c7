package storetest

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/sessionstore/sessionstore"
)

// wholeMutants break the rules of what takes a session as a whole, and the limits.
var wholeMutants = []mutant{
	{"fork keeps the status", "fork", still(twist{fork: func(o on, id string, f sessionstore.Fork) (session, error) {
		src, err := o.GetSession(o.ctx, id)
		child, ferr := sessionstore.ForkSession(o.ctx, o.SessionStore, id, f)
		if err != nil || ferr != nil || src.Status == sessionstore.StatusActive {
			return child, ferr
		}
		return o.rewrite(child.ID, func(s *session, m []message) []message { s.Status = src.Status; return m })
	}})},
	{"fork renumbers", "fork", still(twist{fork: func(o on, id string, f sessionstore.Fork) (session, error) {
		child, err := sessionstore.ForkSession(o.ctx, o.SessionStore, id, f)
		if err != nil {
			return child, err
		}
		return o.rewrite(child.ID, func(s *session, m []message) []message { return renumber(m) })
	}})},
	{"fork shares the counter", "fork", still(twist{fork: func(o on, id string, f sessionstore.Fork) (session, error) {
		src, err := o.GetSession(o.ctx, id)
		child, ferr := sessionstore.ForkSession(o.ctx, o.SessionStore, id, f)
		if err != nil || ferr != nil {
			return child, ferr
		}
		return o.rewrite(child.ID, func(s *session, m []message) []message { s.LastSeq = src.LastSeq; return m })
	}})},
	{"fork beyond the end is cut", "fork", still(twist{fork: func(o on, id string, f sessionstore.Fork) (session, error) {
		if src, err := o.GetSession(o.ctx, id); err == nil && f.AtSeq != nil {
			f.AtSeq = ptr(min(*f.AtSeq, src.LastSeq))
		}
		return sessionstore.ForkSession(o.ctx, o.SessionStore, id, f)
	}})},
	{"fork at 0 is all", "fork", still(twist{fork: func(o on, id string, f sessionstore.Fork) (session, error) {
		if f.AtSeq != nil && *f.AtSeq == 0 {
			f.AtSeq = nil
		}
		return sessionstore.ForkSession(o.ctx, o.SessionStore, id, f)
	}})},
	{"fork moves its source", "fork", still(twist{fork: func(o on, id string, f sessionstore.Fork) (session, error) {
		child, err := sessionstore.ForkSession(o.ctx, o.SessionStore, id, f)
		if err == nil {
			_, err = o.UpdateSession(o.ctx, id, update{SetMetadata: sessionstore.Metadata{"forked": true}})
		}
		return child, err
	}})},
	{"restore renumbers", "restore", still(twist{restore: func(o on, s session, h history) (session, error) {
		out, err := sessionstore.RestoreSession(o.ctx, o.SessionStore, s, h)
		if err != nil {
			return out, err
		}
		return o.rewrite(out.ID, func(s *session, m []message) []message { return renumber(m) })
	}})},
	{"restore takes the time of now", "restore", still(twist{restore: func(o on, s session, h history) (session, error) {
		s.UpdatedAt = o.config.Now()
		return sessionstore.RestoreSession(o.ctx, o.SessionStore, s, h)
	}})},
	{"restore starts the version again", "restore", still(twist{restore: func(o on, s session, h history) (session, error) {
		s.Version = min(s.Version, 1)
		return sessionstore.RestoreSession(o.ctx, o.SessionStore, s, h)
	}})},
	{"restore replaces", "restore", still(twist{restore: func(o on, s session, h history) (session, error) {
		out, err := sessionstore.RestoreSession(o.ctx, o.SessionStore, s, h)
		if errors.Is(err, sessionstore.ErrSessionExists) && o.DeleteSession(o.ctx, s.ID) == nil {
			return sessionstore.RestoreSession(o.ctx, o.SessionStore, s, h)
		}
		return out, err
	}})},
	{"restore keeps what came before an error", "restore", still(twist{restore: func(o on, s session, h history) (session, error) {
		var msgs []message
		var failed error
		for m, err := range h {
			if failed = err; err != nil {
				break
			}
			msgs = append(msgs, m)
		}
		if failed != nil {
			s.MessageCount = int64(len(msgs))
			_, _ = sessionstore.RestoreSession(o.ctx, o.SessionStore, s, yielded(msgs))
			return session{}, failed
		}
		return sessionstore.RestoreSession(o.ctx, o.SessionStore, s, yielded(msgs))
	}})},
	{"view lists everyone's", "owner", still(twist{forUser: func(o on, user string) sessionstore.SessionStore {
		return &leak{SessionStore: sessionstore.ForUser(o.SessionStore, user), all: o.SessionStore, list: true}
	}})},
	{"view reads everyone's", "owner", still(twist{forUser: func(o on, user string) sessionstore.SessionStore {
		return &leak{SessionStore: sessionstore.ForUser(o.SessionStore, user), all: o.SessionStore, get: true}
	}})},
	{"view confines nothing", "owner", still(twist{forUser: func(o on, user string) sessionstore.SessionStore {
		return &leak{SessionStore: o.SessionStore, all: o.SessionStore}
	}})},
	{"1,001 messages accepted", "limits", still(twist{append: func(o on, id string, a batch) ([]message, error) {
		if len(a.Messages) <= sessionstore.MaxAppendMessages {
			return o.AppendMessages(o.ctx, id, a)
		}
		var out []message
		for part := range slices.Chunk(a.Messages, sessionstore.MaxAppendMessages) {
			m, err := o.AppendMessages(o.ctx, id, batch{Messages: part})
			if err != nil {
				return nil, err
			}
			out = append(out, m...)
		}
		return out, nil
	}})},
	{"1,000 messages refused", "limits", still(twist{append: func(o on, id string, a batch) ([]message, error) {
		if n := len(a.Messages); n == sessionstore.MaxAppendMessages {
			return nil, &sessionstore.LimitError{What: "messages in a call", Limit: sessionstore.MaxAppendMessages - 1, Got: int64(n)}
		}
		return o.AppendMessages(o.ctx, id, a)
	}})},
	{"session stuck after too much", "limits", func() twist {
		var stuck sync.Map
		return twist{append: func(o on, id string, a batch) ([]message, error) {
			key := o.config.Namespace + "/" + id
			if _, ok := stuck.Load(key); ok {
				return nil, errors.New("document too large")
			}
			out, err := o.AppendMessages(o.ctx, id, a)
			if errors.Is(err, sessionstore.ErrTooLarge) {
				stuck.Store(key, true)
			}
			return out, err
		}}
	}},
	{"merge beyond the limit dropped in silence", "limits", still(twist{update: func(o on, id string, u update) (session, error) {
		s, err := o.UpdateSession(o.ctx, id, u)
		if errors.Is(err, sessionstore.ErrTooLarge) {
			return o.GetSession(o.ctx, id)
		}
		return s, err
	}})},
}

func renumber(msgs []message) []message {
	for i := range msgs {
		msgs[i].Seq = int64(i + 1)
	}
	return msgs
}

// leak is a view that lets through what another store has.
type leak struct {
	sessionstore.SessionStore
	all       sessionstore.SessionStore
	list, get bool
}

func (l *leak) ListSessions(ctx context.Context, q sessionstore.SessionQuery) (sessions, error) {
	if l.list {
		return l.all.ListSessions(ctx, q)
	}
	return l.SessionStore.ListSessions(ctx, q)
}

func (l *leak) GetSession(ctx context.Context, id string) (session, error) {
	if l.get {
		return l.all.GetSession(ctx, id)
	}
	return l.SessionStore.GetSession(ctx, id)
}

func (l *leak) Close() error {
	if l.SessionStore == l.all {
		return nil
	}
	return l.SessionStore.Close()
}
