package storetest

import (
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/sessionstore/sessionstore"
)

// archived is a session with n messages as an export would give it, under another id.
func archived(c client, id string, n int) state {
	src := id + " source"
	c.create(sessionstore.Session{ID: src, UserID: "u", Metadata: sessionstore.Metadata{"k": "v"}})
	for from := 0; from < n; from += sessionstore.MaxAppendMessages {
		c.append(src, sessionstore.Append{Messages: numbered(fmt.Sprint(from, "."), min(n-from, sessionstore.MaxAppendMessages), true)})
	}
	st := c.state(src)
	c.remove(src)
	return renamedTo(id, st)
}

func renamedTo(id string, st state) state {
	out := state{st.Session.Clone(), make([]sessionstore.Message, len(st.Messages))}
	out.Session.ID = id
	for i, m := range st.Messages {
		out.Messages[i] = m.Clone()
		out.Messages[i].SessionID = id
	}
	return out
}

// restoreVisible restores sessions of more messages than go in one call, while readers ask
// for them: each finds nothing, or the whole.
func restoreVisible(e *env) {
	c, ok := e.restorer()
	if !ok {
		return
	}
	handles := []client{c, e.client()}
	const restores, messages = 20, 1100
	st := archived(c, "s", messages)
	var next atomic.Int64 // the restore that runs
	e.together(3, func(i int) {
		h := handles[i%2]
		if i == 0 {
			defer next.Store(restores)
			for n := range int64(restores) {
				next.Store(n)
				in := renamedTo(fmt.Sprint("s", n), st)
				_, err := sessionstore.RestoreSession(e.ctx, h.SessionStore, in.Session, each(in.Messages, nil))
				e.wantOK(err, "RestoreSession", in.Session)
			}
			return
		}
		for !e.Failed() {
			n := next.Load()
			if n == restores {
				return
			}
			want := renamedTo(fmt.Sprint("s", n), state{Session: st.Session}).Session
			if s, err := h.GetSession(e.ctx, want.ID); err == nil {
				e.wantSame("GetSession while it is restored: nothing or the whole", s, want)
				e.wantSeqs("its newest messages", h.messages(want.ID, sessionstore.MessageQuery{Newest: true, Limit: 2}).Messages, messages-1, messages)
				e.wantSeqs("its first messages", h.messages(want.ID, sessionstore.MessageQuery{Limit: 2}).Messages, 1, 2)
			} else {
				e.wantErr(err, sessionstore.ErrSessionNotFound, "GetSession while it is restored", want.ID)
			}
			for _, s := range h.list(sessionstore.SessionQuery{UserID: "u", Limit: 3}).Sessions {
				if s.MessageCount != messages || s.Version != want.Version {
					e.Errorf("ListSessions while sessions are restored\n  got:  %s\n  want: MessageCount %d, Version %d", show(s), messages, want.Version)
				}
			}
		}
	})
	for n := range restores {
		e.wantSame("the number of messages restored", len(handles[1].history(fmt.Sprint("s", n))), messages)
	}
}

// restoreRace restores one id several times, or also creates it, at the same time: one of
// them has it, and nothing of the others is in it.
func restoreRace(e *env) {
	c, ok := e.restorer()
	if !ok {
		return
	}
	handles := []client{c, e.client()}
	const racers, messages = 3, 300
	for round := range 10 {
		id := fmt.Sprint("s", round)
		st := archived(c, id, messages)
		inputs := make([]state, racers)
		for i := range inputs {
			inputs[i] = renamedTo(id, st)
			inputs[i].Session.System = fmt.Sprint("of racer ", i)
			for j := range inputs[i].Messages {
				inputs[i].Messages[j].Content = sessionstore.Text(fmt.Sprint("of racer ", i))
			}
		}
		var winners atomic.Int32
		var want atomic.Pointer[state]
		e.together(racers, func(i int) {
			in := inputs[i]
			var err error
			if i == racers-1 && round%2 == 1 {
				in.Messages = []sessionstore.Message{}
				in.Session, err = handles[i%2].CreateSession(e.ctx, sessionstore.Session{ID: id, System: in.Session.System})
			} else {
				in.Session, err = sessionstore.RestoreSession(e.ctx, handles[i%2].SessionStore, in.Session, each(in.Messages, nil))
			}
			if err != nil {
				e.wantErr(err, sessionstore.ErrSessionExists, "RestoreSession or CreateSession, others of that id racing it", id)
				return
			}
			winners.Add(1)
			want.Store(&in)
		})
		if n := winners.Load(); n != 1 {
			e.Fatalf("%d calls of RestoreSession, or the last of CreateSession, with one id at once\n  got:  %d that succeeded\n  want: 1", racers, n)
		}
		handles[round%2].wantState("restores and a create that raced: the winner's", id, *want.Load())
	}
}

// forkMoment forks a source that grows and shrinks: each child is the source at one
// moment, never its session of one and its messages of another.
func forkMoment(e *env) {
	handles := []client{e.client(), e.client()}
	if !exactFork(handles[0].SessionStore) {
		e.notExercised("forks of a source that is truncated: the store is neither a Forker nor a Restorer, and the fallback refuses its gaps")
		return
	}
	handles[0].create(sessionstore.Session{ID: "src"})
	const base, batch, forks = 100, 5, 60
	handles[0].append("src", sessionstore.Append{Messages: numbered("x", base, false)})
	var done, moving atomic.Bool
	e.together(2, func(i int) {
		h := handles[i]
		if i == 0 {
			for n := 0; !done.Load() && n < raceCalls && !e.Failed(); n++ {
				h.append("src", sessionstore.Append{Messages: numbered("y", batch, false)})
				h.update("src", sessionstore.SessionUpdate{SetMetadata: sessionstore.Metadata{"updates": 2*n + 1}})
				h.truncate("src", sessionstore.Truncate{ThroughSeq: base})
				h.update("src", sessionstore.SessionUpdate{SetMetadata: sessionstore.Metadata{"updates": 2*n + 2}})
				moving.Store(true)
			}
			moving.Store(true)
			return
		}
		defer done.Store(true)
		for !moving.Load() && !e.Failed() {
			h.get("src") // until the source moves
		}
		for n := range forks {
			id := fmt.Sprint("child", n)
			got, err := sessionstore.ForkSession(e.ctx, h.SessionStore, "src", sessionstore.Fork{ID: id})
			if err != nil {
				// A copy through the Restorer may give up on a source that never stands still.
				if _, forker := h.SessionStore.(sessionstore.Forker); forker || errors.Is(err, sessionstore.ErrInvalid) {
					e.wantOK(err, "ForkSession of a source that grows and shrinks", "src")
				}
				h.wantGone("a ForkSession that failed", id)
				continue
			}
			st := h.state(id)
			e.wantSame("GetSession of a child", st.Session, got)
			var after []int64
			for _, m := range st.Messages[min(base, len(st.Messages)):] {
				after = append(after, m.Seq)
			}
			// Around the update in the middle there are all, around the other one they are gone.
			updates, _ := st.Session.Metadata.Int("updates")
			ahead := 2*(got.LastSeq-base)/batch - updates
			whole := len(st.Messages) == base && (ahead == 0 || ahead == 1)
			if len(st.Messages) == base+batch {
				whole = after[0] == got.LastSeq-batch+1 && after[batch-1] == got.LastSeq && (ahead == 1 || ahead == 2)
			}
			if !whole || (got.LastSeq-base)%batch != 0 || got.ForkSeq != got.LastSeq || got.MessageCount != int64(len(st.Messages)) {
				e.Errorf("a child of a source of %d messages, to which %d are appended and from which they are truncated\n  got:  %d messages, after the first %[1]d the seqs %v; LastSeq %d, ForkSeq %d, MessageCount %d, metadata of update %d\n  want: all of one moment of the source",
					base, batch, len(st.Messages), after, got.LastSeq, got.ForkSeq, got.MessageCount, updates)
			}
		}
	})
}
