package storetest

import (
	"encoding/json"
	"regexp"
	"sync/atomic"
	"time"

	"github.com/sessionstore/sessionstore"
)

var createCases = []kase{
	{"returns what Get returns", createReturns},
	{"fields kept by the store are ignored on input", createIgnores},
	{"an empty id becomes a UUIDv7", createMintsID},
	{"any of the three states", createStatus},
	{"lineage", createLineage},
	{"a refused create leaves nothing", createRefused},
}

// fullSession has every field set that a caller may set.
func fullSession(id string) sessionstore.Session {
	return sessionstore.Session{
		ID: id, AgentName: "support", UserID: "ann", Status: sessionstore.StatusPaused,
		System:   "Answer in one line.\nNever guess.",
		Metadata: sessionstore.Metadata{"plan": "pro", "tags": []any{"a", int64(2)}, "deep": map[string]any{"x": 1.5}},
		TTL:      90 * time.Minute, ParentID: "nobody's parent", ForkSeq: 7,
		CreatedAt: time.Date(2020, 2, 29, 23, 59, 59, 999999000, time.UTC),
		Extra:     map[string]json.RawMessage{"x_future": json.RawMessage(`{"a":[1,2.50,"<&>"]}`)},
	}
}

func createReturns(e *env) {
	a, b := e.client(), e.client()
	in := fullSession("full")
	now := e.clock.Now().Truncate(time.Microsecond)
	got := a.create(in)

	want := in.Clone()
	want.UpdatedAt, want.ExpiresAt, want.Version = now, now.Add(in.TTL), 1
	e.wantSame(called("CreateSession", in), got, want)
	e.wantSame("GetSession after CreateSession, by another handle", b.get("full"), got)

	got = a.create(sessionstore.Session{ID: "bare"})
	want = sessionstore.Session{
		ID: "bare", Status: sessionstore.StatusActive, Metadata: sessionstore.Metadata{},
		CreatedAt: now, UpdatedAt: now, Version: 1,
	}
	e.wantSame(`CreateSession(Session{ID: "bare"}), field report S43: nil is not empty`, got, want)
	e.wantSame("GetSession after CreateSession, by another handle", b.get("bare"), got)
	e.wantSame("ListMessages of a new session, field report S43: nil is not empty",
		b.messages("bare", sessionstore.MessageQuery{}),
		sessionstore.MessagePage{Session: got, Messages: []sessionstore.Message{}})
}

func createIgnores(e *env) {
	c := e.client()
	in := sessionstore.Session{
		ID: "s", UpdatedAt: epoch.Add(time.Hour), ExpiresAt: epoch.Add(-time.Hour),
		LastSeq: 9, MessageCount: 8, Version: 7,
	}
	got := c.create(in)
	now := e.clock.Now().Truncate(time.Microsecond)
	e.wantSame(called("CreateSession", in), got, sessionstore.Session{
		ID: "s", Status: sessionstore.StatusActive, Metadata: sessionstore.Metadata{},
		CreatedAt: now, UpdatedAt: now, Version: 1,
	})
	e.wantSeqs("the first append after it", c.say("s", "first"), 1)
}

var uuidV7 = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)

func createMintsID(e *env) {
	c := e.client()
	seen := map[string]bool{}
	for range 20 {
		s := c.create(sessionstore.Session{})
		if !uuidV7.MatchString(s.ID) || seen[s.ID] {
			e.Fatalf("CreateSession(Session{})\n  got:  ID %q\n  want: a new UUIDv7", s.ID)
		}
		seen[s.ID] = true
		e.wantSame("GetSession by the id that the store made", c.get(s.ID), s)
	}
}

func createStatus(e *env) {
	c := e.client()
	for _, st := range []sessionstore.Status{"", sessionstore.StatusActive, sessionstore.StatusPaused, sessionstore.StatusClosed} {
		want := st
		if want == "" {
			want = sessionstore.StatusActive
		}
		in := sessionstore.Session{ID: "status " + string(st), Status: st}
		if got := c.create(in); got.Status != want {
			e.Errorf("%s\n  got:  Status %q\n  want: %q", called("CreateSession", in), got.Status, want)
		}
	}
}

func createLineage(e *env) {
	c := e.client()
	got := c.create(sessionstore.Session{ID: "child", ParentID: "no such parent", ForkSeq: 3})
	if got.ParentID != "no such parent" || got.ForkSeq != 3 {
		e.Errorf("CreateSession with a ParentID that does not exist\n  got:  ParentID %q, ForkSeq %d\n  want: those given", got.ParentID, got.ForkSeq)
	}
	c.create(sessionstore.Session{ID: "child at 0", ParentID: "no such parent"})
	for _, in := range []sessionstore.Session{
		{ID: "bad", ForkSeq: 1},
		{ID: "bad", ForkSeq: -1, ParentID: "p"},
	} {
		_, err := c.CreateSession(e.ctx, in)
		e.wantErr(err, sessionstore.ErrInvalid, "CreateSession", in)
	}
}

func createRefused(e *env) {
	c := e.client()
	for _, in := range []sessionstore.Session{
		{ID: "s", Status: "archived"},
		{ID: "s", TTL: -1},
		{ID: "s", System: "cut \xf0\x9f"},
		{ID: "s", UserID: "new\nline"},
		{ID: "s", Metadata: sessionstore.Metadata{"f": func() {}}},
		{ID: "s", Extra: map[string]json.RawMessage{"status": json.RawMessage(`"active"`)}},
		{ID: "s", Extra: map[string]json.RawMessage{"x": json.RawMessage(`{`)}},
	} {
		_, err := c.CreateSession(e.ctx, in)
		e.wantErr(err, sessionstore.ErrInvalid, "CreateSession", in)
	}
	c.wantGone("refused creates", "s")
}

var createExistsCases = []kase{
	{"an id in use", createInUse},
	{"racing creates have one winner", createRace},
	{"the remains of an expired session go in the same step", createOverExpired},
}

func createInUse(e *env) {
	a, b := e.client(), e.client()
	for _, st := range []sessionstore.Status{sessionstore.StatusActive, sessionstore.StatusPaused, sessionstore.StatusClosed} {
		id := "in use, " + string(st)
		in := fullSession(id)
		in.Status = sessionstore.StatusActive
		a.create(in)
		a.say(id, "one", "two")
		if st != sessionstore.StatusActive {
			a.setStatus(id, st)
		}
		before := a.state(id)
		e.clock.Advance(time.Second)
		again := sessionstore.Session{ID: id, UserID: "bob", System: "mine now"}
		_, err := b.CreateSession(e.ctx, again)
		e.wantErr(err, sessionstore.ErrSessionExists, "CreateSession", again)
		a.wantState("a refused CreateSession", id, before)
	}
}

func createRace(e *env) {
	handles := []client{e.client(), e.client()}
	const racers = 8
	for round := range 10 {
		id := "race " + string(rune('a'+round))
		var won atomic.Int32
		var winner atomic.Pointer[sessionstore.Session]
		e.together(racers, func(i int) {
			in := sessionstore.Session{ID: id, UserID: string(rune('a' + i))}
			s, err := handles[i%2].CreateSession(e.ctx, in)
			if err == nil {
				won.Add(1)
				winner.Store(&s)
				return
			}
			e.wantErr(err, sessionstore.ErrSessionExists, "CreateSession", in)
		})
		if n := won.Load(); n != 1 {
			e.Fatalf("%d racing calls of CreateSession with one id\n  got:  %d that succeeded\n  want: 1", racers, n)
		}
		e.wantSame("GetSession after racing creates: the winner's", handles[0].get(id), *winner.Load())
	}
}

func createOverExpired(e *env) {
	a, b := e.client(), e.client()
	a.create(sessionstore.Session{ID: "s", UserID: "old", ParentID: "old parent", TTL: time.Hour,
		Metadata: sessionstore.Metadata{"old": true}, System: "old"})
	a.append("s", sessionstore.Append{Messages: numbered("m", 20, true)})
	e.clock.Advance(time.Hour)

	got := b.create(sessionstore.Session{ID: "s", UserID: "new"})
	e.wantSame("CreateSession with the id of an expired session", got, sessionstore.Session{
		ID: "s", UserID: "new", Status: sessionstore.StatusActive, Metadata: sessionstore.Metadata{},
		CreatedAt: got.UpdatedAt, UpdatedAt: e.clock.Now().Truncate(time.Microsecond), Version: 1,
	})
	e.wantSame("its history", a.history("s"), []sessionstore.Message{})
	for _, q := range []sessionstore.SessionQuery{{UserID: "old"}, {ParentID: "old parent"}} {
		e.wantIDs(called("ListSessions", q)+" after an expired session's id was taken", a.walk(q))
	}
	e.wantIDs("ListSessions of all", a.walk(sessionstore.SessionQuery{}), "s")
	// Ids of the old messages are free and Seqs begin anew.
	e.wantSeqs("AppendMessages of ids that the expired session had",
		a.append("s", sessionstore.Append{Messages: numbered("m", 3, true)}), 1, 2, 3)
}

var getMissingCases = []kase{
	{"every method, a missing session", missingEverywhere},
	{"every method, a deleted session", func(e *env) {
		c := e.client()
		c.create(sessionstore.Session{ID: "s"})
		c.say("s", "one")
		c.remove("s")
		c.wantGone("DeleteSession", "s")
		e.wantIDs("ListSessions", c.walk(sessionstore.SessionQuery{}))
	}},
}

func missingEverywhere(e *env) {
	c := e.client()
	c.create(sessionstore.Session{ID: "here"})
	c.say("here", "one")
	before := c.state("here")
	for _, id := range []string{"missing", "her", "here ", "Here", "here\u200b"} {
		c.wantGone("no create", id)
	}
	// Conditions and ids of messages do not change that it is missing.
	for _, a := range []sessionstore.Append{
		{Messages: users("x"), IfLastSeq: ptr(int64(0))},
		{Messages: numbered("m", 2, true)},
	} {
		_, err := c.AppendMessages(e.ctx, "missing", a)
		e.wantErr(err, sessionstore.ErrSessionNotFound, "AppendMessages", "missing", a)
	}
	u := sessionstore.SessionUpdate{Status: ptr(sessionstore.StatusClosed), IfVersion: 3}
	_, err := c.UpdateSession(e.ctx, "missing", u)
	e.wantErr(err, sessionstore.ErrSessionNotFound, "UpdateSession", "missing", u)
	e.wantIDs("ListSessions after calls with missing ids", c.walk(sessionstore.SessionQuery{}), "here")
	c.wantState("calls with missing ids", "here", before)
}
