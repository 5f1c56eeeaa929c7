package storetest

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/sessionstore/sessionstore"
)

var forkCases = []kase{
	{"the child", forkChild},
	{"at every Seq", forkAtSeq},
	{"of any status, with new metadata and owner", forkVariants},
	{"refused", forkRefused},
	{"the two share nothing", forkSharesNothing},
	{"a source with a gap, and a long one", forkLong},
	{"complete and at once, of one moment", forkAtOnce},
	{"a source that grows and shrinks", forkMoment},
}

// exactFork says whether the store forks by itself or can restore: then it must be able
// to fork anything.
func exactFork(s sessionstore.SessionStore) bool {
	_, forker := s.(sessionstore.Forker)
	_, restorer := s.(sessionstore.Restorer)
	return forker || restorer
}

// forkOrNote forks, or notes that this store cannot: the fallback refuses what it cannot
// do right.
func (c client) forkOrNote(what, id string, f sessionstore.Fork) (sessionstore.Session, bool) {
	s, err := sessionstore.ForkSession(c.ctx, c.SessionStore, id, f)
	if errors.Is(err, errors.ErrUnsupported) {
		c.e.notExercised("%s: the store is neither a Forker nor a Restorer, and the fallback refuses it", what)
		if f.ID != "" {
			_, err := c.GetSession(c.ctx, f.ID)
			c.e.wantErr(err, sessionstore.ErrSessionNotFound, "GetSession of the child of a refused fork", f.ID)
		}
		return s, false
	}
	c.e.wantOK(err, "ForkSession", id, f)
	return s, true
}

// childOf is what the fork of src at its end must be.
func childOf(src state, f sessionstore.Fork, now time.Time) state {
	now = now.Truncate(time.Microsecond)
	child := state{src.Session.Clone(), []sessionstore.Message{}}
	s := &child.Session
	s.ID, s.ParentID, s.ForkSeq = f.ID, src.Session.ID, src.Session.LastSeq
	if f.AtSeq != nil {
		s.ForkSeq = *f.AtSeq
	}
	s.Status, s.Version, s.LastSeq = sessionstore.StatusActive, 1, s.ForkSeq
	s.CreatedAt, s.UpdatedAt = now, now
	if s.TTL > 0 {
		s.ExpiresAt = now.Add(s.TTL)
	}
	if f.UserID != nil {
		s.UserID = *f.UserID
	}
	for k, v := range f.Metadata {
		s.Metadata[k] = v
	}
	for _, m := range src.Messages {
		if m.Seq <= s.ForkSeq {
			m = m.Clone()
			m.SessionID = f.ID
			child.Messages = append(child.Messages, m)
		}
	}
	s.MessageCount = int64(len(child.Messages))
	return child
}

func forkChild(e *env) {
	a, b := e.client(), e.client()
	in := fullSession("src")
	in.Status = sessionstore.StatusActive
	a.create(in)
	a.append("src", sessionstore.Append{Messages: []sessionstore.Message{fullMessage("full")}})
	e.clock.Advance(time.Second)
	a.append("src", sessionstore.Append{Messages: numbered("m", 4, true)})
	src := a.state("src")
	now := e.clock.Advance(time.Minute)
	f := sessionstore.Fork{ID: "child"}
	got := a.fork("src", f)
	want := childOf(src, f, now)
	e.wantSame(called("ForkSession", "src", f), got, want.Session)
	b.wantState("ForkSession, the child, by another handle", "child", want)
	b.wantState("ForkSession, the source", "src", src)
	e.wantIDs("ListSessions by ParentID", b.walk(sessionstore.SessionQuery{ParentID: "src"}), "child")

	// It goes on where it was forked, and knows the ids it has.
	e.wantSeqs("an append to the child", b.say("child", "next"), 6)
	e.wantSeqs("a repeat of the source's messages to the child",
		b.append("child", sessionstore.Append{Messages: numbered("m", 4, true)}), 2, 3, 4, 5)
	grandchild := a.fork("child", sessionstore.Fork{AtSeq: ptr(int64(3))})
	if !uuidV7.MatchString(grandchild.ID) || grandchild.ParentID != "child" || grandchild.ForkSeq != 3 || grandchild.MessageCount != 3 {
		e.Errorf("ForkSession of a fork, without an id, at Seq 3\n  got:  %s\n  want: a new UUIDv7, ParentID \"child\", ForkSeq and MessageCount 3", show(grandchild))
	}
	e.wantSeqs("its history", b.history(grandchild.ID), 1, 2, 3)
}

func forkAtSeq(e *env) {
	c := e.client()
	c.create(sessionstore.Session{ID: "src"})
	c.append("src", sessionstore.Append{Messages: numbered("m", 4, true)})
	src := c.state("src")
	for at := range int64(5) {
		f := sessionstore.Fork{ID: fmt.Sprint("at ", at), AtSeq: &at}
		e.wantSame(called("ForkSession", "src", f), c.fork("src", f), childOf(src, f, e.clock.Now()).Session)
		c.wantState("ForkSession of 4 messages, the child", f.ID, childOf(src, f, e.clock.Now()))
		e.wantSeqs("an append to the child", c.say(f.ID, "next"), at+1)
	}
	c.wantState("forks", "src", src)
}

func forkVariants(e *env) {
	c := e.client()
	for _, st := range statuses {
		id := string(st)
		c.create(sessionstore.Session{ID: id, UserID: "anonymous", AgentName: "agent", System: "system", TTL: time.Hour,
			Metadata: sessionstore.Metadata{"a": 1, "b": map[string]any{"x": 1}}})
		c.say(id, "one", "two")
		if st != sessionstore.StatusActive {
			c.setStatus(id, st)
		}
		e.clock.Advance(time.Minute)
		src := c.state(id)
		for i, f := range []sessionstore.Fork{
			{},
			{UserID: ptr("ann")},
			{UserID: ptr("")},
			{Metadata: sessionstore.Metadata{"b": int64(2), "c": nil}},
			{Metadata: sessionstore.Metadata{"a": []any{}}, UserID: ptr("bob"), AtSeq: ptr(int64(0))},
		} {
			f.ID = fmt.Sprint("child ", i, " of ", id)
			want := childOf(src, f, e.clock.Now())
			e.wantSame(called("ForkSession", id, f), c.fork(id, f), want.Session)
			c.wantState("ForkSession, the child", f.ID, want)
			c.say(f.ID, "it is active")
		}
		c.wantState("forks", id, src)
	}
	e.wantIDs("ListSessions by the user a fork was given to, and the parent",
		c.walk(sessionstore.SessionQuery{UserID: "ann", ParentID: "active"}), "child 1 of active")
}

func forkRefused(e *env) {
	c := e.client()
	c.create(sessionstore.Session{ID: "src", System: strings.Repeat("s", sessionstore.MaxStateBytes/2)})
	c.say("src", "one", "two")
	c.create(sessionstore.Session{ID: "taken"})
	c.say("taken", "mine")
	src, taken := c.state("src"), c.state("taken")
	e.clock.Advance(time.Second)
	for _, t := range []struct {
		f    sessionstore.Fork
		want error
	}{
		{sessionstore.Fork{ID: "taken"}, sessionstore.ErrSessionExists},
		{sessionstore.Fork{ID: "src"}, sessionstore.ErrSessionExists},
		{sessionstore.Fork{ID: "new", AtSeq: ptr(int64(3))}, sessionstore.ErrInvalid},
		{sessionstore.Fork{ID: "new", AtSeq: ptr(int64(-1))}, sessionstore.ErrInvalid},
		{sessionstore.Fork{ID: "new\x00"}, sessionstore.ErrInvalid},
		{sessionstore.Fork{ID: "new", UserID: ptr("a\nb")}, sessionstore.ErrInvalid},
		{sessionstore.Fork{ID: "new", Metadata: sessionstore.Metadata{"\xff": 1}}, sessionstore.ErrInvalid},
		{sessionstore.Fork{ID: "new", Metadata: sessionstore.Metadata{"k": strings.Repeat("v", sessionstore.MaxStateBytes/2)}}, sessionstore.ErrTooLarge},
	} {
		_, err := sessionstore.ForkSession(e.ctx, c.SessionStore, "src", t.f)
		e.wantErr(err, t.want, "ForkSession", "src", t.f)
	}
	c.wantState("refused forks", "src", src)
	c.wantState("refused forks", "taken", taken)
	e.wantIDs("ListSessions by the source as parent", c.walk(sessionstore.SessionQuery{ParentID: "src"}))
	c.wantGone("refused forks", "new")
}

// forkSharesNothing is field report C41: a fork that is changed changes its source.
func forkSharesNothing(e *env) {
	a, b := e.client(), e.client()
	a.create(sessionstore.Session{ID: "src", Metadata: sessionstore.Metadata{"shared": map[string]any{"list": []any{int64(1), map[string]any{"k": "v"}}}}, System: "one"})
	for i := range 20 {
		a.append("src", sessionstore.Append{Messages: []sessionstore.Message{fullMessage(fmt.Sprint("m", i))}})
	}
	a.fork("src", sessionstore.Fork{ID: "child"})
	op := func(c client, id string, n int) {
		switch e.rng.IntN(5) {
		case 0:
			c.say(id, "more", "and more")
		case 1:
			s := c.get(id)
			c.truncate(id, sessionstore.Truncate{ThroughSeq: max(0, s.LastSeq-int64(e.rng.IntN(4)))})
		case 2:
			c.update(id, sessionstore.SessionUpdate{SetMetadata: sessionstore.Metadata{"shared": n, fmt.Sprint("k", n): n}})
		case 3:
			c.update(id, sessionstore.SessionUpdate{System: ptr(fmt.Sprint("system ", n)), DeleteMetadata: []string{"shared"}})
		case 4:
			c.append(id, sessionstore.Append{Messages: []sessionstore.Message{fullMessage(fmt.Sprint(id, n))}})
		}
		e.clock.Advance(time.Duration(e.rng.IntN(3)) * time.Second)
	}
	for _, t := range []struct{ changed, still string }{{"child", "src"}, {"src", "child"}} {
		before := a.state(t.still)
		for n := range 50 {
			op([]client{a, b}[n%2], t.changed, n)
		}
		a.truncate(t.changed, sessionstore.Truncate{})
		a.wantState("50 writes to its "+map[string]string{"child": "fork", "src": "source"}[t.changed], t.still, before)
	}
	before := b.state("child")
	a.remove("src")
	b.wantState("its source was deleted", "child", before)
}

func forkLong(e *env) {
	c := e.client()
	c.create(sessionstore.Session{ID: "gap"})
	c.say("gap", "1", "2", "3")
	c.truncate("gap", sessionstore.Truncate{ThroughSeq: 1})
	c.say("gap", "4", "5")
	c.truncate("gap", sessionstore.Truncate{ThroughSeq: 4})
	src := c.state("gap") // 1, 4 of 5
	for _, at := range []*int64{nil, ptr(int64(5)), ptr(int64(4)), ptr(int64(3)), ptr(int64(2))} {
		f := sessionstore.Fork{ID: "child", AtSeq: at}
		if got, ok := c.forkOrNote("a source with a gap", "gap", f); ok {
			want := childOf(src, f, e.clock.Now())
			e.wantSame(called("ForkSession", "gap", f)+" of the seqs 1, 4 with LastSeq 5", got, want.Session)
			c.wantState("ForkSession, the child", "child", want)
			e.wantSeqs("an append to the child", c.say("child", "next"), got.ForkSeq+1)
			c.remove("child")
		}
	}
	c.wantState("forks", "gap", src)

	c.create(sessionstore.Session{ID: "long"})
	for i := range 3 {
		c.append("long", sessionstore.Append{Messages: numbered(fmt.Sprint(i, "."), 700, true)})
	}
	src = c.state("long")
	f := sessionstore.Fork{ID: "long child", AtSeq: ptr(int64(1900))}
	if got, ok := c.forkOrNote("a fork of 1,900 messages", "long", f); ok {
		want := childOf(src, f, e.clock.Now())
		e.wantSame(called("ForkSession", "long", f), got, want.Session)
		c.wantState("ForkSession, the child", f.ID, want)
	}
}

// forkAtOnce forks while the source is written to and watches the children appear.
func forkAtOnce(e *env) {
	handles := []client{e.client(), e.client()}
	if !exactFork(handles[0].SessionStore) {
		e.notExercised("children that appear at once: the store is neither a Forker nor a Restorer, and those of the fallback do not")
		return
	}
	handles[0].create(sessionstore.Session{ID: "src"})
	handles[0].append("src", sessionstore.Append{Messages: numbered("x", 500, false)})
	const batch, forks = 5, 10
	var done atomic.Bool
	var next atomic.Int64 // the fork that runs
	e.together(4, func(i int) {
		h := handles[i%2]
		switch i {
		case 3: // asks for the child by its id
			for !done.Load() && !e.Failed() {
				id := fmt.Sprint("child", next.Load())
				p, err := h.ListMessages(e.ctx, id, sessionstore.MessageQuery{Newest: true, Limit: 1})
				if err != nil {
					e.wantErr(err, sessionstore.ErrSessionNotFound, "ListMessages of a child that is being made", id)
				} else if s := p.Session; len(p.Messages) != 1 || p.Messages[0].Seq != s.LastSeq || s.LastSeq != s.ForkSeq || s.MessageCount != s.LastSeq {
					e.Errorf("ListMessages of a child that is being made, its newest message\n  got:  %s\n  want: nothing or the whole", show(p))
				}
			}
		case 0:
			defer done.Store(true)
			for n := range forks {
				next.Store(int64(n))
				h.fork("src", sessionstore.Fork{ID: fmt.Sprint("child", n)})
			}
		case 1:
			for n := 0; !done.Load() && n < 400; n++ {
				h.append("src", sessionstore.Append{Messages: numbered("y", batch, false)})
				h.update("src", sessionstore.SessionUpdate{SetMetadata: sessionstore.Metadata{"appended": n + 1}})
			}
		case 2:
			for last := false; !e.Failed(); {
				finished := done.Load()
				for _, s := range h.walk(sessionstore.SessionQuery{ParentID: "src"}) {
					msgs := h.history(s.ID)
					appended, _ := s.Metadata.Int("appended")
					whole := (s.LastSeq - 500) / batch // appends so far: one more than updates, or as many
					if n := int64(len(msgs)); n != s.LastSeq || n != s.MessageCount || s.ForkSeq != n || (n-500)%batch != 0 || whole != appended && whole != appended+1 {
						e.Errorf("a child while its source is written to\n  got:  %d messages, LastSeq %d, ForkSeq %d, MessageCount %d, metadata of append %d\n  want: all of one moment of the source",
							n, s.LastSeq, s.ForkSeq, s.MessageCount, appended)
					}
				}
				if last {
					return
				}
				last = finished
			}
		}
	})
}
