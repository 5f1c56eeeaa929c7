package formats

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"iter"
	"time"

	"github.com/sessionstore/sessionstore"
)

// mend replaces a stored session that lacks messages of the file's by the file's. The
// import of a file with records that could not be read leaves such a session, and so does
// a conversation that went on where the file comes from.
//
// A message that is missing in the middle cannot be put there: Seqs are never reused. So
// the session is deleted and restored, and is then what a first import would have made of
// it. That takes nothing from it that the file does not give back: its state is that of the
// file, and its messages are some of the file's, in the file's order. Otherwise mend
// leaves it alone and returns incomplete with the reason. All that can be refused is
// checked before. A crash right between the two steps leaves the session out until the file is
// imported again.
func (im *importer) mend(ctx context.Context, c conversation, stored sessionstore.Session, incomplete error) error {
	because := func(reason string) error { return fmt.Errorf("%w; %s", incomplete, reason) }
	if _, ok := im.store.(sessionstore.Restorer); !ok {
		return because("the store cannot restore sessions")
	}
	same, err := sameState(stored, c)
	switch {
	case err != nil:
		return err
	case stored.Status == sessionstore.StatusPaused && c.session.Status == sessionstore.StatusActive:
		return because("it is paused, perhaps by an import that was killed: resume it, and import the file again")
	case !same:
		return because("its state is not that of the file")
	case stored.LastSeq != stored.MessageCount:
		return because("it was truncated")
	}
	if err := im.acceptable(c); err != nil {
		return err
	}
	if within, err := im.within(ctx, c); err != nil {
		return err
	} else if !within {
		return because("it has messages that the file does not have at their place")
	}
	// While it is paused nobody appends to it what would be lost.
	if stored.Status == sessionstore.StatusActive {
		paused := sessionstore.StatusPaused
		now, err := im.store.UpdateSession(ctx, c.session.ID, sessionstore.SessionUpdate{IfVersion: stored.Version, Status: &paused})
		if err != nil {
			return fmt.Errorf("%w; %w", incomplete, err)
		}
		if now.LastSeq != stored.LastSeq {
			return errors.Join(because("someone appends to it"), im.resume(ctx, now))
		}
		if err := im.replace(ctx, c); err != nil {
			return errors.Join(err, im.resume(ctx, now))
		}
		return nil
	}
	return im.replace(ctx, c)
}

// resumeTimeout is how long a session that could not be replaced may take to be resumed.
const resumeTimeout = 30 * time.Second

// resume makes a session that mend has paused active again, if it is still there, whether
// or not the import goes on.
func (im *importer) resume(ctx context.Context, paused sessionstore.Session) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), resumeTimeout)
	defer cancel()
	active := sessionstore.StatusActive
	_, err := im.store.UpdateSession(ctx, paused.ID, sessionstore.SessionUpdate{IfVersion: paused.Version, Status: &active})
	if errors.Is(err, sessionstore.ErrSessionNotFound) || errors.Is(err, sessionstore.ErrConflict) {
		return nil // it was removed, or somebody else has decided about it
	}
	return err
}

// replace restores a session in the place of the one that is there. That is removed when
// all messages have been read, so that what ends before leaves it as it was; most stores
// look at the id only then.
func (im *importer) replace(ctx context.Context, c conversation) error {
	begun := false
	messages := func(yield func(sessionstore.Message, error) bool) {
		begun = true
		for m, err := range numbered(c.session, c.messages) {
			if !yield(m, err) || err != nil {
				return
			}
		}
		if err := im.store.DeleteSession(ctx, c.session.ID); err != nil {
			yield(sessionstore.Message{}, err)
		}
	}
	_, err := sessionstore.RestoreSession(ctx, im.store, c.session, messages)
	if errors.Is(err, sessionstore.ErrSessionExists) && !begun { // the store looks first
		if err = im.store.DeleteSession(ctx, c.session.ID); err == nil {
			_, err = sessionstore.RestoreSession(ctx, im.store, c.session, numbered(c.session, c.messages))
		}
	}
	return err
}

// acceptable returns the error with which a store would refuse the conversation.
func (im *importer) acceptable(c conversation) error {
	r, err := sessionstore.NewRestoration(c.session)
	if err != nil {
		return err
	}
	seed := maphash.MakeSeed()
	ids := make(map[uint64]struct{}, c.count) // of a long history, the ids themselves are many bytes
	for m, err := range numbered(c.session, c.messages) {
		if err != nil {
			return err
		}
		if m, err = r.Next(m); err != nil {
			return err
		}
		id := maphash.String(seed, m.ID)
		if _, ok := ids[id]; ok {
			return invalid("message_id", fmt.Sprintf("%q is in the history twice", clip(m.ID)))
		}
		ids[id] = struct{}{}
	}
	_, err = r.Finish(im.o.Now())
	return err
}

// within reports whether the stored messages are some of the conversation's, in its order.
func (im *importer) within(ctx context.Context, c conversation) (bool, error) {
	next, stop := iter.Pull2(c.messages)
	defer stop()
	q := sessionstore.MessageQuery{}
	for {
		page, err := im.store.ListMessages(ctx, c.session.ID, q)
		if err != nil {
			return false, err
		}
		for _, have := range page.Messages {
			for same := false; !same; {
				m, err, ok := next()
				if err != nil || !ok {
					return false, err
				}
				if m.ID == "" {
					m.ID = have.ID // it was made of the position, which a message before may have changed
				}
				m.SessionID, m.Seq = have.SessionID, have.Seq
				if same, err = sameMessage(have, m); err != nil {
					return false, err
				}
			}
			q.AfterSeq = have.Seq
		}
		if !page.HasMore {
			return true, nil
		}
	}
}
