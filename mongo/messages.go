package mongo

import (
	"context"
	"errors"
	"slices"

	"github.com/sessionstore/sessionstore"
)

// ListMessages returns one page of a history; see [sessionstore.MessageQuery]. The page
// and its session are those of the head that was read: the blocks that it refers to never
// change.
func (s *Store) ListMessages(ctx context.Context, id string, q sessionstore.MessageQuery) (_ sessionstore.MessagePage, err error) {
	defer wrap(&err, "list messages of", id)
	if ctx, err = s.enter(ctx); err != nil {
		return sessionstore.MessagePage{}, err
	}
	defer s.scope.Leave()
	if err := sessionstore.CheckID(id); err != nil {
		return sessionstore.MessagePage{}, err
	}
	if q, err = q.Prepare(); err != nil {
		return sessionstore.MessagePage{}, err
	}
	for {
		page, err := s.page(ctx, id, q)
		if !errors.Is(err, errMoved) {
			return page, err
		}
		if err := ctx.Err(); err != nil {
			return sessionstore.MessagePage{}, err
		}
	}
}

// page is ListMessages, or errMoved if a block that the head referred to was dropped
// before it was read.
func (s *Store) page(ctx context.Context, id string, q sessionstore.MessageQuery) (sessionstore.MessagePage, error) {
	now := s.clock()
	h, session, err := s.load(ctx, id, nil)
	if err != nil {
		return sessionstore.MessagePage{}, err
	}
	if session.Expired(now) {
		return sessionstore.MessagePage{}, sessionstore.ErrSessionNotFound
	}
	tail, err := h.entries()
	if err != nil {
		return sessionstore.MessagePage{}, err
	}
	refs := within(h, q)
	blocks, err := s.fetch(ctx, h, refs, blockMessages)
	if err != nil {
		return sessionstore.MessagePage{}, err
	}
	var entries []entry
	for i := range blocks {
		of, err := blocks[i].entries()
		if err != nil {
			return sessionstore.MessagePage{}, err
		}
		entries = append(entries, of...)
	}
	entries = append(entries, tail...)
	entries = slices.DeleteFunc(entries, func(e entry) bool { return !inRange(e.seq, q) })
	page := sessionstore.MessagePage{Session: session, Messages: []sessionstore.Message{}}
	n := fit(entries, q)
	page.HasMore = n < len(entries)
	if q.Newest {
		entries = entries[len(entries)-n:]
	} else {
		entries = entries[:n]
	}
	for _, e := range entries {
		m, err := e.message(id)
		if err != nil {
			return sessionstore.MessagePage{}, err
		}
		page.Messages = append(page.Messages, m)
	}
	if n := sessionstore.FitPage(page.Messages, q.Newest); n < len(page.Messages) {
		page.HasMore = true
		if q.Newest {
			page.Messages = page.Messages[len(page.Messages)-n:]
		} else {
			page.Messages = page.Messages[:n]
		}
	}
	return page, nil
}

func inRange(seq int64, q sessionstore.MessageQuery) bool {
	return seq > q.AfterSeq && (q.BeforeSeq == 0 || seq < q.BeforeSeq)
}

// fit is how many of the entries a page may hold at most, from the end that it begins at.
func fit(entries []entry, q sessionstore.MessageQuery) int {
	size := 0
	for n := range min(len(entries), q.Limit) {
		e := entries[n]
		if q.Newest {
			e = entries[len(entries)-1-n]
		}
		if size += len(e.text); size > sessionstore.MaxPageBytes && n > 0 {
			return n
		}
	}
	return min(len(entries), q.Limit)
}

// within returns the references to those blocks that the query's page may need: enough for
// one message more than its limit, or for a page that is full.
func within(h *head, q sessionstore.MessageQuery) []ref {
	need, size := int64(q.Limit)+1, int64(0)
	if q.Newest {
		for i := range h.N { // the tail comes first
			if inRange(h.Last-i, q) {
				need--
			}
		}
	}
	refs := h.Refs
	if q.Newest {
		refs = slices.Clone(refs)
		slices.Reverse(refs)
	}
	var out []ref
	for _, r := range refs {
		if need <= 0 || size > sessionstore.MaxPageBytes {
			break
		}
		if r.Last <= q.AfterSeq || q.BeforeSeq != 0 && r.First >= q.BeforeSeq {
			continue
		}
		out = append(out, r)
		switch {
		case inRange(r.First, q) && inRange(r.Last, q):
			need -= r.N
			size += r.Size
		case r.N == r.Last-r.First+1: // no gaps: it is clear how many of them are in the range
			first, last := max(r.First, q.AfterSeq+1), r.Last
			if q.BeforeSeq != 0 {
				last = min(last, q.BeforeSeq-1)
			}
			need -= last - first + 1
		}
	}
	if q.Newest {
		slices.Reverse(out)
	}
	return out
}
