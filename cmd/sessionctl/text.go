package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/mattn/go-runewidth"
	"golang.org/x/term"
)

// cells measures text in terminal cells, the same in every locale.
var cells = &runewidth.Condition{StrictEmojiNeutral: true}

// oneLine returns stored text as it may be shown on a terminal, in one line: what could
// move the cursor, change colours or turn the reading direction is written as an escape.
func oneLine(s string) string { return escape(s, false) }

// lines is oneLine for text of several lines: line feeds and tabs stay.
func lines(s string) string { return escape(strings.ReplaceAll(s, "\r\n", "\n"), true) }

func escape(s string, multiline bool) string {
	clean := true
	for i, r := range s {
		if !printable(s, i, r, multiline) {
			clean = false
			break
		}
	}
	if clean {
		return s
	}
	var b strings.Builder
	b.Grow(len(s) + 16)
	for i, r := range s {
		switch {
		case printable(s, i, r, multiline):
			b.WriteRune(r)
		case r == utf8.RuneError: // a byte that is no UTF-8
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\t':
			b.WriteString(`\t`)
		case r < 0x10000:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			fmt.Fprintf(&b, `\U%08x`, r)
		}
	}
	return b.String()
}

// terminalWriter writes as JSON escapes what printable refuses and JSON leaves as it is:
// the control characters from U+007F on, and those that turn the reading direction. Text
// for people has none left; JSON has them in strings only.
type terminalWriter struct {
	w    io.Writer
	rest []byte // the beginning of a character that the next Write ends
}

func (t *terminalWriter) Write(p []byte) (int, error) {
	in := append(t.rest, p...)
	out := make([]byte, 0, len(in))
	for len(in) > 0 && utf8.FullRune(in) {
		r, n := utf8.DecodeRune(in)
		switch {
		case r < 0x7f || r == utf8.RuneError || printable("", 0, r, true):
			out = append(out, in[:n]...)
		case r < 0x10000:
			out = fmt.Appendf(out, `\u%04x`, r)
		default:
			high, low := utf16.EncodeRune(r)
			out = fmt.Appendf(out, `\u%04x\u%04x`, high, low)
		}
		in = in[n:]
	}
	t.rest = append([]byte(nil), in...)
	if _, err := t.w.Write(out); err != nil {
		return 0, err
	}
	return len(p), nil
}

func printable(s string, i int, r rune, multiline bool) bool {
	switch {
	case r >= ' ' && r < 0x7f:
		return true
	case r == '\n' || r == '\t':
		return multiline
	case r == utf8.RuneError:
		return strings.HasPrefix(s[i:], "\ufffd")
	case r == '\u200c' || r == '\u200d':
		return true // the joiners of Persian, Indic scripts and emoji
	}
	return !unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp)
}

// fit cuts s, which is one line, to at most width cells, at a whole character.
func fit(s string, width int) string {
	if cells.StringWidth(s) <= width {
		return s
	}
	return cells.Truncate(s, width, "…")
}

// terminalWidth returns the width of the terminal that an input or output is, or 0 if it
// is none.
func terminalWidth(stream any) int {
	f, ok := stream.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return 0
	}
	if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
		return width
	}
	return 80
}

// table writes rows in columns. It holds only the rows since the last flush, so that a
// long list streams; a later part is at least as wide as the parts before it.
type table struct {
	w      io.Writer
	width  int // the last column is cut to it; 0: never
	rows   [][]string
	widths []int
}

func (a *app) table(header ...string) *table {
	t := &table{w: a.out, width: a.width}
	t.row(header...)
	return t
}

// row adds a row. Its cells may hold any stored text.
func (t *table) row(row ...string) {
	for i := range row {
		row[i] = oneLine(row[i])
		if i == len(t.widths) {
			t.widths = append(t.widths, 0)
		}
		t.widths[i] = max(t.widths[i], cells.StringWidth(row[i]))
	}
	t.rows = append(t.rows, row)
}

func (t *table) flush() error {
	var b strings.Builder
	for _, row := range t.rows {
		b.Reset()
		at := 0
		for i, cell := range row {
			if i == len(row)-1 {
				if t.width > 0 {
					cell = fit(cell, max(t.width-at, 20))
				}
				b.WriteString(cell)
				break
			}
			b.WriteString(cell)
			b.WriteString(strings.Repeat(" ", t.widths[i]-cells.StringWidth(cell)+2))
			at += t.widths[i] + 2
		}
		line := strings.TrimRight(b.String(), " ") + "\n"
		if _, err := io.WriteString(t.w, line); err != nil {
			return err
		}
	}
	t.rows = t.rows[:0]
	return nil
}
