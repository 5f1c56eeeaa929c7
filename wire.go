package sessionstore

import (
	"strconv"

	"github.com/sessionstore/sessionstore/internal/codec"
)

// reader reads the wire form. Its methods name the field in their errors.
type reader struct{ codec.Reader }

func newBytesReader(text []byte) reader { return reader{codec.NewBytesReader(text)} }

func newReader(text string) reader { return reader{codec.NewReader(text)} }

// badJSON says that a field's JSON cannot be read.
func badJSON(field string, err error) error {
	return &InvalidError{Field: field, Reason: err.Error()}
}

func (r *reader) end(field string) error {
	if err := r.End(); err != nil {
		return badJSON(field, err)
	}
	return nil
}

func (r *reader) null(field string) error {
	if !r.Null() {
		return invalid(field, "is no JSON value")
	}
	return nil
}

func (r *reader) skip(field string) error {
	if err := r.Skip(MaxDepth); err != nil {
		return badJSON(field, err)
	}
	return nil
}

// string reads a string; null is the empty one.
func (r *reader) string(field string) (string, error) {
	if r.Null() {
		return "", nil
	}
	s, err := r.String()
	if err != nil {
		return "", badJSON(field, err)
	}
	return s, nil
}

// int reads an integer; null is 0.
func (r *reader) int(field string) (int64, error) {
	if r.Null() {
		return 0, nil
	}
	s, err := r.Number()
	if err != nil {
		return 0, badJSON(field, err)
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return 0, invalid(field, "%s is not an integer of 64 bits", clip(s))
	}
	return n, nil
}

// appendString appends s as a JSON string.
func appendString(dst []byte, field, s string) ([]byte, error) {
	dst, valid := codec.AppendString(dst, s)
	if !valid {
		return dst, invalid(field, "is not valid UTF-8")
	}
	return dst, nil
}

// appendMember appends a comma, the key, which needs no escapes, and a string.
func appendMember(dst []byte, key, s string) ([]byte, error) {
	return appendString(appendKey(dst, key), key, s)
}

func appendKey(dst []byte, key string) []byte {
	dst = append(dst, ',', '"')
	dst = append(dst, key...)
	return append(dst, '"', ':')
}

// appendInt appends a comma, the key and n, unless n is 0.
func appendInt(dst []byte, key string, n int64) []byte {
	if n == 0 {
		return dst
	}
	return strconv.AppendInt(appendKey(dst, key), n, 10)
}

// stringBound is at least the number of bytes that s is written as.
func stringBound(s string) int { return 6*len(s) + 2 }
