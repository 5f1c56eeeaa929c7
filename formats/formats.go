package formats

import (
	"context"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/sessionstore/sessionstore"
)

// Options of Import. Nil and every zero value are the defaults.
type Options struct {
	// UserID is the owner of sessions whose record names none. It goes into the ids that
	// are made, so that two users can import the same file. A store confined by
	// [sessionstore.ForUser] takes sessions of its own user only: name that one here.
	UserID string

	// AgentName is the agent of sessions whose record names none.
	AgentName string

	// OnError is called for each record that could not be imported, not always in the
	// order of the file. Like OnProgress it runs on the goroutine that called Import.
	OnError func(RecordError)

	// OnProgress is called now and then with the number of bytes read so far.
	OnProgress func(bytesRead int64)

	// Now gives the times that a record does not have. Nil: time.Now.
	Now func() time.Time

	// TempDir is where a large import puts what it cannot keep in memory: files that are
	// gone when Import returns. Empty: os.TempDir().
	TempDir string
}

// Report says what an import did.
type Report struct {
	Sessions int64 // written, or replaced because they lacked messages
	Messages int64 // written with them
	Skipped  int64 // sessions that were there already
	Expired  int64 // sessions whose time to live had run out
	Failed   int64 // records, or sessions, that could not be imported; Options.OnError got each
}

// RecordError says which record of a file could not be imported, and why.
type RecordError struct {
	Line  int64 // where it begins, from 1
	Index int64 // its number among the file's records, from 0; -1 in the native format
	Err   error
}

func (e RecordError) Error() string {
	if e.Index < 0 {
		return fmt.Sprintf("line %d: %v", e.Line, e.Err)
	}
	return fmt.Sprintf("line %d (record %d): %v", e.Line, e.Index, e.Err)
}

// Unwrap returns Err.
func (e RecordError) Unwrap() error { return e.Err }

// A format turns a file into conversations. It yields a RecordError for what cannot be
// used and goes on; any other error is the last thing it yields.
type format func(ctx context.Context, r io.Reader, o *Options) iter.Seq2[conversation, error]

// formats holds every format that the shared importer writes; the native one has an
// importer of its own in the root package.
var formats = map[string]format{
	"openai":   eachRecord(isChatMessage, decodeOpenAI),
	"python":   decodePython,
	"sharegpt": eachRecord(nil, decodeShareGPT),
}

const native = "native"

// Names returns the formats that Import knows, sorted.
func Names() []string {
	names := append(slices.Collect(maps.Keys(formats)), native)
	slices.Sort(names)
	return names
}

// Import reads conversations of a format from r and writes them to the store. Each
// conversation is written whole or not at all, up to 16 of them at once. A record that
// cannot be imported is reported and the others go on; the error is then nil and
// Report.Failed counts it. The error is not nil for an unknown format (ErrInvalid), for a
// done context, for an r or a store that fails, and, as a *SyntaxError, for a file in
// which the records can no longer be told apart; the report then says what was done before.
//
// A second import of the same file changes nothing: what is there already is skipped.
func Import(ctx context.Context, store sessionstore.SessionStore, format string, r io.Reader, opts *Options) (Report, error) {
	var o Options
	if opts != nil {
		o = *opts
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.OnProgress != nil {
		r = &progress{r: r, report: o.OnProgress}
	}
	if format == native {
		return importNative(ctx, store, r, &o)
	}
	decode, ok := formats[format]
	if !ok {
		return Report{}, &sessionstore.InvalidError{
			Field:  "format",
			Reason: fmt.Sprintf("%q is none of %s", format, strings.Join(Names(), ", ")),
		}
	}
	im := &importer{format: format, store: store, o: &o}
	defer im.close()
	err := im.run(ctx, decode(ctx, r, &o))
	if err != nil {
		err = fmt.Errorf("import of %s: %w", format, err)
	}
	return im.report, err
}

// eachRecord makes a format of a decoder for one record. Whole is as for readRecords.
func eachRecord(whole func(string) bool, decode decoder) format {
	return func(ctx context.Context, r io.Reader, o *Options) iter.Seq2[conversation, error] {
		return func(yield func(conversation, error) bool) {
			s := &spool{dir: o.TempDir}
			defer s.close()
			err := readRecords(r, whole, func(rec record) bool {
				if ctx.Err() != nil {
					return false // the importer says so
				}
				var c conversation
				err := rec.err
				if err == nil {
					c, err = decode.run(rec.text, s)
					rec.text = "" // c has it as long as it is needed
				}
				if s.err != nil {
					yield(conversation{}, s.err)
					return false
				}
				if err != nil {
					return yield(conversation{}, RecordError{Line: rec.line, Index: rec.index, Err: err})
				}
				c.line, c.index = rec.line, rec.index
				return yield(c, nil)
			})
			if err != nil {
				yield(conversation{}, err)
			}
		}
	}
}

// progress counts what is read through it.
type progress struct {
	r      io.Reader
	n      int64
	report func(int64)
}

func (p *progress) Read(b []byte) (int, error) {
	n, err := p.r.Read(b)
	if n > 0 {
		p.n += int64(n)
		p.report(p.n)
	}
	return n, err
}
