package sessionstore

import "time"

// Truncate removes the messages with Seq > ThroughSeq.
//
// [truncate] It removes Seq > ThroughSeq atomically; active sessions only, checked as
// append checks; LastSeq stays; removing nothing changes nothing; removing something
// moves UpdatedAt and ExpiresAt, not Version.
type Truncate struct {
	ThroughSeq int64  // the last Seq that stays; 0 clears all
	IfLastSeq  *int64 // nil: unconditional
}

// Prepare returns t validated. Errors: ErrInvalid.
func (t Truncate) Prepare() (Truncate, error) {
	if t.ThroughSeq < 0 {
		return Truncate{}, invalid("through_seq", "must not be negative")
	}
	if t.IfLastSeq != nil {
		last := *t.IfLastSeq
		if last < 0 {
			return Truncate{}, invalid("if_last_seq", "must not be negative")
		}
		t.IfLastSeq = &last
	}
	return t, nil
}

// Apply returns s as the truncate leaves it, or the error that refuses it, in the order
// of [precedence]: ErrSessionNotFound (expired), ErrSessionPaused or ErrSessionClosed,
// ErrConflict. Remaining is the number of messages with Seq <= ThroughSeq. Where it is
// MessageCount nothing changes.
func (t Truncate) Apply(s Session, remaining int64, now time.Time) (Session, error) {
	t, err := t.Prepare()
	if err != nil {
		return Session{}, err
	}
	now = normalNow(now)
	if s.Expired(now) {
		return Session{}, ErrSessionNotFound
	}
	if err := s.writable(t.IfLastSeq); err != nil {
		return Session{}, err
	}
	if remaining < s.MessageCount {
		s.MessageCount = remaining
		s.moved(now)
	}
	return s, nil
}
