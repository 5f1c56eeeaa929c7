package formats

import "io"

// Record is what ReadRecords saw.
type Record struct {
	Line, Index int64
	Text        string
	Err         error
}

// ReadRecords gives tests the reader below all formats.
func ReadRecords(r io.Reader, whole func(first string) bool, yield func(Record) bool) error {
	return readRecords(r, whole, func(rec record) bool {
		return yield(Record{rec.line, rec.index, rec.text, rec.err})
	})
}

// Occurrences is the counter of equal records, with a table of a given size.
type Occurrences struct{ o *occurrences }

func NewOccurrences(dir string, slots int) Occurrences {
	o := newOccurrences(dir)
	o.max = slots
	return Occurrences{o}
}

func (o Occurrences) Count(key uint64) (uint32, error) { return o.o.count(key) }
func (o Occurrences) Spilled() bool                    { return o.o.spill != nil }
func (o Occurrences) Close()                           { o.o.close() }

// IsChatMessage is what tells a list of messages from a list of records.
var IsChatMessage = isChatMessage
