package codec

// Compact appends the one JSON value that value is to dst without the white space
// outside of its strings, and otherwise as it is spelled. It may have so many levels of
// arrays and objects.
func Compact(dst, value []byte, levels int) ([]byte, error) {
	text := view(value)
	c := scanner{s: text}
	start := skipSpace(text, 0)
	end, err := c.value(start, levels)
	if err != nil {
		return dst, err
	}
	if i := skipSpace(text, end); i != len(text) {
		return dst, errAt(i, "unexpected data after the value")
	}
	if !c.spaced {
		return append(dst, text[start:end]...), nil
	}
	return appendSpaceless(dst, text[start:end]), nil
}

// appendSpaceless appends the valid JSON text s without white space outside strings.
func appendSpaceless(dst []byte, s string) []byte {
	start := 0
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '"':
			for i++; s[i] != '"'; i++ {
				if s[i] == '\\' {
					i++
				}
			}
		case isSpace(s[i]):
			dst = append(dst, s[start:i]...)
			start = i + 1
		}
	}
	return append(dst, s[start:]...)
}
