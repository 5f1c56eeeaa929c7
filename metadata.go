package sessionstore

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"

	"github.com/sessionstore/sessionstore/internal/codec"
)

// Metadata is what an application notes on a session or a message: a JSON object.
//
// In normal form, which is how a store returns it, it is not nil and holds only nil,
// bool, string, int64, float64, json.Number, []any and map[string]any. Numbers are
// classified by their spelling: without ".", "e" and "E" as int64 if in range, else
// json.Number; otherwise as float64 if its shortest form denotes the same decimal, else
// json.Number. So 1 stays an integer, 1.0 a float, and no digit is lost.
//
// On input it may hold any Go value that encoding/json can marshal. Integers become
// int64 (json.Number beyond its range), nil slices and maps empty ones; a float keeps
// its point (1.0) except inside a struct, which encoding/json writes. Invalid UTF-8,
// NaN, infinities and nesting deeper than [MaxDepth] (the Metadata itself is the first
// level) are ErrInvalid.
type Metadata map[string]any

// Clone returns a deep copy in normal form. Values that have none, because they cannot
// be stored, are taken over as they are.
func (m Metadata) Clone() Metadata {
	out := make(Metadata, len(m))
	for k, v := range m {
		if n, err := normalValue("", v, MaxDepth-1); err == nil {
			v = n
		}
		out[k] = v
	}
	return out
}

// Int returns the integer under key. A float is none, not even 1.0.
func (m Metadata) Int(key string) (int64, bool) { return metadataAs[int64](m, key) }

// Float returns the number under key, an integer too. A number that only json.Number
// can hold is none.
func (m Metadata) Float(key string) (float64, bool) {
	if n, ok := m.Int(key); ok {
		return float64(n), true
	}
	return metadataAs[float64](m, key)
}

// String returns the string under key.
func (m Metadata) String(key string) (string, bool) { return metadataAs[string](m, key) }

// Bool returns the boolean under key.
func (m Metadata) Bool(key string) (bool, bool) { return metadataAs[bool](m, key) }

func metadataAs[T any](m Metadata, key string) (T, bool) {
	v := m[key]
	t, ok := v.(T)
	if !ok && v != nil {
		if n, err := normalValue("", v, MaxDepth-1); err == nil {
			t, ok = n.(T)
		}
	}
	return t, ok
}

// Decode stores the value under key in what v points to, through its JSON. Numbers that
// it stores in an any are json.Number. A key that is missing is an error.
func (m Metadata) Decode(key string, v any) error {
	val, ok := m[key]
	if !ok {
		return fmt.Errorf("metadata: no key %q", key)
	}
	b, err := appendValue(nil, "metadata", val, MaxDepth-1)
	if err != nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	if err := d.Decode(v); err != nil {
		return fmt.Errorf("metadata: decode %q: %w", key, err)
	}
	return nil
}

// MarshalJSON writes the object with its keys sorted; nil is {}. Errors: ErrInvalid.
func (m Metadata) MarshalJSON() ([]byte, error) { return appendObject(nil, "metadata", m, MaxDepth) }

// UnmarshalJSON replaces m by the object that b is, in normal form; null is {}. Errors:
// ErrInvalid.
func (m *Metadata) UnmarshalJSON(b []byte) error {
	r := newBytesReader(b)
	v, err := r.metadata("metadata")
	if err != nil {
		return err
	}
	*m = v
	return r.end("metadata")
}

// normal returns m validated and in normal form, a deep copy.
func (m Metadata) normal(field string) (Metadata, error) {
	return normalObject(field, m, MaxDepth)
}

func (m Metadata) equal(o Metadata) bool { return equalObject(m, o) }

// equalValue reports whether two values in normal form are written as the same bytes:
// 1 and 1.0, and 0.0 and -0.0, differ.
func equalValue(a, b any) bool {
	switch a := a.(type) {
	case float64:
		b, ok := b.(float64)
		return ok && math.Float64bits(a) == math.Float64bits(b)
	case []any:
		b, ok := b.([]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for i, v := range a {
			if !equalValue(v, b[i]) {
				return false
			}
		}
		return true
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && equalObject(a, b)
	case nil, bool, string, int64, json.Number:
		return a == b
	}
	return false
}

func equalObject(a, b map[string]any) bool {
	if len(a) != len(b) {
		return false
	}
	for k, v := range a {
		if w, ok := b[k]; !ok || !equalValue(v, w) {
			return false
		}
	}
	return true
}

// appendObject appends m with its keys sorted. It may have so many levels.
func appendObject(dst []byte, field string, m map[string]any, levels int) ([]byte, error) {
	if levels <= 0 {
		return dst, tooDeep(field)
	}
	dst = append(dst, '{')
	var buf [8]string
	for i, k := range sortedKeys(m, buf[:0]) {
		if i > 0 {
			dst = append(dst, ',')
		}
		var err error
		if dst, err = appendString(dst, field, k); err != nil {
			return dst, err
		}
		if dst, err = appendValue(append(dst, ':'), field, m[k], levels-1); err != nil {
			return dst, err
		}
	}
	return append(dst, '}'), nil
}

func appendValue(dst []byte, field string, v any, levels int) ([]byte, error) {
	switch v := v.(type) {
	case nil:
		return append(dst, "null"...), nil
	case bool:
		return strconv.AppendBool(dst, v), nil
	case string:
		return appendString(dst, field, v)
	case int64:
		return strconv.AppendInt(dst, v, 10), nil
	case int:
		return strconv.AppendInt(dst, int64(v), 10), nil
	case float64:
		if err := checkFinite(field, v); err != nil {
			return dst, err
		}
		return codec.AppendFloat(dst, v, 64), nil
	case []any:
		if levels <= 0 {
			return dst, tooDeep(field)
		}
		dst = append(dst, '[')
		for i, e := range v {
			if i > 0 {
				dst = append(dst, ',')
			}
			var err error
			if dst, err = appendValue(dst, field, e, levels-1); err != nil {
				return dst, err
			}
		}
		return append(dst, ']'), nil
	case map[string]any:
		return appendObject(dst, field, v, levels)
	}
	n, err := normalValue(field, v, levels)
	if err != nil {
		return dst, err
	}
	if n, ok := n.(json.Number); ok {
		return append(dst, n...), nil
	}
	return appendValue(dst, field, n, levels)
}

// metadata reads an object; null is an empty one.
func (r *reader) metadata(field string) (Metadata, error) {
	if r.Null() {
		return Metadata{}, nil
	}
	return r.object(field, MaxDepth)
}

func (r *reader) object(field string, levels int) (map[string]any, error) {
	if err := r.Object(); err != nil {
		return nil, badJSON(field, err)
	}
	if levels <= 0 {
		return nil, tooDeep(field)
	}
	m := make(map[string]any)
	for {
		key, ok, err := r.Key()
		if err != nil {
			return nil, badJSON(field, err)
		}
		if !ok {
			return m, nil
		}
		if m[key], err = r.value(field, levels-1); err != nil {
			return nil, err
		}
	}
}

func (r *reader) array(field string, levels int) ([]any, error) {
	if err := r.Array(); err != nil {
		return nil, badJSON(field, err)
	}
	if levels <= 0 {
		return nil, tooDeep(field)
	}
	list := []any{}
	for {
		more, err := r.Next()
		if err != nil {
			return nil, badJSON(field, err)
		}
		if !more {
			return list, nil
		}
		v, err := r.value(field, levels-1)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
}

// value reads any value into its normal form.
func (r *reader) value(field string, levels int) (any, error) {
	var v any
	var err error
	switch r.Peek() {
	case '"':
		v, err = r.String()
	case '{':
		return r.object(field, levels)
	case '[':
		return r.array(field, levels)
	case 't', 'f':
		v, err = r.Bool()
	case 'n':
		return nil, r.null(field)
	default:
		var s string
		if s, err = r.Number(); err == nil {
			return codec.ParseNumber(s), nil
		}
	}
	if err != nil {
		return nil, badJSON(field, err)
	}
	return v, nil
}

// metadataBound is at least the number of bytes that m, in normal form, is written as.
func metadataBound(m map[string]any) int {
	n := 2
	for k, v := range m {
		n += stringBound(k) + valueBound(v) + len(":,")
	}
	return n
}

func valueBound(v any) int {
	switch v := v.(type) {
	case string:
		return stringBound(v)
	case json.Number:
		return len(v)
	case []any:
		n := 2
		for _, e := range v {
			n += valueBound(e) + 1
		}
		return n
	case map[string]any:
		return metadataBound(v)
	}
	return len("-0.0000012345678901234567") // the longest that a float is written as
}

func tooDeep(field string) error {
	return invalid(field, "is nested deeper than %d levels", MaxDepth)
}

func checkFinite(field string, f float64) error {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return invalid(field, "has the number %v, which JSON does not know", f)
	}
	return nil
}
