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

	// Branches imports of chatgpt and claudeai also the branches of a conversation that were
	// not open when it was exported, such as answers that were generated again. Each becomes
	// a session, up to 1,000 of a conversation, that looks like a fork of the open one:
	// ParentID and ForkSeq say where it leaves it, and what is before that has the same ids.
	// Otherwise Report.Branches counts them.
	Branches bool

	// OnFormat is called with the format that was found, before anything is imported, if
	// Import was called with Auto.
	OnFormat func(format string)

	// OnError is called for each record that could not be imported, or not all of it, not
	// always in the order of the file. Like OnProgress and OnFormat it runs on the goroutine
	// that called Import.
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
	Branches int64 // of conversations, left out for want of Options.Branches
	Failed   int64 // records, or sessions, that could not be imported, or not all of it; Options.OnError got each
}

// RecordError says which record of a file could not be imported, and why.
type RecordError struct {
	File  string // its name, without folders, if it is one of a zip archive
	Line  int64  // where it begins, from 1
	Index int64  // its number among the file's records, from 0; -1 in the native format
	Err   error
}

func (e RecordError) Error() string {
	file := ""
	if e.File != "" {
		file = e.File + ": "
	}
	if e.Index < 0 {
		return fmt.Sprintf("%sline %d: %v", file, e.Line, e.Err)
	}
	return fmt.Sprintf("%sline %d (record %d): %v", file, e.Line, e.Index, e.Err)
}

// Unwrap returns Err.
func (e RecordError) Unwrap() error { return e.Err }

// A format turns a file into conversations. It yields a RecordError for what cannot be
// used and goes on; any other error is the last thing it yields.
type format func(ctx context.Context, r io.Reader, o *Options) iter.Seq2[conversation, error]

// formats holds every format that the shared importer writes; the native one has an
// importer of its own in the root package.
var formats = map[string]format{
	"chatgpt":   eachTree(decodeChatGPT),
	"claudeai":  eachTree(decodeClaudeAI),
	"anthropic": eachRecord(isChatMessage, decodeAnthropic),
	"langchain": decodeLangChainFile,
	"responses": eachRecord(isResponseItem, decodeResponses),
	"openai":    eachRecord(isChatMessage, decodeOpenAI),
	"python":    decodePython,
	"sharegpt":  eachRecord(nil, decodeShareGPT),
	"vercel":    eachRecord(isUIMessage, decodeVercel),
}

const native = "native"

// Auto is what Import takes as a format to find it out: see there.
const Auto = "auto"

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
// Auto looks at the first 64 KiB for what only one format has, and otherwise fails
// (ErrInvalid) before anything is imported, with what it saw. Messages of a role and a
// text, which several formats have alike, are taken as openai.
//
// A zip archive is read as the files in it that are named conversations*.json, one after
// the other, as ChatGPT and Claude.ai export them; nothing else in it is looked at, and
// one that is cut off or broken does not keep the others from being read. If r is an
// [io.ReaderAt] and an [io.Seeker], such as an *os.File, it is read where it is, else it
// is copied to a temporary file first.
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
	if _, ok := formats[format]; !ok && format != native && format != Auto {
		return Report{}, invalid("format", fmt.Sprintf("%q is none of %s", format, strings.Join(append(Names(), Auto), ", ")))
	}
	in, err := openInput(ctx, r, &o)
	if err != nil {
		return Report{}, fmt.Errorf("import: %w", err)
	}
	defer in.close()
	if format == Auto {
		if format, err = in.detect(); err != nil {
			return Report{}, fmt.Errorf("import: %w", err)
		}
		if o.OnFormat != nil {
			o.OnFormat(format)
		}
	}
	if format == native {
		return importNative(ctx, store, in, &o)
	}
	im := &importer{format: format, store: store, o: &o}
	defer im.close()
	if err = im.run(ctx, in.conversations(ctx, formats[format], &o)); err != nil {
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
