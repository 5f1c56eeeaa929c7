package formats

import "fmt"

// nesting finds where a JSON value ends without keeping or judging it: it follows
// strings and brackets only, so that a record which is not valid JSON inside, or is too
// large to keep, can be passed over. The zero value stands before the first byte.
type nesting struct {
	open    []byte // the brackets that are open, up to maxTracked of them
	deeper  int    // how many more are open
	started bool
	scalar  bool // a number or a word: ends before the next delimiter
	str     bool // within a string
	escaped bool // after a backslash in a string
}

// maxTracked bounds what a file of nothing but brackets can make us remember. Deeper
// ones are counted without their kind; no record so deep is accepted anyway.
const maxTracked = 4096

// scan reads on through b. It returns how many bytes of b belong to the value, and
// whether the value ended there. An error means brackets that do not match.
func (s *nesting) scan(b []byte) (n int, done bool, err error) {
	for i := 0; i < len(b); i++ {
		c := b[i]
		if s.str {
			switch {
			case s.escaped:
				s.escaped = false
			case c == '\\':
				s.escaped = true
			case c == '"':
				s.str = false
				if s.depth() == 0 {
					return i + 1, true, nil
				}
			}
			continue
		}
		if s.scalar {
			switch c {
			case ',', ']', '}', ' ', '\t', '\r', '\n':
				return i, true, nil
			}
			continue
		}
		switch c {
		case '"':
			s.started, s.str = true, true
		case '{', '[':
			s.started = true
			s.push(c)
		case '}', ']':
			if !s.pop(c) {
				return i, false, fmt.Errorf("unexpected %q", c)
			}
			if s.depth() == 0 {
				return i + 1, true, nil
			}
		case ' ', '\t', '\r', '\n':
		default:
			if !s.started {
				s.started, s.scalar = true, true
			}
		}
	}
	return len(b), false, nil
}

func (s *nesting) depth() int { return len(s.open) + s.deeper }

func (s *nesting) push(c byte) {
	if len(s.open) == maxTracked {
		s.deeper++
		return
	}
	s.open = append(s.open, c)
}

func (s *nesting) pop(c byte) bool {
	if s.deeper > 0 {
		s.deeper--
		return true
	}
	last := len(s.open) - 1
	if last < 0 || s.open[last] != c-2 { // in ASCII each closing bracket is its opening one plus 2
		return false
	}
	s.open = s.open[:last]
	return true
}
