package sessionstore

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"
)

// forkByCopy is ForkSession on a store without Forker.
func forkByCopy(ctx context.Context, store SessionStore, id string, f Fork) (Session, error) {
	f, err := f.Prepare()
	if err != nil {
		return Session{}, argument(ctx, store, id, err)
	}
	if f.ID == "" {
		f.ID = newID()
	}
	for range maxRereads {
		var child Session
		if r, ok := store.(Restorer); ok {
			child, err = forkByRestore(ctx, store, r, id, f)
			if errors.Is(err, errors.ErrUnsupported) {
				child, err = forkByAppend(ctx, store, id, f)
			}
		} else {
			child, err = forkByAppend(ctx, store, id, f)
		}
		if !errors.Is(err, errMoved) {
			return child, err
		}
	}
	return Session{}, err
}

// forkByRestore writes the child through the store's Restorer. The child's times are
// those of this process: a store's own clock is not to be had from outside.
func forkByRestore(ctx context.Context, store SessionStore, r Restorer, id string, f Fork) (Session, error) {
	src, err := store.GetSession(ctx, id)
	if err != nil {
		return Session{}, err
	}
	at, count := src.LastSeq, src.MessageCount
	if f.AtSeq != nil && *f.AtSeq < at {
		at, count = *f.AtSeq, 0
		for page, err := range snapshot(ctx, store, id, MessageQuery{BeforeSeq: at + 1}) {
			if err != nil {
				return Session{}, err
			}
			count += int64(len(page.Messages))
		}
	}
	child, err := f.Apply(src, count, alive(src))
	if err != nil {
		return Session{}, err
	}
	messages := func(yield func(Message, error) bool) {
		for page, err := range snapshot(ctx, store, id, MessageQuery{BeforeSeq: at + 1}) {
			if err == nil && !grewFrom(src, page.Session) {
				err = errMoved
			}
			if err != nil {
				yield(Message{}, err)
				return
			}
			for _, m := range page.Messages {
				m.SessionID = child.ID
				if !yield(m, nil) {
					return
				}
			}
		}
	}
	if at == 0 {
		messages = func(func(Message, error) bool) {}
	}
	got, err := r.RestoreSession(ctx, child, messages)
	if err == nil && (got.LastSeq != child.LastSeq || got.MessageCount != child.MessageCount) {
		// A decorator's method that fell back: it numbers the messages anew.
		return Session{}, undo(ctx, store, child.ID, fmt.Errorf("the store's RestoreSession renumbers: %w", errors.ErrUnsupported))
	}
	return got, err
}

// alive returns the time of a fork of src. Whether src has expired is the store's to say,
// by its own clock, and it has just shown src.
func alive(src Session) time.Time {
	if now := time.Now(); !now.Before(src.UpdatedAt) && !src.Expired(now) {
		return now
	}
	return src.UpdatedAt
}

// argument returns err, which is about an argument, unless the store is closed or the
// context done: those come first.
func argument(ctx context.Context, store SessionStore, id string, err error) error {
	_, serr := store.GetSession(ctx, id)
	if errors.Is(serr, ErrStoreClosed) || ctx.Err() != nil && errors.Is(serr, ctx.Err()) {
		return serr
	}
	return err
}

// forkByAppend creates the child and appends to it what one call can take.
func forkByAppend(ctx context.Context, store SessionStore, id string, f Fork) (Session, error) {
	page, err := store.ListMessages(ctx, id, MessageQuery{Limit: MaxAppendMessages})
	if err != nil {
		return Session{}, err
	}
	src := page.Session
	at := src.LastSeq
	if f.AtSeq != nil {
		at = *f.AtSeq
	}
	child, err := f.Apply(src, at, alive(src))
	if err != nil {
		return Session{}, err
	}
	batch := page.Messages
	for len(batch) > 0 && batch[len(batch)-1].Seq > at {
		batch = batch[:len(batch)-1]
	}
	// Appending numbers from 1: only a history without a gap gets its own Seqs back.
	if int64(len(batch)) != at {
		return Session{}, fmt.Errorf("the store has neither Forker nor Restorer, and the history up to %d has gaps, or more messages or bytes than one append takes: %w",
			at, errors.ErrUnsupported)
	}
	for i := range batch {
		batch[i].SessionID = child.ID
	}
	if err := checkBatchSize(batch); err != nil {
		return Session{}, fmt.Errorf("the store has neither Forker nor Restorer: %w: %w", err, errors.ErrUnsupported)
	}
	child.CreatedAt = time.Time{} // the store's own clock says when
	created, err := store.CreateSession(ctx, child)
	if err != nil || len(batch) == 0 {
		return created, err
	}
	if _, err := store.AppendMessages(ctx, child.ID, Append{Messages: batch}); err != nil {
		return Session{}, undo(ctx, store, child.ID, err)
	}
	out, err := store.GetSession(ctx, child.ID)
	if err != nil {
		return Session{}, undo(ctx, store, child.ID, err)
	}
	return out, nil
}

// restoreByAppend is RestoreSession on a store without Restorer.
func restoreByAppend(ctx context.Context, store SessionStore, s Session, messages iter.Seq2[Message, error]) (Session, error) {
	r, err := NewRestoration(s)
	if err != nil {
		return Session{}, argument(ctx, store, s.ID, err)
	}
	if r.s.Expired(time.Now()) {
		return Session{}, argument(ctx, store, s.ID, errExpired)
	}
	status := r.s.Status
	first := r.s.Clone()
	first.Status = StatusActive
	if _, err := store.CreateSession(ctx, first); err != nil {
		return Session{}, err
	}
	out, err := fillByAppend(ctx, store, r, messages)
	if err == nil && status != StatusActive {
		out, err = store.UpdateSession(ctx, s.ID, SessionUpdate{Status: &status})
	}
	if err != nil {
		return Session{}, undo(ctx, store, s.ID, err)
	}
	return out, nil
}

func fillByAppend(ctx context.Context, store SessionStore, r *Restoration, messages iter.Seq2[Message, error]) (Session, error) {
	id := r.s.ID
	var batch []Message
	var size int
	var buf []byte
	flush := func() error {
		if len(batch) == 0 {
			return nil
		}
		_, err := store.AppendMessages(ctx, id, Append{Messages: batch})
		batch, size = batch[:0], 0
		return err
	}
	for m, err := range messages {
		if err != nil {
			return Session{}, err
		}
		if m, err = r.Next(m); err != nil {
			return Session{}, err
		}
		m.Seq = 0
		if buf, err = m.AppendJSON(buf[:0]); err != nil {
			return Session{}, err
		}
		if len(batch) == MaxAppendMessages || size+len(buf) > MaxAppendBytes {
			if err := flush(); err != nil {
				return Session{}, err
			}
		}
		batch, size = append(batch, m), size+len(buf)
	}
	if err := flush(); err != nil {
		return Session{}, err
	}
	if r.count != r.s.MessageCount {
		return Session{}, invalid("message_count", "is %d, but %d messages were given", r.s.MessageCount, r.count)
	}
	return store.GetSession(ctx, id)
}

// undo removes a session that could not be completed, also when the context is done, and
// returns why it could not be.
func undo(ctx context.Context, store SessionStore, id string, err error) error {
	if derr := store.DeleteSession(context.WithoutCancel(ctx), id); derr != nil && !errors.Is(derr, ErrSessionNotFound) {
		return errors.Join(err, fmt.Errorf("the unfinished session %q could not be deleted: %w", clip(id), derr))
	}
	return err
}
