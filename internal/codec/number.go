package codec

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
)

// ValidNumber reports whether s is one JSON number and nothing else.
func ValidNumber(s string) bool {
	end, err := scanNumber(s, 0)
	return err == nil && end == len(s)
}

// ParseNumber returns the value of a JSON number by its spelling: without ".", "e" and
// "E" an int64 if it is in range; with one of them a float64 if the shortest form of
// that denotes the same decimal; otherwise a json.Number as it is spelled.
func ParseNumber(s string) any {
	if strings.IndexByte(s, '.') < 0 && strings.IndexByte(s, 'e') < 0 && strings.IndexByte(s, 'E') < 0 {
		if n, err := strconv.ParseInt(s, 10, 64); err == nil {
			return n
		}
		return json.Number(s)
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return json.Number(s)
	}
	// Two decimals of at most 15 digits are never the same normal float.
	const smallestNormal = 0x1p-1022
	if len(s) <= 15 && math.Abs(f) >= smallestNormal {
		return f
	}
	var buf [32]byte
	if parseDecimal(s) != parseDecimal(string(strconv.AppendFloat(buf[:0], f, 'e', -1, 64))) {
		return json.Number(s)
	}
	return f
}

// AppendFloat appends the shortest form of f, which is finite, with a "." or an "e" in
// it. The bits are those of f's type, 32 or 64.
func AppendFloat(dst []byte, f float64, bits int) []byte {
	format := byte('f')
	if a := math.Abs(f); a != 0 && (a < 1e-6 || a >= 1e21) {
		format = 'e'
	}
	start := len(dst)
	dst = strconv.AppendFloat(dst, f, format, -1, bits)
	for _, c := range dst[start:] {
		if c == '.' || c == 'e' {
			return dst
		}
	}
	return append(dst, '.', '0')
}

// decimal is a number taken apart: 0.DIGITS times ten to the power of exp. Digits
// neither begin nor end with a zero; zero has none, and exp 0.
type decimal struct {
	neg    bool
	digits string
	exp    int64
}

// farExp stands for every exponent beyond it, far more than a text has digits.
const farExp = 1 << 40

// parseDecimal takes a JSON number apart, exactly.
func parseDecimal(s string) decimal {
	var d decimal
	if s[0] == '-' {
		d.neg, s = true, s[1:]
	}
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		d.exp = parseExp(s[i+1:])
		s = s[:i]
	}
	whole, frac, _ := strings.Cut(s, ".")
	d.exp += int64(len(whole))
	if frac != "" {
		whole += frac
	}
	digits := strings.TrimLeft(whole, "0")
	d.exp -= int64(len(whole) - len(digits))
	if d.digits = strings.TrimRight(digits, "0"); d.digits == "" {
		d.exp = 0
	}
	return d
}

func parseExp(s string) int64 {
	n, err := strconv.ParseInt(s, 10, 64)
	switch {
	case err != nil && s[0] == '-', n < -farExp:
		return -farExp
	case err != nil, n > farExp:
		return farExp
	}
	return n
}

// ParseNanos returns a JSON number times 1e9 as an integer, truncated towards zero, and
// whether it fits.
func ParseNanos(s string) (int64, bool) {
	d := parseDecimal(s)
	exp := d.exp + 9 // the number of digits before the point
	if exp <= 0 || d.digits == "" {
		return 0, true
	}
	if exp > 19 {
		return 0, false
	}
	digits := d.digits
	if n := int(exp); n < len(digits) {
		digits = digits[:n]
	} else {
		digits += strings.Repeat("0", n-len(digits))
	}
	if d.neg {
		digits = "-" + digits
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	return n, err == nil
}

// AppendNanos appends n billionths exactly: as an integer if n is a multiple of 1e9, or
// with as many decimals as it takes.
func AppendNanos(dst []byte, n int64) []byte {
	u := uint64(n)
	if n < 0 {
		dst = append(dst, '-')
		u = -u
	}
	dst = strconv.AppendUint(dst, u/1e9, 10)
	rest := u % 1e9
	if rest == 0 {
		return dst
	}
	dst = append(dst, '.')
	for unit := uint64(1e8); rest > 0; unit /= 10 {
		dst = append(dst, byte('0'+rest/unit))
		rest %= unit
	}
	return dst
}
