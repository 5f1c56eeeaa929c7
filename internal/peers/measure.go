package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// Sizes of the workloads.
const (
	connections = 16 // of each system's pool
	goroutines  = 32
	heat        = 64 // appends of W1 in a round
)

var filling = strings.Repeat("The quick brown fox jumps over the lazy dog, twice. ", 8)[:380]

// text is the n-th message of a writer: some 400 bytes.
func text(writer, n int) string { return fmt.Sprintf("%03d %05d %s", writer, n, filling) }

func texts(n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = text(0, i)
	}
	return out
}

// workload is one kind of call. Prepare does what is not measured and returns a round:
// that makes some calls and says how long one took.
type workload struct {
	name    string
	prepare func(ctx context.Context, s *store, scale float64) (round func(n int) (time.Duration, error), err error)
}

var workloads = []workload{
	{"W1, append to a new session", appendTo(0)},
	{"W1, append to one of 1,000", appendTo(1000)},
	{"W2, append, 32 goroutines, 64 sessions", appendToMany},
	{"W3, the newest 20 of 10,000", read(10_000, 20)},
	{"W4, all of 1,000", read(1000, 0)},
	{"W5, the newest 50 sessions of 10,000", list},
}

// errNone says that a system does not have the operation.
var errNone = errors.New("it has no such operation")

// filled makes a session with n messages.
func filled(ctx context.Context, s *store, id string, n int) (*handle, error) {
	if err := s.create(ctx, "user", id); err != nil {
		return nil, err
	}
	h, err := s.open(ctx, "user", id)
	if err != nil || n == 0 {
		return h, err
	}
	if h.fill != nil {
		return h, h.fill(ctx, texts(n))
	}
	for _, t := range texts(n) {
		if err := h.append(ctx, t); err != nil {
			return nil, err
		}
	}
	return h, nil
}

func appendTo(history int) func(context.Context, *store, float64) (func(int) (time.Duration, error), error) {
	return func(ctx context.Context, s *store, scale float64) (func(int) (time.Duration, error), error) {
		calls := max(int(heat*scale), 8)
		return func(round int) (time.Duration, error) {
			h, err := filled(ctx, s, fmt.Sprintf("w1-%d-%d-%d", history, round, time.Now().UnixNano()), int(float64(history)*scale))
			if err != nil {
				return 0, err
			}
			start := time.Now()
			for i := range calls {
				if err := h.append(ctx, text(1, i)); err != nil {
					return 0, err
				}
			}
			return time.Since(start) / time.Duration(calls), nil
		}, nil
	}
}

// appendToMany has no two goroutines on one session: contest has.
func appendToMany(ctx context.Context, s *store, scale float64) (func(int) (time.Duration, error), error) {
	calls := max(int(heat*scale), 8)
	return func(round int) (time.Duration, error) {
		handles := make([]*handle, 2*goroutines)
		for i := range handles {
			var err error
			if handles[i], err = filled(ctx, s, fmt.Sprintf("w2-%d-%d-%d", round, i, time.Now().UnixNano()), 0); err != nil {
				return 0, err
			}
		}
		start := time.Now()
		err := together(func(g int) error {
			for i := range calls {
				if err := handles[2*g+i%2].append(ctx, text(g, i)); err != nil {
					return err
				}
			}
			return nil
		})
		return time.Since(start) / time.Duration(calls*goroutines), err
	}, nil
}

func read(stored, newest int) func(context.Context, *store, float64) (func(int) (time.Duration, error), error) {
	return func(ctx context.Context, s *store, scale float64) (func(int) (time.Duration, error), error) {
		stored := max(int(float64(stored)*scale), newest, 1)
		h, err := filled(ctx, s, fmt.Sprintf("read-%d-%d", stored, time.Now().UnixNano()), stored)
		if err != nil {
			return nil, err
		}
		call, want := h.all, stored
		if newest > 0 {
			call, want = func(ctx context.Context) ([]string, error) { return h.newest(ctx, newest) }, newest
		}
		return func(int) (time.Duration, error) {
			const calls = 8
			start := time.Now()
			for range calls {
				got, err := call(ctx)
				if err != nil {
					return 0, err
				}
				if len(got) != want || got[want-1] != text(0, stored-1) {
					return 0, fmt.Errorf("read %d messages, want %d, the last one last", len(got), want)
				}
			}
			return time.Since(start) / calls, nil
		}, nil
	}
}

func list(ctx context.Context, s *store, scale float64) (func(int) (time.Duration, error), error) {
	if s.list == nil {
		return nil, errNone
	}
	user := fmt.Sprintf("user-%d", time.Now().UnixNano())
	sessions, want := max(int(10_000*scale), 50), 50
	for i := range sessions {
		if err := s.create(ctx, user, fmt.Sprintf("%s-%d", user, i)); err != nil {
			return nil, err
		}
	}
	return func(int) (time.Duration, error) {
		const calls = 4
		start := time.Now()
		for range calls {
			if got, err := s.list(ctx, user, want); err != nil || got != want {
				return 0, fmt.Errorf("listed %d sessions, want %d: %w", got, want, err)
			}
		}
		return time.Since(start) / calls, nil
	}, nil
}

// together runs f in all goroutines and returns the first error.
func together(f func(g int) error) error {
	errs := make([]error, goroutines)
	var wg sync.WaitGroup
	for g := range goroutines {
		wg.Go(func() { errs[g] = f(g) })
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// race runs a workload on all stores, which take turns, and returns the median round of
// each; 0 for one that does not have the operation.
func race(ctx context.Context, w workload, stores []*store, rounds int, scale float64) ([]time.Duration, error) {
	run := make([]func(int) (time.Duration, error), len(stores))
	for i, s := range stores {
		var err error
		if run[i], err = w.prepare(ctx, s, scale); err != nil && !errors.Is(err, errNone) {
			return nil, err
		}
	}
	took := make([][]time.Duration, len(stores))
	for round := range rounds + 1 {
		for k := range stores {
			i := (k + round) % len(stores)
			if run[i] == nil {
				continue
			}
			d, err := run[i](round)
			if err != nil {
				return nil, err
			}
			if round > 0 { // the first one warms up
				took[i] = append(took[i], d)
			}
		}
	}
	out := make([]time.Duration, len(stores))
	for i := range took {
		if len(took[i]) > 0 {
			slices.Sort(took[i])
			out[i] = took[i][len(took[i])/2]
		}
	}
	return out, nil
}
