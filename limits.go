package sessionstore

import (
	"fmt"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"
)

// Limits, the same on every backend.
//
// [limits] 8 MiB of messages a call (summed AppendJSON length as prepared), 1,000
// messages a call, 1 MiB of metadata, system and session Extra together (also after a
// merge); beyond is ErrTooLarge, nothing written, the session usable. 20,000 messages
// in a session work.
const (
	MaxAppendBytes    = 8 << 20  // of messages a call, as [Message.AppendJSON] writes them once prepared
	MaxAppendMessages = 1000     // messages a call
	MaxStateBytes     = 1 << 20  // of a session's metadata, system and Extra together, as JSON
	MaxPageBytes      = 32 << 20 // of messages a page, as AppendJSON writes them; one message always fits
	MaxIDBytes        = 255      // of a session or message id, user or agent name, or namespace
	MaxNameBytes      = 4 << 10  // of Message.Name, ToolCallID and a tool call's id, type and name
	MaxDepth          = 100      // of nesting in one JSON value
	MaxSeq            = 1 << 52  // of the LastSeq and Version that a restore may set: what follows is exact in float64, too

	DefaultSessions = 100  // SessionQuery.Limit when 0
	MaxSessions     = 1000 // SessionQuery.Limit at most
	MaxMessages     = 1000 // MessageQuery.Limit at most, and when 0
	DefaultPurge    = 1000 // sessions that PurgeExpired removes when its limit is 0

	MaxTTL = 876_600 * time.Hour // 100 Julian years
)

// CheckID returns nil if id may be a session or message id, else an *InvalidError.
//
// [id.any] Session and message ids, user and agent names and namespaces are any valid
// UTF-8 of 1 to 255 bytes (names may be empty; Name, ToolCallID and tool names up to
// 4 KiB) without control characters (unicode.IsControl): separators, globs, braces,
// quotes, spaces, "%", "_", "..", "$", emoji, right-to-left; different ids never meet
// and no id is a pattern. Anything else is ErrInvalid.
func CheckID(id string) error { return checkID("id", id) }

// CheckName is CheckID for the other strings that follow its rule, a user id, agent name
// or namespace: it may be empty, and the error names the field.
func CheckName(field, name string) error { return checkName(field, name, MaxIDBytes) }

func checkID(field, id string) error {
	if id == "" {
		return invalid(field, "must not be empty")
	}
	return checkName(field, id, MaxIDBytes)
}

func checkName(field, s string, limit int) error {
	if len(s) > limit {
		return invalid(field, "is %d bytes long, at most %d are allowed", len(s), limit)
	}
	for i := 0; i < len(s); i++ {
		if c := s[i]; c < 0x20 || c >= 0x7f {
			return checkNameSlow(field, s)
		}
	}
	return nil
}

func checkNameSlow(field, s string) error {
	if !utf8.ValidString(s) {
		return invalid(field, "is not valid UTF-8")
	}
	for _, r := range s {
		if unicode.IsControl(r) {
			return invalid(field, "has the control character %U", r)
		}
	}
	return nil
}

func checkText(field, s string) error {
	if !utf8.ValidString(s) {
		return invalid(field, "is not valid UTF-8")
	}
	return nil
}

func (s Session) checkStateSize() error {
	if n := s.stateSize(); n > MaxStateBytes {
		return &LimitError{What: "bytes of metadata, system and extra", Limit: MaxStateBytes, Got: int64(n)}
	}
	return nil
}

func normalTTL(d time.Duration) (time.Duration, error) {
	switch {
	case d < 0:
		return 0, invalid("ttl_seconds", "must not be negative")
	case d > 0 && d < time.Microsecond:
		return 0, invalid("ttl_seconds", "must be 0 or at least one microsecond")
	case d > MaxTTL:
		return 0, invalid("ttl_seconds", "must be at most 100 years")
	}
	return d.Truncate(time.Microsecond), nil
}

// normalTime returns t in UTC, truncated to microseconds. The zero time stays.
func normalTime(field string, t time.Time) (time.Time, error) {
	if t.IsZero() {
		return time.Time{}, nil
	}
	t = t.UTC().Truncate(time.Microsecond)
	if y := t.Year(); y < 1 || y > 9999 {
		return time.Time{}, invalid(field, "year %d is not within 1 to 9999", y)
	}
	return t, nil
}

var (
	minTime = time.Date(1, 1, 1, 0, 0, 0, 1000, time.UTC)
	maxTime = time.Date(9999, 12, 31, 23, 59, 59, 999_999_000, time.UTC)
)

// normalNow is normalTime for a store's clock: one out of range is moved to the range's
// end, because a broken clock must not make a store unusable.
func normalNow(t time.Time) time.Time {
	t = t.UTC().Truncate(time.Microsecond)
	switch {
	case t.Before(minTime):
		return minTime
	case t.After(maxTime):
		return maxTime
	}
	return t
}

// expiry returns when a session last updated at t is gone: the zero time for never.
func expiry(t time.Time, ttl time.Duration) time.Time {
	if ttl == 0 {
		return time.Time{}
	}
	if e := t.Add(ttl); e.Before(maxTime) {
		return e
	}
	return maxTime
}

// newID returns a UUIDv7: made in order by one process, unique everywhere.
func newID() string {
	return uuid.Must(uuid.NewV7()).String()
}

// clip shortens what goes into an error message, never within a rune.
func clip(s string) string {
	const most = 64
	if len(s) <= most {
		return s
	}
	n := most
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return fmt.Sprintf("%s… (%d bytes)", s[:n], len(s))
}
