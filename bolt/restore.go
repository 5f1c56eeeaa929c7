package bolt

import (
	"context"
	"crypto/rand"
	"fmt"
	"iter"
	"time"

	"go.etcd.io/bbolt"

	"github.com/sessionstore/sessionstore"
)

// maxStagedBytes is how many bytes of records a restore keeps in memory. What is more
// goes to staged buckets, a transaction for each time that the memory is full.
const maxStagedBytes = 4 << 20

// RestoreSession writes a session as an export gave it; see [sessionstore.Restorer].
// The iterator runs outside of any transaction and may use the store, but must not close
// it. A small history is written by one transaction; a large one first to buckets that
// no method looks at, and one last transaction moves them into place. What a crash
// leaves there PurgeExpired removes.
func (h *handle) RestoreSession(ctx context.Context, s sessionstore.Session, messages iter.Seq2[sessionstore.Message, error]) (sessionstore.Session, error) {
	out, err := h.restoreSession(ctx, s, messages)
	if err != nil {
		return sessionstore.Session{}, failed("restore", s.ID, err)
	}
	return out, nil
}

func (h *handle) restoreSession(ctx context.Context, s sessionstore.Session, messages iter.Seq2[sessionstore.Message, error]) (out sessionstore.Session, err error) {
	if err := h.scope.Enter(ctx); err != nil {
		return out, err
	}
	defer h.scope.Leave()
	if err := h.scope.Admit(s.UserID); err != nil {
		return out, err
	}
	rules, err := sessionstore.NewRestoration(s)
	if err != nil {
		return out, err
	}
	st := &staging{h: h, id: s.ID}
	defer st.abandon(ctx)
	for m, err := range messages {
		if err != nil {
			return out, err
		}
		if err := ctx.Err(); err != nil {
			return out, err
		}
		if m, err = rules.Next(m); err != nil {
			return out, err
		}
		if err := st.add(ctx, m); err != nil {
			return out, err
		}
	}
	return st.finish(ctx, rules)
}

// staging holds the messages of a restore that has not finished.
type staging struct {
	h     *handle
	id    string // of the session
	token string // names its staged bucket; "": everything is in memory

	messages []stagedMessage
	ids      map[string]bool // of messages
	size     int
}

type stagedMessage struct {
	seq    int64
	id     string
	record []byte
}

func (st *staging) add(ctx context.Context, m sessionstore.Message) error {
	if st.ids[m.ID] {
		return errRepeatedID(m.ID)
	}
	// Room from the start for a large text: growing by steps would leave several times its
	// size behind.
	room := 512
	if m.Content.IsText() {
		room += len(m.Content.String())
	}
	record, err := appendMessage(make([]byte, 0, room), m)
	if err != nil {
		return err
	}
	if st.size > 0 && st.size+len(record) > maxStagedBytes {
		if err := st.flush(ctx); err != nil {
			return err
		}
	}
	if st.ids == nil {
		st.ids = map[string]bool{}
	}
	st.ids[m.ID] = true
	st.messages = append(st.messages, stagedMessage{m.Seq, m.ID, record})
	st.size += len(record)
	return nil
}

func errRepeatedID(id string) error {
	return &sessionstore.InvalidError{Field: "message_id", Reason: fmt.Sprintf("%.80q is in the history twice", id)}
}

// flush writes what is in memory to the staged bucket.
func (st *staging) flush(ctx context.Context) error {
	if st.token == "" {
		st.token = rand.Text()
		st.h.writer.stage(st.token, true)
	}
	err := st.h.write(ctx, func(sp *space, _ time.Time) (func() error, error) {
		b := sp.stagedSession(st.token, st.id)
		if err := st.unique(b); err != nil {
			return nil, err
		}
		sp.size = st.size
		return func() (err error) {
			if b == nil {
				if b, err = sp.stage(st.token, st.id); err != nil {
					return err
				}
			}
			return st.put(b)
		}, nil
	})
	if err != nil {
		return err
	}
	st.h.writer.forget()
	st.messages, st.size = nil, 0
	clear(st.ids)
	return nil
}

// unique refuses a message whose id is staged in b already.
func (st *staging) unique(b *bbolt.Bucket) error {
	if b == nil {
		return nil
	}
	for _, m := range st.messages {
		if b.Get(idKey(m.id)) != nil {
			return errRepeatedID(m.id)
		}
	}
	return nil
}

func (st *staging) put(b *bbolt.Bucket) error {
	b.FillPercent = fillPercent
	for _, m := range st.messages {
		if err := putMessage(b, m.seq, m.id, m.record); err != nil {
			return err
		}
	}
	return nil
}

// finish makes the session appear.
func (st *staging) finish(ctx context.Context, rules *sessionstore.Restoration) (out sessionstore.Session, err error) {
	err = st.h.write(ctx, func(sp *space, now time.Time) (func() error, error) {
		s, err := rules.Finish(now)
		if err != nil {
			return nil, err
		}
		if err := st.unique(sp.stagedSession(st.token, st.id)); err != nil {
			return nil, err
		}
		remains, err := sp.free(s.ID, now)
		if err != nil {
			return nil, err
		}
		out, sp.size = s, st.size
		return func() error {
			b, err := sp.insertStaged(st.token, s.ID, remains)
			if err != nil {
				return err
			}
			if err := st.put(b); err != nil {
				return err
			}
			return sp.finish(b, s)
		}, nil
	})
	if err == nil {
		st.settled()
		st.h.writer.forget()
	}
	return out, err
}

// abandon removes the staged bucket of a restore that did not finish. Where that fails,
// PurgeExpired will do it.
func (st *staging) abandon(ctx context.Context) {
	if st.token == "" {
		return
	}
	defer st.settled()
	_ = st.h.write(context.WithoutCancel(ctx), func(sp *space, _ time.Time) (func() error, error) {
		staged := sp.tx.Bucket(sp.names.staged)
		if staged == nil || staged.Bucket([]byte(st.token)) == nil {
			return nil, nil
		}
		return func() error { return staged.DeleteBucket([]byte(st.token)) }, nil
	})
}

func (st *staging) settled() {
	if st.token != "" {
		st.h.writer.stage(st.token, false)
		st.token = ""
	}
}

// stage marks a token as in use, or no more: PurgeExpired leaves those in use alone.
func (w *writer) stage(token string, inUse bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if inUse {
		w.staging[token] = true
	} else {
		delete(w.staging, token)
	}
}

func (w *writer) isStaging(token string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.staging[token]
}

// stagedSession returns the bucket that a restore has staged, or nil.
func (sp *space) stagedSession(token, id string) *bbolt.Bucket {
	b := sp.tx.Bucket(sp.names.staged)
	if b != nil && token != "" {
		if b = b.Bucket([]byte(token)); b != nil {
			return b.Bucket([]byte(id))
		}
	}
	return nil
}

// stage makes the bucket for a restore's messages. It lies under the session's id in one
// of the restore's own, so that bbolt can move it.
func (sp *space) stage(token, id string) (*bbolt.Bucket, error) {
	staged, err := sp.tx.CreateBucketIfNotExists(sp.names.staged)
	if err != nil {
		return nil, err
	}
	own, err := staged.CreateBucketIfNotExists([]byte(token))
	if err != nil {
		return nil, err
	}
	return own.CreateBucketIfNotExists([]byte(id))
}

// insertStaged is insert, with the messages that were staged under the token.
func (sp *space) insertStaged(token, id string, remains *entry) (*bbolt.Bucket, error) {
	if sp.stagedSession(token, id) == nil {
		return sp.insert(id, remains)
	}
	if remains != nil {
		if err := sp.remove(*remains); err != nil {
			return nil, err
		}
	}
	staged := sp.tx.Bucket(sp.names.staged)
	if err := staged.Bucket([]byte(token)).MoveBucket([]byte(id), sp.sessions); err != nil {
		return nil, err
	}
	if err := staged.DeleteBucket([]byte(token)); err != nil {
		return nil, err
	}
	b := sp.sessions.Bucket([]byte(id))
	b.FillPercent = fillPercent
	return b, nil
}
