package mongo

import (
	"context"
	"errors"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	driver "go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/sessionstore/sessionstore"
)

// CreateSession stores a new session; see [sessionstore.SessionStore].
func (s *Store) CreateSession(ctx context.Context, in sessionstore.Session) (_ sessionstore.Session, err error) {
	defer wrap(&err, "create", in.ID)
	if ctx, err = s.enter(ctx); err != nil {
		return sessionstore.Session{}, err
	}
	defer s.scope.Leave()
	in.UserID = s.scope.User(in.UserID)
	if in, err = in.Prepare(); err != nil {
		return sessionstore.Session{}, err
	}
	for {
		out, err := in.Create(s.clock())
		if err != nil {
			return sessionstore.Session{}, err
		}
		h, err := s.newHead(out)
		if err != nil {
			return sessionstore.Session{}, err
		}
		// Removing what has expired takes time: the session's own begins after that.
		switch err = s.tryPut(ctx, h); {
		case err == nil:
			return out, nil
		case !errors.Is(err, errMoved):
			return sessionstore.Session{}, err
		}
	}
}

// put makes a session appear that needs no blocks.
func (s *Store) put(ctx context.Context, h *head) error {
	for {
		if err := s.tryPut(ctx, h); !errors.Is(err, errMoved) {
			return err
		}
	}
}

// tryPut is put, but errMoved if something was at the id, and is not any more.
func (s *Store) tryPut(ctx context.Context, h *head) error {
	_, err := s.heads.InsertOne(ctx, h)
	if err == nil {
		s.shared.ttls.learn(h.Key, h.TTL)
		return nil
	}
	if !driver.IsDuplicateKeyError(err) {
		return heeded(ctx, err)
	}
	there, err := s.vacate(ctx, h.Key)
	if err != nil {
		return err
	}
	switch {
	case there == nil:
		return errMoved
	case there.Gen == h.Gen:
		return nil // the driver sent it again, because the reply was lost
	case there.Status != statusStaging:
		return sessionstore.ErrSessionExists
	}
	// Who was staging finds the id in use.
	res, err := s.heads.ReplaceOne(ctx, bson.D{{Key: "_id", Value: h.Key}, {Key: "status", Value: statusStaging}}, h)
	if err != nil {
		return heeded(ctx, err)
	}
	if res.MatchedCount == 0 {
		return errMoved
	}
	s.shared.ttls.learn(h.Key, h.TTL)
	return nil
}

// vacate removes what is left of a session that was deleted or has expired, and returns
// the head that stays; nil if there is none.
func (s *Store) vacate(ctx context.Context, key string) (*head, error) {
	for {
		h, err := s.read(ctx, key, withoutMessages)
		if err != nil || h == nil {
			return nil, err
		}
		if h.Format > format {
			return nil, tooNew(h.Format)
		}
		now := s.clock()
		switch {
		case h.Status == statusStaging:
			return h, nil
		case h.Status == statusGone:
			return nil, s.sweep(ctx, h)
		case h.Expires > stamp(now):
			return h, nil
		}
		if err = s.expire(ctx, h, now); !errors.Is(err, errRefused) {
			return nil, err
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
}

// expire removes what has expired: a session, or what was staged and left. It is
// errRefused if that is not there any more, or used again.
func (s *Store) expire(ctx context.Context, h *head, now time.Time) error {
	gone, err := s.modify(ctx, bson.D{
		{Key: "_id", Value: h.Key},
		{Key: "gen", Value: h.Gen},
		{Key: "status", Value: h.Status},
		{Key: "expires", Value: bson.D{{Key: "$lte", Value: stamp(now)}}},
	}, bury, withoutMessages)
	if err != nil {
		return err
	}
	return s.sweep(ctx, gone)
}

// bury is the update that takes a session away. The head stays until its blocks are gone:
// a crash before that leaves what every list, and any method, passes over, and from which
// a purge or a new session of the id goes on. It has expired before everything else.
var bury = bson.D{
	{Key: "$set", Value: bson.D{
		{Key: "status", Value: statusGone}, {Key: "expires", Value: ""}, {Key: "session", Value: ""},
		{Key: "refs", Value: bson.A{}}, {Key: "tail", Value: bson.A{}}, {Key: "ids", Value: bson.A{}},
		{Key: "n", Value: int64(0)}, {Key: "size", Value: int64(0)},
	}},
	{Key: "$unset", Value: bson.D{{Key: "place", Value: ""}}},
	{Key: "$inc", Value: bson.D{{Key: "epoch", Value: int64(1)}}},
}

// sweep removes the blocks of a head that was buried, and then the head.
func (s *Store) sweep(ctx context.Context, h *head) error {
	gens := append([]string{h.Gen}, h.Stagers...)
	_, err := s.blocks.DeleteMany(ctx, bson.D{{Key: "session", Value: h.Key}, {Key: "gen", Value: bson.D{{Key: "$in", Value: gens}}}})
	if err != nil {
		return heeded(ctx, err)
	}
	_, err = s.heads.DeleteOne(ctx, bson.D{{Key: "_id", Value: h.Key}, {Key: "status", Value: statusGone}, {Key: "gen", Value: h.Gen}})
	return heeded(ctx, err)
}

// GetSession returns the session as it is now; see [sessionstore.SessionStore].
func (s *Store) GetSession(ctx context.Context, id string) (_ sessionstore.Session, err error) {
	defer wrap(&err, "get", id)
	if ctx, err = s.enter(ctx); err != nil {
		return sessionstore.Session{}, err
	}
	defer s.scope.Leave()
	if err := sessionstore.CheckID(id); err != nil {
		return sessionstore.Session{}, err
	}
	now := s.clock()
	_, out, err := s.load(ctx, id, withoutMessages)
	if err != nil {
		return sessionstore.Session{}, err
	}
	if out.Expired(now) {
		return sessionstore.Session{}, sessionstore.ErrSessionNotFound
	}
	return out, nil
}

// UpdateSession changes the session's own state; see [sessionstore.SessionUpdate].
func (s *Store) UpdateSession(ctx context.Context, id string, u sessionstore.SessionUpdate) (_ sessionstore.Session, err error) {
	defer wrap(&err, "update", id)
	if ctx, err = s.enter(ctx); err != nil {
		return sessionstore.Session{}, err
	}
	defer s.scope.Leave()
	if err := sessionstore.CheckID(id); err != nil {
		return sessionstore.Session{}, err
	}
	if u, err = u.Prepare(); err != nil {
		return sessionstore.Session{}, err
	}
	for {
		out, err := s.update(ctx, id, u)
		if !errors.Is(err, errRefused) {
			return out, err
		}
		// Another update came between, so that this loop ends when those do.
		if err := ctx.Err(); err != nil {
			return sessionstore.Session{}, err
		}
	}
}

// update reads the session, applies u and stores the result if the session's own state is
// still what was read. Appends do not disturb it: what they change is moved on.
func (s *Store) update(ctx context.Context, id string, u sessionstore.SessionUpdate) (sessionstore.Session, error) {
	now := s.clock()
	h, was, err := s.load(ctx, id, withoutMessages)
	if err != nil {
		return sessionstore.Session{}, err
	}
	to, err := u.Apply(was, now)
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
	filter := append(s.existing(h.Key, now),
		bson.E{Key: "gen", Value: h.Gen},
		bson.E{Key: "version", Value: h.Version})
	set := bson.D{
		{Key: "session", Value: state},
		{Key: "status", Value: string(to.Status)},
		{Key: "version", Value: to.Version},
	}
	change := bson.D{{Key: "$max", Value: touched(id, now, h.TTL)}}
	if ttl := to.TTL.Microseconds(); ttl != h.TTL {
		// The expiry may move back, and follows from the time of this very update: an append
		// in between would make that another one.
		filter = append(filter, bson.E{Key: "place", Value: h.Place})
		set = append(set,
			bson.E{Key: "ttl", Value: ttl},
			bson.E{Key: "place", Value: place(to.UpdatedAt, id)},
			bson.E{Key: "expires", Value: until(to.UpdatedAt, ttl)})
		change = nil
	}
	after, err := s.modify(ctx, filter, append(change, bson.E{Key: "$set", Value: set}), withoutMessages)
	if err != nil {
		return sessionstore.Session{}, err
	}
	s.shared.ttls.learn(after.Key, after.TTL)
	return after.session()
}

// DeleteSession removes the session and all its messages; see
// [sessionstore.SessionStore].
func (s *Store) DeleteSession(ctx context.Context, id string) (err error) {
	defer wrap(&err, "delete", id)
	if ctx, err = s.enter(ctx); err != nil {
		return err
	}
	defer s.scope.Leave()
	if err := sessionstore.CheckID(id); err != nil {
		return err
	}
	key := s.key(id)
	for {
		now := s.clock()
		gone, err := s.modify(ctx, append(s.existing(key, now), bson.E{Key: "status", Value: live}), bury, withoutMessages)
		if err == nil {
			return s.sweep(ctx, gone)
		}
		if !errors.Is(err, errRefused) {
			return err
		}
		// Not there, or written by a newer version: reading it tells.
		_, there, err := s.load(ctx, id, withoutMessages)
		switch {
		case err != nil:
			return err
		case there.Expired(now):
			return sessionstore.ErrSessionNotFound
		case ctx.Err() != nil:
			return ctx.Err()
		}
	}
}
