package storetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/sessionstore/sessionstore"
)

var appendIdempotentCases = []kase{
	{"a repeat returns what is stored", repeatReturns},
	{"whatever the status or IfLastSeq now", repeatWhatever},
	{"some stored, or unequal", repeatUnequal},
	{"equal in canonical form", repeatCanonical},
	{"ids within one batch, sessions and after a truncate", repeatScope},
	{"no ids", repeatNoIDs},
	{"the same batch from many writers at once", repeatRace},
	{"a failed append that is repeated", repeatAfterFault},
}

func repeatReturns(e *env) {
	a, b := e.client(), e.client()
	a.create(sessionstore.Session{ID: "s", TTL: time.Hour})
	first := sessionstore.Append{Messages: numbered("a", 3, true)}
	stored := a.append("s", first)
	stored = append(stored, a.append("s", sessionstore.Append{Messages: numbered("b", 2, true)})...)
	a.say("s", "no id of mine")
	before := a.state("s")
	e.clock.Advance(time.Minute)

	e.wantSame("a repeated AppendMessages", b.append("s", first), stored[:3])
	mixed := []int{4, 0, 2} // of both batches, in another order
	in, want := sessionstore.Append{}, []sessionstore.Message{}
	for _, i := range mixed {
		in.Messages = append(in.Messages, sessionstore.Message{ID: stored[i].ID, Role: stored[i].Role, Content: stored[i].Content})
		want = append(want, stored[i])
	}
	e.wantSame("AppendMessages of stored messages in an order of their own", b.append("s", in), want)
	e.wantSame("AppendMessages of what AppendMessages returned", b.append("s", sessionstore.Append{Messages: stored}), stored)
	a.wantState("repeated appends, a minute later", "s", before)

	// However long ago.
	long := numbered("long", 1000, false)
	for range 2 {
		a.append("s", sessionstore.Append{Messages: long})
	}
	before = a.state("s")
	e.wantSame("a repeated AppendMessages, 2,000 messages later", b.append("s", first), stored[:3])
	a.wantState("a repeated append", "s", before)
}

func repeatWhatever(e *env) {
	c := e.client()
	for _, st := range statuses {
		id := string(st)
		c.create(sessionstore.Session{ID: id})
		in := sessionstore.Append{Messages: numbered("m", 2, true), IfLastSeq: ptr(int64(0))}
		stored := c.append(id, in)
		c.say(id, "later")
		if st != sessionstore.StatusActive {
			c.setStatus(id, st)
		}
		before := c.state(id)
		e.clock.Advance(time.Second)
		e.wantSame("a repeated AppendMessages with its old IfLastSeq, the session "+id, c.append(id, in), stored)
		c.wantState("a repeated append", id, before)
	}
}

// fullMessage has every field set that a caller may set.
func fullMessage(id string) sessionstore.Message {
	part, err := sessionstore.ParsePart([]byte(`{"type":"text","text":"hi","cache_control":{"type":"ephemeral"}}`))
	if err != nil {
		panic(err) // the text above is a part
	}
	return sessionstore.Message{
		ID: id, Role: sessionstore.RoleAssistant, Content: sessionstore.Parts(part, sessionstore.ImagePart("https://example.com/a.png")),
		Name: "helper", ToolCallID: "call_0", AgentName: "support",
		ToolCalls: []sessionstore.ToolCall{
			{ID: "call_1", Type: "function", Name: "lookup", Arguments: ` {"n": 9007199254740993, "n": 1.0} `, Extra: map[string]json.RawMessage{"x": json.RawMessage(`[1.50]`)}},
			{ID: "call_2", Type: "function", Name: "ping"},
		},
		CreatedAt: time.Date(2024, 5, 6, 7, 8, 9, 123456000, time.UTC),
		Metadata:  sessionstore.Metadata{"model": "m-1", "tokens": int64(12), "cost": 0.25, "deep": map[string]any{"list": []any{nil, true}}},
		Extra:     map[string]json.RawMessage{"annotations": json.RawMessage(`[{"url":"<&>"}]`)},
	}
}

func repeatUnequal(e *env) {
	c := e.client()
	c.create(sessionstore.Session{ID: "s"})
	stored := c.append("s", sessionstore.Append{Messages: []sessionstore.Message{fullMessage("full"), {ID: "null", Role: sessionstore.RoleUser}}})
	before := c.state("s")
	e.clock.Advance(time.Second)
	changes := map[string]func(m *sessionstore.Message){
		"Role":                    func(m *sessionstore.Message) { m.Role = sessionstore.RoleUser },
		"Content":                 func(m *sessionstore.Message) { m.Content = sessionstore.Text("hi") },
		"Content, one part less":  func(m *sessionstore.Message) { m.Content = sessionstore.Parts(sessionstore.TextPart("hi")) },
		"Content null":            func(m *sessionstore.Message) { m.Content = sessionstore.Content{} },
		"Content []":              func(m *sessionstore.Message) { m.Content = sessionstore.Parts() },
		"Name":                    func(m *sessionstore.Message) { m.Name = "" },
		"ToolCallID":              func(m *sessionstore.Message) { m.ToolCallID = "call_9" },
		"AgentName":               func(m *sessionstore.Message) { m.AgentName = "" },
		"Metadata value":          func(m *sessionstore.Message) { m.Metadata["cost"] = 0.5 },
		"Metadata 12 to 12.0":     func(m *sessionstore.Message) { m.Metadata["tokens"] = 12.0 },
		"Metadata key more":       func(m *sessionstore.Message) { m.Metadata["more"] = nil },
		"Metadata key less":       func(m *sessionstore.Message) { delete(m.Metadata, "deep") },
		"no Metadata":             func(m *sessionstore.Message) { m.Metadata = nil },
		"no ToolCalls":            func(m *sessionstore.Message) { m.ToolCalls = nil },
		"ToolCalls order":         func(m *sessionstore.Message) { slices.Reverse(m.ToolCalls) },
		"a call's ID":             func(m *sessionstore.Message) { m.ToolCalls[0].ID = "x" },
		"a call's Type":           func(m *sessionstore.Message) { m.ToolCalls[0].Type = "other" },
		"a call's Name":           func(m *sessionstore.Message) { m.ToolCalls[0].Name = "x" },
		"a call's white space":    func(m *sessionstore.Message) { m.ToolCalls[0].Arguments = `{"n": 9007199254740993, "n": 1.0}` },
		"a call's Extra":          func(m *sessionstore.Message) { m.ToolCalls[0].Extra = nil },
		"Extra":                   func(m *sessionstore.Message) { m.Extra["annotations"] = json.RawMessage(`[]`) },
		"Extra, another key":      func(m *sessionstore.Message) { m.Extra["more"] = json.RawMessage(`1`) },
		"no Extra":                func(m *sessionstore.Message) { m.Extra = nil },
		"Extra 1.50 to 1.5 in it": func(m *sessionstore.Message) { m.ToolCalls[0].Extra["x"] = json.RawMessage(`[1.5]`) },
	}
	for name, change := range changes {
		m := fullMessage("full")
		change(&m)
		for _, batch := range [][]sessionstore.Message{{m}, {m, {ID: "null", Role: sessionstore.RoleUser}}} {
			_, err := c.AppendMessages(e.ctx, "s", sessionstore.Append{Messages: batch})
			e.wantErr(err, sessionstore.ErrMessageExists, "AppendMessages of a stored id with another "+name, "s", batch[0].ID, len(batch))
		}
	}
	for what, m := range map[string]sessionstore.Message{
		`"" for null`: {ID: "null", Role: sessionstore.RoleUser, Content: sessionstore.Text("")},
		"[] for null": {ID: "null", Role: sessionstore.RoleUser, Content: sessionstore.Parts()},
	} {
		_, err := c.AppendMessages(e.ctx, "s", sessionstore.Append{Messages: []sessionstore.Message{m}})
		e.wantErr(err, sessionstore.ErrMessageExists, "AppendMessages of a stored id with "+what, "s", m)
	}
	// Some of them.
	for _, batch := range [][]sessionstore.Message{
		{stored[0], sessionstore.UserMessage("new")},
		{sessionstore.UserMessage("new"), stored[1]},
		{stored[0], {ID: "new", Role: sessionstore.RoleUser}, stored[1]},
	} {
		_, err := c.AppendMessages(e.ctx, "s", sessionstore.Append{Messages: batch})
		e.wantErr(err, sessionstore.ErrMessageExists, "AppendMessages of a batch some of whose ids are stored", "s", batch)
	}
	c.wantState("appends that said ErrMessageExists", "s", before)
}

func repeatCanonical(e *env) {
	c := e.client()
	c.create(sessionstore.Session{ID: "s"})
	stored := c.append("s", sessionstore.Append{Messages: []sessionstore.Message{fullMessage("full"), {ID: "bare", Role: sessionstore.RoleTool}}})
	before := c.state("s")
	same := map[string]func(m *sessionstore.Message){
		"Seq, SessionID and CreatedAt": func(m *sessionstore.Message) { m.Seq, m.SessionID, m.CreatedAt = 77, "s", time.Time{} },
		"another CreatedAt":            func(m *sessionstore.Message) { m.CreatedAt = epoch },
		"the type \"\" for function":   func(m *sessionstore.Message) { m.ToolCalls[1].Type = "" },
		"an int for an int64":          func(m *sessionstore.Message) { m.Metadata["tokens"] = 12 },
		"a json.Number for an int64":   func(m *sessionstore.Message) { m.Metadata["tokens"] = json.Number("12") },
		"white space in Extra":         func(m *sessionstore.Message) { m.Extra["annotations"] = json.RawMessage(" [ {\"url\" :\n\"<&>\"} ] ") },
		"an empty Extra of a call":     func(m *sessionstore.Message) { m.ToolCalls[1].Extra = map[string]json.RawMessage{} },
	}
	for name, change := range same {
		m := fullMessage("full")
		change(&m)
		got, err := c.AppendMessages(e.ctx, "s", sessionstore.Append{Messages: []sessionstore.Message{m}})
		e.wantOK(err, "AppendMessages of a stored message with "+name, "s", m)
		e.wantSame("AppendMessages of a stored message with "+name, got, stored[:1])
	}
	bare := sessionstore.Message{ID: "bare", Role: sessionstore.RoleTool, Metadata: sessionstore.Metadata{}, ToolCalls: []sessionstore.ToolCall{}, Extra: map[string]json.RawMessage{}}
	e.wantSame("AppendMessages of a stored message with empty for nil", c.append("s", sessionstore.Append{Messages: []sessionstore.Message{bare}}), stored[1:])
	c.wantState("repeated appends", "s", before)
}

func repeatScope(e *env) {
	c := e.client()
	c.create(sessionstore.Session{ID: "s"})
	c.create(sessionstore.Session{ID: "t"})
	in := sessionstore.Append{Messages: numbered("m", 3, true)}
	c.append("s", in)
	e.wantSeqs("AppendMessages of the same ids to another session", c.append("t", in), 1, 2, 3)
	before := c.state("s")
	for _, batch := range [][]sessionstore.Message{
		{{ID: "x", Role: sessionstore.RoleUser}, {ID: "x", Role: sessionstore.RoleUser}},
		{in.Messages[0], in.Messages[1], in.Messages[0]},
		{{Role: sessionstore.RoleUser, SessionID: "t"}},
		append(numbered("n", 20, true), numbered("n", 1, true)...),
	} {
		a := sessionstore.Append{Messages: batch}
		_, err := c.AppendMessages(e.ctx, "s", a)
		e.wantErr(err, sessionstore.ErrInvalid, "AppendMessages", "s", a)
	}
	c.wantState("refused appends", "s", before)

	c.truncate("s", sessionstore.Truncate{ThroughSeq: 1})
	again := sessionstore.Append{Messages: []sessionstore.Message{
		{ID: "m2", Role: sessionstore.RoleAssistant, Content: sessionstore.Text("another")}, {ID: "m3", Role: sessionstore.RoleUser},
	}}
	e.wantSeqs("AppendMessages of ids that a truncate freed", c.append("s", again), 4, 5)
	e.wantSeqs("and repeated", c.append("s", again), 4, 5)
	_, err := c.AppendMessages(e.ctx, "s", sessionstore.Append{Messages: in.Messages[1:]})
	e.wantErr(err, sessionstore.ErrMessageExists, "AppendMessages of what a truncate removed, its ids taken again", "s")
	e.wantSeqs("the history", c.history("s"), 1, 4, 5)
}

func repeatNoIDs(e *env) {
	c := e.client()
	c.create(sessionstore.Session{ID: "s"})
	in := sessionstore.Append{Messages: users("same", "same", "same")}
	got := append(c.append("s", in), c.append("s", in)...)
	seen := map[string]bool{}
	for _, m := range got {
		if !uuidV7.MatchString(m.ID) || seen[m.ID] {
			e.Errorf("the ID of a message without one\n  got:  %q\n  want: a new UUIDv7", m.ID)
		}
		seen[m.ID] = true
	}
	e.wantSeqs("AppendMessages without ids, twice", got, 1, 2, 3, 4, 5, 6)
	e.wantSame("the caller's own messages after it: the ids are in the result only", in.Messages[0].ID, "")
}

func repeatRace(e *env) {
	handles := []client{e.client(), e.client()}
	handles[0].create(sessionstore.Session{ID: "s"})
	const racers = 8
	var want []sessionstore.Message
	for round := range 10 {
		in := sessionstore.Append{Messages: numbered(fmt.Sprint("r", round, "."), 3, true)}
		results := make([][]sessionstore.Message, racers)
		e.together(racers, func(i int) { results[i] = handles[i%2].append("s", in) })
		for _, r := range results[1:] {
			e.wantSame("the same batch from many writers at once: what one got, against another", r, results[0])
		}
		want = append(want, results[0]...)
	}
	e.wantSame("the history", handles[1].history("s"), want)
	if s := handles[0].get("s"); s.LastSeq != int64(len(want)) || s.MessageCount != s.LastSeq {
		e.Errorf("the session\n  got:  LastSeq %d, MessageCount %d\n  want: %d", s.LastSeq, s.MessageCount, len(want))
	}
}

// repeatAfterFault is field report S15 from the caller's side: an append that failed
// before or after its commit is repeated until it succeeds.
func repeatAfterFault(e *env) {
	plain := e.client()
	plain.create(sessionstore.Session{ID: "s"})
	for i, fault := range []Fault{FailBefore, FailAfter} {
		f := e.on(NewFaulty(plain.SessionStore, FailCall(1, fault)))
		in := sessionstore.Append{Messages: numbered(fmt.Sprint("f", i, "."), 2, true)}
		if _, err := f.AppendMessages(e.ctx, "s", in); err == nil || errors.Is(err, sessionstore.ErrInvalid) {
			e.Fatalf("AppendMessages through Faulty\n  got:  error %v\n  want: its own", err)
		}
		first := int64(2*i + 1)
		e.wantSeqs("the repeated append", f.append("s", in), first, first+1)
	}
	e.wantSeqs("the history after two failed and repeated appends", plain.history("s"), 1, 2, 3, 4)
}
