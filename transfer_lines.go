package sessionstore

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"errors"
	"hash"
	"io"
	"strconv"

	"github.com/sessionstore/sessionstore/internal/codec"
)

// maxLine is the longest line that is read: room for the largest message in the least
// favourable spelling, with all that is not ASCII escaped.
const maxLine = 4 * MaxAppendBytes

// lineKind is what a line is.
type lineKind string

const (
	lineHeader  lineKind = "sessionstore"
	lineSession lineKind = "session"
	lineMessage lineKind = "message"
	lineVoid    lineKind = "void"
	lineEnd     lineKind = "end"
	lineBad     lineKind = "" // none of them; see exportLines.bad
	lineNone    lineKind = "end of file"
)

// exportLines are the lines of an export, of which the one that comes next is known.
type exportLines struct {
	r      *bufio.Reader
	lineNo int64
	kind   lineKind
	value  []byte // the object of a session, message or end line, a part of buf
	bad    error  // what is wrong with a bad line

	buf      []byte
	version  int64     // as the header says
	sum      hash.Hash // of the lines before, without the end line
	unsummed bool      // a line was too long to be read
}

func newExportLines(r io.Reader) exportLines {
	return exportLines{r: bufio.NewReaderSize(r, 64<<10), sum: sha256.New()}
}

// next reads the next line that is not empty. An error is that of the reader.
func (l *exportLines) next() error {
	for first := l.lineNo == 0; ; first = false {
		line, err := l.readLine()
		if errors.Is(err, io.EOF) {
			l.kind, l.value = lineNone, nil
			return nil
		}
		l.lineNo++
		if errors.Is(err, bufio.ErrTooLong) {
			l.unsummed = true
			l.kind, l.bad = lineBad, &LimitError{What: "bytes in a line", Limit: maxLine, Got: maxLine + 1}
			return nil
		}
		if err != nil {
			return err
		}
		if first {
			line = bytes.TrimPrefix(line, []byte("\ufeff"))
		}
		if line = bytes.Trim(line, " \t\r"); len(line) > 0 {
			l.parse(line)
			if l.kind != lineEnd {
				l.sum.Write(line)
				l.sum.Write([]byte{'\n'})
			}
			return nil
		}
	}
}

// readLine returns the next line without its line feed, good until the next call. One
// that is too long is read over and gives bufio.ErrTooLong.
func (l *exportLines) readLine() ([]byte, error) {
	l.buf = l.buf[:0]
	long := false
	for {
		part, err := l.r.ReadSlice('\n')
		if long = long || len(l.buf)+len(part) > maxLine; !long {
			l.keep(part)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF) && len(l.buf) == 0 && !long:
			return nil, io.EOF
		case err != nil && !errors.Is(err, io.EOF):
			return nil, err
		case long:
			return nil, bufio.ErrTooLong
		}
		return bytes.TrimSuffix(l.buf, []byte{'\n'}), nil
	}
}

// keep appends to the line. The room for it doubles: in the steps of append, what it has
// outgrown would be several times as large as the line.
func (l *exportLines) keep(part []byte) {
	if need := len(l.buf) + len(part); need > cap(l.buf) {
		l.buf = append(make([]byte, 0, max(need, 2*cap(l.buf))), l.buf...)
	}
	l.buf = append(l.buf, part...)
}

// keepBuffer is the size of a line up to which its memory is used for the next one.
const keepBuffer = 1 << 20

// release frees the memory of a long line. Its value can no longer be read.
func (l *exportLines) release() {
	if l.value = nil; cap(l.buf) > keepBuffer {
		l.buf = nil
	}
}

// parse sets kind, and value, version or bad, from a line.
func (l *exportLines) parse(line []byte) {
	l.kind, l.value, l.bad = lineBad, nil, nil
	// A record may be nested MaxDepth deep in each of its values.
	const levels = MaxDepth + 8
	r := codec.NewBytesReader(line)
	err := r.Object()
	for err == nil {
		var key string
		var ok bool
		if key, ok, err = r.Key(); err != nil || !ok {
			break
		}
		start := r.Offset()
		if err = r.Skip(levels); err != nil {
			break
		}
		value := bytes.Trim(line[start:r.Offset()], " \t\r")
		switch k := lineKind(key); k {
		case lineSession, lineMessage, lineVoid, lineEnd:
			l.kind, l.value = k, value
		case lineHeader:
			if string(value) == `"export"` {
				l.kind = k
			}
		case "version":
			l.version, _ = strconv.ParseInt(string(value), 10, 64)
		}
	}
	if err == nil {
		err = r.End()
	}
	switch {
	case err != nil:
		l.kind, l.bad = lineBad, invalid("line", "%v", err)
	case l.kind == lineBad:
		l.bad = invalid("line", "is none that an export has")
	}
}
