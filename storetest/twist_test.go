package storetest

import (
	"context"
	"iter"
	"testing"
	"time"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/memory"
)

type (
	session  = sessionstore.Session
	message  = sessionstore.Message
	batch    = sessionstore.Append
	update   = sessionstore.SessionUpdate
	cut      = sessionstore.Truncate
	history  = iter.Seq2[message, error]
	sessions = sessionstore.SessionPage
	page     = sessionstore.MessagePage
)

// on is the sound store that a twist works on, for one call.
type on struct {
	sessionstore.SessionStore
	ctx    context.Context
	config Config
	db     *memory.DB
}

// twist is one fault: it replaces a method of a sound store by something that is nearly
// right. What is nil is left alone.
type twist struct {
	create   func(o on, s session) (session, error)
	get      func(o on, id string) (session, error)
	update   func(o on, id string, u update) (session, error)
	remove   func(o on, id string) error
	list     func(o on, q sessionstore.SessionQuery) (sessions, error)
	append   func(o on, id string, a batch) ([]message, error)
	messages func(o on, id string, q sessionstore.MessageQuery) (page, error)
	truncate func(o on, id string, t cut) (session, error)
	fork     func(o on, id string, f sessionstore.Fork) (session, error)
	restore  func(o on, s session, h history) (session, error)
	purge    func(o on, limit int) (int, error)
	forUser  func(o on, user string) sessionstore.SessionStore
	close    func(o on) error

	context    func(context.Context) context.Context // of every call
	id         func(string) string                   // every session id that comes in
	sessionOut func(session) session                 // every session that goes out
	messageOut func(message) message                 // every message that goes out
	opened     func(Config) Config                   // what Open opens
	reopened   func(Config) Config                   // what Reopen opens
}

// twisted is a store with a fault.
type twisted struct {
	sessionstore.SessionStore
	t      twist
	config Config
	db     *memory.DB
}

// mutated is a backend of memory stores with the fault t.
func mutated(t twist) Backend {
	db := memory.NewDB()
	open := func(tb testing.TB, c Config) sessionstore.SessionStore {
		s, err := memory.New(&memory.Options{DB: db, Namespace: c.Namespace, Now: c.Now})
		if err != nil {
			tb.Fatalf("memory.New(%q): got %v, want nil", c.Namespace, err)
		}
		return &twisted{s, t, c, db}
	}
	first := func(tb testing.TB, c Config) sessionstore.SessionStore {
		if t.opened != nil {
			c = t.opened(c)
		}
		return open(tb, c)
	}
	return Backend{Open: first, Reopen: func(tb testing.TB, c Config) sessionstore.SessionStore {
		if t.reopened != nil {
			c = t.reopened(c)
		}
		return open(tb, c)
	}}
}

func (w *twisted) on(ctx context.Context) on {
	if w.t.context != nil {
		ctx = w.t.context(ctx)
	}
	return on{w.SessionStore, ctx, w.config, w.db}
}

func (w *twisted) id(id string) string {
	if w.t.id != nil {
		return w.t.id(id)
	}
	return id
}

func (w *twisted) session(s session, err error) (session, error) {
	if err == nil && w.t.sessionOut != nil {
		s = w.t.sessionOut(s)
	}
	return s, err
}

func (w *twisted) batch(msgs []message, err error) ([]message, error) {
	if w.t.messageOut != nil {
		for i := range msgs {
			msgs[i] = w.t.messageOut(msgs[i])
		}
	}
	return msgs, err
}

func (w *twisted) CreateSession(ctx context.Context, s session) (session, error) {
	o := w.on(ctx)
	s.ID = w.id(s.ID)
	if w.t.create != nil {
		return w.session(w.t.create(o, s))
	}
	return w.session(o.CreateSession(o.ctx, s))
}

func (w *twisted) GetSession(ctx context.Context, id string) (session, error) {
	o := w.on(ctx)
	if w.t.get != nil {
		return w.session(w.t.get(o, w.id(id)))
	}
	return w.session(o.GetSession(o.ctx, w.id(id)))
}

func (w *twisted) UpdateSession(ctx context.Context, id string, u update) (session, error) {
	o := w.on(ctx)
	if w.t.update != nil {
		return w.session(w.t.update(o, w.id(id), u))
	}
	return w.session(o.UpdateSession(o.ctx, w.id(id), u))
}

func (w *twisted) DeleteSession(ctx context.Context, id string) error {
	o := w.on(ctx)
	if w.t.remove != nil {
		return w.t.remove(o, w.id(id))
	}
	return o.DeleteSession(o.ctx, w.id(id))
}

func (w *twisted) ListSessions(ctx context.Context, q sessionstore.SessionQuery) (sessions, error) {
	o := w.on(ctx)
	list := on.listSound
	if w.t.list != nil {
		list = w.t.list
	}
	p, err := list(o, q)
	for i, s := range p.Sessions {
		p.Sessions[i], _ = w.session(s, nil)
	}
	return p, err
}

func (o on) listSound(q sessionstore.SessionQuery) (sessions, error) { return o.ListSessions(o.ctx, q) }

func (w *twisted) AppendMessages(ctx context.Context, id string, a batch) ([]message, error) {
	o := w.on(ctx)
	if w.t.append != nil {
		return w.batch(w.t.append(o, w.id(id), a))
	}
	return w.batch(o.AppendMessages(o.ctx, w.id(id), a))
}

func (w *twisted) ListMessages(ctx context.Context, id string, q sessionstore.MessageQuery) (page, error) {
	o := w.on(ctx)
	read := on.messagesSound
	if w.t.messages != nil {
		read = w.t.messages
	}
	p, err := read(o, w.id(id), q)
	p.Session, _ = w.session(p.Session, err)
	p.Messages, _ = w.batch(p.Messages, err)
	return p, err
}

func (o on) messagesSound(id string, q sessionstore.MessageQuery) (page, error) {
	return o.ListMessages(o.ctx, id, q)
}

func (w *twisted) TruncateMessages(ctx context.Context, id string, t cut) (session, error) {
	o := w.on(ctx)
	if w.t.truncate != nil {
		return w.session(w.t.truncate(o, w.id(id), t))
	}
	return w.session(o.TruncateMessages(o.ctx, w.id(id), t))
}

func (w *twisted) ForkSession(ctx context.Context, id string, f sessionstore.Fork) (session, error) {
	o := w.on(ctx)
	if w.t.fork != nil {
		return w.session(w.t.fork(o, w.id(id), f))
	}
	return w.session(sessionstore.ForkSession(o.ctx, o.SessionStore, w.id(id), f))
}

func (w *twisted) RestoreSession(ctx context.Context, s session, h history) (session, error) {
	o := w.on(ctx)
	if w.t.restore != nil {
		return w.session(w.t.restore(o, s, h))
	}
	return w.session(sessionstore.RestoreSession(o.ctx, o.SessionStore, s, h))
}

func (w *twisted) PurgeExpired(ctx context.Context, limit int) (int, error) {
	o := w.on(ctx)
	if w.t.purge != nil {
		return w.t.purge(o, limit)
	}
	return sessionstore.PurgeExpired(o.ctx, o.SessionStore, limit)
}

func (w *twisted) ForUser(user string) sessionstore.SessionStore {
	if w.t.forUser != nil {
		return w.t.forUser(w.on(context.Background()), user)
	}
	return sessionstore.ForUser(w.SessionStore, user)
}

func (w *twisted) Close() error {
	if w.t.close != nil {
		return w.t.close(w.on(context.Background()))
	}
	return w.SessionStore.Close()
}

// late returns a store over the same data whose clock is behind by d.
func (o on) late(d time.Duration) sessionstore.SessionStore {
	s, err := memory.New(&memory.Options{DB: o.db, Namespace: o.config.Namespace, Now: func() time.Time { return o.config.Now().Add(-d) }})
	if err != nil {
		panic(err)
	}
	return s
}

// all returns the history, or none if there is no such session.
func (o on) all(id string) []message {
	var out []message
	for {
		var after int64
		if n := len(out); n > 0 {
			after = out[n-1].Seq
		}
		p, err := o.ListMessages(context.WithoutCancel(o.ctx), id, sessionstore.MessageQuery{AfterSeq: after})
		out = append(out, p.Messages...)
		if err != nil || !p.HasMore {
			return out
		}
	}
}

// rewrite changes what is stored of a session behind the rules' back, and returns it.
func (o on) rewrite(id string, change func(s *session, msgs []message) []message) (session, error) {
	ctx := context.WithoutCancel(o.ctx)
	s, err := o.GetSession(ctx, id)
	if err != nil {
		return s, err
	}
	msgs := change(&s, o.all(id))
	s.MessageCount = int64(len(msgs))
	if err := o.DeleteSession(ctx, id); err != nil {
		return session{}, err
	}
	return sessionstore.RestoreSession(ctx, o.SessionStore, s, yielded(msgs))
}

func yielded(msgs []message) history {
	return func(yield func(message, error) bool) {
		for _, m := range msgs {
			if !yield(m, nil) {
				return
			}
		}
	}
}
