package storetest

import (
	"errors"
	"fmt"
	"time"

	"github.com/sessionstore/sessionstore"
)

var expireCases = []kase{
	{"all at once, at ExpiresAt", expireAtOnce},
	{"what slides ExpiresAt", expireSlides},
	{"a TTL that is set, changed and taken away", expireTTLChanges},
	{"which TTLs are valid", expireTTLs},
	{"PurgeExpired", expirePurge},
	{"PurgeExpired(0) of more than a few", expirePurgeMany},
	{"a session without TTL never expires", func(e *env) {
		c := e.client()
		c.create(sessionstore.Session{ID: "s"})
		c.say("s", "one")
		before := c.state("s")
		e.clock.Advance(200 * 365 * 24 * time.Hour)
		c.wantState("200 years", "s", before)
	}},
	{"the store's clock decides, not the machine's", expireByClock},
}

// expireAtOnce is field report S32: one half of a session expires before the other.
func expireAtOnce(e *env) {
	a, b := e.client(), e.client()
	in := fullSession("s")
	in.Status, in.TTL = sessionstore.StatusActive, time.Hour
	a.create(in)
	a.create(sessionstore.Session{ID: "other", UserID: "ann", TTL: 2 * time.Hour})
	e.clock.Advance(time.Minute)
	a.append("s", sessionstore.Append{Messages: numbered("m", 10, true)})
	s := a.get("s")
	before := a.state("s")
	e.clock.Set(s.ExpiresAt.Add(-time.Microsecond))
	b.wantState("the clock reached the last microsecond before ExpiresAt", "s", before)
	e.wantIDs("ListSessions a microsecond before ExpiresAt", b.walk(sessionstore.SessionQuery{UserID: "ann"}), "s", "other")

	e.clock.Set(s.ExpiresAt)
	for _, c := range []client{a, b} {
		c.wantGone("the clock reached ExpiresAt", "s")
	}
	for _, q := range []sessionstore.SessionQuery{
		{UserID: "ann"}, {}, {AgentName: "support"}, {ParentID: in.ParentID}, {Statuses: []sessionstore.Status{sessionstore.StatusActive}},
	} {
		for _, s := range b.walk(q) {
			if s.ID == "s" {
				e.Errorf("%s at ExpiresAt\n  got:  the expired session\n  want: it is gone", called("ListSessions", q))
			}
		}
	}
	// Not even a repeat or a condition finds it.
	_, err := a.AppendMessages(e.ctx, "s", sessionstore.Append{Messages: numbered("m", 10, true)})
	e.wantErr(err, sessionstore.ErrSessionNotFound, "AppendMessages, a repeat, at ExpiresAt", "s")
	_, err = a.UpdateSession(e.ctx, "s", sessionstore.SessionUpdate{IfVersion: 99})
	e.wantErr(err, sessionstore.ErrSessionNotFound, "UpdateSession with a wrong IfVersion at ExpiresAt", "s")

	created := a.create(sessionstore.Session{ID: "s"})
	e.wantSame("the history of a new session with the id of an expired one",
		b.messages("s", sessionstore.MessageQuery{}), sessionstore.MessagePage{Session: created, Messages: []sessionstore.Message{}})
}

// expireSlides is field report O09: what keeps a session alive.
func expireSlides(e *env) {
	c := e.client()
	const ttl = time.Hour
	for _, t := range []struct {
		name   string
		slides bool
		do     func(id string)
	}{
		{"an append", true, func(id string) { c.say(id, "more") }},
		{"an append of a batch", true, func(id string) { c.say(id, "more", "and more") }},
		{"a truncate that removes something", true, func(id string) { c.truncate(id, sessionstore.Truncate{ThroughSeq: 1}) }},
		{"an update that changes something", true, func(id string) { c.update(id, sessionstore.SessionUpdate{System: ptr("new")}) }},
		{"a pause", true, func(id string) { c.setStatus(id, sessionstore.StatusPaused) }},
		{"a Touch", true, func(id string) { c.update(id, sessionstore.SessionUpdate{Touch: true}) }},
		{"a Touch with an update that changes nothing", true, func(id string) {
			c.update(id, sessionstore.SessionUpdate{Touch: true, TTL: ptr(ttl)})
		}},
		{"GetSession", false, func(id string) { c.get(id) }},
		{"ListMessages", false, func(id string) { c.history(id) }},
		{"ListSessions", false, func(string) { c.walk(sessionstore.SessionQuery{}) }},
		{"an append of no messages", false, func(id string) { c.append(id, sessionstore.Append{}) }},
		{"a repeated append", false, func(id string) {
			c.append(id, sessionstore.Append{Messages: numbered(id, 3, true)})
		}},
		{"a truncate that removes nothing", false, func(id string) { c.truncate(id, sessionstore.Truncate{ThroughSeq: 3}) }},
		{"an update that changes nothing", false, func(id string) {
			c.update(id, sessionstore.SessionUpdate{TTL: ptr(ttl), SetMetadata: sessionstore.Metadata{"k": "v"}})
		}},
		{"being forked", false, func(id string) { c.fork(id, sessionstore.Fork{}) }},
		{"refused writes", false, func(id string) {
			_, err := c.AppendMessages(e.ctx, id, sessionstore.Append{Messages: users("x"), IfLastSeq: ptr(int64(99))})
			e.wantErr(err, sessionstore.ErrConflict, "AppendMessages with a wrong IfLastSeq", id)
			_, err = c.TruncateMessages(e.ctx, id, sessionstore.Truncate{IfLastSeq: ptr(int64(99))})
			e.wantErr(err, sessionstore.ErrConflict, "TruncateMessages with a wrong IfLastSeq", id)
			_, err = c.UpdateSession(e.ctx, id, sessionstore.SessionUpdate{IfVersion: 99, Touch: true})
			e.wantErr(err, sessionstore.ErrConflict, "UpdateSession with a wrong IfVersion", id)
			_, err = c.CreateSession(e.ctx, sessionstore.Session{ID: id})
			e.wantErr(err, sessionstore.ErrSessionExists, "CreateSession", id)
		}},
	} {
		id := t.name
		c.create(sessionstore.Session{ID: id, TTL: ttl, Metadata: sessionstore.Metadata{"k": "v"}})
		c.append(id, sessionstore.Append{Messages: numbered(id, 3, true)})
		before := c.get(id)
		now := e.clock.Advance(ttl / 2).Truncate(time.Microsecond)
		t.do(id)
		got, want := c.get(id), before.UpdatedAt
		if t.slides {
			want = now
		}
		if !got.UpdatedAt.Equal(want) || !got.ExpiresAt.Equal(want.Add(ttl)) {
			e.Errorf("the session half its TTL later, after %s\n  got:  UpdatedAt %s, ExpiresAt %s\n  want: UpdatedAt %s, ExpiresAt %s",
				t.name, show(got.UpdatedAt), show(got.ExpiresAt), show(want), show(want.Add(ttl)))
		}
		e.clock.Set(want.Add(ttl - time.Microsecond))
		c.get(id)
		e.clock.Set(want.Add(ttl))
		_, err := c.GetSession(e.ctx, id)
		e.wantErr(err, sessionstore.ErrSessionNotFound, "GetSession a TTL after the last write that slides, after "+t.name, id)
	}
}

func expireTTLChanges(e *env) {
	c := e.client()
	c.create(sessionstore.Session{ID: "s"})
	e.clock.Advance(time.Hour)
	now := e.clock.Now().Truncate(time.Microsecond)
	s := c.update("s", sessionstore.SessionUpdate{TTL: ptr(10 * time.Minute)})
	if s.TTL != 10*time.Minute || !s.ExpiresAt.Equal(now.Add(s.TTL)) || s.Version != 2 {
		e.Errorf("UpdateSession with a TTL\n  got:  TTL %v, ExpiresAt %s, Version %d\n  want: 10m0s from now (%s), 2", s.TTL, show(s.ExpiresAt), s.Version, show(now))
	}
	e.clock.Advance(9 * time.Minute)
	s = c.update("s", sessionstore.SessionUpdate{TTL: ptr(time.Duration(0))})
	if s.TTL != 0 || !s.ExpiresAt.IsZero() {
		e.Errorf("UpdateSession with TTL 0\n  got:  TTL %v, ExpiresAt %s\n  want: 0 and the zero time", s.TTL, show(s.ExpiresAt))
	}
	e.clock.Advance(time.Hour)
	e.wantSame("GetSession after its TTL was taken away", c.get("s"), s)
	// A shorter TTL counts from the update too, not from the create.
	s = c.update("s", sessionstore.SessionUpdate{TTL: ptr(time.Millisecond)})
	e.wantSame("GetSession within a TTL of one millisecond", c.get("s"), s)
	e.clock.Advance(time.Millisecond)
	c.wantGone("the new TTL passed", "s")
	// States that take no messages expire, and are touched, all the same.
	for _, st := range []sessionstore.Status{sessionstore.StatusPaused, sessionstore.StatusClosed} {
		id := string(st)
		c.create(sessionstore.Session{ID: id, Status: st, TTL: time.Hour})
		e.clock.Advance(59 * time.Minute)
		c.update(id, sessionstore.SessionUpdate{Touch: true})
		e.clock.Advance(59 * time.Minute)
		c.get(id)
		e.clock.Advance(time.Minute)
		c.wantGone("its TTL passed after a Touch", id)
	}
}

func expireTTLs(e *env) {
	c := e.client()
	for i, t := range []struct {
		ttl, want time.Duration
		ok        bool
	}{
		{0, 0, true},
		{time.Microsecond, time.Microsecond, true},
		{1999 * time.Nanosecond, time.Microsecond, true},
		{time.Hour + 999*time.Nanosecond, time.Hour, true},
		{1500 * time.Millisecond, 1500 * time.Millisecond, true},
		{sessionstore.MaxTTL, sessionstore.MaxTTL, true},
		{sessionstore.MaxTTL + time.Microsecond, 0, false},
		{1, 0, false},
		{999, 0, false},
		{-1, 0, false},
		{-time.Hour, 0, false},
	} {
		id := fmt.Sprint("s", i)
		in := sessionstore.Session{ID: id, TTL: t.ttl}
		got, err := c.CreateSession(e.ctx, in)
		c.create(sessionstore.Session{ID: id + "u"})
		u := sessionstore.SessionUpdate{TTL: &t.ttl}
		updated, uerr := c.UpdateSession(e.ctx, id+"u", u)
		if !t.ok {
			e.wantErr(err, sessionstore.ErrInvalid, "CreateSession", in)
			e.wantErr(uerr, sessionstore.ErrInvalid, "UpdateSession", id+"u", u)
			continue
		}
		e.wantOK(err, "CreateSession", in)
		e.wantOK(uerr, "UpdateSession", id+"u", u)
		for _, s := range []sessionstore.Session{got, updated, c.get(id), c.get(id + "u")} {
			if s.TTL != t.want {
				e.Errorf("a session made or updated with TTL %v\n  got:  TTL %v\n  want: %v", t.ttl, s.TTL, t.want)
			}
			if want := s.UpdatedAt.Add(t.want); t.want > 0 && !s.ExpiresAt.Equal(want) {
				e.Errorf("a session made or updated with TTL %v\n  got:  ExpiresAt %s\n  want: %s", t.ttl, show(s.ExpiresAt), show(want))
			}
		}
	}
}

func expirePurge(e *env) {
	a, b := e.client(), e.client()
	for i := range 5 {
		id := fmt.Sprint("expired", i)
		a.create(sessionstore.Session{ID: id, TTL: time.Hour, UserID: "u"})
		a.append(id, sessionstore.Append{Messages: numbered("m", 3, true)})
	}
	a.create(sessionstore.Session{ID: "again", TTL: time.Hour})
	a.say("again", "old")
	a.create(sessionstore.Session{ID: "alive", TTL: time.Hour + time.Microsecond, UserID: "u"})
	a.create(sessionstore.Session{ID: "forever"})
	for _, id := range []string{"alive", "forever"} {
		a.append(id, sessionstore.Append{Messages: numbered("m", 3, true)})
	}
	n, err := sessionstore.PurgeExpired(e.ctx, a.SessionStore, 0)
	if errors.Is(err, errors.ErrUnsupported) {
		e.notExercised("this store is no Purger")
		return
	}
	e.wantOK(err, "PurgeExpired", 0)
	if n != 0 {
		e.Errorf("PurgeExpired(0) before anything expired\n  got:  %d\n  want: 0", n)
	}
	before := map[string]state{"alive": a.state("alive"), "forever": a.state("forever")}
	e.clock.Advance(time.Hour)
	a.create(sessionstore.Session{ID: "again"})
	a.say("again", "new")
	before["again"] = a.state("again")

	_, err = sessionstore.PurgeExpired(e.ctx, b.SessionStore, -1)
	e.wantErr(err, sessionstore.ErrInvalid, "PurgeExpired", -1)
	for left := 5; left > 0; {
		n, err := sessionstore.PurgeExpired(e.ctx, b.SessionStore, 2)
		e.wantOK(err, "PurgeExpired", 2)
		if n < 1 || n > 2 || n > left {
			e.Fatalf("PurgeExpired(2) with %d expired sessions left\n  got:  %d\n  want: 1 to %d", left, n, min(2, left))
		}
		left -= n
	}
	n, err = sessionstore.PurgeExpired(e.ctx, a.SessionStore, 0)
	e.wantOK(err, "PurgeExpired", 0)
	if n != 0 {
		e.Errorf("PurgeExpired(0) after all that expired was purged\n  got:  %d\n  want: 0", n)
	}
	for id, want := range before {
		b.wantState("PurgeExpired", id, want)
	}
	// Nothing of the purged is left for who takes their ids.
	for i := range 5 {
		id := fmt.Sprint("expired", i)
		a.create(sessionstore.Session{ID: id})
		e.wantSeqs("AppendMessages to a new session with the id of a purged one",
			a.append(id, sessionstore.Append{Messages: numbered("m", 3, true)}), 1, 2, 3)
	}
	// Racing purges count each session once.
	for i := range 12 {
		a.create(sessionstore.Session{ID: fmt.Sprint("race", i), TTL: time.Minute})
	}
	e.clock.Advance(time.Minute)
	counts := make([]int, 4)
	e.together(len(counts), func(i int) {
		n, err := sessionstore.PurgeExpired(e.ctx, []client{a, b}[i%2].SessionStore, 0)
		e.wantOK(err, "PurgeExpired", 0)
		counts[i] = n
	})
	// "alive" expired in the meantime too.
	if sum := counts[0] + counts[1] + counts[2] + counts[3]; sum != 13 {
		e.Errorf("the sum of four racing calls of PurgeExpired with 13 expired sessions\n  got:  %d (%v)\n  want: 13", sum, counts)
	}
}

// expirePurgeMany has more expired sessions than a store may remove in one step.
func expirePurgeMany(e *env) {
	c := e.client()
	const n = 130
	e.together(8, func(i int) {
		for j := i; j < n; j += 8 {
			c.create(sessionstore.Session{ID: fmt.Sprint("s", j), TTL: time.Minute})
		}
	})
	e.clock.Advance(time.Minute)
	got, err := sessionstore.PurgeExpired(e.ctx, c.SessionStore, 0)
	if errors.Is(err, errors.ErrUnsupported) {
		e.notExercised("this store is no Purger")
		return
	}
	e.wantOK(err, "PurgeExpired", 0)
	if got != n {
		e.Errorf("PurgeExpired(0) with %d expired sessions\n  got:  %d\n  want: all, because 0 is 1,000", n, got)
	}
}

// expireByClock lets the store's clock stand behind and before the machine's.
func expireByClock(e *env) {
	c := e.client()
	for _, now := range []time.Time{epoch, time.Date(1999, 12, 31, 23, 59, 0, 0, time.UTC), time.Date(2400, 1, 1, 0, 0, 0, 0, time.UTC)} {
		e.clock.Set(now)
		id := now.Format(time.DateOnly)
		s := c.create(sessionstore.Session{ID: id, TTL: 24 * time.Hour})
		c.say(id, "one")
		e.wantSame("GetSession at once, the store's clock at "+show(now), c.get(id).ExpiresAt, s.UpdatedAt.Add(24*time.Hour))
		e.clock.Advance(24*time.Hour - time.Microsecond)
		e.wantSeqs("the history a microsecond before ExpiresAt, the store's clock at "+show(e.clock.Now()), c.history(id), 1)
		e.clock.Advance(time.Microsecond)
		c.wantGone("ExpiresAt by the store's clock", id)
	}
}
