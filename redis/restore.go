package redis

import (
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/sessionstore/sessionstore"
)

const (
	// maxBatchBytes and maxBatchMessages bound what one script of a restore stores.
	maxBatchBytes    = 4 << 20
	maxBatchMessages = 1000

	// stagedFor is how long what a restore has staged is kept after its last batch.
	stagedFor = time.Hour

	// abandonTimeout bounds the attempt to remove what was staged when a call fails.
	abandonTimeout = 5 * time.Second
)

// RestoreSession writes a session as an export gave it; see [sessionstore.Restorer]. The
// iterator may use the store, but must not close it. A history of up to 1,000 messages and
// 4 MiB is written by one script; a larger one batch by batch to keys that no method looks
// at, and a last script makes them the session's. What a crash leaves there PurgeExpired
// removes after an hour, so a larger history's iterator must give each next 1,000 messages
// or 4 MiB within that time.
func (s *Store) RestoreSession(ctx context.Context, in sessionstore.Session, messages iter.Seq2[sessionstore.Message, error]) (_ sessionstore.Session, err error) {
	defer wrap(&err, "restore", in.ID)
	if err := s.scope.Enter(ctx); err != nil {
		return sessionstore.Session{}, err
	}
	defer s.scope.Leave()
	if err := s.scope.Admit(in.UserID); err != nil {
		return sessionstore.Session{}, err
	}
	rules, err := sessionstore.NewRestoration(in)
	if err != nil {
		return sessionstore.Session{}, err
	}
	sp, err := s.open(ctx)
	if err != nil {
		return sessionstore.Session{}, err
	}
	st := staging{store: s, space: sp, shard: sp.shard(in.ID)}
	defer st.abandon(ctx, &err)
	for m, err := range messages {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return sessionstore.Session{}, err
		}
		if m, err = rules.Next(m); err != nil {
			return sessionstore.Session{}, err
		}
		record, err := appendMessage(nil, m)
		if err != nil {
			return sessionstore.Session{}, err
		}
		if err := st.add(ctx, m.Seq, m.ID, record); err != nil {
			return sessionstore.Session{}, err
		}
	}
	now := s.opts.Now()
	out, err := rules.Finish(now)
	if err != nil {
		return sessionstore.Session{}, err
	}
	if err := s.put(ctx, sp, out, now, st.batch); err != nil {
		return sessionstore.Session{}, err
	}
	return out, nil
}

// batch is messages to be stored by one script, and what was staged before them.
type batch struct {
	args []any // seq, id and record of each
	size int   // of the records

	token  string // of what was staged; "": nothing
	staged int    // bytes of it
}

// staging collects the messages of a session that is not there yet.
type staging struct {
	batch
	store *Store
	space *space
	shard int
	ids   map[string]bool // of the batch
}

// add adds a message; those of a full batch are staged before it.
func (st *staging) add(ctx context.Context, seq int64, id string, record []byte) error {
	if st.size >= maxBatchBytes || len(st.args) >= 3*maxBatchMessages {
		if err := st.flush(ctx); err != nil {
			return err
		}
	}
	if st.ids[id] {
		return invalid("message_id", "%.80q is in the history twice", id)
	}
	if st.ids == nil {
		st.ids = map[string]bool{}
	}
	st.ids[id] = true
	st.args = append(st.args, seq, id, record)
	st.size += len(record)
	return nil
}

// flush stages the batch.
func (st *staging) flush(ctx context.Context) error {
	first := 0
	if st.token == "" {
		st.token, first = newToken(), 1
	}
	args := append([]any{st.token, st.store.opts.Now().UnixMilli(), first}, st.args...)
	if _, err := st.store.run(ctx, stageScript, st.space.staged(st.shard, st.token), args...); err != nil {
		return err
	}
	st.staged += st.size
	st.args, st.size = st.args[:0], 0
	clear(st.ids)
	return nil
}

// abandon removes what was staged if the call fails. Where that fails too, PurgeExpired
// will do it.
func (st *staging) abandon(ctx context.Context, failed *error) {
	if *failed == nil || st.token == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), abandonTimeout)
	defer cancel()
	if err := st.store.unstage(ctx, st.space, st.shard, st.token, "+inf"); err != nil {
		*failed = fmt.Errorf("%w (and what was staged of it stays until it is purged: %w)", *failed, err)
	}
}

// unstage removes what was staged under a token, if its last batch is not later.
func (s *Store) unstage(ctx context.Context, sp *space, shard int, token, latest string) error {
	_, err := s.run(ctx, unstageScript, sp.staged(shard, token), token, latest)
	return err
}
