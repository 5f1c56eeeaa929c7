package storetest

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sessionstore/sessionstore"
)

// window lets the others run for a while, at a place where a fault has its window.
func window() {
	for start := time.Now(); time.Since(start) < 2*time.Millisecond; {
		runtime.Gosched()
	}
}

// key is a key for what a mutant remembers of a session.
func (o on) key(parts ...string) string {
	return o.config.Namespace + "\x00" + strings.Join(parts, "\x00")
}

// raceMutants are in two minds for a moment: they do in two steps what must be one.
var raceMutants = []mutant{
	{"a touched session leaves the list for a moment", "list.order", func() twist {
		var moving sync.Map
		return twist{
			update: func(o on, id string, u update) (session, error) {
				if u.Touch {
					moving.Store(o.key(id), true)
					window()
					defer moving.Delete(o.key(id))
				}
				return o.UpdateSession(o.ctx, id, u)
			},
			list: func(o on, q sessionstore.SessionQuery) (sessions, error) {
				p, err := o.ListSessions(o.ctx, q)
				p.Sessions = slices.DeleteFunc(p.Sessions, func(s session) bool {
					_, gone := moving.Load(o.key(s.ID))
					return gone
				})
				return p, err
			},
		}
	}},
	{"restore seen before it is whole", "restore", still(twist{restore: func(o on, s session, h history) (session, error) {
		msgs, err := collected(h)
		if _, missing := o.GetSession(o.ctx, s.ID); err == nil && errors.Is(missing, sessionstore.ErrSessionNotFound) {
			part := s
			part.MessageCount = int64(len(msgs) / 2)
			if _, err := sessionstore.RestoreSession(o.ctx, o.SessionStore, part, yielded(msgs[:len(msgs)/2])); err == nil {
				window()
				_ = o.DeleteSession(o.ctx, s.ID)
			}
		}
		return sessionstore.RestoreSession(o.ctx, o.SessionStore, s, each(msgs, err))
	}})},
	{"restore looks for its id before its step", "restore", still(twist{restore: func(o on, s session, h history) (session, error) {
		msgs, err := collected(h)
		_, missing := o.GetSession(o.ctx, s.ID)
		if err == nil && errors.Is(missing, sessionstore.ErrSessionNotFound) {
			window()
			_ = o.DeleteSession(o.ctx, s.ID)
		}
		return sessionstore.RestoreSession(o.ctx, o.SessionStore, s, each(msgs, err))
	}})},
	{"fork seen before it is whole", "fork", still(twist{fork: func(o on, id string, f sessionstore.Fork) (session, error) {
		if f.ID != "" && f.AtSeq == nil {
			part := f
			part.AtSeq = ptr(int64(0))
			if _, err := sessionstore.ForkSession(o.ctx, o.SessionStore, id, part); err == nil {
				window()
				_ = o.DeleteSession(o.ctx, f.ID)
			}
		}
		return sessionstore.ForkSession(o.ctx, o.SessionStore, id, f)
	}})},
	{"fork reads the session, then its messages", "fork", still(twist{fork: func(o on, id string, f sessionstore.Fork) (session, error) {
		src, err := o.GetSession(o.ctx, id)
		if err != nil || f.ID == "" || f.AtSeq != nil || f.UserID != nil || f.Metadata != nil {
			return sessionstore.ForkSession(o.ctx, o.SessionStore, id, f)
		}
		window()
		child := childOf(state{src, o.all(id)}, f, o.config.Now())
		return sessionstore.RestoreSession(o.ctx, o.SessionStore, child.Session, yielded(child.Messages))
	}})},
	{"view asks for the owner before the step", "owner", still(twist{forUser: func(o on, user string) sessionstore.SessionStore {
		return &early{SessionStore: sessionstore.ForUser(o.SessionStore, user), all: o.SessionStore}
	}})},
	{"handles opened at once do not meet", "append.concurrent", func() twist {
		var mu sync.Mutex
		opening := map[string]int{}
		return twist{opened: func(c Config) Config {
			mu.Lock()
			opening[c.Namespace]++
			n, name := opening[c.Namespace], c.Namespace
			mu.Unlock()
			window()
			mu.Lock()
			opening[name]--
			mu.Unlock()
			if n > 1 {
				c.Namespace += fmt.Sprint(" opened while ", n)
			}
			return c
		}}
	}},
}

// early is a view that knows whose a session is from before its write.
type early struct {
	sessionstore.SessionStore
	all sessionstore.SessionStore
}

func (v *early) AppendMessages(ctx context.Context, id string, a batch) ([]message, error) {
	if _, err := v.GetSession(ctx, id); err != nil {
		return nil, err
	}
	window()
	return v.all.AppendMessages(ctx, id, a)
}

func (v *early) ForkSession(ctx context.Context, id string, f sessionstore.Fork) (session, error) {
	return sessionstore.ForkSession(ctx, v.SessionStore, id, f)
}

func (v *early) RestoreSession(ctx context.Context, s session, h history) (session, error) {
	return sessionstore.RestoreSession(ctx, v.SessionStore, s, h)
}

// collected is all that a history yields.
func collected(h history) ([]message, error) {
	var msgs []message
	for m, err := range h {
		if err != nil {
			return msgs, err
		}
		msgs = append(msgs, m)
	}
	return msgs, nil
}
