package sessionstore

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// CopyOptions say what is copied and how; nil and the zero value: every session, and
// nothing at the target is overwritten but what is an older state of its source.
type CopyOptions struct {
	// IDs names the sessions; not together with a Query.
	IDs []string

	// Query filters the sessions. Its Limit does not matter; a Cursor is ErrInvalid.
	Query SessionQuery

	// Replace overwrites sessions of the target whose content is another one.
	Replace bool

	// Recheck compares all messages of the sessions that the target has already, too.
	// Otherwise a session whose record is equal, times, counters and version included, is
	// taken for equal.
	Recheck bool

	// OnError is called for each session that differs or could not be copied.
	OnError func(SessionError)

	// OnProgress is called after each session with the counts until then.
	//
	// The two are called from other goroutines than Copy's, but never at the same time.
	OnProgress func(CopyReport)
}

// CopyReport says what a copy did, in sessions if nothing else is said.
type CopyReport struct {
	Copied    int64 // the target did not have
	Updated   int64 // the target had in an older state
	Replaced  int64 // the target had with other content, because of CopyOptions.Replace
	Same      int64 // the target had already
	Expired   int64 // whose time had run out by the target's clock
	Different int64 // the target had with other content, and has still; OnError got each
	Failed    int64 // that could not be copied, or did not read back equal; OnError got each

	Messages int64    // written
	Missing  []string // those of CopyOptions.IDs that do not exist
}

// SessionError says which session a copy could not do, and why. A session that the target
// has with other content is ErrSessionExists.
type SessionError struct {
	SessionID string
	Err       error
}

func (e SessionError) Error() string { return fmt.Sprintf("session %q: %v", clip(e.SessionID), e.Err) }

// Unwrap returns Err.
func (e SessionError) Unwrap() error { return e.Err }

// Copy writes the sessions of one store to another, of any two backends, exactly: with
// ids, Seqs, times, counters, versions and what they expire by. It needs the target's
// [Restorer], else it is errors.ErrUnsupported. Each session is written as it was at one
// moment, completely or not at all, and then read back: a hash of its record and all its
// messages must be that of what was read from the source.
//
// Every session that is there from beginning to end is copied, whatever is written to the
// source meanwhile; what the source deletes is not deleted at the target. A copy that
// ended early is completed by another one, to which a session that is there already
// costs a read of its record.
//
// A session whose source has moved on since an earlier copy is brought up to date: if the
// target's state is an older one, by Version, LastSeq and UpdatedAt, and all its messages
// are the first of the source's. It is written anew and changed over at the end, when it
// is absent for a moment. Anything else that the target has under the id is left as it is
// and reported, unless CopyOptions.Replace is set: above all a session that was continued
// at the target. While a copy runs, nobody else may write to the sessions of the target
// that it is to bring up to date or replace: what they write between the last look and the
// change is lost.
//
// An error means that not all was copied: the source's, the target's, the context's, or
// ErrInvalid for the options. What concerns one session only is given to
// CopyOptions.OnError, and the copy goes on.
//
// Small sessions are copied several at a time. Copy holds a page of messages of each
// store in memory, and the ids of the sessions.
func Copy(ctx context.Context, to, from SessionStore, o *CopyOptions) (CopyReport, error) {
	if o == nil {
		o = &CopyOptions{}
	}
	q, err := checkChoice(o.IDs, o.Query)
	if err != nil {
		return CopyReport{}, err
	}
	for _, id := range o.IDs {
		if err := CheckID(id); err != nil {
			return CopyReport{}, err
		}
	}
	target, ok := to.(Restorer)
	if !ok {
		return CopyReport{}, fmt.Errorf("copy: %w", errNoExactCopy)
	}
	c := &copier{CopyOptions: *o, to: to, restorer: target, from: from}
	err = c.run(ctx, func(ctx context.Context, visit func(Session) (bool, error)) error {
		if len(o.IDs) > 0 {
			return c.named(ctx, visit)
		}
		return sweep(ctx, from, q, visit)
	})
	if err != nil {
		return c.report, fmt.Errorf("copy: %w", err)
	}
	return c.report, nil
}

var errNoExactCopy = fmt.Errorf("the target cannot restore a session exactly: %w", errors.ErrUnsupported)

// maxCopies is how many sessions are copied at the same time: a store that commits what
// comes together by one flush to disk is then several times faster, and waits for servers
// overlap.
const maxCopies = 8

// copier copies the sessions of one store to another.
type copier struct {
	CopyOptions
	to, from SessionStore
	restorer Restorer // to

	// large is held while more than a small page of messages is in memory, so that this
	// happens once at a time.
	large sync.Mutex

	mu     sync.Mutex // for what follows, and the callbacks
	report CopyReport
	err    error // what ended the copy
}

// run copies the sessions that each visits.
func (c *copier) run(ctx context.Context, each func(context.Context, func(Session) (bool, error)) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var workers sync.WaitGroup
	work := make(chan Session)
	for range maxCopies {
		workers.Go(func() {
			for s := range work {
				err := ctx.Err()
				if err == nil {
					err = c.settle(c.session(ctx, s))
				}
				if err != nil {
					c.fail(err)
					cancel()
				}
			}
		})
	}
	err := each(ctx, func(s Session) (bool, error) {
		select {
		case work <- s:
			return true, nil
		case <-ctx.Done():
			return false, ctx.Err()
		}
	})
	if err != nil {
		c.fail(err)
		cancel()
	}
	close(work)
	workers.Wait()
	return c.err
}

// fail keeps the first of the errors that end a copy: the others follow from it.
func (c *copier) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil {
		c.err = err
	}
}

// named visits the sessions of CopyOptions.IDs.
func (c *copier) named(ctx context.Context, visit func(Session) (bool, error)) error {
	done := make(map[string]struct{})
	for _, id := range c.IDs {
		if _, ok := done[id]; ok {
			continue
		}
		done[id] = struct{}{}
		s, err := c.from.GetSession(ctx, id)
		switch {
		case err == nil:
			_, err = visit(s)
		case errors.Is(err, ErrSessionNotFound):
			err = nil
			c.mu.Lock()
			c.report.Missing = append(c.report.Missing, id)
			c.mu.Unlock()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// settle counts what became of a session. It returns an error that is not about that
// session alone.
func (c *copier) settle(r copied, err error) error {
	var alone *SessionError
	if err != nil && !errors.As(err, &alone) {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	r.addTo(&c.report)
	if alone != nil && c.OnError != nil {
		c.OnError(*alone)
	}
	if c.OnProgress != nil {
		c.OnProgress(c.report)
	}
	return nil
}
