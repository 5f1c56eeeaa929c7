package codec

import (
	"strings"
	"unsafe"
)

// Reader reads one JSON text, value by value. After an error it must not be used.
//
// Every string that it returns, but for a Key, is a copy. Short ones are copied next to each other, so
// that a record costs few allocations; chunk bounds how much memory one of them can
// keep from being freed.
type Reader struct {
	s     string
	i     int
	first bool            // in the innermost array or object, nothing was read yet
	key   string          // the last key as it is spelled, a part of s
	kept  strings.Builder // short strings that were returned, never grown
}

const chunk = 1 << 10

// NewReader returns a reader of text.
func NewReader(text string) Reader { return Reader{s: text} }

// NewBytesReader returns a reader of text, which must not change while it is read.
func NewBytesReader(text []byte) Reader { return Reader{s: view(text)} }

// view returns b as a string without a copy. It must not outlive the call that b came
// with, and nothing that is returned may be a part of it.
func view(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// keep returns a copy of s.
func (r *Reader) keep(s string) string {
	if len(s) > chunk/2 {
		return strings.Clone(s)
	}
	r.reserve(len(s))
	start := r.kept.Len()
	r.kept.WriteString(s)
	return r.kept.String()[start:]
}

// keepUnquoted is keep for the body of a string with escapes.
func (r *Reader) keepUnquoted(s string) string {
	if len(s) > chunk/2 {
		var b strings.Builder
		b.Grow(len(s))
		unquote(&b, s)
		return b.String()
	}
	r.reserve(len(s))
	start := r.kept.Len()
	unquote(&r.kept, s)
	return r.kept.String()[start:]
}

// reserve makes room for n bytes without moving those that are there.
func (r *Reader) reserve(n int) {
	if r.kept.Cap()-r.kept.Len() < n {
		r.kept = strings.Builder{}
		r.kept.Grow(max(n, min(len(r.s)-r.i, chunk)))
	}
}

// Offset returns where the next value begins, for [Reader.Seek].
func (r *Reader) Offset() int {
	r.Peek()
	return r.i
}

// Seek goes to an offset: that of a value read before, to read it again, or one behind
// it, to go on.
func (r *Reader) Seek(offset int) {
	r.i, r.first = offset, false
}

// Peek returns the first byte of the next value, or 0 at the end.
func (r *Reader) Peek() byte {
	r.i = skipSpace(r.s, r.i)
	if r.i < len(r.s) {
		return r.s[r.i]
	}
	return 0
}

// End returns an error if anything but white space is left.
func (r *Reader) End() error {
	if r.Peek() != 0 || r.i < len(r.s) {
		return errAt(r.i, "unexpected data after the value")
	}
	return nil
}

// Null consumes a null if that comes next and reports whether it did.
func (r *Reader) Null() bool {
	if r.Peek() != 'n' {
		return false
	}
	end, err := scanWord(r.s, r.i, "null")
	if err != nil {
		return false
	}
	r.i = end
	return true
}

// Object enters an object. Its keys are then read with NextKey or Key.
func (r *Reader) Object() error { return r.enter('{', "an object") }

// Array enters an array. Its elements are then found with Next.
func (r *Reader) Array() error { return r.enter('[', "an array") }

func (r *Reader) enter(c byte, name string) error {
	if r.Peek() != c {
		return r.mismatch(name)
	}
	r.i++
	r.first = true
	return nil
}

// Next reports whether the array has another element, which must then be read.
// Otherwise the array has been left.
func (r *Reader) Next() (bool, error) { return r.more(']') }

// Key is a key that may be a part of the text: compare it, but keep only what
// [Reader.Keep] makes of it.
type Key string

// NextKey returns the next key of the object, whose value must then be read. Without
// another key, ok is false and the object has been left.
func (r *Reader) NextKey() (key Key, ok bool, err error) {
	if ok, err = r.more('}'); !ok || err != nil {
		return "", false, err
	}
	if r.Peek() != '"' {
		return "", false, errAt(r.i, "missing key")
	}
	start := r.i + 1
	end, escaped, err := scanString(r.s, start)
	if err != nil {
		return "", false, err
	}
	r.key = r.s[start-1 : end+1]
	key = Key(r.s[start:end])
	if escaped {
		key = Key(r.keepUnquoted(string(key)))
	}
	r.i = end + 1
	if r.Peek() != ':' {
		return "", false, errAt(r.i, "missing colon")
	}
	r.i++
	return key, true, nil
}

// Keep returns a copy of key.
func (r *Reader) Keep(key Key) string { return r.keep(string(key)) }

// Key is NextKey with a copy of the key.
func (r *Reader) Key() (key string, ok bool, err error) {
	k, ok, err := r.NextKey()
	if !ok || err != nil {
		return "", false, err
	}
	return r.keep(string(k)), true, nil
}

// AppendKey appends the last key that was returned as it is spelled, with its quotes.
func (r *Reader) AppendKey(dst []byte) []byte { return append(dst, r.key...) }

func (r *Reader) more(end byte) (bool, error) {
	c := r.Peek()
	first := r.first
	r.first = false
	switch {
	case c == end:
		r.i++
		return false, nil
	case first:
		return true, nil
	case c == ',':
		r.i++
		return true, nil
	}
	return false, errAt(r.i, "unexpected character")
}

// String reads a string and resolves its escapes.
func (r *Reader) String() (string, error) {
	if r.Peek() != '"' {
		return "", r.mismatch("a string")
	}
	start := r.i + 1
	end, escaped, err := scanString(r.s, start)
	if err != nil {
		return "", err
	}
	r.i = end + 1
	if escaped {
		return r.keepUnquoted(r.s[start:end]), nil
	}
	return r.keep(r.s[start:end]), nil
}

// Number reads a number and returns it as it is spelled.
func (r *Reader) Number() (string, error) {
	if c := r.Peek(); c != '-' && c-'0' > 9 {
		return "", r.mismatch("a number")
	}
	start := r.i
	end, err := scanNumber(r.s, start)
	if err != nil {
		return "", err
	}
	r.i = end
	return r.keep(r.s[start:end]), nil
}

// Bool reads true or false.
func (r *Reader) Bool() (bool, error) {
	word := "true"
	switch r.Peek() {
	case 't':
	case 'f':
		word = "false"
	default:
		return false, r.mismatch("true or false")
	}
	end, err := scanWord(r.s, r.i, word)
	if err != nil {
		return false, err
	}
	r.i = end
	return word == "true", nil
}

// Raw reads any value and returns it as [Compact] writes it.
func (r *Reader) Raw(levels int) (string, error) {
	text, spaced, err := r.value(levels)
	if err == nil && spaced {
		return string(appendSpaceless(make([]byte, 0, len(text)), text)), nil
	}
	return r.keep(text), err
}

// Exact reads any value and returns it exactly as it is spelled, with the white space
// inside.
func (r *Reader) Exact(levels int) (string, error) {
	text, _, err := r.value(levels)
	return r.keep(text), err
}

// Skip checks any value and passes over it.
func (r *Reader) Skip(levels int) error {
	_, _, err := r.value(levels)
	return err
}

func (r *Reader) value(levels int) (text string, spaced bool, err error) {
	r.Peek()
	c := scanner{s: r.s}
	end, err := c.value(r.i, levels)
	if err != nil {
		return "", false, err
	}
	text = r.s[r.i:end]
	r.i = end
	return text, c.spaced, nil
}

// mismatch says that the next value is not what is wanted.
func (r *Reader) mismatch(want string) error {
	got := "an unexpected character"
	switch c := r.Peek(); {
	case r.i >= len(r.s):
		got = "the end"
	case c == '"':
		got = "a string"
	case c == '{':
		got = "an object"
	case c == '[':
		got = "an array"
	case c == 't', c == 'f':
		got = "true or false"
	case c == 'n':
		got = "null"
	case c == '-', c-'0' <= 9:
		got = "a number"
	}
	return errAt(r.i, "want "+want+", got "+got)
}
