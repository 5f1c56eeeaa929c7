package formats

import (
	"bufio"
	"context"
	"errors"
	"io"
	"iter"
	"strings"
)

// headBytes is how much of a file Auto looks at.
const headBytes = 64 << 10

// input is the file of an import.
type input struct {
	r   *bufio.Reader // nil for an archive
	zip *archive
}

// openInput finds out whether r is an archive. Errors: ErrInvalid for a file whose encoding
// is not UTF-8.
func openInput(ctx context.Context, r io.Reader, o *Options) (*input, error) {
	p := &progress{ctx: ctx, r: r, report: o.OnProgress}
	in := bufio.NewReaderSize(p, headBytes)
	magic, err := in.Peek(len(zipMagic))
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	switch s := string(magic); {
	case s == zipMagic || s == emptyZipMagic:
		z, err := openArchive(r, in, p, o)
		return &input{zip: z}, err
	case strings.HasPrefix(s, "\x1f\x8b"):
		return nil, invalid("file", "is compressed by gzip: unpack it first, for example with gunzip")
	case strings.HasPrefix(s, "\xff\xfe"), strings.HasPrefix(s, "\xfe\xff"):
		return nil, invalid("file", "is UTF-16, not UTF-8: convert it first, for example with iconv -f UTF-16 -t UTF-8")
	}
	return &input{r: in}, nil
}

func (in *input) close() {
	if in.zip != nil {
		in.zip.close()
	}
}

// detect returns the format of the file.
func (in *input) detect() (string, error) {
	if in.zip != nil {
		head, err := in.zip.head()
		if err != nil {
			return "", err
		}
		return detect(head)
	}
	head, err := in.r.Peek(headBytes)
	if err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	return detect(string(head))
}

// conversations reads the file as one of a format.
func (in *input) conversations(ctx context.Context, f format, o *Options) iter.Seq2[conversation, error] {
	if in.zip != nil {
		return in.zip.conversations(ctx, f, o)
	}
	return f(ctx, in.r, o)
}

// progress counts what is read through it, until ctx is done.
type progress struct {
	ctx    context.Context
	r      io.Reader
	n      int64
	report func(int64)
}

func (p *progress) Read(b []byte) (int, error) {
	if err := p.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := p.r.Read(b)
	p.add(n)
	return n, err
}

func (p *progress) add(n int) {
	if n > 0 && p.report != nil {
		p.n += int64(n)
		p.report(p.n)
	}
}
