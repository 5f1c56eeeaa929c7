package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/postgres"
)

// gate holds the statements of a pool before they are sent, each until it gets a verdict.
type gate struct {
	pgx.QueryTracer
	arrived chan statement
}

// statement is one that waits at the gate.
type statement struct {
	ctx  context.Context
	ids  []string // of the messages it appends
	pass chan struct{}
}

func (s statement) let() { close(s.pass) }

func (g *gate) TraceQueryStart(ctx context.Context, _ *pgx.Conn, q pgx.TraceQueryStartData) context.Context {
	if !strings.Contains(q.SQL, "INSERT INTO") || !strings.Contains(q.SQL, "last_seq + ") {
		return ctx
	}
	s := statement{ctx: ctx, pass: make(chan struct{})}
	switch ids := q.Args[5].(type) {
	case string:
		s.ids = []string{ids}
	case []string:
		s.ids = ids
	}
	select {
	case g.arrived <- s:
	case <-ctx.Done():
		return ctx
	}
	select {
	case <-s.pass:
	case <-ctx.Done():
	}
	return ctx
}

func (g *gate) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// crowd is appends to one session, "s", of which the first is at the gate and the others wait in
// line, in their order.
type crowd struct {
	*testing.T
	*gate
	clock   atomic.Pointer[func()] // runs when the store reads its clock
	store   *postgres.Store
	first   statement
	calls   []*call
	running sync.WaitGroup
}

type call struct {
	got      []sessionstore.Message
	err      error
	panicked any
	done     chan struct{}
}

func newCrowd(t *testing.T, tune func(*pgxpool.Config)) *crowd {
	c := &crowd{T: t, gate: &gate{arrived: make(chan statement)}}
	d := newDatabase(t, func(cfg *pgxpool.Config) {
		cfg.ConnConfig.Tracer = c.gate
		if tune != nil {
			tune(cfg)
		}
	})
	c.store = d.store(t, &postgres.Options{Now: func() time.Time {
		if f := c.clock.Load(); f != nil {
			(*f)()
		}
		return time.Now()
	}})
	must[sessionstore.Session](t)(c.store.CreateSession(t.Context(), sessionstore.Session{ID: "s", UserID: "ann"}))
	t.Cleanup(c.running.Wait)
	c.start(t.Context(), say("first"))
	c.first = <-c.arrived
	return c
}

// start starts a call.
func (c *crowd) start(ctx context.Context, a sessionstore.Append) *call {
	k := &call{done: make(chan struct{})}
	c.calls = append(c.calls, k)
	c.running.Go(func() {
		defer close(k.done)
		defer func() { k.panicked = recover() }()
		k.got, k.err = c.store.AppendMessages(ctx, "s", a)
	})
	return k
}

// append starts a call, and returns once it waits in line.
func (c *crowd) append(ctx context.Context, a sessionstore.Append) *call {
	before := c.store.Waiting("s")
	k := c.start(ctx, a)
	for c.store.Waiting("s") == before {
		runtime.Gosched()
	}
	return k
}

// passAll opens the gate for everyone, until all calls are done.
func (c *crowd) passAll() {
	c.Helper()
	all := make(chan struct{})
	go func() { c.running.Wait(); close(all) }()
	for {
		select {
		case s := <-c.arrived:
			s.let()
		case <-all:
			return
		}
	}
}

func (c *crowd) ids() (ids []string) {
	c.Helper()
	page := must[sessionstore.MessagePage](c.T)(c.store.ListMessages(c.Context(), "s", sessionstore.MessageQuery{}))
	for i, m := range page.Messages {
		if m.Seq != int64(i+1) {
			c.Errorf("message %q: got Seq %d, want %d", m.ID, m.Seq, i+1)
		}
		ids = append(ids, m.ID)
	}
	if got, want := page.Session.LastSeq, int64(len(ids)); got != want || page.Session.MessageCount != want {
		c.Errorf("got LastSeq %d and MessageCount %d, want %d", got, page.Session.MessageCount, want)
	}
	return ids
}

func (c *crowd) wantIDs(want ...string) {
	c.Helper()
	if got := c.ids(); fmt.Sprint(got) != fmt.Sprint(want) {
		c.Errorf("messages: got %q, want %q", got, want)
	}
}

func (s statement) want(t *testing.T, ids ...string) {
	t.Helper()
	if fmt.Sprint(s.ids) != fmt.Sprint(ids) {
		t.Errorf("a statement appends %q, want %q", s.ids, ids)
	}
}

// TestWaitingAppendsGoTogether has one connection: those who wait hold none.
func TestWaitingAppendsGoTogether(t *testing.T) {
	t.Parallel()
	c := newCrowd(t, func(cfg *pgxpool.Config) { cfg.MaxConns = 1 })
	c.append(t.Context(), say("a"))
	c.append(t.Context(), say("b", "c"))
	c.append(t.Context(), say("d"))
	c.first.want(t, "first")
	c.first.let()
	second := <-c.arrived
	second.want(t, "a", "b", "c", "d")
	c.append(t.Context(), say("e"))
	second.let()
	c.passAll()
	for i, want := range []string{"[first 1]", "[a 2]", "[b 3 c 4]", "[d 5]", "[e 6]"} {
		var got []any
		for _, m := range c.calls[i].got {
			got = append(got, m.ID, m.Seq)
		}
		if fmt.Sprint(got) != want || c.calls[i].err != nil {
			t.Errorf("call %d: got %v, %v, want %s", i, got, c.calls[i].err, want)
		}
	}
	c.wantIDs("first", "a", "b", "c", "d", "e")
}

// TestTogetherAsMuchAsOneCall keeps what goes together within the limits of one call.
func TestTogetherAsMuchAsOneCall(t *testing.T) {
	t.Parallel()
	c := newCrowd(t, nil)
	large := func(id string) sessionstore.Append {
		a := say(id)
		a.Messages[0].Content = sessionstore.Text(strings.Repeat("x", 3<<20))
		return a
	}
	many := sessionstore.Append{Messages: make([]sessionstore.Message, sessionstore.MaxAppendMessages)}
	for i := range many.Messages {
		many.Messages[i] = sessionstore.UserMessage("one of many")
	}
	c.append(t.Context(), large("a"))
	c.append(t.Context(), large("b"))
	c.append(t.Context(), large("c"))
	c.append(t.Context(), many)
	c.append(t.Context(), say("d"))
	c.first.let()
	var got []int
	for range 4 {
		s := <-c.arrived
		got = append(got, len(s.ids))
		s.let()
	}
	if want := []int{2, 1, sessionstore.MaxAppendMessages, 1}; fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("messages of the statements: got %d, want %d", got, want)
	}
	c.passAll()
	for i, k := range c.calls {
		if k.err != nil {
			t.Errorf("call %d: got %v, want nil", i, k.err)
		}
	}
}

// TestCompanyDoesNotFail mixes appends that fail with others that must not.
func TestCompanyDoesNotFail(t *testing.T) {
	t.Parallel()
	c := newCrowd(t, nil)
	c.append(t.Context(), say("a"))
	c.append(t.Context(), say("first")) // a repeat of what is about to be stored
	other := say("b", "a")
	other.Messages[1].Content = sessionstore.Text("another text")
	c.append(t.Context(), other)
	c.append(t.Context(), say("c"))
	c.first.let()
	(<-c.arrived).let()
	c.passAll()
	// Of the two that say "a", either may be the one that is too late.
	won, lost := c.calls[1].err, c.calls[3].err
	if won != nil {
		won, lost = lost, won
	}
	for i, err := range []error{c.calls[0].err, won, c.calls[2].err, c.calls[4].err} {
		if err != nil {
			t.Errorf("append %d of those that must succeed: got %v, want nil", i, err)
		}
	}
	if !errors.Is(lost, sessionstore.ErrMessageExists) {
		t.Errorf("the other append of the id: got %v, want ErrMessageExists", lost)
	}
	if got := c.calls[2].got; len(got) != 1 || got[0].Seq != 1 {
		t.Errorf("the repeat: got %v, want the message of Seq 1", got)
	}
	c.ids()
}

// TestRefusedTogether pauses the session while appends wait.
func TestRefusedTogether(t *testing.T) {
	t.Parallel()
	c := newCrowd(t, nil)
	c.append(t.Context(), say("a"))
	c.append(t.Context(), say("first"))
	c.first.let()
	s := <-c.arrived
	paused := sessionstore.StatusPaused
	must[sessionstore.Session](t)(c.store.UpdateSession(t.Context(), "s", sessionstore.SessionUpdate{Status: &paused}))
	s.let()
	c.passAll()
	if got := c.calls[1].err; !errors.Is(got, sessionstore.ErrSessionPaused) {
		t.Errorf("append to a session that was paused meanwhile: got %v, want ErrSessionPaused", got)
	}
	if got := c.calls[2].err; got != nil {
		t.Errorf("repeat: got %v, want nil", got)
	}
	c.wantIDs("first")
}

// TestOthersDoNotWait has appends that cannot go together: each goes at once.
func TestOthersDoNotWait(t *testing.T) {
	t.Parallel()
	c := newCrowd(t, nil)
	zero := int64(0)
	for _, call := range []func() error{
		func() error {
			_, err := c.store.AppendMessages(t.Context(), "s", sessionstore.Append{Messages: say("if").Messages, IfLastSeq: &zero})
			return err
		},
		func() error {
			_, err := c.store.ForUser("ann").AppendMessages(t.Context(), "s", say("view"))
			return err
		},
	} {
		done := make(chan error)
		go func() { done <- call() }()
		(<-c.arrived).let()
		if err := <-done; err != nil {
			t.Errorf("got %v, want nil while another append is held up", err)
		}
	}
	c.first.let()
	c.passAll()
	c.wantIDs("if", "view", "first")
}

// TestLeavingTheLine ends contexts of calls that wait, before and after they are sent.
func TestLeavingTheLine(t *testing.T) {
	t.Parallel()
	c := newCrowd(t, nil)
	type key struct{}
	ctx, cancel := context.WithCancelCause(context.WithValue(t.Context(), key{}, "value"))
	leaver := c.append(ctx, say("a"))
	cancel(errors.New("the caller is gone"))
	<-leaver.done
	if !errors.Is(leaver.err, context.Canceled) {
		t.Errorf("append whose context ended in line: got %v, want context.Canceled", leaver.err)
	}
	ctx, cancelB := context.WithTimeout(context.WithValue(t.Context(), key{}, "value"), time.Hour)
	b := c.append(ctx, say("b"))
	d := c.append(t.Context(), say("d"))
	c.first.let()
	s := <-c.arrived
	s.want(t, "b", "d")
	if got := s.ctx.Value(key{}); got != "value" {
		t.Errorf("value of the statement's context: got %v, want the caller's", got)
	}
	cancelB()
	<-b.done
	if !errors.Is(b.err, context.Canceled) {
		t.Errorf("append whose context ended under way: got %v, want context.Canceled", b.err)
	}
	s.let()
	<-d.done
	if d.err != nil {
		t.Errorf("append of which another's context ended: got %v, want nil", d.err)
	}
	c.passAll()
	c.wantIDs("first", "b", "d")
}

// TestAllLeave ends the contexts of all whose appends go together: the statement ends,
// and the store can be closed.
func TestAllLeave(t *testing.T) {
	t.Parallel()
	c := newCrowd(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	a, b := c.append(ctx, say("a")), c.append(ctx, say("b"))
	c.first.let()
	s := <-c.arrived
	cancel()
	<-a.done
	<-b.done
	if !errors.Is(a.err, context.Canceled) || !errors.Is(b.err, context.Canceled) {
		t.Errorf("got %v and %v, want context.Canceled", a.err, b.err)
	}
	if s.ctx.Err() == nil {
		t.Error("the statement's context: got nil, want an error")
	}
	c.passAll()
	c.wantIDs("first")
	if err := c.store.Close(); err != nil {
		t.Errorf("Close: got %v, want nil", err)
	}
}

// TestPanicTogether has the caller's own code panic, or end the goroutine, where it runs
// for several calls.
func TestPanicTogether(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		clock func()
		want  any
	}{
		"panic":  {func() { panic("the clock's") }, "the clock's"},
		"goexit": {runtime.Goexit, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCrowd(t, nil)
			a, b := c.append(t.Context(), say("a")), c.append(t.Context(), say("b"))
			c.clock.Store(&tt.clock)
			c.first.let()
			for _, k := range []*call{a, b} {
				<-k.done
				if k.panicked != tt.want || (k.err == nil) != (tt.want != nil) {
					t.Errorf("got the panic %v and the error %v, want the panic %v, or without one an error", k.panicked, k.err, tt.want)
				}
			}
			c.clock.Store(nil)
			next := c.start(t.Context(), say("c"))
			c.passAll()
			if next.err != nil || next.panicked != nil {
				t.Errorf("the next append: got %v, panic %v, want nil", next.err, next.panicked)
			}
			c.wantIDs("first", "c")
		})
	}
}
