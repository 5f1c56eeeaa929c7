// Package codec has the primitives of the wire form: a strict reader of JSON text, the
// scanner and compactor of values that are kept as they were spelled, and the writers
// of strings and numbers. It knows JSON and nothing of sessions.
//
// It is stricter than encoding/json in what it reads: invalid UTF-8 and an unpaired
// surrogate escape are errors wherever they stand, because a text that cannot be
// written again must not get in. And it changes less in what it writes: a value that
// nobody interprets keeps its number spellings, escapes, key order and duplicate keys.
package codec

import "strconv"

// Error says what is wrong with a JSON text and where.
type Error struct {
	Offset int // in bytes from the start of the text
	Reason string
}

func (e *Error) Error() string { return e.Reason + " at byte " + strconv.Itoa(e.Offset) }

func errAt(offset int, reason string) error { return &Error{Offset: offset, Reason: reason} }
