package sessionstore

import (
	"encoding/json"
	"unicode/utf8"

	"github.com/sessionstore/sessionstore/internal/codec"
)

// Part is one element of a content: a JSON object, kept exactly as it is spelled but
// for white space outside of strings. A Part is immutable; the zero value is no part,
// and a message that holds it is ErrInvalid.
type Part struct{ raw string }

// ParsePart returns the part that raw, a JSON object, describes. It keeps nothing of
// raw. Errors: ErrInvalid.
func ParsePart(raw []byte) (Part, error) {
	r := newBytesReader(raw)
	p, err := r.part("part")
	if err != nil {
		return Part{}, err
	}
	return p, r.end("part")
}

// TextPart returns {"type":"text","text":s}.
func TextPart(s string) Part {
	return Part{quotePart(`{"type":"text","text":`, s, `}`)}
}

// ImagePart returns {"type":"image_url","image_url":{"url":url}}.
func ImagePart(url string) Part {
	return Part{quotePart(`{"type":"image_url","image_url":{"url":`, url, `}}`)}
}

// quotePart keeps invalid UTF-8 in s as it is, for check to find.
func quotePart(before, s, after string) string {
	b := make([]byte, 0, len(before)+len(s)+len(s)/8+len(after)+2)
	b, _ = codec.AppendString(append(b, before...), s)
	return string(append(b, after...))
}

// Type returns the part's "type", or "" if that is no string.
func (p Part) Type() string { return p.text("type") }

// Text returns the part's "text", or "" if that is no string.
func (p Part) Text() string { return p.text("text") }

// ImageURL returns the part's "image_url", which is a string or the "url" of an object,
// or "" if it is neither.
func (p Part) ImageURL() string {
	r := newReader(p.raw)
	if !r.find("image_url") {
		return ""
	}
	if r.Peek() == '{' && !r.find("url") {
		return ""
	}
	return r.stringOrEmpty()
}

// Raw returns the JSON object, a copy. It is nil for the zero Part.
func (p Part) Raw() json.RawMessage { return append(json.RawMessage(nil), p.raw...) }

// MarshalJSON writes the object. The zero Part is ErrInvalid.
func (p Part) MarshalJSON() ([]byte, error) {
	if err := p.check("part"); err != nil {
		return nil, err
	}
	return []byte(p.raw), nil
}

// UnmarshalJSON reads an object as [ParsePart] does; null changes nothing.
func (p *Part) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		return nil
	}
	v, err := ParsePart(b)
	if err == nil {
		*p = v
	}
	return err
}

func (p Part) check(field string) error {
	if p.raw == "" {
		return invalid(field, "has a zero Part")
	}
	if !utf8.ValidString(p.raw) {
		return invalid(field, "has a part that is not valid UTF-8")
	}
	return nil
}

func (p Part) text(key string) string {
	r := newReader(p.raw)
	if !r.find(key) {
		return ""
	}
	return r.stringOrEmpty()
}

// find enters the object that comes next and goes to the value of the key, the last one
// of that name. It reports whether there is one.
func (r *reader) find(key string) bool {
	if r.Object() != nil {
		return false
	}
	found := -1
	for {
		k, ok, err := r.NextKey()
		if err != nil {
			return false
		}
		if !ok {
			break
		}
		if string(k) == key {
			found = r.Offset()
		}
		if r.Skip(MaxDepth) != nil {
			return false
		}
	}
	if found < 0 {
		return false
	}
	r.Seek(found)
	return true
}

func (r *reader) stringOrEmpty() string {
	if r.Peek() != '"' {
		return ""
	}
	s, _ := r.String()
	return s
}

func (r *reader) part(field string) (Part, error) {
	if r.Peek() != '{' {
		return Part{}, invalid(field, "a part must be an object")
	}
	raw, err := r.Raw(MaxDepth)
	if err != nil {
		return Part{}, badJSON(field, err)
	}
	return Part{raw}, nil
}
