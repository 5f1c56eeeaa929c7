package sessionstore

import "time"

// Append is a batch of messages for the end of a history.
//
// [append.order] Seq grows by one per message in the order given, for ever: never by
// clock, never reused (not after a truncate). UpdatedAt never moves back, whatever the
// clock does.
//
// [append.atomic] All of a batch or nothing, visible at once, with LastSeq, MessageCount
// and UpdatedAt in the same step.
//
// [append.concurrent] Any number of writers on one session: none lost, no duplicate, no
// gap but after a truncate, no spurious error; linearizable, and a read that starts
// after an append returned sees it.
//
// [append.idempotent] A message id is unique in its session. A batch whose ids are all
// stored with equal content (canonical Role, Content, Name, ToolCallID, ToolCalls,
// AgentName, Metadata, Extra; not Seq, SessionID, CreatedAt) returns the stored messages
// in the order given, whatever the status or IfLastSeq now, and changes nothing. Some of
// them, or unequal, is ErrMessageExists, nothing written. An id twice in one batch, or a
// foreign SessionID, is ErrInvalid. An empty id: the store makes a UUIDv7, and such a
// call is not safe to repeat. A truncate frees the ids it removes.
//
// [append.expect] IfLastSeq other than LastSeq is ErrConflict, nothing written.
//
// [append.active] Paused or closed is ErrSessionPaused or ErrSessionClosed, decided in
// the same step.
//
// [append.flat] Its cost does not grow with the history; a message is rewritten with its
// neighbours only within a fixed bound.
//
// [append.empty] No messages: an empty result, no change.
type Append struct {
	Messages  []Message
	IfLastSeq *int64 // nil: unconditional
}

// Prepare returns the batch for the session id validated, in normal form, a deep copy,
// with ids and SessionID filled in, and within the limits. Errors: ErrInvalid,
// ErrTooLarge. A store calls it once, before it reads anything: what it returns is what
// a driver's retry may send again.
func (a Append) Prepare(id string) (Append, error) {
	if err := checkID("session_id", id); err != nil {
		return Append{}, err
	}
	if a.IfLastSeq != nil {
		last := *a.IfLastSeq
		if last < 0 {
			return Append{}, invalid("if_last_seq", "must not be negative")
		}
		a.IfLastSeq = &last
	}
	if n := len(a.Messages); n > MaxAppendMessages {
		return Append{}, &LimitError{What: "messages in a call", Limit: MaxAppendMessages, Got: int64(n)}
	}
	out := make([]Message, len(a.Messages))
	for i, m := range a.Messages {
		if m.SessionID != "" && m.SessionID != id {
			return Append{}, atMessage(i, invalid("session_id", "is %q, the batch is for %q", clip(m.SessionID), clip(id)))
		}
		m, err := m.prepared()
		if err != nil {
			return Append{}, atMessage(i, err)
		}
		m.SessionID, m.Seq = id, 0
		if m.ID == "" {
			m.ID = newID()
		}
		out[i] = m
	}
	if i := repeatedID(out); i >= 0 {
		return Append{}, atMessage(i, invalid("message_id", "%q is in the batch twice", clip(out[i].ID)))
	}
	a.Messages = out
	if err := checkBatchSize(out); err != nil {
		return Append{}, err
	}
	return a, nil
}

// Apply assigns Seqs and times to a prepared batch and returns the session as the append
// leaves it, or the error that refuses it, in the order of [precedence]:
// ErrSessionNotFound (expired), ErrSessionPaused or ErrSessionClosed, ErrConflict. It
// changes neither a nor s; the messages it returns share their maps with a. The store
// must have settled before whether the ids are a repeat; see [Append.Repeat].
func (a Append) Apply(s Session, now time.Time) (Session, []Message, error) {
	now = normalNow(now)
	if s.Expired(now) {
		return Session{}, nil, ErrSessionNotFound
	}
	if len(a.Messages) == 0 {
		return s, []Message{}, nil
	}
	if err := s.writable(a.IfLastSeq); err != nil {
		return Session{}, nil, err
	}
	out := make([]Message, len(a.Messages))
	copy(out, a.Messages)
	for i := range out {
		s.LastSeq++
		s.MessageCount++
		m := &out[i]
		m.SessionID, m.Seq = s.ID, s.LastSeq
		if m.CreatedAt.IsZero() {
			m.CreatedAt = now
		}
	}
	s.moved(now)
	return s, out, nil
}

// IDs returns the ids of the messages, in order: those that a store looks up before it
// calls Apply.
func (a Append) IDs() []string {
	ids := make([]string, len(a.Messages))
	for i := range a.Messages {
		ids[i] = a.Messages[i].ID
	}
	return ids
}

// writable is the check that an append and a truncate share.
func (s Session) writable(ifLastSeq *int64) error {
	switch s.Status {
	case StatusPaused:
		return ErrSessionPaused
	case StatusClosed:
		return ErrSessionClosed
	}
	if ifLastSeq != nil && *ifLastSeq != s.LastSeq {
		return &ConflictError{Field: "last_seq", Expected: *ifLastSeq, Actual: s.LastSeq}
	}
	return nil
}

// Repeat decides about a prepared batch once any of its ids is stored already: stored
// holds those of the session's messages whose ids are among the batch's, in any order.
// If all are there with equal content it returns them in the order of the batch, and the
// call is a success that changes nothing; otherwise ErrMessageExists. With no stored
// message it returns nil, nil: the batch is new. Stored messages of more than
// MaxAppendBytes cannot be a repeat, so a store need not read on past that.
func (a Append) Repeat(stored []Message) ([]Message, error) {
	if len(stored) == 0 || len(a.Messages) == 0 {
		return nil, nil
	}
	if len(stored) != len(a.Messages) {
		return nil, ErrMessageExists
	}
	byID := make(map[string]int, len(stored))
	for i := range stored {
		byID[stored[i].ID] = i
	}
	out := make([]Message, len(a.Messages))
	for i, m := range a.Messages {
		j, ok := byID[m.ID]
		if !ok || !m.sameContent(stored[j]) {
			return nil, ErrMessageExists
		}
		out[i] = stored[j]
	}
	return out, nil
}

// repeatedID returns the index of a message whose id occurs before it, or -1.
func repeatedID(batch []Message) int {
	if len(batch) <= 8 {
		for i := range batch {
			for j := range i {
				if batch[i].ID == batch[j].ID {
					return i
				}
			}
		}
		return -1
	}
	seen := make(map[string]struct{}, len(batch))
	for i := range batch {
		if _, ok := seen[batch[i].ID]; ok {
			return i
		}
		seen[batch[i].ID] = struct{}{}
	}
	return -1
}

// checkBatchSize holds the batch against MaxAppendBytes. Most batches are so small that
// an upper bound settles it without encoding anything.
func checkBatchSize(batch []Message) error {
	bound := 0
	for i := range batch {
		bound += batch[i].sizeBound()
	}
	if bound <= MaxAppendBytes {
		return nil
	}
	var total int64
	var buf []byte
	for i := range batch {
		var err error
		if buf, err = batch[i].AppendJSON(buf[:0]); err != nil {
			return atMessage(i, err)
		}
		if total += int64(len(buf)); total > MaxAppendBytes {
			return &LimitError{What: "bytes of messages in a call", Limit: MaxAppendBytes, Got: total}
		}
	}
	return nil
}

// FitPage returns how many of msgs a page may hold, counted from the end that the walk
// starts at (the last one if newest): as many as stay within MaxPageBytes, and at least
// one of them.
func FitPage(msgs []Message, newest bool) int {
	bound := 0
	for i := range msgs {
		bound += msgs[i].sizeBound()
	}
	if bound <= MaxPageBytes {
		return len(msgs)
	}
	total := 0
	var buf []byte
	for i := range msgs {
		m := &msgs[i]
		if newest {
			m = &msgs[len(msgs)-1-i]
		}
		buf, _ = m.AppendJSON(buf[:0])
		if total += len(buf); total > MaxPageBytes && i > 0 {
			return i
		}
	}
	return len(msgs)
}
