package storetest

import (
	"errors"
	"sync"

	"github.com/sessionstore/sessionstore"
)

var deleteCases = []kase{
	{"nothing is left", deleteLeavesNothing},
	{"of every status, and only once", deleteStatuses},
	{"an append racing a delete", deleteRacesAppend},
	{"updates and truncates racing a delete", deleteRacesWrites},
	{"after a connection that broke", deleteAfterBreak},
}

// deleteLeavesNothing is field report S24: orphans of a deleted session.
func deleteLeavesNothing(e *env) {
	a, b := e.client(), e.client()
	in := fullSession("gone")
	in.Status = sessionstore.StatusActive
	a.create(in)
	a.create(sessionstore.Session{ID: "gone too", UserID: "ann"})
	for range 3 {
		a.say("gone", make([]string, 500)...)
	}
	a.append("gone", sessionstore.Append{Messages: numbered("m", 50, true)})
	child, forkErr := sessionstore.ForkSession(e.ctx, a.SessionStore, "gone", sessionstore.Fork{ID: "child"})
	var childBefore state
	if forkErr == nil {
		childBefore = a.state("child")
	}
	other := a.state("gone too")
	a.remove("gone")

	b.wantGone("DeleteSession, by another handle", "gone")
	for _, q := range []sessionstore.SessionQuery{
		{UserID: "ann"}, {AgentName: "support"}, {ParentID: in.ParentID}, {Statuses: []sessionstore.Status{sessionstore.StatusActive}},
	} {
		for _, s := range b.walk(q) {
			if s.ID == "gone" {
				e.Errorf("%s after DeleteSession\n  got:  the deleted session\n  want: it is gone", called("ListSessions", q))
			}
		}
	}
	b.wantState("deleting another session", "gone too", other)

	// A new session of that id inherits nothing: neither messages, nor Seqs, nor ids.
	s := b.create(sessionstore.Session{ID: "gone"})
	if s.Version != 1 || s.LastSeq != 0 || s.MessageCount != 0 {
		e.Errorf("CreateSession after DeleteSession\n  got:  %s\n  want: Version 1 and no messages", show(s))
	}
	e.wantSame("the history of a new session with a deleted one's id", b.history("gone"), []sessionstore.Message{})
	e.wantSeqs("AppendMessages of ids that the deleted session had",
		b.append("gone", sessionstore.Append{Messages: numbered("m", 2, true)}), 1, 2)

	if forkErr == nil {
		b.wantState("deleting its parent", "child", childBefore)
		e.wantIDs("ListSessions by the parent's id after the parent was deleted",
			b.walk(sessionstore.SessionQuery{ParentID: child.ParentID}), "child")
	} else if !errors.Is(forkErr, errors.ErrUnsupported) {
		e.wantOK(forkErr, "ForkSession", "gone")
	} else {
		e.notExercised("a child that outlives its parent: this store cannot fork 1,550 messages")
	}
}

func deleteStatuses(e *env) {
	c := e.client()
	for _, st := range []sessionstore.Status{sessionstore.StatusActive, sessionstore.StatusPaused, sessionstore.StatusClosed} {
		id := string(st)
		c.create(sessionstore.Session{ID: id, Status: st})
		c.remove(id)
		e.wantErr(c.DeleteSession(e.ctx, id), sessionstore.ErrSessionNotFound, "DeleteSession", id)
		c.wantGone("DeleteSession", id)
	}
}

// deleteRacesAppend is field report S25: a late append makes a ghost session.
func deleteRacesAppend(e *env) {
	handles := []client{e.client(), e.client()}
	for range 10 {
		handles[0].create(sessionstore.Session{ID: "s", UserID: "ann"})
		const writers = 4
		started := make(chan struct{}, writers)
		e.together(writers+1, func(i int) {
			if i == writers {
				for range writers {
					<-started
				}
				handles[1].remove("s")
				handles[1].wantGone("DeleteSession, appends racing it", "s")
				return
			}
			var once sync.Once
			defer once.Do(func() { started <- struct{}{} }) // also when it fails
			for range raceCalls {
				_, err := handles[i%2].AppendMessages(e.ctx, "s", sessionstore.Append{Messages: users("late")})
				once.Do(func() { started <- struct{}{} })
				if err != nil {
					e.wantErr(err, sessionstore.ErrSessionNotFound, "AppendMessages, a delete racing it", "s")
					return
				}
			}
		})
		for _, h := range handles {
			h.wantGone("DeleteSession and the appends that raced it", "s")
		}
		s := handles[1].create(sessionstore.Session{ID: "s"})
		e.wantSame("the history of a new session of that id", handles[0].history("s"), []sessionstore.Message{})
		e.wantSeqs("the first append to it", handles[0].say("s", "first"), s.LastSeq+1)
		handles[0].remove("s")
	}
}

func deleteRacesWrites(e *env) {
	handles := []client{e.client(), e.client()}
	writes := []func(c client) error{
		func(c client) error {
			_, err := c.UpdateSession(e.ctx, "s", sessionstore.SessionUpdate{SetMetadata: sessionstore.Metadata{"k": freshHex()}})
			return err
		},
		func(c client) error {
			_, err := c.UpdateSession(e.ctx, "s", sessionstore.SessionUpdate{Touch: true})
			return err
		},
		func(c client) error {
			_, err := c.TruncateMessages(e.ctx, "s", sessionstore.Truncate{ThroughSeq: 1})
			return err
		},
	}
	for range 10 {
		handles[0].create(sessionstore.Session{ID: "s"})
		handles[0].say("s", "one", "two", "three")
		e.together(len(writes)+1, func(i int) {
			if i == len(writes) {
				handles[1].remove("s")
				return
			}
			for range raceCalls {
				if err := writes[i](handles[i%2]); err != nil {
					e.wantErr(err, sessionstore.ErrSessionNotFound, "a write that a delete races", "s")
					return
				}
			}
		})
		for _, h := range handles {
			h.wantGone("DeleteSession and the writes that raced it", "s")
		}
	}
}

func deleteAfterBreak(e *env) {
	if e.backend.Break == nil {
		e.notExercised("Backend.Break is nil")
		return
	}
	a, b := e.client(), e.client()
	for range 5 {
		a.create(sessionstore.Session{ID: "s"})
		a.append("s", sessionstore.Append{Messages: numbered("m", 100, true)})
		before := b.state("s")
		e.backend.Break(e.TB, a.SessionStore)
		err := a.DeleteSession(e.ctx, "s")
		a.settle()
		_, getErr := b.GetSession(e.ctx, "s")
		switch {
		case err == nil, errors.Is(getErr, sessionstore.ErrSessionNotFound):
			b.wantGone("a DeleteSession on a connection that broke", "s")
		default:
			b.wantState("a DeleteSession that failed: all or nothing", "s", before)
			b.remove("s")
		}
		b.create(sessionstore.Session{ID: "s"})
		e.wantSeqs("AppendMessages to a new session of that id",
			b.append("s", sessionstore.Append{Messages: numbered("m", 2, true)}), 1, 2)
		b.remove("s")
	}
}
