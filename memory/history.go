package memory

import (
	"slices"
	"sort"
)

// chunkSize is how many records a chunk holds: about 16 KB, so that the first append to
// a new chunk is not felt, and neither is the copy of one.
const chunkSize = 64

// history is the records of a session in the order of their Seq. A copy of the struct is
// a snapshot: records are never changed, and what is appended later lies beyond the
// snapshot's lengths. Only the original may be appended to; a second one that may be is
// made by head.
type history struct {
	full [][]record // chunks of chunkSize
	tail []record   // fewer than chunkSize
}

func (h *history) len() int { return len(h.full)*chunkSize + len(h.tail) }

func (h *history) at(i int) *record {
	if c := i / chunkSize; c < len(h.full) {
		return &h.full[c][i%chunkSize]
	}
	return &h.tail[i-len(h.full)*chunkSize]
}

// run returns the records from i to the end of i's chunk.
func (h *history) run(i int) []record {
	if c := i / chunkSize; c < len(h.full) {
		return h.full[c][i%chunkSize:]
	}
	return h.tail[i-len(h.full)*chunkSize:]
}

// through returns how many records have a Seq up to seq.
func (h *history) through(seq int64) int {
	n := h.len()
	// Seqs start at 1 and grow, so that no more than seq records can precede it; and
	// without a gap in the history it is exactly seq.
	if int64(n) > seq {
		n = int(max(seq, 0))
	}
	if n == 0 || h.at(n-1).message.Seq <= seq {
		return n
	}
	return sort.Search(n, func(i int) bool { return h.at(i).message.Seq > seq })
}

// grow appends an empty record, to be filled before anyone else can take a snapshot.
func (h *history) grow() *record {
	if h.tail == nil && len(h.full) > 0 {
		h.tail = make([]record, 0, chunkSize)
	}
	// The first chunk of a session grows as slices do: most sessions are short. What lies
	// beyond the length was never written, and so is empty.
	h.tail = slices.Grow(h.tail, 1)
	h.tail = h.tail[:len(h.tail)+1]
	r := &h.tail[len(h.tail)-1]
	if len(h.tail) == chunkSize {
		h.full = append(h.full, h.tail)
		h.tail = nil
	}
	return r
}

// head returns the first n records as a history of its own, that refers to nothing
// beyond them. Only full chunks are shared.
func (h *history) head(n int) history {
	c := n / chunkSize
	out := history{full: slices.Clone(h.full[:c])}
	if rest := n % chunkSize; rest > 0 {
		out.tail = slices.Clone(h.run(c * chunkSize)[:rest])
	}
	return out
}
