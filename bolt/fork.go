package bolt

import (
	"bytes"
	"context"
	"time"

	"go.etcd.io/bbolt"

	"github.com/sessionstore/sessionstore"
)

// ForkSession makes a new session that starts with another's history; see
// [sessionstore.Fork]. The messages are copied in one transaction, undecoded.
func (h *handle) ForkSession(ctx context.Context, id string, f sessionstore.Fork) (sessionstore.Session, error) {
	out, err := h.forkSession(ctx, id, f)
	if err != nil {
		return sessionstore.Session{}, failed("fork", id, err)
	}
	return out, nil
}

func (h *handle) forkSession(ctx context.Context, id string, f sessionstore.Fork) (out sessionstore.Session, err error) {
	if err := h.scope.Enter(ctx); err != nil {
		return out, err
	}
	defer h.scope.Leave()
	if err := sessionstore.CheckID(id); err != nil {
		return out, err
	}
	if f, err = f.Prepare(); err != nil {
		return out, err
	}
	if f.UserID != nil {
		if err := h.scope.Admit(*f.UserID); err != nil {
			return out, err
		}
	}
	err = h.write(ctx, func(sp *space, now time.Time) (func() error, error) {
		src, err := sp.load(id, h.scope.Owner(), now)
		if err != nil {
			return nil, err
		}
		count := src.session.MessageCount
		if f.AtSeq != nil && *f.AtSeq < src.session.LastSeq {
			count -= src.count(*f.AtSeq, 0)
		}
		child, err := f.Apply(src.session, count, now)
		if err != nil {
			return nil, err
		}
		remains, err := sp.free(child.ID, now)
		if err != nil {
			return nil, err
		}
		out, sp.size = child, maxBatchBytes // not known: the transaction takes nothing after it
		return func() error {
			b, err := sp.insert(child.ID, remains)
			if err != nil {
				return err
			}
			if err := src.copyMessages(b, child.ForkSeq); err != nil {
				return err
			}
			return sp.finish(b, child)
		}, nil
	})
	return out, err
}

// copyMessages puts the messages with Seq <= through, and their ids, into dst.
func (e entry) copyMessages(dst *bbolt.Bucket, through int64) error {
	c := e.bucket.Cursor()
	prefix := []byte{keyID}
	for key, v := c.Seek(prefix); bytes.HasPrefix(key, prefix); key, v = c.Next() {
		seq, err := readSeq(v)
		if err != nil {
			return err
		}
		if seq > through {
			continue
		}
		if err := dst.Put(key, v); err != nil {
			return err
		}
	}
	w := e.walk(0, 0, false)
	last := messageKey(through)
	for key, v := w.first(); key != nil && bytes.Compare(key, last) <= 0; key, v = w.next() {
		if err := dst.Put(key, v); err != nil {
			return err
		}
	}
	return nil
}
