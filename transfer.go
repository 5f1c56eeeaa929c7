package sessionstore

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"strconv"
)

// The transfer format is JSON Lines, one object a line:
//
//	{"sessionstore":"export","version":1}
//	{"session":{…}}                        a session, then its messages
//	{"message":{…}}                        as many as the session's message_count
//	{"void":{}}                            the session above is incomplete: it changed
//	{"end":{"sessions":1,"messages":1,"sha256":"…"}}
//
// Sessions and messages are in the form of AppendJSON. The end line counts the complete
// sessions and their messages. Its SHA-256 is of all lines before it, each without the
// white space at its ends and followed by a line feed; empty lines do not count. So a
// file that was cut, or changed, is noticed, but one that went through an editor for
// another system is not refused.
const transferVersion = 1

// ExportOptions say what is exported; nil and the zero value: every session.
type ExportOptions struct {
	// IDs names the sessions; not together with a Query.
	IDs []string

	// Query filters the sessions. Its Limit is the size of the pages that are listed; a
	// Cursor is ErrInvalid.
	Query SessionQuery
}

// ExportReport says what an export wrote.
type ExportReport struct {
	Sessions, Messages int64
	Missing            []string // those of ExportOptions.IDs that do not exist
}

// Export writes sessions and their messages to w, in a form that [Import] restores
// exactly, in any backend. Each session is written as it was at one moment; one that is
// deleted or expires meanwhile is left out. Every session that is there from beginning to
// end is exported, whatever is written to it meanwhile, and once. An export with an error
// has no end line and is incomplete.
//
// It holds a page of messages in memory, and the ids of the sessions exported.
func Export(ctx context.Context, store SessionStore, w io.Writer, o *ExportOptions) (ExportReport, error) {
	if o == nil {
		o = &ExportOptions{}
	}
	q, err := checkChoice(o.IDs, o.Query)
	if err != nil {
		return ExportReport{}, err
	}
	ex := &exporter{store: store, w: bufio.NewWriterSize(w, 64<<10), sum: sha256.New()}
	if err := ex.write(`{"sessionstore":"export","version":`+strconv.Itoa(transferVersion), nil); err != nil {
		return ex.report, err
	}
	if len(o.IDs) > 0 {
		err = ex.named(ctx, o.IDs)
	} else {
		err = sweep(ctx, store, q, func(s Session) (bool, error) { return ex.session(ctx, s.ID) })
	}
	if err != nil {
		return ex.report, err
	}
	return ex.report, ex.end()
}

type exporter struct {
	store  SessionStore
	w      *bufio.Writer
	sum    hash.Hash
	line   []byte
	report ExportReport
}

func (ex *exporter) named(ctx context.Context, ids []string) error {
	done := make(map[string]struct{})
	for _, id := range ids {
		if _, ok := done[id]; ok {
			continue
		}
		ok, err := ex.session(ctx, id)
		if err != nil {
			return err
		}
		if done[id] = struct{}{}; !ok {
			ex.report.Missing = append(ex.report.Missing, id)
		}
	}
	return nil
}

// session exports one session and reports whether it exists.
func (ex *exporter) session(ctx context.Context, id string) (bool, error) {
	for range maxRereads {
		n, err := ex.attempt(ctx, id)
		switch {
		case err == nil:
			ex.report.Sessions++
			ex.report.Messages += n
			return true, nil
		case errors.Is(err, ErrSessionNotFound):
			return false, nil
		case !errors.Is(err, errMoved):
			return false, err
		}
	}
	return false, fmt.Errorf("export of %q: %w", clip(id), moved(maxRereads))
}

func (ex *exporter) attempt(ctx context.Context, id string) (n int64, err error) {
	begun := false
	for page, err := range snapshot(ctx, ex.store, id, MessageQuery{}) {
		if err != nil {
			if begun {
				err = errors.Join(err, ex.write(`{"void":{}`, nil))
			}
			return 0, err
		}
		if !begun {
			if err := ex.write(`{"session":`, page.Session.AppendJSON); err != nil {
				return 0, err
			}
			begun = true
		}
		for i := range page.Messages {
			if err := ex.write(`{"message":`, page.Messages[i].AppendJSON); err != nil {
				return 0, err
			}
			n++
		}
	}
	return n, nil
}

func (ex *exporter) end() error {
	end := fmt.Sprintf(`{"end":{"sessions":%d,"messages":%d,"sha256":"%s"}`,
		ex.report.Sessions, ex.report.Messages, hex.EncodeToString(ex.sum.Sum(nil)))
	if err := ex.write(end, nil); err != nil {
		return err
	}
	if err := ex.w.Flush(); err != nil {
		return fmt.Errorf("export: %w", err)
	}
	return nil
}

// write writes a line: the beginning of an object, what value appends, and its end.
func (ex *exporter) write(begin string, value func([]byte) ([]byte, error)) error {
	line := append(ex.line[:0], begin...)
	if value != nil {
		var err error
		if line, err = value(line); err != nil {
			return fmt.Errorf("export: %w", err)
		}
	}
	line = append(line, "}\n"...)
	ex.line = line
	ex.sum.Write(line)
	if _, err := ex.w.Write(line); err != nil {
		return fmt.Errorf("export: %w", err)
	}
	return nil
}
