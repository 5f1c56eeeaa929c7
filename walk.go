package sessionstore

import (
	"context"
	"errors"
	"iter"
)

// errMoved says that a history was truncated, or its session replaced, between two pages
// of one reading: what was read so far is not one state of it. The reader starts again.
var errMoved = errors.New("history changed while it was read")

var errEmptyPage = errors.New("the store returned an empty page and says there are more messages")

// maxRereads bounds how often a reader starts again after errMoved.
const maxRereads = 10

// snapshot reads a history page by page, ascending, as it was when the first page was
// read: appends since then are left out, and anything else that changed it ends the walk
// with errMoved. Each page carries the session as it was when that page was read.
func snapshot(ctx context.Context, store SessionStore, id string, q MessageQuery) iter.Seq2[MessagePage, error] {
	return func(yield func(MessagePage, error) bool) {
		var base Session
		for first := true; ; first = false {
			page, err := store.ListMessages(ctx, id, q)
			if err != nil {
				yield(MessagePage{}, err)
				return
			}
			if first {
				base = page.Session
				if q.BeforeSeq == 0 || q.BeforeSeq > base.LastSeq+1 {
					q.BeforeSeq = base.LastSeq + 1
				}
			} else if !grewFrom(base, page.Session) {
				yield(MessagePage{}, errMoved)
				return
			}
			if !yield(page, nil) || !page.HasMore {
				return
			}
			if n := len(page.Messages); n > 0 {
				q.AfterSeq = page.Messages[n-1].Seq
			} else {
				yield(MessagePage{}, errEmptyPage)
				return
			}
		}
	}
}

// grewFrom reports whether s is the session that base was, with nothing but appends to
// its history since: a truncate lowers MessageCount and leaves LastSeq.
func grewFrom(base, s Session) bool {
	return s.ID == base.ID && s.CreatedAt.Equal(base.CreatedAt) && s.Version >= base.Version &&
		s.LastSeq >= base.LastSeq &&
		s.LastSeq-s.MessageCount == base.LastSeq-base.MessageCount
}
