package sessionstore

import (
	"cmp"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"strings"
	"time"
)

// SessionQuery asks for one page of sessions. Its filters are combined with AND.
//
// [list.order] Newest UpdatedAt first, ties by ID descending; the list reflects every
// write that returned before the call (one in flight or failed may show at its old
// place, never after a delete, never with stale fields); it never transfers messages.
//
// [list.cost] No filter and UserID cost the page, not the collection; ParentID costs the
// parent's forks; AgentName and Statuses are applied while walking, with bounded work a
// call.
//
// [list.page] A walk under concurrent writes shows each session that did not change
// exactly once; a page may be short or empty with Next set; a cursor is a versioned
// (UpdatedAt, ID), works when its anchor is gone, and one that is none is ErrInvalid.
type SessionQuery struct {
	UserID, AgentName, ParentID string   // "" = any
	Statuses                    []Status // none = any
	Limit                       int      // 0 = 100; negative or more than 1,000 is ErrInvalid
	Cursor                      string   // SessionPage.Next of the page before
}

// SessionPage is one page of a list. Next is "" at the end of the walk; otherwise there
// may be more.
type SessionPage struct {
	Sessions []Session
	Next     string
}

// Prepare returns q validated, a deep copy, with its Limit set. Errors: ErrInvalid.
func (q SessionQuery) Prepare() (SessionQuery, error) {
	if err := checkName("user_id", q.UserID, MaxIDBytes); err != nil {
		return SessionQuery{}, err
	}
	if err := checkName("agent_name", q.AgentName, MaxIDBytes); err != nil {
		return SessionQuery{}, err
	}
	if err := checkName("parent_id", q.ParentID, MaxIDBytes); err != nil {
		return SessionQuery{}, err
	}
	for _, st := range q.Statuses {
		if !st.Valid() {
			return SessionQuery{}, invalid("statuses", "unknown status %q", clip(string(st)))
		}
	}
	q.Statuses = append([]Status(nil), q.Statuses...)
	switch {
	case q.Limit < 0:
		return SessionQuery{}, invalid("limit", "must not be negative")
	case q.Limit > MaxSessions:
		return SessionQuery{}, invalid("limit", "is %d, at most %d are allowed", q.Limit, MaxSessions)
	case q.Limit == 0:
		q.Limit = DefaultSessions
	}
	if _, _, err := q.After(); err != nil {
		return SessionQuery{}, err
	}
	return q, nil
}

// After returns the key that the cursor names: the page starts with the first session
// whose key is less. Without a cursor ok is false.
func (q SessionQuery) After() (k SessionKey, ok bool, err error) {
	if q.Cursor == "" {
		return SessionKey{}, false, nil
	}
	k, err = ParseCursor(q.Cursor)
	return k, err == nil, err
}

// Matches reports whether s passes the filters and is not expired. The cursor is not
// looked at.
func (q SessionQuery) Matches(s Session, now time.Time) bool {
	if s.Expired(now) ||
		q.UserID != "" && q.UserID != s.UserID ||
		q.AgentName != "" && q.AgentName != s.AgentName ||
		q.ParentID != "" && q.ParentID != s.ParentID {
		return false
	}
	if len(q.Statuses) == 0 {
		return true
	}
	for _, st := range q.Statuses {
		if st == s.Status {
			return true
		}
	}
	return false
}

// SessionKey is a session's place in a list. A list is one walk down these keys, from
// the greatest.
type SessionKey struct {
	UpdatedAt time.Time // in normal form
	ID        string
}

// Key returns the session's place in a list.
func (s Session) Key() SessionKey { return SessionKey{UpdatedAt: s.UpdatedAt, ID: s.ID} }

// Compare orders keys by UpdatedAt, then by the bytes of ID.
func (k SessionKey) Compare(o SessionKey) int {
	if c := k.UpdatedAt.Compare(o.UpdatedAt); c != 0 {
		return c
	}
	return cmp.Compare(k.ID, o.ID)
}

// String returns the key as text whose byte order is that of Compare: 16 hexadecimal
// digits of the microseconds since year 1, then the id. Stores with an ordered key space
// can use it as it is.
func (k SessionKey) String() string {
	return fmt.Sprintf("%016x%s", microsSince1(k.UpdatedAt), k.ID)
}

// Cursor returns the text that SessionQuery.Cursor takes to go on after k.
func (k SessionKey) Cursor() string {
	b := make([]byte, 1, 9+len(k.ID))
	b[0] = cursorVersion
	b = binary.BigEndian.AppendUint64(b, microsSince1(k.UpdatedAt))
	b = append(b, k.ID...)
	return base64.RawURLEncoding.EncodeToString(b)
}

const cursorVersion = 1

// ParseCursor reads what SessionKey.Cursor wrote. Errors: ErrInvalid.
func ParseCursor(cursor string) (SessionKey, error) {
	if len(cursor) > base64.RawURLEncoding.EncodedLen(9+MaxIDBytes) || strings.ContainsAny(cursor, "\r\n") {
		return SessionKey{}, invalid("cursor", "is none of this store's")
	}
	b, err := base64.RawURLEncoding.Strict().DecodeString(cursor)
	if err != nil || len(b) < 1 {
		return SessionKey{}, invalid("cursor", "is none of this store's")
	}
	if b[0] != cursorVersion {
		return SessionKey{}, invalid("cursor", "has the unknown version %d", b[0])
	}
	if len(b) < 10 {
		return SessionKey{}, invalid("cursor", "is none of this store's")
	}
	us := binary.BigEndian.Uint64(b[1:9])
	if us > microsSince1(maxTime) {
		return SessionKey{}, invalid("cursor", "is none of this store's")
	}
	id := string(b[9:])
	if CheckID(id) != nil {
		return SessionKey{}, invalid("cursor", "is none of this store's")
	}
	return SessionKey{UpdatedAt: time.UnixMicro(int64(us) + year1Micros).UTC(), ID: id}, nil
}

// year1Micros is the start of year 1 as Unix microseconds.
var year1Micros = time.Time{}.UnixMicro()

func microsSince1(t time.Time) uint64 {
	if t.IsZero() {
		return 0
	}
	return uint64(t.UnixMicro() - year1Micros)
}

// MessageQuery asks for one page of a history. The zero value asks for its first 1,000
// messages.
//
// [messages] The page has AfterSeq < Seq < BeforeSeq, ascending; Newest with Limit n
// costs n. A page holds at most 32 MiB (at least one message), and HasMore then says so.
type MessageQuery struct {
	AfterSeq, BeforeSeq int64 // exclusive; 0 = open, negative is ErrInvalid, crossed is empty
	Limit               int   // 0 = 1,000; negative or more is ErrInvalid
	Newest              bool  // take from the newest end; ascending all the same
}

// MessagePage is one page of a history and the session, as they were at one moment.
// HasMore says that there are more messages of the query, towards the end walked to.
type MessagePage struct {
	Session  Session
	Messages []Message
	HasMore  bool
}

// Prepare returns q validated and with its Limit set. Errors: ErrInvalid.
func (q MessageQuery) Prepare() (MessageQuery, error) {
	switch {
	case q.AfterSeq < 0:
		return MessageQuery{}, invalid("after_seq", "must not be negative")
	case q.BeforeSeq < 0:
		return MessageQuery{}, invalid("before_seq", "must not be negative")
	case q.Limit < 0:
		return MessageQuery{}, invalid("limit", "must not be negative")
	case q.Limit > MaxMessages:
		return MessageQuery{}, invalid("limit", "is %d, at most %d are allowed", q.Limit, MaxMessages)
	case q.Limit == 0:
		q.Limit = MaxMessages
	}
	return q, nil
}
