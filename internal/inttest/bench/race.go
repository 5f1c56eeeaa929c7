package bench

import (
	"context"
	"fmt"
	"runtime"
	"runtime/pprof"
	"slices"
	"time"
)

// Sample is what a candidate took for the calls of one heat.
type Sample struct {
	Calls   int
	Elapsed time.Duration // or the processor time, if the lane counts that
	Allocs  uint64
	Bytes   uint64 // allocated
	Trips   int64
}

// Round is the heats of a candidate in one round.
type Round []Sample

// medianNanos is what a call took in the median heat: one that the machine interrupted for
// something else does not count.
func (r Round) medianNanos() float64 {
	each := make([]float64, len(r))
	for i, s := range r {
		each[i] = float64(s.Elapsed) / float64(s.Calls)
	}
	return median(each)
}

// meanNanos is what a call took in the mean: what happens in few heats, such as a garbage
// collection, is paid for by all.
func (r Round) meanNanos() float64 {
	return r.perCall(func(s Sample) float64 { return float64(s.Elapsed) })
}

// perCall is the mean of the round for one call.
func (r Round) perCall(of func(Sample) float64) float64 {
	var sum float64
	for _, s := range r {
		sum += of(s)
	}
	return sum / float64(r.calls())
}

func (r Round) allocs() float64 {
	return r.perCall(func(s Sample) float64 { return float64(s.Allocs) })
}
func (r Round) bytes() float64 { return r.perCall(func(s Sample) float64 { return float64(s.Bytes) }) }
func (r Round) trips() float64 { return r.perCall(func(s Sample) float64 { return float64(s.Trips) }) }

func (r Round) calls() (n int) {
	for _, s := range r {
		n += s.Calls
	}
	return n
}

// median returns the middle one.
func median(values []float64) float64 {
	slices.Sort(values)
	return values[len(values)/2]
}

// Lane is a candidate in one workload, and its rounds.
type Lane struct {
	Name   string
	Rounds []Round
	CPU    bool // processor time is what counts

	w       Workload
	prepare func(context.Context, Workload) (call, error)
	call    call
	made    int // calls since it was prepared
}

// emptySession is the lane of a store that appends to a session without a history.
const emptySession = "history=0"

// lanes are those of the candidates that do the workload.
func lanes(w Workload, d *database) []*Lane {
	var out []*Lane
	add := func(name string, c candidate, w Workload) {
		if prepare := c.of(w.kind); prepare != nil {
			out = append(out, &Lane{Name: name, CPU: d.cpu, w: w, prepare: prepare})
		}
	}
	add(storeName, d.store, w)
	for _, c := range d.floors {
		add(c.name, c, w)
	}
	if w.flat {
		empty := w
		empty.history = 0
		add(emptySession, d.store, empty)
	}
	return out
}

// race lets the candidates of a database do a workload by turns. A round takes the budget,
// with what the candidates are given, unless the workload asks for more.
func race(ctx context.Context, w Workload, d *database, rounds int, budget time.Duration) ([]*Lane, error) {
	all := lanes(w, d)
	turn := 0
	pass := func(keep func(*Lane, Sample)) error {
		if err := ctx.Err(); err != nil { // which not every candidate looks at
			return err
		}
		entries, err := w.entries()
		if err != nil {
			return err
		}
		if err := renew(ctx, all, d); err != nil {
			return err
		}
		for _, l := range inTurn(all, turn) {
			s, err := l.heat(ctx, d, entries)
			if err != nil {
				return err
			}
			keep(l, s)
		}
		turn++
		return nil
	}
	// The first makes connections and prepares statements.
	if err := pass(func(*Lane, Sample) {}); err != nil {
		return nil, err
	}
	for round := range rounds {
		for _, l := range all {
			l.Rounds = append(l.Rounds, nil)
		}
		runtime.GC()
		start := time.Now()
		for done := 0; done < w.passes || time.Since(start) < budget; done++ {
			if err := pass(func(l *Lane, s Sample) { l.Rounds[round] = append(l.Rounds[round], s) }); err != nil {
				return nil, err
			}
		}
	}
	for _, l := range all {
		l.call = nil // and what it holds
	}
	return all, nil
}

// inTurn returns the lanes in the order of a pass. It moves on with each pass, and turns
// round once all have been first, so that nobody always comes after the same.
func inTurn(all []*Lane, turn int) []*Lane {
	first := turn % len(all)
	out := slices.Concat(all[first:], all[:first])
	if turn/len(all)%2 == 1 {
		slices.Reverse(out)
	}
	return out
}

// renew prepares those lanes that need it, and then has each make a call that is not
// measured: the first one after new statistics plans its statements again.
func renew(ctx context.Context, all []*Lane, d *database) error {
	renewed := false
	for _, l := range all {
		if l.call != nil && !l.w.renewed(l.made) {
			continue
		}
		renewed = true
		var err error
		if l.call, err = l.prepare(ctx, l.w); err != nil {
			return fmt.Errorf("%s: preparing %s: %w", l.Name, l.w.Name, err)
		}
		l.made = 0
	}
	if !renewed {
		return nil
	}
	if d.settle != nil {
		if err := d.settle(ctx); err != nil {
			return err
		}
	}
	for _, l := range all {
		one := l.w
		one.heat = 1
		entries, err := one.entries()
		if err != nil {
			return err
		}
		if err := l.call(&entries[0]); err != nil {
			return fmt.Errorf("%s: %s: %w", l.Name, l.w.Name, err)
		}
	}
	return nil
}

// heat makes the calls for all entries.
func (l *Lane) heat(ctx context.Context, d *database, entries []entry) (s Sample, err error) {
	var before, after runtime.MemStats
	trips := d.trips.Load()
	pprof.Do(ctx, pprof.Labels("candidate", l.Name, "workload", l.w.Name), func(context.Context) {
		runtime.ReadMemStats(&before)
		clock := wallTime
		if l.CPU {
			clock = cpuTime
		}
		start := clock()
		if l.w.writers > 1 {
			err = together(len(entries), func(i int) error { return l.call(&entries[i]) })
		} else {
			for i := range entries {
				if err = l.call(&entries[i]); err != nil {
					break
				}
			}
		}
		s.Elapsed = clock() - start
		runtime.ReadMemStats(&after)
	})
	if err != nil {
		return s, fmt.Errorf("%s: %s: %w", l.Name, l.w.Name, err)
	}
	l.made += len(entries)
	s.Calls = len(entries)
	s.Allocs, s.Bytes = after.Mallocs-before.Mallocs, after.TotalAlloc-before.TotalAlloc
	s.Trips = d.trips.Load() - trips
	return s, nil
}
