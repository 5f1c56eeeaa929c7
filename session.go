package sessionstore

import (
	"encoding/json"
	"time"
)

// Status is the state of a session's lifecycle.
type Status string

// The three states. A session is created in any of them; [SessionUpdate] has the
// transitions between them.
const (
	StatusActive Status = "active" // takes messages
	StatusPaused Status = "paused" // takes none until it is active again
	StatusClosed Status = "closed" // final: takes none ever again
)

// Valid reports whether s is one of the three states.
func (s Status) Valid() bool {
	return s == StatusActive || s == StatusPaused || s == StatusClosed
}

// Session is a conversation binding a user to an agent. It marshals to, and reads,
// the JSON object whose keys the comments name.
//
// A struct that embeds Session is marshalled as the Session alone, because MarshalJSON
// is promoted: keep it in a named field instead.
type Session struct {
	ID        string        // session_id; see CheckID; empty on input: the store makes a UUIDv7
	AgentName string        // agent_name; see CheckID, or empty
	UserID    string        // user_id; the owner, immutable; see CheckID, or empty
	Status    Status        // status; empty on input: active
	System    string        // system; instructions: configuration, never part of the history; see MaxStateBytes
	Metadata  Metadata      // metadata; see MaxStateBytes
	TTL       time.Duration // ttl_seconds (may be fractional); 0: never expires; at least 1 µs, at most MaxTTL
	ParentID  string        // parent_id; with ForkSeq: where a fork came from
	ForkSeq   int64         // fork_seq
	CreatedAt time.Time     // created_at; from the input when not zero; UTC, cut to microseconds, years 1 to 9999

	// Kept by the store, ignored on input.

	UpdatedAt    time.Time // updated_at; never moves back
	ExpiresAt    time.Time // expires_at; UpdatedAt + TTL, zero when TTL is 0
	LastSeq      int64     // last_seq; the Seq given out last, also after a truncate
	MessageCount int64     // message_count
	Version      int64     // version; of the session's own state, not of its messages

	// Extra holds unknown keys, so that a newer writer's fields survive an older one.
	// A key that names a modelled one is ErrInvalid.
	Extra map[string]json.RawMessage
}

// Prepare returns the input of CreateSession validated and in normal form, a deep copy,
// with an ID filled in and nothing of what the store keeps. Errors: ErrInvalid,
// ErrTooLarge. A store calls it before it takes a lock or reads anything, because the
// methods that metadata may be marshalled by are the caller's code; then [Session.Create]
// inside its atomic step.
func (s Session) Prepare() (Session, error) {
	out, err := s.prepared()
	if err != nil {
		return Session{}, err
	}
	if out.ID == "" {
		out.ID = newID()
	}
	out.UpdatedAt, out.ExpiresAt = time.Time{}, time.Time{}
	out.LastSeq, out.MessageCount, out.Version = 0, 0, 0
	return out, nil
}

// Create returns the record that CreateSession stores for the input s at the time now:
// what Prepare returns, with the store-kept fields set. Errors: those of Prepare. Whether
// the id is in use is for the store to decide.
func (s Session) Create(now time.Time) (Session, error) {
	out, err := s.Prepare()
	if err != nil {
		return Session{}, err
	}
	now = normalNow(now)
	if out.CreatedAt.IsZero() {
		out.CreatedAt = now
	}
	out.Version = 1
	out.moved(now)
	return out, nil
}

// Expired reports whether the session is gone at the time now, which is that of the
// store's own clock.
//
// [expire] A session is expired when !now.Before(ExpiresAt) by the store's Now: from
// then on session and messages are gone for every method, all at once, and the id is
// free. Appends, truncates, changing updates and Touch slide ExpiresAt; reads do not.
// TTL is truncated to microseconds; negative, above 0 but below 1 µs, or above 100
// years is ErrInvalid. Server-side TTLs are never the rule; at most they clean up,
// later. PurgeExpired returns how many sessions it removed.
func (s Session) Expired(now time.Time) bool {
	return !s.ExpiresAt.IsZero() && !now.Before(s.ExpiresAt)
}

// Clone returns a deep copy that shares nothing with s.
func (s Session) Clone() Session {
	s.Metadata = s.Metadata.Clone()
	s.Extra = cloneExtra(s.Extra)
	return s
}

// prepared validates the fields that a caller sets and returns them in normal form.
func (s Session) prepared() (Session, error) {
	var err error
	if s.ID != "" {
		if err = checkID("session_id", s.ID); err != nil {
			return Session{}, err
		}
	}
	if err = checkName("agent_name", s.AgentName, MaxIDBytes); err != nil {
		return Session{}, err
	}
	if err = checkName("user_id", s.UserID, MaxIDBytes); err != nil {
		return Session{}, err
	}
	if s.Status == "" {
		s.Status = StatusActive
	}
	if !s.Status.Valid() {
		return Session{}, invalid("status", "unknown status %q", clip(string(s.Status)))
	}
	if err = checkText("system", s.System); err != nil {
		return Session{}, err
	}
	if s.TTL, err = normalTTL(s.TTL); err != nil {
		return Session{}, err
	}
	if s.ForkSeq < 0 {
		return Session{}, invalid("fork_seq", "must not be negative")
	}
	if s.ParentID != "" {
		if err = checkID("parent_id", s.ParentID); err != nil {
			return Session{}, err
		}
	} else if s.ForkSeq != 0 {
		return Session{}, invalid("fork_seq", "needs a parent_id")
	}
	if s.CreatedAt, err = normalTime("created_at", s.CreatedAt); err != nil {
		return Session{}, err
	}
	if s.Metadata, err = s.Metadata.normal("metadata"); err != nil {
		return Session{}, err
	}
	if s.Extra, err = normalExtra("", s.Extra, sessionKey); err != nil {
		return Session{}, err
	}
	if err = s.checkStateSize(); err != nil {
		return Session{}, err
	}
	return s, nil
}

// moved records that the session was touched at now. UpdatedAt never moves back.
func (s *Session) moved(now time.Time) {
	if now.After(s.UpdatedAt) {
		s.UpdatedAt = now
	}
	s.ExpiresAt = expiry(s.UpdatedAt, s.TTL)
}
