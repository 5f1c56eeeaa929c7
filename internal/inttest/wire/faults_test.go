package wire_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"sync"
	"testing"
	"time"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/internal/inttest/call"
	"github.com/sessionstore/sessionstore/internal/inttest/wire"
	"github.com/sessionstore/sessionstore/memory"
	"github.com/sessionstore/sessionstore/verify"
)

// scenario is a call, and what is there before it.
type scenario struct {
	name  string
	setup []call.Call
	call  call.Call
	slow  bool // it moves much: with -full only
	core  bool // also where the server is dear
}

// history is how many messages the sessions begin with: more than MongoDB's tail takes.
const history = 120

var (
	created = call.Call{Kind: call.Create, Tag: "made"}
	filled  = []call.Call{created, {Kind: call.Append, Tag: "a", N: history}}
)

func at(seq int64) *int64 { return &seq }

var scenarios = []scenario{
	{name: "create", core: true, call: call.Call{Kind: call.Create, Tag: "made"}},
	{name: "create over an expired session", setup: []call.Call{{Kind: call.Create, Tag: "old", TTL: time.Microsecond}}, call: created},
	{name: "get", setup: filled, call: call.Call{Kind: call.Get}},
	{name: "list", setup: filled, call: call.Call{Kind: call.List}},
	{name: "messages", setup: filled, call: call.Call{Kind: call.Messages, N: 20}},
	{name: "all messages", setup: filled, call: call.Call{Kind: call.Messages, N: history}},
	{name: "append", core: true, setup: filled, call: call.Call{Kind: call.Append, Tag: "b", N: 1}},
	{name: "append of some", setup: filled, call: call.Call{Kind: call.Append, Tag: "b", N: 3}},
	{name: "append of many", core: true, setup: filled, call: call.Call{Kind: call.Append, Tag: "b", N: 100}},
	{name: "append under a condition", setup: filled, call: call.Call{Kind: call.Append, Tag: "b", N: 2, IfLastSeq: at(history)}},
	{name: "append again", setup: filled, call: call.Call{Kind: call.Append, Tag: "a", N: history}},
	{name: "update", core: true, setup: filled, call: call.Call{Kind: call.Update, Tag: "key", N: 7}},
	{name: "update under a condition", setup: filled, call: call.Call{Kind: call.Update, Tag: "key", N: 7, IfVersion: 1}},
	{name: "pause", setup: filled, call: call.Call{Kind: call.Status, Status: sessionstore.StatusPaused}},
	{name: "close", setup: filled, call: call.Call{Kind: call.Status, Status: sessionstore.StatusClosed, IfVersion: 1}},
	{name: "touch", setup: filled, call: call.Call{Kind: call.Touch}},
	{name: "truncate", core: true, setup: filled, call: call.Call{Kind: call.Truncate, Seq: at(50)}},
	{name: "truncate under a condition", setup: filled, call: call.Call{Kind: call.Truncate, Seq: at(110), IfLastSeq: at(history)}},
	{name: "clear", setup: filled, call: call.Call{Kind: call.Truncate, Seq: at(0)}},
	{name: "fork", core: true, setup: filled, call: call.Call{Kind: call.Fork, To: "child"}},
	{name: "fork at a seq", setup: filled, call: call.Call{Kind: call.Fork, To: "child", Seq: at(60)}},
	{name: "delete", core: true, setup: filled, call: call.Call{Kind: call.Delete}},
	{name: "restore", core: true, call: call.Call{Kind: call.Restore, Tag: "r", N: history}},
	{name: "restore of much", call: call.Call{Kind: call.Restore, Tag: "r", N: 1100, Size: 4500}, slow: true},
	{name: "purge", setup: []call.Call{{Kind: call.Create, Tag: "old", TTL: time.Microsecond}}, call: call.Call{Kind: call.Purge}},
}

// of is the scenario of one session, which no other run has.
func (s scenario) of(id string) (setup []call.Call, c call.Call) {
	for _, c := range s.setup {
		c.ID = id
		setup = append(setup, c)
	}
	c = s.call
	c.ID = id
	if c.To != "" {
		c.To = id + "'s " + c.To
	}
	return setup, c
}

// meets reports whether a scenario is run on the backend.
func (b *backend) meets(s scenario) bool { return *full || !s.slow && (s.core || !b.dear) }

// plan is which faults a call meets.
func (b *backend) plan(s scenario) []wire.Fault {
	faults := []wire.Fault{{Kind: wire.CutReply}}
	if *full || !b.dear {
		faults = append(faults, wire.Fault{Kind: wire.CutRequest}, wire.Fault{Kind: wire.HalfRequest})
	}
	if *full || s.core && !b.dear {
		faults = append(faults, wire.Fault{Kind: wire.LoseReply})
	}
	if *full || s.core && s.call.Kind == call.Append {
		faults = append(faults, wire.Fault{Kind: wire.LateRequest})
	}
	if *full {
		for _, kind := range []wire.Kind{wire.CutRequest, wire.HalfRequest, wire.CutReply, wire.HalfReply} {
			faults = append(faults, wire.Fault{Kind: kind, Down: true})
		}
		faults = append(faults, wire.Fault{Kind: wire.HalfReply}, wire.Fault{Kind: wire.LoseRequest})
	}
	return faults
}

// TestFaults breaks the connection of each call in each of its turns, in each way, until
// the call gets through without. See field report S16: a retry counts once.
func TestFaults(t *testing.T) {
	for _, b := range backends {
		t.Run(b.name, func(t *testing.T) {
			p := b.on(t)
			var total tally
			t.Cleanup(func() { t.Logf("%s: %v", b.name, &total) })
			for _, s := range scenarios {
				if !b.meets(s) {
					continue
				}
				t.Run(s.name, func(t *testing.T) {
					t.Parallel()
					namespace := name()
					r := &runner{
						scenario: s, total: &total, finals: map[string]call.State{},
						direct: p.direct(t, namespace), client: p.proxied(t, namespace),
					}
					for _, f := range b.plan(s) {
						r.turns(t, f)
					}
					r.finish(t)
				})
			}
		})
	}
}

// tally is for the report.
type tally struct {
	mu                           sync.Mutex
	faults, hidden, done, undone int
}

func (a *tally) String() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return fmt.Sprintf("%d faults: %d calls succeeded all the same, %d failed and had happened, %d failed and had not",
		a.faults, a.hidden, a.done, a.undone)
}

// runner breaks one scenario.
type runner struct {
	scenario
	direct sessionstore.SessionStore
	client *proxied
	total  *tally
	runs   int
	finals map[string]call.State // what each run has left, by its session
}

// most is how many turns a call may take.
const most = 100

func (r *runner) turns(t *testing.T, f wire.Fault) {
	t.Helper()
	for f.Turn = 1; f.Turn <= most; f.Turn++ {
		fired := r.run(t, f)
		if !fired && f.Turn == 1 && !silences(f.Kind) {
			t.Errorf("%s: it did not happen in the first turn", f.Kind)
		}
		if !fired || t.Failed() {
			return
		}
	}
	t.Errorf("%s: got more than %d turns", f.Kind, most)
}

// silences reports whether a fault leaves the caller without any answer.
func silences(k wire.Kind) bool {
	return k == wire.LoseRequest || k == wire.LoseReply || k == wire.LateRequest
}

// run makes the call on a session of its own, with the fault. It reports whether it
// happened.
func (r *runner) run(t *testing.T, f wire.Fault) bool {
	t.Helper()
	ctx := t.Context()
	r.runs++
	setup, c := r.of(fmt.Sprintf("%s %d", r.name, r.runs))
	model := newModel(t, setup)
	before := look(t, model, c)
	for _, c := range setup {
		if _, err := c.Do(ctx, r.direct); err != nil {
			t.Fatalf("%v: got %v, want nil", c, err)
		}
	}
	want, err := c.Do(ctx, model)
	if err != nil {
		t.Fatalf("%v on the model: got %v, want nil", c, err)
	}
	after := look(t, model, c)

	store := r.client.reach(t)
	silent := silences(f.Kind)
	r.client.Arm(f)
	got, err := r.make(ctx, c, store, silent)
	fired := r.client.Fired()
	what := fmt.Sprintf("%v, turn %d, %s, down %v", c, f.Turn, f.Kind, f.Down)
	if fired && f.Kind == wire.LoseReply {
		select {
		case <-r.client.Replied(): // else it might be carried out at any time from now
		case <-time.After(hangs):
			t.Fatalf("%s: the server does not answer", what)
		}
	}
	late := fired && f.Kind == wire.LateRequest
	if !late {
		r.client.Heal()
	}
	if r.client.fresh {
		defer r.client.leave(t)
	}
	if !fired && silent && errors.Is(err, context.DeadlineExceeded) {
		t.Logf("%s: too slow for its deadline", what)
		if state := look(t, r.direct, c); !state.Equal(before) && !state.Equal(after) {
			t.Errorf("%s\n  got:  %v\n  want: %v\n  or:   %v", what, state, before, after)
		}
		return false
	}
	r.judgeResult(t, what, c, fired, silent, got, want, err)
	state := look(t, r.direct, c)
	happened := state.Equal(after)
	switch {
	case !happened && !state.Equal(before):
		t.Errorf("%s: half done, error %v\n  got:  %v\n  want: %v\n  or:   %v", what, err, state, before, after)
	case !happened && call.Class(err) != call.Unknown:
		t.Errorf("%s: got error %v, and it is not stored\n  got:  %v\n  want: %v", what, err, state, after)
	}
	if fired {
		r.count(c, err, happened)
	}
	if !happened {
		model = newModel(t, setup)
	}
	r.again(t, what, c, model)
	if late {
		r.client.Heal()
	}
	r.finals[c.ID] = look(t, model, c)
	r.client.wantConns(t, maxConns+r.client.watch)
	return fired
}

// make makes the call, with a deadline if its server may become silent.
func (r *runner) make(ctx context.Context, c call.Call, store sessionstore.SessionStore, silent bool) (call.Outcome, error) {
	limit := hangs
	switch {
	case silent && r.client.dear:
		limit = 3 * deadline // else it ends before the fault
	case silent:
		limit = deadline
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return c.Do(ctx, store)
}

func (r *runner) count(c call.Call, err error, happened bool) {
	r.total.mu.Lock()
	defer r.total.mu.Unlock()
	r.total.faults++
	switch {
	case err == nil:
		r.total.hidden++
	case happened && !c.Reads():
		r.total.done++
	default:
		r.total.undone++
	}
}

// judgeResult judges what the caller is told.
func (r *runner) judgeResult(t *testing.T, what string, c call.Call, fired, silent bool, got, want call.Outcome, err error) {
	t.Helper()
	checkError(t, what, err)
	switch {
	case err == nil && c.Kind == call.Purge:
		// How many it removed is not known to one that was sent again.
	case err == nil && !reflect.DeepEqual(got, want):
		t.Errorf("%s\n  got:  %+v\n  want: %+v", what, got, want)
	case err != nil && !fired:
		t.Errorf("%s, which did not happen: got %v, want nil", what, err)
	case err != nil && silent && !errors.Is(err, context.DeadlineExceeded):
		t.Errorf("%s: got %v, want context.DeadlineExceeded", what, err)
	case call.Class(err) == call.None || call.Class(err) == call.Unknown:
	case r.client.resends && c.Kind == call.Delete && errors.Is(err, sessionstore.ErrSessionNotFound):
		// As documented: the driver has sent it twice.
	default:
		t.Errorf("%s: got %v, want nil or an error of the connection", what, err)
	}
}

// again makes the call on a store and on the model that equals it.
func (r *runner) again(t *testing.T, what string, c call.Call, model sessionstore.SessionStore) {
	t.Helper()
	want, wantErr := c.Do(t.Context(), model)
	got, err := c.Do(t.Context(), r.direct)
	if c.Kind == call.Purge {
		got, want = call.Outcome{}, call.Outcome{} // what is left to remove, nobody else sees
	}
	if call.Class(err) != call.Class(wantErr) || !reflect.DeepEqual(got, want) {
		t.Errorf("%s, made again\n  got:  %+v, %v\n  want: %+v, %v", what, got, err, want, wantErr)
	}
	state, wanted := look(t, r.direct, c), look(t, model, c)
	if !state.Equal(wanted) {
		t.Errorf("%s, made again\n  got:  %v\n  want: %v", what, state, wanted)
	}
}

// finish checks that nothing that was on its way has changed anything afterwards, and all
// invariants.
func (r *runner) finish(t *testing.T) {
	t.Helper()
	ctx := t.Context()
	r.client.leave(t)
	for id, want := range r.finals {
		_, c := r.of(id)
		if got := look(t, r.direct, c); !got.Equal(want) {
			t.Errorf("%q, at the end\n  got:  %v\n  want: %v", id, got, want)
		}
	}
	report, err := verify.Store(ctx, r.direct, nil)
	if err := errors.Join(err, report.Err()); err != nil {
		t.Errorf("verify.Store: got %v, want nil", err)
	}
}

// newModel is what a store is after some calls.
func newModel(t *testing.T, setup []call.Call) sessionstore.SessionStore {
	t.Helper()
	model, err := memory.New(nil)
	if err != nil {
		t.Fatalf("New: got %v, want nil", err)
	}
	for _, c := range setup {
		if _, err := c.Do(t.Context(), model); err != nil {
			t.Fatalf("%v on the model: got %v, want nil", c, err)
		}
	}
	return model
}

func look(t *testing.T, store sessionstore.SessionStore, c call.Call) call.State {
	t.Helper()
	state, err := call.Look(t.Context(), store, c.IDs()...)
	if err != nil {
		t.Fatalf("looking at %v: got %v, want nil", c, err)
	}
	return maps.Clone(state)
}

// TestSlow delays all that passes, and parts it: nothing changes but the time it takes.
func TestSlow(t *testing.T) {
	for _, b := range backends {
		t.Run(b.name, func(t *testing.T) {
			p := b.on(t)
			for _, s := range scenarios {
				if !b.meets(s) {
					continue
				}
				t.Run(s.name, func(t *testing.T) {
					t.Parallel()
					namespace := name()
					r := &runner{scenario: s, total: &tally{}, finals: map[string]call.State{},
						direct: p.direct(t, namespace), client: p.proxied(t, namespace)}
					r.client.Slow(time.Millisecond)
					if fired := r.run(t, wire.Fault{}); fired {
						t.Error("got a fault, want none")
					}
					r.finish(t)
				})
			}
		})
	}
}
