package storetest

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/sessionstore/sessionstore"
)

// exactNumbers are values that go wrong on the way through a float64, or through a
// decoder that has one kind of number.
func exactNumbers() sessionstore.Metadata {
	return sessionstore.Metadata{
		"2^53+1": int64(9007199254740993), "max": int64(1<<63 - 1), "min": int64(-1 << 63), "1.0": 1.0, "1": int64(1),
		"big": json.Number("123456789012345678901234567890"), "exact": json.Number("0.1000000000000000000000000000000001"), "1e400": json.Number("1e400"),
		"deep": map[string]any{"list": []any{int64(9007199254740993), 1.0, map[string]any{"big": json.Number("98765432109876543210"), "2.0": 2.0}}},
	}
}

// keptWrites are writes that change something, each with what it may change of the
// session but for LastSeq, MessageCount, UpdatedAt and ExpiresAt.
var keptWrites = []struct {
	name    string
	do      func(c client)
	changes func(s *sessionstore.Session)
}{
	{"an append", func(c client) { c.say("s", "one", "two") }, nil},
	{"another append", func(c client) { c.append("s", sessionstore.Append{Messages: []sessionstore.Message{fullMessage("m")}}) }, nil},
	{"a truncate", func(c client) { c.truncate("s", sessionstore.Truncate{ThroughSeq: 1}) }, nil},
	{"a Touch", func(c client) { c.update("s", sessionstore.SessionUpdate{Touch: true}) }, nil},
	{"an update of one metadata key", func(c client) {
		c.update("s", sessionstore.SessionUpdate{SetMetadata: sessionstore.Metadata{"set": "x"}})
	}, func(s *sessionstore.Session) { s.Metadata["set"] = "x"; s.Version++ }},
	{"a delete of one metadata key", func(c client) {
		c.update("s", sessionstore.SessionUpdate{DeleteMetadata: []string{"1"}})
	}, func(s *sessionstore.Session) { delete(s.Metadata, "1"); s.Version++ }},
	{"another System", func(c client) {
		c.update("s", sessionstore.SessionUpdate{System: ptr("new")})
	}, func(s *sessionstore.Session) { s.System = "new"; s.Version++ }},
	{"a pause", func(c client) { c.setStatus("s", sessionstore.StatusPaused) },
		func(s *sessionstore.Session) { s.Status = sessionstore.StatusPaused; s.Version++ }},
	{"a Touch of a paused session", func(c client) { c.update("s", sessionstore.SessionUpdate{Touch: true}) }, nil},
	{"an update back", func(c client) { c.setStatus("s", sessionstore.StatusActive) },
		func(s *sessionstore.Session) { s.Status = sessionstore.StatusActive; s.Version++ }},
	{"an append at the end", func(c client) { c.say("s", "three") }, nil},
}

// sameKept writes to a session that has every field set: what a write does not name, a
// later read returns as it was.
func sameKept(e *env) {
	a, b := e.client(), e.client()
	in := fullSession("s")
	in.Status = sessionstore.StatusActive
	in.Metadata = exactNumbers()
	in.Extra["n"] = json.RawMessage(`[9007199254740993,1.0,123456789012345678901234567890]`)
	want := a.create(in).Clone()
	e.wantSame("the Metadata that CreateSession returned", want.Metadata, in.Metadata)
	for i, w := range keptWrites {
		e.clock.Advance(time.Second)
		w.do([]client{a, b}[i%2])
		got := b.get("s")
		if w.changes != nil {
			w.changes(&want)
		}
		want.LastSeq, want.MessageCount, want.UpdatedAt, want.ExpiresAt = got.LastSeq, got.MessageCount, got.UpdatedAt, got.ExpiresAt
		what := " after " + w.name + ", which leaves everything else alone"
		e.wantSame("GetSession"+what, got, want)
		e.wantSame("ListSessions"+what, b.list(sessionstore.SessionQuery{}).Sessions, []sessionstore.Session{want})
		e.wantSame("the Session of ListMessages"+what, b.messages("s", sessionstore.MessageQuery{}).Session, want)
		if e.Failed() {
			return
		}
	}
}

// sameForked forks numbers that do not survive being decoded and encoded carelessly, in
// the session and in its messages, with and without new metadata.
func sameForked(e *env) {
	a, b := e.client(), e.client()
	in := fullSession("src")
	in.Status = sessionstore.StatusActive
	in.Metadata = exactNumbers()
	a.create(in)
	m := fullMessage("m")
	m.Metadata = exactNumbers()
	m.Extra["n"] = json.RawMessage(`[9007199254740993,1.0]`)
	a.append("src", sessionstore.Append{Messages: []sessionstore.Message{m, sessionstore.UserMessage("x")}})
	src := a.state("src")
	e.wantSame("the Metadata of a message that was appended", src.Messages[0].Metadata, m.Metadata)
	for i, f := range []sessionstore.Fork{{}, {Metadata: sessionstore.Metadata{"set": int64(9007199254740993)}}, {AtSeq: ptr(int64(1)), UserID: ptr("bob")}} {
		f.ID = fmt.Sprint("child", i)
		want := childOf(src, f, e.clock.Now())
		e.wantSame(called("ForkSession", "src", f), a.fork("src", f), want.Session)
		b.wantState("ForkSession, the child", f.ID, want)
	}
	a.wantState("forks", "src", src)
}
