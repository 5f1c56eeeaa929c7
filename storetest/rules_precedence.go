package storetest

import (
	"context"
	"strings"
	"time"

	"github.com/sessionstore/sessionstore"
)

var precedenceCases = []kase{
	{"a closed store, before the context, before the arguments", precedenceClosed},
	{"the arguments, before a missing session", precedenceArguments},
	{"a missing session, before all that it could say", precedenceMissing},
	{"an append: empty, ids, status, conflict", precedenceAppend},
	{"an update: conflict, transition, closed, size", precedenceUpdate},
	{"a create and a truncate", precedenceOthers},
}

// badCalls are calls whose arguments are invalid or too large, whatever is stored.
type badCall struct {
	name string
	want error
	call func(ctx context.Context, s sessionstore.SessionStore, id string) error
}

var badCalls = []badCall{
	{"CreateSession with an unknown status", sessionstore.ErrInvalid, func(ctx context.Context, s sessionstore.SessionStore, id string) error {
		_, err := s.CreateSession(ctx, sessionstore.Session{ID: id, Status: "archived"})
		return err
	}},
	{"CreateSession with too large a system", sessionstore.ErrTooLarge, func(ctx context.Context, s sessionstore.SessionStore, id string) error {
		_, err := s.CreateSession(ctx, sessionstore.Session{ID: id, System: strings.Repeat("x", sessionstore.MaxStateBytes+1)})
		return err
	}},
	{"UpdateSession with a negative IfVersion", sessionstore.ErrInvalid, func(ctx context.Context, s sessionstore.SessionStore, id string) error {
		_, err := s.UpdateSession(ctx, id, sessionstore.SessionUpdate{IfVersion: -1})
		return err
	}},
	{"UpdateSession with too large a system", sessionstore.ErrTooLarge, func(ctx context.Context, s sessionstore.SessionStore, id string) error {
		_, err := s.UpdateSession(ctx, id, sessionstore.SessionUpdate{System: ptr(strings.Repeat("x", sessionstore.MaxStateBytes+1))})
		return err
	}},
	{"ListSessions with a negative Limit", sessionstore.ErrInvalid, func(ctx context.Context, s sessionstore.SessionStore, id string) error {
		_, err := s.ListSessions(ctx, sessionstore.SessionQuery{Limit: -1})
		return err
	}},
	{"ListSessions with a cursor that is none", sessionstore.ErrInvalid, func(ctx context.Context, s sessionstore.SessionStore, id string) error {
		_, err := s.ListSessions(ctx, sessionstore.SessionQuery{Cursor: "%"})
		return err
	}},
	{"AppendMessages of an unknown role", sessionstore.ErrInvalid, func(ctx context.Context, s sessionstore.SessionStore, id string) error {
		_, err := s.AppendMessages(ctx, id, sessionstore.Append{Messages: []sessionstore.Message{{Role: "function"}}})
		return err
	}},
	{"AppendMessages with a negative IfLastSeq", sessionstore.ErrInvalid, func(ctx context.Context, s sessionstore.SessionStore, id string) error {
		_, err := s.AppendMessages(ctx, id, sessionstore.Append{IfLastSeq: ptr(int64(-1))})
		return err
	}},
	{"AppendMessages of too many messages", sessionstore.ErrTooLarge, func(ctx context.Context, s sessionstore.SessionStore, id string) error {
		_, err := s.AppendMessages(ctx, id, sessionstore.Append{Messages: make([]sessionstore.Message, sessionstore.MaxAppendMessages+1)})
		return err
	}},
	{"ListMessages with a negative AfterSeq", sessionstore.ErrInvalid, func(ctx context.Context, s sessionstore.SessionStore, id string) error {
		_, err := s.ListMessages(ctx, id, sessionstore.MessageQuery{AfterSeq: -1})
		return err
	}},
	{"TruncateMessages with a negative ThroughSeq", sessionstore.ErrInvalid, func(ctx context.Context, s sessionstore.SessionStore, id string) error {
		_, err := s.TruncateMessages(ctx, id, sessionstore.Truncate{ThroughSeq: -1})
		return err
	}},
	{"ForkSession with a negative AtSeq", sessionstore.ErrInvalid, func(ctx context.Context, s sessionstore.SessionStore, id string) error {
		_, err := sessionstore.ForkSession(ctx, s, id, sessionstore.Fork{AtSeq: ptr(int64(-1))})
		return err
	}},
}

func precedenceClosed(e *env) {
	a, b := e.client(), e.client()
	a.create(sessionstore.Session{ID: "s"})
	e.closeAll(a)
	done, cancel := context.WithCancel(e.ctx)
	cancel()
	for _, id := range []string{"s", "missing"} {
		for _, c := range badCalls {
			e.wantErr(c.call(done, a.SessionStore, id), sessionstore.ErrStoreClosed, c.name+", a context that is done, a closed store", id)
			e.wantErr(c.call(e.ctx, a.SessionStore, id), sessionstore.ErrStoreClosed, c.name+", a closed store", id)
			e.wantErr(c.call(done, b.SessionStore, id), context.Canceled, c.name+", a context that is done", id)
		}
		for _, m := range idMethods {
			e.wantErr(m.call(done, a.SessionStore, id), sessionstore.ErrStoreClosed, m.name+", a context that is done, a closed store", id)
			e.wantErr(m.call(done, b.SessionStore, id), context.Canceled, m.name+", a context that is done", id)
		}
	}
}

func precedenceArguments(e *env) {
	c := e.client()
	c.create(sessionstore.Session{ID: "closed", Status: sessionstore.StatusClosed})
	c.create(sessionstore.Session{ID: "expired", TTL: time.Hour})
	e.clock.Advance(time.Hour)
	for _, id := range []string{"missing", "expired", "closed"} {
		for _, bad := range badCalls {
			e.wantErr(bad.call(e.ctx, c.SessionStore, id), bad.want, bad.name, id)
		}
	}
	// The larger part of a batch being fine does not matter, nor that its ids are stored.
	c.create(sessionstore.Session{ID: "s"})
	stored := c.append("s", sessionstore.Append{Messages: numbered("m", 3, true)})
	a := sessionstore.Append{Messages: append(stored, sessionstore.Message{Role: "function"})}
	_, err := c.AppendMessages(e.ctx, "s", a)
	e.wantErr(err, sessionstore.ErrInvalid, "AppendMessages", "s", a)
}

func precedenceMissing(e *env) {
	c := e.client()
	c.create(sessionstore.Session{ID: "expired", TTL: time.Hour})
	c.append("expired", sessionstore.Append{Messages: numbered("m", 3, true)})
	c.setStatus("expired", sessionstore.StatusClosed)
	e.clock.Advance(time.Hour)
	for _, id := range []string{"missing", "expired"} {
		for _, a := range []sessionstore.Append{
			{},
			{IfLastSeq: ptr(int64(99))},
			{Messages: numbered("m", 3, true)},
			{Messages: numbered("m", 4, true), IfLastSeq: ptr(int64(99))},
		} {
			_, err := c.AppendMessages(e.ctx, id, a)
			e.wantErr(err, sessionstore.ErrSessionNotFound, "AppendMessages", id, a)
		}
		for _, u := range []sessionstore.SessionUpdate{
			{}, {IfVersion: 99}, {Status: ptr(sessionstore.StatusActive)}, {AgentName: ptr("x")},
		} {
			_, err := c.UpdateSession(e.ctx, id, u)
			e.wantErr(err, sessionstore.ErrSessionNotFound, "UpdateSession", id, u)
		}
		t := sessionstore.Truncate{IfLastSeq: ptr(int64(99))}
		_, err := c.TruncateMessages(e.ctx, id, t)
		e.wantErr(err, sessionstore.ErrSessionNotFound, "TruncateMessages", id, t)
		f := sessionstore.Fork{AtSeq: ptr(int64(99))}
		_, err = sessionstore.ForkSession(e.ctx, c.SessionStore, id, f)
		e.wantErr(err, sessionstore.ErrSessionNotFound, "ForkSession", id, f)
	}
}

func precedenceAppend(e *env) {
	c := e.client()
	wrong := ptr(int64(99))
	for _, t := range []struct {
		st   sessionstore.Status
		want error
	}{{sessionstore.StatusPaused, sessionstore.ErrSessionPaused}, {sessionstore.StatusClosed, sessionstore.ErrSessionClosed}} {
		id := string(t.st)
		c.create(sessionstore.Session{ID: id})
		stored := c.append(id, sessionstore.Append{Messages: numbered("m", 3, true)})
		c.setStatus(id, t.st)
		before := c.state(id)
		e.wantSame("AppendMessages of no messages with a wrong IfLastSeq to a session that is "+id,
			c.append(id, sessionstore.Append{IfLastSeq: wrong}), []sessionstore.Message{})
		e.wantSame("AppendMessages of what is stored with a wrong IfLastSeq to a session that is "+id,
			c.append(id, sessionstore.Append{Messages: numbered("m", 3, true), IfLastSeq: wrong}), stored)
		unequal := sessionstore.Message{ID: "m1", Role: sessionstore.RoleUser, Content: sessionstore.Text("another")}
		for _, a := range []sessionstore.Append{
			{Messages: numbered("m", 4, true), IfLastSeq: wrong},
			{Messages: []sessionstore.Message{unequal}, IfLastSeq: wrong},
			{Messages: []sessionstore.Message{unequal}},
		} {
			_, err := c.AppendMessages(e.ctx, id, a)
			e.wantErr(err, sessionstore.ErrMessageExists, "AppendMessages to a session that is "+id, id, a)
		}
		for _, a := range []sessionstore.Append{{Messages: users("new"), IfLastSeq: wrong}, {Messages: users("new")}} {
			_, err := c.AppendMessages(e.ctx, id, a)
			e.wantErr(err, t.want, "AppendMessages to a session that is "+id, id, a)
		}
		c.wantState("refused appends", id, before)
	}
	c.create(sessionstore.Session{ID: "s"})
	c.append("s", sessionstore.Append{Messages: numbered("m", 3, true)})
	a := sessionstore.Append{Messages: numbered("m", 4, true), IfLastSeq: wrong}
	_, err := c.AppendMessages(e.ctx, "s", a)
	e.wantErr(err, sessionstore.ErrMessageExists, "AppendMessages", "s", a)
}

func precedenceUpdate(e *env) {
	c := e.client()
	half := strings.Repeat("x", sessionstore.MaxStateBytes/2)
	c.create(sessionstore.Session{ID: "s", Status: sessionstore.StatusClosed, Metadata: sessionstore.Metadata{"a": half}})
	before := c.state("s")
	tooLarge := sessionstore.Metadata{"b": half} // together with what is stored
	active, agent := ptr(sessionstore.StatusActive), ptr("another")
	for _, t := range []struct {
		name string
		want error
		u    sessionstore.SessionUpdate
	}{
		{"a wrong IfVersion, a transition, another agent, too large", sessionstore.ErrConflict, sessionstore.SessionUpdate{IfVersion: 9, Status: active, AgentName: agent, SetMetadata: tooLarge}},
		{"a wrong IfVersion, another agent", sessionstore.ErrConflict, sessionstore.SessionUpdate{IfVersion: 9, AgentName: agent}},
		{"a wrong IfVersion, too large", sessionstore.ErrConflict, sessionstore.SessionUpdate{IfVersion: 9, SetMetadata: tooLarge}},
		{"a wrong IfVersion, nothing to change", sessionstore.ErrConflict, sessionstore.SessionUpdate{IfVersion: 9}},
		{"a transition, another agent, too large", sessionstore.ErrInvalidTransition, sessionstore.SessionUpdate{Status: active, AgentName: agent, SetMetadata: tooLarge}},
		{"a transition, another system", sessionstore.ErrInvalidTransition, sessionstore.SessionUpdate{IfVersion: 1, Status: active, System: agent}},
		{"a transition, too large", sessionstore.ErrInvalidTransition, sessionstore.SessionUpdate{Status: active, SetMetadata: tooLarge}},
		{"another agent, too large", sessionstore.ErrSessionClosed, sessionstore.SessionUpdate{AgentName: agent, SetMetadata: tooLarge}},
		{"another system, too large", sessionstore.ErrSessionClosed, sessionstore.SessionUpdate{System: agent, SetMetadata: tooLarge}},
		{"too large", sessionstore.ErrTooLarge, sessionstore.SessionUpdate{SetMetadata: tooLarge}},
	} {
		_, err := c.UpdateSession(e.ctx, "s", t.u)
		e.wantErr(err, t.want, "UpdateSession of a closed session: "+t.name, "s", t.u)
	}
	c.wantState("refused updates", "s", before)
}

func precedenceOthers(e *env) {
	c := e.client()
	c.create(sessionstore.Session{ID: "s"})
	c.say("s", "one", "two")
	for _, bad := range badCalls[:2] {
		e.wantErr(bad.call(e.ctx, c.SessionStore, "s"), bad.want, bad.name+", its id in use", "s")
	}
	c.setStatus("s", sessionstore.StatusPaused)
	t := sessionstore.Truncate{IfLastSeq: ptr(int64(99))}
	_, err := c.TruncateMessages(e.ctx, "s", t)
	e.wantErr(err, sessionstore.ErrSessionPaused, "TruncateMessages of a paused session", "s", t)
	// A page of a session in any state is no error, crossed or not.
	e.wantSame("ListMessages of a crossed range", len(c.messages("s", sessionstore.MessageQuery{AfterSeq: 2, BeforeSeq: 1}).Messages), 0)
}
