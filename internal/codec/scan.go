package codec

import (
	"math/bits"
	"unicode/utf8"
)

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// load8 returns the eight bytes of s from i, the first in the lowest bits. The compiler
// makes one load of it.
func load8(s string, i int) uint64 {
	_ = s[i+7]
	return uint64(s[i]) | uint64(s[i+1])<<8 | uint64(s[i+2])<<16 | uint64(s[i+3])<<24 |
		uint64(s[i+4])<<32 | uint64(s[i+5])<<40 | uint64(s[i+6])<<48 | uint64(s[i+7])<<56
}

// special marks the quotes, backslashes and control characters among the eight bytes of
// x by their high bits. The lowest mark is exact; one above it may be false, because a
// subtraction borrows only from a byte that is marked itself.
func special(x uint64) uint64 {
	q := x ^ '"'*ones
	b := x ^ '\\'*ones
	return ((q-ones)&^q | (b-ones)&^b | (x-0x20*ones)&^x) & highs
}

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' }

func skipSpace(s string, i int) int {
	for i < len(s) && isSpace(s[i]) {
		i++
	}
	return i
}

// scanString checks the string whose opening quote is before i. It returns the index of
// the closing quote and whether there are escapes.
func scanString(s string, i int) (end int, escaped bool, err error) {
	start := i
	var high uint64
	for {
		for i+8 <= len(s) {
			x := load8(s, i)
			high |= x & highs
			if m := special(x); m != 0 {
				i += bits.TrailingZeros64(m) / 8
				break
			}
			i += 8
		}
		if i >= len(s) {
			return 0, false, errAt(len(s), "unterminated string")
		}
		switch c := s[i]; {
		case c == '"':
			if high != 0 && !utf8.ValidString(s[start:i]) {
				return 0, false, errAt(start, "invalid UTF-8 in the string")
			}
			return i, escaped, nil
		case c == '\\':
			escaped = true
			if i, err = scanEscape(s, i); err != nil {
				return 0, false, err
			}
		case c < 0x20:
			return 0, false, errAt(i, "control character in a string")
		default:
			high |= uint64(c) & 0x80
			i++
		}
	}
}

// scanEscape checks the escape that begins at i and returns the index behind it. A pair
// of surrogates is one escape.
func scanEscape(s string, i int) (int, error) {
	if i+1 >= len(s) {
		return 0, errAt(len(s), "unterminated string")
	}
	switch s[i+1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return i + 2, nil
	case 'u':
		u, ok := hex4(s, i+2)
		switch {
		case !ok:
			return 0, errAt(i, "invalid escape")
		case u < 0xd800 || u > 0xdfff:
			return i + 6, nil
		case u < 0xdc00 && i+7 < len(s) && s[i+6] == '\\' && s[i+7] == 'u':
			if low, ok := hex4(s, i+8); ok && low >= 0xdc00 && low <= 0xdfff {
				return i + 12, nil
			}
		}
		return 0, errAt(i, "unpaired surrogate escape")
	}
	return 0, errAt(i, "invalid escape")
}

// hex4 reads the four hexadecimal digits at i.
func hex4(s string, i int) (rune, bool) {
	if i+4 > len(s) {
		return 0, false
	}
	var r rune
	for _, c := range []byte(s[i : i+4]) {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c >= 'a' && c <= 'f':
			c -= 'a' - 10
		case c >= 'A' && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}

// scanDigits returns the index behind the digits at i.
func scanDigits(s string, i int) int {
	for i < len(s) && s[i]-'0' <= 9 {
		i++
	}
	return i
}

// scanNumber checks the number at i and returns the index behind it.
func scanNumber(s string, i int) (int, error) {
	start := i
	if i < len(s) && s[i] == '-' {
		i++
	}
	first := i
	i = scanDigits(s, i)
	if i == first || s[first] == '0' && i > first+1 {
		return 0, errAt(start, "invalid number")
	}
	if i < len(s) && s[i] == '.' {
		first = i + 1
		if i = scanDigits(s, first); i == first {
			return 0, errAt(start, "invalid number")
		}
	}
	if i < len(s) && (s[i] == 'e' || s[i] == 'E') {
		first = i + 1
		if first < len(s) && (s[first] == '+' || s[first] == '-') {
			first++
		}
		if i = scanDigits(s, first); i == first {
			return 0, errAt(start, "invalid number")
		}
	}
	return i, nil
}

// scanner checks whole values.
type scanner struct {
	s      string
	spaced bool // white space was met outside of strings
}

func (c *scanner) space(i int) int {
	if j := skipSpace(c.s, i); j != i {
		c.spaced = true
		return j
	}
	return i
}

// value checks the value at i, which is no white space, and returns the index behind
// it. It may have so many levels of arrays and objects.
func (c *scanner) value(i, levels int) (int, error) {
	if i >= len(c.s) {
		return 0, errAt(len(c.s), "unexpected end")
	}
	switch c.s[i] {
	case '"':
		end, _, err := scanString(c.s, i+1)
		return end + 1, err
	case '{', '[':
		if levels <= 0 {
			return 0, errAt(i, "nested too deeply")
		}
		return c.list(i, levels-1)
	case 't':
		return scanWord(c.s, i, "true")
	case 'f':
		return scanWord(c.s, i, "false")
	case 'n':
		return scanWord(c.s, i, "null")
	case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		return scanNumber(c.s, i)
	}
	return 0, errAt(i, "unexpected character")
}

// list checks the object or array that begins at i.
func (c *scanner) list(i, levels int) (int, error) {
	object, end := c.s[i] == '{', c.s[i]+2 // ']' is '[' + 2, '}' is '{' + 2
	if i = c.space(i + 1); i < len(c.s) && c.s[i] == end {
		return i + 1, nil
	}
	for {
		var err error
		if object {
			if i, err = c.key(i); err != nil {
				return 0, err
			}
		}
		if i, err = c.value(i, levels); err != nil {
			return 0, err
		}
		i = c.space(i)
		switch {
		case i >= len(c.s):
			return 0, errAt(len(c.s), "unexpected end")
		case c.s[i] == end:
			return i + 1, nil
		case c.s[i] != ',':
			return 0, errAt(i, "unexpected character")
		}
		i = c.space(i + 1)
	}
}

// key checks the key at i and returns the index of its value.
func (c *scanner) key(i int) (int, error) {
	if i >= len(c.s) || c.s[i] != '"' {
		return 0, errAt(i, "missing key")
	}
	i, _, err := scanString(c.s, i+1)
	if err != nil {
		return 0, err
	}
	if i = c.space(i + 1); i >= len(c.s) || c.s[i] != ':' {
		return 0, errAt(i, "missing colon")
	}
	return c.space(i + 1), nil
}

func scanWord(s string, i int, word string) (int, error) {
	if end := i + len(word); end <= len(s) && s[i:end] == word {
		return end, nil
	}
	return 0, errAt(i, "unexpected character")
}
