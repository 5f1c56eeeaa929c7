package load

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sessionstore/sessionstore"
)

// Size is how much a store is filled with. A user has 50 sessions, one page of them, at a
// hundredth of the size, and 5,000 at the whole.
type Size struct {
	Sessions int // at least 5,000
	Messages int // in all, the same number in each session
}

func (s Size) each() int  { return s.Messages / s.Sessions }
func (s Size) users() int { return max(s.Sessions/(100*pageOfSessions), 1) }

// Config says what is measured.
type Config struct {
	Size     Size
	Calls    int // of each operation
	Writers  int // goroutines that fill; 0: 16
	Progress func(format string, args ...any)
}

// Operation is what was measured of one call.
type Operation struct {
	Name     string
	P50, P99 [2]time.Duration // at a hundredth of the size, and at the whole
}

// Grown is how much slower the call is at the whole size.
func (o Operation) Grown() (p50, p99 float64) {
	return float64(o.P50[1]) / float64(o.P50[0]), float64(o.P99[1]) / float64(o.P99[0])
}

// Result of Flat.
type Result struct {
	Operations []Operation
	Heap       [2]uint64 // bytes in use by this process after each filling, collected
}

const pageOfSessions, pageOfMessages = 50, 20

var filler = strings.Repeat("The quick brown fox jumps over the lazy dog, twice. ", 8)[:400]

func message(n int) sessionstore.Message {
	m := sessionstore.UserMessage(filler)
	m.Metadata = sessionstore.Metadata{"model": "gpt-4.1-mini", "tokens": int64(n)}
	return m
}

func sessionID(n int) string { return fmt.Sprintf("session-%08d", n) }

// Flat fills the store in two steps and measures after each. Settle is called before a
// measurement, for a server that has something to put in order; nil for nothing.
func Flat(ctx context.Context, store sessionstore.SessionStore, settle func(context.Context) error, c Config) (*Result, error) {
	if c.Writers == 0 {
		c.Writers = 16
	}
	var r Result
	done := 0
	for step, percent := range []int{1, 100} {
		end := c.Size.Sessions * percent / 100
		start := time.Now()
		if err := c.fill(ctx, store, done, end); err != nil {
			return nil, err
		}
		c.Progress("%d sessions with %d messages: filled in %v", end, end*c.Size.each(), time.Since(start).Round(time.Second/10))
		done = end
		if settle != nil {
			if err := settle(ctx); err != nil {
				return nil, err
			}
		}
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		r.Heap[step] = m.HeapInuse
		for i, op := range c.operations(store, done) {
			took := make([]time.Duration, c.Calls)
			// What is read first is read from the disk: it is not the size that costs.
			for k := -c.Calls / 10; k < c.Calls; k++ {
				if op.before != nil {
					if err := op.before(ctx, k); err != nil {
						return nil, fmt.Errorf("before %s: %w", op.name, err)
					}
				}
				start := time.Now()
				if err := op.call(ctx, k); err != nil {
					return nil, fmt.Errorf("%s: %w", op.name, err)
				}
				if k >= 0 {
					took[k] = time.Since(start)
				}
			}
			slices.Sort(took)
			if step == 0 {
				r.Operations = append(r.Operations, Operation{Name: op.name})
			}
			r.Operations[i].P50[step], r.Operations[i].P99[step] = took[len(took)/2], took[len(took)*99/100]
		}
	}
	return &r, nil
}

// fill makes the sessions from first up to end, each with its messages.
func (c Config) fill(ctx context.Context, store sessionstore.SessionStore, first, end int) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var next atomic.Int64
	next.Store(int64(first))
	var wg sync.WaitGroup
	for range c.Writers {
		wg.Go(func() {
			for {
				n := int(next.Add(1) - 1)
				if n >= end || ctx.Err() != nil {
					return
				}
				err := c.session(ctx, store, sessionstore.Session{ID: sessionID(n), UserID: c.user(n), AgentName: "load"})
				if err != nil {
					cancel(err)
					return
				}
			}
		})
	}
	wg.Wait()
	return context.Cause(ctx)
}

func (c Config) user(n int) string { return fmt.Sprintf("user-%06d", n%c.Size.users()) }

type operation struct {
	name   string
	call   func(ctx context.Context, k int) error
	before func(ctx context.Context, k int) error // what is not measured; nil for nothing
}

// operations are what is measured on a store of n sessions.
func (c Config) operations(store sessionstore.SessionStore, n int) []operation {
	random := rand.New(rand.NewPCG(1, uint64(n)))
	each := c.Size.each()
	doomed := func(k int) string { return fmt.Sprintf("doomed-%d-%d", n, k) }
	return []operation{
		{name: "append", call: func(ctx context.Context, k int) error {
			_, err := store.AppendMessages(ctx, sessionID(random.IntN(n)), sessionstore.Append{Messages: []sessionstore.Message{message(k)}})
			return err
		}},
		{name: "newest 20", call: func(ctx context.Context, _ int) error {
			page, err := store.ListMessages(ctx, sessionID(random.IntN(n)), sessionstore.MessageQuery{Newest: true, Limit: pageOfMessages})
			if got, want := len(page.Messages), min(each, pageOfMessages); err == nil && got < want {
				err = fmt.Errorf("got %d messages, want %d or more", got, want)
			}
			return err
		}},
		{name: "list page of 50", call: func(ctx context.Context, _ int) error {
			page, err := store.ListSessions(ctx, sessionstore.SessionQuery{UserID: c.user(random.IntN(n)), Limit: pageOfSessions})
			if got, want := len(page.Sessions), min(n/c.Size.users(), pageOfSessions); err == nil && got != want {
				err = fmt.Errorf("got %d sessions, want %d", got, want)
			}
			return err
		}},
		{name: "delete", before: func(ctx context.Context, k int) error {
			return c.session(ctx, store, sessionstore.Session{ID: doomed(k), UserID: "doomed"})
		}, call: func(ctx context.Context, k int) error {
			return store.DeleteSession(ctx, doomed(k))
		}},
	}
}

// session makes a session with its messages.
func (c Config) session(ctx context.Context, store sessionstore.SessionStore, s sessionstore.Session) error {
	batch := make([]sessionstore.Message, c.Size.each())
	for i := range batch {
		batch[i] = message(i)
	}
	if _, err := store.CreateSession(ctx, s); err != nil {
		return err
	}
	_, err := store.AppendMessages(ctx, s.ID, sessionstore.Append{Messages: batch})
	return err
}
