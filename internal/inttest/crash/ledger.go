package crash

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/internal/inttest/call"
	"github.com/sessionstore/sessionstore/memory"
	"github.com/sessionstore/sessionstore/verify"
)

// Counts are what a ledger has seen.
type Counts struct {
	Acknowledged int // calls
	Open         int // calls that were begun and not acknowledged
	Done         int // of them, those that were found to have happened
}

// Ledger knows what a store must hold.
type Ledger struct {
	Counts
	model *memory.Store
	open  map[int]call.Call // by worker

	// Of the session that all append to, in this round.
	shared string
	firsts map[string]int64 // the first seq of each batch that is acknowledged, by its tag
	sizes  map[string]int   // of each batch that was begun
}

// NewLedger knows of nothing.
func NewLedger() (*Ledger, error) {
	model, err := memory.New(nil)
	return &Ledger{model: model}, err
}

// Begin starts a round: it makes the session that all workers append to, and removes the
// one of the round before.
func (l *Ledger) Begin(ctx context.Context, store sessionstore.SessionStore, round int) error {
	if l.shared != "" {
		if err := store.DeleteSession(ctx, l.shared); err != nil {
			return err
		}
	}
	l.shared, l.firsts, l.sizes = Shared(round), map[string]int64{}, map[string]int{}
	l.open = map[int]call.Call{}
	_, err := store.CreateSession(ctx, sessionstore.Session{ID: l.shared})
	return err
}

// Read takes a writer's log until its end, and calls seen with each line. The error says
// that a call ended as it should not have.
func (l *Ledger) Read(ctx context.Context, log io.Reader, seen func(Record)) error {
	var errs []error
	lines := bufio.NewScanner(log)
	for lines.Scan() {
		var r Record
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			return fmt.Errorf("the log has the line %q: %w", lines.Text(), err)
		}
		if err := l.take(ctx, r); err != nil {
			errs = append(errs, err)
		}
		seen(r)
	}
	return errors.Join(append(errs, lines.Err())...)
}

func (l *Ledger) take(ctx context.Context, r Record) error {
	if r.Begin != nil {
		l.open[r.Worker] = *r.Begin
		if r.Begin.ID == l.shared {
			l.sizes[r.Begin.Tag] = r.Begin.N
		}
		return nil
	}
	c, ok := l.open[r.Worker]
	if !ok || r.Class == call.Unknown {
		return nil // its call, if there was one, stays open
	}
	delete(l.open, r.Worker)
	l.Acknowledged++
	if c.ID == l.shared {
		l.firsts[c.Tag] = r.Seq
		if r.Class != call.None {
			return fmt.Errorf("%v: got %s, want nil", c, r.Class)
		}
		return nil
	}
	if _, err := c.Do(ctx, l.model); call.Class(err) != r.Class {
		return fmt.Errorf("%v: got %q, want %q (%w)", c, r.Class, call.Class(err), err)
	}
	return nil
}

// Check compares a store with what it must hold, after the writer has ended. It settles
// the calls whose outcome was open, and makes those appends again.
func (l *Ledger) Check(ctx context.Context, store sessionstore.SessionStore) error {
	var errs []error
	for _, worker := range slices.Sorted(maps.Keys(l.open)) {
		if err := l.settle(ctx, store, l.open[worker]); err != nil {
			errs = append(errs, err)
		}
	}
	clear(l.open)
	errs = append(errs, l.compareShared(ctx, store), l.compare(ctx, store))
	report, err := verify.Store(ctx, store, &verify.Options{PageSize: sessionstore.MaxMessages})
	return errors.Join(append(errs, err, report.Err())...)
}

// settle finds out whether an open call happened.
func (l *Ledger) settle(ctx context.Context, store sessionstore.SessionStore, c call.Call) error {
	l.Open++
	if c.ID == l.shared {
		return l.settleShared(ctx, store, c)
	}
	got, err := call.Look(ctx, store, c.IDs()...)
	if err != nil {
		return err
	}
	before, err := call.Look(ctx, l.model, c.IDs()...)
	if err != nil {
		return err
	}
	if !got.Equal(before) {
		l.Done++
		_, err = c.Do(ctx, l.model)
		after, lerr := call.Look(ctx, l.model, c.IDs()...)
		if lerr != nil {
			return lerr
		}
		if err != nil || !got.Equal(after) {
			return fmt.Errorf("%v, not acknowledged\n  got:  %v\n  want: %v\n  or:   %v", c, got, before, after)
		}
	}
	if c.Kind != call.Append {
		return nil
	}
	want, wantErr := c.Do(ctx, l.model)
	again, err := c.Do(ctx, store)
	if call.Class(err) != call.Class(wantErr) || len(again.Messages) != len(want.Messages) {
		return fmt.Errorf("%v, made again after a crash: got %d messages, %w; want %d, %w", c, len(again.Messages), err, len(want.Messages), wantErr)
	}
	return nil
}

func (l *Ledger) settleShared(ctx context.Context, store sessionstore.SessionStore, c call.Call) error {
	before, err := store.GetSession(ctx, c.ID)
	if err != nil {
		return err
	}
	out, err := c.Do(ctx, store)
	if err != nil {
		return fmt.Errorf("%v, made again after a crash: got %w, want nil", c, err)
	}
	l.firsts[c.Tag] = out.Messages[0].Seq
	if out.Messages[0].Seq <= before.LastSeq {
		l.Done++
	}
	return nil
}

// compareShared checks that the session that all append to has each batch once, whole,
// and where the writer was told that it is.
func (l *Ledger) compareShared(ctx context.Context, store sessionstore.SessionStore) error {
	state, err := call.Look(ctx, store, l.shared)
	if err != nil {
		return err
	}
	msgs := state[l.shared].Messages
	var errs []error
	found := 0
	for i := 0; i < len(msgs); {
		tag, _ := cutLast(msgs[i].ID)
		n, first := l.sizes[tag], l.firsts[tag]
		if n == 0 || first == 0 {
			errs = append(errs, fmt.Errorf("%q: got the message %q, which nobody appended", l.shared, msgs[i].ID))
			i++
			continue
		}
		found++
		for j := range n {
			want := fmt.Sprintf("%s-%04d", tag, j)
			if i >= len(msgs) || msgs[i].ID != want || msgs[i].Seq != int64(i+1) || msgs[i].Seq != first+int64(j) {
				errs = append(errs, fmt.Errorf("%q: got %v, want %q at %d, place %d, of a batch of %d", l.shared, state, want, first+int64(j), i+1, n))
				return errors.Join(errs...)
			}
			i++
		}
	}
	if found != len(l.firsts) {
		errs = append(errs, fmt.Errorf("%q: got %d batches, want %d", l.shared, found, len(l.firsts)))
	}
	return errors.Join(errs...)
}

func cutLast(id string) (tag, n string) {
	i := strings.LastIndexByte(id, '-')
	return id[:i], id[i+1:]
}

// compare checks that all sessions are there that should be, as they should be, and no
// others.
func (l *Ledger) compare(ctx context.Context, store sessionstore.SessionStore) error {
	want, err := all(ctx, l.model)
	if err != nil {
		return err
	}
	got, err := all(ctx, store)
	if err != nil {
		return err
	}
	delete(got, l.shared)
	var errs []error
	for _, id := range slices.Sorted(maps.Keys(union(got, want))) {
		g, w := pick(got, id), pick(want, id)
		if !g.Equal(w) {
			errs = append(errs, fmt.Errorf("%q\n  got:  %v\n  want: %v", id, g, w))
		}
	}
	return errors.Join(errs...)
}

func all(ctx context.Context, store sessionstore.SessionStore) (call.State, error) {
	var ids []string
	for s, err := range sessionstore.NewManager(store, nil).Sessions(ctx, sessionstore.SessionQuery{}) {
		if err != nil {
			return nil, err
		}
		ids = append(ids, s.ID)
	}
	return call.Look(ctx, store, ids...)
}

func union(a, b call.State) call.State {
	out := maps.Clone(a)
	maps.Copy(out, b)
	return out
}

func pick(s call.State, id string) call.State {
	out := call.State{}
	if h, ok := s[id]; ok {
		out[id] = h
	}
	return out
}
