package linear

import (
	"hash/maphash"
	"maps"
	"slices"

	"github.com/anishathalye/porcupine"

	"github.com/sessionstore/sessionstore"
)

// state is a session as the contract has it; nil: there is none. One that has expired
// stays until something removes it: a clock that jumps back finds it alive again. States
// are not changed.
type state struct {
	Snapshot
	messages []Message
}

// anyTime is when something was made that nobody was told about.
const anyTime = Never

// model is what the calls on one session may be told. A step has several ends where the
// clock had several values, and where the outcome is unknown.
var model = func() porcupine.Model {
	m := porcupine.NondeterministicModel{
		Init:  func() []any { return []any{(*state)(nil)} },
		Step:  func(st, in, _ any) []any { return step(st.(*state), in.(*Call)) },
		Equal: func(a, b any) bool { return equalStates(a.(*state), b.(*state)) },
		Hash:  func(st any) uint64 { return st.(*state).hash() },
	}
	out := m.ToModel()
	out.DescribeOperation = func(in, _ any) string { return in.(*Call).String() }
	return out
}()

// step returns the states that the call may leave, if it was answered as it was.
func step(s *state, c *Call) []any {
	var out []any
	add := func(next *state) {
		for _, o := range out {
			if equalStates(o.(*state), next) {
				return
			}
		}
		out = append(out, next)
	}
	if c.Outcome == Unknown {
		add(s) // never, or not yet
	}
	for _, now := range c.Clocks {
		next, outcome := s.apply(c, now)
		switch {
		case c.Outcome == Unknown && outcome == OK,
			c.Outcome == outcome && (outcome != OK || next.answers(c)):
			add(next)
		}
		if c.Kind == Purge {
			add(s) // it may leave some for the next
		}
	}
	return out
}

// apply is the call at a time: the state it leaves, which is s where it is refused.
func (s *state) apply(c *Call, now int64) (*state, Outcome) {
	gone := s == nil || s.Expires != 0 && now >= s.Expires
	switch {
	case c.Kind == Create && gone:
		return created(c, now), OK
	case c.Kind == Create:
		return s, Exists
	case c.Kind == Absent && gone:
		return s, OK
	case c.Kind == Absent:
		return s, Exists
	case c.Kind == Purge && gone:
		return nil, OK
	case c.Kind == Purge:
		return s, OK
	case gone:
		return s, NotFound
	}
	switch c.Kind {
	case Append:
		return s.append(c, now)
	case Truncate:
		return s.truncate(c, now)
	case Update:
		return s.update(c, now)
	case Delete:
		return nil, OK
	}
	return s, OK
}

func created(c *Call, now int64) *state {
	n := &state{Snapshot: Snapshot{Status: sessionstore.StatusActive, Version: 1, Created: now, Updated: now}}
	if set := c.Set; set != nil {
		n.Metadata = maps.Clone(set.Put)
		if set.Status != nil {
			n.Status = *set.Status
		}
		if set.System != nil {
			n.System = *set.System
		}
		if set.TTL != nil {
			n.TTL = *set.TTL
		}
	}
	n.moved(now)
	if c.Outcome == Unknown {
		n.Created = anyTime
	} else if c.Got != nil && slices.Contains(c.Clocks, c.Got.Created) {
		n.Created = c.Got.Created
	}
	return n
}

// moved is what a change does to the times: they never go back.
func (s *state) moved(now int64) {
	s.Updated = max(s.Updated, now)
	s.Expires = 0
	if s.TTL != 0 {
		s.Expires = s.Updated + s.TTL
	}
}

func (s *state) refuses(ifLastSeq *int64) Outcome {
	switch {
	case s.Status == sessionstore.StatusPaused:
		return Paused
	case s.Status == sessionstore.StatusClosed:
		return Closed
	case ifLastSeq != nil && *ifLastSeq != s.LastSeq:
		return Conflict
	}
	return OK
}

func (s *state) append(c *Call, now int64) (*state, Outcome) {
	known, equal := 0, 0
	for _, m := range c.Messages {
		if i := s.find(m.ID); i >= 0 {
			known++
			if s.messages[i].Text == m.Text {
				equal++
			}
		}
	}
	switch {
	case known > 0 && equal == len(c.Messages):
		return s, OK // a repeat, whatever the status
	case known > 0:
		return s, Duplicate
	}
	if o := s.refuses(c.IfLastSeq); o != OK {
		return s, o
	}
	n := &state{Snapshot: s.Snapshot, messages: slices.Clip(s.messages)}
	for i, m := range c.Messages {
		n.LastSeq++
		n.Count++
		m.Seq, m.Created = n.LastSeq, anyTime
		if i < len(c.Found) && slices.Contains(c.Clocks, c.Found[i].Created) {
			m.Created = c.Found[i].Created
		}
		n.messages = append(n.messages, m)
	}
	n.moved(now)
	return n, OK
}

func (s *state) find(id string) int {
	return slices.IndexFunc(s.messages, func(m Message) bool { return m.ID == id })
}

func (s *state) truncate(c *Call, now int64) (*state, Outcome) {
	if o := s.refuses(c.IfLastSeq); o != OK {
		return s, o
	}
	stay := len(s.messages)
	for stay > 0 && s.messages[stay-1].Seq > c.Through {
		stay--
	}
	if stay == len(s.messages) {
		return s, OK
	}
	n := &state{Snapshot: s.Snapshot, messages: s.messages[:stay]}
	n.Count = int64(stay)
	n.moved(now)
	return n, OK
}

func (s *state) update(c *Call, now int64) (*state, Outcome) {
	closed := s.Status == sessionstore.StatusClosed
	switch {
	case c.IfVersion != 0 && c.IfVersion != s.Version:
		return s, Conflict
	case closed && c.Set.Status != nil && *c.Set.Status != s.Status:
		return s, Transition
	case closed && c.Set.System != nil && *c.Set.System != s.System:
		return s, Closed
	}
	n := &state{Snapshot: s.Snapshot, messages: s.messages}
	if c.Set.Status != nil {
		n.Status = *c.Set.Status
	}
	if c.Set.System != nil {
		n.System = *c.Set.System
	}
	if c.Set.TTL != nil {
		n.TTL = *c.Set.TTL
	}
	n.Metadata = maps.Clone(s.Metadata)
	for k, v := range c.Set.Put {
		if n.Metadata == nil {
			n.Metadata = map[string]int64{}
		}
		n.Metadata[k] = v
	}
	for _, k := range c.Set.Remove {
		delete(n.Metadata, k)
	}
	changed := n.Status != s.Status || n.System != s.System || n.TTL != s.TTL || !maps.Equal(n.Metadata, s.Metadata)
	if changed {
		n.Version++
	}
	if changed || c.Set.Touch {
		n.moved(now)
	}
	return n, OK
}

// answers reports whether a call that went through and left s is answered as c was.
func (s *state) answers(c *Call) bool {
	switch c.Kind {
	case Delete, Purge, Absent:
		return true
	case Append:
		if len(c.Found) != len(c.Messages) {
			return false
		}
		for i, m := range c.Messages {
			at := s.find(m.ID)
			if at < 0 || !sameMessage(s.messages[at], c.Found[i]) {
				return false
			}
		}
		return true
	case Fork:
		return s.forks(c)
	}
	if c.Got == nil && c.Kind.writes() {
		return true // its answer is another call, see SentAgain
	}
	if c.Got == nil || !s.shows(c.Got) {
		return false
	}
	if c.Kind != Read {
		return true
	}
	want, more := s.page(c)
	return c.More == more && slices.EqualFunc(want, c.Found, sameMessage)
}

// forks reports whether the child has what a fork of the whole session has. Its times and
// version are its own.
func (s *state) forks(c *Call) bool {
	got := c.Got
	return got != nil && got.System == s.System && got.TTL == s.TTL && got.LastSeq == s.LastSeq && got.Count == s.Count &&
		got.Status == sessionstore.StatusActive && got.Version == 1 &&
		maps.Equal(got.Metadata, s.Metadata) && slices.EqualFunc(s.messages, c.Found, sameMessage)
}

func (s *state) shows(got *Snapshot) bool {
	a, b := s.Snapshot, *got
	if a.Created == anyTime {
		a.Created = b.Created
	}
	return equalSnapshots(a, b)
}

// page is what a read of the messages gets.
func (s *state) page(c *Call) (page []Message, more bool) {
	for _, m := range s.messages {
		if m.Seq > c.After && (c.Before == 0 || m.Seq < c.Before) {
			page = append(page, m)
		}
	}
	if c.Limit == 0 || len(page) <= c.Limit {
		return page, false
	}
	if c.Newest {
		return page[len(page)-c.Limit:], true
	}
	return page[:c.Limit], true
}

func sameMessage(model, got Message) bool {
	if model.Created == anyTime {
		model.Created = got.Created
	}
	return model == got
}

func equalSnapshots(a, b Snapshot) bool {
	return a.Status == b.Status && a.System == b.System && a.TTL == b.TTL && a.Version == b.Version &&
		a.LastSeq == b.LastSeq && a.Count == b.Count && a.Created == b.Created && a.Updated == b.Updated &&
		a.Expires == b.Expires && maps.Equal(a.Metadata, b.Metadata)
}

func equalStates(a, b *state) bool {
	if a == nil || b == nil {
		return a == b
	}
	return equalSnapshots(a.Snapshot, b.Snapshot) && slices.Equal(a.messages, b.messages)
}

var seed = maphash.MakeSeed()

// hash leaves out the metadata, whose order is none.
func (s *state) hash() uint64 {
	if s == nil {
		return 0
	}
	type key struct {
		status                                          sessionstore.Status
		version, last, count, created, updated, expires int64
		newest                                          Message
	}
	k := key{s.Status, s.Version, s.LastSeq, s.Count, s.Created, s.Updated, s.Expires, Message{}}
	if n := len(s.messages); n > 0 {
		k.newest = s.messages[n-1]
	}
	return maphash.Comparable(seed, k)
}
