package sessionstore

import "time"

// Fork describes a new session that starts with the history of another.
//
// [fork] A fork is a new active session of the same agent, user, system and TTL, Version
// 1, lineage set, holding messages up to AtSeq (greater than LastSeq is ErrInvalid) with
// their Seq, ID and CreatedAt; LastSeq is ForkSeq. Any source status; the source does
// not move; the two share nothing. The child appears complete and at once, equal to the
// source at one moment during the call; its messages stay in the server where that can
// copy them. The fallback refuses (ErrUnsupported) what it cannot do right.
type Fork struct {
	ID       string   // of the child; empty: the store makes a UUIDv7
	AtSeq    *int64   // the last Seq the child holds; nil: all, 0: none
	Metadata Metadata // merged over the source's
	UserID   *string  // nil: the source's; for an anonymous conversation claimed after login
}

// Prepare returns f validated and in normal form, a deep copy. Errors: ErrInvalid,
// ErrTooLarge. An empty ID stays empty: Apply fills it in.
func (f Fork) Prepare() (Fork, error) {
	var err error
	if f.ID != "" {
		if err = checkID("session_id", f.ID); err != nil {
			return Fork{}, err
		}
	}
	if f.AtSeq != nil {
		at := *f.AtSeq
		if at < 0 {
			return Fork{}, invalid("at_seq", "must not be negative")
		}
		f.AtSeq = &at
	}
	if f.UserID != nil {
		user := *f.UserID
		if err = checkName("user_id", user, MaxIDBytes); err != nil {
			return Fork{}, err
		}
		f.UserID = &user
	}
	if len(f.Metadata) > 0 {
		if f.Metadata, err = f.Metadata.normal("metadata"); err != nil {
			return Fork{}, err
		}
		if err = (Session{Metadata: f.Metadata}).checkStateSize(); err != nil {
			return Fork{}, err
		}
	}
	return f, nil
}

// Apply returns the child of src. Count is the number of src's messages with Seq up to
// AtSeq: those the store copies. Errors: ErrInvalid, ErrSessionNotFound (src is
// expired), ErrTooLarge (after the merge of Metadata).
func (f Fork) Apply(src Session, count int64, now time.Time) (Session, error) {
	f, err := f.Prepare()
	if err != nil {
		return Session{}, err
	}
	now = normalNow(now)
	if src.Expired(now) {
		return Session{}, ErrSessionNotFound
	}
	at := src.LastSeq
	if f.AtSeq != nil {
		if at = *f.AtSeq; at > src.LastSeq {
			return Session{}, invalid("at_seq", "is %d, the last seq is %d", at, src.LastSeq)
		}
	}
	child := src.Clone()
	child.ID, child.ParentID, child.ForkSeq = f.ID, src.ID, at
	if child.ID == "" {
		child.ID = newID()
	}
	if f.UserID != nil {
		child.UserID = *f.UserID
	}
	for k, v := range f.Metadata {
		child.Metadata[k] = v
	}
	if err := child.checkStateSize(); err != nil {
		return Session{}, err
	}
	child.Status, child.Version = StatusActive, 1
	child.LastSeq, child.MessageCount = at, count
	child.CreatedAt, child.UpdatedAt = now, time.Time{}
	child.moved(now)
	return child, nil
}
