package storetest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sessionstore/sessionstore"
)

var idAnyCases = []kase{
	{"session ids that some database takes for one", idsDistinct},
	{"deleting one id deletes no other", idsDelete},
	{"message ids", idsMessages},
	{"a session's id and a message's, joined", idsJoined},
	{"users, agents and parents", idsNames},
	{"namespaces", idsNamespaces},
	{"what is no id", idsInvalid},
	{"names of up to 4 KiB", idsLongNames},
}

// oddIDs is the collision corpus of field reports S20 and S21: ids that meet where keys
// are joined, normalized, coerced, folded or taken for patterns.
var oddIDs = []string{
	"a", "A", "a ", " a", "a*", "a?", "[ab]", "ab", "*", "?", "a%", "a_", "%", "_", "a\\", "\\", "a:b", "a:b:c", "a", "b:c",
	"a/b", "a//b", "/", "../a", "..", ".", "a.b", "$a", "$set", "{a}", "{}", "a}b", "'", "\"", "`", "a'; DROP TABLE sessions;--",
	"1", "01", "1.0", "+1", "1e0", "true", "null", "nil", "undefined", "NaN", "-", "--", "#", "&", "=", "+", "~", "!", "@", "^", "|", "<a>", "(", ",", ";",
	"é", "e\u0301", "ß", "ss", "İ", "i", "ı", "I", "ﬁ", "fi", "K", "K", "\u00a0", " ", "a\u200b", "\ufeffa", "a\u2028b", "😀", "👨‍👩‍👧", "שלום", "\u202ea",
	"s", "session", "session:a", "meta", "messages", "messages:a", "sess:{a}", "ids", "__proto__", "_id", "id", "0", "00000000-0000-0000-0000-000000000000",
	"日本語", "日本語\u3000", strings.Repeat("x", 255), strings.Repeat("x", 254) + "y", strings.Repeat("x", 254), strings.Repeat("é", 127), "\U0010ffff", "\uffff", "\ufffd",
}

func distinctIDs() []string {
	ids := slices.Clone(oddIDs)
	slices.Sort(ids)
	return slices.Compact(ids)
}

func idsDistinct(e *env) {
	a, b := e.client(), e.client()
	ids := distinctIDs()
	e.together(4, func(i int) {
		for j := i; j < len(ids); j += 4 {
			a.create(sessionstore.Session{ID: ids[j], System: "I am " + ids[j]})
		}
	})
	want := map[string]state{}
	for _, id := range ids {
		a.append(id, sessionstore.Append{Messages: []sessionstore.Message{{ID: "m", Role: sessionstore.RoleUser, Content: sessionstore.Text(id)}}})
	}
	for _, id := range ids {
		st := b.state(id)
		if st.Session.ID != id || st.Session.System != "I am "+id || len(st.Messages) != 1 || st.Messages[0].SessionID != id || st.Messages[0].Content.String() != id {
			e.Errorf("the session %q among %d of different ids\n  got:  %s\n  want: its own System and its own one message", id, len(ids), show(st))
		}
		want[id] = st
	}
	slices.Reverse(ids)
	e.wantIDs("ListSessions of all, under one UpdatedAt: by the bytes of their ids", b.walk(sessionstore.SessionQuery{Limit: 7}), ids...)
	for i, id := range ids {
		if i%9 == 0 {
			a.truncate(id, sessionstore.Truncate{})
			st := want[id]
			st.Session.MessageCount, st.Messages = 0, []sessionstore.Message{}
			want[id] = st
		}
	}
	for _, id := range ids {
		b.wantState("truncates of others", id, want[id])
	}
}

// idsDelete is field report S20: an id that is taken for a pattern.
func idsDelete(e *env) {
	a, b := e.client(), e.client()
	ids := distinctIDs()
	for _, id := range ids {
		a.create(sessionstore.Session{ID: id, UserID: id})
	}
	e.rng.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
	for i, id := range ids {
		b.remove(id)
		// Its lookalikes are still there, and none of them answers for it.
		for _, m := range idMethods {
			switch m.name {
			case "GetSession", "ListMessages", "AppendMessages", "UpdateSession", "DeleteSession":
				e.wantErr(m.call(e.ctx, a.SessionStore, id), sessionstore.ErrSessionNotFound, m.name+" of a deleted session among those whose ids are like it", id)
			}
		}
		if i%10 != 9 && i != len(ids)-1 {
			continue
		}
		left := slices.Clone(ids[i+1:])
		slices.Sort(left)
		slices.Reverse(left)
		e.wantIDs(fmt.Sprintf("ListSessions after %d of %d odd ids were deleted, the last of them %q", i+1, len(ids), id), a.walk(sessionstore.SessionQuery{}), left...)
		for _, s := range a.walk(sessionstore.SessionQuery{}) {
			if s.LastSeq != 0 || s.Version != 1 {
				e.Errorf("the session %q after calls with other ids, all deleted\n  got:  LastSeq %d, Version %d\n  want: 0 and 1, as it was made", s.ID, s.LastSeq, s.Version)
			}
		}
	}
}

func idsMessages(e *env) {
	a, b := e.client(), e.client()
	a.create(sessionstore.Session{ID: "s"})
	a.create(sessionstore.Session{ID: "s:a"})
	ids := distinctIDs()
	var batch []sessionstore.Message
	for _, id := range ids {
		batch = append(batch, sessionstore.Message{ID: id, Role: sessionstore.RoleUser, Content: sessionstore.Text(id)})
	}
	stored := a.append("s", sessionstore.Append{Messages: batch})
	e.wantSame("the history of messages with odd ids", b.history("s"), stored)
	for i := range batch {
		e.wantSame(fmt.Sprintf("a repeat of the message %q", ids[i]), b.append("s", sessionstore.Append{Messages: batch[i : i+1]}), stored[i:i+1])
	}
	e.wantSame("the number of messages of a session whose id begins alike", len(b.history("s:a")), 0)
	e.wantSame("the number of messages after the repeats", a.get("s").MessageCount, int64(len(ids)))
}

// idsJoined is field report S21 for the ids of messages: two pairs of ids that are one
// where they are joined by a separator.
func idsJoined(e *env) {
	a, b := e.client(), e.client()
	text := func(id, s string) []sessionstore.Message {
		return []sessionstore.Message{{ID: id, Role: sessionstore.RoleUser, Content: sessionstore.Text(s)}}
	}
	for _, sep := range []string{":", "::", "/", "|", "-", "_", ".", ",", ";", "#", "%", "~", "=", "&", "\\", " ", "", "\u00a0", "}:", "😀"} {
		one, two := "s", "s"+sep+"a"
		a.create(sessionstore.Session{ID: one})
		a.create(sessionstore.Session{ID: two})
		x := a.append(one, sessionstore.Append{Messages: text("a"+sep+"b", "of the first")})
		y := b.append(two, sessionstore.Append{Messages: text("b", "of the second")})
		what := fmt.Sprintf("the sessions %q with the message %q and %q with \"b\"", one, "a"+sep+"b", two)
		e.wantSeqs(what+": the appends", append(x, y...), 1, 1)
		e.wantSame(what+": a repeat", b.append(one, sessionstore.Append{Messages: text("a"+sep+"b", "of the first")}), x)
		e.wantSame(what+": a repeat", a.append(two, sessionstore.Append{Messages: text("b", "of the second")}), y)
		e.wantSame(what+": the first history", b.history(one), x)
		e.wantSame(what+": the second history", b.history(two), y)
		a.truncate(one, sessionstore.Truncate{})
		e.wantSame(what+": the second history after a truncate of the first", b.history(two), y)
		b.remove(one)
		e.wantSame(what+": a repeat after the first was deleted", a.append(two, sessionstore.Append{Messages: text("b", "of the second")}), y)
		a.remove(two)
	}
}

func idsNames(e *env) {
	c := e.client()
	names := distinctIDs()
	for i, n := range names {
		c.create(sessionstore.Session{ID: fmt.Sprintf("%03d", i), UserID: n, AgentName: n, ParentID: n})
	}
	for i, n := range names {
		want := fmt.Sprintf("%03d", i)
		for _, q := range []sessionstore.SessionQuery{{UserID: n}, {AgentName: n}, {ParentID: n}, {UserID: n, AgentName: n, ParentID: n, Limit: 1}} {
			e.wantIDs(called("ListSessions", q)+" among many odd names", c.walk(q), want)
		}
	}
	got := c.update("000", sessionstore.SessionUpdate{AgentName: ptr(names[len(names)-1])})
	e.wantSame("the AgentName after a hand-off to an odd one", got.AgentName, names[len(names)-1])
}

func idsNamespaces(e *env) {
	base := e.namespace
	// The pairs meet where a namespace and an id are joined by a separator.
	spaces := []string{base, base + ":", base + ":a", base + "*", base + "/a", base + "%", base + " ", strings.ToUpper(base), base + "é", base + "e\u0301", base + "{}", base + "$", base + ".", base + "'", base + "😀"}
	ids := []string{"b", ":b", "a:b", "a/b", "*", "a"}
	handles := make([]client, len(spaces))
	for i, ns := range spaces {
		handles[i] = e.on(e.openIn(ns))
		for j, id := range ids {
			handles[i].create(sessionstore.Session{ID: id, UserID: "u", System: fmt.Sprint(i, j)})
			handles[i].append(id, sessionstore.Append{Messages: []sessionstore.Message{{ID: "m", Role: sessionstore.RoleUser, Content: sessionstore.Text(fmt.Sprint(i, j))}}})
		}
	}
	for i, ns := range spaces {
		again := e.on(e.openIn(ns))
		for j, id := range ids {
			st := again.state(id)
			if st.Session.System != fmt.Sprint(i, j) || len(st.Messages) != 1 || st.Messages[0].Content.String() != fmt.Sprint(i, j) {
				e.Errorf("the session %q in the namespace %q among %d namespaces\n  got:  %s\n  want: its own", id, ns, len(spaces), show(st))
			}
		}
		for _, q := range []sessionstore.SessionQuery{{}, {UserID: "u"}} {
			if n := len(again.walk(q)); n != len(ids) {
				e.Errorf("%s in the namespace %q\n  got:  %d sessions\n  want: its own %d", called("ListSessions", q), ns, n, len(ids))
			}
		}
	}
	for i := range spaces {
		for _, id := range ids {
			handles[i].remove(id)
		}
		for j := i + 1; j < len(spaces); j++ {
			if n := len(handles[j].walk(sessionstore.SessionQuery{})); n != len(ids) {
				e.Fatalf("ListSessions in the namespace %q after all of %q was deleted\n  got:  %d sessions\n  want: its own %d", spaces[j], spaces[i], n, len(ids))
			}
		}
	}
}

func idsInvalid(e *env) {
	c := e.client()
	c.create(sessionstore.Session{ID: "s"})
	c.say("s", "one")
	before := c.state("s")
	bad := []string{"", "a\x00b", "\x00", "a\nb", "\r", "\t", "\x1b[0m", "a\x7f", "a\u0085", "\u0080", "\xff", "a\xc3", "\xed\xa0\x80", "\xf0\x9f\x98", strings.Repeat("x", 256), strings.Repeat("é", 128)}
	for _, id := range bad {
		for _, m := range idMethods {
			e.wantErr(m.call(e.ctx, c.SessionStore, id), sessionstore.ErrInvalid, m.name, id)
		}
		if id == "" {
			continue // as an input, an id or a name that is left out
		}
		for _, in := range []sessionstore.Session{{ID: id}, {ID: "n", UserID: id}, {ID: "n", AgentName: id}, {ID: "n", ParentID: id}} {
			_, err := c.CreateSession(e.ctx, in)
			e.wantErr(err, sessionstore.ErrInvalid, "CreateSession", in)
		}
		u := sessionstore.SessionUpdate{AgentName: &id}
		_, err := c.UpdateSession(e.ctx, "s", u)
		e.wantErr(err, sessionstore.ErrInvalid, "UpdateSession", "s", u)
		for _, m := range []sessionstore.Message{{ID: id, Role: sessionstore.RoleUser}, {Role: sessionstore.RoleUser, AgentName: id}} {
			a := sessionstore.Append{Messages: []sessionstore.Message{m}}
			_, err := c.AppendMessages(e.ctx, "s", a)
			e.wantErr(err, sessionstore.ErrInvalid, "AppendMessages", "s", a)
		}
	}
	c.wantState("calls with what is no id", "s", before)
	e.wantIDs("ListSessions after them", c.walk(sessionstore.SessionQuery{}), "s")
}

func idsLongNames(e *env) {
	a, b := e.client(), e.client()
	a.create(sessionstore.Session{ID: "s"})
	long := strings.Repeat("n", sessionstore.MaxNameBytes)
	m := sessionstore.Message{Role: sessionstore.RoleTool, Name: long, ToolCallID: long, ToolCalls: []sessionstore.ToolCall{{ID: long, Name: long}}}
	stored := a.append("s", sessionstore.Append{Messages: []sessionstore.Message{m}})
	e.wantSame("a message whose names are 4 KiB long", b.history("s"), stored)
	for _, bad := range []string{long + "n", "a\x00b", "\xff"} {
		for _, m := range []sessionstore.Message{
			{Role: sessionstore.RoleUser, Name: bad},
			{Role: sessionstore.RoleTool, ToolCallID: bad},
			{Role: sessionstore.RoleAssistant, ToolCalls: []sessionstore.ToolCall{{Name: bad}}},
			{Role: sessionstore.RoleAssistant, ToolCalls: []sessionstore.ToolCall{{ID: bad}}},
		} {
			_, err := a.AppendMessages(e.ctx, "s", sessionstore.Append{Messages: []sessionstore.Message{m}})
			e.wantErr(err, sessionstore.ErrInvalid, "AppendMessages", "s", m)
		}
	}
	e.wantSame("the history after refused names", b.history("s"), stored)
}
