package storetest

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sessionstore/sessionstore"
)

// event is one call of a recorded concurrent history of one session that is only
// appended to. Start and end are stamps of one counter: if one call's end is before
// another's start, it had returned before the other began.
type event struct {
	actor      string
	start, end int64
	read       bool
	err        error

	// Of an append: the ids given, and what came back. Of a read: what it saw.
	ids  []string
	seqs []int64

	// Of a read only: it asked for the messages after Seq after, and saw these counters.
	after, lastSeq, count int64
}

func (ev event) String() string {
	if ev.read {
		return fmt.Sprintf("read by %s [%d,%d] after %d: last_seq %d, message_count %d, seqs %v", ev.actor, ev.start, ev.end, ev.after, ev.lastSeq, ev.count, ev.seqs)
	}
	return fmt.Sprintf("append by %s [%d,%d]: ids %q, seqs %v", ev.actor, ev.start, ev.end, ev.ids, ev.seqs)
}

// at is the LastSeq that the call saw or left: its place in the one order there must be.
func (ev event) at() int64 {
	if ev.read {
		return ev.lastSeq
	}
	return ev.seqs[len(ev.seqs)-1]
}

// checkHistory returns why the history is not linearizable, or nil if it is. Every append
// is told its place by its Seqs, so there is only one candidate for the order of the
// appends, and a read belongs directly behind the append whose last Seq it saw: O(n log n)
// for n calls and messages.
func checkHistory(events []event) []string {
	var bad []string
	fail := func(format string, args ...any) { bad = append(bad, fmt.Sprintf(format, args...)) }

	total := 0
	for _, ev := range events {
		if ev.err != nil {
			fail("%v: got the error %v, want none", ev, ev.err)
		} else if !ev.read {
			total += len(ev.ids)
		}
	}
	// Who wrote what: ids[i] is the message of Seq i+1.
	ids := make([]string, total)
	boundary := map[int64]bool{0: true}
	for _, ev := range events {
		if ev.read || ev.err != nil {
			continue
		}
		if len(ev.seqs) != len(ev.ids) || len(ev.ids) == 0 {
			fail("%v: got %d messages, want %d", ev, len(ev.seqs), len(ev.ids))
			continue
		}
		for i, seq := range ev.seqs {
			switch {
			case seq < 1 || seq > int64(total):
				fail("%v: got seq %d, want 1 to %d, the number of messages appended: none lost, no gap", ev, seq, total)
			case ids[seq-1] != "":
				fail("%v: got seq %d, which message %q got too", ev, seq, ids[seq-1])
			default:
				ids[seq-1] = ev.ids[i]
			}
			if seq != ev.seqs[0]+int64(i) {
				fail("%v: got a batch torn apart, want Seqs in one piece, in the order given", ev)
			}
		}
		boundary[ev.at()] = true
	}
	if len(bad) > 0 {
		return bad // without one order of the messages there is nothing to compare reads with
	}
	for _, ev := range events {
		if ev.read {
			bad = append(bad, checkRead(ev, ids, boundary)...)
		}
	}
	if len(bad) > 0 {
		return bad
	}
	return checkOrder(events)
}

// checkRead holds what a read saw against the messages as their Seqs order them.
func checkRead(ev event, ids []string, boundary map[int64]bool) []string {
	var bad []string
	if ev.count != ev.lastSeq {
		bad = append(bad, fmt.Sprintf("%v: got message_count %d, want last_seq %d", ev, ev.count, ev.lastSeq))
	}
	if ev.lastSeq < 0 || ev.lastSeq > int64(len(ids)) || !boundary[ev.lastSeq] {
		return append(bad, fmt.Sprintf("%v: got last_seq %d, which no append left: a batch was seen in part", ev, ev.lastSeq))
	}
	if want := max(0, ev.lastSeq-ev.after); int64(len(ev.seqs)) != want {
		return append(bad, fmt.Sprintf("%v: got %d messages, want the %d up to its own last_seq", ev, len(ev.seqs), want))
	}
	for i, seq := range ev.seqs {
		if want := ev.after + 1 + int64(i); seq != want || ev.ids[i] != ids[want-1] {
			return append(bad, fmt.Sprintf("%v: got message %q at seq %d, want %q at seq %d", ev, ev.ids[i], seq, ids[want-1], want))
		}
	}
	return bad
}

// checkOrder puts the calls in the one order that their values allow, and looks for a call
// that had returned before one placed ahead of it began.
func checkOrder(events []event) []string {
	order := slices.Clone(events)
	slices.SortStableFunc(order, func(a, b event) int {
		if c := cmp.Compare(a.at(), b.at()); c != 0 {
			return c
		}
		if a.read != b.read {
			if b.read {
				return -1 // the append, then the reads of what it left
			}
			return 1
		}
		return cmp.Compare(a.start, b.start)
	})
	var bad []string
	var latest event // of those ahead, the one that began last
	for i, ev := range order {
		if i > 0 && ev.end < latest.start {
			bad = append(bad, fmt.Sprintf("got %v\n  although before it began this one had returned: %v", latest, ev))
		}
		if i == 0 || ev.start > latest.start {
			latest = ev
		}
	}
	return bad
}

// historyCase records writers and readers of one session over two handles and checks that
// what they saw has one order. Field report S10: read-modify-write of a session loses
// messages. Field report S11: order by time has ties, and here the clock stands still.
func historyCase(e *env) {
	const handles, writers, readers, appends = 2, 4, 2, 25
	var stores [handles]sessionstore.SessionStore
	for i := range stores {
		stores[i] = e.open()
	}
	const id = "history"
	if _, err := stores[0].CreateSession(e.ctx, sessionstore.Session{ID: id}); err != nil {
		e.Fatalf("CreateSession(%q): got %v, want nil", id, err)
	}
	var (
		stamp   atomic.Int64
		mu      sync.Mutex
		events  []event
		writing atomic.Int64
	)
	record := func(ev event) {
		mu.Lock()
		defer mu.Unlock()
		events = append(events, ev)
	}
	// The sizes are drawn beforehand: e.rng is for one goroutine.
	sizes := make([][]int, handles*writers)
	for w := range sizes {
		sizes[w] = make([]int, appends)
		for i := range sizes[w] {
			sizes[w][i] = 1 + e.rng.IntN(5)
		}
	}
	writing.Store(handles * writers)
	e.together(handles*(writers+readers), func(i int) {
		store := stores[i%handles]
		if i < handles*writers {
			defer writing.Add(-1)
			for n, size := range sizes[i] {
				ev := event{actor: fmt.Sprint("writer ", i)}
				msgs := make([]sessionstore.Message, size)
				for j := range msgs {
					msgs[j] = sessionstore.UserMessage("text")
					msgs[j].ID = fmt.Sprintf("%d-%d-%d", i, n, j)
					ev.ids = append(ev.ids, msgs[j].ID)
				}
				ev.start = stamp.Add(1)
				got, err := store.AppendMessages(e.ctx, id, sessionstore.Append{Messages: msgs})
				ev.end, ev.err = stamp.Add(1), err
				for _, m := range got {
					ev.seqs = append(ev.seqs, m.Seq)
				}
				record(ev)
			}
			return
		}
		// A reader reads on from where it was; so all reads together are as long as the
		// history times the readers. The last one begins when every writer is done.
		var after int64
		for last := false; ; last = writing.Load() == 0 {
			ev := event{actor: fmt.Sprint("reader ", i), read: true, after: after, start: stamp.Add(1)}
			page, err := store.ListMessages(e.ctx, id, sessionstore.MessageQuery{AfterSeq: after})
			ev.end, ev.err = stamp.Add(1), err
			ev.lastSeq, ev.count = page.Session.LastSeq, page.Session.MessageCount
			for _, m := range page.Messages {
				ev.ids, ev.seqs = append(ev.ids, m.ID), append(ev.seqs, m.Seq)
			}
			record(ev)
			if n := len(ev.seqs); n > 0 {
				after = ev.seqs[n-1]
			}
			if last || err != nil {
				return
			}
		}
	})
	for i, why := range checkHistory(events) {
		if i == 3 {
			e.Fatalf("and more of the same")
		}
		e.Errorf("concurrent AppendMessages and ListMessages of %q over %d handles: %s", id, handles, why)
	}
}

// transition is one UpdateSession of a status in a race of such calls.
type transition struct {
	start, end int64
	to         sessionstore.Status
	version    int64 // of the result
	err        error
}

// checkTransitions returns why the calls on a session created active with Version 1 do
// not have one legal order, or nil.
func checkTransitions(calls []transition) []string {
	var bad []string
	status := map[int64]sessionstore.Status{1: sessionstore.StatusActive}
	closedAt, last := int64(0), int64(1)
	for _, c := range calls {
		if c.err != nil {
			continue
		}
		if was, ok := status[c.version]; ok && was != c.to {
			bad = append(bad, fmt.Sprintf("got version %d both for %s and for %s", c.version, was, c.to))
		}
		status[c.version] = c.to
		last = max(last, c.version)
		if c.to == sessionstore.StatusClosed {
			if closedAt != 0 && closedAt != c.version {
				bad = append(bad, fmt.Sprintf("got it closed with version %d and with version %d, want closed once", closedAt, c.version))
			}
			closedAt = c.version
		}
	}
	if closedAt != 0 && last > closedAt {
		bad = append(bad, fmt.Sprintf("got version %d, %s, after version %d, closed", last, status[last], closedAt))
	}
	for v := int64(2); v <= last; v++ {
		switch status[v] {
		case "":
			bad = append(bad, fmt.Sprintf("got version %d from no call, but version %d from one", v, last))
		case status[v-1]:
			bad = append(bad, fmt.Sprintf("got version %d for %s, which version %d was already", v, status[v], v-1))
		}
	}
	for _, c := range calls {
		switch {
		case c.err != nil && !errors.Is(c.err, sessionstore.ErrInvalidTransition):
			bad = append(bad, fmt.Sprintf("to %s: got %v, want success or ErrInvalidTransition", c.to, c.err))
		case c.err != nil && c.to == sessionstore.StatusClosed:
			bad = append(bad, fmt.Sprintf("to closed: got %v, want success: it is a change or none", c.err))
		}
		for _, d := range calls {
			switch {
			case c.end >= d.start: // not one after the other
			case c.err == nil && d.err == nil && d.version < c.version:
				bad = append(bad, fmt.Sprintf("got version %d from a call that began after version %d was returned", d.version, c.version))
			case c.err != nil && d.err == nil && d.to != sessionstore.StatusClosed:
				bad = append(bad, fmt.Sprintf("got %s, version %d, from a call that began after another was told that the session is closed", d.to, d.version))
			}
		}
	}
	return bad
}

// transitionRaceCase lets pauses, resumes and closes race over two handles.
func transitionRaceCase(e *env) {
	a, b := e.open(), e.open2()
	for round := range 8 {
		id := fmt.Sprint("race-", round)
		if _, err := a.CreateSession(e.ctx, sessionstore.Session{ID: id}); err != nil {
			e.Fatalf("CreateSession(%q): got %v, want nil", id, err)
		}
		targets := make([]sessionstore.Status, 24)
		for i := range targets {
			targets[i] = []sessionstore.Status{sessionstore.StatusActive, sessionstore.StatusPaused}[i%2]
		}
		targets[len(targets)-1] = sessionstore.StatusClosed
		e.rng.Shuffle(len(targets), func(i, j int) { targets[i], targets[j] = targets[j], targets[i] })
		e.clock.Advance(time.Second)

		var stamp atomic.Int64
		const callers = 6
		calls := make([]transition, len(targets))
		e.together(callers, func(g int) {
			for i := g; i < len(targets); i += callers {
				store, to := a, targets[i]
				if i%3 == 0 {
					store = b
				}
				c := transition{to: to, start: stamp.Add(1)}
				s, err := store.UpdateSession(e.ctx, id, sessionstore.SessionUpdate{Status: &to})
				c.end, c.version, c.err = stamp.Add(1), s.Version, err
				if err == nil && s.Status != to {
					e.Errorf("UpdateSession(%q, status %s): got status %s, want %s", id, to, s.Status, to)
				}
				calls[i] = c
			}
		})
		for _, why := range checkTransitions(calls) {
			e.Errorf("racing UpdateSession of the status of %q: %s", id, why)
		}
	}
}
