package formats

import (
	"encoding/json"
	"slices"

	"github.com/sessionstore/sessionstore/internal/codec"
)

// What a format has no field for is kept under Extra. These make what is left of an object
// when the rest has been read.

// drop returns o less some keys.
func (o object) drop(keys ...string) object {
	return slices.DeleteFunc(slices.Clone(o), func(m member) bool { return slices.Contains(keys, m.key) })
}

// set returns o with a value, as it is spelled, in the place of that of a key, or at the
// end.
func (o object) set(key, value string) object {
	i := slices.IndexFunc(o, func(m member) bool { return m.key == key })
	if i < 0 {
		return append(slices.Clone(o), member{key, value})
	}
	out := slices.Clone(o)
	out[i].value = value
	return slices.DeleteFunc(out, func(m member) bool { return m.key == key && m.value != value })
}

// with is set with what is left of an object, or drop if that is nothing.
func (o object) with(key string, left object) object {
	raw := left.without()
	if raw == nil {
		return o.drop(key)
	}
	return o.set(key, string(raw))
}

// listOf returns objects as a JSON array.
func listOf(objects []object) string {
	out := []byte{'['}
	for i, o := range objects {
		if i > 0 {
			out = append(out, ',')
		}
		if raw := o.without(); raw != nil {
			out = append(out, raw...)
		} else {
			out = append(out, "{}"...)
		}
	}
	return string(append(out, ']'))
}

// quote returns s, which is valid UTF-8, as a JSON string.
func quote(s string) string {
	raw, _ := codec.AppendString(nil, s)
	return string(raw)
}

// withExtra adds what is left of an object to an Extra, which may be nil, unless that is
// nothing.
func withExtra(extra map[string]json.RawMessage, key string, left object) map[string]json.RawMessage {
	raw := left.without()
	if raw == nil {
		return extra
	}
	if extra == nil {
		extra = make(map[string]json.RawMessage)
	}
	extra[key] = raw
	return extra
}
