package load

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sessionstore/sessionstore"
)

// Sample is what this process uses at one moment of a soak.
type Sample struct {
	At         time.Duration // since the beginning
	Calls      int64
	Heap       uint64 // bytes in use, collected
	Goroutines int
}

// Soak makes sessions, appends to them, reads, lists and deletes them from eight
// goroutines for a time. What is stored stays as much as it is: each goroutine has a
// number of sessions, and makes a new one only for one that it has deleted. It returns a
// sample every interval; the first one is taken when half of an interval has passed.
func Soak(ctx context.Context, store sessionstore.SessionStore, total, interval time.Duration) ([]Sample, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var calls atomic.Int64
	var wg sync.WaitGroup
	var stop atomic.Bool
	for w := range 8 {
		wg.Go(func() {
			if err := soaker(ctx, store, w, &stop, &calls); err != nil {
				cancel(err)
			}
		})
	}
	var samples []Sample
	start := time.Now()
	timer := time.NewTimer(interval / 2)
	defer timer.Stop()
	for time.Since(start) < total && ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-timer.C:
			runtime.GC()
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			samples = append(samples, Sample{time.Since(start), calls.Load(), m.HeapInuse, runtime.NumGoroutine()})
			timer.Reset(interval)
		}
	}
	stop.Store(true)
	wg.Wait()
	return samples, context.Cause(ctx)
}

// soaker works on its own sessions until it is told to stop.
func soaker(ctx context.Context, store sessionstore.SessionStore, w int, stop *atomic.Bool, calls *atomic.Int64) error {
	const sessions, most = 50, 200
	random := rand.New(rand.NewPCG(7, uint64(w)))
	user := fmt.Sprintf("soak-%d", w)
	sizes := make([]int, sessions) // messages of each; -1: not there
	for i := range sizes {
		sizes[i] = -1
	}
	for made := 0; !stop.Load(); {
		i := random.IntN(sessions)
		id := fmt.Sprintf("%s-%d", user, i)
		var err error
		switch {
		case sizes[i] < 0:
			made++
			_, err = store.CreateSession(ctx, sessionstore.Session{ID: id, UserID: user, Metadata: sessionstore.Metadata{"made": made}})
			sizes[i] = 0
		case sizes[i] >= most || random.IntN(100) == 0:
			err = store.DeleteSession(ctx, id)
			sizes[i] = -1
		case random.IntN(10) == 0:
			_, err = store.ListSessions(ctx, sessionstore.SessionQuery{UserID: user, Limit: 20})
		case random.IntN(4) == 0:
			var page sessionstore.MessagePage
			page, err = store.ListMessages(ctx, id, sessionstore.MessageQuery{Newest: true, Limit: most})
			if err == nil && len(page.Messages) != sizes[i] {
				err = fmt.Errorf("session %q has %d messages, want the %d that were acknowledged", id, len(page.Messages), sizes[i])
			}
		default:
			_, err = store.AppendMessages(ctx, id, sessionstore.Append{Messages: []sessionstore.Message{message(made)}})
			sizes[i]++
		}
		if err != nil {
			return err
		}
		calls.Add(1)
	}
	return nil
}
