package storetest

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"github.com/sessionstore/sessionstore"
)

// model is a whole store in the plainest form: a map of sessions with their messages. It
// decides everything anew from the contract and uses none of the rules of package
// sessionstore, so that a mistake there shows too. Its inputs are in normal form but for
// what normalMessage does.
type model struct {
	now  func() time.Time
	held map[string]*held // by session id; expired ones stay until replaced
}

type held struct {
	s    sessionstore.Session
	msgs []sessionstore.Message
}

func newModel(now func() time.Time) *model {
	return &model{now: func() time.Time { return now().UTC().Truncate(time.Microsecond) }, held: map[string]*held{}}
}

func (h *held) expired(now time.Time) bool {
	return !h.s.ExpiresAt.IsZero() && !now.Before(h.s.ExpiresAt)
}

// moved is what every change does to the times.
func (h *held) moved(now time.Time) {
	if now.After(h.s.UpdatedAt) {
		h.s.UpdatedAt = now
	}
	h.s.ExpiresAt = time.Time{}
	if h.s.TTL != 0 {
		h.s.ExpiresAt = h.s.UpdatedAt.Add(h.s.TTL)
	}
}

// find returns the live session of that id if the user may see it: "" sees all.
func (m *model) find(user, id string) (*held, error) {
	if id == "" {
		return nil, sessionstore.ErrInvalid
	}
	h, ok := m.held[id]
	if !ok || h.expired(m.now()) || user != "" && h.s.UserID != user {
		return nil, sessionstore.ErrSessionNotFound
	}
	return h, nil
}

// taken reports whether a session of anyone lives under that id.
func (m *model) taken(id string) bool {
	h, ok := m.held[id]
	return ok && !h.expired(m.now())
}

func (m *model) create(user string, s sessionstore.Session) (*held, error) {
	if s.ForkSeq < 0 || s.ForkSeq > 0 && s.ParentID == "" || s.TTL < 0 {
		return nil, sessionstore.ErrInvalid
	}
	if m.taken(s.ID) {
		return nil, sessionstore.ErrSessionExists
	}
	if user != "" {
		s.UserID = user
	}
	if s.Status == "" {
		s.Status = sessionstore.StatusActive
	}
	s.Metadata = copied(s.Metadata)
	if s.CreatedAt.IsZero() {
		s.CreatedAt = m.now()
	}
	s.Version, s.LastSeq, s.MessageCount, s.UpdatedAt = 1, 0, 0, time.Time{}
	h := &held{s: s}
	h.moved(m.now())
	m.held[s.ID] = h
	return h, nil
}

func (m *model) update(user, id string, u sessionstore.SessionUpdate) (*held, error) {
	for _, k := range u.DeleteMetadata {
		if _, both := u.SetMetadata[k]; both {
			return nil, sessionstore.ErrInvalid
		}
	}
	if u.TTL != nil && *u.TTL < 0 || u.IfVersion < 0 {
		return nil, sessionstore.ErrInvalid
	}
	h, err := m.find(user, id)
	if err != nil {
		return nil, err
	}
	if u.IfVersion != 0 && u.IfVersion != h.s.Version {
		return nil, sessionstore.ErrConflict
	}
	closed := h.s.Status == sessionstore.StatusClosed
	if u.Status != nil && *u.Status != h.s.Status && closed {
		return nil, sessionstore.ErrInvalidTransition
	}
	if closed && (u.AgentName != nil && *u.AgentName != h.s.AgentName || u.System != nil && *u.System != h.s.System) {
		return nil, sessionstore.ErrSessionClosed
	}
	changed := false
	if u.Status != nil {
		changed = changed || h.s.Status != *u.Status
		h.s.Status = *u.Status
	}
	if u.AgentName != nil {
		changed = changed || h.s.AgentName != *u.AgentName
		h.s.AgentName = *u.AgentName
	}
	if u.System != nil {
		changed = changed || h.s.System != *u.System
		h.s.System = *u.System
	}
	if u.TTL != nil {
		changed = changed || h.s.TTL != *u.TTL
		h.s.TTL = *u.TTL
	}
	for k, v := range u.SetMetadata {
		if old, ok := h.s.Metadata[k]; !ok || old != v {
			h.s.Metadata[k], changed = v, true
		}
	}
	for _, k := range u.DeleteMetadata {
		if _, ok := h.s.Metadata[k]; ok {
			delete(h.s.Metadata, k)
			changed = true
		}
	}
	if changed {
		h.s.Version++
	}
	if changed || u.Touch {
		h.moved(m.now())
	}
	return h, nil
}

func (m *model) remove(user, id string) error {
	if _, err := m.find(user, id); err != nil {
		return err
	}
	delete(m.held, id)
	return nil
}

// writable is what an append of new messages and a truncate need.
func (h *held) writable(ifLastSeq *int64) error {
	switch {
	case h.s.Status == sessionstore.StatusPaused:
		return sessionstore.ErrSessionPaused
	case h.s.Status == sessionstore.StatusClosed:
		return sessionstore.ErrSessionClosed
	case ifLastSeq != nil && *ifLastSeq != h.s.LastSeq:
		return sessionstore.ErrConflict
	}
	return nil
}

// append is given messages with ids: those that the store made up are filled in before.
func (m *model) append(user, id string, a sessionstore.Append) ([]sessionstore.Message, error) {
	for i, msg := range a.Messages {
		if msg.SessionID != "" && msg.SessionID != id {
			return nil, sessionstore.ErrInvalid
		}
		for _, other := range a.Messages[:i] {
			if other.ID == msg.ID {
				return nil, sessionstore.ErrInvalid
			}
		}
	}
	h, err := m.find(user, id)
	if err != nil {
		return nil, err
	}
	out := []sessionstore.Message{}
	known := 0
	for _, msg := range a.Messages {
		for _, old := range h.msgs {
			if old.ID != msg.ID {
				continue
			}
			known++
			if equalContent(old, normalMessage(msg)) {
				out = append(out, old)
			}
		}
	}
	switch {
	case known > 0 && len(out) == len(a.Messages):
		return out, nil
	case known > 0:
		return nil, sessionstore.ErrMessageExists
	case len(a.Messages) == 0:
		return out, nil
	}
	if err := h.writable(a.IfLastSeq); err != nil {
		return nil, err
	}
	for _, msg := range a.Messages {
		msg = normalMessage(msg)
		h.s.LastSeq++
		h.s.MessageCount++
		msg.SessionID, msg.Seq = id, h.s.LastSeq
		if msg.CreatedAt.IsZero() {
			msg.CreatedAt = m.now()
		}
		h.msgs = append(h.msgs, msg)
		out = append(out, msg)
	}
	h.moved(m.now())
	return out, nil
}

func (m *model) truncate(user, id string, t sessionstore.Truncate) (*held, error) {
	if t.ThroughSeq < 0 {
		return nil, sessionstore.ErrInvalid
	}
	h, err := m.find(user, id)
	if err != nil {
		return nil, err
	}
	if err := h.writable(t.IfLastSeq); err != nil {
		return nil, err
	}
	stay := []sessionstore.Message{}
	for _, msg := range h.msgs {
		if msg.Seq <= t.ThroughSeq {
			stay = append(stay, msg)
		}
	}
	if len(stay) < len(h.msgs) {
		h.msgs, h.s.MessageCount = stay, int64(len(stay))
		h.moved(m.now())
	}
	return h, nil
}

func (m *model) messages(user, id string, q sessionstore.MessageQuery) (sessionstore.MessagePage, error) {
	if q.AfterSeq < 0 || q.BeforeSeq < 0 || q.Limit < 0 || q.Limit > sessionstore.MaxMessages {
		return sessionstore.MessagePage{}, sessionstore.ErrInvalid
	}
	h, err := m.find(user, id)
	if err != nil {
		return sessionstore.MessagePage{}, err
	}
	page := sessionstore.MessagePage{Session: h.s, Messages: []sessionstore.Message{}}
	for _, msg := range h.msgs {
		if msg.Seq > q.AfterSeq && (q.BeforeSeq == 0 || msg.Seq < q.BeforeSeq) {
			page.Messages = append(page.Messages, msg)
		}
	}
	limit := q.Limit
	if limit == 0 {
		limit = sessionstore.MaxMessages
	}
	if n := len(page.Messages); n > limit {
		page.HasMore = true
		if q.Newest {
			page.Messages = page.Messages[n-limit:]
		} else {
			page.Messages = page.Messages[:limit]
		}
	}
	return page, nil
}

// list is a whole walk.
func (m *model) list(user string, q sessionstore.SessionQuery) []sessionstore.Session {
	if user != "" {
		q.UserID = user
	}
	out := []sessionstore.Session{}
	for _, h := range m.held {
		if s := h.s; !h.expired(m.now()) &&
			(q.UserID == "" || q.UserID == s.UserID) &&
			(q.AgentName == "" || q.AgentName == s.AgentName) &&
			(q.ParentID == "" || q.ParentID == s.ParentID) &&
			(len(q.Statuses) == 0 || slices.Contains(q.Statuses, s.Status)) {
			out = append(out, s)
		}
	}
	slices.SortFunc(out, func(a, b sessionstore.Session) int {
		if c := b.UpdatedAt.Compare(a.UpdatedAt); c != 0 {
			return c
		}
		return cmp.Compare(b.ID, a.ID)
	})
	return out
}

func (m *model) fork(user, id string, f sessionstore.Fork) (*held, error) {
	if f.AtSeq != nil && *f.AtSeq < 0 {
		return nil, sessionstore.ErrInvalid
	}
	src, err := m.find(user, id)
	if err != nil {
		return nil, err
	}
	at := src.s.LastSeq
	if f.AtSeq != nil {
		at = *f.AtSeq
	}
	if at > src.s.LastSeq {
		return nil, sessionstore.ErrInvalid
	}
	if m.taken(f.ID) {
		return nil, sessionstore.ErrSessionExists
	}
	child := &held{s: src.s}
	child.s.ID, child.s.ParentID, child.s.ForkSeq = f.ID, id, at
	if f.UserID != nil {
		child.s.UserID = *f.UserID
	}
	child.s.Metadata = copied(src.s.Metadata)
	for k, v := range f.Metadata {
		child.s.Metadata[k] = v
	}
	for _, msg := range src.msgs {
		if msg.Seq <= at {
			msg.SessionID = f.ID
			child.msgs = append(child.msgs, msg)
		}
	}
	child.s.Status, child.s.Version = sessionstore.StatusActive, 1
	child.s.LastSeq, child.s.MessageCount = at, int64(len(child.msgs))
	child.s.CreatedAt, child.s.UpdatedAt = m.now(), time.Time{}
	child.moved(m.now())
	m.held[f.ID] = child
	return child, nil
}

// restore is given what an earlier look at a session gave.
func (m *model) restore(user string, h held) (*held, error) {
	if user != "" && h.s.UserID != user || h.expired(m.now()) {
		return nil, sessionstore.ErrInvalid
	}
	if m.taken(h.s.ID) {
		return nil, sessionstore.ErrSessionExists
	}
	h.s.Metadata = copied(h.s.Metadata)
	m.held[h.s.ID] = &h
	return &h, nil
}

// latestExpiry is the latest moment that has passed at which a session expired. The clock
// must not be set back before it: a store may remove what has expired at once.
func (m *model) latestExpiry() time.Time {
	var latest time.Time
	for _, h := range m.held {
		if h.expired(m.now()) && h.s.ExpiresAt.After(latest) {
			latest = h.s.ExpiresAt
		}
	}
	return latest
}

// expiredCount is how many sessions a purge can find at most.
func (m *model) expiredCount() int {
	n := 0
	for _, h := range m.held {
		if h.expired(m.now()) {
			n++
		}
	}
	return n
}

// snapshot returns the session as a caller gets it.
func (h *held) snapshot() held {
	s := h.s
	s.Metadata = copied(s.Metadata)
	return held{s: s, msgs: slices.Clone(h.msgs)}
}

// copied is a copy of metadata without nested values, never nil.
func copied(m sessionstore.Metadata) sessionstore.Metadata {
	out := sessionstore.Metadata{}
	for k, v := range m {
		out[k] = v
	}
	return out
}

func normalMessage(m sessionstore.Message) sessionstore.Message {
	m.Metadata = copied(m.Metadata)
	var calls []sessionstore.ToolCall
	for _, c := range m.ToolCalls {
		if c.Type == "" {
			c.Type = "function"
		}
		calls = append(calls, c)
	}
	m.ToolCalls = calls
	if !m.CreatedAt.IsZero() {
		m.CreatedAt = m.CreatedAt.UTC().Truncate(time.Microsecond)
	}
	return m
}

// equalContent compares what a repeat must have in common: all but Seq, SessionID and
// CreatedAt.
func equalContent(a, b sessionstore.Message) bool {
	a.Seq, a.SessionID, a.CreatedAt = 0, "", time.Time{}
	b.Seq, b.SessionID, b.CreatedAt = 0, "", time.Time{}
	return diff(a, b) == ""
}

// modelErrors are the errors that the model knows. The more special stand first.
var modelErrors = []error{
	sessionstore.ErrSessionNotFound, sessionstore.ErrSessionExists,
	sessionstore.ErrSessionPaused, sessionstore.ErrSessionClosed,
	sessionstore.ErrInvalidTransition, sessionstore.ErrConflict, sessionstore.ErrMessageExists,
	sessionstore.ErrInvalid, sessionstore.ErrTooLarge, sessionstore.ErrStoreClosed,
}

// kind returns the sentinel that err is, or err itself.
func kind(err error) error {
	for _, k := range modelErrors {
		if errors.Is(err, k) {
			return k
		}
	}
	return err
}
