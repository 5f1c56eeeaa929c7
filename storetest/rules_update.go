package storetest

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/sessionstore/sessionstore"
)

var updateMergeCases = []kase{
	{"per top-level key", mergePerKey},
	{"odd keys", mergeOddKeys},
	{"a key both set and deleted", mergeSetAndDeleted},
	{"concurrent updates of different keys all survive", mergeConcurrent},
}

func mergePerKey(e *env) {
	a, b := e.client(), e.client()
	a.create(sessionstore.Session{ID: "s", Metadata: sessionstore.Metadata{
		"keep": "x", "replace": map[string]any{"a": int64(1), "b": int64(2)}, "drop": true,
	}})
	u := sessionstore.SessionUpdate{
		SetMetadata: sessionstore.Metadata{
			"replace": map[string]any{"a": int64(3)}, "new": []any{}, "null": nil, "float": 1.0, "int": 7,
		},
		DeleteMetadata: []string{"drop", "never there", "drop"},
	}
	got := a.update("s", u)
	e.wantSame(called("UpdateSession", "s", u)+": Metadata", got.Metadata, sessionstore.Metadata{
		"keep": "x", "replace": map[string]any{"a": int64(3)}, "new": []any{}, "null": nil, "float": 1.0, "int": int64(7),
	})
	e.wantSame("GetSession by another handle", b.get("s"), got)

	u = sessionstore.SessionUpdate{DeleteMetadata: []string{"keep", "replace", "new", "null", "float", "int"}}
	got = b.update("s", u)
	e.wantSame(called("UpdateSession", "s", u)+": Metadata, empty but not nil", got.Metadata, sessionstore.Metadata{})
	e.wantSame("GetSession by another handle", a.get("s"), got)
}

// mergeOddKeys is field report S28: keys with a meaning in the database.
func mergeOddKeys(e *env) {
	a, b := e.client(), e.client()
	a.create(sessionstore.Session{ID: "updated"})
	all := sessionstore.Metadata{}
	for i, k := range oddKeys {
		all[k] = int64(i)
		a.update("updated", sessionstore.SessionUpdate{SetMetadata: sessionstore.Metadata{k: i}})
	}
	a.create(sessionstore.Session{ID: "created", Metadata: all})
	for _, id := range []string{"created", "updated"} {
		e.wantSame("the metadata of a session that was "+id+" with odd keys", b.get(id).Metadata, all)
		left := all.Clone()
		for _, k := range oddKeys {
			delete(left, k)
			got := a.update(id, sessionstore.SessionUpdate{DeleteMetadata: []string{k}})
			e.wantSame(fmt.Sprintf("the metadata after the key %q was deleted", k), got.Metadata, left)
		}
		e.wantSame("the metadata by another handle", b.get(id).Metadata, left)
	}
}

// oddKeys are metadata keys that mean something to some database, codec or path syntax.
var oddKeys = []string{
	"", " ", ".", "..", "a.b", "a", "a.", ".a", "$x", "$set", "$", "x$y", "é", "e\u0301", "\x00", "a\x00b", "a\\u0000b",
	"\u2028", "😀", "שלום", `"`, `\`, "'", "`", "{}", "[0]", "*", "%", "_", "?", ":", "/", "~", "#", "A", "__proto__", "_id", "metadata",
	"<script>", "0", "-1", "null", "true", "k\nnewline\ttab",
}

func mergeSetAndDeleted(e *env) {
	c := e.client()
	c.create(sessionstore.Session{ID: "s", Metadata: sessionstore.Metadata{"k": "v"}})
	before := c.state("s")
	u := sessionstore.SessionUpdate{SetMetadata: sessionstore.Metadata{"k": 1, "other": 2}, DeleteMetadata: []string{"k"}}
	_, err := c.UpdateSession(e.ctx, "s", u)
	e.wantErr(err, sessionstore.ErrInvalid, "UpdateSession", "s", u)
	c.wantState("a refused update", "s", before)
}

func mergeConcurrent(e *env) {
	handles := []client{e.client(), e.client()}
	handles[0].create(sessionstore.Session{ID: "s", Metadata: sessionstore.Metadata{"base": true}})
	const writers, each = 8, 12
	e.together(writers, func(i int) {
		for n := range each {
			u := sessionstore.SessionUpdate{SetMetadata: sessionstore.Metadata{fmt.Sprintf("w%d.%d", i, n): n}}
			if n > 0 && n%4 == 0 {
				u.DeleteMetadata = []string{fmt.Sprintf("w%d.%d", i, n-1)}
			}
			handles[i%2].update("s", u)
		}
	})
	want := sessionstore.Metadata{"base": true}
	for i := range writers {
		for n := range each {
			if n+1 < each && (n+1)%4 == 0 {
				continue
			}
			want[fmt.Sprintf("w%d.%d", i, n)] = int64(n)
		}
	}
	got := handles[1].get("s")
	e.wantSame("the metadata after concurrent updates of different keys", got.Metadata, want)
	if v := int64(1 + writers*each); got.Version != v {
		e.Errorf("Version after %d concurrent updates that changed something\n  got:  %d\n  want: %d", writers*each, got.Version, v)
	}
}

var updateVersionCases = []kase{
	{"grows by one with a change", versionGrows},
	{"a wrong IfVersion", versionConflict},
	{"an update that changes nothing moves nothing", versionUnmoved},
	{"racing updates with one IfVersion have one winner", versionRace},
}

func versionGrows(e *env) {
	c := e.client()
	s := c.create(sessionstore.Session{ID: "s", Metadata: sessionstore.Metadata{"a": 1}})
	for _, u := range []sessionstore.SessionUpdate{
		{SetMetadata: sessionstore.Metadata{"b": 1}},
		{DeleteMetadata: []string{"a"}},
		{AgentName: ptr("second")},
		{System: ptr("be brief")},
		{TTL: ptr(time.Hour)},
		{Status: ptr(sessionstore.StatusPaused)},
		{Status: ptr(sessionstore.StatusActive), SetMetadata: sessionstore.Metadata{"c": 1}, AgentName: ptr("third"), Touch: true},
		{SetMetadata: sessionstore.Metadata{"b": 1.0}}, // not 1: the spelling tells them apart
	} {
		e.clock.Advance(time.Second)
		u.IfVersion = s.Version
		got := c.update("s", u)
		if got.Version != s.Version+1 {
			e.Errorf("%s\n  got:  Version %d\n  want: %d, one more than before", called("UpdateSession", "s", u), got.Version, s.Version+1)
		}
		if now := e.clock.Now().Truncate(time.Microsecond); !got.UpdatedAt.Equal(now) {
			e.Errorf("%s\n  got:  UpdatedAt %s\n  want: %s, the time of the update", called("UpdateSession", "s", u), show(got.UpdatedAt), show(now))
		}
		e.wantSame("GetSession after UpdateSession", c.get("s"), got)
		s = got
	}
	c.say("s", "one", "two")
	c.truncate("s", sessionstore.Truncate{ThroughSeq: 1})
	e.clock.Advance(time.Second)
	touched := c.update("s", sessionstore.SessionUpdate{Touch: true})
	if touched.Version != s.Version {
		e.Errorf("Version after an append, a truncate and a Touch\n  got:  %d\n  want: %d, as before", touched.Version, s.Version)
	}
	if now := e.clock.Now().Truncate(time.Microsecond); !touched.UpdatedAt.Equal(now) || !touched.ExpiresAt.Equal(now.Add(time.Hour)) {
		e.Errorf("UpdateSession with Touch\n  got:  UpdatedAt %s, ExpiresAt %s\n  want: %s and an hour later", show(touched.UpdatedAt), show(touched.ExpiresAt), show(now))
	}
}

func versionConflict(e *env) {
	c := e.client()
	c.create(sessionstore.Session{ID: "s"})
	c.update("s", sessionstore.SessionUpdate{System: ptr("v2")})
	before := c.state("s")
	e.clock.Advance(time.Second)
	for _, v := range []int64{1, 3, 1 << 62} {
		for _, u := range []sessionstore.SessionUpdate{
			{IfVersion: v, System: ptr("mine")},
			{IfVersion: v, Touch: true},
			{IfVersion: v},
		} {
			_, err := c.UpdateSession(e.ctx, "s", u)
			e.wantErr(err, sessionstore.ErrConflict, "UpdateSession", "s", u)
			e.wantConflict(err, sessionstore.ConflictError{Field: "version", Expected: v, Actual: 2})
		}
	}
	u := sessionstore.SessionUpdate{IfVersion: -1, System: ptr("mine")}
	_, err := c.UpdateSession(e.ctx, "s", u)
	e.wantErr(err, sessionstore.ErrInvalid, "UpdateSession", "s", u)
	c.wantState("updates with a wrong IfVersion", "s", before)
	c.update("s", sessionstore.SessionUpdate{IfVersion: 2, System: ptr("mine")})
}

// wantConflict reports unless err holds a *ConflictError that says this.
func (e *env) wantConflict(err error, want sessionstore.ConflictError) {
	var ce *sessionstore.ConflictError
	if err == nil {
		return // reported already
	}
	if !errors.As(err, &ce) {
		e.Errorf("errors.As(err, **ConflictError)\n  got:  false for %v\n  want: %s", err, show(want))
		return
	}
	e.wantSame("the *ConflictError", *ce, want)
}

func versionUnmoved(e *env) {
	c := e.client()
	in := fullSession("s")
	in.Metadata["one"] = 1.0
	in.Metadata["null"] = nil
	c.create(in)
	before := c.state("s")
	e.clock.Advance(time.Minute)
	for _, u := range []sessionstore.SessionUpdate{
		{},
		{IfVersion: 1},
		{Status: ptr(sessionstore.StatusPaused)},
		{AgentName: ptr(in.AgentName)},
		{System: ptr(in.System)},
		{TTL: ptr(in.TTL)},
		{SetMetadata: in.Metadata},
		{SetMetadata: sessionstore.Metadata{"null": nil, "tags": []any{"a", 2}}},
		{SetMetadata: sessionstore.Metadata{}, DeleteMetadata: []string{"never there"}},
	} {
		got := c.update("s", u)
		e.wantSame(called("UpdateSession", "s", u)+", which changes nothing", got, before.Session)
	}
	c.wantState("updates that change nothing", "s", before)
}

func versionRace(e *env) {
	handles := []client{e.client(), e.client()}
	handles[0].create(sessionstore.Session{ID: "s"})
	const racers = 8
	for round := range int64(10) {
		var won atomic.Int32
		e.together(racers, func(i int) {
			u := sessionstore.SessionUpdate{IfVersion: round + 1, SetMetadata: sessionstore.Metadata{"winner": fmt.Sprint(round, i)}}
			if _, err := handles[i%2].UpdateSession(e.ctx, "s", u); err == nil {
				won.Add(1)
			} else {
				e.wantErr(err, sessionstore.ErrConflict, "UpdateSession", "s", u)
			}
		})
		if n := won.Load(); n != 1 {
			e.Fatalf("%d racing updates with one IfVersion\n  got:  %d that succeeded\n  want: 1", racers, n)
		}
	}
}

var lifecycleCases = []kase{
	{"every transition", lifecycleTransitions},
	{"what may be set in which state", lifecycleSettable},
	{"racing transitions show one legal order", transitionRaceCase},
	{"closed wins every race for good", lifecycleClosedIsFinal},
}

var statuses = []sessionstore.Status{sessionstore.StatusActive, sessionstore.StatusPaused, sessionstore.StatusClosed}

func lifecycleTransitions(e *env) {
	c := e.client()
	for _, from := range statuses {
		for _, to := range statuses {
			id := fmt.Sprintf("%s to %s", from, to)
			c.create(sessionstore.Session{ID: id, Status: from})
			before := c.state(id)
			e.clock.Advance(time.Second)
			u := sessionstore.SessionUpdate{Status: &to}
			got, err := c.UpdateSession(e.ctx, id, u)
			switch from {
			case to:
				e.wantOK(err, "UpdateSession", id, u)
				e.wantSame(called("UpdateSession", id, u)+", to the current state", got, before.Session)
			case sessionstore.StatusClosed:
				e.wantErr(err, sessionstore.ErrInvalidTransition, "UpdateSession", id, u)
				c.wantState("a refused transition", id, before)
			default:
				e.wantOK(err, "UpdateSession", id, u)
				if got.Status != to || got.Version != 2 {
					e.Errorf("%s\n  got:  Status %q, Version %d\n  want: %q, 2", called("UpdateSession", id, u), got.Status, got.Version, to)
				}
				e.wantSame("GetSession after it", c.get(id), got)
			}
		}
	}
	u := sessionstore.SessionUpdate{Status: ptr(sessionstore.Status("archived"))}
	_, err := c.UpdateSession(e.ctx, "active to active", u)
	e.wantErr(err, sessionstore.ErrInvalid, "UpdateSession", "active to active", u)
}

func lifecycleSettable(e *env) {
	c := e.client()
	for _, st := range statuses {
		for i, u := range []sessionstore.SessionUpdate{
			{SetMetadata: sessionstore.Metadata{"k": "v"}},
			{TTL: ptr(time.Hour)},
			{Touch: true},
			{AgentName: ptr("agent"), System: ptr("system"), SetMetadata: sessionstore.Metadata{"k": "v"}}, // as they are
			{AgentName: ptr("another")},
			{System: ptr("another")},
			{AgentName: ptr("another"), SetMetadata: sessionstore.Metadata{"k": "v"}},
		} {
			id := fmt.Sprint(st, i)
			c.create(sessionstore.Session{ID: id, Status: st, AgentName: "agent", System: "system"})
			before := c.state(id)
			_, err := c.UpdateSession(e.ctx, id, u)
			if st != sessionstore.StatusClosed || i < 4 {
				e.wantOK(err, "UpdateSession of a session that is "+string(st), id, u)
				continue
			}
			e.wantErr(err, sessionstore.ErrSessionClosed, "UpdateSession of a closed session", id, u)
			e.wantErr(err, sessionstore.ErrSessionNotActive, "UpdateSession of a closed session", id, u)
			c.wantState("a refused update", id, before)
		}
	}
}

func lifecycleClosedIsFinal(e *env) {
	handles := []client{e.client(), e.client()}
	for round := range 10 {
		id := fmt.Sprint("s", round)
		handles[0].create(sessionstore.Session{ID: id})
		e.together(5, func(i int) {
			h := handles[i%2]
			if i == 0 {
				got := h.setStatus(id, sessionstore.StatusClosed)
				e.wantSame("GetSession after the session was closed, transitions racing it", handles[1].get(id).Status, got.Status)
				return
			}
			for n := range raceCalls {
				to := statuses[n%2]
				u := sessionstore.SessionUpdate{Status: &to}
				if _, err := h.UpdateSession(e.ctx, id, u); err != nil {
					e.wantErr(err, sessionstore.ErrInvalidTransition, "UpdateSession, a close racing it", id, u)
					return
				}
			}
		})
		if got := handles[0].get(id); got.Status != sessionstore.StatusClosed {
			e.Errorf("Status after a close succeeded, transitions racing it\n  got:  %q\n  want: %q", got.Status, sessionstore.StatusClosed)
		}
	}
}
