package storetest

import (
	"fmt"
	"strings"

	"github.com/sessionstore/sessionstore"
)

// What a list costs is for Bench to say. These cases find a cost that is wrong by
// magnitudes: a list that reads the messages, or every session there is.
var listCostCases = []kase{
	{"a page holds no more than its limit, whatever is filtered", costBounded},
	{"media in the messages do not burden the list", costMedia},
	{"a page of few is not slower by magnitudes among many", costCollection},
}

func costBounded(e *env) {
	c := e.client()
	const n = 60
	e.together(6, func(i int) {
		for j := i; j < n; j += 6 {
			c.create(sessionstore.Session{ID: fmt.Sprint("s", j), UserID: "u", ParentID: "p", AgentName: fmt.Sprint("a", j%2), Status: statuses[j%3]})
		}
	})
	for _, limit := range []int{1, 2, 7, 59} {
		for _, q := range []sessionstore.SessionQuery{
			{}, {UserID: "u"}, {ParentID: "p"}, {AgentName: "a1"}, {Statuses: statuses[:2]}, {UserID: "u", AgentName: "a0", Statuses: statuses[1:]},
		} {
			q.Limit = limit
			for pages := 0; ; pages++ {
				p := c.list(q)
				if len(p.Sessions) > limit {
					e.Errorf("%s of %d sessions\n  got:  %d sessions\n  want: at most %d", called("ListSessions", q), n, len(p.Sessions), limit)
				}
				if p.Next == "" {
					break
				}
				if pages > 10*n {
					e.Fatalf("%s and its next pages, of %d sessions\n  got:  more than %d pages\n  want: an end", called("ListSessions", q), n, pages)
				}
				q.Cursor = p.Next
			}
		}
	}
}

// costMedia is field report C38: sessions of megabytes that make lists slow.
func costMedia(e *env) {
	c := e.client()
	image := sessionstore.ImagePart("data:image/png;base64," + strings.Repeat("iVBORw0K", 5<<20/8))
	for i := range 6 {
		c.create(sessionstore.Session{ID: fmt.Sprint("small", i), UserID: "small"})
		c.say(fmt.Sprint("small", i), "x")
		id := fmt.Sprint("media", i)
		c.create(sessionstore.Session{ID: id, UserID: "media"})
		c.append(id, sessionstore.Append{Messages: []sessionstore.Message{{Role: sessionstore.RoleUser, Content: sessionstore.Parts(image)}}})
	}
	e.wantMagnitude(
		"ListSessions of 6 sessions with a word each", func() { c.list(sessionstore.SessionQuery{UserID: "small"}) },
		"of 6 with an image of 5 MiB each", func() { c.list(sessionstore.SessionQuery{UserID: "media"}) },
	)
	e.wantMagnitude(
		"GetSession of a session with a word", func() { c.get("small0") },
		"of one with an image of 5 MiB", func() { c.get("media0") },
	)
}

func costCollection(e *env) {
	few, many := e.on(e.openIn(e.namespace+" few")), e.client()
	for i := range 5 {
		mine := sessionstore.Session{ID: fmt.Sprint("mine", i), UserID: "me", ParentID: "p", AgentName: "rare"}
		few.create(mine)
		many.create(mine)
	}
	const n = 1000
	system := strings.Repeat("instructions ", 50)
	e.together(16, func(i int) {
		for j := i; j < n; j += 16 {
			many.create(sessionstore.Session{ID: fmt.Sprint("other", j), UserID: fmt.Sprint("u", j%7), System: system})
		}
	})
	for _, q := range []sessionstore.SessionQuery{{UserID: "me"}, {ParentID: "p"}, {Limit: 5}} {
		e.wantMagnitude(
			called("ListSessions", q)+" among 5 sessions", func() { few.list(q) },
			fmt.Sprintf("among %d", n+5), func() { many.list(q) },
		)
	}
	// They come last: bounded work a call is no end of the walk.
	rare := sessionstore.SessionQuery{AgentName: "rare", Limit: 5}
	e.wantIDs(fmt.Sprintf("%s and its next pages, the matches behind %d others", called("ListSessions", rare), n), many.walk(rare),
		"mine4", "mine3", "mine2", "mine1", "mine0")
}
