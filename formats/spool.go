package formats

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/sessionstore/sessionstore"
)

// spool keeps the messages of one conversation until they are written. Those of a small
// record stay in memory. Those of one that is written alone (see maxWriteBytes) go to a
// temporary file: neither the record nor more than one of its messages at a time is then
// in memory beside what the store needs to write them.
type spool struct {
	dir string

	large    bool
	messages []sessionstore.Message // unless large

	f    *tempFile
	w    *bufio.Writer
	size int64 // of what is in f
	head []byte
	err  error // of the file: nothing can be spooled any more
}

// start begins a conversation whose record has so many bytes. What all gave for the one
// before can no longer be used if that was large.
func (s *spool) start(size int) {
	s.large = size > maxWriteBytes
	s.messages, s.size = nil, 0
	if s.f != nil {
		if _, err := s.f.Seek(0, io.SeekStart); err != nil {
			s.fail(err)
		}
		s.w.Reset(s.f)
	}
}

// enlarge makes a conversation large whose size was not known when it started. The error
// is as add's.
func (s *spool) enlarge() error {
	if s.large {
		return nil
	}
	messages := s.messages
	s.large, s.messages = true, nil
	for _, m := range messages {
		if err := s.add(m); err != nil {
			return err
		}
	}
	return nil
}

// add takes the next message. The error is about the message, or s.err.
func (s *spool) add(m sessionstore.Message) error {
	if !s.large {
		s.messages = append(s.messages, m)
		return nil
	}
	// A text goes beside the JSON of the rest, so that it is not copied on its way.
	text, isText := "", m.Content.IsText()
	if isText {
		text, m.Content = m.Content.String(), sessionstore.Content{}
	}
	rest, err := m.AppendJSON(nil)
	if err != nil {
		return err
	}
	if s.err == nil && s.f == nil {
		if f, err := createTemp(s.dir); err != nil {
			s.fail(err)
		} else {
			s.f, s.w = f, bufio.NewWriterSize(f, 64<<10)
		}
	}
	if s.err != nil {
		return s.err
	}
	s.head = binary.AppendUvarint(s.head[:0], uint64(len(rest)))
	if isText {
		s.head = binary.AppendUvarint(s.head, uint64(len(text))+1)
	} else {
		s.head = append(s.head, 0)
	}
	// The writer keeps its first error.
	_, _ = s.w.Write(s.head)
	_, _ = s.w.Write(rest)
	if _, err := s.w.WriteString(text); err != nil {
		s.fail(err)
		return s.err
	}
	s.size += int64(len(s.head) + len(rest) + len(text))
	return nil
}

// all returns the messages since start. It may be ranged over more than once.
func (s *spool) all() (messageSeq, error) {
	if !s.large || s.size == 0 {
		return inOrder(s.messages), nil
	}
	if err := s.w.Flush(); err != nil {
		s.fail(err)
		return nil, s.err
	}
	size := s.size
	return func(yield func(sessionstore.Message, error) bool) {
		in := bufio.NewReaderSize(io.NewSectionReader(s.f, 0, size), 64<<10)
		for {
			m, err := readSpooled(in)
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				err = fmt.Errorf("read spooled messages: %w", err)
			}
			if !yield(m, err) || err != nil {
				return
			}
		}
	}, nil
}

// readSpooled returns io.EOF at the end.
func readSpooled(in *bufio.Reader) (m sessionstore.Message, err error) {
	restLen, err := binary.ReadUvarint(in)
	if err != nil {
		return m, err
	}
	textLen, err := binary.ReadUvarint(in)
	if err != nil {
		return m, noEOF(err)
	}
	rest, err := readText(in, int(restLen))
	if err != nil {
		return m, err
	}
	if m, err = decodeMessage(rest); err == nil && textLen > 0 {
		var text string
		text, err = readText(in, int(textLen)-1)
		m.Content = sessionstore.Text(text)
	}
	return m, err
}

// readText reads n bytes into memory of exactly that size.
func readText(in io.Reader, n int) (string, error) {
	var b strings.Builder
	b.Grow(n)
	_, err := io.CopyN(&b, in, int64(n))
	return b.String(), noEOF(err)
}

func noEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

func (s *spool) fail(err error) {
	s.err = fmt.Errorf("spool the messages of a large record: %w", err)
}

func (s *spool) close() {
	if s.f != nil {
		s.f.close()
	}
}
