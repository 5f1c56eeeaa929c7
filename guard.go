package sessionstore

import (
	"context"
	"sync"
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
// The store's clock is to be read later, inside its atomic step: a call may wait for a
// lock while a session expires.
type Guard struct {
	mu     sync.Mutex
	calls  int
	closed bool
	idle   chan struct{} // not nil once Close was called; closed when no call is left
}

// Enter begins a call. It returns ErrStoreClosed after Close, else the context's error
// if that is done; then Leave must not be called.
func (g *Guard) Enter(ctx context.Context) error {
	g.mu.Lock()
	if g.closed {
		g.mu.Unlock()
		return ErrStoreClosed
	}
	if err := ctx.Err(); err != nil {
		g.mu.Unlock()
		return err
	}
	g.calls++
	g.mu.Unlock()
	return nil
}

// Leave ends a call that Enter began.
func (g *Guard) Leave() {
	g.mu.Lock()
	g.calls--
	if g.closed && g.calls == 0 {
		close(g.idle)
	}
	g.mu.Unlock()
}

// Close makes later calls to Enter fail and waits until the calls in flight have left.
// It reports whether it is the first Close: that one frees what the store owns. A later
// one waits too.
func (g *Guard) Close() (first bool) {
	g.mu.Lock()
	first = !g.closed
	if first {
		g.closed = true
		g.idle = make(chan struct{})
		if g.calls == 0 {
			close(g.idle)
		}
	}
	g.mu.Unlock()
	<-g.idle
	return first
}
