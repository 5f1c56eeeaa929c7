package storetest

import (
	"fmt"
	"math"
	"slices"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sessionstore/sessionstore"
)

var listOrderCases = []kase{
	{"newest first, ties by id descending", listNewestFirst},
	{"filters are combined with AND", listFilters},
	{"reflects every write that returned", listReflects},
	{"an empty list", func(e *env) {
		e.wantSame("ListSessions of an empty store, field report S43: nil is not empty",
			e.client().list(sessionstore.SessionQuery{}), sessionstore.SessionPage{Sessions: []sessionstore.Session{}})
	}},
	{"under concurrent writes", listConcurrent},
	{"a session that is written to is always there", listTouched},
}

// listNewestFirst is field report O02: the order of a list differs between databases.
func listNewestFirst(e *env) {
	a, b := e.client(), e.client()
	ids := []string{"a", "b", "B", "aa", "a b", "z", "é", "😀", "10", "9", "a\u200b", "~", "_", "%"}
	e.rng.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
	for _, id := range ids {
		a.create(sessionstore.Session{ID: id, UserID: "u"})
	}
	tied := slices.Clone(ids)
	slices.Sort(tied)
	slices.Reverse(tied)
	e.wantIDs("ListSessions of sessions with one UpdatedAt", b.walk(sessionstore.SessionQuery{}), tied...)

	// Move them, one by one, to the front, each by another kind of write.
	moved := slices.Clone(tied)
	e.rng.Shuffle(len(moved), func(i, j int) { moved[i], moved[j] = moved[j], moved[i] })
	writes := []func(id string){
		func(id string) { a.say(id, "hello") },
		func(id string) { a.update(id, sessionstore.SessionUpdate{System: ptr("x")}) },
		func(id string) { a.update(id, sessionstore.SessionUpdate{Touch: true}) },
		func(id string) { a.setStatus(id, sessionstore.StatusPaused) },
	}
	for i, id := range moved {
		e.clock.Advance(time.Duration(1+e.rng.IntN(3)) * time.Microsecond)
		writes[i%len(writes)](id)
	}
	slices.Reverse(moved)
	for _, q := range []sessionstore.SessionQuery{{}, {UserID: "u"}, {Limit: 3}, {UserID: "u", Limit: 1}} {
		e.wantIDs(called("ListSessions", q)+" and its next pages, after each session was written to", b.walk(q), moved...)
	}

	// A truncate that removes something moves, one that removes nothing does not.
	last := moved[len(moved)-1]
	b.say(last, "one", "two")
	e.clock.Advance(time.Hour)
	if s := b.get(last); s.Status == sessionstore.StatusActive {
		b.truncate(last, sessionstore.Truncate{})
		b.truncate(moved[0], sessionstore.Truncate{ThroughSeq: 99})
		e.wantIDs("ListSessions after a truncate", a.list(sessionstore.SessionQuery{Limit: 1}).Sessions, last)
	}
}

func listFilters(e *env) {
	c := e.client()
	users, agents, parents := []string{"", "u", "U", "u "}, []string{"", "a", "a*"}, []string{"", "p", "p2"}
	var all []sessionstore.Session
	for i := range 40 {
		if i%3 == 0 {
			e.clock.Advance(time.Millisecond)
		}
		s := sessionstore.Session{
			ID: fmt.Sprint("s", i), UserID: users[i%len(users)], AgentName: agents[(i/2)%len(agents)],
			ParentID: parents[(i/3)%len(parents)], Status: statuses[(i/5)%len(statuses)],
		}
		all = append(all, c.create(s))
	}
	sort.Slice(all, func(i, j int) bool { return all[i].Key().Compare(all[j].Key()) > 0 })
	sets := [][]sessionstore.Status{nil, {}, {sessionstore.StatusActive}, {sessionstore.StatusPaused, sessionstore.StatusClosed, sessionstore.StatusPaused}}
	for _, user := range []string{"", "u", "U", "u ", "nobody", "%"} {
		for _, agent := range []string{"", "a", "a*"} {
			for _, parent := range []string{"", "p", "nothing"} {
				for i, set := range sets {
					q := sessionstore.SessionQuery{UserID: user, AgentName: agent, ParentID: parent, Statuses: set, Limit: []int{0, 3}[i%2]}
					want := []string{}
					for _, s := range all {
						if (user == "" || s.UserID == user) && (agent == "" || s.AgentName == agent) &&
							(parent == "" || s.ParentID == parent) && (len(set) == 0 || slices.Contains(set, s.Status)) {
							want = append(want, s.ID)
						}
					}
					e.wantIDs(called("ListSessions", q)+" and its next pages", c.walk(q), want...)
				}
			}
		}
	}
	for _, q := range []sessionstore.SessionQuery{
		{UserID: "a\x00b"}, {AgentName: "\xff"}, {ParentID: strings.Repeat("x", 256)}, {Statuses: []sessionstore.Status{"archived"}},
	} {
		_, err := c.ListSessions(e.ctx, q)
		e.wantErr(err, sessionstore.ErrInvalid, "ListSessions", q)
	}
}

func listReflects(e *env) {
	a, b := e.client(), e.client()
	for _, id := range []string{"x", "y", "z"} {
		a.create(sessionstore.Session{ID: id, UserID: "u", AgentName: "agent", ParentID: "p"})
		e.clock.Advance(time.Second)
	}
	writes := []struct {
		name string
		do   func()
	}{
		{"an append", func() { a.say("x", "one", "two", "three") }},
		{"an update", func() {
			a.update("x", sessionstore.SessionUpdate{SetMetadata: sessionstore.Metadata{"k": strings.Repeat("v", 5000)}, AgentName: ptr("agent 2")})
		}},
		{"a status", func() { a.setStatus("x", sessionstore.StatusPaused) }},
		{"a status back", func() { a.setStatus("x", sessionstore.StatusActive) }},
		{"a truncate", func() { a.truncate("x", sessionstore.Truncate{ThroughSeq: 1}) }},
		{"a Touch", func() { a.update("x", sessionstore.SessionUpdate{Touch: true}) }},
	}
	for i, w := range writes {
		for _, id := range []string{"y", "z"} { // so that x is not at the front by itself
			e.clock.Advance(time.Second)
			a.update(id, sessionstore.SessionUpdate{Touch: true})
		}
		e.clock.Advance(time.Second)
		w.do()
		for _, q := range []sessionstore.SessionQuery{{}, {UserID: "u"}, {ParentID: "p"}} {
			got := b.walk(q)
			e.wantIDs(called("ListSessions", q)+" after "+w.name, got, "x", "z", "y")
			for _, s := range got {
				e.wantSame(fmt.Sprintf("%s after %s: the session %q, against GetSession", called("ListSessions", q), w.name, s.ID), s, b.get(s.ID))
			}
		}
		agent := sessionstore.SessionQuery{AgentName: "agent 2"}
		if i > 0 {
			e.wantIDs(called("ListSessions", agent)+" after "+w.name, b.walk(agent), "x")
		} else {
			e.wantIDs(called("ListSessions", agent)+" after "+w.name, b.walk(agent))
		}
	}
	a.remove("z")
	for _, q := range []sessionstore.SessionQuery{{}, {UserID: "u"}, {ParentID: "p"}, {AgentName: "agent"}} {
		want := []string{"x", "y"}
		if q.AgentName != "" {
			want = []string{"y"}
		}
		e.wantIDs(called("ListSessions", q)+" after a delete", b.walk(q), want...)
	}
}

// listConcurrent lets readers look while sessions are made, written to and deleted. What
// has been deleted never shows again, and no record is older than one that returned.
func listConcurrent(e *env) {
	handles := []client{e.client(), e.client()}
	const writers, rounds = 3, 12
	var mu sync.Mutex
	deleted, version := map[string]bool{}, map[string]int64{}
	running := writers
	e.together(writers+2, func(i int) {
		h := handles[i%2]
		if i < writers {
			defer func() { mu.Lock(); running--; mu.Unlock() }()
			for n := range rounds {
				id := fmt.Sprintf("w%d.%d", i, n)
				s := h.create(sessionstore.Session{ID: id, UserID: "u"})
				for range 3 {
					s = h.update(id, sessionstore.SessionUpdate{SetMetadata: sessionstore.Metadata{"v": s.Version}})
					mu.Lock()
					version[id] = s.Version
					mu.Unlock()
				}
				if n%2 == 0 {
					h.remove(id)
					mu.Lock()
					deleted[id] = true
					mu.Unlock()
				}
			}
			return
		}
		for {
			mu.Lock()
			gone, least, left := map[string]bool{}, map[string]int64{}, running
			for id := range deleted {
				gone[id] = true
			}
			for id, v := range version {
				least[id] = v
			}
			mu.Unlock()
			seen := map[string]bool{}
			for _, s := range h.walk(sessionstore.SessionQuery{UserID: "u", Limit: 7}) {
				if gone[s.ID] {
					e.Errorf("ListSessions under concurrent writes\n  got:  the session %q\n  want: it was deleted before the call", s.ID)
				}
				if s.Version < least[s.ID] {
					e.Errorf("ListSessions under concurrent writes: session %q\n  got:  Version %d\n  want: at least %d, which an update returned before the call", s.ID, s.Version, least[s.ID])
				}
				seen[s.ID] = true
			}
			if left == 0 {
				for id := range least {
					if !gone[id] && !seen[id] {
						e.Errorf("ListSessions after the writes\n  got:  no session %q\n  want: it is there", id)
					}
				}
				return
			}
			if e.Failed() {
				return
			}
		}
	})
}

// listTouched moves a few sessions to the front, over and over: a list that fits in one
// page shows each of them once, at its old place or at its new one, never at none.
func listTouched(e *env) {
	handles := []client{e.client(), e.client()}
	ids := []string{"a", "b", "c"}
	for _, id := range ids {
		handles[0].create(sessionstore.Session{ID: id, UserID: "u", ParentID: "p"})
	}
	var done atomic.Bool
	e.together(3, func(i int) {
		h := handles[i%2]
		if i == 0 {
			defer done.Store(true)
			for n := range 150 {
				e.clock.Advance(time.Microsecond)
				if n%2 == 0 {
					h.update(ids[n%len(ids)], sessionstore.SessionUpdate{Touch: true})
				} else {
					h.say(ids[n%len(ids)], "x")
				}
			}
			return
		}
		for n := 0; !done.Load() && !e.Failed(); n++ {
			q := []sessionstore.SessionQuery{{}, {UserID: "u"}, {ParentID: "p"}}[n%3]
			p := h.list(q)
			if p.Next != "" {
				continue // a walk promises less
			}
			got := make([]string, len(p.Sessions))
			for j, s := range p.Sessions {
				got[j] = s.ID
			}
			slices.Sort(got)
			if !slices.Equal(got, ids) {
				e.Errorf("%s while the sessions are touched\n  got:  the whole list is %s\n  want: each of %s once", called("ListSessions", q), show(got), show(ids))
			}
		}
	})
}

var listPageCases = []kase{
	{"limits", listLimits},
	{"a cursor that is none", listBadCursor},
	{"a walk under churn", listChurn},
	{"a walk through ties whose anchors go away", listAnchors},
	{"a filtered walk with sparse matches", listSparse},
}

// listLimits is field report S14: limits of 0, below 0 and beyond all differ.
func listLimits(e *env) {
	c := e.client()
	const n = sessionstore.DefaultSessions + 5
	e.together(8, func(i int) {
		for j := i; j < n; j += 8 {
			c.create(sessionstore.Session{ID: fmt.Sprintf("s%03d", j)})
		}
	})
	for _, t := range []struct{ limit, most int }{{0, sessionstore.DefaultSessions}, {1, 1}, {n - 1, n - 1}, {n, n}, {n + 1, n}, {sessionstore.MaxSessions, n}} {
		q := sessionstore.SessionQuery{Limit: t.limit}
		p := c.list(q)
		if got := len(p.Sessions); got > t.most {
			e.Errorf("%s of %d sessions\n  got:  %d sessions\n  want: at most %d", called("ListSessions", q), n, got, t.most)
		}
		if len(p.Sessions) < n && p.Next == "" {
			e.Errorf("%s of %d sessions\n  got:  %d sessions and Next \"\"\n  want: a Next, because there are more", called("ListSessions", q), n, len(p.Sessions))
		}
		if t.limit > 1 { // a walk in steps of one is another case's
			if got := len(c.walk(q)); got != n {
				e.Errorf("%s and its next pages, of %d sessions\n  got:  %d sessions", called("ListSessions", q), n, got)
			}
		}
	}
	for _, limit := range []int{-1, math.MinInt, sessionstore.MaxSessions + 1, math.MaxInt} {
		q := sessionstore.SessionQuery{Limit: limit}
		_, err := c.ListSessions(e.ctx, q)
		e.wantErr(err, sessionstore.ErrInvalid, "ListSessions", q)
	}
}

func listBadCursor(e *env) {
	c := e.client()
	c.create(sessionstore.Session{ID: "s"})
	for _, cursor := range []string{"x", "not a cursor", "%%%", "\x00", "\xff", "\n", strings.Repeat("A", 5000), "null", "0", `{"id":"s"}`, "' OR 1=1"} {
		for _, q := range []sessionstore.SessionQuery{{Cursor: cursor}, {Cursor: cursor, UserID: "u"}, {Cursor: cursor, ParentID: "p"}} {
			_, err := c.ListSessions(e.ctx, q)
			e.wantErr(err, sessionstore.ErrInvalid, "ListSessions", q)
		}
	}
}

// listChurn is field report O03: pages that skip or repeat rows under writes.
func listChurn(e *env) {
	a, b := e.client(), e.client()
	const stable, churn = 120, 40
	want := map[string]bool{}
	e.together(8, func(i int) {
		for j := i; j < stable; j += 8 {
			a.create(sessionstore.Session{ID: fmt.Sprintf("stable%03d", j), UserID: "u"})
		}
		for j := i; j < churn; j += 8 {
			a.create(sessionstore.Session{ID: fmt.Sprintf("churn%03d", j), UserID: "u"})
			a.create(sessionstore.Session{ID: fmt.Sprintf("t-doomed%03d", j), UserID: "u"})
		}
	})
	for j := range stable {
		want[fmt.Sprintf("stable%03d", j)] = true
	}
	for _, q := range []sessionstore.SessionQuery{{Limit: 17}, {Limit: 17, UserID: "u"}} {
		seen := map[string]int{}
		for page := 0; ; page++ {
			p := b.list(q)
			for _, s := range p.Sessions {
				seen[s.ID]++
			}
			if p.Next == "" {
				break
			}
			q.Cursor = p.Next
			// Between two pages: new ones, deleted ones, and others moved to the front.
			e.clock.Advance(time.Microsecond)
			a.create(sessionstore.Session{ID: fmt.Sprintf("new %s %d", q.UserID, page), UserID: "u"})
			a.say(fmt.Sprintf("churn%03d", page%churn), "moved")
			if id := fmt.Sprintf("t-doomed%03d", page+len(q.UserID)*20); page < 20 {
				a.remove(id)
			}
		}
		for id := range want {
			if seen[id] != 1 {
				e.Errorf("%s and its next pages under concurrent writes: the session %q, which did not change\n  got:  seen %d times\n  want: once", called("ListSessions", q), id, seen[id])
			}
		}
	}
}

// listAnchors deletes, between the pages, the very session that the cursor names.
func listAnchors(e *env) {
	a, b := e.client(), e.client()
	var want []string
	for i := range 30 {
		s := a.create(sessionstore.Session{ID: fmt.Sprintf("s%02d", i), ParentID: "p"})
		want = append(want, s.ID)
	}
	slices.Reverse(want)
	for _, q := range []sessionstore.SessionQuery{{Limit: 4}, {Limit: 1, ParentID: "p"}} {
		var got []string
		for {
			p := b.list(q)
			for _, s := range p.Sessions {
				got = append(got, s.ID)
			}
			if p.Next == "" {
				break
			}
			q.Cursor = p.Next
			if len(p.Sessions) > 0 {
				last := p.Sessions[len(p.Sessions)-1].ID
				if len(got)%3 == 0 {
					e.clock.Advance(time.Microsecond)
					a.say(last, "moved to the front")
				} else {
					a.remove(last)
				}
			}
		}
		if !slices.Equal(got, want) {
			e.Errorf("%s and its next pages, each page's last session deleted or moved before the next\n  got:  %s\n  want: %s", called("ListSessions", q), show(got), show(want))
		}
		// What was moved leads the second walk; what was deleted is in it no more.
		want = nil
		for _, s := range a.walk(sessionstore.SessionQuery{}) {
			want = append(want, s.ID)
		}
	}
}

// listSparse walks for what few sessions match: pages may be short or empty, the walk
// must come to its end all the same.
func listSparse(e *env) {
	c := e.client()
	const n = 150
	e.together(8, func(i int) {
		for j := i; j < n; j += 8 {
			s := sessionstore.Session{ID: fmt.Sprintf("s%03d", j), AgentName: "common"}
			if j%50 == 7 {
				s.AgentName, s.Status = "rare", sessionstore.StatusClosed
			}
			c.create(s)
		}
	})
	for _, q := range []sessionstore.SessionQuery{
		{AgentName: "rare", Limit: 1},
		{AgentName: "rare", Limit: 50},
		{Statuses: []sessionstore.Status{sessionstore.StatusClosed}, Limit: 2},
	} {
		e.wantIDs(called("ListSessions", q)+" and its next pages", c.walk(q), "s107", "s057", "s007")
	}
	q := sessionstore.SessionQuery{AgentName: "none", Limit: 10}
	e.wantIDs(called("ListSessions", q)+" and its next pages", c.walk(q))
}
