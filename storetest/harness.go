package storetest

import (
	"context"
	crand "crypto/rand"
	"encoding/hex"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sessionstore/sessionstore"
)

// env is what a case works with. It is a testing.TB that records.
type env struct {
	testing.TB
	rec *recorder

	rule    rule
	name    string // of the case
	backend Backend
	ctx     context.Context // done when the case is over
	clock   *clock
	seed    uint64
	rng     *rand.Rand // from the seed and the case's name; for one goroutine at a time

	namespace string
	limit     time.Duration // how long the case may take

	mu       sync.Mutex
	opened   bool     // the case has data to be verified at its end
	packages []string // of the stores that it opened
}

// epoch is where the clock of a case stands at first. It lies in the future, so that a
// server which cleans up by its own clock does so later than the store's clock allows.
var epoch = time.Date(2040, 1, 2, 3, 4, 5, 678901000, time.UTC)

// clock is a clock that is moved by hand.
type clock struct {
	mu  sync.Mutex
	now time.Time

	racing atomic.Int32  // calls of env.together that run
	calls  atomic.Uint32 // of Now while they do
}

// Now is what a store calls. While goroutines race it lets others run before it returns:
// a store that looks at the clock between a check and the act that relies on it, or
// before a lock, meets there what it would meet one day.
func (c *clock) Now() time.Time {
	c.mu.Lock()
	now := c.now
	c.mu.Unlock()
	if c.racing.Load() > 0 {
		runtime.Gosched()
		if c.calls.Add(1)%8 == 0 {
			for start := time.Now(); time.Since(start) < 20*time.Microsecond; {
				runtime.Gosched()
			}
		}
	}
	return now
}

func (c *clock) Set(t time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = t
}

// Advance moves the clock, back if d is negative, and returns the new time.
func (c *clock) Advance(d time.Duration) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
	return c.now
}

const (
	seedVar     = "STORETEST_SEED"     // a failure names it; a run with it draws the same
	watchdogVar = "STORETEST_WATCHDOG" // how long a case may take, such as 10m
)

// runSeed is the seed of this process.
var runSeed = sync.OnceValue(func() uint64 {
	if v := os.Getenv(seedVar); v != "" {
		if n, err := strconv.ParseUint(v, 10, 64); err == nil {
			return n
		}
		panic(fmt.Sprintf("storetest: %s=%q is no unsigned number", seedVar, v))
	}
	return rand.Uint64()
})

// watchdog is how long a case may take before it counts as hung. It is no judgement of
// speed.
var watchdog = sync.OnceValue(func() time.Duration {
	if v := os.Getenv(watchdogVar); v != "" {
		d, err := time.ParseDuration(v)
		if err != nil || d <= 0 {
			panic(fmt.Sprintf("storetest: %s=%q is no duration above 0", watchdogVar, v))
		}
		return d
	}
	return 4 * time.Minute
})

// caseLimit is the watchdog's time for a case of tb's test, cut such that a hang is told
// before the test's own deadline ends the process without a word about it.
func caseLimit(tb testing.TB) time.Duration {
	limit := watchdog()
	if t, ok := tb.(interface{ Deadline() (time.Time, bool) }); ok {
		if at, ok := t.Deadline(); ok {
			left := time.Until(at)
			limit = min(limit, max(left-min(10*time.Second, left/4), time.Second))
		}
	}
	return limit
}

// runCase runs one case on a recorder, and gives up on it when it hangs.
func runCase(tb testing.TB, b Backend, r rule, k kase) outcome {
	rec := newRecorder(tb)
	e := newEnv(rec, b, r, k)
	e.limit = caseLimit(tb)
	done := make(chan struct{})
	go func() {
		defer close(done)
		rec.contain(func() { k.run(e) })
		if !rec.Failed() && !rec.Skipped() {
			rec.contain(e.verify)
		}
		rec.cleanup()
	}()
	dog := time.NewTimer(e.limit)
	defer dog.Stop()
	hung := false
	select {
	case <-done:
	case <-dog.C:
		hung = true
		e.mu.Lock()
		packages := slices.Clone(e.packages)
		e.mu.Unlock()
		rec.Errorf("got a case still running after %v, want it done (%s and the test's -timeout allow more); goroutines, those in the store first:\n%s",
			e.limit.Round(time.Millisecond), watchdogVar, stacks(packages))
	}
	o := e.outcome()
	o.hung = hung
	return o
}

func newEnv(rec *recorder, b Backend, r rule, k kase) *env {
	h := fnv.New64a()
	fmt.Fprintf(h, "%s/%s", r.id, k.name)
	e := &env{
		TB: rec, rec: rec, rule: r, name: k.name, backend: b, ctx: rec.Context(),
		clock: &clock{now: epoch}, seed: runSeed(), limit: watchdog(),
		rng: rand.New(rand.NewPCG(runSeed(), h.Sum64())),
	}
	// Not from the seed: a run that is repeated must not meet what the last one left.
	e.namespace = "storetest-" + freshHex()
	return e
}

func freshHex() string {
	var b [8]byte
	_, _ = crand.Read(b[:]) // never fails: see its documentation
	return hex.EncodeToString(b[:])
}

// outcome closes the record and says what it holds.
func (e *env) outcome() outcome {
	r := e.rec
	r.mu.Lock()
	defer r.mu.Unlock()
	r.done = true
	o := outcome{failed: r.failed, skipped: r.skipped}
	for _, n := range r.notes {
		o.notes = append(o.notes, e.name+": "+n)
	}
	if !r.failed {
		return o
	}
	text := strings.TrimSuffix(r.text.String(), "\n")
	if more := r.failures - enough; more > 0 {
		text += fmt.Sprintf("\n… and %d more", more)
	}
	if r.log.Len() > 0 {
		text += "\nlog:\n" + strings.TrimSuffix(r.log.String(), "\n")
	}
	o.text = fmt.Sprintf("\ncase %q\n%s\n", e.name, indent(text))
	return o
}

// about says, under the failures of a rule, what the rule is and how to run it again.
func about(r rule, test string) string {
	return fmt.Sprintf("\nrule:  [%s] %s\nagain: %s=%d go test -run '%s'\n", r.id, r.sentence, seedVar, runSeed(), runPattern(test))
}

func indent(s string) string { return "  " + strings.ReplaceAll(s, "\n", "\n  ") }

// runPattern is the -run pattern that selects exactly the test of that name.
func runPattern(name string) string {
	parts := strings.Split(name, "/")
	for i, p := range parts {
		parts[i] = "^" + regexp.QuoteMeta(p) + "$"
	}
	return strings.Join(parts, "/")
}

// config is the Config of the case's own data.
func (e *env) config() Config { return Config{Namespace: e.namespace, Now: e.clock.Now} }

// open returns a store over the case's own data. Called again it returns another handle
// on the same data. It is closed when the case is over.
func (e *env) open() sessionstore.SessionStore { return e.openIn(e.namespace) }

// open2 is open, for the second handle of a case that is about two.
func (e *env) open2() sessionstore.SessionStore { return e.open() }

// openIn returns a store over the data of another namespace.
func (e *env) openIn(namespace string) sessionstore.SessionStore {
	return e.start(e.backend.Open, "Open", Config{Namespace: namespace, Now: e.clock.Now})
}

// reopen returns a store over the case's own data as after a restart, or false where the
// backend cannot do that. The handles before it must be closed.
func (e *env) reopen() (sessionstore.SessionStore, bool) {
	if e.backend.Reopen == nil {
		return nil, false
	}
	return e.start(e.backend.Reopen, "Reopen", e.config()), true
}

func (e *env) start(open func(testing.TB, Config) sessionstore.SessionStore, name string, c Config) sessionstore.SessionStore {
	s := open(e.TB, c)
	if s == nil {
		e.Fatalf("Backend.%s(%q): got nil, want a store, or a call of tb.Fatal", name, c.Namespace)
	}
	e.Cleanup(func() {
		if err := s.Close(); err != nil {
			e.Errorf("Close(): got %v, want nil", err)
		}
	})
	e.mu.Lock()
	defer e.mu.Unlock()
	e.opened = e.opened || c.Namespace == e.namespace
	if pkg := packageOf(s); pkg != "" && !slices.Contains(e.packages, pkg) {
		e.packages = append(e.packages, pkg)
	}
	return s
}

// notExercised records that a part of the case could not be run, and why. The report
// shows it.
func (e *env) notExercised(format string, args ...any) { e.rec.note(fmt.Sprintf(format, args...)) }

// raceCalls bounds a loop of calls that another call is to put an end to: a fast store may
// let that one wait for long.
const raceCalls = 2000

// together runs f(0) to f(n-1) at once behind a start gate and waits for all of them.
// What they report by FailNow ends only the one; together then ends the case.
func (e *env) together(n int, f func(i int)) {
	e.clock.racing.Add(1)
	defer e.clock.racing.Add(-1)
	gate := make(chan struct{})
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			<-gate
			e.rec.watch(func() { f(i) })
		})
	}
	close(gate)
	wg.Wait()
	if e.Failed() {
		e.FailNow()
	}
}

// verify checks every invariant of the case's data, as its last step.
func (e *env) verify() {
	e.mu.Lock()
	opened := e.opened
	e.mu.Unlock()
	if opened {
		verifyInvariants(e)
	}
}
