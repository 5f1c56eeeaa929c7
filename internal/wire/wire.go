// Package wire is what the requests to all providers share: the parts and calls of a message
// in their order, attachments in whatever provider's shape they were stored, and the ids
// that a request gives to tool calls. The packages below it make the JSON of one API each.
// None knows an SDK.
package wire

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode"

	"github.com/sessionstore/sessionstore"
)

// Member is a key of a JSON object with its value as it is spelled.
type Member struct {
	Key   string
	Value json.RawMessage
}

// Object is the members of a JSON object in order. A later member of a key replaces an
// earlier one when it is read.
type Object []Member

// Parse returns the members of a JSON object, or nil if raw is none.
func Parse(raw []byte) Object {
	d := json.NewDecoder(bytes.NewReader(raw))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil
	}
	o := Object{}
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return nil
		}
		key, ok := t.(string)
		var v json.RawMessage
		if !ok || d.Decode(&v) != nil {
			return nil
		}
		o = o.Set(key, v)
	}
	return o
}

// Get returns the value under key, or nil if there is none or it is null.
func (o Object) Get(key string) json.RawMessage {
	for _, m := range o {
		if m.Key == key && string(m.Value) != "null" {
			return m.Value
		}
	}
	return nil
}

// String returns the string under key, or "" if there is none.
func (o Object) String(key string) string {
	var s string
	if v := o.Get(key); len(v) > 0 && v[0] == '"' && json.Unmarshal(v, &s) == nil {
		return s
	}
	return ""
}

// Object returns the object under key, or nil if there is none.
func (o Object) Object(key string) Object { return Parse(o.Get(key)) }

// Set returns o with the value under key, in the place of an earlier one or at the end.
func (o Object) Set(key string, v json.RawMessage) Object {
	for i, m := range o {
		if m.Key == key {
			o[i].Value = v
			return o
		}
	}
	return append(o, Member{key, v})
}

// SetString is Set with a string.
func (o Object) SetString(key, s string) Object { return o.Set(key, Quote(s)) }

// Without returns a copy of o without the keys, and without what is null.
func (o Object) Without(keys ...string) Object {
	out := make(Object, 0, len(o))
next:
	for _, m := range o {
		if string(m.Value) == "null" {
			continue
		}
		for _, k := range keys {
			if m.Key == k {
				continue next
			}
		}
		out = append(out, m)
	}
	return out
}

// Only reports whether o has no keys but these, null ones aside.
func (o Object) Only(keys ...string) bool { return len(o.Without(keys...)) == 0 }

// Raw returns the object as JSON, its values as they are spelled.
func (o Object) Raw() json.RawMessage {
	b := []byte{'{'}
	for i, m := range o {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(b, Quote(m.Key)...), ':')
		b = append(b, m.Value...)
	}
	return append(b, '}')
}

// Part returns the object as a message's part. Errors: ErrInvalid.
func (o Object) Part() (sessionstore.Part, error) { return sessionstore.ParsePart(o.Raw()) }

// Quote returns s as JSON, with no more escapes than needed.
func Quote(s string) json.RawMessage {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		return json.RawMessage(`""`)
	}
	return bytes.TrimRight(b.Bytes(), "\n")
}

// Blank reports whether s is nothing but white space, which APIs refuse as a text.
func Blank(s string) bool { return strings.TrimSpace(s) == "" }

// ToolName returns name as one of at most limit ASCII letters, digits, "_" and "-",
// others replaced by "_"; "unnamed" for an empty one.
func ToolName(name string, limit int) string {
	clean := strings.Map(func(r rune) rune {
		if r < unicode.MaxASCII && (unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' || r == '-') {
			return r
		}
		return '_'
	}, name)
	if clean == "" {
		return "unnamed"
	}
	return clean[:min(len(clean), limit)]
}

// Input returns the arguments of a call as a JSON object: none, or null, is an empty
// one, and what is no object is the value of the key "input".
func Input(arguments string) json.RawMessage {
	raw := json.RawMessage(strings.TrimSpace(arguments))
	switch {
	case len(raw) == 0 || string(raw) == "null":
		return json.RawMessage("{}")
	case raw[0] == '{' && json.Valid(raw):
		return raw
	case json.Valid(raw):
		return Object{{"input", raw}}.Raw()
	}
	return Object{{"input", Quote(arguments)}}.Raw()
}

// Arguments returns the arguments of a call as a JSON text, where {} stands for none.
// Others are as received, even if they are no JSON: a model may have written them so.
func Arguments(arguments string) string {
	if s := strings.TrimSpace(arguments); s == "" || s == "null" {
		return "{}"
	}
	return arguments
}

// Invalid returns the ErrInvalid of a message that cannot be sent.
func Invalid(field, reason string) error {
	return &sessionstore.InvalidError{Field: field, Reason: reason}
}

// NothingToSend is the error of a prompt that has no message for the model to answer.
func NothingToSend() error {
	return Invalid("prompt", "has no message for the model to answer")
}

// Failed reports whether a tool's result says that the call failed: by its key is_error,
// or because it stands for a result that was never stored.
func Failed(m sessionstore.Message) bool {
	if string(m.Extra["is_error"]) == "true" {
		return true
	}
	if failed, ok := m.Metadata.Bool("is_error"); ok {
		return failed
	}
	return m.ID == "" && m.Seq == 0 && m.Content.IsText() && m.Content.String() == sessionstore.NoToolResult
}

// Spoken returns what stands for the text of an answer that has none: a refusal, or the
// transcript of its audio.
func Spoken(m sessionstore.Message) string {
	var refusal string
	if json.Unmarshal(m.Extra["refusal"], &refusal) == nil && refusal != "" {
		return refusal
	}
	return Parse(m.Extra["audio"]).String("transcript")
}

// List returns the objects as a JSON array.
func List(objects []Object) json.RawMessage {
	b := []byte{'['}
	for i, o := range objects {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, o.Raw()...)
	}
	return append(b, ']')
}

// IsTurn reports whether m is part of the conversation, not instructions for it.
func IsTurn(m sessionstore.Message) bool {
	return m.Role != sessionstore.RoleSystem && m.Role != sessionstore.RoleDeveloper
}
