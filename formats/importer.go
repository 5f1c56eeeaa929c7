package formats

import (
	"bufio"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"sync"
	"time"

	"github.com/sessionstore/sessionstore"
)

// importer writes conversations to a store; it is what all formats share.
type importer struct {
	format string
	store  sessionstore.SessionStore
	o      *Options
	seen   *occurrences
	trunk  conversation // the last one that is no branch: its ids
	report Report

	refused sync.Map // the ids of trunks that could not be written
}

// ErrIncomplete is reported for a session that an import found with fewer messages than
// its record has and could not complete: it was changed since it was imported, its id was
// made from the record, or the store cannot restore (there a crash can leave it so).
// Deleting it and importing again repairs it.
var ErrIncomplete = errors.New("session is there, but incomplete")

func (im *importer) run(ctx context.Context, all iter.Seq2[conversation, error]) error {
	w := &writes{}
	defer w.wait() // also after a panic of a callback
	for c, err := range all {
		if ctxErr := ctx.Err(); ctxErr != nil {
			err = ctxErr
		}
		if err == nil {
			err = im.identify(&c)
		}
		if err == nil {
			im.report.Branches += c.branches
			first := c.session.ID // of those that are written one after the other
			if c.branch != "" {
				first = c.session.ParentID
			}
			w.start(first, c.size, func() outcome { return im.write(ctx, c) })
			err = im.count(w.finished())
		}
		if rec, ok := errors.AsType[RecordError](err); ok {
			im.fail(rec)
		} else if err != nil {
			w.wait()
			return cmp.Or(im.count(w.finished()), err)
		}
	}
	w.wait()
	return cmp.Or(im.count(w.finished()), ctx.Err())
}

// count adds outcomes to the report. The error is the first that ends the import.
func (im *importer) count(all []outcome) (err error) {
	for _, o := range all {
		im.report.Sessions += o.report.Sessions
		im.report.Messages += o.report.Messages
		im.report.Skipped += o.report.Skipped
		im.report.Expired += o.report.Expired
		if o.err == nil {
			continue
		}
		if isAboutRecord(o.err) {
			im.fail(RecordError{File: o.file, Line: o.line, Index: o.index, Err: o.err})
		} else if err == nil {
			err = o.err
		}
	}
	return err
}

func (im *importer) fail(e RecordError) {
	im.report.Failed++
	if im.o.OnError != nil {
		im.o.OnError(e)
	}
}

// isAboutRecord tells what is wrong with one conversation from what would be wrong with
// the next as well.
func isAboutRecord(err error) bool {
	for _, is := range []error{
		sessionstore.ErrInvalid, sessionstore.ErrTooLarge, sessionstore.ErrMessageExists,
		sessionstore.ErrSessionExists, ErrIncomplete,
	} {
		if errors.Is(err, is) {
			return true
		}
	}
	return false
}

// identify gives a conversation its id and all else that depends on its place in the
// file.
func (im *importer) identify(c *conversation) error {
	switch {
	case c.branch != "":
		c.session.ParentID = im.trunk.session.ID
		c.session.ID = im.nameID(c.session.ParentID, c.branch)
		c.derived, c.name = im.trunk.derived, im.trunk.name
	case c.session.ID != "":
	case c.name != "":
		c.session.ID = im.nameID(c.name)
	default:
		id, err := im.deriveID(c.record)
		if err != nil {
			return err
		}
		c.session.ID, c.derived = id, true
	}
	c.record = "" // it may be large, and is not in memory twice
	if c.branch == "" {
		im.trunk = conversation{session: sessionstore.Session{ID: c.session.ID}, derived: c.derived, name: c.name}
	}
	c.given = c.session
	c.session = im.complete(*c)
	return nil
}

// write writes a conversation, unless it is there.
func (im *importer) write(ctx context.Context, c conversation) (o outcome) {
	o = outcome{file: c.file, line: c.line, index: c.index}
	if c.branch == "" {
		defer func() {
			if o.err != nil {
				im.refused.Store(c.session.ID, nil)
			}
		}()
	} else if _, ok := im.refused.Load(c.session.ParentID); ok {
		// What is stored under the trunk's id may be this very branch, as it was imported when
		// it was the one that was open.
		o.err = invalid("branch", fmt.Sprintf("of session %q, which could not be imported, stays out", c.session.ParentID))
		return o
	}
	// Most of a second import ends here, without a write.
	stored, err := im.store.GetSession(ctx, c.session.ID)
	if errors.Is(err, sessionstore.ErrSessionNotFound) {
		_, err = sessionstore.RestoreSession(ctx, im.store, c.session, numbered(c.session, c.messages))
		if err == nil {
			o.report.Sessions, o.report.Messages = 1, c.count
			return o
		}
		if errors.Is(err, sessionstore.ErrSessionExists) {
			// Someone else wrote it since. If it cannot be seen even now it is another
			// owner's, and the error says that its id is in use.
			var got error
			if stored, got = im.store.GetSession(ctx, c.session.ID); !errors.Is(got, sessionstore.ErrSessionNotFound) {
				err = got
			}
		}
	}
	if err == nil {
		if err = im.compare(ctx, c, stored); errors.Is(err, ErrIncomplete) && !c.derived {
			if err = im.mend(ctx, c, stored, err); err == nil {
				o.report.Sessions, o.report.Messages = 1, c.count
				return o
			}
		}
	}
	switch e, ok := errors.AsType[*sessionstore.InvalidError](err); {
	case ok && e.Field == "expires_at":
		o.report.Expired = 1
	case err == nil:
		o.report.Skipped = 1
	default:
		o.err = err
	}
	return o
}

// complete returns the session as it is to be stored.
func (im *importer) complete(c conversation) sessionstore.Session {
	s := c.session
	if s.UserID == "" {
		s.UserID = im.o.UserID
	}
	if s.AgentName == "" {
		s.AgentName = im.o.AgentName
	}
	if s.Status == "" {
		s.Status = sessionstore.StatusActive
	}
	s.Version, s.LastSeq, s.MessageCount = 1, c.count, c.count
	switch {
	case s.CreatedAt.IsZero() && s.UpdatedAt.IsZero():
		s.CreatedAt = im.o.Now()
		s.UpdatedAt = s.CreatedAt
	case s.CreatedAt.IsZero():
		s.CreatedAt = s.UpdatedAt
	case s.UpdatedAt.IsZero():
		s.UpdatedAt = s.CreatedAt
	}
	return s
}

// numbered returns the messages with what they lack: Seqs from 1, ids derived from the
// session's and the position, and the time of the message before.
func numbered(s sessionstore.Session, messages messageSeq) messageSeq {
	return func(yield func(sessionstore.Message, error) bool) {
		sum := sha256.Sum256([]byte(s.ID))
		prefix := hex.EncodeToString(sum[:8]) + "-"
		var seq int64
		at := s.CreatedAt
		for m, err := range messages {
			if err != nil {
				yield(sessionstore.Message{}, err)
				return
			}
			seq++
			m.SessionID, m.Seq = s.ID, seq
			if m.ID == "" {
				m.ID = prefix + strconv.FormatInt(seq, 10)
			}
			if m.CreatedAt.IsZero() {
				m.CreatedAt = at
			}
			at = m.CreatedAt
			if !yield(m, nil) {
				return
			}
		}
	}
}

// compare returns nil if stored is what the conversation became: they were all written
// once, whatever was appended, truncated or changed since. An id made from the content
// is evidence enough for that; under an id that the file gave, the messages are read.
func (im *importer) compare(ctx context.Context, c conversation, stored sessionstore.Session) error {
	s := c.session
	switch {
	case stored.LastSeq < s.LastSeq:
		return fmt.Errorf("%w: %q has %d of %d messages", ErrIncomplete, s.ID, stored.LastSeq, s.LastSeq)
	case stored.Version == 1 && stored.Status != s.Status:
		return fmt.Errorf("%w: %q is %s, not %s, and was never updated", ErrIncomplete, s.ID, stored.Status, s.Status)
	case c.derived:
		return nil
	case stored.Version == 1:
		if same, err := sameState(stored, c); err != nil {
			return err
		} else if !same {
			return fmt.Errorf("%w with other content: %q, its state", sessionstore.ErrSessionExists, s.ID)
		}
	}
	next, stop := iter.Pull2(numbered(s, c.messages))
	defer stop()
	q := sessionstore.MessageQuery{BeforeSeq: s.LastSeq + 1}
	for {
		page, err := im.store.ListMessages(ctx, s.ID, q)
		if err != nil {
			return err
		}
		for _, have := range page.Messages {
			for {
				want, err, ok := next()
				if err != nil {
					return err
				}
				if !ok {
					return nil
				}
				if want.Seq < have.Seq {
					continue // truncated since
				}
				same, err := sameMessage(have, want)
				if err != nil {
					return err
				}
				if !same {
					return fmt.Errorf("%w with other content: %q, message %d", sessionstore.ErrSessionExists, s.ID, have.Seq)
				}
				break
			}
			q.AfterSeq = have.Seq
		}
		if !page.HasMore {
			return nil
		}
	}
}

// sameState compares what a session that was never updated is with what the file says of
// it. What the file does not say may differ, and times and counters are not compared.
func sameState(stored sessionstore.Session, c conversation) (bool, error) {
	s := c.session
	if c.given.UserID == "" {
		s.UserID = stored.UserID
	}
	if c.given.AgentName == "" {
		s.AgentName = stored.AgentName
	}
	if c.name != "" {
		s.Extra = stored.Extra // what an app says of a conversation changes as that goes on
	}
	bare := func(s sessionstore.Session) ([]byte, error) {
		s.CreatedAt, s.UpdatedAt, s.ExpiresAt = time.Time{}, time.Time{}, time.Time{}
		s.Version, s.LastSeq, s.MessageCount = 0, 0, 0
		return s.AppendJSON(nil)
	}
	x, err := bare(stored)
	if err != nil {
		return false, err
	}
	y, err := bare(s)
	return string(x) == string(y), err
}

// sameMessage compares what a message says, and its id.
func sameMessage(a, b sessionstore.Message) (bool, error) {
	a.CreatedAt, b.CreatedAt = time.Time{}, time.Time{}
	x, err := a.AppendJSON(nil)
	if err != nil {
		return false, err
	}
	y, err := b.AppendJSON(nil)
	return string(x) == string(y), err
}

// nameID returns the id of a session whose record has an id of another kind: the format's
// name and 128 bits of the SHA-256 of the owner and that.
func (im *importer) nameID(name ...string) string {
	h := sha256.New()
	w := bufio.NewWriter(h)
	digestString(w, im.format)
	digestString(w, im.o.UserID)
	w.WriteByte('#') // no JSON begins so: it is not the digest of a record
	for _, s := range name {
		digestString(w, s)
	}
	_ = w.Flush() // a hash takes everything
	return im.format + "-" + hex.EncodeToString(h.Sum(nil)[:16])
}

// deriveID returns the id of a session whose record has none: the format's name, 128
// bits of the SHA-256 of the owner and the record's content, and, from the second on,
// the record's occurrence number among equal ones of this file.
func (im *importer) deriveID(record string) (string, error) {
	h := sha256.New()
	w := bufio.NewWriter(h)
	digestString(w, im.format)
	digestString(w, im.o.UserID)
	digest(w, record)
	_ = w.Flush() // a hash takes everything
	sum := h.Sum(nil)
	if im.seen == nil {
		im.seen = newOccurrences(im.o.TempDir)
	}
	n, err := im.seen.count(binary.LittleEndian.Uint64(sum[16:]))
	if err != nil {
		return "", err
	}
	id := im.format + "-" + hex.EncodeToString(sum[:16])
	if n > 1 {
		id += "-" + strconv.FormatUint(uint64(n), 10)
	}
	return id, nil
}

func (im *importer) close() {
	if im.seen != nil {
		im.seen.close()
	}
}
