package sessionstore

import (
	"time"

	"github.com/sessionstore/sessionstore/internal/codec"
)

// sessionKey reports whether k is the key of a field of Session.
func sessionKey(k string) bool {
	switch k {
	case "session_id", "agent_name", "user_id", "status", "system", "metadata", "ttl_seconds",
		"parent_id", "fork_seq", "created_at", "updated_at", "expires_at", "last_seq",
		"message_count", "version":
		return true
	}
	return false
}

// AppendJSON appends the wire form of s to dst: canonical, so that equal sessions are
// equal bytes, and never HTML-escaped. What is not in normal form yet is written as if
// it were. Errors: ErrInvalid, for what has no wire form; dst may then have grown.
//
// json.Marshal escapes <, > and & in whatever MarshalJSON returns; use AppendJSON in
// tools.
func (s Session) AppendJSON(dst []byte) ([]byte, error) {
	if s.Status == "" {
		s.Status = StatusActive
	}
	dst, err := appendString(append(dst, `{"session_id":`...), "session_id", s.ID)
	if err != nil {
		return dst, err
	}
	if dst, err = appendMember(dst, "agent_name", s.AgentName); err != nil {
		return dst, err
	}
	if s.UserID != "" {
		if dst, err = appendMember(dst, "user_id", s.UserID); err != nil {
			return dst, err
		}
	}
	if dst, err = appendMember(dst, "status", string(s.Status)); err != nil {
		return dst, err
	}
	if s.System != "" {
		if dst, err = appendMember(dst, "system", s.System); err != nil {
			return dst, err
		}
	}
	if dst, err = appendObject(append(dst, `,"metadata":`...), "metadata", s.Metadata, MaxDepth); err != nil {
		return dst, err
	}
	if s.TTL != 0 {
		dst = codec.AppendNanos(appendKey(dst, "ttl_seconds"), int64(s.TTL))
	}
	if s.ParentID != "" {
		if dst, err = appendMember(dst, "parent_id", s.ParentID); err != nil {
			return dst, err
		}
	}
	dst = appendInt(dst, "fork_seq", s.ForkSeq)
	if dst, err = appendTimeOrNull(dst, "created_at", s.CreatedAt); err != nil {
		return dst, err
	}
	if dst, err = appendTimeOrNull(dst, "updated_at", s.UpdatedAt); err != nil {
		return dst, err
	}
	if !s.ExpiresAt.IsZero() {
		if dst, err = appendTimeOrNull(dst, "expires_at", s.ExpiresAt); err != nil {
			return dst, err
		}
	}
	dst = appendInt(dst, "last_seq", s.LastSeq)
	dst = appendInt(dst, "message_count", s.MessageCount)
	dst = appendInt(dst, "version", s.Version)
	if dst, err = appendExtra(dst, "", s.Extra, sessionKey); err != nil {
		return dst, err
	}
	return append(dst, '}'), nil
}

// DecodeSession reads one session, in any form that the wire form allows, into normal
// form. It keeps nothing of b. Whether a store takes the session is not judged here:
// status, lengths and limits are for [Session.Create]. Errors: ErrInvalid.
func DecodeSession(b []byte) (Session, error) {
	r := newBytesReader(b)
	if err := r.Object(); err != nil {
		return Session{}, badJSON("session", err)
	}
	s := Session{}
	for {
		key, ok, err := r.NextKey()
		if err != nil {
			return Session{}, badJSON("session", err)
		}
		if !ok {
			break
		}
		switch key {
		case "session_id":
			s.ID, err = r.string("session_id")
		case "agent_name":
			s.AgentName, err = r.string("agent_name")
		case "user_id":
			s.UserID, err = r.string("user_id")
		case "status":
			s.Status, err = r.status("status")
		case "system":
			s.System, err = r.string("system")
		case "metadata":
			s.Metadata, err = r.metadata("metadata")
		case "ttl_seconds":
			s.TTL, err = r.seconds("ttl_seconds")
		case "parent_id":
			s.ParentID, err = r.string("parent_id")
		case "fork_seq":
			s.ForkSeq, err = r.int("fork_seq")
		case "created_at":
			s.CreatedAt, err = r.time("created_at")
		case "updated_at":
			s.UpdatedAt, err = r.time("updated_at")
		case "expires_at":
			s.ExpiresAt, err = r.time("expires_at")
		case "last_seq":
			s.LastSeq, err = r.int("last_seq")
		case "message_count":
			s.MessageCount, err = r.int("message_count")
		case "version":
			s.Version, err = r.int("version")
		default:
			s.Extra, err = r.extraValue("", r.Keep(key), s.Extra)
		}
		if err != nil {
			return Session{}, err
		}
	}
	if err := r.end("session"); err != nil {
		return Session{}, err
	}
	if s.Status == "" {
		s.Status = StatusActive
	}
	if s.Metadata == nil {
		s.Metadata = Metadata{}
	}
	return s, nil
}

// MarshalJSON is AppendJSON for encoding/json.
func (s Session) MarshalJSON() ([]byte, error) { return s.AppendJSON(nil) }

// UnmarshalJSON replaces s by what DecodeSession reads. As encoding/json has it, null
// changes nothing.
func (s *Session) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		return nil
	}
	v, err := DecodeSession(b)
	if err == nil {
		*s = v
	}
	return err
}

// status reads a status. The known ones are not kept as parts of the text.
func (r *reader) status(field string) (Status, error) {
	s, err := r.string(field)
	switch Status(s) {
	case StatusActive:
		return StatusActive, err
	case StatusPaused:
		return StatusPaused, err
	case StatusClosed:
		return StatusClosed, err
	}
	return Status(s), err
}

// seconds reads a number of seconds exactly, cut off below the nanosecond; null is 0.
func (r *reader) seconds(field string) (time.Duration, error) {
	if r.Null() {
		return 0, nil
	}
	s, err := r.Number()
	if err != nil {
		return 0, badJSON(field, err)
	}
	n, ok := codec.ParseNanos(s)
	if !ok {
		return 0, invalid(field, "%s is out of range", clip(s))
	}
	return time.Duration(n), nil
}

// stateSize is what MaxStateBytes bounds: the bytes of metadata, system and Extra as
// AppendJSON writes them. What cannot be written counts as far as it was.
func (s Session) stateSize() int {
	b, _ := appendObject(nil, "metadata", s.Metadata, MaxDepth)
	n := len(b)
	if s.System != "" {
		b, _ = appendString(b[:0], "system", s.System)
		n += len(b)
	}
	b, _ = appendExtra(b[:0], "", s.Extra, sessionKey)
	return n + len(b)
}
