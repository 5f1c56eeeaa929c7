package storetest

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/sessionstore/sessionstore"
)

var messagesCases = []kase{
	{"every range, limit and direction", messagesRanges},
	{"limits", messagesLimits},
	{"the newest of many, and a walk from the start", messagesNewest},
	{"a page holds at most 32 MiB", messagesPageBytes},
	{"a page of small and large messages", messagesPageUneven},
	{"a reader that appends while it walks", messagesWalkAndAppend},
	{"the newest few are not slower by magnitudes in a long history", messagesNewestCost},
}

// messagesRanges compares every query on a history with a gap with what the rule says,
// field report S12: order and limits differ between databases.
func messagesRanges(e *env) {
	a, b := e.client(), e.client()
	a.create(sessionstore.Session{ID: "s"})
	a.say("s", "1", "2", "3", "4")
	a.truncate("s", sessionstore.Truncate{ThroughSeq: 2})
	a.say("s", "5", "6", "7")
	all := b.state("s")
	for after := range int64(9) {
		for before := range int64(10) {
			for _, limit := range []int{0, 1, 2, 5, 6} {
				for _, newest := range []bool{false, true} {
					q := sessionstore.MessageQuery{AfterSeq: after, BeforeSeq: before, Limit: limit, Newest: newest}
					want := sessionstore.MessagePage{Session: all.Session, Messages: []sessionstore.Message{}}
					for _, m := range all.Messages {
						if m.Seq > after && (before == 0 || m.Seq < before) {
							want.Messages = append(want.Messages, m)
						}
					}
					if n := len(want.Messages); limit > 0 && n > limit {
						want.HasMore = true
						if newest {
							want.Messages = want.Messages[n-limit:]
						} else {
							want.Messages = want.Messages[:limit]
						}
					}
					e.wantSame(called("ListMessages", "s", q)+" of the seqs 1, 2, 5, 6, 7", b.messages("s", q), want)
				}
			}
		}
	}
	for _, q := range []sessionstore.MessageQuery{{AfterSeq: math.MaxInt64}, {AfterSeq: math.MaxInt64, BeforeSeq: 1}, {BeforeSeq: 1}} {
		e.wantSame(called("ListMessages", "s", q)+": empty, not nil", b.messages("s", q).Messages, []sessionstore.Message{})
	}
	e.wantSame("ListMessages before the greatest Seq there can be", b.messages("s", sessionstore.MessageQuery{BeforeSeq: math.MaxInt64}).Messages, all.Messages)
}

// messagesLimits is field report S14: limits of 0, below 0 and beyond all differ.
func messagesLimits(e *env) {
	c := e.client()
	c.create(sessionstore.Session{ID: "s"})
	c.append("s", sessionstore.Append{Messages: numbered("m", sessionstore.MaxMessages, false)})
	c.say("s", "one more")
	for _, t := range []struct {
		q    sessionstore.MessageQuery
		n    int
		more bool
	}{
		{sessionstore.MessageQuery{}, sessionstore.MaxMessages, true},
		{sessionstore.MessageQuery{Newest: true}, sessionstore.MaxMessages, true},
		{sessionstore.MessageQuery{Limit: sessionstore.MaxMessages}, sessionstore.MaxMessages, true},
		{sessionstore.MessageQuery{Limit: sessionstore.MaxMessages, AfterSeq: 1}, sessionstore.MaxMessages, false},
		{sessionstore.MessageQuery{Limit: 1}, 1, true},
		{sessionstore.MessageQuery{Limit: 1, AfterSeq: sessionstore.MaxMessages}, 1, false},
	} {
		if p := c.messages("s", t.q); len(p.Messages) != t.n || p.HasMore != t.more {
			e.Errorf("%s of %d messages\n  got:  %d messages, HasMore %v\n  want: %d, %v", called("ListMessages", "s", t.q), sessionstore.MaxMessages+1, len(p.Messages), p.HasMore, t.n, t.more)
		}
	}
	for _, q := range []sessionstore.MessageQuery{
		{Limit: -1}, {Limit: math.MinInt}, {Limit: sessionstore.MaxMessages + 1}, {Limit: math.MaxInt},
		{AfterSeq: -1}, {BeforeSeq: -1}, {AfterSeq: math.MinInt64}, {Limit: -1, Newest: true},
	} {
		_, err := c.ListMessages(e.ctx, "s", q)
		e.wantErr(err, sessionstore.ErrInvalid, "ListMessages", "s", q)
	}
}

// messagesNewest is field report S13: a limit that returns the oldest.
func messagesNewest(e *env) {
	a, b := e.client(), e.client()
	a.create(sessionstore.Session{ID: "s"})
	want := []sessionstore.Message{}
	for i := range 10 {
		want = append(want, a.append("s", sessionstore.Append{Messages: numbered(fmt.Sprint(i, "."), 10, false)})...)
	}
	p := b.messages("s", sessionstore.MessageQuery{Newest: true, Limit: 10})
	e.wantSame("ListMessages, the newest 10 of 100", p.Messages, want[90:])
	for _, limit := range []int{1, 7, 10, 99, 100} {
		up, down := []sessionstore.Message{}, []sessionstore.Message{}
		for q := (sessionstore.MessageQuery{Limit: limit}); ; {
			p := b.messages("s", q)
			up = append(up, p.Messages...)
			if !p.HasMore || len(p.Messages) == 0 {
				break
			}
			q.AfterSeq = p.Messages[len(p.Messages)-1].Seq
		}
		for q := (sessionstore.MessageQuery{Limit: limit, Newest: true}); ; {
			p := b.messages("s", q)
			down = slices.Concat(p.Messages, down)
			if !p.HasMore || len(p.Messages) == 0 {
				break
			}
			q.BeforeSeq = p.Messages[0].Seq
		}
		e.wantSame(fmt.Sprintf("a walk from the start in steps of %d", limit), up, want)
		e.wantSame(fmt.Sprintf("a walk from the end in steps of %d", limit), down, want)
	}
}

func messagesPageBytes(e *env) {
	c := e.client()
	c.create(sessionstore.Session{ID: "s"})
	const n, each = 9, 4 << 20
	text := strings.Repeat("a", each)
	for range n {
		c.say("s", text)
	}
	checkPageBytes(c, "s", n)
}

// messagesPageUneven has pages whose size no mean and no first message tells.
func messagesPageUneven(e *env) {
	c := e.client()
	const small, large = 40, 5
	text := strings.Repeat("a", 79*sessionstore.MaxAppendBytes/80)
	for id, largeFirst := range map[string]bool{"small, then large": false, "large, then small": true} {
		c.create(sessionstore.Session{ID: id})
		if !largeFirst {
			c.append(id, sessionstore.Append{Messages: numbered("m", small, false)})
		}
		for range large {
			c.say(id, text)
		}
		if largeFirst {
			c.append(id, sessionstore.Append{Messages: numbered("m", small, false)})
		}
		checkPageBytes(c, id, small+large)
		c.remove(id) // they are large
	}
}

// checkPageBytes walks over the n messages of a session from either end: each page holds
// something, and no more than a page may.
func checkPageBytes(c client, id string, n int) {
	e := c.e
	for _, newest := range []bool{false, true} {
		seqs := []int64{}
		q := sessionstore.MessageQuery{Newest: newest}
		for {
			p := c.messages(id, q)
			size := 0
			var page []int64
			for _, m := range p.Messages {
				b, err := m.AppendJSON(nil)
				e.wantOK(err, "AppendJSON of a message that was read")
				size += len(b)
				page = append(page, m.Seq)
			}
			if size > sessionstore.MaxPageBytes || len(page) == 0 {
				e.Fatalf("%s of %d messages, some of megabytes\n  got:  %d messages of %d bytes\n  want: at least one, and at most %d bytes", called("ListMessages", id, q), n, len(page), size, sessionstore.MaxPageBytes)
			}
			if newest {
				seqs = append(page, seqs...)
				q.BeforeSeq = page[0]
			} else {
				seqs = append(seqs, page...)
				q.AfterSeq = page[len(page)-1]
			}
			if !p.HasMore {
				break
			}
		}
		inRow := len(seqs) == n
		for i, s := range seqs {
			inRow = inRow && s == int64(i+1)
		}
		if !inRow {
			e.Errorf("a walk over %d messages, some of megabytes, of %s, Newest %v\n  got:  seqs %v until HasMore was false\n  want: 1 to %d", n, show(id), newest, seqs, n)
		}
	}
}

// messagesWalkAndAppend is field report S36: a read that holds something while the
// caller writes.
func messagesWalkAndAppend(e *env) {
	a, b := e.client(), e.client()
	a.create(sessionstore.Session{ID: "s"})
	a.append("s", sessionstore.Append{Messages: numbered("m", 100, false)})
	var q sessionstore.MessageQuery
	q.Limit = 20
	seen := int64(0)
	for seen < 300 {
		p := a.messages("s", q)
		for _, m := range p.Messages {
			seen++
			if m.Seq != seen {
				e.Fatalf("a walk that appends as it goes\n  got:  Seq %d\n  want: %d", m.Seq, seen)
			}
			[]client{a, b}[seen%2].say("s", "another")
		}
		q.AfterSeq = seen
	}
}

func messagesNewestCost(e *env) {
	c := e.client()
	c.create(sessionstore.Session{ID: "short"})
	c.create(sessionstore.Session{ID: "long"})
	const long = 10_000
	batch := make([]sessionstore.Message, 1000)
	for i := range batch {
		batch[i] = sessionstore.UserMessage(strings.Repeat("0123456789", 20))
	}
	c.append("short", sessionstore.Append{Messages: batch[:20]})
	for range long / len(batch) {
		c.append("long", sessionstore.Append{Messages: batch})
	}
	q := sessionstore.MessageQuery{Newest: true, Limit: 20}
	e.wantMagnitude(
		"ListMessages, the newest 20 of 20", func() { c.messages("short", q) },
		fmt.Sprintf("of %d", long), func() { c.messages("long", q) },
	)
}

var truncateCases = []kase{
	{"removes what is after ThroughSeq", truncateRemoves},
	{"removing nothing changes nothing", truncateNothing},
	{"is checked as an append is", truncateChecked},
	{"readers and writers at the same time", truncateConcurrent},
}

func truncateRemoves(e *env) {
	a, b := e.client(), e.client()
	for through := range int64(6) {
		id := fmt.Sprint("through ", through)
		a.create(sessionstore.Session{ID: id, TTL: time.Hour})
		stored := a.append(id, sessionstore.Append{Messages: numbered("m", 5, true)})
		want := state{a.get(id), stored[:min(through, 5)]}
		now := e.clock.Advance(time.Minute).Truncate(time.Microsecond)
		want.Session.MessageCount = int64(len(want.Messages))
		if through < 5 {
			want.Session.UpdatedAt, want.Session.ExpiresAt = now, now.Add(time.Hour)
		}
		t := sessionstore.Truncate{ThroughSeq: through, IfLastSeq: ptr(int64(5))}
		got := a.truncate(id, t)
		e.wantSame(called("TruncateMessages", id, t)+" of 5 messages", got, want.Session)
		b.wantState(called("TruncateMessages", id, t)+" of 5 messages", id, want)
	}
	// Through a gap, and what is before it stays byte for byte.
	a.create(sessionstore.Session{ID: "gap"})
	a.append("gap", sessionstore.Append{Messages: []sessionstore.Message{fullMessage("full")}})
	a.say("gap", "2", "3")
	a.truncate("gap", sessionstore.Truncate{ThroughSeq: 1})
	a.say("gap", "4", "5", "6")
	want := a.history("gap")
	got := b.truncate("gap", sessionstore.Truncate{ThroughSeq: 4})
	if got.LastSeq != 6 || got.MessageCount != 2 || got.Version != 1 {
		e.Errorf("TruncateMessages through 4 of the seqs 1, 4, 5, 6\n  got:  LastSeq %d, MessageCount %d, Version %d\n  want: 6, 2, 1", got.LastSeq, got.MessageCount, got.Version)
	}
	e.wantSame("the history after it", a.history("gap"), want[:2])
	got = b.truncate("gap", sessionstore.Truncate{ThroughSeq: 3})
	e.wantSame("the history after a truncate to a Seq in the gap", a.history("gap"), want[:1])
	if got.MessageCount != 1 {
		e.Errorf("TruncateMessages to a Seq in a gap\n  got:  MessageCount %d\n  want: 1", got.MessageCount)
	}
	// A long history, at once.
	a.create(sessionstore.Session{ID: "long"})
	for range 3 {
		a.append("long", sessionstore.Append{Messages: numbered("x", 1000, false)})
	}
	b.truncate("long", sessionstore.Truncate{ThroughSeq: 1500})
	if n := len(a.history("long")); n != 1500 {
		e.Errorf("the history after a truncate through 1500 of 3000\n  got:  %d messages", n)
	}
}

func truncateNothing(e *env) {
	c := e.client()
	c.create(sessionstore.Session{ID: "s", TTL: time.Hour})
	c.create(sessionstore.Session{ID: "empty", TTL: time.Hour})
	c.say("s", "1", "2", "3")
	c.truncate("s", sessionstore.Truncate{ThroughSeq: 2})
	before, empty := c.state("s"), c.state("empty")
	e.clock.Advance(time.Minute)
	for _, through := range []int64{2, 3, 4, math.MaxInt64} {
		t := sessionstore.Truncate{ThroughSeq: through}
		e.wantSame(called("TruncateMessages", "s", t)+", which removes nothing", c.truncate("s", t), before.Session)
	}
	e.wantSame("TruncateMessages of an empty history", c.truncate("empty", sessionstore.Truncate{}), empty.Session)
	c.wantState("truncates that remove nothing", "s", before)
	c.wantState("truncates that remove nothing", "empty", empty)
}

func truncateChecked(e *env) {
	c := e.client()
	for _, t := range []struct {
		st   sessionstore.Status
		want error
	}{{sessionstore.StatusPaused, sessionstore.ErrSessionPaused}, {sessionstore.StatusClosed, sessionstore.ErrSessionClosed}} {
		id := string(t.st)
		c.create(sessionstore.Session{ID: id})
		c.say(id, "1", "2")
		c.setStatus(id, t.st)
		before := c.state(id)
		for _, tr := range []sessionstore.Truncate{{}, {ThroughSeq: 1}, {ThroughSeq: 9}} {
			_, err := c.TruncateMessages(e.ctx, id, tr)
			e.wantErr(err, t.want, "TruncateMessages", id, tr)
			e.wantErr(err, sessionstore.ErrSessionNotActive, "TruncateMessages", id, tr)
		}
		c.wantState("a refused truncate", id, before)
	}
	c.create(sessionstore.Session{ID: "s"})
	c.say("s", "1", "2", "3")
	c.truncate("s", sessionstore.Truncate{ThroughSeq: 2})
	before := c.state("s")
	e.clock.Advance(time.Second)
	for _, want := range []int64{0, 2, 4} {
		tr := sessionstore.Truncate{ThroughSeq: 1, IfLastSeq: &want}
		_, err := c.TruncateMessages(e.ctx, "s", tr)
		e.wantErr(err, sessionstore.ErrConflict, "TruncateMessages", "s", tr)
		e.wantConflict(err, sessionstore.ConflictError{Field: "last_seq", Expected: want, Actual: 3})
	}
	for _, tr := range []sessionstore.Truncate{{ThroughSeq: -1}, {IfLastSeq: ptr(int64(-1))}} {
		_, err := c.TruncateMessages(e.ctx, "s", tr)
		e.wantErr(err, sessionstore.ErrInvalid, "TruncateMessages", "s", tr)
	}
	c.wantState("refused truncates", "s", before)
	c.truncate("s", sessionstore.Truncate{ThroughSeq: 1, IfLastSeq: ptr(int64(3))})
}

// truncateConcurrent lets one clear while others append and read: no Seq is given out
// twice, and no reader sees part of a truncate.
func truncateConcurrent(e *env) {
	handles := []client{e.client(), e.client()}
	handles[0].create(sessionstore.Session{ID: "s"})
	const writers, appends, batch = 3, 30, 5
	var running atomic.Int32
	running.Store(writers)
	seqs := make([][]int64, writers)
	e.together(writers+2, func(i int) {
		h := handles[i%2]
		switch {
		case i < writers:
			defer running.Add(-1)
			for range appends {
				for _, m := range h.append("s", sessionstore.Append{Messages: numbered("x", batch, false)}) {
					seqs[i] = append(seqs[i], m.Seq)
				}
			}
		case i == writers:
			for running.Load() > 0 && !e.Failed() {
				s := h.truncate("s", sessionstore.Truncate{})
				if s.MessageCount != 0 {
					e.Errorf("TruncateMessages of all, appends racing it\n  got:  MessageCount %d in what it returned\n  want: 0", s.MessageCount)
				}
			}
		default:
			for running.Load() > 0 && !e.Failed() {
				p := h.messages("s", sessionstore.MessageQuery{})
				if n := int64(len(p.Messages)); n%batch != 0 || n != p.Session.MessageCount {
					e.Errorf("ListMessages, appends of %d and truncates of all racing it\n  got:  %d messages with MessageCount %d\n  want: whole batches, and both equal", batch, n, p.Session.MessageCount)
				}
			}
		}
	})
	all := slices.Concat(seqs...)
	slices.Sort(all)
	for i, s := range all {
		if s != int64(i+1) {
			e.Fatalf("the seqs that racing appends returned, truncates between them\n  got:  %d at place %d\n  want: each of 1 to %d once", s, i+1, len(all))
		}
	}
	if s := handles[0].get("s"); s.LastSeq != int64(len(all)) {
		e.Errorf("LastSeq at the end\n  got:  %d\n  want: %d", s.LastSeq, len(all))
	}
}
