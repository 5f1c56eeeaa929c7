package sessionstore

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"iter"
	"sync"
	"time"
)

// copied is what became of a session.
type copied struct {
	what     copyOutcome
	messages int64 // written
}

type copyOutcome int

const (
	copyVanished copyOutcome = iota // the source has it no longer
	copyNew
	copyUpdated
	copyReplaced
	copySame
	copyExpired
	copyDifferent
	copyFailed
)

func (r copied) addTo(report *CopyReport) {
	report.Messages += r.messages
	switch r.what {
	case copyNew:
		report.Copied++
	case copyUpdated:
		report.Updated++
	case copyReplaced:
		report.Replaced++
	case copySame:
		report.Same++
	case copyExpired:
		report.Expired++
	case copyDifferent:
		report.Different++
	case copyFailed:
		report.Failed++
	}
}

var (
	errOlder    = errors.New("the target has an older state")
	errNotEqual = errors.New("the target does not give back what was written")
	errVanished = errors.New("the source has the session no longer")
)

// session copies a session that the source listed as s. An error that is about this one
// alone is a *SessionError.
func (c *copier) session(ctx context.Context, s Session) (copied, error) {
	err := errMoved
	for try := 0; try < maxRereads && errors.Is(err, errMoved); try++ {
		var what copyOutcome
		var messages int64
		what, messages, err = c.attempt(ctx, s, c.Recheck || try > 0)
		var inv *InvalidError
		switch {
		case err == nil:
			return copied{what, messages}, nil
		case errors.Is(err, errVanished):
			return copied{what: copyVanished}, nil
		case errors.As(err, &inv) && inv.Field == "expires_at":
			return copied{what: copyExpired}, nil
		case errors.Is(err, ErrSessionExists) && what != copyDifferent && try == 0:
			// Somebody made it meanwhile, or a driver sent the restore twice. What is seen
			// neither before nor after is another's, behind a view of one owner.
			err = errMoved
		}
	}
	alone := &SessionError{SessionID: s.ID, Err: err}
	switch {
	case errors.Is(err, errMoved):
		alone.Err = moved(maxRereads)
		return copied{what: copyFailed}, alone
	case errors.Is(err, ErrSessionExists):
		return copied{what: copyDifferent}, alone
	case errors.Is(err, ErrInvalid), errors.Is(err, ErrTooLarge), errors.Is(err, ErrSchemaTooNew), errors.Is(err, errNotEqual):
		return copied{what: copyFailed}, alone
	}
	return copied{}, fmt.Errorf("session %q: %w", clip(s.ID), err)
}

// attempt is one attempt to copy a session, and returns how many messages it wrote. An
// errMoved says to try again.
func (c *copier) attempt(ctx context.Context, s Session, recheck bool) (copyOutcome, int64, error) {
	there, err := c.to.GetSession(ctx, s.ID)
	switch {
	case errors.Is(err, ErrSessionNotFound):
		n, err := c.write(ctx, s.ID, nil)
		return copyNew, n, err
	case err != nil:
		return copyFailed, 0, err
	case !recheck && sameJSON(there, s):
		return copySame, 0, nil
	}
	there, differs, err := c.compare(ctx, s.ID)
	switch {
	case err != nil:
		return copyFailed, 0, err
	case differs == nil:
		return copySame, 0, nil
	case errors.Is(differs, errOlder):
		n, err := c.write(ctx, s.ID, &there)
		return copyUpdated, n, err
	case c.Replace:
		n, err := c.write(ctx, s.ID, &there)
		return copyReplaced, n, err
	}
	return copyDifferent, 0, differs
}

// write restores the source's session at the target, in place of the one that is there
// if old is not nil, and reads it back. It returns the number of messages.
func (c *copier) write(ctx context.Context, id string, old *Session) (int64, error) {
	c.large.Lock()
	release := sync.OnceFunc(c.large.Unlock)
	defer release()
	src, err := openSource(ctx, c.from, id)
	if err != nil {
		return 0, err
	}
	defer src.close()
	if src.small() {
		release()
	}
	var sum contentSum
	if err := sum.add(src.session); err != nil {
		return 0, err
	}
	var cause error // of an end to the iterator; the target may wrap it in words of its own
	removed := false
	messages := func(yield func(Message, error) bool) {
		for m, err := range src.all {
			if err == nil {
				err = sum.add(m)
			}
			if err != nil {
				cause = err
				yield(Message{}, err)
				return
			}
			if !yield(m, nil) {
				return
			}
		}
		// All of it is with the target now, which looks at the id last.
		if old != nil {
			if cause = c.remove(ctx, *old); cause != nil {
				yield(Message{}, cause)
				return
			}
			removed = true
		}
	}
	got, err := c.restorer.RestoreSession(ctx, src.session, messages)
	if old != nil && !src.begun && errors.Is(err, ErrSessionExists) { // or it looks first
		if err = c.remove(ctx, *old); err == nil {
			old, removed = nil, true
			got, err = c.restorer.RestoreSession(ctx, src.session, messages)
		}
	}
	if cause != nil {
		err = cause
	}
	if err == nil && !sameJSON(got, src.session) {
		// A decorator's method that fell back: it numbers the messages anew.
		err = undo(ctx, c.to, id, errNoExactCopy)
	}
	switch {
	case err != nil && removed:
		return 0, fmt.Errorf("what the target had is removed, and not yet written anew: %w", err)
	case errors.Is(err, errors.ErrUnsupported):
		return 0, errNoExactCopy
	case err != nil:
		return 0, err
	}
	return sum.messages, c.readBack(ctx, src.session, &sum)
}

// remove removes what the target had when it was compared.
func (c *copier) remove(ctx context.Context, old Session) error {
	now, err := c.to.GetSession(ctx, old.ID)
	if err == nil && !sameJSON(now, old) {
		return errMoved
	}
	if err == nil {
		err = c.to.DeleteSession(ctx, old.ID)
	}
	if errors.Is(err, ErrSessionNotFound) {
		return nil
	}
	return err
}

// readBack compares what the target has of s now with what was written.
func (c *copier) readBack(ctx context.Context, s Session, want *contentSum) error {
	var got contentSum
	dst, err := openHistory(ctx, c.to, s.ID)
	if err == nil {
		defer dst.close()
		err = got.add(dst.session)
	}
	if err == nil {
		for m, merr := range dst.all {
			if err = merr; err == nil {
				err = got.add(m)
			}
			if err != nil {
				break
			}
		}
	}
	switch {
	case errors.Is(err, ErrSessionNotFound) && s.Expired(time.Now()):
		return errExpired
	case errors.Is(err, ErrSessionNotFound), errors.Is(err, errMoved), errors.Is(err, ErrInvalid):
		return fmt.Errorf("%w: %w", errNotEqual, err)
	case err != nil:
		return err
	case got.String() != want.String():
		return fmt.Errorf("%w: %s instead of %s", errNotEqual, &got, want)
	}
	return nil
}

// compare compares the target's session with the source's, message by message as long as
// that can matter. Differs is nil if they are equal, errOlder if the target has a state
// that the source had, and else an ErrSessionExists that says how they differ.
func (c *copier) compare(ctx context.Context, id string) (there Session, differs, err error) {
	c.large.Lock()
	defer c.large.Unlock()
	src, err := openSource(ctx, c.from, id)
	if err != nil {
		return there, nil, err
	}
	defer src.close()
	dst, err := openHistory(ctx, c.to, id)
	if errors.Is(err, ErrSessionNotFound) {
		err = errMoved
	}
	if err != nil {
		return there, nil, err
	}
	defer dst.close()
	there = dst.session
	differs = compareRecords(there, src.session)
	if differs == nil || errors.Is(differs, errOlder) {
		at, err := compareMessages(dst, src)
		switch {
		case errors.Is(err, ErrSessionNotFound): // at the target: the source's is errVanished
			return there, nil, errMoved
		case err != nil:
			return there, nil, err
		case at > 0 && (differs == nil || at <= there.LastSeq):
			differs = otherContent("they differ at message %d", at)
		}
	}
	return there, differs, nil
}

// compareRecords compares a session's record at the target with that of the source.
func compareRecords(there, s Session) error {
	if sameJSON(there, s) {
		return nil
	}
	grown := there
	grown.LastSeq, grown.MessageCount = s.LastSeq, s.MessageCount
	grown.UpdatedAt, grown.ExpiresAt = s.UpdatedAt, s.ExpiresAt
	switch {
	case !there.CreatedAt.Equal(s.CreatedAt), there.UserID != s.UserID, there.ParentID != s.ParentID, there.ForkSeq != s.ForkSeq:
		return otherContent("it is another session of that id")
	case there.Version > s.Version, there.LastSeq > s.LastSeq, there.UpdatedAt.After(s.UpdatedAt):
		return otherContent("the target's has moved on")
	case there.Version == s.Version && !sameJSON(grown, s):
		return otherContent("the session's own state differs")
	}
	return errOlder
}

// compareMessages returns the Seq at which two histories begin to differ; 0: nowhere.
func compareMessages(dst, src *history) (int64, error) {
	next, stop := iter.Pull2(src.all)
	defer stop()
	for m, err := range dst.all {
		if err != nil {
			return 0, err
		}
		want, err, ok := next()
		if err != nil {
			return 0, err
		}
		if !ok || !sameJSON(m, want) {
			return m.Seq, nil
		}
	}
	more, err, ok := next()
	if err != nil || !ok {
		return 0, err
	}
	return more.Seq, nil
}

func otherContent(format string, args ...any) error {
	return fmt.Errorf("%w with other content: %s", ErrSessionExists, fmt.Sprintf(format, args...))
}

// history is a session being read, as it was when it was opened.
type history struct {
	session Session
	page    MessagePage // the first
	next    func() (MessagePage, error, bool)
	close   func()
	gone    error // what ErrSessionNotFound means while it is read
	begun   bool  // all was called
}

// openHistory reads the record and the first page. The caller closes what it returns.
func openHistory(ctx context.Context, store SessionStore, id string) (*history, error) {
	h := &history{gone: ErrSessionNotFound}
	h.next, h.close = iter.Pull2(snapshot(ctx, store, id, MessageQuery{}))
	page, err, _ := h.next()
	if err != nil {
		h.close()
		return nil, err
	}
	h.session, h.page = page.Session, page
	return h, nil
}

// openSource is openHistory where a session that is not there is errVanished.
func openSource(ctx context.Context, store SessionStore, id string) (*history, error) {
	h, err := openHistory(ctx, store, id)
	if errors.Is(err, ErrSessionNotFound) {
		return nil, errVanished
	}
	if h != nil {
		h.gone = errVanished
	}
	return h, err
}

// small reports whether all of the messages are a page of so few bytes that several such
// can be in memory.
func (h *history) small() bool {
	const most = 128 << 10
	size := 0
	for i := range h.page.Messages {
		size += h.page.Messages[i].sizeBound()
	}
	return !h.page.HasMore && size <= most
}

// all yields the messages, once.
func (h *history) all(yield func(Message, error) bool) {
	if h.begun {
		yield(Message{}, errors.New("the messages of a copy can be read only once"))
		return
	}
	h.begun = true
	var n int64
	page := h.page
	h.page = MessagePage{}
	for ok := true; ok; {
		for _, m := range page.Messages {
			if n++; !yield(m, nil) {
				return
			}
		}
		var err error
		page, err, ok = h.next()
		if errors.Is(err, ErrSessionNotFound) {
			err = h.gone
		}
		if err != nil {
			yield(Message{}, err)
			return
		}
	}
	if n != h.session.MessageCount {
		yield(Message{}, invalid("message_count", "is %d, and there are %d messages", h.session.MessageCount, n))
	}
}

// contentSum is a hash of a session's record and messages, as AppendJSON writes them, and
// their number. The zero value is ready to use.
type contentSum struct {
	sum      hash.Hash
	messages int64
	buf      []byte
}

func (c *contentSum) add(v interface {
	AppendJSON([]byte) ([]byte, error)
}) (err error) {
	if c.buf, err = v.AppendJSON(c.buf[:0]); err != nil {
		return err
	}
	if c.sum == nil {
		c.sum = sha256.New()
	} else {
		c.messages++
	}
	c.sum.Write(append(c.buf, '\n'))
	return nil
}

func (c *contentSum) String() string {
	return fmt.Sprintf("%d messages with the hash %x", c.messages, c.sum.Sum(nil))
}
