package redis

import (
	"context"
	"errors"
	"strconv"

	"github.com/google/uuid"
	goredis "github.com/redis/go-redis/v9"

	"github.com/sessionstore/sessionstore"
)

// ForkSession makes a new session that starts with another's history; see
// [sessionstore.Fork]. One script copies the messages within the server, if the child's
// shard is the source's: an empty ID draws one for which it is. A given ID may fall into
// another shard; then the messages go through the client, to keys that no method looks at
// until the child is complete.
func (s *Store) ForkSession(ctx context.Context, id string, f sessionstore.Fork) (_ sessionstore.Session, err error) {
	defer wrap(&err, "fork", id)
	if err := s.scope.Enter(ctx); err != nil {
		return sessionstore.Session{}, err
	}
	defer s.scope.Leave()
	if err := sessionstore.CheckID(id); err != nil {
		return sessionstore.Session{}, err
	}
	if f, err = f.Prepare(); err != nil {
		return sessionstore.Session{}, err
	}
	if f.UserID != nil {
		if err := s.scope.Admit(*f.UserID); err != nil {
			return sessionstore.Session{}, err
		}
	}
	sp, err := s.open(ctx)
	if err != nil {
		return sessionstore.Session{}, err
	}
	for f.ID == "" {
		drawn := uuid.Must(uuid.NewV7()).String()
		if sp.shard(drawn) == sp.shard(id) {
			f.ID = drawn
		}
	}
	fork := s.forkWithin
	if sp.shard(f.ID) != sp.shard(id) {
		fork = s.forkAcross
	}
	for {
		out, err := fork(ctx, sp, id, f)
		if !errors.Is(err, errChanged) {
			return out, err
		}
		if err := ctx.Err(); err != nil {
			return sessionstore.Session{}, err
		}
	}
}

// source reads the session to fork, and how many of its messages the child gets.
func (s *Store) source(ctx context.Context, sp *space, id string, f sessionstore.Fork) (src stored, count int64, err error) {
	keys := sp.keys(id)
	var record *goredis.SliceCmd
	var counted *goredis.IntCmd
	err = s.tx(ctx, func(p goredis.Pipeliner) {
		record = p.HMGet(ctx, keys[0], recordFields...)
		if f.AtSeq != nil {
			counted = p.ZCount(ctx, keys[1], "-inf", strconv.FormatInt(*f.AtSeq, 10))
		}
	})
	if err != nil {
		return stored{}, 0, err
	}
	if src, err = decodeRecord(record.Val()); err != nil {
		return stored{}, 0, err
	}
	if !s.scope.Owns(src.UserID) {
		return stored{}, 0, sessionstore.ErrSessionNotFound
	}
	count = src.MessageCount
	if counted != nil {
		count = counted.Val()
	}
	return src, count, nil
}

// forkWithin makes the child from the source's own state, and lets the script add what
// appends may have changed since. It is errChanged if the source's own state was.
func (s *Store) forkWithin(ctx context.Context, sp *space, id string, f sessionstore.Fork) (sessionstore.Session, error) {
	src, count, err := s.source(ctx, sp, id, f)
	if err != nil {
		return sessionstore.Session{}, err
	}
	now := s.opts.Now()
	child, err := f.Apply(src.Session, count, now)
	if err != nil {
		return sessionstore.Session{}, err
	}
	state, err := encodeSession(child)
	if err != nil {
		return sessionstore.Session{}, err
	}
	v, err := s.run(ctx, forkScript, append(sp.keys(child.ID), sp.keys(id)[:3]...),
		stamp(now), s.scope.Owner(), child.ID, src.gen, src.Version, optional(f.AtSeq), newToken(),
		state, child.UserID, child.ParentID, ttlField(child))
	if errors.Is(err, errDone) {
		out, err := s.get(ctx, sp, child.ID)
		return out.Session, err
	}
	if err != nil {
		return sessionstore.Session{}, err
	}
	return oneRecord(v)
}

// forkAcross copies the source's messages, page by page, to the child's shard. Messages
// are immutable and what is appended meanwhile lies beyond the last one to copy, so that
// only a truncate or delete can disturb it: that shows at the end, as errChanged.
func (s *Store) forkAcross(ctx context.Context, sp *space, id string, f sessionstore.Fork) (_ sessionstore.Session, err error) {
	src, count, err := s.source(ctx, sp, id, f)
	if err != nil {
		return sessionstore.Session{}, err
	}
	child, err := f.Apply(src.Session, count, s.opts.Now())
	if err != nil {
		return sessionstore.Session{}, err
	}
	if err := s.free(ctx, sp, child.ID); err != nil {
		return sessionstore.Session{}, err
	}
	st := staging{store: s, space: sp, shard: sp.shard(child.ID)}
	defer st.abandon(ctx, &err)
	q := sessionstore.MessageQuery{BeforeSeq: child.ForkSeq + 1, Limit: sessionstore.MaxMessages}
	for copied := int64(0); copied < count; {
		r, err := s.read(ctx, sp, id, q)
		if err != nil {
			return sessionstore.Session{}, err
		}
		messages, err := decodeMessages(id, r.entries)
		if err != nil {
			return sessionstore.Session{}, err
		}
		if r.session.gen != src.gen || len(messages) == 0 {
			return sessionstore.Session{}, errChanged
		}
		for i, m := range messages {
			if err := st.add(ctx, m.Seq, m.ID, []byte(r.entries[i].record)); err != nil {
				return sessionstore.Session{}, err
			}
		}
		copied += int64(len(messages))
		q.AfterSeq = messages[len(messages)-1].Seq
	}
	at := child.ForkSeq
	still, left, err := s.source(ctx, sp, id, sessionstore.Fork{AtSeq: &at})
	if err != nil {
		return sessionstore.Session{}, err
	}
	if still.gen != src.gen || left != count {
		return sessionstore.Session{}, errChanged
	}
	now := s.opts.Now()
	if child, err = f.Apply(src.Session, count, now); err != nil {
		return sessionstore.Session{}, err
	}
	if err := s.put(ctx, sp, child, now, st.batch); err != nil {
		return sessionstore.Session{}, err
	}
	return child, nil
}

// free returns ErrSessionExists if the id is in use by now, before messages are copied in
// vain. The script that makes the child decides.
func (s *Store) free(ctx context.Context, sp *space, id string) error {
	records, err := s.records(ctx, sp, []string{id})
	if err != nil {
		return err
	}
	there, err := decodeRecord(records[0])
	switch {
	case errors.Is(err, sessionstore.ErrSessionNotFound):
		return nil
	case err != nil:
		return err
	case there.Expired(s.opts.Now()):
		return nil
	}
	return sessionstore.ErrSessionExists
}
