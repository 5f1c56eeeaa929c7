package formats

import (
	"bufio"
	"bytes"
	"cmp"
	"container/heap"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// sorter brings together lines of one session that lie anywhere in a file: it sorts them
// by session and then by place. It keeps up to limit bytes of them in memory and writes
// what is more, in sorted runs, to one temporary file, which a merger reads.
type sorter struct {
	limit int
	dir   string

	lines []sortedLine
	size  int

	f    *tempFile
	data io.ReaderAt // f, or memory where all fits
	end  int64
	runs []run
}

// sortedLine is a record with its place in the file.
type sortedLine struct {
	session     string
	line, index int64
	text        string
}

func (l *sortedLine) compare(o *sortedLine) int {
	return cmp.Or(strings.Compare(l.session, o.session), cmp.Compare(l.index, o.index))
}

// run is a sorted part of data.
type run struct{ start, end int64 }

// lineOverhead is what a line costs in memory besides its text.
const lineOverhead = 64

// add takes a line.
func (s *sorter) add(l sortedLine) error {
	s.lines = append(s.lines, l)
	if s.size += len(l.text) + len(l.session) + lineOverhead; s.size < s.limit {
		return nil
	}
	return s.flush()
}

// flush writes the lines in memory to the temporary file as a run.
func (s *sorter) flush() error {
	if s.f == nil {
		f, err := createTemp(s.dir)
		if err != nil {
			return fmt.Errorf("spill lines to sort: %w", err)
		}
		s.f, s.data = f, f
	}
	w := bufio.NewWriterSize(s.f, 64<<10)
	s.encode(w)
	if err := w.Flush(); err != nil {
		return fmt.Errorf("spill lines to sort: %w", err)
	}
	clear(s.lines)
	s.lines, s.size = s.lines[:0], 0
	return nil
}

// encode writes the lines in memory to w, which keeps its first error, as a run.
func (s *sorter) encode(w io.Writer) {
	slices.SortFunc(s.lines, func(a, b sortedLine) int { return a.compare(&b) })
	start := s.end
	var head []byte
	for _, l := range s.lines {
		head = binary.AppendUvarint(head[:0], uint64(len(l.session)))
		head = append(head, l.session...)
		head = binary.AppendUvarint(head, uint64(l.line))
		head = binary.AppendUvarint(head, uint64(l.index))
		head = binary.AppendUvarint(head, uint64(len(l.text)))
		_, _ = w.Write(head)
		_, _ = io.WriteString(w, l.text)
		s.end += int64(len(head) + len(l.text))
	}
	s.runs = append(s.runs, run{start, s.end})
}

// finish ends the adding. It returns a place before the first line.
func (s *sorter) finish() ([]int64, error) {
	if s.f == nil {
		var b bytes.Buffer
		s.encode(&b)
		s.data = bytes.NewReader(b.Bytes())
	} else if len(s.lines) > 0 {
		if err := s.flush(); err != nil {
			return nil, err
		}
	}
	s.lines = nil
	places := make([]int64, len(s.runs))
	for i, r := range s.runs {
		places[i] = r.start
	}
	return places, nil
}

func (s *sorter) close() {
	if s.f != nil {
		s.f.close()
	}
}

// mergeBuffers is what the buffers of all runs together take, about.
const mergeBuffers = 1 << 20

// merge reads the lines in order from a place on. There may be several mergers.
func (s *sorter) merge(places []int64) (*merger, error) {
	m := &merger{all: make([]*runReader, len(s.runs))}
	size := max(mergeBuffers/len(s.runs), 4<<10)
	for i, r := range s.runs {
		left := r.end - places[i]
		in := bufio.NewReaderSize(io.NewSectionReader(s.data, places[i], left), int(min(int64(size), left)))
		rr := &runReader{in: in, at: places[i]}
		m.all[i] = rr
		if err := rr.readHead(); err == nil {
			m.open = append(m.open, rr)
		} else if !errors.Is(err, io.EOF) {
			return nil, err
		}
	}
	heap.Init(&m.open)
	return m, nil
}

// merger gives the lines of all runs in order.
type merger struct {
	all  []*runReader
	open runHeap // those that have a line left
}

// session returns the session of the next line; false at the end.
func (m *merger) session() (string, bool) {
	if len(m.open) == 0 {
		return "", false
	}
	return m.open[0].head.session, true
}

// places returns where the next line and all after it begin.
func (m *merger) places() []int64 {
	places := make([]int64, len(m.all))
	for i, r := range m.all {
		places[i] = r.at
	}
	return places
}

// next returns the next line. There must be one.
func (m *merger) next() (sortedLine, error) {
	r := m.open[0]
	l := r.head
	var err error
	if l.text, err = readText(r.in, r.textLen); err != nil {
		return sortedLine{}, fmt.Errorf("read sorted lines: %w", err)
	}
	r.at += int64(r.headLen + r.textLen)
	switch err := r.readHead(); {
	case err == nil:
		heap.Fix(&m.open, 0)
	case errors.Is(err, io.EOF):
		heap.Pop(&m.open)
	default:
		return sortedLine{}, err
	}
	return l, nil
}

// runReader reads a run. Of its next line it holds all but the text: one line of each run
// could be more than fits.
type runReader struct {
	in      *bufio.Reader
	at      int64 // where head begins
	head    sortedLine
	headLen int
	textLen int
}

// readHead returns io.EOF at the end of the run.
func (r *runReader) readHead() error {
	n, err := binary.ReadUvarint(r.in)
	if errors.Is(err, io.EOF) {
		return err
	}
	session := make([]byte, n)
	if err == nil {
		_, err = io.ReadFull(r.in, session)
	}
	var rest [3]uint64
	r.headLen = uvarintLen(n) + len(session)
	for i := range rest {
		if err == nil {
			rest[i], err = binary.ReadUvarint(r.in)
		}
		r.headLen += uvarintLen(rest[i])
	}
	if err != nil {
		return fmt.Errorf("read sorted lines: %w", err)
	}
	r.head = sortedLine{session: string(session), line: int64(rest[0]), index: int64(rest[1])}
	r.textLen = int(rest[2])
	return nil
}

func uvarintLen(n uint64) int { return len(binary.AppendUvarint(nil, n)) }

// runHeap orders runs by their next line.
type runHeap []*runReader

func (h runHeap) Len() int           { return len(h) }
func (h runHeap) Less(i, j int) bool { return h[i].head.compare(&h[j].head) < 0 }
func (h runHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *runHeap) Push(x any)        { *h = append(*h, x.(*runReader)) }
func (h *runHeap) Pop() any {
	last := len(*h) - 1
	x := (*h)[last]
	*h = (*h)[:last]
	return x
}
