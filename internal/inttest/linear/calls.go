package linear

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/sessionstore/sessionstore"
)

// The calls that callers make. What they ask for is drawn so that every answer comes about:
// guards that are right and wrong, ids that are stored, freed and new, sessions that are
// not there.

func (c *caller) create(ctx context.Context, store sessionstore.SessionStore, call *Call) {
	call.Kind, call.Set = Create, &Change{}
	s := sessionstore.Session{ID: call.Session, UserID: c.Name}
	if c.chance(0.3) {
		s.TTL = c.ttl()
		call.Set.TTL = new(s.TTL.Microseconds())
	}
	if c.chance(0.3) {
		call.Set.Put = map[string]int64{"a": c.rng.Int64N(3)}
		s.Metadata = metadata(call.Set.Put)
	}
	c.do(ctx, call, func() error {
		got, err := store.CreateSession(ctx, s)
		call.Got = snapshot(got)
		return err
	})
}

func (c *caller) ttl() time.Duration { return time.Duration(1+c.rng.IntN(2)) * 25 * time.Second }

func metadata(put map[string]int64) sessionstore.Metadata {
	out := sessionstore.Metadata{}
	for k, v := range put {
		out[k] = v
	}
	return out
}

// guard is a LastSeq or a version to insist on: the one last heard of, or the next.
func (c *caller) guard(heard int64) int64 {
	if c.chance(0.2) {
		heard++
	}
	return heard
}

func (c *caller) ifLastSeq(call *Call) *int64 {
	if c.chance(0.3) {
		return new(c.guard(c.seen[call.Session].last.Load()))
	}
	return nil
}

func (c *caller) append(ctx context.Context, store sessionstore.SessionStore, call *Call) {
	call.Kind, call.IfLastSeq = Append, c.ifLastSeq(call)
	a := sessionstore.Append{IfLastSeq: call.IfLastSeq}
	// New ids, or a few of those that all callers use.
	first, text := c.rng.Uint32(), "t"
	if c.chance(0.4) {
		first = c.rng.Uint32N(8)
	}
	if c.chance(0.1) {
		text = "u"
	}
	for i := range 1 + c.rng.Uint32N(3) {
		m := sessionstore.UserMessage(text)
		m.ID = fmt.Sprintf("m%d", first+i)
		a.Messages = append(a.Messages, m)
		call.Messages = append(call.Messages, Message{ID: m.ID, Text: text})
	}
	c.do(ctx, call, func() error {
		got, err := store.AppendMessages(ctx, call.Session, a)
		call.Found = shown(got)
		return err
	})
}

func (c *caller) read(ctx context.Context, store sessionstore.SessionStore, call *Call) {
	last := c.seen[call.Session].last.Load()
	switch c.rng.IntN(3) {
	case 0:
		call.Limit, call.Newest = 1+c.rng.IntN(6), true
	case 1:
		call.After, call.Limit = c.rng.Int64N(last+1), 1+c.rng.IntN(6)
	case 2:
		call.Before, call.Newest, call.Limit = 1+c.rng.Int64N(last+1), c.chance(0.5), 1+c.rng.IntN(6)
	}
	c.readAll(ctx, store, call)
}

func (c *caller) readAll(ctx context.Context, store sessionstore.SessionStore, call *Call) {
	call.Kind = Read
	c.do(ctx, call, func() error {
		page, err := store.ListMessages(ctx, call.Session, sessionstore.MessageQuery{
			AfterSeq: call.After, BeforeSeq: call.Before, Limit: call.Limit, Newest: call.Newest,
		})
		call.Got, call.Found, call.More = snapshot(page.Session), shown(page.Messages), page.HasMore
		return err
	})
}

func (c *caller) get(ctx context.Context, store sessionstore.SessionStore, call *Call) {
	call.Kind = Get
	c.do(ctx, call, func() error {
		got, err := store.GetSession(ctx, call.Session)
		call.Got = snapshot(got)
		return err
	})
}

func (c *caller) truncate(ctx context.Context, store sessionstore.SessionStore, call *Call) {
	call.Kind, call.IfLastSeq = Truncate, c.ifLastSeq(call)
	call.Through = max(0, c.seen[call.Session].last.Load()-c.rng.Int64N(5))
	if c.chance(0.2) {
		call.Through = 0
	}
	c.do(ctx, call, func() error {
		got, err := store.TruncateMessages(ctx, call.Session, sessionstore.Truncate{ThroughSeq: call.Through, IfLastSeq: call.IfLastSeq})
		call.Got = snapshot(got)
		return err
	})
}

func (c *caller) update(ctx context.Context, store sessionstore.SessionStore, call *Call) {
	call.Kind = Update
	set, u := &Change{}, sessionstore.SessionUpdate{}
	if c.chance(0.3) {
		call.IfVersion = max(1, c.guard(c.seen[call.Session].version.Load()))
		u.IfVersion = call.IfVersion
	}
	switch roll := c.rng.IntN(100); {
	case roll < 40: // mostly to and fro: what is closed stays so
		to := []sessionstore.Status{sessionstore.StatusActive, sessionstore.StatusActive, sessionstore.StatusPaused}[c.rng.IntN(3)]
		if c.chance(0.05) {
			to = sessionstore.StatusClosed
		}
		set.Status = &to
	case roll < 75:
		key := string(rune('a' + c.rng.IntN(3)))
		if c.chance(0.3) {
			set.Remove = []string{key}
		} else {
			set.Put = map[string]int64{key: c.rng.Int64N(4)}
		}
	case roll < 85:
		set.System = new(fmt.Sprint("system ", c.rng.IntN(2)))
	case roll < 92:
		set.TTL = new((time.Duration(c.rng.IntN(2)) * c.ttl()).Microseconds())
	default:
		set.Touch = true
	}
	call.Set = set
	u.Status, u.System, u.SetMetadata, u.DeleteMetadata, u.Touch = set.Status, set.System, metadata(set.Put), set.Remove, set.Touch
	if set.TTL != nil {
		u.TTL = new(time.Duration(*set.TTL) * time.Microsecond)
	}
	c.do(ctx, call, func() error {
		got, err := store.UpdateSession(ctx, call.Session, u)
		call.Got = snapshot(got)
		return err
	})
}

func (c *caller) remove(ctx context.Context, store sessionstore.SessionStore, call *Call) {
	call.Kind = Delete
	c.do(ctx, call, func() error { return store.DeleteSession(ctx, call.Session) })
}

// purge may remove any session that has expired: it is a call on each.
func (c *caller) purge(ctx context.Context, store sessionstore.SessionStore) {
	call := Call{Client: c.client, Kind: Purge, Outcome: OK, Start: c.Clock.Stamp()}
	if _, err := sessionstore.PurgeExpired(ctx, store, 0); outcome(err) == Unknown {
		call.Outcome, call.End = Unknown, Never
	} else {
		call.Outcome, call.End = outcome(err), c.Clock.Stamp()
	}
	for _, id := range c.ids {
		call.Session = id
		c.record(call)
	}
}

// fork is a read of the session: the child is nobody else's, and removed at once.
func (c *caller) fork(ctx context.Context, store sessionstore.SessionStore, call *Call) {
	call.Kind = Fork
	child := fmt.Sprintf("%s fork %d %x", c.Name, c.client, rand.Uint64())
	calm := context.WithoutCancel(ctx)
	c.do(ctx, call, func() error {
		_, err := sessionstore.ForkSession(ctx, store, call.Session, sessionstore.Fork{ID: child, UserID: new(child)})
		if err != nil {
			return err
		}
		page, err := store.ListMessages(calm, child, sessionstore.MessageQuery{})
		if err != nil {
			return errUnseen // by now it may have expired
		}
		call.Got, call.Found = snapshot(page.Session), shown(page.Messages)
		return nil
	})
	_ = store.DeleteSession(calm, child) // if it cannot be removed, nobody looks for it
}

func (c *caller) list(ctx context.Context, store sessionstore.SessionStore, call *Call) {
	l := list{call: Call{Client: call.Client, Outcome: OK, Start: c.Clock.Stamp()}, found: map[string]*Snapshot{}}
	page, err := store.ListSessions(ctx, sessionstore.SessionQuery{UserID: c.Name})
	l.call.End = c.Clock.Stamp()
	switch o := outcome(err); {
	case o == Unknown:
		return
	case err != nil:
		l.call.Outcome = o
	}
	for _, s := range page.Sessions {
		l.found[s.ID] = snapshot(s)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lists = append(c.lists, l)
}
