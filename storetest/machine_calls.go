package storetest

import (
	"errors"
	"fmt"
	"time"

	"github.com/sessionstore/sessionstore"
	"pgregory.net/rapid"
)

// The calls that the machine draws: each is made on the store and on the model.

func (mc *machine) create(t *rapid.T) {
	by, s := mc.actor(t), sessionstore.Session{
		ID: pick(t, "id", append(modelIDs[:len(modelIDs):len(modelIDs)], "")), AgentName: pick(t, "agent", []string{"", "g"}), UserID: pick(t, "user", modelUsers),
		Status: pick(t, "status", []sessionstore.Status{"", "", "", sessionstore.StatusActive, sessionstore.StatusPaused, sessionstore.StatusClosed}),
		System: pick(t, "system", modelTexts), Metadata: mc.metadata(t), TTL: mc.ttl(t),
	}
	if rarely(t, "with parent", 4) {
		s.ParentID = pick(t, "parent", append([]string{""}, modelIDs...))
		s.ForkSeq = rapid.Int64Range(-1, 2).Draw(t, "fork seq")
	}
	got, err := by.store.CreateSession(mc.e.ctx, s)
	call := by.name + "." + called("CreateSession", s)
	if err == nil && s.ID == "" {
		if got.ID == "" || mc.m.taken(got.ID) {
			t.Fatalf("%s\n  got:  id %q\n  want: a new one", call, got.ID)
		}
		s.ID = got.ID
	}
	h, want := mc.m.create(by.user, s)
	if mc.check(t, call, err, want) {
		same(t, call, got, h.s)
	}
	mc.look(t, s.ID)
}

func (mc *machine) metadata(t *rapid.T) sessionstore.Metadata {
	n := rapid.IntRange(0, 2).Draw(t, "keys")
	if n == 0 {
		return nil
	}
	out := sessionstore.Metadata{}
	for range n {
		out[pick(t, "key", modelKeys)] = pick(t, "value", modelVals)
	}
	return out
}

func (mc *machine) ttl(t *rapid.T) time.Duration {
	return pick(t, "ttl", []time.Duration{0, 0, 0, time.Minute, time.Hour, 1500 * time.Microsecond, -time.Second})
}

func (mc *machine) update(t *rapid.T) {
	by, id := mc.actor(t), mc.id(t)
	u := sessionstore.SessionUpdate{SetMetadata: mc.metadata(t), Touch: rarely(t, "touch", 4)}
	if rarely(t, "if version", 3) {
		u.IfVersion = rapid.Int64Range(1, 4).Draw(t, "version")
	}
	if rarely(t, "set status", 2) {
		u.Status = ptr(pick(t, "status", []sessionstore.Status{sessionstore.StatusActive, sessionstore.StatusPaused, sessionstore.StatusActive, sessionstore.StatusClosed}))
	}
	if rarely(t, "set agent", 4) {
		u.AgentName = ptr(pick(t, "agent", []string{"", "g", "h"}))
	}
	if rarely(t, "set system", 4) {
		u.System = ptr(pick(t, "system", modelTexts))
	}
	if rarely(t, "set ttl", 4) {
		u.TTL = ptr(mc.ttl(t))
	}
	if rarely(t, "delete key", 3) {
		u.DeleteMetadata = []string{pick(t, "key", modelKeys)}
	}
	if rarely(t, "nothing", 6) {
		u = sessionstore.SessionUpdate{}
	}
	got, err := by.store.UpdateSession(mc.e.ctx, id, u)
	h, want := mc.m.update(by.user, id, u)
	call := by.name + "." + called("UpdateSession", id, u)
	if mc.check(t, call, err, want) {
		same(t, call, got, h.s)
	}
	mc.look(t, id)
}

func (mc *machine) get(t *rapid.T) {
	by, id := mc.actor(t), mc.id(t)
	got, err := by.store.GetSession(mc.e.ctx, id)
	h, want := mc.m.find(by.user, id)
	call := by.name + "." + called("GetSession", id)
	if mc.check(t, call, err, want) {
		same(t, call, got, h.s)
	}
}

func (mc *machine) delete(t *rapid.T) {
	by, id := mc.actor(t), mc.id(t)
	err := by.store.DeleteSession(mc.e.ctx, id)
	mc.check(t, by.name+"."+called("DeleteSession", id), err, mc.m.remove(by.user, id))
	mc.look(t, id)
}

// message draws one of few ids, whose content is mostly the same each time, so that
// repeats of all kinds come about.
func (mc *machine) message(t *rapid.T) sessionstore.Message {
	n := rapid.IntRange(0, 11).Draw(t, "message")
	m := sessionstore.UserMessage(modelTexts[n%len(modelTexts)])
	if n > 0 {
		m.ID = fmt.Sprint("m", n)
	}
	if n%3 == 1 {
		m = sessionstore.AssistantMessage("", sessionstore.ToolCall{ID: "c", Name: "f", Arguments: `{"b":1, "a":1.0}`})
		m.ID, m.Metadata = fmt.Sprint("m", n), sessionstore.Metadata{"a.b": int64(1)}
	}
	if rarely(t, "other content", 8) {
		m.Content = sessionstore.Parts(sessionstore.TextPart("other"))
	}
	if rarely(t, "own time", 4) {
		m.CreatedAt = epoch.Add(-999 * time.Nanosecond).In(time.FixedZone("", 3600))
	}
	if rarely(t, "foreign", 30) {
		m.SessionID = "s"
	}
	return m
}

func (mc *machine) ifLastSeq(t *rapid.T, id string) *int64 {
	if !rarely(t, "if last seq", 3) {
		return nil
	}
	if h := mc.m.held[id]; h != nil && rapid.Bool().Draw(t, "right") {
		return ptr(h.s.LastSeq)
	}
	return ptr(rapid.Int64Range(0, 3).Draw(t, "last seq"))
}

func (mc *machine) append(t *rapid.T) {
	by, id := mc.actor(t), mc.id(t)
	a := sessionstore.Append{IfLastSeq: mc.ifLastSeq(t, id)}
	for range pick(t, "messages", []int{1, 2, 3, 4, 0}) {
		a.Messages = append(a.Messages, mc.message(t))
	}
	got, err := by.store.AppendMessages(mc.e.ctx, id, a)
	call := by.name + "." + called("AppendMessages", id, a)
	// The model takes over the ids that the store has made, and makes them where it made none.
	given := a
	given.Messages = append([]sessionstore.Message(nil), a.Messages...)
	for i := range given.Messages {
		if given.Messages[i].ID == "" {
			given.Messages[i].ID = "made up " + freshHex()
			if err == nil && i < len(got) {
				given.Messages[i].ID = got[i].ID
			}
		}
	}
	out, want := mc.m.append(by.user, id, given)
	if mc.check(t, call, err, want) {
		same(t, call, got, out)
	}
	mc.look(t, id)
}

func (mc *machine) truncate(t *rapid.T) {
	by, id := mc.actor(t), mc.id(t)
	tr := sessionstore.Truncate{ThroughSeq: pick(t, "through", []int64{0, 1, 2, 3, 4, 6, -1}), IfLastSeq: mc.ifLastSeq(t, id)}
	got, err := by.store.TruncateMessages(mc.e.ctx, id, tr)
	h, want := mc.m.truncate(by.user, id, tr)
	call := by.name + "." + called("TruncateMessages", id, tr)
	if mc.check(t, call, err, want) {
		same(t, call, got, h.s)
	}
	mc.look(t, id)
}

func (mc *machine) messages(t *rapid.T) {
	by, id := mc.actor(t), mc.id(t)
	q := sessionstore.MessageQuery{
		AfterSeq: pick(t, "after", []int64{0, 0, 0, 1, 2, 3, 6, -1}), BeforeSeq: pick(t, "before", []int64{0, 0, 0, 1, 3, 4, 6, -1}),
		Limit: pick(t, "limit", []int{0, 1, 2, 3, 1000, 1001}), Newest: rapid.Bool().Draw(t, "newest"),
	}
	got, err := by.store.ListMessages(mc.e.ctx, id, q)
	page, want := mc.m.messages(by.user, id, q)
	call := by.name + "." + called("ListMessages", id, q)
	if mc.check(t, call, err, want) {
		same(t, call, got, page)
	}
}

func (mc *machine) list(t *rapid.T) {
	q := sessionstore.SessionQuery{
		UserID: pick(t, "user", append([]string{"", ""}, modelUsers...)), AgentName: pick(t, "agent", []string{"", "", "g"}),
		ParentID: pick(t, "parent", append([]string{"", "", "", ""}, modelIDs...)),
		Limit:    pick(t, "limit", []int{0, 1, 2, 1000}),
	}
	if rarely(t, "by status", 3) {
		q.Statuses = []sessionstore.Status{sessionstore.StatusPaused, sessionstore.StatusClosed}
	}
	mc.walk(t, mc.actor(t), q)
}

// walk follows a list to its end and compares it as one.
func (mc *machine) walk(t *rapid.T, by actor, q sessionstore.SessionQuery) {
	call := by.name + "." + called("ListSessions", q)
	t.Logf("%s", call)
	all, first := []sessionstore.Session{}, q
	seen := map[string]bool{}
	for {
		page, err := by.store.ListSessions(mc.e.ctx, q)
		if err != nil {
			t.Fatalf("%s\n  got:  %v\n  want: no error", by.name+"."+called("ListSessions", q), err)
		}
		if page.Sessions == nil || q.Limit > 0 && len(page.Sessions) > q.Limit {
			t.Fatalf("%s\n  got:  %s\n  want: at most %d, not nil", call, show(page), q.Limit)
		}
		all = append(all, page.Sessions...)
		if page.Next == "" {
			break
		}
		if seen[page.Next] {
			t.Fatalf("%s\n  got:  Next %q twice in a walk\n  want: a walk that goes on", call, page.Next)
		}
		seen[page.Next] = true
		q.Cursor = page.Next
	}
	same(t, call+" and the pages after it", all, mc.m.list(by.user, first))
}

func (mc *machine) fork(t *rapid.T) {
	by, id := mc.actor(t), mc.id(t)
	f := sessionstore.Fork{ID: pick(t, "child", modelIDs), Metadata: mc.metadata(t)}
	if by.user == "" && rarely(t, "other user", 3) {
		f.UserID = ptr(pick(t, "user", modelUsers))
	}
	if rarely(t, "at", 2) {
		f.AtSeq = ptr(pick(t, "at seq", []int64{0, 1, 2, 3, 4, 6, -1}))
		if h := mc.m.held[id]; h != nil && *f.AtSeq > h.s.LastSeq && mc.m.taken(f.ID) {
			f.AtSeq = nil // wrong in two ways: which is said is nobody's business
		}
	}
	got, err := sessionstore.ForkSession(mc.e.ctx, by.store, id, f)
	call := by.name + "." + called("ForkSession", id, f)
	if errors.Is(err, errors.ErrUnsupported) {
		t.Logf("%s: %v", call, err)
		return
	}
	h, want := mc.m.fork(by.user, id, f)
	if mc.check(t, call, err, want) {
		same(t, call, got, h.s)
	}
	mc.look(t, id)
	mc.look(t, f.ID)
}

// restore keeps a copy of a session, or brings one back under some id.
func (mc *machine) restore(t *rapid.T) {
	if h, err := mc.m.find("", mc.id(t)); err == nil && len(mc.kept) < 2 {
		mc.kept = append(mc.kept, h.snapshot())
		return
	}
	by := mc.actor(t)
	if _, ok := mc.actors[0].store.(sessionstore.Restorer); !ok || len(mc.kept) == 0 {
		return // the fallback renumbers, behind a view too: it is the rule restore that judges it
	}
	h := mc.kept[rapid.IntRange(0, len(mc.kept)-1).Draw(t, "kept")].snapshot()
	h.s.ID = pick(t, "as", modelIDs)
	for i := range h.msgs {
		h.msgs[i].SessionID = h.s.ID
	}
	if h.expired(mc.m.now()) && mc.m.taken(h.s.ID) || by.user != "" && by.user != h.s.UserID {
		return
	}
	got, err := sessionstore.RestoreSession(mc.e.ctx, by.store, h.s, func(yield func(sessionstore.Message, error) bool) {
		for _, m := range h.msgs {
			if !yield(m, nil) {
				return
			}
		}
	})
	call := by.name + "." + called("RestoreSession", h.s, h.msgs)
	if errors.Is(err, errors.ErrUnsupported) {
		t.Logf("%s: %v", call, err)
		return
	}
	out, want := mc.m.restore(by.user, h)
	if mc.check(t, call, err, want) {
		same(t, call, got, out.s)
	}
	mc.look(t, h.s.ID)
}

func (mc *machine) purge(t *rapid.T) {
	by, limit := mc.actor(t), rapid.IntRange(0, 2).Draw(t, "limit")
	if by.user != "" {
		return // a view has no purge
	}
	n, err := sessionstore.PurgeExpired(mc.e.ctx, by.store, limit)
	if errors.Is(err, errors.ErrUnsupported) {
		return
	}
	call := by.name + "." + called("PurgeExpired", limit)
	mc.check(t, call, err, nil)
	// What a store has removed by the way before, it does not find any more.
	if most := mc.m.expiredCount(); n < 0 || n > most || limit > 0 && n > limit {
		t.Fatalf("%s\n  got:  %d\n  want: at most %d, and no more than the limit", call, n, most)
	}
}

// time moves the clock, now and then back, but never to before a session's expiry.
func (mc *machine) time(t *rapid.T) {
	step := pick(t, "step", []time.Duration{time.Nanosecond, time.Microsecond, 1500 * time.Microsecond, time.Second, time.Minute, time.Hour, -time.Second, -time.Hour})
	to := mc.e.clock.Now().Add(step)
	if step < 0 && to.Before(mc.m.latestExpiry()) {
		return
	}
	mc.e.clock.Set(to)
	t.Logf("the clock is set to %v", to)
}
