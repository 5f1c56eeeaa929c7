package formats

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"iter"
	"slices"
	"strings"
	"unicode/utf8"
	"unsafe"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/internal/codec"
)

// maxRecordDepth leaves a value of the depth that a store accepts some levels around it.
const maxRecordDepth = sessionstore.MaxDepth + 8

// check returns nil if text is one JSON value, no deeper than maxRecordDepth, whose
// strings are all valid Unicode. The functions below take such text only.
func check(text string) error {
	if len(text) > MaxRecordValues {
		if n := countValues(text); n > MaxRecordValues {
			return &sessionstore.LimitError{What: "values in a record", Limit: MaxRecordValues, Got: int64(n)}
		}
	}
	r := codec.NewReader(text)
	err := r.Skip(maxRecordDepth)
	if err == nil {
		err = r.End()
	}
	if err != nil {
		return &sessionstore.InvalidError{Field: "record", Reason: err.Error()}
	}
	return nil
}

// countValues returns how many values text has, if it is JSON: each but the first of an
// array or object follows a comma.
func countValues(text string) int {
	n, inString := 1, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			inString = !inString
		case inString:
			if c == '\\' {
				i++
			}
		case c == ',' || c == '[' || c == '{':
			n++
		}
	}
	return n
}

func invalid(field, reason string) error {
	return &sessionstore.InvalidError{Field: field, Reason: reason}
}

type member struct{ key, value string }

// object holds the members of a JSON object in their order, the values as they are
// spelled: parts of the record's text.
type object []member

// parseObject returns false if text is another value.
func parseObject(text string) (object, bool) {
	r := codec.NewReader(text)
	if r.Object() != nil {
		return nil, false
	}
	o := object{}
	for {
		key, ok, err := r.Key()
		if err != nil || !ok {
			return o, err == nil
		}
		value, err := nextValue(&r, text)
		if err != nil {
			return nil, false
		}
		o = append(o, member{key, value})
	}
}

// nextValue returns the part of text, which r reads, that is the next value.
func nextValue(r *codec.Reader, text string) (string, error) {
	start := r.Offset()
	if err := r.Skip(maxRecordDepth); err != nil {
		return "", err
	}
	return strings.TrimRight(text[start:r.Offset()], " \t\r\n"), nil
}

// get returns the value of a key, the last one where it is there twice. A null counts as
// absent, and what is absent is "".
func (o object) get(key string) string {
	for _, m := range slices.Backward(o) {
		if m.key == key {
			if m.value == "null" {
				return ""
			}
			return m.value
		}
	}
	return ""
}

// has reports whether the key is there, be it null.
func (o object) has(key string) bool {
	return slices.ContainsFunc(o, func(m member) bool { return m.key == key })
}

// without returns the object as JSON less some keys, or nil if nothing is left.
func (o object) without(keys ...string) json.RawMessage {
	var out []byte
	for _, m := range o {
		if slices.Contains(keys, m.key) {
			continue
		}
		if out == nil {
			out = append(out, '{')
		} else {
			out = append(out, ',')
		}
		out, _ = codec.AppendString(out, m.key)
		out = append(out, ':')
		out = append(out, m.value...)
	}
	if out == nil {
		return nil
	}
	return append(out, '}')
}

// text returns the string that the value of a key is; ok is false for another value, and
// true with "" for one that is absent.
func (o object) text(key string) (s string, ok bool) {
	value := o.get(key)
	if value == "" {
		return "", true
	}
	return unquote(value)
}

// elements ranges over the values of a JSON array, and over nothing if text is another
// value.
func elements(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		r := codec.NewReader(text)
		if r.Array() != nil {
			return
		}
		for {
			more, err := r.Next()
			if err != nil || !more {
				return
			}
			value, err := nextValue(&r, text)
			if err != nil || !yield(value) {
				return
			}
		}
	}
}

func isArray(text string) bool { return strings.HasPrefix(text, "[") }

// unquote returns the text of a JSON string; false for another value.
func unquote(text string) (string, bool) {
	r := codec.NewReader(text)
	s, err := r.String()
	return s, err == nil
}

// decodeMessage is sessionstore.DecodeMessage, which neither changes nor keeps its
// argument, without a copy of the text.
func decodeMessage(text string) (sessionstore.Message, error) {
	return sessionstore.DecodeMessage(bytesOf(text))
}

// bytesOf returns text as bytes, without a copy, for what only reads them.
func bytesOf(text string) []byte { return unsafe.Slice(unsafe.StringData(text), len(text)) }

// digest writes the content of a JSON value so that values which say the same write the
// same: white space, the order of keys and the way characters are escaped do not count,
// of duplicate keys the last does. Numbers count as they are spelled.
func digest(w *bufio.Writer, text string) {
	if o, ok := parseObject(text); ok {
		slices.SortStableFunc(o, func(a, b member) int { return strings.Compare(a.key, b.key) })
		w.WriteByte('{')
		for i, m := range o {
			if i+1 < len(o) && o[i+1].key == m.key {
				continue
			}
			digestString(w, m.key)
			digest(w, m.value)
		}
		w.WriteByte('}')
		return
	}
	if isArray(text) {
		w.WriteByte('[')
		for v := range elements(text) {
			digest(w, v)
		}
		w.WriteByte(']')
		return
	}
	if s, ok := unquote(text); ok {
		digestString(w, s)
		return
	}
	w.WriteString(text)
	w.WriteByte(',')
}

// digestString writes a string with its length before it, so that it cannot be mistaken
// for what stands around it.
func digestString(w *bufio.Writer, s string) {
	var head [9]byte
	head[0] = '"'
	binary.BigEndian.PutUint64(head[1:], uint64(len(s)))
	w.Write(head[:])
	w.WriteString(s)
}

// clip shortens what goes into an error message, never within a character.
func clip(s string) string {
	const most = 64
	if len(s) <= most {
		return s
	}
	n := most
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}
