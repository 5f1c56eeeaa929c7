package codec

import (
	"math/bits"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

const hexDigits = "0123456789abcdef"

// AppendString appends s as a JSON string with as few escapes as JSON allows. It
// reports whether s is valid UTF-8; bytes that are not are written as they are.
func AppendString(dst []byte, s string) (_ []byte, valid bool) {
	dst = append(dst, '"')
	start, i := 0, 0
	var high uint64
	for i < len(s) {
		if i+8 <= len(s) {
			x := load8(s, i)
			high |= x & highs
			m := special(x)
			if m == 0 {
				i += 8
				continue
			}
			i += bits.TrailingZeros64(m) / 8
		}
		c := s[i]
		if c >= 0x20 && c != '"' && c != '\\' {
			high |= uint64(c) & 0x80
			i++
			continue
		}
		dst = append(dst, s[start:i]...)
		dst = appendEscape(dst, c)
		i++
		start = i
	}
	dst = append(dst, s[start:]...)
	return append(dst, '"'), high == 0 || utf8.ValidString(s)
}

func appendEscape(dst []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(dst, '\\', c)
	case '\b':
		return append(dst, '\\', 'b')
	case '\f':
		return append(dst, '\\', 'f')
	case '\n':
		return append(dst, '\\', 'n')
	case '\r':
		return append(dst, '\\', 'r')
	case '\t':
		return append(dst, '\\', 't')
	}
	return append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
}

// unquote writes the checked body of a string with its escapes resolved.
func unquote(out *strings.Builder, s string) {
	for {
		i := strings.IndexByte(s, '\\')
		if i < 0 {
			out.WriteString(s)
			return
		}
		out.WriteString(s[:i])
		c := s[i+1]
		s = s[i+2:]
		switch c {
		case 'b':
			c = '\b'
		case 'f':
			c = '\f'
		case 'n':
			c = '\n'
		case 'r':
			c = '\r'
		case 't':
			c = '\t'
		case 'u':
			r, _ := hex4(s, 0)
			s = s[4:]
			if utf16.IsSurrogate(r) {
				low, _ := hex4(s, 2)
				s = s[6:]
				r = utf16.DecodeRune(r, low)
			}
			out.WriteRune(r)
			continue
		}
		out.WriteByte(c)
	}
}
