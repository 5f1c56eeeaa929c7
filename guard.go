package sessionstore

import (
	"context"
	"math"
	"sync"
	"sync/atomic"
)

// Guard is the beginning and the end of every method of a store: it refuses calls on a
// closed store and calls whose context is done, and lets Close wait for calls in
// flight. The zero value is ready to use.
//
//	if err := s.guard.Enter(ctx); err != nil {
//		return err
//	}
//	defer s.guard.Leave()
//
// The store's clock is to be read later. A write reads it inside its atomic step: the call
// may wait for a lock while a session expires. A read that works on a snapshot reads it
// before the snapshot is taken: else a session that was kept alive in between looks
// expired.
type Guard struct {
	// calls counts the calls in flight; its sign bit says that Close was called. One
	// word holds both, so that no call slips in between a check and a count.
	calls atomic.Int64

	mu      sync.Mutex
	drained bool
	idle    chan struct{} // closed when drained; made on demand
}

const guardClosed = math.MinInt64

// Enter begins a call. It returns ErrStoreClosed after Close, else the context's error
// if that is done; then Leave must not be called.
func (g *Guard) Enter(ctx context.Context) error {
	if g.calls.Add(1) < 0 {
		g.Leave()
		return ErrStoreClosed
	}
	if err := ctx.Err(); err != nil {
		g.Leave()
		return err
	}
	return nil
}

// Leave ends a call that Enter began.
func (g *Guard) Leave() {
	if g.calls.Add(-1) == guardClosed {
		g.drain()
	}
}

// Close makes later calls to Enter fail and waits until the calls in flight have left.
// It reports whether it is the first Close: that one frees what the store owns. A later
// one waits too.
func (g *Guard) Close() (first bool) {
	before := g.calls.Or(guardClosed)
	if before == 0 {
		g.drain()
	}
	<-g.wait()
	return before >= 0
}

func (g *Guard) wait() chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.idle == nil {
		g.idle = make(chan struct{})
	}
	return g.idle
}

// drain may be called more than once: a call that Enter refuses is counted for a moment.
func (g *Guard) drain() {
	idle := g.wait()
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.drained {
		g.drained = true
		close(idle)
	}
}
