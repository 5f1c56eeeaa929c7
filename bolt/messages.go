package bolt

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"time"

	"go.etcd.io/bbolt"

	"github.com/sessionstore/sessionstore"
)

// AppendMessages adds a batch to a history; see [sessionstore.Append].
func (h *handle) AppendMessages(ctx context.Context, id string, a sessionstore.Append) ([]sessionstore.Message, error) {
	out, err := h.appendMessages(ctx, id, a)
	if err != nil {
		return nil, failed("append to", id, err)
	}
	return out, nil
}

func (h *handle) appendMessages(ctx context.Context, id string, a sessionstore.Append) (out []sessionstore.Message, err error) {
	if err := h.scope.Enter(ctx); err != nil {
		return nil, err
	}
	defer h.scope.Leave()
	if a, err = a.Prepare(id); err != nil {
		return nil, err
	}
	err = h.write(ctx, func(sp *space, now time.Time) (func() error, error) {
		e, err := sp.load(id, h.scope.Owner(), now)
		if err != nil {
			return nil, err
		}
		out, err = e.repeat(a)
		if err != nil || out != nil {
			return nil, err
		}
		changed, added, err := a.Apply(e.session, now)
		if err != nil {
			return nil, err
		}
		out = added
		if len(added) == 0 {
			return nil, nil
		}
		records, err := encodeMessages(added)
		if err != nil {
			return nil, err
		}
		for _, r := range records {
			sp.size += len(r)
		}
		return func() error {
			e.bucket.FillPercent = fillPercent
			for i, m := range added {
				if err := putMessage(e.bucket, m.Seq, m.ID, records[i]); err != nil {
					return err
				}
			}
			return sp.change(e, changed)
		}, nil
	})
	return out, err
}

// repeat returns the stored messages if the batch is one that was stored before, nil if
// it is new.
func (e entry) repeat(a sessionstore.Append) ([]sessionstore.Message, error) {
	var stored []sessionstore.Message
	for _, m := range a.Messages {
		old, ok, err := e.message(m.ID)
		if err != nil {
			return nil, err
		}
		if ok {
			stored = append(stored, old)
		}
	}
	return a.Repeat(stored)
}

// encodeMessages returns the messages' records, all in one piece of memory. Bbolt keeps
// the values that it is given until the commit: they are not written to again.
func encodeMessages(msgs []sessionstore.Message) ([][]byte, error) {
	records := make([][]byte, len(msgs))
	var buf []byte
	for i, m := range msgs {
		start := len(buf)
		var err error
		if buf, err = appendMessage(buf, m); err != nil {
			return nil, err
		}
		records[i] = buf[start:len(buf):len(buf)]
	}
	return records, nil
}

func putMessage(b *bbolt.Bucket, seq int64, id string, record []byte) error {
	if err := b.Put(idKey(id), seqValue(seq)); err != nil {
		return err
	}
	return b.Put(messageKey(seq), record)
}

// ListMessages returns one page of a history; see [sessionstore.MessageQuery].
func (h *handle) ListMessages(ctx context.Context, id string, q sessionstore.MessageQuery) (sessionstore.MessagePage, error) {
	page, err := h.listMessages(ctx, id, q)
	if err != nil {
		return sessionstore.MessagePage{}, failed("list messages of", id, err)
	}
	return page, nil
}

func (h *handle) listMessages(ctx context.Context, id string, q sessionstore.MessageQuery) (page sessionstore.MessagePage, err error) {
	if err := h.scope.Enter(ctx); err != nil {
		return page, err
	}
	defer h.scope.Leave()
	if err := sessionstore.CheckID(id); err != nil {
		return page, err
	}
	if q, err = q.Prepare(); err != nil {
		return page, err
	}
	err = h.read(func(sp *space, now time.Time) error {
		e, err := sp.load(id, h.scope.Owner(), now)
		if err != nil {
			return err
		}
		page, err = e.page(q)
		return err
	})
	return page, err
}

// page reads what q asks for, from the end that it starts at.
func (e entry) page(q sessionstore.MessageQuery) (sessionstore.MessagePage, error) {
	page := sessionstore.MessagePage{Session: e.session}
	nameSize, err := sessionIDSize(e.session.ID)
	if err != nil {
		return page, err
	}
	size := 0
	msgs := make([]sessionstore.Message, 0, min(int64(q.Limit), e.session.MessageCount))
	w := e.walk(q.AfterSeq, q.BeforeSeq, q.Newest)
	for key, v := w.first(); key != nil; key, v = w.next() {
		size += len(v) - 1 + nameSize
		if len(msgs) == q.Limit || size > sessionstore.MaxPageBytes && len(msgs) > 0 {
			page.HasMore = true
			break
		}
		m, err := decodeMessage(v, e.session.ID)
		if err != nil {
			return page, fmt.Errorf("message %x: %w", key[1:], err)
		}
		msgs = append(msgs, m)
	}
	if q.Newest {
		slices.Reverse(msgs)
	}
	page.Messages = msgs
	return page, nil
}

// sessionIDSize is by how much a message as AppendJSON writes it is longer than its
// record, which does not name the session.
func sessionIDSize(id string) (int, error) {
	named, err := sessionstore.Message{SessionID: id}.AppendJSON(nil)
	if err != nil {
		return 0, err
	}
	bare, err := sessionstore.Message{}.AppendJSON(nil)
	return len(named) - len(bare), err
}

// walk goes over a session's messages with Seq > after and, unless before is 0, < before.
type walk struct {
	c           *bbolt.Cursor
	low, high   []byte // keys, exclusive
	newestFirst bool
}

func (e entry) walk(after, before int64, newestFirst bool) *walk {
	w := &walk{c: e.bucket.Cursor(), low: messageKey(after), high: []byte{keyMessage + 1}, newestFirst: newestFirst}
	if before != 0 {
		w.high = messageKey(before)
	}
	return w
}

func (w *walk) first() (key, v []byte) {
	if !w.newestFirst {
		key, v = w.c.Seek(w.low)
		if bytes.Equal(key, w.low) {
			key, v = w.c.Next()
		}
		return w.within(key, v)
	}
	if key, _ = w.c.Seek(w.high); key == nil {
		return w.within(w.c.Last())
	}
	return w.within(w.c.Prev())
}

func (w *walk) next() (key, v []byte) {
	if w.newestFirst {
		return w.within(w.c.Prev())
	}
	return w.within(w.c.Next())
}

func (w *walk) within(key, v []byte) ([]byte, []byte) {
	if key == nil || bytes.Compare(key, w.low) <= 0 || bytes.Compare(key, w.high) >= 0 {
		return nil, nil
	}
	return key, v
}

// TruncateMessages removes the newest messages; see [sessionstore.Truncate].
func (h *handle) TruncateMessages(ctx context.Context, id string, t sessionstore.Truncate) (sessionstore.Session, error) {
	out, err := h.truncateMessages(ctx, id, t)
	if err != nil {
		return sessionstore.Session{}, failed("truncate", id, err)
	}
	return out, nil
}

func (h *handle) truncateMessages(ctx context.Context, id string, t sessionstore.Truncate) (out sessionstore.Session, err error) {
	if err := h.scope.Enter(ctx); err != nil {
		return out, err
	}
	defer h.scope.Leave()
	if err := sessionstore.CheckID(id); err != nil {
		return out, err
	}
	if t, err = t.Prepare(); err != nil {
		return out, err
	}
	err = h.write(ctx, func(sp *space, now time.Time) (func() error, error) {
		e, err := sp.load(id, h.scope.Owner(), now)
		if err != nil {
			return nil, err
		}
		dropped := e.count(t.ThroughSeq, 0)
		changed, err := t.Apply(e.session, e.session.MessageCount-dropped, now)
		if err != nil {
			return nil, err
		}
		out = changed
		if dropped == 0 {
			return nil, nil
		}
		return func() error {
			if err := e.drop(t.ThroughSeq); err != nil {
				return err
			}
			return sp.change(e, changed)
		}, nil
	})
	return out, err
}

// count returns how many messages there are with after < Seq and, unless before is 0,
// Seq < before.
func (e entry) count(after, before int64) (n int64) {
	w := e.walk(after, before, false)
	for key, _ := w.first(); key != nil; key, _ = w.next() {
		n++
	}
	return n
}

// drop removes the messages with Seq > through, and their ids. The keys are collected
// first: a cursor does not survive a delete.
func (e entry) drop(through int64) error {
	var keys [][]byte
	w := e.walk(through, 0, false)
	for key, v := w.first(); key != nil; key, v = w.next() {
		m, err := decodeMessage(v, e.session.ID)
		if err != nil {
			return fmt.Errorf("message %x: %w", key[1:], err)
		}
		keys = append(keys, bytes.Clone(key), idKey(m.ID))
	}
	for _, key := range keys {
		if err := e.bucket.Delete(key); err != nil {
			return err
		}
	}
	return nil
}
