package storetest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sessionstore/sessionstore"
)

var appendOrderCases = []kase{
	{"a batch under a clock that stands still", orderFrozen},
	{"seqs are never given out again", orderNeverReused},
	{"a clock that goes back", orderClockBack},
	{"tight conditional appends never conflict", orderTight},
}

// orderFrozen is field report S11: order by time falls apart in ties, and S12: some
// databases give the newest first.
func orderFrozen(e *env) {
	a, b := e.client(), e.client()
	s := a.create(sessionstore.Session{ID: "s"})
	in := numbered("m", 500, false)
	got := a.append("s", sessionstore.Append{Messages: in})
	if len(got) != len(in) {
		e.Fatalf("AppendMessages of %d messages\n  got:  %d messages", len(in), len(got))
	}
	for i, m := range got {
		want := sessionstore.Message{
			ID: m.ID, SessionID: "s", Seq: int64(i + 1), Role: sessionstore.RoleUser,
			Content: in[i].Content, CreatedAt: s.UpdatedAt, Metadata: sessionstore.Metadata{},
		}
		e.wantSame(fmt.Sprintf("AppendMessages of %d messages: number %d", len(in), i), m, want)
	}
	e.wantSame("the history by another handle, in the order given", b.history("s"), got)
	more := b.say("s", "501", "502")
	e.wantSeqs("the next append, by another handle", more, 501, 502)
	e.wantSame("the history after it", a.history("s"), append(got, more...))
}

func orderNeverReused(e *env) {
	a, b := e.client(), e.client()
	a.create(sessionstore.Session{ID: "s"})
	e.wantSeqs("the first append", a.say("s", "1", "2", "3"), 1, 2, 3)
	a.truncate("s", sessionstore.Truncate{ThroughSeq: 2})
	e.wantSeqs("an append after a truncate", b.say("s", "4"), 4)
	b.truncate("s", sessionstore.Truncate{})
	e.wantSeqs("an append after a truncate of all", a.say("s", "5", "6"), 5, 6)
	a.truncate("s", sessionstore.Truncate{ThroughSeq: 5})
	b.truncate("s", sessionstore.Truncate{ThroughSeq: 5})
	e.wantSeqs("an append after two truncates", b.say("s", "7"), 7)
	e.wantSeqs("the history", a.history("s"), 5, 7)
	if s := a.get("s"); s.LastSeq != 7 || s.MessageCount != 2 {
		e.Errorf("GetSession after it\n  got:  LastSeq %d, MessageCount %d\n  want: 7, 2", s.LastSeq, s.MessageCount)
	}
}

// orderClockBack is field report S08: order and conflicts by the wall clock.
func orderClockBack(e *env) {
	a, b := e.client(), e.client()
	a.create(sessionstore.Session{ID: "s", TTL: 24 * time.Hour})
	highest := e.clock.Now().Truncate(time.Microsecond)
	for i := range int64(30) {
		now := e.clock.Advance(time.Duration(e.rng.IntN(2_000_000)-1_000_000) * time.Microsecond).Truncate(time.Microsecond)
		if now.After(highest) {
			highest = now
		}
		c := []client{a, b}[i%2]
		in := sessionstore.Append{Messages: users("x"), IfLastSeq: &i}
		got := c.append("s", in)
		e.wantSeqs("an append under a clock that goes back and forth", got, i+1)
		if len(got) == 1 && !got[0].CreatedAt.Equal(now) {
			e.Errorf("CreatedAt of a message without one\n  got:  %s\n  want: %s, the store's time", show(got[0].CreatedAt), show(now))
		}
		s := c.get("s")
		if !s.UpdatedAt.Equal(highest) || !s.ExpiresAt.Equal(highest.Add(s.TTL)) {
			e.Errorf("the session under a clock that goes back and forth\n  got:  UpdatedAt %s, ExpiresAt %s\n  want: %s, which is the latest so far, and a TTL later", show(s.UpdatedAt), show(s.ExpiresAt), show(highest))
		}
	}
	// Neither does another write move UpdatedAt back.
	e.clock.Set(highest.Add(-time.Hour))
	a.update("s", sessionstore.SessionUpdate{System: ptr("x")})
	a.update("s", sessionstore.SessionUpdate{Touch: true})
	b.truncate("s", sessionstore.Truncate{ThroughSeq: 3})
	if s := b.get("s"); !s.UpdatedAt.Equal(highest) {
		e.Errorf("UpdatedAt after an update, a Touch and a truncate an hour earlier\n  got:  %s\n  want: %s, as before", show(s.UpdatedAt), show(highest))
	}
	// A message's own time is kept, and does not matter for its place.
	late := sessionstore.UserMessage("late")
	late.CreatedAt = time.Date(1970, 1, 1, 0, 0, 0, 0, time.UTC)
	got := a.append("s", sessionstore.Append{Messages: []sessionstore.Message{late}})
	e.wantSeqs("an append with an old CreatedAt", got, 31)
	if len(got) == 1 && !got[0].CreatedAt.Equal(late.CreatedAt) {
		e.Errorf("CreatedAt of a message that has one\n  got:  %s\n  want: %s", show(got[0].CreatedAt), show(late.CreatedAt))
	}
	e.wantSeqs("the history", b.history("s"), 1, 2, 3, 31)
}

func orderTight(e *env) {
	a, b := e.client(), e.client()
	a.create(sessionstore.Session{ID: "s"})
	for i := range int64(300) {
		[]client{a, b}[i/10%2].append("s", sessionstore.Append{Messages: users("x"), IfLastSeq: &i})
	}
}

var appendAtomicCases = []kase{
	{"a refused batch leaves nothing", atomicRefused},
	{"messages and counters in the same step", atomicCounters},
	{"readers never see part of a batch", atomicReaders},
	{"a connection that breaks", atomicBreak},
}

func atomicRefused(e *env) {
	c := e.client()
	c.create(sessionstore.Session{ID: "s"})
	c.append("s", sessionstore.Append{Messages: numbered("m", 3, true)})
	before := c.state("s")
	e.clock.Advance(time.Second)
	good := users("a", "b", "c")
	bad := map[string]sessionstore.Message{
		"an unknown role":                 {Role: "function", Content: sessionstore.Text("x")},
		"no role":                         {Content: sessionstore.Text("x")},
		"a foreign SessionID":             {Role: sessionstore.RoleUser, SessionID: "other"},
		"an id with a control character":  {Role: sessionstore.RoleUser, ID: "a\x00b"},
		"invalid UTF-8 in its text":       {Role: sessionstore.RoleUser, Content: sessionstore.Text("cut \xf0\x9f\x98")},
		"invalid UTF-8 in its arguments":  {Role: sessionstore.RoleAssistant, ToolCalls: []sessionstore.ToolCall{{Name: "f", Arguments: "\xff"}}},
		"invalid UTF-8 in its metadata":   {Role: sessionstore.RoleUser, Metadata: sessionstore.Metadata{"k": []any{map[string]any{"x": "\xff"}}}},
		"an invalid key in its metadata":  {Role: sessionstore.RoleUser, Metadata: sessionstore.Metadata{"\xff": 1}},
		"a function in its metadata":      {Role: sessionstore.RoleUser, Metadata: sessionstore.Metadata{"f": func() {}}},
		"extra that is no JSON":           {Role: sessionstore.RoleUser, Extra: map[string]json.RawMessage{"x": json.RawMessage(`{"a":`)}},
		"extra that names a modelled key": {Role: sessionstore.RoleUser, Extra: map[string]json.RawMessage{"content": json.RawMessage(`1`)}},
	}
	for name, m := range bad {
		a := sessionstore.Append{Messages: append(slices.Clone(good), m)}
		_, err := c.AppendMessages(e.ctx, "s", a)
		e.wantErr(err, sessionstore.ErrInvalid, "AppendMessages of three good messages and one with "+name, "s", a)
		c.wantState("a batch with one message that has "+name, "s", before)
	}
	// Refused by what is stored, not by what is given.
	a := sessionstore.Append{Messages: append(slices.Clone(good), numbered("m", 1, true)...)}
	_, err := c.AppendMessages(e.ctx, "s", a)
	e.wantErr(err, sessionstore.ErrMessageExists, "AppendMessages", "s", a)
	c.wantState("a batch with one id that is stored", "s", before)
}

func atomicCounters(e *env) {
	a, b := e.client(), e.client()
	s := a.create(sessionstore.Session{ID: "s", TTL: time.Hour})
	for i, n := range []int{1, 7, 1, 100, 2} {
		now := e.clock.Advance(time.Second).Truncate(time.Microsecond)
		a.append("s", sessionstore.Append{Messages: numbered(fmt.Sprint(i, "."), n, false)})
		s.LastSeq += int64(n)
		s.MessageCount += int64(n)
		s.UpdatedAt, s.ExpiresAt = now, now.Add(time.Hour)
		e.wantSame(fmt.Sprintf("GetSession by another handle after an append of %d messages", n), b.get("s"), s)
		p := b.messages("s", sessionstore.MessageQuery{Newest: true, Limit: 1})
		e.wantSame("the Session of a page, after it", p.Session, s)
		e.wantSeqs("the newest message after it", p.Messages, s.LastSeq)
		e.wantSame("the list, after it", b.list(sessionstore.SessionQuery{}).Sessions, []sessionstore.Session{s})
	}
}

func atomicReaders(e *env) {
	handles := []client{e.client(), e.client()}
	handles[0].create(sessionstore.Session{ID: "s"})
	const batch, batches = 7, 40
	var done atomic.Bool
	e.together(4, func(i int) {
		h := handles[i%2]
		if i == 0 {
			defer done.Store(true)
			for n := range batches {
				h.append("s", sessionstore.Append{Messages: numbered(fmt.Sprint(n, "."), batch, false)})
			}
			return
		}
		for last := false; !e.Failed(); {
			finished := done.Load()
			p := h.messages("s", sessionstore.MessageQuery{})
			if n := int64(len(p.Messages)); n%batch != 0 || n != p.Session.LastSeq || n != p.Session.MessageCount {
				e.Errorf("ListMessages while batches of %d are appended\n  got:  %d messages with LastSeq %d and MessageCount %d\n  want: whole batches, and a Session of the same moment",
					batch, n, p.Session.LastSeq, p.Session.MessageCount)
			}
			s := h.get("s")
			if s.LastSeq%batch != 0 || s.LastSeq != s.MessageCount || s.LastSeq < p.Session.LastSeq {
				e.Errorf("GetSession while batches of %d are appended\n  got:  LastSeq %d, MessageCount %d\n  want: both equal, of whole batches, and at least %d, as read before",
					batch, s.LastSeq, s.MessageCount, p.Session.LastSeq)
			}
			np := h.messages("s", sessionstore.MessageQuery{Newest: true, Limit: 10})
			if n := len(np.Messages); n > 0 && np.Messages[n-1].Seq != np.Session.LastSeq {
				e.Errorf("ListMessages, newest 10, while batches of %d are appended\n  got:  the last Seq %d with LastSeq %d\n  want: both equal", batch, np.Messages[n-1].Seq, np.Session.LastSeq)
			}
			if last {
				return
			}
			last = finished
		}
	})
	e.wantSame("the number of messages at the end", len(handles[1].history("s")), batch*batches)
}

// atomicBreak is field report S15: a crash between two steps of one operation.
func atomicBreak(e *env) {
	if e.backend.Break == nil {
		e.notExercised("Backend.Break is nil")
		return
	}
	a, b := e.client(), e.client()
	a.create(sessionstore.Session{ID: "s"})
	a.append("s", sessionstore.Append{Messages: numbered("m", 5, true)})
	for i := range 10 {
		before := b.state("s")
		prefix := fmt.Sprint("b", i, ".")
		in := sessionstore.Append{Messages: numbered(prefix, 50, true)}
		e.backend.Break(e.TB, a.SessionStore)
		_, err := a.AppendMessages(e.ctx, "s", in)
		after := b.state("s")
		grown := after.Session.MessageCount - before.Session.MessageCount
		if grown != int64(len(after.Messages)-len(before.Messages)) || grown != 0 && grown != 50 || err == nil && grown != 50 {
			e.Fatalf("AppendMessages of 50 messages on a connection that broke, which returned error %v\n  got:  %d more in MessageCount, %d more messages\n  want: all or nothing, and all if there was no error",
				err, grown, len(after.Messages)-len(before.Messages))
		}
		// The retry repeats or completes it.
		got := a.appendUntilOK("s", in)
		e.wantSame("the history after the retry", b.history("s"), append(before.Messages, got...))
	}
}

var appendEmptyCases = []kase{
	{"no messages, no change", func(e *env) {
		c := e.client()
		for _, st := range statuses {
			id := string(st)
			c.create(sessionstore.Session{ID: id, TTL: time.Hour})
			c.say(id, "one")
			if st != sessionstore.StatusActive {
				c.setStatus(id, st)
			}
			before := c.state(id)
			e.clock.Advance(time.Second)
			for _, a := range []sessionstore.Append{{}, {Messages: []sessionstore.Message{}}, {IfLastSeq: ptr(int64(99))}} {
				got := c.append(id, a)
				e.wantSame(called("AppendMessages", id, a)+" of a session that is "+id+": empty, not nil", got, []sessionstore.Message{})
			}
			c.wantState("appends of no messages", id, before)
		}
	}},
	{"of a missing session", func(e *env) {
		c := e.client()
		_, err := c.AppendMessages(e.ctx, "missing", sessionstore.Append{})
		e.wantErr(err, sessionstore.ErrSessionNotFound, "AppendMessages", "missing", sessionstore.Append{})
		c.wantGone("an append of no messages", "missing")
	}},
}

var appendExpectCases = []kase{
	{"IfLastSeq other than LastSeq", expectConflict},
	{"racing appends with one IfLastSeq have one winner", expectRace},
}

func expectConflict(e *env) {
	c := e.client()
	c.create(sessionstore.Session{ID: "s"})
	c.append("s", sessionstore.Append{Messages: users("1", "2", "3"), IfLastSeq: ptr(int64(0))})
	c.truncate("s", sessionstore.Truncate{ThroughSeq: 1})
	before := c.state("s")
	e.clock.Advance(time.Second)
	for _, want := range []int64{0, 1, 2, 4, 1 << 62} {
		a := sessionstore.Append{Messages: users("x", "y"), IfLastSeq: &want}
		_, err := c.AppendMessages(e.ctx, "s", a)
		e.wantErr(err, sessionstore.ErrConflict, "AppendMessages", "s", a)
		e.wantConflict(err, sessionstore.ConflictError{Field: "last_seq", Expected: want, Actual: 3})
	}
	a := sessionstore.Append{Messages: users("x"), IfLastSeq: ptr(int64(-1))}
	_, err := c.AppendMessages(e.ctx, "s", a)
	e.wantErr(err, sessionstore.ErrInvalid, "AppendMessages", "s", a)
	c.wantState("appends with a wrong IfLastSeq", "s", before)
	e.wantSeqs("AppendMessages with the right IfLastSeq",
		c.append("s", sessionstore.Append{Messages: users("x"), IfLastSeq: ptr(int64(3))}), 4)
}

func expectRace(e *env) {
	handles := []client{e.client(), e.client()}
	handles[0].create(sessionstore.Session{ID: "s"})
	const racers = 8
	for round := range int64(10) {
		var won atomic.Int32
		e.together(racers, func(i int) {
			a := sessionstore.Append{Messages: users(fmt.Sprint("a", i), fmt.Sprint("b", i)), IfLastSeq: ptr(2 * round)}
			if _, err := handles[i%2].AppendMessages(e.ctx, "s", a); err == nil {
				won.Add(1)
			} else {
				e.wantErr(err, sessionstore.ErrConflict, "AppendMessages", "s", a)
			}
		})
		if n := won.Load(); n != 1 {
			e.Fatalf("%d racing appends with one IfLastSeq\n  got:  %d that succeeded\n  want: 1", racers, n)
		}
	}
	e.wantSame("the number of messages", len(handles[0].history("s")), 20)
}

var appendActiveCases = []kase{
	{"paused and closed take no messages", activeOnly},
	{"appends racing a pause and a close", activeRace},
}

func activeOnly(e *env) {
	a, b := e.client(), e.client()
	for _, t := range []struct {
		st   sessionstore.Status
		want error
	}{{sessionstore.StatusPaused, sessionstore.ErrSessionPaused}, {sessionstore.StatusClosed, sessionstore.ErrSessionClosed}} {
		created, set := "created "+string(t.st), "became "+string(t.st)
		a.create(sessionstore.Session{ID: created, Status: t.st})
		a.create(sessionstore.Session{ID: set})
		a.say(set, "one", "two")
		a.setStatus(set, t.st)
		for _, id := range []string{created, set} {
			before := b.state(id)
			e.clock.Advance(time.Second)
			_, err := b.AppendMessages(e.ctx, id, sessionstore.Append{Messages: users("x")})
			e.wantErr(err, t.want, "AppendMessages", id, "a session that is "+string(t.st))
			e.wantErr(err, sessionstore.ErrSessionNotActive, "AppendMessages", id, "a session that is "+string(t.st))
			b.wantState("a refused append", id, before)
		}
	}
	b.setStatus("became paused", sessionstore.StatusActive)
	e.wantSeqs("AppendMessages of a session that is active again", a.say("became paused", "three"), 3)
}

func activeRace(e *env) {
	handles := []client{e.client(), e.client()}
	for round, to := range []sessionstore.Status{sessionstore.StatusPaused, sessionstore.StatusClosed, sessionstore.StatusPaused, sessionstore.StatusClosed} {
		id := fmt.Sprint("s", round)
		handles[0].create(sessionstore.Session{ID: id})
		const writers = 4
		var acknowledged atomic.Int64
		var atStop sessionstore.Session
		started := make(chan struct{}, writers)
		e.together(writers+1, func(i int) {
			h := handles[i%2]
			if i == writers {
				for range writers {
					<-started
				}
				atStop = h.setStatus(id, to)
				return
			}
			var once sync.Once
			start := func() { once.Do(func() { started <- struct{}{} }) }
			defer start()
			for range raceCalls {
				_, err := h.AppendMessages(e.ctx, id, sessionstore.Append{Messages: users("x", "y")})
				start()
				if err != nil {
					e.wantErr(err, sessionstore.ErrSessionNotActive, "AppendMessages, a transition racing it", id)
					return
				}
				acknowledged.Add(2)
			}
		})
		s := handles[1].get(id)
		if s.LastSeq != atStop.LastSeq || s.LastSeq != acknowledged.Load() || s.MessageCount != s.LastSeq {
			e.Errorf("a session that became %s under appends\n  got:  LastSeq %d, MessageCount %d at the end\n  want: %d, which the transition returned, and %d, the messages acknowledged",
				to, s.LastSeq, s.MessageCount, atStop.LastSeq, acknowledged.Load())
		}
	}
}

var appendFlatCases = []kase{
	{"an append writes nothing but its messages", flatUntouched},
	{"not slower by magnitudes with a long history", flatCost},
}

// flatUntouched is field reports S30 and C45: an append that rewrites the history, or
// rewrites it from a limited view.
func flatUntouched(e *env) {
	a, b := e.client(), e.client()
	a.create(sessionstore.Session{ID: "s"})
	in := []sessionstore.Message{}
	for i := range 100 {
		m := sessionstore.AssistantMessage(fmt.Sprint("m", i), sessionstore.ToolCall{ID: fmt.Sprint("c", i), Name: "f", Arguments: ` { "a" : 1.0 } `})
		m.Metadata = sessionstore.Metadata{"i": i}
		in = append(in, m)
	}
	want := a.append("s", sessionstore.Append{Messages: in})
	a.messages("s", sessionstore.MessageQuery{Newest: true, Limit: 10}) // a limited view
	for i := range 50 {
		e.clock.Advance(time.Second)
		want = append(want, []client{a, b}[i%2].say("s", fmt.Sprint("more", i))...)
	}
	e.wantSame("a history of 150 messages, byte for byte as each was acknowledged", b.history("s"), want)
}

func flatCost(e *env) {
	a := e.client()
	a.create(sessionstore.Session{ID: "short"})
	a.create(sessionstore.Session{ID: "long"})
	const long = 10_000
	text := strings.Repeat("0123456789", 20)
	batch := make([]sessionstore.Message, 1000)
	for i := range batch {
		batch[i] = sessionstore.UserMessage(text)
	}
	for range long / len(batch) {
		a.append("long", sessionstore.Append{Messages: batch})
	}
	e.wantMagnitude(
		"AppendMessages of one message to a session of few", func() { a.say("short", "x") },
		fmt.Sprintf("to a session of %d", long), func() { a.say("long", "x") },
	)
}

// wantMagnitude runs two operations in turns, until the fastest of the second is not
// beyond all measure slower than the fastest of the first, and reports if that does not
// come to pass. Both see the same load, so that a slow machine fails nothing. Finer
// judgement is Bench's.
func (e *env) wantMagnitude(name string, base func(), other string, op func()) {
	const rounds, factor, floor = 40, 30, 200 * time.Microsecond
	fastest := func(best *time.Duration, f func()) {
		start := time.Now()
		f()
		if d := time.Since(start); *best == 0 || d < *best {
			*best = d
		}
	}
	var b, o time.Duration
	for range rounds {
		fastest(&b, base)
		fastest(&o, op)
		if o < factor*b+floor {
			return
		}
	}
	e.Errorf("%s, and %s\n  got:  %v and %v, the fastest of %d runs in turns\n  want: about the same (less than %d times + %v)", name, other, b, o, rounds, factor, floor)
}
