package formats

import (
	"archive/zip"
	"bufio"
	"cmp"
	"compress/flate"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"path"
	"slices"
	"strings"

	"github.com/sessionstore/sessionstore"
)

// What a zip archive begins with: a file, or nothing but a directory.
const (
	zipMagic      = "PK\x03\x04"
	emptyZipMagic = "PK\x05\x06"
)

// Bounds for archives that are made to exhaust who unpacks them. An export of 100,000
// files has a directory of 10 MB.
const (
	maxZipDirectory = 16 << 20
	maxUnzipped     = 16 << 30 // of all conversations*.json together
)

// archive is a zip archive of an export: the files in it that have conversations.
type archive struct {
	files []*zip.File
	temp  *tempFile // the archive, if it could not be read where it was
}

// openArchive opens r, of which in has the beginning. What is read counts as progress p.
func openArchive(r io.Reader, in *bufio.Reader, p *progress, o *Options) (_ *archive, err error) {
	a := &archive{}
	defer func() {
		if err != nil {
			a.close()
		}
	}()
	at, size, ok := inPlace(r, in)
	if !ok {
		if a.temp, err = createTemp(o.TempDir); err == nil {
			at = a.temp
			size, err = io.Copy(a.temp, in)
		}
		if err != nil {
			return nil, fmt.Errorf("copy the zip archive: %w", err)
		}
	}
	source := &zipSource{at: at, left: maxZipDirectory}
	z, err := zip.NewReader(source, size)
	if err != nil {
		if source.left < 0 {
			return nil, &sessionstore.LimitError{What: "bytes in the directory of the zip archive", Limit: maxZipDirectory, Got: maxZipDirectory + 1}
		}
		return nil, unreadable(err)
	}
	source.left = noLimit
	if ok {
		p.n = 0 // what follows is what an import waits for
		source.progress = p
	}
	for _, f := range z.File {
		name := path.Base(f.Name)
		if strings.HasPrefix(name, "conversations") && strings.HasSuffix(name, ".json") && !strings.HasSuffix(f.Name, "/") {
			a.files = append(a.files, f)
		}
	}
	z.File = nil // may be many
	if len(a.files) == 0 {
		return nil, invalid("file", "is a zip archive without a conversations*.json")
	}
	slices.SortFunc(a.files, func(f, g *zip.File) int { return cmp.Compare(f.Name, g.Name) })
	var total uint64
	for _, f := range a.files {
		if total += f.UncompressedSize64; total > maxUnzipped || f.UncompressedSize64 > maxUnzipped {
			return nil, &sessionstore.LimitError{What: "bytes of conversations in the zip archive", Limit: maxUnzipped, Got: maxUnzipped + 1}
		}
	}
	return a, nil
}

// inPlace returns what is left of r, of which in has read a part, if r can be read from
// anywhere.
func inPlace(r io.Reader, in *bufio.Reader) (at io.ReaderAt, size int64, ok bool) {
	s, ok := r.(interface {
		io.ReaderAt
		io.Seeker
	})
	if !ok {
		return nil, 0, false
	}
	now, err := s.Seek(0, io.SeekCurrent)
	if err != nil {
		return nil, 0, false // a pipe
	}
	end, err := s.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, 0, false
	}
	start := now - int64(in.Buffered())
	return io.NewSectionReader(s, start, end-start), end - start, true
}

const noLimit = 1<<63 - 1

// zipSource reads an archive. It fails with io.ErrUnexpectedEOF when more than left bytes
// were read.
type zipSource struct {
	at       io.ReaderAt
	left     int64
	progress *progress // nil: not counted
}

func (z *zipSource) ReadAt(b []byte, off int64) (int, error) {
	if z.left != noLimit {
		if z.left -= int64(len(b)); z.left < 0 {
			return 0, io.ErrUnexpectedEOF
		}
	}
	n, err := z.at.ReadAt(b, off)
	if z.progress != nil {
		z.progress.add(n)
	}
	return n, err
}

func (a *archive) close() {
	if a.temp != nil {
		a.temp.close()
	}
}

// head returns the beginning of the first file.
func (a *archive) head() (string, error) {
	f, err := a.files[0].Open()
	if err != nil {
		return "", unreadable(err)
	}
	defer func() { _ = f.Close() }() // only read
	head, err := io.ReadAll(io.LimitReader(f, headBytes))
	if err != nil {
		return "", unreadable(err)
	}
	return string(head), nil
}

// conversations reads the files one after the other. What ends the reading of one, because
// it is cut off or broken, is yielded when all have been read.
func (a *archive) conversations(ctx context.Context, f format, o *Options) iter.Seq2[conversation, error] {
	return func(yield func(conversation, error) bool) {
		var broken []error
		for _, file := range a.files {
			err, more := readZipped(ctx, file, f, o, yield)
			if !more {
				return
			}
			if err == nil {
				continue
			}
			err = fmt.Errorf("%s: %w", clip(path.Base(file.Name)), err)
			if !ofOneFile(err) {
				yield(conversation{}, err)
				return
			}
			broken = append(broken, err)
		}
		if broken != nil {
			yield(conversation{}, errors.Join(broken...))
		}
	}
}

// readZipped yields the conversations of one file. More is false if nobody listens any
// more.
func readZipped(ctx context.Context, file *zip.File, f format, o *Options, yield func(conversation, error) bool) (err error, more bool) {
	r, err := file.Open()
	if err != nil {
		return unreadable(err), true
	}
	defer func() { _ = r.Close() }() // only read
	for c, err := range f(ctx, r, o) {
		if rec, ok := errors.AsType[RecordError](err); ok {
			rec.File = clip(path.Base(file.Name))
			err = rec
		} else if err != nil {
			return unreadable(err), true
		}
		c.file = clip(path.Base(file.Name))
		if !yield(c, err) {
			return nil, false
		}
	}
	return nil, true
}

// ofOneFile tells an error that is about one file of an archive from one that the next
// would give as well.
func ofOneFile(err error) bool {
	if _, ok := errors.AsType[*SyntaxError](err); ok {
		return true
	}
	return errors.Is(err, sessionstore.ErrInvalid)
}

// unreadable makes what package zip says of a bad archive an ErrInvalid. An error of the
// file below stays what it is.
func unreadable(err error) error {
	bad := errors.Is(err, zip.ErrFormat) || errors.Is(err, zip.ErrAlgorithm) || errors.Is(err, zip.ErrChecksum) || errors.Is(err, io.ErrUnexpectedEOF)
	if _, corrupt := errors.AsType[flate.CorruptInputError](err); bad || corrupt {
		return invalid("file", "cannot be unpacked: "+err.Error())
	}
	return err
}
