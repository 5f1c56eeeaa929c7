package storetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/sessionstore/sessionstore"
)

var limitsCases = []kase{
	{"1,000 messages a call", limitsCount},
	{"8 MiB of messages a call", limitsBytes},
	{"1 MiB of a session's own state", limitsState},
	{"20,000 messages in a session", limitsLong},
}

// wantLimit reports unless err is a *LimitError with that limit.
func (e *env) wantLimit(err error, limit int64, method string, args ...any) {
	e.wantErr(err, sessionstore.ErrTooLarge, method, args...)
	var le *sessionstore.LimitError
	if errors.Is(err, sessionstore.ErrTooLarge) && (!errors.As(err, &le) || le.Limit != limit || le.Got <= limit || le.What == "") {
		e.Errorf("%s\n  got:  %#v in %v\n  want: a *LimitError with Limit %d, a Got above it, and What", called(method, args...), le, err, limit)
	}
}

func limitsCount(e *env) {
	c := e.client()
	c.create(sessionstore.Session{ID: "s"})
	c.say("s", "before")
	before := c.state("s")
	a := sessionstore.Append{Messages: numbered("m", sessionstore.MaxAppendMessages+1, true)}
	_, err := c.AppendMessages(e.ctx, "s", a)
	e.wantLimit(err, sessionstore.MaxAppendMessages, fmt.Sprintf("AppendMessages of %d messages", len(a.Messages)), "s")
	c.wantState("a refused append", "s", before)
	a.Messages = a.Messages[:sessionstore.MaxAppendMessages]
	if got := c.append("s", a); len(got) != len(a.Messages) || got[len(got)-1].Seq != int64(len(got)+1) {
		e.Errorf("AppendMessages of %d messages\n  got:  %d messages\n  want: all, with Seqs from 2", len(a.Messages), len(got))
	}
	if got := c.append("s", a); len(got) != len(a.Messages) {
		e.Errorf("AppendMessages of %d messages, a repeat\n  got:  %d messages", len(a.Messages), len(got))
	}
	e.wantSame("the number of messages", c.get("s").MessageCount, int64(sessionstore.MaxAppendMessages+1))
}

// limitsBytes is field reports S29 and C38: a message that the database cannot hold, and
// media inlined in every message.
func limitsBytes(e *env) {
	c := e.client()
	c.create(sessionstore.Session{ID: "s"})
	c.say("s", "before")
	// size is what the rule counts: the summed AppendJSON length as prepared.
	size := func(a sessionstore.Append) int {
		p, err := a.Prepare("s")
		e.wantOK(err, "Append.Prepare", "s")
		n := 0
		for _, m := range p.Messages {
			b, err := m.AppendJSON(nil)
			e.wantOK(err, "Message.AppendJSON")
			n += len(b)
		}
		return n
	}
	// fill makes a batch of n messages whose size is exactly that: its last text grows.
	fill := func(n, bytes int, char string) sessionstore.Append {
		a := sessionstore.Append{Messages: numbered("0123456789", n, true)}
		last := &a.Messages[n-1]
		last.ID = "last " + freshHex()
		for i := range a.Messages[:n-1] {
			a.Messages[i].ID = fmt.Sprint(freshHex(), i)
			a.Messages[i].Content = sessionstore.Text(strings.Repeat("x", bytes/2/n))
		}
		last.Content = sessionstore.Text("")
		missing := bytes - size(a)
		unit := size(sessionstore.Append{Messages: []sessionstore.Message{{Role: sessionstore.RoleUser, ID: "i", Content: sessionstore.Text(char)}}}) -
			size(sessionstore.Append{Messages: []sessionstore.Message{{Role: sessionstore.RoleUser, ID: "i", Content: sessionstore.Text("")}}})
		last.Content = sessionstore.Text(strings.Repeat(char, missing/unit) + strings.Repeat("x", missing%unit))
		return a
	}
	for _, t := range []struct {
		n    int
		char string
	}{{1, "x"}, {3, "x"}, {1, "\""}, {1, "\x01"}, {1, "é"}} {
		before := c.state("s")
		over := fill(t.n, sessionstore.MaxAppendBytes+1, t.char)
		_, err := c.AppendMessages(e.ctx, "s", over)
		e.wantLimit(err, sessionstore.MaxAppendBytes, fmt.Sprintf("AppendMessages of %d messages of %q, one byte above 8 MiB as JSON", t.n, t.char), "s")
		c.wantState("a refused append", "s", before)
		full := fill(t.n, sessionstore.MaxAppendBytes, t.char)
		got := c.append("s", full)
		p := c.messages("s", sessionstore.MessageQuery{AfterSeq: before.Session.LastSeq})
		e.wantSame(fmt.Sprintf("the history after a batch of exactly 8 MiB of %q", t.char), p.Messages, got)
		c.truncate("s", sessionstore.Truncate{ThroughSeq: 1})
	}
	huge := sessionstore.UserMessage(strings.Repeat("x", 17<<20))
	_, err := c.AppendMessages(e.ctx, "s", sessionstore.Append{Messages: []sessionstore.Message{huge}})
	e.wantLimit(err, sessionstore.MaxAppendBytes, "AppendMessages of a message of 17 MiB", "s")
	e.wantSame("the text of an append after those refused", c.say("s", "still usable")[0].Content.String(), "still usable")
}

func limitsState(e *env) {
	c := e.client()
	const most = sessionstore.MaxStateBytes
	half := strings.Repeat("x", most/2+1)
	for name, in := range map[string]sessionstore.Session{
		"system":              {ID: "over", System: strings.Repeat("x", most+1)},
		"metadata":            {ID: "over", Metadata: sessionstore.Metadata{"k": strings.Repeat("x", most)}},
		"extra":               {ID: "over", Extra: map[string]json.RawMessage{"k": json.RawMessage(`"` + strings.Repeat("x", most) + `"`)}},
		"system and metadata": {ID: "over", System: half, Metadata: sessionstore.Metadata{"k": half}},
		"metadata and extra":  {ID: "over", Metadata: sessionstore.Metadata{"k": half}, Extra: map[string]json.RawMessage{"k": json.RawMessage(`"` + half + `"`)}},
	} {
		_, err := c.CreateSession(e.ctx, in)
		e.wantLimit(err, most, "CreateSession with more than 1 MiB of "+name)
	}
	c.wantGone("refused creates", "over")

	// Nearly full is fine; an update that would pass the limit after the merge is not.
	large := strings.Repeat("x", most/3)
	in := sessionstore.Session{ID: "s", System: large, Metadata: sessionstore.Metadata{"a": large}}
	e.wantSame("CreateSession with 2/3 MiB", c.get(c.create(in).ID).Metadata["a"], any(large))
	c.say("s", "one")
	before := c.state("s")
	for name, u := range map[string]sessionstore.SessionUpdate{
		"another key":      {SetMetadata: sessionstore.Metadata{"b": large + "xx"}},
		"a larger system":  {System: ptr(large + large + "xx")},
		"too much at once": {SetMetadata: sessionstore.Metadata{"b": strings.Repeat("x", most)}},
	} {
		_, err := c.UpdateSession(e.ctx, "s", u)
		e.wantLimit(err, most, "UpdateSession of 2/3 MiB with "+name, "s")
	}
	c.wantState("refused updates", "s", before)
	// To replace or to remove makes room in the same update.
	c.update("s", sessionstore.SessionUpdate{SetMetadata: sessionstore.Metadata{"a": large + "yy"}})
	got := c.update("s", sessionstore.SessionUpdate{SetMetadata: sessionstore.Metadata{"b": large + "zz"}, DeleteMetadata: []string{"a"}})
	e.wantSame("GetSession after an update that replaced a third of a MiB by another", c.get("s"), got)
	e.wantSeqs("an append to it", c.say("s", "two"), 2)
}

// limitsLong is field report S29: all messages in one document, until it is full.
func limitsLong(e *env) {
	a, b := e.client(), e.client()
	a.create(sessionstore.Session{ID: "s"})
	const n, text = 20_000, "0123456789012345678901234567890123456789"
	batch := make([]sessionstore.Message, sessionstore.MaxAppendMessages)
	var first sessionstore.Message
	for i := range n / len(batch) {
		for j := range batch {
			batch[j] = sessionstore.UserMessage(fmt.Sprint(i*len(batch)+j+1, " ", text))
		}
		if i == 0 {
			batch[0].ID = "first"
			first = batch[0]
		}
		a.append("s", sessionstore.Append{Messages: batch})
	}
	if s := b.get("s"); s.LastSeq != n || s.MessageCount != n {
		e.Errorf("GetSession after %d messages\n  got:  LastSeq %d, MessageCount %d", n, s.LastSeq, s.MessageCount)
	}
	for i, m := range b.history("s") {
		if m.Seq != int64(i+1) || m.Content.String() != fmt.Sprint(i+1, " ", text) {
			e.Fatalf("the history of %d messages\n  got:  Seq %d, %q at place %d\n  want: all in order", n, m.Seq, m.Content.String(), i+1)
		}
	}
	e.wantSeqs("the newest 3", b.messages("s", sessionstore.MessageQuery{Newest: true, Limit: 3}).Messages, n-2, n-1, n)
	e.wantSeqs("3 in the middle", b.messages("s", sessionstore.MessageQuery{AfterSeq: n / 2, Limit: 3}).Messages, n/2+1, n/2+2, n/2+3)
	e.wantSeqs("one more", b.say("s", "more"), n+1)
	e.wantSeqs("a repeat of the very first", b.append("s", sessionstore.Append{Messages: []sessionstore.Message{first}}), 1)
	e.wantSame("MessageCount after it", a.get("s").MessageCount, int64(n+1))
	b.truncate("s", sessionstore.Truncate{ThroughSeq: n - 10_000})
	e.wantSame("MessageCount after 10,001 were truncated", a.get("s").MessageCount, int64(n-10_000))
	b.remove("s")
	a.wantGone("DeleteSession", "s")
}
