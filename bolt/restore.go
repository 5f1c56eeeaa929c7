package bolt

import (
	"context"
	"crypto/rand"
	"fmt"
	"iter"
	"strings"
	"time"

	"go.etcd.io/bbolt"

	"github.com/sessionstore/sessionstore"
)

// maxStagedBytes is how many bytes of records a restore keeps in memory, or one record if
// that is larger. What is more goes to a staged bucket, a transaction for each time that
// the memory is full.
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
		room += escapedLen(m.Content.String())
	}
	next := stagedMessage{seq: m.Seq, id: m.ID}
	if st.size > 0 && st.size+room > maxStagedBytes {
		if err := st.flush(ctx, next); err != nil {
			return err
		}
	}
	var err error
	if next.record, err = appendMessage(make([]byte, 0, room), m); err != nil {
		return err
	}
	if st.ids == nil {
		st.ids = map[string]bool{}
	}
	st.ids[m.ID] = true
	st.messages = append(st.messages, next)
	st.size += len(next.record)
	return nil
}

// escapedLen is the length of s as a JSON string, but for rare control characters.
func escapedLen(s string) int {
	n := len(s)
	for _, escaped := range []string{"\n", `"`, `\`, "\t", "\r"} {
		n += strings.Count(s, escaped)
	}
	return n
}

func errRepeatedID(id string) error {
	return &sessionstore.InvalidError{Field: "message_id", Reason: fmt.Sprintf("%.80q is in the history twice", id)}
}

// flush writes what is in memory to the staged bucket, and makes that ready for the
// message that comes next.
func (st *staging) flush(ctx context.Context, next stagedMessage) error {
	if st.token == "" {
		st.token = rand.Text()
		st.h.writer.stage(st.token, true)
	}
	err := st.h.write(ctx, func(sp *space, _ time.Time) (func() error, error) {
		b := sp.stagedSession(st.token, st.id)
		if err := st.unique(b); err != nil {
			return nil, err
		}
		if b != nil && b.Get(idKey(next.id)) != nil {
			return nil, errRepeatedID(next.id)
		}
		sp.size = st.size
		return func() (err error) {
			if b == nil {
				if b, err = sp.stage(st.token, st.id); err != nil {
					return err
				}
			}
			if err := st.put(b); err != nil {
				return err
			}
			return next.reserve(b)
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
	for i, m := range st.messages {
		if i > 0 && b.Get(idKey(m.id)) != nil { // the first was looked for when it was reserved
			return errRepeatedID(m.id)
		}
	}
	return nil
}

func (st *staging) put(b *bbolt.Bucket) error {
	b.FillPercent = fillPercent
	if st.token != "" && len(st.messages) > 0 {
		if err := st.messages[0].release(b); err != nil {
			return err
		}
	}
	for _, m := range st.messages {
		if err := putMessage(b, m.seq, m.id, m.record); err != nil {
			return err
		}
	}
	return nil
}

// reserve puts small keys into a staged bucket where the message will be. Bbolt leaves up
// to four keys in one page, however large their values are, and writes all of them again
// when one is added; of five or more it leaves two. The small keys make up the five, so
// that large messages are two to a page, and the next one is added to a page of small
// keys, or at most to that of one other message. The message's id is among them because
// the first one would otherwise share its page with a large message.
func (m stagedMessage) reserve(b *bbolt.Bucket) error {
	if err := putMessage(b, m.seq, m.id, nil); err != nil {
		return err
	}
	for _, key := range m.padding() {
		if err := b.Put(key, nil); err != nil {
			return err
		}
	}
	return nil
}

// release removes what reserve has put, but for the keys that putMessage replaces.
func (m stagedMessage) release(b *bbolt.Bucket) error {
	for _, key := range m.padding() {
		if err := b.Delete(key); err != nil {
			return err
		}
	}
	return nil
}

// padding returns keys directly after the message's that only a staged bucket has.
func (m stagedMessage) padding() [][]byte {
	key := messageKey(m.seq)
	key = key[:len(key):len(key)]
	return [][]byte{append(key, 1), append(key, 2), append(key, 3)}
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
