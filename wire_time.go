package sessionstore

import (
	"strings"
	"time"
)

// appendTime appends t, in normal form and not zero, as the wire form writes it.
func appendTime(dst []byte, t time.Time) []byte {
	year, month, day := t.Date()
	hour, minute, second := t.Clock()
	dst = append(dst, '"')
	dst = appendDigits(dst, year, 4)
	dst = append(dst, '-')
	dst = appendDigits(dst, int(month), 2)
	dst = append(dst, '-')
	dst = appendDigits(dst, day, 2)
	dst = append(dst, 'T')
	dst = appendDigits(dst, hour, 2)
	dst = append(dst, ':')
	dst = appendDigits(dst, minute, 2)
	dst = append(dst, ':')
	dst = appendDigits(dst, second, 2)
	dst = append(dst, '.')
	dst = appendDigits(dst, t.Nanosecond()/1000, 6)
	return append(dst, `+00:00"`...)
}

func appendDigits(dst []byte, n, width int) []byte {
	for range width {
		dst = append(dst, '0')
	}
	for i := len(dst) - 1; n > 0; i-- {
		dst[i] += byte(n % 10)
		n /= 10
	}
	return dst
}

// appendTimeOrNull appends a comma, the key and the time, null for the zero time.
func appendTimeOrNull(dst []byte, key string, t time.Time) ([]byte, error) {
	dst = appendKey(dst, key)
	t, err := normalTime(key, t)
	if err != nil {
		return dst, err
	}
	if t.IsZero() {
		return append(dst, "null"...), nil
	}
	return appendTime(dst, t), nil
}

// time reads a time; null is the zero time.
func (r *reader) time(field string) (time.Time, error) {
	if r.Null() {
		return time.Time{}, nil
	}
	s, err := r.String()
	if err != nil {
		return time.Time{}, badJSON(field, err)
	}
	t, ok := parseTime(s)
	if !ok {
		return time.Time{}, invalid(field, "%q is not a time of ISO 8601", clip(s))
	}
	return normalTime(field, t)
}

// parseTime reads a time of ISO 8601 as Python's isoformat and others write it: the
// date, and behind a "T" or a space the time of day, of which minutes, seconds and a
// fraction may be missing, and a zone. Without a zone it is UTC. Digits of the fraction
// beyond the sixth are cut off.
func parseTime(s string) (time.Time, bool) {
	p := timeParser{s: s}
	year := p.digits(4)
	p.byte('-')
	month := p.digits(2)
	p.byte('-')
	day := p.digits(2)
	var sinceMidnight, offset time.Duration
	if !p.bad && p.s != "" {
		p.anyOf("Tt ")
		sinceMidnight = p.clock(true)
		offset = p.zone()
	}
	if p.bad || p.s != "" || year < 1 || month < 1 || month > 12 || day < 1 || day > daysIn(year, month) {
		return time.Time{}, false
	}
	return time.Date(year, time.Month(month), day, 0, 0, 0, 0, time.UTC).Add(sinceMidnight - offset), true
}

func daysIn(year, month int) int {
	switch month {
	case 2:
		if year%4 == 0 && (year%100 != 0 || year%400 == 0) {
			return 29
		}
		return 28
	case 4, 6, 9, 11:
		return 30
	}
	return 31
}

// timeParser takes a time apart from its front.
type timeParser struct {
	s   string
	bad bool
}

// digits takes exactly n digits.
func (p *timeParser) digits(n int) int {
	if len(p.s) < n {
		p.bad = true
		return 0
	}
	v := 0
	for i := range n {
		c := p.s[i] - '0'
		if c > 9 {
			p.bad = true
			return 0
		}
		v = v*10 + int(c)
	}
	p.s = p.s[n:]
	return v
}

func (p *timeParser) byte(c byte) {
	if !p.take(c) {
		p.bad = true
	}
}

func (p *timeParser) take(c byte) bool {
	if p.s == "" || p.s[0] != c {
		return false
	}
	p.s = p.s[1:]
	return true
}

func (p *timeParser) anyOf(set string) {
	if p.s == "" || strings.IndexByte(set, p.s[0]) < 0 {
		p.bad = true
		return
	}
	p.s = p.s[1:]
}

// clock takes HH[:MM[:SS[.f…]]], or without colons HH[MM] where those are optional.
func (p *timeParser) clock(colons bool) time.Duration {
	hour, minute, second, micros := p.digits(2), 0, 0, 0
	switch {
	case p.take(':'):
		minute = p.digits(2)
		if p.take(':') {
			second = p.digits(2)
			if p.take('.') || p.take(',') {
				micros = p.fraction()
			}
		}
	case !colons && p.s != "":
		minute = p.digits(2)
	}
	if hour > 23 || minute > 59 || second > 59 {
		p.bad = true
	}
	return time.Duration(hour)*time.Hour + time.Duration(minute)*time.Minute +
		time.Duration(second)*time.Second + time.Duration(micros)*time.Microsecond
}

// fraction takes one digit or more and returns microseconds.
func (p *timeParser) fraction() int {
	micros, n := 0, 0
	for ; n < len(p.s) && p.s[n]-'0' <= 9; n++ {
		if n < 6 {
			micros = micros*10 + int(p.s[n]-'0')
		}
	}
	for i := n; i < 6; i++ {
		micros *= 10
	}
	if n == 0 {
		p.bad = true
	}
	p.s = p.s[n:]
	return micros
}

// zone takes Z, ±HH, ±HHMM, ±HH:MM, ±HH:MM:SS[.f…] or nothing, and returns how far the
// zone is ahead of UTC.
func (p *timeParser) zone() time.Duration {
	switch {
	case p.s == "", p.take('Z'), p.take('z'):
		return 0
	case p.take('+'):
		return p.clock(false)
	case p.take('-'):
		return -p.clock(false)
	}
	p.bad = true
	return 0
}
