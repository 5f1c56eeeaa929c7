package main

import (
	"fmt"
	"io"
	"time"
)

// progress shows on a terminal how far a command has come. Elsewhere it does nothing.
type progress struct {
	w     io.Writer // nil: not a terminal
	size  int64     // of the input in bytes; 0: unknown
	next  time.Time // not drawn again before
	drawn bool
}

// redraw is how often the bar changes at most: more would only cost time.
const redraw = 100 * time.Millisecond

func newProgress(w io.Writer, size int64) *progress {
	if terminalWidth(w) == 0 {
		return &progress{}
	}
	return &progress{w: w, size: size}
}

// at draws the bar of an import after so many bytes of the input.
func (p *progress) at(read int64) { p.draw(func() string { return p.text(read) }) }

// draw shows a line in place of the one before, unless that is too young.
func (p *progress) draw(line func() string) {
	if p.w == nil {
		return
	}
	now := time.Now()
	if now.Before(p.next) {
		return
	}
	p.next = now.Add(redraw)
	p.drawn = true
	fmt.Fprintf(p.w, "\r%s\x1b[K", line())
}

func (p *progress) text(read int64) string {
	const mib = 1 << 20
	done := fmt.Sprintf("importing %.1f MiB", float64(read)/mib)
	if p.size <= 0 {
		return done
	}
	const width = 30
	share := min(float64(read)/float64(p.size), 1)
	full := int(share * width)
	bar := fmt.Sprintf("%.*s%.*s", full, "##############################", width-full, "..............................")
	return fmt.Sprintf("%s of %.1f [%s] %3.0f%%", done, float64(p.size)/mib, bar, share*100)
}

// clear removes the bar, so that a line can be printed.
func (p *progress) clear() {
	if p.drawn {
		fmt.Fprint(p.w, "\r\x1b[K")
		p.drawn, p.next = false, time.Time{}
	}
}
