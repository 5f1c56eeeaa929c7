package storetest

import (
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/sessionstore/sessionstore"
)

var ownerCases = []kase{
	{"another's session is not found, by every method", ownerMatrix},
	{"create, list, fork and restore", ownerForced},
	{"an empty user id confines to nothing", ownerEmpty},
	{"the view is as good a store as the store", ownerView},
	{"through the interface alone", ownerFallback},
	{"an owner who changes under a write", ownerRace},
}

// ownerMatrix is field report S22: a session that is fetched by its id only.
func ownerMatrix(e *env) { ownerMatrixOf(e, e.client(), e.client()) }

func ownerMatrixOf(e *env, c, other client) {
	for _, owner := range []string{"ann", "", "bo", "bob2", "BOB", "bob "} {
		id := "of " + owner
		c.create(sessionstore.Session{ID: id, UserID: owner})
		c.append(id, sessionstore.Append{Messages: numbered("m", 3, true)})
		before := c.state(id)
		bob := e.on(sessionstore.ForUser(other.SessionStore, "bob"))
		bob.wantGone("looking for a session of another", id)
		// Nor do a repeat, a condition or a refusal tell that it is there.
		_, err := bob.AppendMessages(e.ctx, id, sessionstore.Append{Messages: numbered("m", 3, true)})
		e.wantErr(err, sessionstore.ErrSessionNotFound, "ForUser(store, \"bob\").AppendMessages of another's messages, a repeat", id)
		_, err = bob.AppendMessages(e.ctx, id, sessionstore.Append{Messages: users("x"), IfLastSeq: ptr(int64(99))})
		e.wantErr(err, sessionstore.ErrSessionNotFound, "ForUser(store, \"bob\").AppendMessages with a wrong IfLastSeq", id)
		_, err = bob.UpdateSession(e.ctx, id, sessionstore.SessionUpdate{IfVersion: 99})
		e.wantErr(err, sessionstore.ErrSessionNotFound, "ForUser(store, \"bob\").UpdateSession with a wrong IfVersion", id)
		c.wantState("calls of another user", id, before)
	}
}

func ownerForced(e *env) {
	c := e.client()
	c.create(sessionstore.Session{ID: "ann's", UserID: "ann"})
	bob := e.on(sessionstore.ForUser(c.SessionStore, "bob"))
	if s := bob.create(sessionstore.Session{ID: "bob's", UserID: "ann"}); s.UserID != "bob" {
		e.Errorf("ForUser(store, \"bob\").CreateSession with UserID \"ann\"\n  got:  UserID %q\n  want: \"bob\"", s.UserID)
	}
	e.wantSame("GetSession of it by the store", c.get("bob's").UserID, "bob")
	for _, q := range []sessionstore.SessionQuery{{}, {UserID: "ann"}, {UserID: "bob"}, {Limit: 1}} {
		e.wantIDs("ForUser(store, \"bob\")."+called("ListSessions", q), bob.walk(q), "bob's")
	}
	_, err := bob.CreateSession(e.ctx, sessionstore.Session{ID: "ann's"})
	e.wantErr(err, sessionstore.ErrSessionExists, "ForUser(store, \"bob\").CreateSession with the id of another's session")
	bob.say("bob's", "one", "two")
	child := bob.fork("bob's", sessionstore.Fork{ID: "child"})
	e.wantSame("the UserID of a fork by the view", child.UserID, "bob")
	before := c.state("bob's")
	f := sessionstore.Fork{ID: "given away", UserID: ptr("ann")}
	_, err = sessionstore.ForkSession(e.ctx, bob.SessionStore, "bob's", f)
	e.wantErr(err, sessionstore.ErrInvalid, "ForkSession by the view", "bob's", f)
	own := before
	own.Session.ID = "restored"
	for i := range own.Messages {
		own.Messages[i].SessionID = ""
	}
	theirs := own.Session
	theirs.UserID = "ann"
	_, err = sessionstore.RestoreSession(e.ctx, bob.SessionStore, theirs, each(own.Messages, nil))
	e.wantErr(err, sessionstore.ErrInvalid, "RestoreSession by the view of another's session", theirs)
	_, err = sessionstore.RestoreSession(e.ctx, bob.SessionStore, own.Session, each(own.Messages, nil))
	e.wantOK(err, "RestoreSession by the view of the user's own", own.Session)
	e.wantSeqs("its history", c.history("restored"), 1, 2)
	e.wantIDs("ListSessions of ann", c.walk(sessionstore.SessionQuery{UserID: "ann"}), "ann's")
	e.wantSame("the number of bob's sessions", len(bob.walk(sessionstore.SessionQuery{})), 3)
}

func ownerEmpty(e *env) {
	c := e.client()
	c.create(sessionstore.Session{ID: "nobody's"})
	before := c.state("nobody's")
	for _, user := range []string{"", "a\x00b", "\xff"} {
		none := e.on(sessionstore.ForUser(c.SessionStore, user))
		for _, m := range idMethods {
			e.wantErr(m.call(e.ctx, none.SessionStore, "nobody's"), sessionstore.ErrInvalid, fmt.Sprintf("ForUser(store, %q).%s", user, m.name), "nobody's")
		}
		_, err := none.CreateSession(e.ctx, sessionstore.Session{})
		e.wantErr(err, sessionstore.ErrInvalid, fmt.Sprintf("ForUser(store, %q).CreateSession", user))
		_, err = none.ListSessions(e.ctx, sessionstore.SessionQuery{})
		e.wantErr(err, sessionstore.ErrInvalid, fmt.Sprintf("ForUser(store, %q).ListSessions", user))
	}
	if scoper, ok := c.SessionStore.(sessionstore.OwnerScoper); ok {
		for _, user := range []string{"", "a\x00b"} {
			none := scoper.ForUser(user)
			for _, m := range idMethods {
				e.wantErr(m.call(e.ctx, none, "nobody's"), sessionstore.ErrInvalid, fmt.Sprintf("store.ForUser(%q).%s", user, m.name), "nobody's")
			}
			_, err := none.ListSessions(e.ctx, sessionstore.SessionQuery{})
			e.wantErr(err, sessionstore.ErrInvalid, fmt.Sprintf("store.ForUser(%q).ListSessions", user))
		}
	}
	c.wantState("calls of a view for no user", "nobody's", before)
	e.wantIDs("ListSessions after them", c.walk(sessionstore.SessionQuery{}), "nobody's")
}

// ownerView does everything once through a view.
func ownerView(e *env) { ownerViewOf(e, e.client()) }

func ownerViewOf(e *env, c client) {
	view := sessionstore.ForUser(c.SessionStore, "ann")
	ann := e.on(view)
	s := ann.create(fullSession("s"))
	ann.setStatus("s", sessionstore.StatusActive)
	stored := ann.append("s", sessionstore.Append{Messages: []sessionstore.Message{fullMessage("a"), sessionstore.UserMessage("b")}})
	e.wantSame("a repeat through the view", ann.append("s", sessionstore.Append{Messages: []sessionstore.Message{fullMessage("a")}}), stored[:1])
	ann.say("s", "c")
	ann.truncate("s", sessionstore.Truncate{ThroughSeq: 2})
	ann.update("s", sessionstore.SessionUpdate{SetMetadata: sessionstore.Metadata{"k": "v"}})
	e.wantSame("the state through the view, against the store's", ann.state("s"), c.state("s"))
	e.wantSame("CreatedAt through the view", ann.get("s").CreatedAt, s.CreatedAt)
	if _, err := sessionstore.PurgeExpired(e.ctx, view, 0); !errors.Is(err, errors.ErrUnsupported) {
		e.Errorf("PurgeExpired of a view\n  got:  error %v\n  want: errors.ErrUnsupported, because it is nobody's own", err)
	}
	// A view of a view is no way out.
	if bob := e.on(sessionstore.ForUser(view, "bob")); true {
		_, err := bob.GetSession(e.ctx, "s")
		if err == nil || !errors.Is(err, sessionstore.ErrSessionNotFound) && !errors.Is(err, sessionstore.ErrInvalid) {
			e.Errorf("ForUser(ForUser(store, \"ann\"), \"bob\").GetSession of ann's session\n  got:  error %v\n  want: ErrSessionNotFound or ErrInvalid", err)
		}
	}
	ann.remove("s")
	c.wantGone("DeleteSession through the view", "s")
	for range 2 {
		if err := view.Close(); err != nil {
			e.Errorf("Close of a view\n  got:  error %v\n  want: nil", err)
		}
	}
	_, err := view.ListSessions(e.ctx, sessionstore.SessionQuery{})
	e.wantErr(err, sessionstore.ErrStoreClosed, "ListSessions through a view that is closed")
	c.create(sessionstore.Session{ID: "the store is still open"})
}

// ownerRace deletes a session and makes it anew, now ann's and now bob's, while a view of
// bob's writes to it. A view that asks for the owner before the write's own step writes to
// ann's.
func ownerRace(e *env) {
	handles := []client{e.client(), e.client()}
	if _, ok := handles[0].SessionStore.(sessionstore.OwnerScoper); !ok {
		e.notExercised("an owner who changes under a write: the store is no OwnerScoper, and the fallback asks first")
		return
	}
	handles[0].create(sessionstore.Session{ID: "s", UserID: "bob"})
	const rounds, writers = 30, 3
	var done atomic.Bool
	var tries atomic.Int64 // of bob's, that returned
	e.together(writers+1, func(i int) {
		if i == 0 {
			defer done.Store(true)
			h := handles[0]
			for range rounds {
				for start := tries.Load(); tries.Load() < start+1 && !e.Failed(); {
					h.get("s") // until bob is at it
				}
				h.remove("s")
				h.create(sessionstore.Session{ID: "s", UserID: "ann"})
				for start, last := tries.Load(), false; !last && !e.Failed(); {
					last = tries.Load() >= start+2*writers // those that began before it came to their end
					p := h.messages("s", sessionstore.MessageQuery{Limit: 10})
					if len(p.Messages) > 0 || len(p.Session.Metadata) > 0 {
						e.Fatalf("a session of ann's, made anew while bob's view writes to one of that id which was his\n  got:  %d messages, metadata %s\n  want: none", len(p.Messages), show(p.Session.Metadata))
					}
				}
				h.remove("s")
				h.create(sessionstore.Session{ID: "s", UserID: "bob"})
			}
			return
		}
		bob := sessionstore.ForUser(handles[i%2].SessionStore, "bob")
		for n := 0; !done.Load() && !e.Failed(); n++ {
			var err error
			if i < 3 {
				_, err = bob.AppendMessages(e.ctx, "s", sessionstore.Append{Messages: users("bob's")})
			} else {
				_, err = bob.UpdateSession(e.ctx, "s", sessionstore.SessionUpdate{SetMetadata: sessionstore.Metadata{"bob": n}})
			}
			tries.Add(1)
			if err != nil {
				e.wantErr(err, sessionstore.ErrSessionNotFound, "a write by bob's view to a session that is now his, now ann's, now gone", "s")
			}
		}
	})
}

// ownerFallback runs the same without the store's own view.
func ownerFallback(e *env) {
	bare := struct{ sessionstore.SessionStore }{e.open()}
	ownerMatrixOf(e, e.client(), e.on(bare))
	c := e.on(bare)
	ownerViewOf(e, c)

	// A fork that the store must refuse, its view does not get by a restore that renumbers.
	c.create(sessionstore.Session{ID: "gap", UserID: "ann"})
	c.say("gap", "1", "2", "3")
	c.truncate("gap", sessionstore.Truncate{ThroughSeq: 1})
	c.say("gap", "4")
	src := c.state("gap")
	f := sessionstore.Fork{ID: "child"}
	_, err := sessionstore.ForkSession(e.ctx, sessionstore.ForUser(bare, "ann"), "gap", f)
	if !errors.Is(err, errors.ErrUnsupported) {
		e.wantOK(err, "ForkSession by the view", "gap", f)
		e.wantSame("the history of a fork of the seqs 1, 4 by the view", c.history("child"), childOf(src, f, e.clock.Now()).Messages)
	}
}
