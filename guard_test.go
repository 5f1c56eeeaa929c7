package sessionstore_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/sessionstore/sessionstore"
)

func TestGuardCloseWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var g sessionstore.Guard
		for range 2 {
			if err := g.Enter(t.Context()); err != nil {
				t.Fatalf("Enter: %v", err)
			}
		}
		var firsts atomic.Int32
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				if g.Close() {
					firsts.Add(1)
				}
			})
		}
		closed := make(chan struct{})
		go func() { wg.Wait(); close(closed) }()
		isClosed := func() bool {
			synctest.Wait()
			select {
			case <-closed:
				return true
			default:
				return false
			}
		}
		if isClosed() {
			t.Fatal("Close returned with two calls in flight")
		}
		if err := g.Enter(t.Context()); !errors.Is(err, sessionstore.ErrStoreClosed) {
			t.Fatalf("Enter after Close: got %v, want ErrStoreClosed", err)
		}
		g.Leave()
		if isClosed() {
			t.Fatal("Close returned with a call in flight")
		}
		g.Leave()
		if !isClosed() {
			t.Fatal("Close did not return after the last call left")
		}
		if n := firsts.Load(); n != 1 {
			t.Errorf("%d of three Closes say that they are the first, want 1", n)
		}
		if g.Close() {
			t.Error("a later Close says that it is the first")
		}
	})
}

func TestGuardContext(t *testing.T) {
	t.Parallel()
	var g sessionstore.Guard
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := g.Enter(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Enter with a cancelled context: got %v, want context.Canceled", err)
	}
	g.Close() // waits for nobody
	if err := g.Enter(ctx); !errors.Is(err, sessionstore.ErrStoreClosed) {
		t.Errorf("closed and cancelled: got %v, want ErrStoreClosed", err)
	}
}

func TestGuardRace(t *testing.T) {
	t.Parallel()
	for range 200 {
		var g sessionstore.Guard
		var inside atomic.Int32
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				for g.Enter(t.Context()) == nil {
					inside.Add(1)
					inside.Add(-1)
					g.Leave()
				}
			})
		}
		wg.Go(func() {
			g.Close()
			if n := inside.Load(); n != 0 {
				t.Errorf("%d calls in flight after Close", n)
			}
		})
		wg.Wait()
	}
}
