package memory

import (
	"context"

	"github.com/sessionstore/sessionstore"
)

// AppendMessages implements [sessionstore.SessionStore].
func (s *Store) AppendMessages(ctx context.Context, id string, a sessionstore.Append) (_ []sessionstore.Message, err error) {
	defer wrap(&err, "append to", id)
	if err := s.scope.Enter(ctx); err != nil {
		return nil, err
	}
	defer s.scope.Leave()
	if a, err = a.Prepare(id); err != nil {
		return nil, err
	}
	out, err := s.append(id, a)
	if err != nil {
		return nil, err
	}
	s.space.index.relieve()
	return out, nil
}

// append is the atomic step. What it returns is the caller's: a prepared batch shares
// nothing with what it was made of, and a record nothing with its message.
func (s *Store) append(id string, a sessionstore.Append) ([]sessionstore.Message, error) {
	e, now, err := s.lock(id)
	if err != nil {
		return nil, err
	}
	defer e.mu.Unlock()
	if repeat, err := a.Repeat(e.stored(a.Messages)); repeat != nil || err != nil {
		return repeat, err
	}
	session, out, err := a.Apply(e.session, now)
	if err != nil || len(out) == 0 {
		return out, err
	}
	for i := range out {
		e.add(&out[i])
	}
	s.set(e, session)
	return out, nil
}

// stored returns copies of the messages whose ids are among those of the batch.
func (e *entry) stored(batch []sessionstore.Message) []sessionstore.Message {
	var out []sessionstore.Message
	for i := range batch {
		if at, ok := e.ids.find(&e.history, batch[i].ID); ok {
			out = append(out, sessionstore.Message{})
			e.history.at(at).copyTo(&out[len(out)-1], e.id)
		}
	}
	return out
}

// add appends a message whose id is new.
func (e *entry) add(m *sessionstore.Message) {
	e.ids.add(m.ID, e.history.len())
	e.history.grow().set(m)
}

// ListMessages implements [sessionstore.SessionStore].
func (s *Store) ListMessages(ctx context.Context, id string, q sessionstore.MessageQuery) (_ sessionstore.MessagePage, err error) {
	defer wrap(&err, "list messages of", id)
	if err := s.scope.Enter(ctx); err != nil {
		return sessionstore.MessagePage{}, err
	}
	defer s.scope.Leave()
	if err := sessionstore.CheckID(id); err != nil {
		return sessionstore.MessagePage{}, err
	}
	if q, err = q.Prepare(); err != nil {
		return sessionstore.MessagePage{}, err
	}
	e, _, err := s.lock(id)
	if err != nil {
		return sessionstore.MessagePage{}, err
	}
	session, history := e.session, e.history
	e.mu.Unlock()

	// From here on it is a snapshot that is read.
	first, end := history.through(q.AfterSeq), history.len()
	if q.BeforeSeq > 0 {
		end = history.through(q.BeforeSeq - 1)
	}
	page := sessionstore.MessagePage{Session: cloneSession(session), Messages: []sessionstore.Message{}}
	if first >= end {
		return page, nil
	}
	if end-first > q.Limit {
		page.HasMore = true
		if q.Newest {
			first = end - q.Limit
		} else {
			end = first + q.Limit
		}
	}
	page.Messages = history.copyOf(first, end, id)
	if n := sessionstore.FitPage(page.Messages, q.Newest); n < len(page.Messages) {
		page.HasMore = true
		if q.Newest {
			page.Messages = page.Messages[len(page.Messages)-n:]
		} else {
			page.Messages = page.Messages[:n]
		}
	}
	return page, nil
}

// copyOf returns the messages of the session id from the position first up to end.
func (h *history) copyOf(first, end int, id string) []sessionstore.Message {
	out := make([]sessionstore.Message, end-first)
	for done := 0; done < len(out); {
		run := h.run(first + done)
		run = run[:min(len(run), len(out)-done)]
		for i := range run {
			run[i].copyTo(&out[done+i], id)
		}
		done += len(run)
	}
	return out
}

// TruncateMessages implements [sessionstore.SessionStore].
func (s *Store) TruncateMessages(ctx context.Context, id string, t sessionstore.Truncate) (_ sessionstore.Session, err error) {
	defer wrap(&err, "truncate", id)
	if err := s.scope.Enter(ctx); err != nil {
		return sessionstore.Session{}, err
	}
	defer s.scope.Leave()
	if err := sessionstore.CheckID(id); err != nil {
		return sessionstore.Session{}, err
	}
	if t, err = t.Prepare(); err != nil {
		return sessionstore.Session{}, err
	}
	out, err := s.truncate(id, t)
	if err != nil {
		return sessionstore.Session{}, err
	}
	s.space.index.relieve()
	return cloneSession(out), nil
}

func (s *Store) truncate(id string, t sessionstore.Truncate) (sessionstore.Session, error) {
	e, now, err := s.lock(id)
	if err != nil {
		return sessionstore.Session{}, err
	}
	defer e.mu.Unlock()
	remaining := e.history.through(t.ThroughSeq)
	out, err := t.Apply(e.session, int64(remaining), now)
	if err != nil {
		return sessionstore.Session{}, err
	}
	if remaining < e.history.len() {
		e.history, e.ids = e.history.head(remaining), e.ids.head(remaining)
	}
	s.set(e, out)
	return out, nil
}
