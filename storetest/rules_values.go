package storetest

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/sessionstore/sessionstore"
)

// ownCases are field report S23: a store that hands out what it keeps.
var ownCases = []kase{
	{"sessions, in and out", ownSessions},
	{"messages, in and out", ownMessages},
	{"pages, forks and restored sessions", ownPages},
}

// ownSessions scribbles over what each call was given and over what it returned, and
// checks that the state stays.
func ownSessions(e *env) {
	a, b := e.client(), e.client()
	in := fullSession("s")
	in.Status = sessionstore.StatusActive
	in.Metadata["raw"] = json.RawMessage(`{"k":[1,2]}`)
	in.Metadata["typed"] = map[string]string{"k": "v"}
	in.Metadata["ptr"] = ptr("pointee")
	in.Metadata["bytes"] = []byte("abc")
	keep := in.Clone()
	got := a.create(in)
	before := b.state("s")
	e.wantSame("the caller's Session after CreateSession", in.Metadata["deep"], keep.Metadata["deep"])
	scribble(&in)
	a.wantState("its input was changed by the caller", "s", before)
	scribble(&got)
	a.wantState("what CreateSession returned was changed by the caller", "s", before)

	got = a.get("s")
	scribble(&got)
	a.wantState("what GetSession returned was changed by the caller", "s", before)
	b.wantState("what GetSession returned was changed by the caller", "s", before)

	u := sessionstore.SessionUpdate{
		AgentName: ptr("two"), System: ptr("sys"), TTL: ptr(time.Hour), Status: ptr(sessionstore.StatusPaused),
		SetMetadata:    sessionstore.Metadata{"new": map[string]any{"list": []any{"x", map[string]any{"y": int64(1)}}}},
		DeleteMetadata: []string{"plan", "never there"},
	}
	got = a.update("s", u)
	before = b.state("s")
	scribble(&u)
	a.wantState("its SessionUpdate was changed by the caller", "s", before)
	scribble(&got)
	a.wantState("what UpdateSession returned was changed by the caller", "s", before)
	// Nor is it shared when nothing changes.
	got = a.update("s", sessionstore.SessionUpdate{})
	scribble(&got)
	got = a.update("s", sessionstore.SessionUpdate{Touch: true})
	before = b.state("s")
	scribble(&got)
	a.wantState("what an UpdateSession without a change returned was changed by the caller", "s", before)
}

func ownMessages(e *env) {
	a, b := e.client(), e.client()
	a.create(sessionstore.Session{ID: "s"})
	batch := func() sessionstore.Append {
		m := fullMessage("one")
		m.Metadata["typed"] = map[string][]string{"k": {"v"}}
		m.Metadata["raw"] = json.RawMessage(`[1,{"a":2}]`)
		n := fullMessage("two")
		return sessionstore.Append{Messages: []sessionstore.Message{m, n}, IfLastSeq: ptr(int64(0))}
	}
	in := batch()
	got := a.append("s", in)
	before := b.state("s")
	if d := diff(in, batch()); d != "" {
		e.Errorf("the caller's Append after AppendMessages\n  got:  changed: %s\n  want: as it was", d)
	}
	scribble(&in)
	a.wantState("its Append was changed by the caller", "s", before)
	scribble(&got)
	a.wantState("what AppendMessages returned was changed by the caller", "s", before)
	// A repeat hands out what is stored.
	got = a.append("s", batch())
	scribble(&got)
	a.wantState("what a repeated AppendMessages returned was changed by the caller", "s", before)
	for _, q := range []sessionstore.MessageQuery{{}, {Newest: true, Limit: 1}, {AfterSeq: 1}} {
		for _, c := range []client{a, b} {
			p := c.messages("s", q)
			scribble(&p)
			a.wantState("what "+called("ListMessages", "s", q)+" returned was changed by the caller", "s", before)
		}
	}
	// Content is immutable, and lets nothing out that is not a copy.
	raw := []byte(`{"type":"text","text":"mine"}`)
	part, err := sessionstore.ParsePart(raw)
	e.wantOK(err, "ParsePart", string(raw))
	parts := []sessionstore.Part{part}
	stored := a.append("s", sessionstore.Append{Messages: []sessionstore.Message{{Role: sessionstore.RoleUser, Content: sessionstore.Parts(parts...)}}})
	before = b.state("s")
	for i := range raw {
		raw[i] = 'X'
	}
	parts[0] = sessionstore.TextPart("scribbled")
	for _, p := range stored[0].Content.All() {
		r := p.Raw()
		for i := range r {
			r[i] = 'X'
		}
	}
	a.wantState("the bytes of its parts were changed by the caller", "s", before)
	got = a.append("s", sessionstore.Append{Messages: users("x")})
	_ = append(got[:0], sessionstore.UserMessage("scribbled"))
	before = b.state("s")
	p := a.messages("s", sessionstore.MessageQuery{})
	_ = append(p.Messages[:1], sessionstore.UserMessage("scribbled"))
	a.wantState("a page was appended to by the caller", "s", before)
}

func ownPages(e *env) {
	a, b := e.client(), e.client()
	in := fullSession("s")
	in.Status = sessionstore.StatusActive
	a.create(in)
	a.append("s", sessionstore.Append{Messages: []sessionstore.Message{fullMessage("one")}})
	before := b.state("s")
	q := sessionstore.SessionQuery{UserID: "ann", Statuses: []sessionstore.Status{sessionstore.StatusActive}}
	page := a.list(q)
	scribble(&q)
	scribble(&page)
	a.wantState("a page of sessions was changed by the caller", "s", before)

	f := sessionstore.Fork{ID: "child", AtSeq: ptr(int64(1)), UserID: ptr("bob"), Metadata: sessionstore.Metadata{"m": map[string]any{"k": []any{"v"}}}}
	child := a.fork("s", f)
	childBefore := b.state("child")
	scribble(&f)
	scribble(&child)
	a.wantState("its Fork and what ForkSession returned were changed by the caller", "child", childBefore)
	a.wantState("its fork was changed by the caller", "s", before)
	tr := sessionstore.Truncate{ThroughSeq: 1, IfLastSeq: ptr(int64(1))}
	got := a.truncate("s", tr)
	scribble(&tr)
	scribble(&got)
	a.wantState("what TruncateMessages returned was changed by the caller", "s", before)

	if _, ok := a.SessionStore.(sessionstore.Restorer); ok {
		st := b.state("s")
		st.Session.ID = "restored"
		st.Messages[0].SessionID = ""
		got, err := sessionstore.RestoreSession(e.ctx, a.SessionStore, st.Session, each(st.Messages, nil))
		e.wantOK(err, "RestoreSession", st.Session)
		restored := b.state("restored")
		scribble(&st)
		scribble(&got)
		a.wantState("what went into RestoreSession and came out was changed by the caller", "restored", restored)
	} else {
		e.notExercised("RestoreSession: the store is no Restorer")
	}
}

var sameCases = []kase{
	{"the corpus", corpusCase},
	{"times", sameTimes},
	{"a repeat, an update and a fork return what a read returns", sameWrites},
	{"what a write does not name stays", sameKept},
	{"exact numbers through a fork", sameForked},
	{"random operations against a model", modelCase},
}

// sameTimes is field reports S06 (precision differs between what was returned and what
// is read) and S07 (times come back in another zone).
func sameTimes(e *env) {
	a, b := e.client(), e.client()
	kolkata := time.FixedZone("Asia/Kolkata", 5*3600+1800)
	micro := func(t time.Time) time.Time { return t.UTC().Truncate(time.Microsecond) }
	for i, in := range []time.Time{
		time.Date(2025, 12, 31, 23, 59, 59, 999999999, time.UTC),
		time.Date(2025, 12, 31, 23, 59, 59, 999999999, kolkata),
		time.Date(2024, 2, 29, 0, 0, 0, 1, time.FixedZone("", -12*3600)),
		time.Date(1, 1, 1, 0, 0, 0, 1000, time.UTC),
		time.Date(9999, 12, 31, 23, 59, 59, 999999999, time.UTC),
		time.Date(1969, 12, 31, 23, 59, 59, 999999999, time.UTC),
		time.Date(1600, 1, 1, 0, 0, 0, 999, time.UTC),
		time.Unix(0, 0),
		time.Now(), // with a monotonic reading, in the zone of this process
	} {
		id := fmt.Sprint("s", i)
		s := a.create(sessionstore.Session{ID: id, CreatedAt: in})
		m := a.append(id, sessionstore.Append{Messages: []sessionstore.Message{{Role: sessionstore.RoleUser, CreatedAt: in}}})[0]
		for what, got := range map[string]time.Time{
			"CreateSession": s.CreatedAt, "GetSession": b.get(id).CreatedAt, "ListSessions": b.list(sessionstore.SessionQuery{}).Sessions[0].CreatedAt,
			"AppendMessages": m.CreatedAt, "ListMessages": b.history(id)[0].CreatedAt,
		} {
			if what == "ListSessions" && len(b.walk(sessionstore.SessionQuery{})) != i+1 {
				e.Errorf("ListSessions\n  got:  %d sessions\n  want: %d", len(b.walk(sessionstore.SessionQuery{})), i+1)
			}
			if what != "ListSessions" && !reflect.DeepEqual(got, micro(in)) {
				e.Errorf("the CreatedAt %s by %s\n  got:  %s (%#v)\n  want: %s, in UTC, truncated to microseconds, equal by == ", show(in), what, show(got), got, show(micro(in)))
			}
		}
	}
	// The store's own times too: a clock in another zone, with nanoseconds.
	now := time.Date(2041, 5, 6, 23, 59, 59, 999999999, kolkata)
	e.clock.Set(now)
	s := a.create(sessionstore.Session{ID: "own", TTL: time.Hour})
	m := a.say("own", "x")[0]
	want := micro(now)
	for what, got := range map[string]time.Time{
		"CreatedAt": s.CreatedAt, "UpdatedAt": s.UpdatedAt, "ExpiresAt": s.ExpiresAt.Add(-time.Hour), "UpdatedAt by GetSession": b.get("own").UpdatedAt,
		"CreatedAt of a message": m.CreatedAt, "CreatedAt by ListMessages": b.history("own")[0].CreatedAt,
	} {
		if !reflect.DeepEqual(got, want) {
			e.Errorf("%s under a store's clock of %s\n  got:  %s\n  want: %s", what, show(now), show(got), show(want))
		}
	}
	for _, bad := range []time.Time{time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(0, 12, 31, 0, 0, 0, 0, time.UTC), time.Date(-1, 1, 1, 0, 0, 0, 0, time.UTC)} {
		_, err := a.CreateSession(e.ctx, sessionstore.Session{CreatedAt: bad})
		e.wantErr(err, sessionstore.ErrInvalid, "CreateSession with CreatedAt", bad.String())
		_, err = a.AppendMessages(e.ctx, "own", sessionstore.Append{Messages: []sessionstore.Message{{Role: sessionstore.RoleUser, CreatedAt: bad}}})
		e.wantErr(err, sessionstore.ErrInvalid, "AppendMessages with CreatedAt", bad.String())
	}
}

// sameWrites compares what each write returned with what another handle reads.
func sameWrites(e *env) {
	a, b := e.client(), e.client()
	odd := sessionstore.Metadata{
		"nul": "a\x00b", "literal": `\u0000`, "sep": "\u2028", "emoji": "😀", "": map[string]any{"": []any{}}, "a.b": map[string]any{"$x": nil},
		"big": json.Number("123456789012345678901234567890"), "int": int64(9007199254740993), "float": 1.0, "small": 5e-324,
		"exact": json.Number("0.1000000000000000000000000000000001"), "<&>": "<script>&amp;</script>",
	}
	check := func(what string, s sessionstore.Session) {
		got := b.get(s.ID)
		e.wantSame("GetSession by another handle after "+what, got, s)
		x, err := s.AppendJSON(nil)
		e.wantOK(err, "Session.AppendJSON of what "+what+" returned")
		y, err := got.AppendJSON(nil)
		e.wantOK(err, "Session.AppendJSON of what was read")
		if string(x) != string(y) {
			e.Errorf("GetSession by another handle after %s, as JSON\n  got:  %s\n  want: %s", what, clip(string(y), 500), clip(string(x), 500))
		}
		e.wantSame("ListSessions by another handle after "+what+", its newest", b.list(sessionstore.SessionQuery{Limit: 1}).Sessions, []sessionstore.Session{s})
	}
	step := func() { e.clock.Advance(time.Second) }
	in := fullSession("s")
	in.Status = sessionstore.StatusActive
	in.System = "a\x00b \u2028 😀 " + strings.Repeat("long ", 1000)
	in.Metadata = odd.Clone()
	in.Extra = map[string]json.RawMessage{"x": json.RawMessage(`{"z":1.50,"a":[1e400,"\ud83d\ude00",""],"dup":1,"dup":2}`), "": json.RawMessage(`null`), "a.$b": json.RawMessage(`"\u0000"`)}
	check("CreateSession", a.create(in))
	step()
	check("UpdateSession", a.update("s", sessionstore.SessionUpdate{SetMetadata: sessionstore.Metadata{"again": odd["big"], "a.b": 2, "x\x00": odd}}))
	step()
	check("a pause", a.setStatus("s", sessionstore.StatusPaused))
	step()
	check("a Touch", a.update("s", sessionstore.SessionUpdate{Touch: true}))
	step()
	check("an update back", a.setStatus("s", sessionstore.StatusActive))
	m := fullMessage("m")
	m.Metadata = odd.Clone()
	m.Content = sessionstore.Text("a\x00b \\u0000 \u2028 😀")
	stored := a.append("s", sessionstore.Append{Messages: []sessionstore.Message{m, {Role: sessionstore.RoleUser, Content: sessionstore.Parts()}, {Role: sessionstore.RoleUser}}})
	e.wantSame("ListMessages by another handle after AppendMessages", b.history("s"), stored)
	e.wantSame("a repeated AppendMessages by another handle", b.append("s", sessionstore.Append{Messages: []sessionstore.Message{m}}), stored[:1])
	step()
	check("ForkSession", a.fork("s", sessionstore.Fork{ID: "child", Metadata: odd}))
	step()
	check("TruncateMessages", a.truncate("s", sessionstore.Truncate{ThroughSeq: 2}))
	if _, ok := a.SessionStore.(sessionstore.Restorer); ok {
		st := b.state("s")
		st.Session.ID, st.Session.UpdatedAt = "restored", e.clock.Advance(time.Second).Truncate(time.Microsecond)
		st.Session.ExpiresAt = time.Time{}
		for i := range st.Messages {
			st.Messages[i].SessionID = ""
		}
		got, err := sessionstore.RestoreSession(e.ctx, a.SessionStore, st.Session, each(st.Messages, nil))
		e.wantOK(err, "RestoreSession", st.Session)
		check("RestoreSession", got)
	}
}
