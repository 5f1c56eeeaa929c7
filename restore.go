package sessionstore

import "time"

// Restoration is the rule of RestoreSession: it validates a session and, one by one,
// its messages, and gives back what is to be stored.
//
//	r, err := sessionstore.NewRestoration(s)
//	for m, err := range messages {
//		// …
//		m, err = r.Next(m) // store m
//	}
//	s, err = r.Finish(now) // store s, inside the atomic step
type Restoration struct {
	s     Session
	last  int64
	count int64
}

// NewRestoration begins with the session. Its counters are taken as given and compared
// with the messages by Finish; ExpiresAt follows from UpdatedAt and TTL. Errors:
// ErrInvalid, ErrTooLarge.
func NewRestoration(s Session) (*Restoration, error) {
	if err := checkID("session_id", s.ID); err != nil {
		return nil, err
	}
	out, err := s.prepared()
	if err != nil {
		return nil, err
	}
	if out.CreatedAt.IsZero() {
		return nil, invalid("created_at", "must not be zero")
	}
	if out.UpdatedAt, err = normalTime("updated_at", s.UpdatedAt); err != nil {
		return nil, err
	}
	if out.UpdatedAt.IsZero() {
		return nil, invalid("updated_at", "must not be zero")
	}
	if out.Version < 1 || out.Version > MaxSeq {
		return nil, invalid("version", "is %d, not within 1 to %d", out.Version, int64(MaxSeq))
	}
	if out.LastSeq > MaxSeq {
		return nil, invalid("last_seq", "is %d, at most %d can be restored", out.LastSeq, int64(MaxSeq))
	}
	if out.MessageCount < 0 || out.LastSeq < out.MessageCount {
		return nil, invalid("message_count", "is %d with last_seq %d", out.MessageCount, out.LastSeq)
	}
	out.ExpiresAt = expiry(out.UpdatedAt, out.TTL)
	return &Restoration{s: out}, nil
}

// Next validates the next message and returns it in normal form, a deep copy. That ids
// are unique is for the store to see to, with ErrInvalid. Errors: ErrInvalid,
// ErrTooLarge.
func (r *Restoration) Next(m Message) (Message, error) {
	if m.SessionID != "" && m.SessionID != r.s.ID {
		return Message{}, invalid("session_id", "is %q, the session is %q", clip(m.SessionID), clip(r.s.ID))
	}
	out, err := m.prepared()
	if err != nil {
		return Message{}, err
	}
	switch {
	case out.ID == "":
		return Message{}, invalid("message_id", "must not be empty")
	case out.CreatedAt.IsZero():
		return Message{}, invalid("created_at", "must not be zero")
	case m.Seq <= r.last:
		return Message{}, invalid("seq", "is %d after %d", m.Seq, r.last)
	case m.Seq > r.s.LastSeq:
		return Message{}, invalid("seq", "is %d, the session's last_seq is %d", m.Seq, r.s.LastSeq)
	}
	out.SessionID, out.Seq = r.s.ID, m.Seq
	// Measured as when it was appended, perhaps to a session with a shorter id.
	bare := out
	bare.SessionID, bare.Seq, bare.CreatedAt = "", 0, time.Time{}
	if err := checkBatchSize([]Message{bare}); err != nil {
		return Message{}, err
	}
	r.last = m.Seq
	r.count++
	return out, nil
}

// Finish returns the session to store once all its messages were given. One that has
// expired by now is ErrInvalid: it would be gone at once.
func (r *Restoration) Finish(now time.Time) (Session, error) {
	if r.count != r.s.MessageCount {
		return Session{}, invalid("message_count", "is %d, but %d messages were given", r.s.MessageCount, r.count)
	}
	if r.s.Expired(normalNow(now)) {
		return Session{}, errExpired
	}
	return r.s, nil
}

var errExpired = invalid("expires_at", "has passed")
