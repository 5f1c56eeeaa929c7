package mongo

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/sessionstore/sessionstore"
)

// judge says what becomes of a batch that was refused, from the head as it was read: an
// answer, an error, or neither: then the append is to be tried again in the state found.
func (s *Store) judge(ctx context.Context, h *head, session sessionstore.Session, a sessionstore.Append, now time.Time) ([]sessionstore.Message, error) {
	if session.Expired(now) {
		return nil, sessionstore.ErrSessionNotFound
	}
	if len(a.Messages) == 0 {
		return []sessionstore.Message{}, nil
	}
	stored, err := s.stored(ctx, h, session.ID, a.IDs())
	if err != nil {
		return nil, err
	}
	if len(stored) > 0 {
		return a.Repeat(stored)
	}
	if _, _, err := a.Apply(session, now); err != nil {
		return nil, err
	}
	if h.Size <= maxTail {
		return nil, nil
	}
	if err := s.spill(ctx, h.Key); err != nil {
		return nil, fmt.Errorf("making room: %w", err)
	}
	return nil, errMoved
}

// stored returns those of a session's messages that have one of the ids.
func (s *Store) stored(ctx context.Context, h *head, session string, ids []string) ([]sessionstore.Message, error) {
	want := make(map[string]bool, len(ids))
	for _, id := range ids {
		want[id] = true
	}
	tail, err := h.entries()
	if err != nil {
		return nil, err
	}
	var have []entry
	for _, e := range tail {
		if want[e.id] {
			have = append(have, e)
		}
	}
	if len(have) < len(ids) && slices.Min(ids) <= h.Hi {
		more, err := s.search(ctx, h, ids)
		if err != nil {
			return nil, err
		}
		have = append(have, more...)
	}
	if n := len(have); n > 0 && n < len(ids) {
		// A block that was dropped meanwhile may have had the others.
		if err := s.unmoved(ctx, h); err != nil {
			return nil, err
		}
	}
	out := make([]sessionstore.Message, len(have))
	for i, e := range have {
		if out[i], err = e.message(session); err != nil {
			return nil, err
		}
	}
	return out, nil
}
