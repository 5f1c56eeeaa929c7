package sessionstore

import (
	"encoding"
	"encoding/json"
	"math"
	"reflect"
	"strconv"

	"github.com/sessionstore/sessionstore/internal/codec"
)

// normalValue returns v in the normal form of [Metadata], a deep copy. It may have so
// many levels of arrays and objects.
func normalValue(field string, in any, levels int) (any, error) {
	switch v := in.(type) {
	case nil, bool, int64:
		return in, nil
	case string:
		return in, checkText(field, v) // v would have to be boxed again
	case float64:
		return in, checkFinite(field, v)
	case int:
		return int64(v), nil
	case json.Number:
		if !codec.ValidNumber(string(v)) {
			return nil, invalid(field, "%q is not a number", clip(string(v)))
		}
		return codec.ParseNumber(string(v)), nil
	case []any:
		if levels <= 0 {
			return nil, tooDeep(field)
		}
		out := make([]any, len(v))
		for i, e := range v {
			var err error
			if out[i], err = normalValue(field, e, levels-1); err != nil {
				return nil, err
			}
		}
		return out, nil
	case map[string]any:
		return normalNested(field, v, levels)
	case Metadata:
		return normalNested(field, v, levels)
	}
	return normalOther(field, reflect.ValueOf(in), levels)
}

// normalNested keeps a nil map out of the any that is returned with an error.
func normalNested(field string, m map[string]any, levels int) (any, error) {
	out, err := normalObject(field, m, levels)
	if err != nil {
		return nil, err
	}
	return out, nil
}

func normalObject(field string, m map[string]any, levels int) (map[string]any, error) {
	if levels <= 0 {
		return nil, tooDeep(field)
	}
	out := make(map[string]any, len(m))
	for k, v := range m {
		if err := checkText(field, k); err != nil {
			return nil, err
		}
		n, err := normalValue(field, v, levels-1)
		if err != nil {
			return nil, err
		}
		out[k] = n
	}
	return out, nil
}

var (
	jsonMarshaler = reflect.TypeFor[json.Marshaler]()
	textMarshaler = reflect.TypeFor[encoding.TextMarshaler]()
)

// normalOther is normalValue for the types that it does not know. Plain kinds, slices
// and maps are taken apart here, because encoding/json would write 1.0 as 1; the rest is
// left to it.
func normalOther(field string, v reflect.Value, levels int) (any, error) {
	for range maxGoDepth {
		if v.Kind() != reflect.Pointer && v.Kind() != reflect.Interface || marshals(v) {
			break
		}
		if v.IsNil() {
			return nil, nil
		}
		v = v.Elem()
	}
	if marshals(v) {
		return normalMarshalled(field, v, levels)
	}
	switch v.Kind() {
	case reflect.Bool:
		return v.Bool(), nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return v.Int(), nil
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		if u := v.Uint(); u > math.MaxInt64 {
			return json.Number(strconv.FormatUint(u, 10)), nil
		}
		return int64(v.Uint()), nil
	case reflect.Float32:
		if err := checkFinite(field, v.Float()); err != nil {
			return nil, err
		}
		// The decimal that the float32 prints as, not the float64 that it is.
		return codec.ParseNumber(string(codec.AppendFloat(nil, v.Float(), 32))), nil
	case reflect.Float64:
		return normalValue(field, v.Float(), levels)
	case reflect.String:
		if v.Type() == reflect.TypeFor[json.Number]() {
			return normalValue(field, json.Number(v.String()), levels)
		}
		return normalValue(field, v.String(), levels)
	case reflect.Slice, reflect.Array:
		if !isBytes(v) {
			return normalList(field, v, levels)
		}
	case reflect.Map:
		if v.Type().Key().Kind() == reflect.String {
			return normalMap(field, v, levels)
		}
	}
	return normalMarshalled(field, v, levels)
}

func normalList(field string, v reflect.Value, levels int) (any, error) {
	if levels <= 0 {
		return nil, tooDeep(field)
	}
	out := make([]any, v.Len())
	for i := range out {
		var err error
		if out[i], err = normalOther(field, v.Index(i), levels-1); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func normalMap(field string, v reflect.Value, levels int) (any, error) {
	if levels <= 0 {
		return nil, tooDeep(field)
	}
	out := make(map[string]any, v.Len())
	for it := v.MapRange(); it.Next(); {
		k := it.Key().String()
		if err := checkText(field, k); err != nil {
			return nil, err
		}
		n, err := normalOther(field, it.Value(), levels-1)
		if err != nil {
			return nil, err
		}
		out[k] = n
	}
	return out, nil
}

// normalMarshalled reads what encoding/json makes of v.
func normalMarshalled(field string, v reflect.Value, levels int) (any, error) {
	if err := checkGoValue(field, v, maxGoDepth); err != nil {
		return nil, err
	}
	if v.CanAddr() {
		v = v.Addr() // so that methods of the pointer are found
	}
	b, err := json.Marshal(v.Interface())
	if err != nil {
		return nil, invalid(field, "cannot be marshalled: %v", err)
	}
	r := newBytesReader(b)
	return r.value(field, levels)
}

// isBytes reports whether encoding/json writes v as a string of base64.
func isBytes(v reflect.Value) bool {
	return v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.Uint8
}

// marshals reports whether encoding/json leaves v to a method of its own.
func marshals(v reflect.Value) bool {
	return implements(v, jsonMarshaler) || implements(v, textMarshaler)
}

// maxGoDepth bounds how deep a Go value may be. Pointers and embedded structs are no
// levels of the JSON; a cycle ends here.
const maxGoDepth = 10 * MaxDepth

// checkGoValue finds what encoding/json would change in silence or recurse into without
// end: invalid UTF-8, and cycles.
func checkGoValue(field string, v reflect.Value, left int) error {
	if left == 0 {
		return tooDeep(field)
	}
	if !v.IsValid() {
		return nil
	}
	t := v.Type()
	if implements(v, jsonMarshaler) {
		return nil // what it returns is read as strictly as any JSON
	}
	if implements(v, textMarshaler) {
		return checkMarshalText(field, v)
	}
	switch v.Kind() {
	case reflect.String:
		return checkText(field, v.String())
	case reflect.Float32, reflect.Float64:
		return checkFinite(field, v.Float())
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return nil
		}
		return checkGoValue(field, v.Elem(), left-1)
	case reflect.Slice, reflect.Array:
		if isBytes(v) {
			return nil
		}
		for i := range v.Len() {
			if err := checkGoValue(field, v.Index(i), left-1); err != nil {
				return err
			}
		}
	case reflect.Map:
		for it := v.MapRange(); it.Next(); {
			if err := checkGoKey(field, it.Key(), left-1); err != nil {
				return err
			}
			if err := checkGoValue(field, it.Value(), left-1); err != nil {
				return err
			}
		}
	case reflect.Struct:
		for i := range t.NumField() {
			f := t.Field(i)
			if !f.IsExported() && !f.Anonymous || f.Tag.Get("json") == "-" {
				continue // encoding/json does not look at it either
			}
			if err := checkGoValue(field, v.Field(i), left-1); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkGoKey is checkGoValue for the key of a map: of a string encoding/json asks no
// method.
func checkGoKey(field string, k reflect.Value, left int) error {
	if k.Kind() == reflect.String {
		return checkText(field, k.String())
	}
	return checkGoValue(field, k, left)
}

// implements reports whether encoding/json would call v's method, also through its
// address.
func implements(v reflect.Value, t reflect.Type) bool {
	return v.Type().Implements(t) || v.CanAddr() && reflect.PointerTo(v.Type()).Implements(t)
}

// checkMarshalText looks at the text itself, because encoding/json would replace
// invalid UTF-8 in it.
func checkMarshalText(field string, v reflect.Value) error {
	if (v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface) && v.IsNil() {
		return nil
	}
	if !v.Type().Implements(textMarshaler) {
		v = v.Addr()
	}
	if !v.CanInterface() {
		return nil
	}
	text, err := v.Interface().(encoding.TextMarshaler).MarshalText()
	if err != nil {
		return invalid(field, "cannot be marshalled: %v", err)
	}
	return checkText(field, string(text))
}
