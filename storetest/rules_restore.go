package storetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/sessionstore/sessionstore"
)

var restoreCases = []kase{
	{"exactly as given", restoreExact},
	{"an id in use", restoreInUse},
	{"complete or absent", restoreAllOrNothing},
	{"no lock is held while the iterator runs", restoreNoLock},
	{"nothing or the whole, to readers", restoreVisible},
	{"of one id at the same time", restoreRace},
	{"without a Restorer", restoreFallback},
}

// sources makes sessions of every kind worth restoring, and returns their states.
func sources(c client) []state {
	e := c.e
	var out []state
	in := fullSession("full")
	in.Status = sessionstore.StatusActive
	c.create(in)
	for i := range 5 {
		e.clock.Advance(time.Second)
		c.append("full", sessionstore.Append{Messages: []sessionstore.Message{fullMessage(fmt.Sprint("m", i)), sessionstore.UserMessage("x")}})
	}
	c.truncate("full", sessionstore.Truncate{ThroughSeq: 7})
	c.say("full", "after a gap", "cut again")
	c.truncate("full", sessionstore.Truncate{ThroughSeq: 11})
	c.update("full", sessionstore.SessionUpdate{System: ptr("v2"), SetMetadata: sessionstore.Metadata{"odd.$key": map[string]any{"": nil}}})
	e.clock.Advance(time.Second)
	c.setStatus("full", sessionstore.StatusClosed)
	c.create(sessionstore.Session{ID: "empty", Status: sessionstore.StatusPaused})
	c.create(sessionstore.Session{ID: "long", Extra: map[string]json.RawMessage{"x": json.RawMessage(`1.0`)}})
	for i := range 3 {
		c.append("long", sessionstore.Append{Messages: numbered(fmt.Sprint(i, "."), 900, true)})
	}
	for _, id := range []string{"full", "empty", "long"} {
		out = append(out, c.state(id))
	}
	return out
}

// each yields the messages, then the error if there is one.
func each(msgs []sessionstore.Message, err error) func(yield func(sessionstore.Message, error) bool) {
	return func(yield func(sessionstore.Message, error) bool) {
		for _, m := range msgs {
			if !yield(m, nil) {
				return
			}
		}
		if err != nil {
			yield(sessionstore.Message{}, err)
		}
	}
}

func (e *env) restorer() (client, bool) {
	c := e.client()
	if _, ok := c.SessionStore.(sessionstore.Restorer); ok {
		return c, true
	}
	e.notExercised("the store is no Restorer")
	return c, false
}

func restoreExact(e *env) {
	src, ok := e.restorer()
	if !ok {
		return
	}
	other := e.namespace + " restored"
	dst, dst2 := e.on(e.openIn(other)), e.on(e.openIn(other))
	for _, st := range sources(src) {
		e.clock.Advance(time.Minute)
		got, err := sessionstore.RestoreSession(e.ctx, dst.SessionStore, st.Session, each(st.Messages, nil))
		e.wantOK(err, "RestoreSession", st.Session)
		e.wantSame(called("RestoreSession", st.Session), got, st.Session)
		dst2.wantState("RestoreSession", st.Session.ID, st)
		for i, m := range dst2.history(st.Session.ID) {
			a, _ := m.AppendJSON(nil)
			b, _ := st.Messages[i].AppendJSON(nil)
			if string(a) != string(b) {
				e.Errorf("a restored message as JSON\n  got:  %s\n  want: %s", clip(string(a), 400), clip(string(b), 400))
			}
		}
	}
	e.wantSame("the list of what was restored, against the source's", dst2.walk(sessionstore.SessionQuery{}), src.walk(sessionstore.SessionQuery{}))
	// It goes on: the next Seq, the next Version, the ids it has.
	e.wantSeqs("an append to what was restored", dst.say("long", "next"), 2701)
	e.wantSeqs("a repeat of restored messages", dst.append("long", sessionstore.Append{Messages: numbered("0.", 2, true)}), 1, 2)
	s := dst.update("full", sessionstore.SessionUpdate{SetMetadata: sessionstore.Metadata{"k": 1}})
	if want := src.get("full").Version + 1; s.Version != want {
		e.Errorf("the Version after an update of what was restored\n  got:  %d\n  want: %d", s.Version, want)
	}
}

func restoreInUse(e *env) {
	c, ok := e.restorer()
	if !ok {
		return
	}
	all := sources(c)
	for _, st := range all {
		mine := st.Session
		mine.System = "restored over it"
		_, err := sessionstore.RestoreSession(e.ctx, c.SessionStore, mine, each(st.Messages, nil))
		e.wantErr(err, sessionstore.ErrSessionExists, "RestoreSession", mine)
		c.wantState("a refused RestoreSession", st.Session.ID, st)
	}
	// Deleted or expired, its id is free.
	c.remove("long")
	_, err := sessionstore.RestoreSession(e.ctx, c.SessionStore, all[2].Session, each(all[2].Messages, nil))
	e.wantOK(err, "RestoreSession of a session that was deleted", all[2].Session)
	c.wantState("being deleted and restored", "long", all[2])
	e.clock.Set(all[0].Session.ExpiresAt)
	s := all[0].Session
	s.TTL = 0
	got, err := sessionstore.RestoreSession(e.ctx, c.SessionStore, s, each(all[0].Messages, nil))
	e.wantOK(err, "RestoreSession over a session that expired", s)
	c.wantState("RestoreSession over a session that expired", "full", state{got, all[0].Messages})
}

func restoreAllOrNothing(e *env) {
	c, ok := e.restorer()
	if !ok {
		return
	}
	sources(c)
	st := c.state("long")
	st.Session.ID = "copy"
	for i := range st.Messages {
		st.Messages[i].SessionID = ""
	}
	broken := errors.New("the file ends here")
	for _, n := range []int{0, 1, 999, 1500, 2700} {
		_, err := sessionstore.RestoreSession(e.ctx, c.SessionStore, st.Session, each(st.Messages[:n], broken))
		e.wantErr(err, broken, fmt.Sprintf("RestoreSession from an iterator that fails after %d messages", n))
		c.wantGone("a RestoreSession that failed", "copy")
	}
	change := func(i int, f func(m *sessionstore.Message)) []sessionstore.Message {
		out := append([]sessionstore.Message(nil), st.Messages...)
		f(&out[i])
		return out
	}
	session := func(f func(s *sessionstore.Session)) sessionstore.Session { s := st.Session; f(&s); return s }
	for _, t := range []struct {
		name string
		s    sessionstore.Session
		m    []sessionstore.Message
	}{
		{"a Seq that does not grow", st.Session, change(1500, func(m *sessionstore.Message) { m.Seq = 1500 })},
		{"a Seq beyond LastSeq", st.Session, change(2699, func(m *sessionstore.Message) { m.Seq = 9999 })},
		{"an id twice, far apart", st.Session, change(2600, func(m *sessionstore.Message) { m.ID = st.Messages[3].ID })},
		{"an id twice, in a row", st.Session, change(1, func(m *sessionstore.Message) { m.ID = st.Messages[0].ID })},
		{"an unknown role", st.Session, change(2000, func(m *sessionstore.Message) { m.Role = "function" })},
		{"a message of another session", st.Session, change(10, func(m *sessionstore.Message) { m.SessionID = "other" })},
		{"a message without an id", st.Session, change(10, func(m *sessionstore.Message) { m.ID = "" })},
		{"fewer messages than MessageCount", st.Session, st.Messages[:2000]},
		{"no Version", session(func(s *sessionstore.Session) { s.Version = 0 }), st.Messages},
		{"no id", session(func(s *sessionstore.Session) { s.ID = "" }), st.Messages},
	} {
		_, err := sessionstore.RestoreSession(e.ctx, c.SessionStore, t.s, each(t.m, nil))
		e.wantErr(err, sessionstore.ErrInvalid, "RestoreSession with "+t.name)
		c.wantGone("a RestoreSession with "+t.name, "copy")
	}
	got, err := sessionstore.RestoreSession(e.ctx, c.SessionStore, st.Session, each(st.Messages, nil))
	e.wantOK(err, "RestoreSession after those that failed", st.Session)
	e.wantSame("RestoreSession after those that failed", got, st.Session)
	e.wantSame("its number of messages", len(c.history("copy")), len(st.Messages))
}

func restoreNoLock(e *env) {
	a, ok := e.restorer()
	if !ok {
		return
	}
	b := e.client()
	all := sources(a)
	st := all[2]
	st.Session.ID = "copy"
	a.create(sessionstore.Session{ID: "other"})
	i := 0
	_, err := sessionstore.RestoreSession(e.ctx, a.SessionStore, st.Session, func(yield func(sessionstore.Message, error) bool) {
		for _, m := range st.Messages {
			m.SessionID = ""
			if i++; i%300 == 0 {
				// The caller's code uses both stores, and sees nothing half done.
				a.say("other", "written while restoring")
				b.append("other", sessionstore.Append{Messages: users("and by another handle")})
				b.history("other")
				_, err := b.GetSession(e.ctx, "copy")
				e.wantErr(err, sessionstore.ErrSessionNotFound, "GetSession of a session that is being restored", "copy")
				if n := len(a.walk(sessionstore.SessionQuery{})); n != 4 {
					e.Errorf("ListSessions while a fifth session is being restored\n  got:  %d sessions\n  want: 4", n)
				}
			}
			if !yield(m, nil) {
				return
			}
		}
	})
	e.wantOK(err, "RestoreSession from an iterator that uses the store", st.Session)
	e.wantSame("the number of messages restored", len(b.history("copy")), len(st.Messages))
	e.wantSame("the number of messages that the iterator appended", len(b.history("other")), 2*(len(st.Messages)/300))
}

// restoreFallback restores through the interface alone, whatever the store can do.
func restoreFallback(e *env) {
	c := e.client()
	bare := struct{ sessionstore.SessionStore }{c.SessionStore}
	src := sessionstore.Session{ID: "s", Status: sessionstore.StatusClosed, System: "system", UserID: "ann", Version: 9, LastSeq: 7, MessageCount: 2,
		CreatedAt: epoch.Add(-time.Hour), UpdatedAt: epoch.Add(-time.Minute), Metadata: sessionstore.Metadata{"k": "v"}}
	msgs := []sessionstore.Message{fullMessage("a"), sessionstore.UserMessage("hi")}
	msgs[0].Seq, msgs[1].Seq, msgs[1].ID, msgs[1].CreatedAt = 3, 7, "b", epoch.Add(-time.Minute)
	_, err := sessionstore.RestoreSession(e.ctx, bare, src, each(msgs, nil))
	e.wantOK(err, "RestoreSession by create and append", src)
	got := c.state("s")
	if got.Session.Status != src.Status || got.Session.System != src.System || got.Session.UserID != "ann" || !got.Session.CreatedAt.Equal(src.CreatedAt) {
		e.Errorf("RestoreSession by create and append\n  got:  %s\n  want: the Status, System, UserID and CreatedAt of %s", show(got.Session), show(src))
	}
	e.wantSeqs("its history, renumbered", got.Messages, 1, 2)
	for i, m := range got.Messages {
		want := msgs[i].Clone()
		want.SessionID, want.Seq = "s", m.Seq
		if want.Metadata == nil {
			want.Metadata = sessionstore.Metadata{}
		}
		e.wantSame("a message of it", m, want)
	}
	_, err = sessionstore.RestoreSession(e.ctx, bare, src, each(msgs, nil))
	e.wantErr(err, sessionstore.ErrSessionExists, "RestoreSession by create and append", src)
	c.wantState("a refused RestoreSession", "s", got)
	broken := errors.New("the file ends here")
	src.ID = "t"
	_, err = sessionstore.RestoreSession(e.ctx, bare, src, each(msgs[:1], broken))
	e.wantErr(err, broken, "RestoreSession by create and append, the iterator fails")
	c.wantGone("a RestoreSession by create and append that failed", "t")
}
