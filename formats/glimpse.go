package formats

import (
	"iter"
	"strings"
)

// glimpse is the text of a JSON value of which the end may be missing, and which may be
// wrong. Its methods say what can be seen of it.
type glimpse string

func (g glimpse) isObject() bool { return strings.HasPrefix(string(g), "{") }
func (g glimpse) isArray() bool  { return strings.HasPrefix(string(g), "[") }

// nextGlimpse returns the value at the beginning of text, and what follows it.
func nextGlimpse(text string) (g glimpse, rest string) {
	var s nesting
	n, _, err := s.scan(bytesOf(text))
	if err != nil || n == 0 {
		n = len(text)
	}
	return glimpse(text[:n]), text[n:]
}

// members yields what can be seen of the members of an object, in order.
func (g glimpse) members() iter.Seq2[string, glimpse] {
	return func(yield func(string, glimpse) bool) {
		if !g.isObject() {
			return
		}
		rest := string(g[1:])
		for {
			rest = strings.TrimLeft(rest, " \t\r\n,")
			if !strings.HasPrefix(rest, `"`) {
				return
			}
			var key glimpse
			key, rest = nextGlimpse(rest)
			name, ok := unquote(string(key))
			rest = strings.TrimLeft(rest, " \t\r\n")
			if !ok || !strings.HasPrefix(rest, ":") {
				return
			}
			var value glimpse
			value, rest = nextGlimpse(strings.TrimLeft(rest[1:], " \t\r\n"))
			if value == "" || !yield(name, value) {
				return
			}
		}
	}
}

// elements yields what can be seen of the elements of an array.
func (g glimpse) elements() iter.Seq[glimpse] {
	return func(yield func(glimpse) bool) {
		if !g.isArray() {
			return
		}
		rest := string(g[1:])
		for {
			rest = strings.TrimLeft(rest, " \t\r\n,")
			if rest == "" || rest[0] == ']' {
				return
			}
			var value glimpse
			if value, rest = nextGlimpse(rest); !yield(value) {
				return
			}
		}
	}
}

// get returns the value of a key, "" if it is not seen.
func (g glimpse) get(key string) glimpse {
	for k, v := range g.members() {
		if k == key {
			return v
		}
	}
	return ""
}

func (g glimpse) has(key string) bool { return g.get(key) != "" }

// string returns the string that the value of a key is, "" if it is another or cut off.
func (g glimpse) string(key string) string {
	s, _ := unquote(string(g.get(key)))
	return s
}

// whole returns the most that look says of g, or of the messages of which g is a record.
func (g glimpse) whole(look func(glimpse) evidence) evidence {
	messages := g.get("messages")
	if !messages.isArray() {
		return look(g)
	}
	most := nothing
	for m := range messages.elements() {
		most = max(most, look(m))
	}
	return most
}

// isMessage reports whether g has a role, as the messages of most formats do.
func (g glimpse) isMessage() bool { return g.string("role") != "" }

// isPlain reports whether g is a message of a text, and has no more than most formats have.
func (g glimpse) isPlain() bool {
	if !g.isMessage() {
		return false
	}
	for key, value := range g.members() {
		switch key {
		case "role", "name", "id":
		case "content":
			for p := range value.elements() {
				if p.string("type") != "text" {
					return false
				}
			}
			if value.isObject() {
				return false
			}
		default:
			return false
		}
	}
	return true
}
