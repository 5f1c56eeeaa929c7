package wire_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/internal/inttest/call"
	"github.com/sessionstore/sessionstore/verify"
)

// TestPartition lets nothing pass while many calls are made: each returns when its context
// ends, and when the partition does the same store works again.
func TestPartition(t *testing.T) {
	for _, b := range backends {
		t.Run(b.name, func(t *testing.T) {
			p := b.on(t)
			for _, end := range []struct {
				name    string
				context func() (context.Context, context.CancelFunc)
				want    error
			}{
				{"deadline", func() (context.Context, context.CancelFunc) {
					return context.WithTimeout(t.Context(), deadline)
				}, context.DeadlineExceeded},
				{"cancel", func() (context.Context, context.CancelFunc) {
					ctx, cancel := context.WithCancel(t.Context())
					stop := time.AfterFunc(deadline, cancel)
					return ctx, func() { stop.Stop(); cancel() }
				}, context.Canceled},
			} {
				t.Run(end.name, func(t *testing.T) {
					namespace := name()
					partition(t, p.direct(t, namespace), p.proxied(t, namespace), end.context, end.want)
				})
			}
		})
	}
}

func partition(t *testing.T, direct sessionstore.SessionStore, client *proxied, end func() (context.Context, context.CancelFunc), want error) {
	var setups, calls []call.Call
	for i, s := range scenarios {
		if s.slow || !client.meets(s) {
			continue
		}
		setup, c := s.of(fmt.Sprint("s", i))
		setups, calls = append(setups, setup...), append(calls, c)
	}
	for _, c := range setups {
		if _, err := c.Do(t.Context(), direct); err != nil {
			t.Fatalf("%v: got %v, want nil", c, err)
		}
	}
	store := client.reach(t)
	client.Partition()
	errs := make([]error, len(calls))
	var all sync.WaitGroup
	for i, c := range calls {
		all.Go(func() {
			ctx, cancel := end()
			defer cancel()
			_, errs[i] = c.Do(ctx, store)
		})
	}
	returned := make(chan struct{})
	go func() { all.Wait(); close(returned) }()
	select {
	case <-returned:
	case <-time.After(hangs):
		t.Fatalf("calls whose context has ended have not returned after %v", hangs)
	}
	for i, c := range calls {
		checkError(t, c.String(), errs[i])
		if !errors.Is(errs[i], want) {
			t.Errorf("%v in a partition: got %v, want %v", c, errs[i], want)
		}
	}
	client.Heal()
	store = client.reach(t)
	for i, c := range calls {
		// Nothing of them has reached the server: it is as if they had not been made.
		if _, err := c.Do(t.Context(), store); err != nil {
			t.Errorf("%v after the partition: got %v, want nil (before: %v)", c, err, errs[i])
		}
	}
	report, err := verify.Store(t.Context(), direct, nil)
	if err := errors.Join(err, report.Err()); err != nil {
		t.Errorf("verify.Store: got %v, want nil", err)
	}
	client.wantConns(t, maxConns+client.watch)
}

// flakyTurns is more than it takes to connect and append.
const flakyTurns = 7

// TestFlaky cuts one connection after another under writers to one session, who make each
// append again until it is acknowledged: all are there once, and where they were told.
func TestFlaky(t *testing.T) {
	for _, b := range backends {
		t.Run(b.name, func(t *testing.T) {
			p := b.on(t)
			namespace := name()
			direct, client := p.direct(t, namespace), p.proxied(t, namespace)
			if _, err := direct.CreateSession(t.Context(), sessionstore.Session{ID: "s"}); err != nil {
				t.Fatalf("CreateSession: got %v, want nil", err)
			}
			store := client.reach(t)
			writers, appends := 8, 10
			switch {
			case *full:
				appends = 200
			case p.dear:
				appends = 5
			}
			client.Every(flakyTurns)
			told, failures := flaky(t, store, writers, appends)
			cuts := client.Every(0)
			if cuts == 0 {
				t.Error("got no connection cut")
			}
			compareTold(t, direct, told)
			report, err := verify.Store(t.Context(), direct, nil)
			if err := errors.Join(err, report.Err()); err != nil {
				t.Errorf("verify.Store: got %v, want nil", err)
			}
			client.reach(t)
			t.Logf("%s: %d connections cut, %d appends acknowledged, of which %d failed before", b.name, cuts, len(told), failures)
		})
	}
}

// flaky appends from some writers at once. It returns what they were told is stored, and
// how many calls failed.
func flaky(t *testing.T, store sessionstore.SessionStore, writers, appends int) (told [][]sessionstore.Message, failures int) {
	ctx, cancel := context.WithTimeout(t.Context(), 4*hangs)
	defer cancel()
	var mu sync.Mutex
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			for n := range appends {
				c := call.Call{Kind: call.Append, ID: "s", Tag: fmt.Sprintf("w%d-%d", w, n), N: 1 + n%3}
				out, err := c.Do(ctx, store)
				for err != nil && ctx.Err() == nil {
					mu.Lock()
					failures++
					mu.Unlock()
					checkError(t, c.String(), err)
					if call.Class(err) != call.Unknown {
						break
					}
					out, err = c.Do(ctx, store)
				}
				if err != nil {
					t.Errorf("%v: got %v, want nil", c, err)
					return
				}
				mu.Lock()
				told = append(told, out.Messages)
				mu.Unlock()
			}
		})
	}
	all.Wait()
	return told, failures
}

// compareTold checks that a history is what the writers were told.
func compareTold(t *testing.T, store sessionstore.SessionStore, told [][]sessionstore.Message) {
	t.Helper()
	state, err := call.Look(t.Context(), store, "s")
	if err != nil {
		t.Fatalf("Look: got %v, want nil", err)
	}
	want := slices.Concat(told...)
	slices.SortFunc(want, func(a, b sessionstore.Message) int { return int(a.Seq - b.Seq) })
	got := state["s"].Messages
	for i := range max(len(got), len(want)) {
		if i >= len(got) || i >= len(want) || got[i].Seq != int64(i+1) || got[i].Seq != want[i].Seq || got[i].ID != want[i].ID {
			t.Fatalf("the history and what the writers were told part at %d of %d and %d\n  got:  %v\n  want: %v",
				i+1, len(got), len(want), nth(got, i), nth(want, i))
		}
	}
}

// nth names one message.
func nth(msgs []sessionstore.Message, i int) string {
	if i >= len(msgs) {
		return "none"
	}
	return fmt.Sprintf("%d %q", msgs[i].Seq, msgs[i].ID)
}
