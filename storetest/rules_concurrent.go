package storetest

import (
	"fmt"
	"strings"
	"time"

	"github.com/sessionstore/sessionstore"
)

var appendConcurrentCases = []kase{
	{"many writers over two handles", concurrentWriters},
	{"a recorded history is linearizable", historyCase},
	{"a read that starts after an append returned sees it", concurrentReads},
	{"many sessions at once", concurrentSessions},
	{"handles opened at the same time", concurrentOpen},
	{"writers in other processes", concurrentProcesses},
	{"connections that break under writers", concurrentBreak},
}

// concurrentWriters is field report S10: read-modify-write loses messages.
func concurrentWriters(e *env) {
	handles := []client{e.client(), e.client()}
	handles[0].create(sessionstore.Session{ID: "s"})
	const writers, calls = 8, 100
	e.together(writers, func(i int) {
		for n := range calls {
			texts := []string{fmt.Sprint("w", i, " ", n)}
			if n%10 == 9 {
				texts = append(texts, texts[0]+" b", texts[0]+" c")
			}
			got := handles[i%2].say("s", texts...)
			for j, m := range got {
				if m.Seq != got[0].Seq+int64(j) || m.Content.String() != texts[j] {
					e.Fatalf("AppendMessages of a batch, other writers at work\n  got:  %s\n  want: the texts %s with Seqs in a row", show(got), show(texts))
				}
			}
		}
	})
	const total = writers * (calls + 2*calls/10)
	checkWriters(e, handles[1], "s", total, writers)
}

// checkWriters checks that nothing of what writers "w0 …", "w1 …" wrote is lost, twice
// there or out of its writer's order. Texts are "w<writer> <call>[ <part>]".
func checkWriters(e *env, c client, id string, total, writers int) {
	msgs := c.history(id)
	s := c.get(id)
	if len(msgs) != total || s.LastSeq != int64(total) || s.MessageCount != int64(total) {
		e.Errorf("%d messages by %d concurrent writers\n  got:  %d messages, LastSeq %d, MessageCount %d\n  want: none lost, none twice", total, writers, len(msgs), s.LastSeq, s.MessageCount)
	}
	seen, last := map[string]int64{}, map[string]int{}
	for i, m := range msgs {
		text := m.Content.String()
		if m.Seq != int64(i+1) {
			e.Fatalf("messages by concurrent writers\n  got:  Seq %d at place %d\n  want: no gap and no Seq twice", m.Seq, i+1)
		}
		if at, ok := seen[text]; ok {
			e.Fatalf("messages by concurrent writers\n  got:  %q at Seq %d and %d\n  want: once", text, at, m.Seq)
		}
		seen[text] = m.Seq
		writer, call, _ := strings.Cut(text, " ")
		var n int
		if _, err := fmt.Sscan(call, &n); err != nil {
			e.Fatalf("messages by concurrent writers\n  got:  the text %q\n  want: one that was written", text)
		}
		if n < last[writer] {
			e.Fatalf("messages by concurrent writers\n  got:  %q after that writer's call %d\n  want: each writer's calls in order", text, last[writer])
		}
		last[writer] = n
	}
}

func concurrentReads(e *env) {
	handles := []client{e.client(), e.client()}
	handles[0].create(sessionstore.Session{ID: "s"})
	const writers, calls = 6, 25
	e.together(writers, func(i int) {
		w, r := handles[i%2], handles[(i+1)%2]
		for n := range calls {
			got := w.say("s", fmt.Sprint("w", i, " ", n))[0]
			p := r.messages("s", sessionstore.MessageQuery{AfterSeq: got.Seq - 1, Limit: 1})
			e.wantSame("ListMessages by another handle, right after AppendMessages returned this message", p.Messages, []sessionstore.Message{got})
			if p.Session.LastSeq < got.Seq {
				e.Errorf("the Session of that page\n  got:  LastSeq %d\n  want: at least %d", p.Session.LastSeq, got.Seq)
			}
			if p := r.messages("s", sessionstore.MessageQuery{}); int64(len(p.Messages)) < got.Seq {
				e.Errorf("ListMessages of all by another handle, right after AppendMessages returned Seq %d\n  got:  %d messages\n  want: at least that", got.Seq, len(p.Messages))
			}
			if s := r.get("s"); s.LastSeq < got.Seq || s.MessageCount < got.Seq {
				e.Errorf("GetSession by another handle, right after AppendMessages returned Seq %d\n  got:  LastSeq %d, MessageCount %d\n  want: at least that", got.Seq, s.LastSeq, s.MessageCount)
			}
		}
	})
}

func concurrentSessions(e *env) {
	handles := []client{e.client(), e.client()}
	const sessions, calls = 12, 25
	for i := range sessions {
		handles[i%2].create(sessionstore.Session{ID: fmt.Sprint("s", i), UserID: "u"})
	}
	e.together(sessions*2, func(i int) {
		id := fmt.Sprint("s", i%sessions)
		for n := range calls {
			handles[i/sessions].say(id, fmt.Sprint("w", i, " ", n))
		}
	})
	for i := range sessions {
		checkWriters(e, handles[i%2], fmt.Sprint("s", i), 2*calls, 2)
	}
}

// concurrentOpen opens the first handles on new data at the same time, as the instances of
// a service do that start together: each of them may have to prepare the data, none of
// them fails, and all of them see the same.
func concurrentOpen(e *env) {
	const openers = 8
	handles := make([]client, openers)
	e.together(openers, func(i int) {
		handles[i] = e.client()
		_, err := handles[i].CreateSession(e.ctx, sessionstore.Session{ID: "s"})
		if err != nil {
			e.wantErr(err, sessionstore.ErrSessionExists, "CreateSession by one of several handles opened at once", "s")
		}
		handles[i].create(sessionstore.Session{ID: fmt.Sprint("s", i)})
		for n := range 5 {
			handles[i].say("s", fmt.Sprint("w", i, " ", n))
		}
	})
	for _, h := range handles {
		checkWriters(e, h, "s", openers*5, openers)
		e.wantSame("the number of sessions, by each handle", len(h.walk(sessionstore.SessionQuery{})), openers+1)
	}
}

// concurrentProcesses lets two other processes write to one session, with this one.
func concurrentProcesses(e *env) {
	if e.backend.Child == nil {
		e.notExercised("Backend.Child is nil")
		return
	}
	c := e.client()
	c.create(sessionstore.Session{ID: "s"})
	const processes, writers, calls = 2, 4, 50
	var children []*child
	for p := range processes {
		children = append(children, e.startChild(childTask{Session: "s", First: (p + 1) * writers, Writers: writers, Calls: calls}))
	}
	for _, ch := range children {
		ch.start()
	}
	e.together(writers, func(i int) {
		for n := range calls {
			c.say("s", fmt.Sprint("w", i, " ", n))
		}
	})
	for _, ch := range children {
		if acked, err := ch.wait(); err != nil || len(acked) != writers*calls {
			e.Fatalf("a child process with %d writers of %d messages\n  got:  %d acknowledged, error %v\n%s", writers, calls, len(acked), err, ch.output())
		}
	}
	checkWriters(e, c, "s", (processes+1)*writers*calls, (processes+1)*writers)
}

// concurrentBreak breaks connections while writers retry what failed under the ids that
// it has: nothing is lost and nothing is there twice.
func concurrentBreak(e *env) {
	if e.backend.Break == nil {
		e.notExercised("Backend.Break is nil")
		return
	}
	handles := []client{e.client(), e.client()}
	handles[0].create(sessionstore.Session{ID: "s"})
	const writers, calls, breaks = 4, 40, 8
	e.together(writers+1, func(i int) {
		if i == writers {
			for n := range breaks {
				e.backend.Break(e.TB, handles[n%2].SessionStore)
				// Some calls come between two breaks, however fast or slow the store is.
				handles[(n+1)%2].GetSession(e.ctx, "s")
			}
			return
		}
		for n := range calls {
			m := sessionstore.UserMessage(fmt.Sprint("w", i, " ", n))
			m.ID = m.Content.String()
			handles[i%2].appendUntilOK("s", sessionstore.Append{Messages: []sessionstore.Message{m}})
		}
	})
	for _, h := range handles {
		h.settle()
	}
	checkWriters(e, handles[1], "s", writers*calls, writers)
}

// appendUntilOK repeats an append, whose messages have ids, until the store has
// recovered from a connection that broke.
func (c client) appendUntilOK(id string, a sessionstore.Append) (out []sessionstore.Message) {
	c.untilOK("AppendMessages", func() (err error) {
		out, err = c.AppendMessages(c.ctx, id, a)
		return err
	})
	return out
}

// settle calls the store until it has recovered from a connection that broke.
func (c client) settle() {
	c.untilOK("ListSessions", func() error {
		_, err := c.ListSessions(c.ctx, sessionstore.SessionQuery{})
		return err
	})
}

func (c client) untilOK(method string, call func() error) {
	const tries = 100
	var err error
	for n := range tries {
		if err = call(); err == nil {
			return
		}
		wait := time.NewTimer(time.Duration(n) * time.Millisecond) // it may have to reconnect
		select {
		case <-wait.C:
		case <-c.ctx.Done():
		}
	}
	c.e.Fatalf("%s, repeated %d times after the connection broke\n  got:  error %v\n  want: success at last", method, tries, err)
}
