package redis

import (
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"
	"time"

	"github.com/sessionstore/sessionstore"
)

// format is the version of the layout, of the namespace and of each session's hash. Data
// of another one is refused, never rewritten.
const format = "1"

// prefix begins every key.
const prefix = "sessionstore:"

// names makes the keys of a namespace.
type names struct{ namespace string } // escaped

func newNames(namespace string) names { return names{escape(namespace)} }

// meta is the key of the namespace's format and number of shards.
func (n names) meta() string { return prefix + "meta:" + n.namespace }

// tag begins the keys of a shard. What is in the braces is all that Redis Cluster hashes,
// so they share a slot.
func (n names) tag(shard int) string {
	return fmt.Sprintf("%s{%s:%02d}:", prefix, n.namespace, shard)
}

// escape writes all but letters, digits and -._~ as %XX, so that no id is a pattern, ends a
// hash tag or meets another key. Letters beyond ASCII stay readable.
func escape(id string) string {
	const hex = "0123456789ABCDEF"
	plain := func(c byte) bool {
		return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' ||
			c == '-' || c == '.' || c == '_' || c == '~' || c >= 0x80
	}
	n := 0
	for i := range len(id) {
		if !plain(id[i]) {
			n++
		}
	}
	if n == 0 {
		return id
	}
	out := make([]byte, 0, len(id)+2*n)
	for i := range len(id) {
		if c := id[i]; plain(c) {
			out = append(out, c)
		} else {
			out = append(out, '%', hex[c>>4], hex[c&15])
		}
	}
	return string(out)
}

// space is a namespace whose number of shards is known.
type space struct {
	tags []string // one a shard
}

func (sp *space) shard(id string) int {
	if len(sp.tags) == 1 {
		return 0
	}
	h := fnv.New32a()
	h.Write([]byte(id))
	return int(h.Sum32() % uint32(len(sp.tags)))
}

// keys returns the session's hash, messages and ids, and its shard's index and expiry.
func (sp *space) keys(id string) []string {
	tag := sp.tags[sp.shard(id)]
	key := escape(id)
	return []string{tag + "s:" + key, tag + "m:" + key, tag + "i:" + key, tag + "index", tag + "expiry"}
}

func (sp *space) session(id string) string { return sp.tags[sp.shard(id)] + "s:" + escape(id) }

// staged returns the shard's register of staged messages, and those of a token.
func (sp *space) staged(shard int, token string) []string {
	tag := sp.tags[shard]
	return []string{tag + "staged", tag + "sm:" + token, tag + "si:" + token}
}

// year1 is the start of year 1, as Unix microseconds.
var year1 = time.Time{}.UnixMicro()

const (
	minStamp   = 1
	maxStamp   = 315_537_897_599_999_999 // the last microsecond of year 9999
	stampWidth = 18
)

// stamp writes a time as the scripts compare it: microseconds since year 1, in 18 digits.
// A time out of range, which a broken clock may give, is moved to the range's end.
func stamp(t time.Time) string {
	us := t.UnixMicro() - year1
	switch {
	case t.Year() < 1:
		us = minStamp
	case t.Year() > 9999:
		us = maxStamp
	}
	return fmt.Sprintf("%018d", us)
}

// stampOrNone writes the zero time as "".
func stampOrNone(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return stamp(t)
}

func parseStamp(s string) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	us, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return time.Time{}, errDamaged
	}
	return time.UnixMicro(us + year1).UTC(), nil
}

// Members of the index are the kind, the owner for all but the first, a line feed, which
// no name contains, the stamp of UpdatedAt and the id.
const (
	byTime   = "a"
	byUser   = "u"
	byParent = "p"
)

// place is a session's place in the index.
type place struct {
	sessionstore.SessionKey
	text string // stamp and id, in the order of the keys
}

func parsePlace(member string) (place, error) {
	_, text, ok := strings.Cut(member, "\n")
	if !ok || len(text) <= stampWidth {
		return place{}, errDamaged
	}
	t, err := parseStamp(text[:stampWidth])
	if err != nil {
		return place{}, err
	}
	return place{sessionstore.SessionKey{UpdatedAt: t, ID: text[stampWidth:]}, text}, nil
}
