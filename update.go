package sessionstore

import "time"

// SessionUpdate changes a session's own state. A nil pointer leaves its field alone.
//
// [update.merge] Metadata merges per top-level key inside the store: concurrent updates
// of different keys all survive; a key both set and deleted is ErrInvalid; nil is
// stored as null.
//
// [update.version] Version grows by one with each update that changes something, never
// by an append; a wrong IfVersion changes nothing and is ErrConflict; an update that
// changes nothing moves nothing.
//
// [lifecycle] Active and paused change into each other; active and paused change into
// closed; closed is final; to the current state is no change. Anything else is
// ErrInvalidTransition, decided inside the store's atomic step: racing transitions show
// one legal order. Paused: everything else is settable. Closed: metadata, TTL, Touch;
// another AgentName or System is ErrSessionClosed.
type SessionUpdate struct {
	IfVersion      int64 // 0: unconditional
	Status         *Status
	AgentName      *string // hand-off to another agent
	System         *string
	TTL            *time.Duration // the new expiry counts from this update
	SetMetadata    Metadata       // merged, top-level key by key
	DeleteMetadata []string       // keys that are not there are no change
	Touch          bool           // keep alive: moves UpdatedAt and ExpiresAt, not Version
}

// Prepare returns u validated and in normal form, a deep copy. Errors: ErrInvalid,
// ErrTooLarge. A store calls it before it reads the record.
func (u SessionUpdate) Prepare() (SessionUpdate, error) {
	var err error
	if u.IfVersion < 0 {
		return SessionUpdate{}, invalid("if_version", "must not be negative")
	}
	if u.Status != nil {
		st := *u.Status
		if !st.Valid() {
			return SessionUpdate{}, invalid("status", "unknown status %q", clip(string(st)))
		}
		u.Status = &st
	}
	if u.AgentName != nil {
		name := *u.AgentName
		if err = checkName("agent_name", name, MaxIDBytes); err != nil {
			return SessionUpdate{}, err
		}
		u.AgentName = &name
	}
	if u.System != nil {
		sys := *u.System
		if err = checkText("system", sys); err != nil {
			return SessionUpdate{}, err
		}
		u.System = &sys
	}
	if u.TTL != nil {
		ttl, err := normalTTL(*u.TTL)
		if err != nil {
			return SessionUpdate{}, err
		}
		u.TTL = &ttl
	}
	for _, k := range u.DeleteMetadata {
		if err = checkText("delete_metadata", k); err != nil {
			return SessionUpdate{}, err
		}
		if _, ok := u.SetMetadata[k]; ok {
			return SessionUpdate{}, invalid("delete_metadata", "key %q is also set", clip(k))
		}
	}
	if len(u.DeleteMetadata) > 0 {
		u.DeleteMetadata = append([]string(nil), u.DeleteMetadata...)
	}
	if len(u.SetMetadata) > 0 {
		if u.SetMetadata, err = u.SetMetadata.normal("set_metadata"); err != nil {
			return SessionUpdate{}, err
		}
	}
	// What is larger than the limit by itself can be told before the record is read.
	part := Session{Metadata: u.SetMetadata}
	if u.System != nil {
		part.System = *u.System
	}
	if err = part.checkStateSize(); err != nil {
		return SessionUpdate{}, err
	}
	return u, nil
}

// Apply returns s as the update leaves it, or the error that refuses it, in the order of
// [precedence]: ErrSessionNotFound (expired), ErrConflict, ErrInvalidTransition,
// ErrSessionClosed, ErrTooLarge. It validates u too; s is not touched. Where the result
// equals s, the update changes nothing and nothing need be written.
func (u SessionUpdate) Apply(s Session, now time.Time) (Session, error) {
	u, err := u.Prepare()
	if err != nil {
		return Session{}, err
	}
	now = normalNow(now)
	if s.Expired(now) {
		return Session{}, ErrSessionNotFound
	}
	if u.IfVersion != 0 && u.IfVersion != s.Version {
		return Session{}, &ConflictError{Field: "version", Expected: u.IfVersion, Actual: s.Version}
	}
	out := s.Clone()
	changed := false
	if u.Status != nil && *u.Status != s.Status {
		if s.Status == StatusClosed {
			return Session{}, ErrInvalidTransition
		}
		out.Status, changed = *u.Status, true
	}
	if u.AgentName != nil && *u.AgentName != s.AgentName {
		if s.Status == StatusClosed {
			return Session{}, ErrSessionClosed
		}
		out.AgentName, changed = *u.AgentName, true
	}
	if u.System != nil && *u.System != s.System {
		if s.Status == StatusClosed {
			return Session{}, ErrSessionClosed
		}
		out.System, changed = *u.System, true
	}
	if u.TTL != nil && *u.TTL != s.TTL {
		out.TTL, changed = *u.TTL, true
	}
	for k, v := range u.SetMetadata {
		if old, ok := s.Metadata[k]; !ok || !equalValue(old, v) {
			out.Metadata[k], changed = v, true
		}
	}
	for _, k := range u.DeleteMetadata {
		if _, ok := out.Metadata[k]; ok {
			delete(out.Metadata, k)
			changed = true
		}
	}
	if changed {
		if err := out.checkStateSize(); err != nil {
			return Session{}, err
		}
		out.Version++
	}
	if changed || u.Touch {
		out.moved(now)
	}
	return out, nil
}
