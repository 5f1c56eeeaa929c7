package sessionstore

import (
	"encoding/json"
	"slices"

	"github.com/sessionstore/sessionstore/internal/codec"
)

// callShape says how the calls of a type are written: under which key the object lies
// that has the name and the arguments, and what the arguments are called there.
type callShape struct{ object, arguments string }

func shapeOf(callType string) callShape {
	if callType == "custom" {
		return callShape{"custom", "input"}
	}
	return callShape{"function", "arguments"}
}

func callKey(k string) bool { return k == "id" || k == "type" }

// bare reports whether c is written without an object for its name and arguments,
// because its type is not known to have one and nothing needs it.
func (c ToolCall) bare() bool {
	if c.Type == "" || c.Type == "function" || c.Type == "custom" || c.Name != "" || c.Arguments != "" {
		return false
	}
	for _, k := range [...]string{"function", "name", "arguments"} {
		if _, ok := c.Extra[k]; ok {
			return false
		}
	}
	return true
}

// normalCallExtra returns the Extra of c validated and in normal form, a deep copy.
func normalCallExtra(c ToolCall) (extra, error) {
	if len(c.Extra) == 0 {
		return nil, nil
	}
	out, err := normalExtra("tool_calls.", c.Extra, callKey)
	if err != nil {
		return nil, err
	}
	shape := shapeOf(c.Type)
	if raw, ok := out[shape.object]; ok {
		empty, err := checkInner(shape, raw)
		if err != nil {
			return nil, err
		}
		if empty {
			delete(out, shape.object)
		}
	}
	if len(out) == 0 {
		return nil, nil
	}
	return out, nil
}

// checkInner checks an object of unknown keys for a call's inner object, and reports
// whether it has any.
func checkInner(shape callShape, raw json.RawMessage) (empty bool, err error) {
	field := "tool_calls." + shape.object
	r := newBytesReader(raw)
	if err := r.Object(); err != nil {
		return false, badJSON(field, err)
	}
	for empty = true; ; empty = false {
		key, ok, err := r.Key()
		if err != nil {
			return false, badJSON(field, err)
		}
		if !ok {
			return empty, nil
		}
		if key == "name" || key == shape.arguments {
			return false, invalid("tool_calls.extra", "has the key %q in %q, which is a field's", key, shape.object)
		}
		if err := r.Skip(MaxDepth); err != nil {
			return false, badJSON(field, err)
		}
	}
}

// MarshalJSON writes the call as a message's tool_calls have it. Errors: ErrInvalid.
func (c ToolCall) MarshalJSON() ([]byte, error) { return c.appendJSON(nil) }

// UnmarshalJSON reads a call as a message's tool_calls may have it; null changes nothing.
// Errors: ErrInvalid.
func (c *ToolCall) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		return nil
	}
	r := newBytesReader(b)
	v, err := r.call()
	if err != nil {
		return err
	}
	*c = v
	return r.end("tool_calls")
}

func (c ToolCall) appendJSON(dst []byte) ([]byte, error) {
	if c.Type == "" {
		c.Type = "function"
	}
	rest, err := normalCallExtra(c)
	if err != nil {
		return dst, err
	}
	c.Extra = rest
	shape := shapeOf(c.Type)
	if dst, err = appendString(append(dst, `{"id":`...), "tool_calls.id", c.ID); err != nil {
		return dst, err
	}
	if dst, err = appendString(append(dst, `,"type":`...), "tool_calls.type", c.Type); err != nil {
		return dst, err
	}
	if !c.bare() {
		dst = append(appendKey(dst, shape.object), `{"name":`...)
		if dst, err = appendString(dst, "tool_calls.name", c.Name); err != nil {
			return dst, err
		}
		if dst, err = appendString(appendKey(dst, shape.arguments), "tool_calls.arguments", c.Arguments); err != nil {
			return dst, err
		}
		if inner, ok := rest[shape.object]; ok {
			dst = append(append(dst, ','), inner[1:len(inner)-1]...)
			delete(rest, shape.object)
		}
		dst = append(dst, '}')
	}
	if dst, err = appendExtra(dst, "tool_calls.", rest, callKey); err != nil {
		return dst, err
	}
	return append(dst, '}'), nil
}

func (r *reader) calls() ([]ToolCall, error) {
	if r.Null() {
		return nil, nil
	}
	if err := r.Array(); err != nil {
		return nil, badJSON("tool_calls", err)
	}
	var calls []ToolCall
	for {
		more, err := r.Next()
		if err != nil {
			return nil, badJSON("tool_calls", err)
		}
		if !more {
			return calls, nil
		}
		c, err := r.call()
		if err != nil {
			return nil, err
		}
		calls = append(calls, c)
	}
}

// The keys of a call whose meaning depends on its type and on each other.
var callVariants = [...]string{"function", "custom", "name", "arguments", "input"}

// call reads a call in any of its shapes. Its type may come last, so the variants are
// first only located.
func (r *reader) call() (ToolCall, error) {
	if err := r.Object(); err != nil {
		return ToolCall{}, badJSON("tool_calls", err)
	}
	c := ToolCall{}
	var at [len(callVariants)]int // offsets of their values; 0: absent
	for {
		key, ok, err := r.NextKey()
		if err != nil {
			return ToolCall{}, badJSON("tool_calls", err)
		}
		if !ok {
			break
		}
		switch key {
		case "id":
			c.ID, err = r.string("tool_calls.id")
		case "type":
			c.Type, err = r.string("tool_calls.type")
		default:
			if i := slices.Index(callVariants[:], string(key)); i >= 0 {
				at[i] = r.Offset()
				err = r.skip("tool_calls." + callVariants[i])
			} else {
				c.Extra, err = r.extraValue("tool_calls.", r.Keep(key), c.Extra)
			}
		}
		if err != nil {
			return ToolCall{}, err
		}
	}
	if c.Type == "" {
		c.Type = "function"
	}
	end := r.Offset()
	if err := r.variants(&c, at); err != nil {
		return ToolCall{}, err
	}
	r.Seek(end)
	return c, nil
}

// variants reads the located values: name and arguments from the inner object or, where
// there is none, from beside it; and what is neither is unknown.
func (r *reader) variants(c *ToolCall, at [len(callVariants)]int) error {
	shape := shapeOf(c.Type)
	nested := false
	if i := slices.Index(callVariants[:], shape.object); at[i] > 0 {
		r.Seek(at[i])
		at[i] = 0
		if nested = !r.Null(); nested {
			if err := r.inner(c, shape); err != nil {
				return err
			}
		}
	}
	for i, key := range callVariants {
		if at[i] == 0 {
			continue
		}
		r.Seek(at[i])
		var err error
		switch {
		case !nested && key == "name":
			c.Name, err = r.string("tool_calls.name")
		case !nested && key == shape.arguments:
			c.Arguments, err = r.arguments("tool_calls." + key)
		default:
			c.Extra, err = r.extraValue("tool_calls.", key, c.Extra)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// inner reads the object with the name and the arguments.
func (r *reader) inner(c *ToolCall, shape callShape) error {
	field := "tool_calls." + shape.object
	if err := r.Object(); err != nil {
		return badJSON(field, err)
	}
	var unknown []byte
	for {
		key, ok, err := r.NextKey()
		if err != nil {
			return badJSON(field, err)
		}
		if !ok {
			break
		}
		switch key {
		case "name":
			c.Name, err = r.string("tool_calls.name")
		case codec.Key(shape.arguments):
			c.Arguments, err = r.arguments("tool_calls." + shape.arguments)
		default:
			unknown, err = r.appendUnknown(unknown, field, r.Keep(key))
		}
		if err != nil {
			return err
		}
	}
	if unknown != nil {
		if c.Extra == nil {
			c.Extra = make(extra)
		}
		c.Extra[shape.object] = append(unknown, '}')
	}
	return nil
}

// appendUnknown appends the last key and its value, which comes next, to an object that
// is still open, or nil.
func (r *reader) appendUnknown(object []byte, field, key string) ([]byte, error) {
	if object == nil {
		object = append(object, '{')
	} else {
		object = append(object, ',')
	}
	object = append(r.AppendKey(object), ':')
	raw, err := r.Raw(MaxDepth - 1)
	if err != nil {
		return nil, badJSON(field+"."+clip(key), err)
	}
	return append(object, raw...), nil
}

// arguments reads a string, or keeps the text of any other value exactly as spelled.
func (r *reader) arguments(field string) (string, error) {
	switch r.Peek() {
	case '"', 'n':
		return r.string(field)
	}
	s, err := r.Exact(MaxDepth)
	if err != nil {
		return "", badJSON(field, err)
	}
	return s, nil
}

func (c ToolCall) sizeBound() int {
	const fixed = len(`{"id":,"type":"function","function":{"name":,"arguments":}},`)
	return fixed + stringBound(c.ID) + stringBound(c.Type) + stringBound(c.Name) + stringBound(c.Arguments) + extraBound(c.Extra)
}
