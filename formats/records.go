package formats

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/sessionstore/sessionstore"
)

// MaxRecordBytes is the size of the largest record that is read: a line, an element of a
// top-level array, or a whole object. A larger one is passed over and reported.
const MaxRecordBytes = 16 << 20

// MaxRecordValues is how many JSON values a record may have: what is remembered of each is
// more than it takes in the file.
const MaxRecordValues = 400_000

// record is one top-level JSON value of a file, or an element of its top-level array.
type record struct {
	line  int64  // where it begins, from 1
	index int64  // its number in the file, from 0
	text  string // valid JSON if err is nil; "" if it is too large
	err   error  // why it cannot be used
}

// SyntaxError says where a file stops being a sequence of records, so that nothing after
// it can be told apart.
type SyntaxError struct {
	Line   int64 // from 1
	Offset int64 // in bytes from the start of the file
	Index  int64 // of the record there, from 0
	Reason string
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("line %d (byte %d, record %d): %s", e.Line, e.Offset, e.Index, e.Reason)
}

// records cuts a file into records. It finds out by itself which of these it reads:
//
//   - one JSON value a line; a bad line costs that line;
//   - a top-level array; a bad element costs that element as long as its brackets match;
//   - objects written over several lines, one or more after each other.
//
// It holds one record, at most MaxRecordBytes of it.
type records struct {
	in     *bufio.Reader
	line   int64 // of the next byte
	offset int64
	index  int64           // of the next record
	buf    strings.Builder // the record so far
	over   bool            // what was read into buf did not fit

	// whole decides by its first element whether a top-level array is one record rather
	// than a list of them. Nil: never.
	whole func(first string) bool

	yield func(record) bool
}

// errStop ends the reading because the consumer has had enough.
var errStop = errors.New("stop")

const utf8BOM = "\xef\xbb\xbf"

// readRecords calls yield for each record of r until it returns false. The error is one
// of r's, or a *SyntaxError.
func readRecords(r io.Reader, whole func(first string) bool, yield func(record) bool) error {
	d := &records{in: bufio.NewReaderSize(r, 256<<10), line: 1, whole: whole, yield: yield}
	err := d.read()
	if errors.Is(err, errStop) {
		return nil
	}
	return err
}

func (d *records) read() error {
	if b, _ := d.in.Peek(len(utf8BOM)); string(b) == utf8BOM {
		d.discard(len(utf8BOM))
	}
	c, err := d.skipSpace()
	switch {
	case errors.Is(err, io.EOF):
		return nil
	case err != nil:
		return err
	case c == '[':
		return d.array()
	}
	return d.linesOrValues()
}

// linesOrValues tells one value a line from values over several lines. If the first line
// holds a value that does not end there, what follows decides: a line of a JSONL file
// begins with a bracket in its first column, the second line of a printed object does not.
func (d *records) linesOrValues() error {
	line := d.line
	if err := d.readLine(); err != nil {
		return err
	}
	var s nesting
	_, done, err := s.scan([]byte(d.buf.String()))
	if d.over || done || err != nil || s.scalar || s.str || !d.indented() {
		if err := d.emit(line); err != nil {
			return err
		}
		return d.lines()
	}
	for {
		if err := d.value(&s, line); err != nil {
			return err
		}
		if err := d.emit(line); err != nil {
			return err
		}
		c, err := d.skipSpace()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if c != '{' && c != '[' {
			return d.broken("unexpected %q after a value", c)
		}
		s, line = nesting{}, d.line
		d.reset()
	}
}

// indented reports whether the next character that is not white space belongs to a value
// which began on a line before.
func (d *records) indented() bool {
	ahead, _ := d.in.Peek(4 << 10)
	column := 0
	for _, c := range ahead {
		switch c {
		case '\n':
			column = 0
		case ' ', '\t', '\r':
			column++
		case '"', '}', ']':
			return true
		default:
			return column > 0
		}
	}
	return false
}

// lines reads one record a line, to the end of the file.
func (d *records) lines() error {
	for {
		line := d.line
		err := d.readLine()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := d.emit(line); err != nil {
			return err
		}
	}
}

// readLine reads a line into buf, without its end. At the end of the file it returns
// io.EOF, but a last line without an end is a line.
func (d *records) readLine() error {
	d.reset()
	for first := true; ; first = false {
		part, err := d.in.ReadSlice('\n')
		d.offset += int64(len(part))
		d.keep(part)
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case err == nil:
			d.line++
			return nil
		case errors.Is(err, io.EOF) && (!first || len(part) > 0):
			return nil
		default:
			return err
		}
	}
}

// array reads the elements of a top-level array. What follows it on further lines is
// read as lines, because a file of arrays, one a line, begins the same way.
func (d *records) array() error {
	start := d.line
	d.discard(1)
	for first := true; ; first = false {
		c, err := d.skipSpace()
		if err != nil {
			return d.cut(err, "the array that begins at line %d is not closed", start)
		}
		if c == ']' && first {
			break
		}
		if c == ',' || c == ']' {
			return d.broken("unexpected %q in the array, a value was expected", c)
		}
		line := d.line
		d.reset()
		if err := d.value(&nesting{}, line); err != nil {
			return err
		}
		if first && d.whole != nil && !d.over && d.whole(d.buf.String()) {
			element := d.buf.String()
			d.reset()
			d.keep([]byte("[" + element + " "))
			if err := d.value(&nesting{started: true, open: []byte{'['}}, start); err != nil {
				return err
			}
			if err := d.emit(start); err != nil {
				return err
			}
			return d.afterArray()
		}
		if err := d.emit(line); err != nil {
			return err
		}
		if c, err = d.skipSpace(); err != nil {
			return d.cut(err, "the array that begins at line %d is not closed", start)
		}
		if c == ']' {
			break
		}
		if c != ',' {
			return d.broken("unexpected %q in the array, a comma was expected", c)
		}
		d.discard(1)
	}
	d.discard(1)
	return d.afterArray()
}

func (d *records) afterArray() error {
	line := d.line
	c, err := d.skipSpace()
	switch {
	case errors.Is(err, io.EOF):
		return nil
	case err != nil:
		return err
	case d.line == line:
		return d.broken("unexpected %q after the array", c)
	}
	return d.lines()
}

// value reads the rest of a value, of which s has seen the beginning, into buf.
func (d *records) value(s *nesting, line int64) error {
	for {
		if _, err := d.in.Peek(1); err != nil {
			if errors.Is(err, io.EOF) && s.scalar {
				return nil
			}
			return d.cut(err, "the value that begins at line %d is not closed", line)
		}
		chunk, _ := d.in.Peek(d.in.Buffered())
		n, done, err := s.scan(chunk)
		d.keep(chunk[:n])
		d.line += int64(bytes.Count(chunk[:n], []byte{'\n'}))
		d.discard(n)
		if err != nil {
			return d.broken("%v in the value that begins at line %d", err, line)
		}
		if done {
			return nil
		}
	}
}

// mostBuffered leaves room for a line's end, which does not count.
const mostBuffered = MaxRecordBytes + 2

func (d *records) reset() {
	d.buf.Reset()
	d.over = false
}

// keep appends part to buf unless the record has become too large.
func (d *records) keep(part []byte) {
	if d.over {
		return
	}
	need := d.buf.Len() + len(part)
	if need > mostBuffered {
		d.reset()
		d.over = true
		return
	}
	// In steps of four, so that a large record and what it has outgrown are not much more
	// than the record; Grow doubles the capacity and adds n.
	if have := d.buf.Cap(); need > have {
		d.buf.Grow(max(len(part), min(4*have, mostBuffered)-2*have))
	}
	d.buf.Write(part)
}

// emit hands buf on as the record that begins at line, unless it is blank.
func (d *records) emit(line int64) error {
	rec := record{line: line}
	text := strings.TrimPrefix(d.buf.String(), utf8BOM) // files put together keep theirs
	text = strings.Trim(text, " \t\r\n")
	over := d.over || len(text) > MaxRecordBytes
	d.reset()
	switch {
	case over:
		rec.err = &sessionstore.LimitError{What: "bytes in a record", Limit: MaxRecordBytes, Got: MaxRecordBytes + 1}
	case text == "":
		return nil
	default:
		rec.text, rec.err = text, check(text)
		if errors.Is(rec.err, sessionstore.ErrTooLarge) {
			rec.text = ""
		}
	}
	rec.index = d.index
	d.index++
	if !d.yield(rec) {
		return errStop
	}
	return nil
}

// skipSpace moves to the next byte that is not white space and returns it.
func (d *records) skipSpace() (byte, error) {
	for {
		b, err := d.in.Peek(1)
		if err != nil {
			return 0, err
		}
		switch b[0] {
		case '\n':
			d.line++
		case ' ', '\t', '\r':
		default:
			return b[0], nil
		}
		d.discard(1)
	}
}

func (d *records) discard(n int) {
	n, _ = d.in.Discard(n)
	d.offset += int64(n)
}

func (d *records) broken(format string, args ...any) error {
	return &SyntaxError{Line: d.line, Offset: d.offset, Index: d.index, Reason: fmt.Sprintf(format, args...)}
}

// cut is broken for the end of the file; another error of the reader stays what it is.
func (d *records) cut(err error, format string, args ...any) error {
	if !errors.Is(err, io.EOF) {
		return err
	}
	return d.broken("the file ends, but "+format, args...)
}
