package sessionstore

import (
	"iter"
	"strings"
)

// Content is what a message says: null, a text, or a list of parts. The three differ
// also where they are empty: null, Text("") and Parts() are kept apart. A Content is
// immutable; the zero value is null.
type Content struct {
	kind  contentKind
	text  string
	parts []Part // nil where there are none
}

type contentKind uint8

const (
	contentNull contentKind = iota
	contentText
	contentParts
)

// Text returns the content that is the string s.
func Text(s string) Content { return Content{kind: contentText, text: s} }

// Parts returns the content that is the list of p. Without any it is the empty list,
// not null.
func Parts(p ...Part) Content {
	return Content{kind: contentParts, parts: append([]Part(nil), p...)}
}

// IsNull reports whether c is null.
func (c Content) IsNull() bool { return c.kind == contentNull }

// IsText reports whether c is a string.
func (c Content) IsText() bool { return c.kind == contentText }

// IsParts reports whether c is a list of parts.
func (c Content) IsParts() bool { return c.kind == contentParts }

// String returns the text, or the texts of the parts of type "text", joined without
// anything between them.
func (c Content) String() string {
	if c.kind != contentParts {
		return c.text
	}
	var b strings.Builder
	for _, p := range c.parts {
		if p.Type() == "text" {
			b.WriteString(p.Text())
		}
	}
	return b.String()
}

// All yields the parts with their indexes. A null or a text has none.
func (c Content) All() iter.Seq2[int, Part] {
	return func(yield func(int, Part) bool) {
		for i, p := range c.parts {
			if !yield(i, p) {
				return
			}
		}
	}
}

// Equal reports whether c and o are written as the same bytes.
func (c Content) Equal(o Content) bool {
	if c.kind != o.kind || c.text != o.text || len(c.parts) != len(o.parts) {
		return false
	}
	for i, p := range c.parts {
		if p != o.parts[i] {
			return false
		}
	}
	return true
}

// MarshalJSON writes null, a string or an array.
func (c Content) MarshalJSON() ([]byte, error) { return c.appendJSON(nil, "content") }

// UnmarshalJSON reads null, a string or an array of objects. Errors: ErrInvalid.
func (c *Content) UnmarshalJSON(b []byte) error {
	r := newBytesReader(b)
	v, err := r.content("content")
	if err != nil {
		return err
	}
	*c = v
	return r.end("content")
}

// check says whether c can be written.
func (c Content) check(field string) error {
	if err := checkText(field, c.text); err != nil {
		return err
	}
	for _, p := range c.parts {
		if err := p.check(field); err != nil {
			return err
		}
	}
	return nil
}

func (c Content) appendJSON(dst []byte, field string) ([]byte, error) {
	switch c.kind {
	case contentText:
		return appendString(dst, field, c.text)
	case contentParts:
		dst = append(dst, '[')
		for i, p := range c.parts {
			if err := p.check(field); err != nil {
				return dst, err
			}
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(dst, p.raw...)
		}
		return append(dst, ']'), nil
	}
	return append(dst, "null"...), nil
}

func (r *reader) content(field string) (Content, error) {
	switch r.Peek() {
	case 'n':
		return Content{}, r.null(field)
	case '[':
		parts, err := r.parts(field)
		return Content{kind: contentParts, parts: parts}, err
	case '"':
		s, err := r.string(field)
		return Content{kind: contentText, text: s}, err
	}
	return Content{}, invalid(field, "must be null, a string or a list")
}

func (r *reader) parts(field string) ([]Part, error) {
	if err := r.Array(); err != nil {
		return nil, badJSON(field, err)
	}
	var parts []Part
	for {
		more, err := r.Next()
		if err != nil {
			return nil, badJSON(field, err)
		}
		if !more {
			return parts, nil
		}
		p, err := r.part(field)
		if err != nil {
			return nil, err
		}
		parts = append(parts, p)
	}
}

// sizeBound is at least the number of bytes that c is written as.
func (c Content) sizeBound() int {
	n := stringBound(c.text) + 4
	for _, p := range c.parts {
		n += len(p.raw) + 1
	}
	return n
}
