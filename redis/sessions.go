package redis

import (
	"context"
	"crypto/rand"
	"errors"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/sessionstore/sessionstore"
)

// newToken returns 16 characters that no other call has.
func newToken() string { return rand.Text()[:16] }

// CreateSession stores a new session; see [sessionstore.SessionStore].
func (s *Store) CreateSession(ctx context.Context, in sessionstore.Session) (_ sessionstore.Session, err error) {
	defer wrap(&err, "create", in.ID)
	if err := s.scope.Enter(ctx); err != nil {
		return sessionstore.Session{}, err
	}
	defer s.scope.Leave()
	in.UserID = s.scope.User(in.UserID)
	now := s.opts.Now()
	out, err := in.Create(now)
	if err != nil {
		return sessionstore.Session{}, err
	}
	sp, err := s.open(ctx)
	if err != nil {
		return sessionstore.Session{}, err
	}
	if err := s.put(ctx, sp, out, now, batch{}); err != nil {
		return sessionstore.Session{}, err
	}
	return out, nil
}

// put makes a session appear, with the messages of the batch and what was staged before
// them.
func (s *Store) put(ctx context.Context, sp *space, session sessionstore.Session, now time.Time, b batch) error {
	state, err := encodeSession(session)
	if err != nil {
		return err
	}
	keys := append(sp.keys(session.ID), sp.staged(sp.shard(session.ID), b.token)...)
	args := []any{
		stamp(now), session.ID, newToken(), b.token, state, string(session.Status), session.UserID,
		session.ParentID, session.ForkSeq, stamp(session.UpdatedAt), stampOrNone(session.ExpiresAt),
		ttlField(session), session.LastSeq, session.MessageCount, b.staged + b.size, session.Version,
	}
	_, err = s.run(ctx, putScript, keys, append(args, b.args...)...)
	if errors.Is(err, errDone) {
		return nil // the driver sent it again, because the reply was lost
	}
	return err
}

// GetSession returns the session as it is now; see [sessionstore.SessionStore].
func (s *Store) GetSession(ctx context.Context, id string) (_ sessionstore.Session, err error) {
	defer wrap(&err, "get", id)
	if err := s.scope.Enter(ctx); err != nil {
		return sessionstore.Session{}, err
	}
	defer s.scope.Leave()
	if err := sessionstore.CheckID(id); err != nil {
		return sessionstore.Session{}, err
	}
	sp, err := s.open(ctx)
	if err != nil {
		return sessionstore.Session{}, err
	}
	out, err := s.get(ctx, sp, id)
	if err != nil {
		return sessionstore.Session{}, err
	}
	if out.Expired(s.opts.Now()) {
		return sessionstore.Session{}, sessionstore.ErrSessionNotFound
	}
	return out.Session, nil
}

// get reads a session, which may have expired, but is the view's.
func (s *Store) get(ctx context.Context, sp *space, id string) (stored, error) {
	all, err := s.records(ctx, sp, []string{id})
	if err != nil {
		return stored{}, err
	}
	out, err := decodeRecord(all[0])
	if err == nil && !s.scope.Owns(out.UserID) {
		err = sessionstore.ErrSessionNotFound
	}
	return out, err
}

// records reads the records of sessions of one shard.
func (s *Store) records(ctx context.Context, sp *space, ids []string) ([][]any, error) {
	cmds := make([]*goredis.SliceCmd, len(ids))
	err := s.pipe(ctx, func(p goredis.Pipeliner) {
		for i, id := range ids {
			cmds[i] = p.HMGet(ctx, sp.session(id), recordFields...)
		}
	})
	if err != nil {
		return nil, err
	}
	out := make([][]any, len(ids))
	for i, cmd := range cmds {
		out[i] = cmd.Val()
	}
	return out, nil
}

// UpdateSession changes the session's own state; see [sessionstore.SessionUpdate].
func (s *Store) UpdateSession(ctx context.Context, id string, u sessionstore.SessionUpdate) (_ sessionstore.Session, err error) {
	defer wrap(&err, "update", id)
	if err := s.scope.Enter(ctx); err != nil {
		return sessionstore.Session{}, err
	}
	defer s.scope.Leave()
	if err := sessionstore.CheckID(id); err != nil {
		return sessionstore.Session{}, err
	}
	if u, err = u.Prepare(); err != nil {
		return sessionstore.Session{}, err
	}
	sp, err := s.open(ctx)
	if err != nil {
		return sessionstore.Session{}, err
	}
	for {
		out, err := s.update(ctx, sp, id, u)
		if !errors.Is(err, errChanged) {
			return out, err
		}
		// Another update came between, so that this loop ends when those do.
		if err := ctx.Err(); err != nil {
			return sessionstore.Session{}, err
		}
	}
}

// update reads the session, applies u and stores the result if the session's own state is
// still what was read. Appends do not disturb it: what they change, the script adds.
func (s *Store) update(ctx context.Context, sp *space, id string, u sessionstore.SessionUpdate) (sessionstore.Session, error) {
	was, err := s.get(ctx, sp, id)
	if err != nil {
		return sessionstore.Session{}, err
	}
	now := s.opts.Now()
	to, err := u.Apply(was.Session, now)
	if err != nil {
		return sessionstore.Session{}, err
	}
	if to.Version == was.Version && !u.Touch {
		return to, nil // nothing changes
	}
	state, err := encodeSession(to)
	if err != nil {
		return sessionstore.Session{}, err
	}
	v, err := s.run(ctx, updateScript, sp.keys(id),
		stamp(now), s.scope.Owner(), id, was.gen, was.Version, newToken(),
		state, string(to.Status), ttlField(to), to.Version)
	if err != nil {
		return sessionstore.Session{}, err
	}
	return oneRecord(v)
}

// oneRecord decodes the record that a script has returned.
func oneRecord(v []any) (sessionstore.Session, error) {
	if len(v) < 1 {
		return sessionstore.Session{}, errDamaged
	}
	record, ok := v[0].([]any)
	if !ok {
		return sessionstore.Session{}, errDamaged
	}
	out, err := decodeRecord(record)
	return out.Session, err
}

// DeleteSession removes the session and all its messages; see
// [sessionstore.SessionStore]. Where the connection broke and the driver sent the call
// again, a delete that succeeded may say ErrSessionNotFound.
func (s *Store) DeleteSession(ctx context.Context, id string) (err error) {
	defer wrap(&err, "delete", id)
	if err := s.scope.Enter(ctx); err != nil {
		return err
	}
	defer s.scope.Leave()
	if err := sessionstore.CheckID(id); err != nil {
		return err
	}
	sp, err := s.open(ctx)
	if err != nil {
		return err
	}
	_, err = s.run(ctx, deleteScript, sp.keys(id), stamp(s.opts.Now()), s.scope.Owner(), id)
	return err
}
