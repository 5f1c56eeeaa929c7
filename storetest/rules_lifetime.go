package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime/pprof"
	"strings"
	"sync/atomic"
	"time"

	"github.com/sessionstore/sessionstore"
)

// storeMethod is a way to call a store that needs no session.
type storeMethod struct {
	name string
	call func(ctx context.Context, s sessionstore.SessionStore) error
}

// allMethods are all methods and powers; those with an id are called with it.
func allMethods(id string) []storeMethod {
	out := []storeMethod{
		{"CreateSession", func(ctx context.Context, s sessionstore.SessionStore) error {
			_, err := s.CreateSession(ctx, sessionstore.Session{ID: "created by allMethods"})
			return err
		}},
		{"ListSessions", func(ctx context.Context, s sessionstore.SessionStore) error {
			_, err := s.ListSessions(ctx, sessionstore.SessionQuery{})
			return err
		}},
		{"PurgeExpired", func(ctx context.Context, s sessionstore.SessionStore) error {
			_, err := sessionstore.PurgeExpired(ctx, s, 0)
			return err
		}},
		{"RestoreSession", func(ctx context.Context, s sessionstore.SessionStore) error {
			_, err := sessionstore.RestoreSession(ctx, s, sessionstore.Session{
				ID: "restored by allMethods", CreatedAt: epoch, UpdatedAt: epoch, Version: 1, LastSeq: 1, MessageCount: 1,
			}, each([]sessionstore.Message{{ID: "m", Seq: 1, Role: sessionstore.RoleUser, CreatedAt: epoch}}, nil))
			return err
		}},
	}
	for _, m := range idMethods {
		out = append(out, storeMethod{m.name, func(ctx context.Context, s sessionstore.SessionStore) error { return m.call(ctx, s, id) }})
	}
	return out
}

var cancelCases = []kase{
	{"a context already done", cancelBefore},
	{"contexts that end while calls wait", cancelWaiting},
	{"one that ends while an iterator runs", cancelRestore},
}

func cancelBefore(e *env) {
	a, b := e.client(), e.client()
	a.create(sessionstore.Session{ID: "s", TTL: time.Hour})
	a.append("s", sessionstore.Append{Messages: numbered("m", 3, true)})
	a.create(sessionstore.Session{ID: "expired", TTL: time.Minute})
	e.clock.Advance(time.Minute)
	before := b.state("s")
	canceled, cancel := context.WithCancel(e.ctx)
	cancel()
	late, cancel := context.WithDeadline(e.ctx, time.Now().Add(-time.Hour))
	defer cancel()
	cause := errors.New("the caller's own reason")
	caused, cancelCause := context.WithCancelCause(e.ctx)
	cancelCause(cause)
	for _, t := range []struct {
		ctx  context.Context
		want error
	}{{canceled, context.Canceled}, {late, context.DeadlineExceeded}, {caused, context.Canceled}} {
		for _, m := range allMethods("s") {
			err := m.call(t.ctx, a.SessionStore)
			if errors.Is(err, errors.ErrUnsupported) {
				continue
			}
			e.wantErr(err, t.want, m.name+" with a context that is done: "+t.want.Error())
		}
		a.wantState("calls with a context that is done", "s", before)
	}
	e.wantIDs("ListSessions after them", b.walk(sessionstore.SessionQuery{}), "s")
	if n, err := sessionstore.PurgeExpired(e.ctx, b.SessionStore, 0); err == nil && n != 1 {
		e.Errorf("PurgeExpired after one with a context that is done\n  got:  %d sessions\n  want: the 1 that expired, still there to be removed", n)
	}
}

// cancelWaiting cancels calls at any moment, many of them waiting for one session. Each
// returns; what its outcome was, a repeat finds out; and the session stays usable.
func cancelWaiting(e *env) {
	handles := []client{e.client(), e.client()}
	handles[0].create(sessionstore.Session{ID: "s"})
	const writers, calls = 8, 25
	var interrupted atomic.Int32
	e.together(writers, func(i int) {
		for n := range calls {
			m := sessionstore.UserMessage(fmt.Sprint("w", i, " ", n))
			m.ID = m.Content.String()
			in := sessionstore.Append{Messages: []sessionstore.Message{m}}
			ctx, cancel := context.WithCancel(e.ctx)
			if n%3 > 0 {
				go cancel() // at once, or in the middle
			}
			_, err := handles[i%2].AppendMessages(ctx, "s", in)
			if err != nil {
				interrupted.Add(1)
				if n%3 == 0 {
					e.Errorf("AppendMessages with a context that does not end\n  got:  error %v\n  want: none", err)
				} else {
					e.wantErr(err, context.Canceled, "AppendMessages with a context that ends meanwhile", "s")
				}
				handles[i%2].append("s", in) // a repeat is safe
			}
			cancel()
		}
	})
	e.Logf("%d of %d calls were interrupted", interrupted.Load(), writers*calls)
	checkWriters(e, handles[1], "s", writers*calls, writers)
}

func cancelRestore(e *env) {
	c, ok := e.restorer()
	if !ok {
		return
	}
	sources(c)
	st := c.state("long")
	st.Session.ID = "copy"
	ctx, cancel := context.WithCancel(e.ctx)
	defer cancel()
	_, err := sessionstore.RestoreSession(ctx, c.SessionStore, st.Session, func(yield func(sessionstore.Message, error) bool) {
		for i, m := range st.Messages {
			m.SessionID = ""
			if i == 1500 {
				cancel()
			}
			if !yield(m, nil) {
				return
			}
		}
	})
	e.wantErr(err, context.Canceled, "RestoreSession whose context ends while its iterator runs", "copy")
	c.wantGone("a RestoreSession that was cancelled", "copy")
}

var closedCases = []kase{
	{"every method of a closed store", closedMethods},
	{"calls in flight", closedInFlight},
	{"no goroutine is left", closedGoroutines},
}

func closedMethods(e *env) {
	a, b := e.client(), e.client()
	a.create(sessionstore.Session{ID: "s"})
	a.say("s", "one")
	before := b.state("s")
	e.together(4, func(int) {
		if err := a.Close(); err != nil {
			e.Errorf("Close, four times at once\n  got:  error %v\n  want: nil", err)
		}
	})
	for range 2 {
		if err := a.Close(); err != nil {
			e.Errorf("Close of a closed store\n  got:  error %v\n  want: nil", err)
		}
		for _, m := range allMethods("s") {
			if err := m.call(e.ctx, a.SessionStore); !errors.Is(err, errors.ErrUnsupported) {
				e.wantErr(err, sessionstore.ErrStoreClosed, m.name+" of a closed store")
			}
		}
	}
	b.wantState("another handle was closed", "s", before)
	b.say("s", "two")
	c := e.client()
	e.wantSeqs("the history by a handle opened after another was closed", c.history("s"), 1, 2)
}

// closedInFlight closes a handle under writers: each of their calls either succeeds, and
// stays, or says ErrStoreClosed; and once Close returned nothing more is written.
func closedInFlight(e *env) {
	for round := range 4 {
		a, b := e.client(), e.client()
		id := fmt.Sprint("s", round)
		a.create(sessionstore.Session{ID: id})
		const writers = 4
		var acked atomic.Int64
		var atClose sessionstore.Session
		e.together(writers+1, func(i int) {
			if i == writers {
				for acked.Load() < writers && !e.Failed() {
					b.get(id) // until the writers are at it
				}
				if err := a.Close(); err != nil {
					e.Errorf("Close with calls in flight\n  got:  error %v\n  want: nil", err)
				}
				atClose = b.get(id)
				return
			}
			for range raceCalls {
				_, err := a.AppendMessages(e.ctx, id, sessionstore.Append{Messages: users("x")})
				if err != nil {
					e.wantErr(err, sessionstore.ErrStoreClosed, "AppendMessages, a Close racing it", id)
					return
				}
				acked.Add(1)
			}
		})
		s := b.get(id)
		if s.LastSeq != atClose.LastSeq || s.LastSeq != acked.Load() {
			e.Errorf("a session whose writers' store was closed\n  got:  %d messages at the end, %d when Close returned\n  want: %d, those acknowledged", s.LastSeq, atClose.LastSeq, acked.Load())
		}
	}
}

// closedGoroutines finds the goroutines of a store by a profiler label, which they
// inherit, and by the store's package in their stacks: those of a client that the store
// shares with others are not its own.
func closedGoroutines(e *env) {
	const key = "storetest"
	label := freshHex()
	pkg := ""
	inner := newRecorder(e.TB)
	pprof.Do(e.ctx, pprof.Labels(key, label), func(ctx context.Context) {
		inner.contain(func() {
			s := e.backend.Open(inner, Config{Namespace: e.namespace, Now: e.clock.Now})
			pkg = packageOf(s)
			c := client{s, e, ctx}
			c.create(sessionstore.Session{ID: "s", TTL: time.Hour})
			for range 20 {
				c.say("s", "one")
			}
			c.walk(sessionstore.SessionQuery{})
			_, _ = sessionstore.PurgeExpired(ctx, s, 0)
			if err := s.Close(); err != nil {
				e.Errorf("Close\n  got:  error %v\n  want: nil", err)
			}
		})
		inner.cleanup()
	})
	if inner.Failed() {
		e.Fatalf("Open failed: %s", inner.text.String())
	}
	if inner.Skipped() {
		e.Skip(inner.skipped)
	}
	if pkg == "" {
		e.notExercised("the store's type has no package path to know its goroutines by")
		return
	}
	// A goroutine that has been told to end needs a moment to do so.
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	var left []string
	for range min(500, e.limit/(2*10*time.Millisecond)) { // it is to be told as a leak, not as a hang
		if left = labelled(key, label, pkg); len(left) == 0 {
			return
		}
		select {
		case <-tick.C:
		case <-e.ctx.Done():
			return
		}
	}
	e.Errorf("goroutines of %s after Close\n  got:  %d left\n  want: none\n%s", pkg, len(left), strings.Join(left, "\n\n"))
}

// labelled returns the stacks of the goroutines that carry the label and have pkg in
// their frames.
func labelled(key, value, pkg string) []string {
	var b bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&b, 1); err != nil {
		return []string{err.Error()}
	}
	var out []string
	for _, g := range strings.Split(b.String(), "\n\n") {
		if strings.Contains(g, fmt.Sprintf("%q:%q", key, value)) && strings.Contains(g, pkg+".") {
			out = append(out, g)
		}
	}
	return out
}

var durableCases = []kase{
	{"everything is there after a restart", durableReopen},
	{"what concurrent writers had acknowledged", durableConcurrent},
	{"after a process that was killed", durableKilled},
}

// closeAll closes the handles, as a restart does.
func (e *env) closeAll(handles ...client) {
	for _, h := range handles {
		if err := h.Close(); err != nil {
			e.Fatalf("Close\n  got:  error %v\n  want: nil", err)
		}
	}
}

func durableReopen(e *env) {
	if e.backend.Reopen == nil {
		e.notExercised("Backend.Reopen is nil")
		return
	}
	a, b := e.client(), e.client()
	all := map[string]state{}
	for _, st := range sources(a) {
		all[st.Session.ID] = st
	}
	b.fork("full", sessionstore.Fork{ID: "child", AtSeq: ptr(int64(3))})
	b.create(sessionstore.Session{ID: "deleted"})
	b.say("deleted", "x")
	a.remove("deleted")
	b.create(sessionstore.Session{ID: "expires", TTL: time.Minute})
	b.say("expires", "x")
	all["child"], all["expires"] = a.state("child"), a.state("expires")
	list := a.walk(sessionstore.SessionQuery{})
	e.closeAll(a, b)

	s, _ := e.reopen()
	c := e.on(s)
	for id, want := range all {
		c.wantState("a restart", id, want)
	}
	e.wantSame("the list after a restart", c.walk(sessionstore.SessionQuery{}), list)
	c.wantGone("a DeleteSession before a restart", "deleted")
	e.wantSeqs("an append after a restart", c.say("long", "next"), 2701)
	e.wantSeqs("a repeat of what was stored before a restart", c.append("long", sessionstore.Append{Messages: numbered("2.", 2, true)}), 1801, 1802)
	e.clock.Advance(time.Minute)
	c.wantGone("its TTL passed after a restart", "expires")
	c.create(sessionstore.Session{ID: "deleted"})
	e.wantSeqs("the first append to a new session with a deleted one's id, after a restart", c.say("deleted", "x"), 1)
	e.closeAll(c)

	s, _ = e.reopen()
	e.wantSeqs("the history after another restart", e.on(s).history("deleted"), 1)
}

func durableConcurrent(e *env) {
	if e.backend.Reopen == nil {
		e.notExercised("Backend.Reopen is nil")
		return
	}
	handles := []client{e.client(), e.client()}
	handles[0].create(sessionstore.Session{ID: "s"})
	const writers, calls = 8, 20
	for restart := range 2 {
		e.together(writers, func(i int) {
			for n := range calls {
				handles[i%2].say("s", fmt.Sprint("w", i, " ", restart*calls+n))
			}
		})
		e.closeAll(handles...)
		for i := range handles {
			s, _ := e.reopen()
			handles[i] = e.on(s)
		}
		checkWriters(e, handles[0], "s", writers*calls*(restart+1), writers)
	}
}

// durableKilled kills a process in the middle of its appends: what it had acknowledged
// is there, and of each other message all or nothing.
func durableKilled(e *env) {
	if e.backend.Child == nil {
		e.notExercised("Backend.Child is nil")
		return
	}
	c := e.client()
	c.create(sessionstore.Session{ID: "s"})
	const writers, calls = 4, 10_000
	ch := e.startChild(childTask{Session: "s", Writers: writers, Calls: calls})
	ch.start()
	for range 40 {
		if _, ok := <-ch.lines; !ok {
			e.Fatalf("a child process\n  got:  its end (%v) before it was killed\n  want: appends that go on\n%s", ch.err, ch.output())
		}
	}
	acked := ch.kill()
	// What it had sent may still be on its way to a server: from here on it is refused.
	c.setStatus("s", sessionstore.StatusPaused)
	msgs := c.history("s")
	there := map[string]bool{}
	for _, m := range msgs {
		there[m.ID] = true
	}
	for _, id := range acked {
		if !there[id] {
			e.Errorf("the message %q, which was acknowledged before its process was killed\n  got:  it is not there\n  want: it is", id)
		}
	}
	checkWriters(e, c, "s", len(msgs), writers)
	if n := len(msgs); n < len(acked) || n > len(acked)+writers+1 {
		e.Errorf("the history after a process with %d writers was killed\n  got:  %d messages, %d acknowledged\n  want: those, and at most one more of each writer", writers, n, len(acked))
	}
	c.setStatus("s", sessionstore.StatusActive)
	e.wantSeqs("an append after it", c.say("s", "w9 0"), int64(len(msgs)+1))
}
