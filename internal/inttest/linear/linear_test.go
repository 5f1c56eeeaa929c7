package linear_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/internal/inttest/backends"
	"github.com/sessionstore/sessionstore/internal/inttest/linear"
	"github.com/sessionstore/sessionstore/storetest"
	"github.com/sessionstore/sessionstore/verify"
)

// The variables of the environment by which make linear asks for more.
const (
	factorVar = "LINEAR_FACTOR" // by which the histories are more than in a quick run
	seedVar   = "LINEAR_SEED"   // of the first history
	dirVar    = "LINEAR_DIR"    // for the histories that have no order
)

// quick is how many histories a backend has of each kind of fault in some seconds.
var quick = map[string]uint64{"memory": 12, "bolt": 12, "redis": 6, "postgres": 1, "mongo": 1}

func number(t *testing.T, variable string, otherwise uint64) uint64 {
	t.Helper()
	text := os.Getenv(variable)
	if text == "" {
		return otherwise
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("%s: got %q, want a number", variable, text)
	}
	return n
}

// TestLinear makes histories on every backend under every kind of fault.
func TestLinear(t *testing.T) {
	for _, b := range backends.All() {
		t.Run(b.Name, func(t *testing.T) {
			for _, f := range faults {
				if f.needs == nil || f.needs(b) {
					t.Run(f.name, func(t *testing.T) { histories(t, b, f) })
				}
			}
		})
	}
}

// fault is what goes wrong during a history.
type fault struct {
	name         string
	needs        func(backends.Backend) bool // nil: nothing
	cancel, lose float64                     // the chance of a call
	cut          float64                     // the chance of a read or a write of a connection
	kill         bool
	again        bool // drivers may send again what they have lost the reply to
	jump         float64
}

var faults = []fault{
	{name: "none"},
	{name: "clock", jump: 0.1},
	{name: "cancel", cancel: 0.15, jump: 0.05},
	{name: "lost answers", lose: 0.1, jump: 0.05},
	{name: "cut connections", needs: server, cut: 0.02, jump: 0.05},
	{name: "killed connections", needs: kills, kill: true},
	{name: "everything", cancel: 0.05, lose: 0.03, cut: 0.01, kill: true, jump: 0.1},
	{name: "sent again", needs: resends, cut: 0.02, again: true, jump: 0.05},
}

func server(b backends.Backend) bool  { return b.Server }
func kills(b backends.Backend) bool   { return b.Kills }
func resends(b backends.Backend) bool { return b.Resends }

// allowed is what a backend's documentation takes back of the contract.
func allowed(backend string, f fault, calls []linear.Call) []linear.Call {
	switch {
	case backend == "mongo":
		return linear.CreateInSteps(calls)
	case backend == "redis" && f.again:
		return linear.SentAgain(calls)
	}
	return calls
}

func histories(t *testing.T, b backends.Backend, f fault) {
	data := b.New(t)
	seed := number(t, seedVar, rand.Uint64()>>1)
	dice := linear.NewDice(seed)
	cutter := &linear.Cutter{Dice: dice, Chance: f.cut}
	cutter.Calm()
	clock := linear.NewClock()
	o := backends.Options{Now: clock.Now, Dial: cutter.Dial, Once: !f.again}
	inner := []sessionstore.SessionStore{data.Open(t, o), data.Open(t, o)}
	var lossy atomic.Bool
	var handles []sessionstore.SessionStore
	for _, s := range inner {
		decide := dice.Lossy(f.lose)
		handles = append(handles, storetest.NewFaulty(s, func(c storetest.Call) storetest.Fault {
			if !lossy.Load() {
				return storetest.Pass
			}
			return decide(c)
		}))
	}
	var killed atomic.Int64
	var tally linear.Tally
	n := quick[b.Name] * number(t, factorVar, 1)
	for i := range n {
		p := linear.Plan{
			Seed: seed + i, Name: fmt.Sprint("h", i), Handles: handles, Clock: clock,
			Sessions: 2 + int(i%2), Callers: 4 + int(i%5), Calls: 24,
			Cancel: f.cancel, Within: 3 * time.Millisecond, Jump: f.jump,
		}
		if f.kill && b.Kills {
			p.Strike = func() {
				killed.Add(1)
				if err := data.Kill(t.Context()); err != nil {
					t.Errorf("ending the connections: got %v, want nil", err)
				}
			}
		}
		p.Calm = func() {
			cutter.Calm()
			lossy.Store(false)
			reconnect(t, inner)
		}
		cutter.Rage()
		lossy.Store(true)
		calls := linear.Run(t.Context(), p)
		tally.Add(calls)
		if err := linear.Check(allowed(b.Name, f, calls), os.Getenv(dirVar)); err != nil {
			t.Fatalf("history %d, %s=%d: %v", i, seedVar, seed, err)
		}
	}
	t.Logf("%d histories: %v; %d connections cut, %d times all were ended", n, &tally, cutter.Cuts.Load(), killed.Load())
	whole := data.Open(t, backends.Options{Now: clock.Now}) // without connections that were broken and lie in a pool
	report, err := verify.Store(t.Context(), whole, nil)
	if err != nil || report.Err() != nil {
		t.Errorf("verify.Store after the histories, %s=%d: got %v, %v, want no problem", seedVar, seed, err, report.Err())
	}
}

// reconnect makes calls until the pools have lost what was broken, so that reads at a
// history's end are answered.
func reconnect(t *testing.T, stores []sessionstore.SessionStore) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for _, s := range stores {
		for good := 0; good < 8; {
			if _, err := s.ListSessions(ctx, sessionstore.SessionQuery{Limit: 1}); err == nil {
				good++
			} else if ctx.Err() != nil {
				t.Fatalf("ListSessions with whole connections: got %v, want nil", err)
			}
		}
	}
}
