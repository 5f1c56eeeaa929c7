package sessionstore

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
)

// reread runs read, and again if the history was truncated or its session replaced
// meanwhile.
func reread[T any](read func() (T, error)) (T, error) {
	for range maxRereads {
		v, err := read()
		if !errors.Is(err, errMoved) {
			return v, err
		}
	}
	var zero T
	return zero, moved(maxRereads)
}

// moved is errMoved for the caller: what it asked for was changed by others each time.
func moved(times int) error {
	return fmt.Errorf("%w: %w (read %d times)", ErrConflict, errMoved, times)
}

// backward reads a history from its newest end, as it was when the first page was read.
// What is appended later is left out by itself; anything else that changes the history
// is errMoved.
type backward struct {
	store    SessionStore
	id       string
	after    int64     // what is at or before this Seq is not read
	session  Session   // as the first page had it
	messages []Message // read so far, ascending
	more     bool      // there may be older ones
	started  bool
}

// read reads n older messages, or as many as there are, and puts them before those that
// it has.
func (b *backward) read(ctx context.Context, n int) error {
	q := MessageQuery{AfterSeq: b.after, Newest: true}
	if len(b.messages) > 0 {
		q.BeforeSeq = b.messages[0].Seq
	}
	pages := [][]Message{b.messages}
	for b.more = true; n > 0 && b.more; {
		q.Limit = min(n, MaxMessages)
		page, err := b.page(ctx, q)
		if err != nil {
			return err
		}
		if len(page.Messages) > 0 {
			q.BeforeSeq = page.Messages[0].Seq
			pages = append(pages, page.Messages)
			n -= len(page.Messages)
		} else if page.HasMore {
			return errEmptyPage
		}
		b.more = page.HasMore
	}
	slices.Reverse(pages)
	b.messages = slices.Concat(pages...)
	return nil
}

func (b *backward) page(ctx context.Context, q MessageQuery) (MessagePage, error) {
	page, err := b.store.ListMessages(ctx, b.id, q)
	if err != nil {
		return MessagePage{}, err
	}
	if !b.started {
		b.session, b.started = page.Session, true
	} else if !grewFrom(b.session, page.Session) {
		return MessagePage{}, errMoved
	}
	return page, nil
}

// lead reads the messages that lead the history (see splitLead) from its other end, and
// leaves them out of what read gives.
func (b *backward) lead(ctx context.Context) ([]Message, error) {
	const few = 8 // a history rarely begins with more instructions than that
	var lead []Message
	q := MessageQuery{BeforeSeq: b.session.LastSeq + 1, Limit: few}
	for {
		page, err := b.page(ctx, q)
		if err != nil {
			return nil, err
		}
		some, rest := splitLead(page.Messages)
		lead = append(lead, some...)
		if n := len(page.Messages) - len(rest); n > 0 {
			b.after = page.Messages[n-1].Seq
		}
		if len(rest) > 0 || !page.HasMore {
			break
		}
		if len(page.Messages) == 0 {
			return nil, errEmptyPage
		}
		q.AfterSeq, q.Limit = b.after, MaxMessages
	}
	met := slices.IndexFunc(b.messages, func(m Message) bool { return m.Seq > b.after })
	if met < 0 {
		met = len(b.messages)
	}
	if met > 0 { // the two ends have met
		b.messages, b.more = b.messages[met:], false
	}
	return lead, nil
}

// lastMessages returns the newest n messages, or all if n is 0.
func lastMessages(ctx context.Context, store SessionStore, id string, n int) ([]Message, error) {
	if n < 0 {
		return nil, invalid("last", "must not be negative")
	}
	if n == 0 {
		n = math.MaxInt
	}
	return reread(func() ([]Message, error) {
		b := backward{store: store, id: id}
		if err := b.read(ctx, n); err != nil {
			return nil, err
		}
		if b.messages == nil {
			return []Message{}, nil
		}
		return b.messages, nil
	})
}
