package linear

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sessionstore/sessionstore"
)

// Plan is a history to be made. The same plan makes the same calls, but not the same
// history.
type Plan struct {
	Seed     uint64
	Name     string // begins the ids of the sessions, and is their user
	Handles  []sessionstore.SessionStore
	Clock    *Clock // of all of them
	Sessions int
	Callers  int
	Calls    int // of each caller

	// Cancel is the chance that a call's context ends while it runs, and Within how soon.
	Cancel float64
	Within time.Duration
	// Jump is the chance that the clock jumps before a call.
	Jump float64
	// Strike is called now and then by one of the callers, to break something; nil: never.
	Strike func()
	// Calm is called before the sessions are looked at once more at the end; nil: nothing to
	// end.
	Calm func()
}

// Run makes the calls and returns them. What is unknown about a read is no answer, so that
// it is left out.
func Run(ctx context.Context, p Plan) []Call {
	r := &run{Plan: p, seen: map[string]*seen{}}
	for i := range p.Sessions {
		id := fmt.Sprintf("%s-%d", p.Name, i)
		r.ids = append(r.ids, id)
		r.seen[id] = &seen{}
	}
	var callers sync.WaitGroup
	for i := range p.Callers {
		callers.Go(func() {
			c := &caller{run: r, client: i, rng: rand.New(rand.NewPCG(p.Seed, uint64(i)))}
			for range p.Calls {
				c.any(ctx)
			}
		})
	}
	callers.Wait()
	if p.Calm != nil {
		p.Calm()
	}
	last := &caller{run: r, client: p.Callers, rng: rand.New(rand.NewPCG(p.Seed, uint64(p.Callers)))}
	last.lookAgain(ctx)
	return r.finished()
}

type run struct {
	Plan
	ids []string

	seen map[string]*seen

	mu    sync.Mutex
	calls []Call
	lists []list
}

// seen is what was last heard of a session, so that guards are right often enough.
type seen struct {
	last, version atomic.Int64
	missing       atomic.Bool
}

// list is a page of sessions: it is a call on each of them.
type list struct {
	call  Call
	found map[string]*Snapshot
}

func (r *run) record(c Call) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls = append(r.calls, c)
}

// finished returns the calls with what is only known at the end.
func (r *run) finished() []Call {
	out := r.calls
	for _, l := range r.lists {
		for _, id := range r.ids {
			c := l.call
			c.Session, c.Kind = id, Absent
			if got := l.found[id]; got != nil {
				c.Kind, c.Got = Listed, got
			} else if r.written(id, c.Start, c.End) {
				continue // a session that a write moves may be missed
			}
			out = append(out, c)
		}
	}
	for i := range out {
		out[i].Clocks = r.Clock.between(out[i].Start, out[i].End)
	}
	return out
}

func (r *run) written(id string, start, end int64) bool {
	for _, c := range r.calls {
		if c.Session == id && c.Kind.writes() && c.Kind != Purge && c.Start <= end && c.End >= start {
			return true
		}
	}
	return false
}

type caller struct {
	*run
	client int
	rng    *rand.Rand
}

func (c *caller) chance(p float64) bool { return c.rng.Float64() < p }

// any makes one call.
func (c *caller) any(ctx context.Context) {
	if c.chance(c.Jump) {
		c.Clock.Jump(time.Duration(c.rng.IntN(5)-1) * 20 * time.Second)
	}
	if c.Strike != nil && c.chance(0.01) {
		c.Strike()
	}
	if c.chance(c.Cancel) {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Duration(c.rng.Int64N(int64(c.Within)+1)))
		defer cancel()
	}
	store := c.Handles[c.rng.IntN(len(c.Handles))]
	call := &Call{Client: c.client, Session: c.ids[c.rng.IntN(len(c.ids))]}
	roll := c.rng.IntN(100)
	if c.seen[call.Session].missing.Load() && roll < 50 {
		roll = 99 // a create: else most sessions would be deleted or expired
	}
	switch {
	case roll < 34:
		c.append(ctx, store, call)
	case roll < 47:
		c.read(ctx, store, call)
	case roll < 55:
		c.get(ctx, store, call)
	case roll < 63:
		c.truncate(ctx, store, call)
	case roll < 81:
		c.update(ctx, store, call)
	case roll < 84:
		c.remove(ctx, store, call)
	case roll < 89:
		c.fork(ctx, store, call)
	case roll < 94:
		c.list(ctx, store, call)
	case roll < 96:
		c.purge(ctx, store)
	default:
		c.create(ctx, store, call)
	}
}

// lookAgain reads everything once more by each handle.
func (c *caller) lookAgain(ctx context.Context) {
	for _, store := range c.Handles {
		for _, id := range c.ids {
			c.get(ctx, store, &Call{Client: c.client, Session: id})
			c.readAll(ctx, store, &Call{Client: c.client, Session: id})
		}
		c.list(ctx, store, &Call{Client: c.client})
	}
}

// do makes a call and records it.
func (c *caller) do(ctx context.Context, call *Call, f func() error) {
	call.Start = c.Clock.Stamp()
	if ctx.Err() != nil && !call.Kind.writes() {
		return
	}
	done := ctx.Err() != nil
	err := f()
	call.End = c.Clock.Stamp()
	if done {
		// It has no effect and is in no order. What it did all the same has no place there.
		if err == nil {
			call.Outcome = "went through with a context that was done"
			c.record(*call)
		}
		return
	}
	call.Outcome = outcome(err)
	seen := c.seen[call.Session]
	switch {
	case call.Outcome != Unknown:
		if call.Got != nil && err == nil {
			seen.last.Store(call.Got.LastSeq)
			seen.version.Store(call.Got.Version)
		}
		seen.missing.Store(call.Outcome == NotFound || call.Kind == Delete && err == nil)
	case !call.Kind.writes():
		return
	default:
		call.End = Never
	}
	if err != nil {
		call.Got, call.Found = nil, nil
	}
	c.record(*call)
}

// outcomes are the errors that say that nothing was done.
var outcomes = []struct {
	err error
	is  Outcome
}{
	{sessionstore.ErrSessionNotFound, NotFound},
	{sessionstore.ErrSessionExists, Exists},
	{sessionstore.ErrSessionPaused, Paused},
	{sessionstore.ErrSessionClosed, Closed},
	{sessionstore.ErrConflict, Conflict},
	{sessionstore.ErrInvalidTransition, Transition},
	{sessionstore.ErrMessageExists, Duplicate},
	{sessionstore.ErrInvalid, "invalid"},
	{sessionstore.ErrTooLarge, "too large"},
	{sessionstore.ErrStoreClosed, "store closed"},
	{sessionstore.ErrSchemaTooNew, "schema too new"},
	{sessionstore.ErrLocked, "locked"},
	{errors.ErrUnsupported, "unsupported"},
}

// errUnseen is of a call whose answer could not be looked at.
var errUnseen = errors.New("linear: what the call made could not be read")

func outcome(err error) Outcome {
	if err == nil {
		return OK
	}
	for _, o := range outcomes {
		if errors.Is(err, o.err) {
			return o.is
		}
	}
	return Unknown
}
