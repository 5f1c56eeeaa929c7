package storetest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/sessionstore/sessionstore"
)

// client calls a store for a case and ends the case when a call fails that must not.
// Its embedded store is there for calls whose error matters.
type client struct {
	sessionstore.SessionStore
	e   *env
	ctx context.Context
}

// on returns a client of s.
func (e *env) on(s sessionstore.SessionStore) client { return client{s, e, e.ctx} }

// client returns a client of a new handle on the case's data.
func (e *env) client() client { return e.on(e.open()) }

// called is how a failure shows a call.
func called(method string, args ...any) string {
	s := make([]string, len(args))
	for i, a := range args {
		s[i] = show(a)
	}
	return method + "(" + strings.Join(s, ", ") + ")"
}

// wantOK ends the case unless err is nil.
func (e *env) wantOK(err error, method string, args ...any) {
	if err != nil {
		e.Fatalf("%s\n  got:  error %v\n  want: no error", called(method, args...), err)
	}
}

// wantErr reports unless errors.Is finds want in err.
func (e *env) wantErr(err, want error, method string, args ...any) {
	switch {
	case err == nil:
		e.Errorf("%s\n  got:  no error\n  want: an error that errors.Is finds %q in", called(method, args...), want)
	case !errors.Is(err, want):
		e.Errorf("%s\n  got:  error %v\n  want: an error that errors.Is finds %q in", called(method, args...), err, want)
	case errors.Is(want, sessionstore.ErrInvalid):
		var ie *sessionstore.InvalidError
		if !errors.As(err, &ie) {
			e.Errorf("%s\n  got:  error %v\n  want: one that errors.As finds an *InvalidError in", called(method, args...), err)
		}
	}
}

// wantSame reports unless got and want are deeply equal, and says where they are not.
// What names the value: a call, or "X after Y".
func (e *env) wantSame(what string, got, want any) {
	if d := diff(got, want); d != "" {
		e.Errorf("%s\n  got:  %s\n  want: %s\n  differs: %s", what, show(got), show(want), d)
	}
}

// wantIDs reports unless the sessions have exactly these ids in this order.
func (e *env) wantIDs(what string, got []sessionstore.Session, want ...string) {
	ids := make([]string, len(got))
	for i, s := range got {
		ids[i] = s.ID
	}
	if !slices.Equal(ids, want) {
		e.Errorf("%s\n  got:  sessions %s\n  want: sessions %s%s", what, show(ids), show(want), miscounted(ids, want))
	}
}

// miscounted names what is too often or too seldom in got, such as an id that a walk
// showed twice: among many it is hard to see.
func miscounted(got, want []string) string {
	n := map[string]int{}
	for _, id := range got {
		n[id]++
	}
	for _, id := range want {
		n[id]--
	}
	var out strings.Builder
	for _, id := range slices.Sorted(maps.Keys(n)) {
		switch {
		case n[id] > 0 && slices.Contains(want, id):
			fmt.Fprintf(&out, "\n  twice: %s", show(id))
		case n[id] > 0:
			fmt.Fprintf(&out, "\n  extra: %s", show(id))
		case n[id] < 0:
			fmt.Fprintf(&out, "\n  missing: %s", show(id))
		}
		if out.Len() > 1000 {
			return out.String() + "\n  …"
		}
	}
	return out.String()
}

// wantSeqs reports unless the messages have exactly these Seqs in this order.
func (e *env) wantSeqs(what string, got []sessionstore.Message, want ...int64) {
	seqs := make([]int64, len(got))
	for i, m := range got {
		seqs[i] = m.Seq
	}
	if !slices.Equal(seqs, want) {
		e.Errorf("%s\n  got:  seqs %s\n  want: seqs %s", what, show(seqs), show(want))
	}
}

func (c client) create(s sessionstore.Session) sessionstore.Session {
	out, err := c.CreateSession(c.ctx, s)
	c.e.wantOK(err, "CreateSession", s)
	return out
}

func (c client) get(id string) sessionstore.Session {
	out, err := c.GetSession(c.ctx, id)
	c.e.wantOK(err, "GetSession", id)
	return out
}

func (c client) update(id string, u sessionstore.SessionUpdate) sessionstore.Session {
	out, err := c.UpdateSession(c.ctx, id, u)
	c.e.wantOK(err, "UpdateSession", id, u)
	return out
}

func (c client) setStatus(id string, st sessionstore.Status) sessionstore.Session {
	return c.update(id, sessionstore.SessionUpdate{Status: &st})
}

func (c client) remove(id string) {
	c.e.wantOK(c.DeleteSession(c.ctx, id), "DeleteSession", id)
}

func (c client) list(q sessionstore.SessionQuery) sessionstore.SessionPage {
	out, err := c.ListSessions(c.ctx, q)
	c.e.wantOK(err, "ListSessions", q)
	return out
}

// walk follows the cursors to the end. The number of pages is bounded only against a
// store whose walk does not end.
func (c client) walk(q sessionstore.SessionQuery) []sessionstore.Session {
	all := []sessionstore.Session{}
	seen := map[string]bool{}
	for {
		p := c.list(q)
		all = append(all, p.Sessions...)
		if p.Next == "" {
			return all
		}
		if seen[p.Next] {
			c.e.Fatalf("%s\n  got:  Next %q, which an earlier page had\n  want: a walk that goes on", called("ListSessions", q), p.Next)
		}
		seen[p.Next] = true
		q.Cursor = p.Next
	}
}

func (c client) append(id string, a sessionstore.Append) []sessionstore.Message {
	out, err := c.AppendMessages(c.ctx, id, a)
	c.e.wantOK(err, "AppendMessages", id, a)
	return out
}

// say appends one user message per text, in one call.
func (c client) say(id string, texts ...string) []sessionstore.Message {
	return c.append(id, sessionstore.Append{Messages: users(texts...)})
}

func (c client) messages(id string, q sessionstore.MessageQuery) sessionstore.MessagePage {
	out, err := c.ListMessages(c.ctx, id, q)
	c.e.wantOK(err, "ListMessages", id, q)
	return out
}

// history is the whole history, page by page.
func (c client) history(id string) []sessionstore.Message {
	all := []sessionstore.Message{}
	var q sessionstore.MessageQuery
	for {
		p := c.messages(id, q)
		all = append(all, p.Messages...)
		if !p.HasMore {
			return all
		}
		if len(p.Messages) == 0 {
			c.e.Fatalf("%s\n  got:  HasMore without a message\n  want: at least one message", called("ListMessages", id, q))
		}
		q.AfterSeq = p.Messages[len(p.Messages)-1].Seq
	}
}

func (c client) truncate(id string, t sessionstore.Truncate) sessionstore.Session {
	out, err := c.TruncateMessages(c.ctx, id, t)
	c.e.wantOK(err, "TruncateMessages", id, t)
	return out
}

func (c client) fork(id string, f sessionstore.Fork) sessionstore.Session {
	out, err := sessionstore.ForkSession(c.ctx, c.SessionStore, id, f)
	c.e.wantOK(err, "ForkSession", id, f)
	return out
}

// state is all that a store says of a session.
type state struct {
	Session  sessionstore.Session
	Messages []sessionstore.Message
}

// state reads the session and its history, and checks that the two ways to read the
// session agree.
func (c client) state(id string) state {
	// A copy: a store that hands out what it keeps would change the record of the past too.
	s := state{c.get(id).Clone(), c.history(id)}
	for i := range s.Messages {
		s.Messages[i] = s.Messages[i].Clone()
	}
	c.e.wantSame(called("ListMessages", id, sessionstore.MessageQuery{})+": the page's Session, against GetSession",
		c.messages(id, sessionstore.MessageQuery{Limit: 1}).Session, s.Session)
	return s
}

// wantState reports unless the session is as it was.
func (c client) wantState(after string, id string, want state) {
	c.e.wantSame("the session "+show(id)+" after "+after, c.state(id), want)
}

// wantGone reports unless the session is not found by any way to look at it.
func (c client) wantGone(after, id string) {
	for _, m := range idMethods {
		err := m.call(c.ctx, c.SessionStore, id)
		if errors.Is(err, errors.ErrUnsupported) {
			continue
		}
		c.e.wantErr(err, sessionstore.ErrSessionNotFound, after+", then "+m.name, id)
	}
	for _, s := range c.walk(sessionstore.SessionQuery{}) {
		if s.ID == id {
			c.e.Errorf("ListSessions after %s\n  got:  the session %s\n  want: it is gone", after, show(id))
		}
	}
}

// users makes one user message per text.
func users(texts ...string) []sessionstore.Message {
	out := make([]sessionstore.Message, len(texts))
	for i, t := range texts {
		out[i] = sessionstore.UserMessage(t)
	}
	return out
}

// numbered makes n user messages with the texts prefix+1 to prefix+n, and ids of the
// same form if withID.
func numbered(prefix string, n int, withID bool) []sessionstore.Message {
	out := make([]sessionstore.Message, n)
	for i := range out {
		out[i] = sessionstore.UserMessage(fmt.Sprint(prefix, i+1))
		if withID {
			out[i].ID = fmt.Sprint(prefix, i+1)
		}
	}
	return out
}

// idMethod is a way to call a store with a session id and arguments that are valid for
// any session.
type idMethod struct {
	name  string
	write bool
	call  func(ctx context.Context, s sessionstore.SessionStore, id string) error
}

var idMethods = []idMethod{
	{"GetSession", false, func(ctx context.Context, s sessionstore.SessionStore, id string) error {
		_, err := s.GetSession(ctx, id)
		return err
	}},
	{"ListMessages", false, func(ctx context.Context, s sessionstore.SessionStore, id string) error {
		_, err := s.ListMessages(ctx, id, sessionstore.MessageQuery{})
		return err
	}},
	{"AppendMessages", true, func(ctx context.Context, s sessionstore.SessionStore, id string) error {
		_, err := s.AppendMessages(ctx, id, sessionstore.Append{Messages: users("by id")})
		return err
	}},
	{"AppendMessages of no messages", false, func(ctx context.Context, s sessionstore.SessionStore, id string) error {
		_, err := s.AppendMessages(ctx, id, sessionstore.Append{})
		return err
	}},
	{"UpdateSession", true, func(ctx context.Context, s sessionstore.SessionStore, id string) error {
		_, err := s.UpdateSession(ctx, id, sessionstore.SessionUpdate{SetMetadata: sessionstore.Metadata{"by": "id"}})
		return err
	}},
	{"UpdateSession of nothing", false, func(ctx context.Context, s sessionstore.SessionStore, id string) error {
		_, err := s.UpdateSession(ctx, id, sessionstore.SessionUpdate{})
		return err
	}},
	{"UpdateSession with Touch", true, func(ctx context.Context, s sessionstore.SessionStore, id string) error {
		_, err := s.UpdateSession(ctx, id, sessionstore.SessionUpdate{Touch: true})
		return err
	}},
	{"TruncateMessages", true, func(ctx context.Context, s sessionstore.SessionStore, id string) error {
		_, err := s.TruncateMessages(ctx, id, sessionstore.Truncate{})
		return err
	}},
	{"ForkSession", true, func(ctx context.Context, s sessionstore.SessionStore, id string) error {
		_, err := sessionstore.ForkSession(ctx, s, id, sessionstore.Fork{})
		return err
	}},
	{"DeleteSession", true, func(ctx context.Context, s sessionstore.SessionStore, id string) error {
		return s.DeleteSession(ctx, id)
	}},
}

// ptr is for the optional fields of arguments.
func ptr[T any](v T) *T { return &v }
