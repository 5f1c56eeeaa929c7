package sessionstore

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"iter"
	"strconv"

	"github.com/sessionstore/sessionstore/internal/codec"
)

// ImportOptions are the options of Import; nil and the zero value are the defaults.
type ImportOptions struct {
	// OnError is called for each record that could not be imported.
	OnError func(RecordError)
}

// ImportReport says what an import did.
type ImportReport struct {
	Sessions, Messages int64 // written
	Skipped            int64 // sessions that were there already, equal in every byte
	Expired            int64 // sessions whose time had run out since the export
	Failed             int64 // records that could not be imported; OnError got each
}

// RecordError says which record of a file could not be imported, and why. A session that
// is there already with other content is ErrSessionExists.
type RecordError struct {
	Line      int64  // from 1
	SessionID string // if known
	Err       error
}

func (e RecordError) Error() string {
	if e.SessionID == "" {
		return fmt.Sprintf("line %d: %v", e.Line, e.Err)
	}
	return fmt.Sprintf("line %d: session %q: %v", e.Line, clip(e.SessionID), e.Err)
}

// Unwrap returns Err.
func (e RecordError) Unwrap() error { return e.Err }

// Import restores the sessions that [Export] wrote to r, exactly as they were; see
// [RestoreSession] for stores that cannot. Each session is imported completely or not at
// all. One that is there already and equal is skipped, so that an import can be
// repeated. A record that cannot be imported is given to ImportOptions.OnError, and the
// import goes on. It holds one message in memory, apart from what the store does.
//
// An error means that the rest of the file was not imported: the store's, the context's
// or r's; ErrInvalid for what is no export; ErrSchemaTooNew for one of a newer version.
// Two are found after all complete sessions were imported: io.ErrUnexpectedEOF if the
// file was cut, and ErrInvalid if it does not match its checksum or counts.
func Import(ctx context.Context, store SessionStore, r io.Reader, o *ImportOptions) (ImportReport, error) {
	im := &importer{store: store, exportLines: newExportLines(r)}
	if o != nil {
		im.onError = o.OnError
	}
	if err := im.header(); err != nil {
		return im.report, fmt.Errorf("import: line %d: %w", im.lineNo, err)
	}
	if err := im.records(ctx); err != nil {
		return im.report, fmt.Errorf("import: line %d: %w", im.lineNo, err)
	}
	return im.report, nil
}

var errVoid = errors.New("the session was not exported completely")

type importer struct {
	exportLines
	store   SessionStore
	onError func(RecordError)
	report  ImportReport

	sessions int64 // complete ones in the file, for the end line
	messages int64
	lost     bool // messages that come now belong to a session that failed
}

func (im *importer) header() error {
	if err := im.next(); err != nil {
		return err
	}
	switch {
	case im.kind != lineHeader:
		return invalid("file", "is no export of a session store: its first line says nothing of the kind")
	case im.version > transferVersion:
		return fmt.Errorf("%w: the export has version %d, this library reads up to %d", ErrSchemaTooNew, im.version, transferVersion)
	case im.version < 1:
		return invalid("version", "is missing or not a positive number")
	}
	return im.next()
}

func (im *importer) records(ctx context.Context) error {
	for {
		var err error
		switch im.kind {
		case lineNone:
			return fmt.Errorf("no end line, the file was cut: %w", io.ErrUnexpectedEOF)
		case lineEnd:
			return im.end()
		case lineSession:
			err = im.session(ctx)
		case lineMessage:
			if !im.lost {
				im.fail(im.lineNo, "", invalid("message", "belongs to no session"))
			}
			err = im.next()
		case lineVoid:
			err = im.next()
		case lineHeader:
			im.fail(im.lineNo, "", invalid("header", "stands in the middle of a file"))
			err = im.next()
		default:
			im.fail(im.lineNo, "", im.bad)
			err = im.next()
		}
		if err != nil {
			return err
		}
	}
}

func (im *importer) fail(line int64, id string, err error) {
	im.report.Failed++
	im.lost = true
	if im.onError != nil {
		im.onError(RecordError{Line: line, SessionID: id, Err: err})
	}
}

// session imports the session of this line and the messages after it.
func (im *importer) session(ctx context.Context) error {
	line := im.lineNo
	im.lost = false
	s, err := DecodeSession(im.value)
	if err := im.next(); err != nil {
		return err
	}
	if err != nil {
		im.fail(line, "", err)
		return nil
	}
	src := &messageSource{im: im, s: s}
	added, err := im.put(ctx, s, src)
	// Only the end of its messages shows whether the file's session is complete.
	if fatal := src.drain(); fatal != nil {
		return fatal
	}
	var field *InvalidError
	switch {
	case src.err != nil && errors.Is(src.err, errVoid):
		im.lost = true
	case src.err != nil:
		im.fail(src.line, s.ID, src.err)
	case err == nil && added:
		im.report.Sessions++
		im.report.Messages += s.MessageCount
	case err == nil:
		im.report.Skipped++
	case errors.As(err, &field) && field.Field == "expires_at":
		im.report.Expired++
	case errors.Is(err, ErrInvalid), errors.Is(err, ErrTooLarge), errors.Is(err, ErrSessionExists), errors.Is(err, ErrMessageExists):
		im.fail(line, s.ID, err)
	default:
		return err
	}
	return nil
}

// put writes the session, or compares it with the one that is there.
func (im *importer) put(ctx context.Context, s Session, src *messageSource) (added bool, err error) {
	_, err = im.store.GetSession(ctx, s.ID)
	switch {
	case err == nil:
		return false, im.compare(ctx, s, src)
	case errors.Is(err, ErrSessionNotFound), errors.Is(err, ErrInvalid):
		_, err = RestoreSession(ctx, im.store, s, src.all)
		return true, err
	}
	return false, err
}

// compare returns nil if the stored session of that id and its messages are those of the
// file, and ErrSessionExists if not.
func (im *importer) compare(ctx context.Context, s Session, src *messageSource) error {
	differs := fmt.Errorf("%w with other content", ErrSessionExists)
	next, stop := iter.Pull2(src.all)
	defer stop()
	for page, err := range snapshot(ctx, im.store, s.ID, MessageQuery{}) {
		switch {
		case errors.Is(err, errMoved), errors.Is(err, ErrSessionNotFound):
			return differs
		case err != nil:
			return err
		case !sameJSON(s, page.Session):
			return differs
		}
		for _, stored := range page.Messages {
			m, err, ok := next()
			if err != nil {
				return err
			}
			if !ok || !sameJSON(m, stored) {
				return differs
			}
		}
	}
	if _, err, ok := next(); err != nil {
		return err
	} else if ok {
		return differs
	}
	return nil
}

func sameJSON(a, b interface {
	AppendJSON([]byte) ([]byte, error)
}) bool {
	x, errX := a.AppendJSON(nil)
	y, errY := b.AppendJSON(nil)
	return errX == nil && errY == nil && bytes.Equal(x, y)
}

// messageSource gives the messages of one session in the file, once.
type messageSource struct {
	im    *importer
	s     Session
	n     int64 // given so far
	used  bool
	read  bool  // the importer's line was given: another one comes next
	done  bool  // all were given
	line  int64 // of err
	err   error // what is wrong with the file's session
	fatal error // the file cannot be read any further
}

func (src *messageSource) all(yield func(Message, error) bool) {
	if src.used {
		yield(Message{}, errors.New("the messages of an import can be read only once"))
		return
	}
	src.used = true
	for {
		m, ok := src.next()
		switch {
		case src.fatal != nil:
			yield(Message{}, src.fatal)
			return
		case src.err != nil:
			yield(Message{}, src.err)
			return
		case !ok || !yield(m, nil):
			return
		}
	}
}

// pass goes on to the line after the one that next has read. It is read no sooner, so
// that it is not in memory while the store writes the message before it.
func (src *messageSource) pass() {
	if src.read {
		src.read = false
		src.fatal = src.im.next()
	}
}

func (src *messageSource) next() (m Message, ok bool) {
	im := src.im
	if src.pass(); src.fatal != nil {
		return m, false
	}
	src.line = im.lineNo
	switch im.kind {
	case lineVoid:
		src.err = errVoid
	case lineMessage:
		if src.n == src.s.MessageCount {
			src.err = invalid("message_count", "is %d, but more messages follow", src.s.MessageCount)
		} else if m, src.err = DecodeMessage(im.value); src.err == nil {
			if m.SessionID == "" {
				m.SessionID = src.s.ID
			}
			src.n++
			ok = true
		}
		src.read = true
		im.release()
	default:
		if src.n == src.s.MessageCount {
			if !src.done {
				src.done = true
				im.sessions++
				im.messages += src.n
			}
			break
		}
		switch im.kind {
		case lineNone:
			src.err = fmt.Errorf("the file was cut within the session: %w", io.ErrUnexpectedEOF)
		case lineBad:
			src.err = im.bad
			src.fatal = im.next()
		default:
			src.err = invalid("message_count", "is %d, but only %d messages follow", src.s.MessageCount, src.n)
		}
	}
	return m, ok
}

// drain reads over what is left of the session.
func (src *messageSource) drain() error {
	for src.err == nil && src.fatal == nil {
		if _, ok := src.next(); !ok {
			break
		}
	}
	if src.fatal == nil {
		src.pass()
	}
	for src.fatal == nil && src.im.kind == lineMessage {
		src.fatal = src.im.next()
	}
	return src.fatal
}

// end checks the end line, and that nothing follows.
func (im *importer) end() error {
	want, err := decodeEnd(string(im.value))
	if err != nil {
		return err
	}
	if got := hex.EncodeToString(im.sum.Sum(nil)); got != want.sum && !im.unsummed {
		return invalid("sha256", "is %s, that of the file is %s: it was changed", clip(want.sum), got)
	}
	if im.report.Failed == 0 && (want.sessions != im.sessions || want.messages != im.messages) {
		return invalid("end", "counts %d sessions and %d messages, the file has %d and %d complete",
			want.sessions, want.messages, im.sessions, im.messages)
	}
	if err := im.next(); err != nil {
		return err
	}
	if im.kind != lineNone {
		return invalid("file", "goes on after its end line")
	}
	return nil
}

type endLine struct {
	sessions, messages int64
	sum                string
}

func decodeEnd(text string) (e endLine, err error) {
	r := codec.NewReader(text)
	if err := r.Object(); err != nil {
		return e, invalid("end", "%v", err)
	}
	for {
		key, ok, err := r.Key()
		if err == nil && ok {
			switch key {
			case "sessions":
				e.sessions, err = readInt(&r)
			case "messages":
				e.messages, err = readInt(&r)
			case "sha256":
				e.sum, err = r.String()
			default:
				_, err = r.Raw(MaxDepth)
			}
		}
		if err != nil {
			return e, invalid("end", "%v", err)
		}
		if !ok {
			return e, nil
		}
	}
}

func readInt(r *codec.Reader) (int64, error) {
	s, err := r.Number()
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(s, 10, 64)
}
