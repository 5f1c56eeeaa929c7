package formats

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"sort"
)

// occurrences counts how often each record was seen in a file, by 64 bits of its hash.
// Two records whose bits meet by chance share a count, which makes an id less pretty but
// not wrong: it is still the same in each import of the same file.
//
// Its table has at most 6 MiB, enough for 393,216 different records; beyond that the
// counts go to a temporary file (12 bytes a record), kept sorted: each look-up of a new
// record then reads one block of 4 KiB, and each further 393,216 records rewrite the file.
type occurrences struct {
	keys   []uint64
	counts []uint32 // 0: the slot is free
	used   int
	max    int // slots, a power of two
	dir    string
	spill  *spilled
}

const (
	firstSlots = 1 << 10
	maxSlots   = 1 << 19
)

func newOccurrences(dir string) *occurrences {
	return &occurrences{keys: make([]uint64, firstSlots), counts: make([]uint32, firstSlots), max: maxSlots, dir: dir}
}

// count returns how often key was counted, this time included.
func (o *occurrences) count(key uint64) (uint32, error) {
	at := o.slot(key)
	if o.counts[at] == 0 {
		before, err := o.spill.lookup(key)
		if err != nil {
			return 0, err
		}
		if o.used+1 > len(o.keys)/4*3 {
			if err := o.makeRoom(); err != nil {
				return 0, err
			}
			at = o.slot(key)
		}
		o.keys[at], o.counts[at] = key, before
		o.used++
	}
	o.counts[at]++
	return o.counts[at], nil
}

// slot returns where key is, or the free slot where it belongs.
func (o *occurrences) slot(key uint64) int {
	mask := len(o.keys) - 1
	at := int(key & uint64(mask))
	for o.counts[at] != 0 && o.keys[at] != key {
		at = (at + 1) & mask
	}
	return at
}

// makeRoom doubles the table, or empties it into the file once it is at its largest.
func (o *occurrences) makeRoom() error {
	keys, counts := o.keys, o.counts
	if len(keys) >= o.max {
		spill, err := o.spill.merge(o.dir, keys, counts, o.used)
		if err != nil {
			return err
		}
		o.spill = spill
		clear(o.counts)
		o.used = 0
		return nil
	}
	o.keys, o.counts = make([]uint64, 2*len(keys)), make([]uint32, 2*len(keys))
	for i, n := range counts {
		if n > 0 {
			at := o.slot(keys[i])
			o.keys[at], o.counts[at] = keys[i], n
		}
	}
	return nil
}

func (o *occurrences) close() { o.spill.close() }

// spilled is a file of keys and counts, sorted by key. A nil one is empty.
type spilled struct {
	f       *tempFile
	entries int
	fences  []uint64 // the first key of each block
}

const (
	entrySize    = 12
	blockEntries = 4 << 10 / entrySize
)

func (s *spilled) lookup(key uint64) (uint32, error) {
	if s == nil {
		return 0, nil
	}
	block := sort.Search(len(s.fences), func(i int) bool { return s.fences[i] > key }) - 1
	if block < 0 {
		return 0, nil
	}
	n := min(blockEntries, s.entries-block*blockEntries)
	var buf [blockEntries * entrySize]byte
	if _, err := s.f.ReadAt(buf[:n*entrySize], int64(block)*int64(len(buf))); err != nil {
		return 0, fmt.Errorf("read the count of equal records: %w", err)
	}
	at := sort.Search(n, func(i int) bool { return binary.BigEndian.Uint64(buf[i*entrySize:]) >= key })
	if at == n || binary.BigEndian.Uint64(buf[at*entrySize:]) != key {
		return 0, nil
	}
	return binary.BigEndian.Uint32(buf[at*entrySize+8:]), nil
}

type entry struct {
	key   uint64
	count uint32
}

// merge writes a new file of s and the table, whose counts are the newer ones, and closes
// s.
func (s *spilled) merge(dir string, keys []uint64, counts []uint32, used int) (_ *spilled, err error) {
	table := make([]entry, 0, used)
	for i, n := range counts {
		if n > 0 {
			table = append(table, entry{keys[i], n})
		}
	}
	slices.SortFunc(table, func(a, b entry) int { return cmp.Compare(a.key, b.key) })

	f, err := createTemp(dir)
	if err != nil {
		return nil, fmt.Errorf("spill the count of equal records: %w", err)
	}
	out := &spilled{f: f}
	defer func() {
		if err != nil {
			out.close()
			err = fmt.Errorf("spill the count of equal records: %w", err)
		}
	}()
	w := bufio.NewWriterSize(f, 64<<10)
	write := func(e entry) {
		if out.entries%blockEntries == 0 {
			out.fences = append(out.fences, e.key)
		}
		out.entries++
		var b [entrySize]byte
		binary.BigEndian.PutUint64(b[:], e.key)
		binary.BigEndian.PutUint32(b[8:], e.count)
		w.Write(b[:]) // Flush returns its error
	}
	old := s.reader()
	for {
		e, readErr := old()
		if readErr != nil && !errors.Is(readErr, io.EOF) {
			return nil, readErr
		}
		for len(table) > 0 && (errors.Is(readErr, io.EOF) || table[0].key < e.key) {
			write(table[0])
			table = table[1:]
		}
		if errors.Is(readErr, io.EOF) {
			break
		}
		if len(table) > 0 && table[0].key == e.key {
			e = table[0]
			table = table[1:]
		}
		write(e)
	}
	if err = w.Flush(); err != nil {
		return nil, err
	}
	s.close()
	return out, nil
}

// reader returns a function that gives the entries one by one, then io.EOF.
func (s *spilled) reader() func() (entry, error) {
	if s == nil {
		return func() (entry, error) { return entry{}, io.EOF }
	}
	r := bufio.NewReaderSize(io.NewSectionReader(s.f, 0, int64(s.entries)*entrySize), 64<<10)
	return func() (entry, error) {
		var b [entrySize]byte
		if _, err := io.ReadFull(r, b[:]); err != nil {
			return entry{}, err
		}
		return entry{binary.BigEndian.Uint64(b[:]), binary.BigEndian.Uint32(b[8:])}, nil
	}
}

func (s *spilled) close() {
	if s != nil {
		s.f.close()
	}
}
