package sessionstore

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/sessionstore/sessionstore/internal/codec"
)

// extra is what unknown keys are kept in. The exported fields spell the type out, so
// that callers see what it is.
type extra = map[string]json.RawMessage

// cloneExtra returns a deep copy, nil for an empty map.
func cloneExtra(m extra) extra {
	if len(m) == 0 {
		return nil
	}
	out := make(extra, len(m))
	for k, v := range m {
		out[k] = bytes.Clone(v)
	}
	return out
}

func equalExtra(a, b extra) bool {
	if len(a) != len(b) {
		return false
	}
	for k, v := range a {
		if w, ok := b[k]; !ok || !bytes.Equal(v, w) {
			return false
		}
	}
	return true
}

// normalExtra returns m validated and in normal form, a deep copy. The prefix stands
// before the keys in errors; modelled reports the keys that m must not have.
func normalExtra(prefix string, m extra, modelled func(string) bool) (extra, error) {
	if len(m) == 0 {
		return nil, nil
	}
	out := make(extra, len(m))
	for k, v := range m {
		if err := checkExtraKey(prefix, k, modelled); err != nil {
			return nil, err
		}
		raw, err := appendRaw(make([]byte, 0, max(len(v), len("null"))), prefix+clip(k), v)
		if err != nil {
			return nil, err
		}
		out[k] = raw
	}
	return out, nil
}

func checkExtraKey(prefix, k string, modelled func(string) bool) error {
	if modelled(k) {
		return invalid(prefix+"extra", "has the key %q, which is a field's", k)
	}
	return checkText(prefix+"extra", k)
}

// appendRaw appends a value that nobody interprets; nil is null.
func appendRaw(dst []byte, field string, v json.RawMessage) ([]byte, error) {
	if v == nil {
		return append(dst, "null"...), nil
	}
	dst, err := codec.Compact(dst, v, MaxDepth)
	if err != nil {
		return dst, badJSON(field, err)
	}
	return dst, nil
}

// appendExtra appends the keys of m, sorted, each with a comma before it.
func appendExtra(dst []byte, prefix string, m extra, modelled func(string) bool) ([]byte, error) {
	if len(m) == 0 {
		return dst, nil
	}
	var buf [8]string
	for _, k := range sortedKeys(m, buf[:0]) {
		err := checkExtraKey(prefix, k, modelled)
		if err != nil {
			return dst, err
		}
		dst, _ = codec.AppendString(append(dst, ','), k)
		if dst, err = appendRaw(append(dst, ':'), prefix+clip(k), m[k]); err != nil {
			return dst, err
		}
	}
	return dst, nil
}

// extraValue reads the value of an unknown key into m, which it makes if need be.
func (r *reader) extraValue(prefix, key string, m extra) (extra, error) {
	raw, err := r.Raw(MaxDepth)
	if err != nil {
		return nil, badJSON(prefix+clip(key), err)
	}
	if m == nil {
		m = make(extra)
	}
	m[key] = json.RawMessage(raw)
	return m, nil
}

// extraBound is at least the number of bytes that m is written as.
func extraBound(m extra) int {
	n := 0
	for k, v := range m {
		n += stringBound(k) + len(v) + len(",:null")
	}
	return n
}

// sortedKeys appends the keys of m to buf and sorts them by their bytes.
func sortedKeys[V any](m map[string]V, buf []string) []string {
	for k := range m {
		buf = append(buf, k)
	}
	slices.Sort(buf)
	return buf
}
