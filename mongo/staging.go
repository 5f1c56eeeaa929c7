package mongo

import (
	"context"
	"errors"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	driver "go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/sessionstore/sessionstore"
)

const (
	// stagedFor is how long what was staged is kept, and how long a block may wait for its
	// head to refer to it.
	stagedFor = time.Hour

	// abandonTimeout bounds the clean-up after a failure, when the server may be gone.
	abandonTimeout = 5 * time.Second
)

var errLost = errors.New("what was staged is lost: it was purged after an hour, or the id was used meanwhile")

// staging writes the blocks of a session that is not there yet. Before the first of them a
// head of status staging names their incarnation, and only while it does can commit put the
// session in its place: so a purge that takes that head away need not fear that somebody
// refers to what it removes.
type staging struct {
	store *Store
	key   string
	gen   string
	refs  []ref

	reserved bool
	sent     bool // the commit was, and may have happened
}

// write writes blocks.
func (st *staging) write(ctx context.Context, blocks []block, refs []ref) error {
	if len(blocks) == 0 {
		return nil
	}
	if err := checkRefs(len(st.refs) + len(refs)); err != nil {
		return err
	}
	if err := st.reserve(ctx); err != nil {
		return err
	}
	st.refs = append(st.refs, refs...)
	return st.store.insert(ctx, blocks)
}

// reserve makes the staging head name this incarnation, for an hour from now.
func (st *staging) reserve(ctx context.Context) error {
	s := st.store
	lease := bson.E{Key: "$max", Value: bson.D{{Key: "expires", Value: stamp(s.clock().Add(stagedFor))}}}
	filter := bson.D{{Key: "_id", Value: st.key}, {Key: "status", Value: statusStaging}}
	if st.reserved {
		filter = append(filter, bson.E{Key: "stagers", Value: st.gen})
		res, err := s.heads.UpdateOne(ctx, filter, bson.D{lease})
		if err == nil && res.MatchedCount == 0 {
			return st.lost(ctx)
		}
		return heeded(ctx, err)
	}
	st.reserved = true
	update := bson.D{
		lease,
		{Key: "$push", Value: bson.D{{Key: "stagers", Value: st.gen}}},
		{Key: "$setOnInsert", Value: bson.D{
			{Key: "format", Value: int64(format)}, {Key: "ns", Value: s.opts.Namespace}, {Key: "gen", Value: newToken()},
		}},
	}
	for {
		_, err := s.heads.UpdateOne(ctx, filter, update, options.UpdateOne().SetUpsert(true))
		if err == nil || !driver.IsDuplicateKeyError(err) {
			return heeded(ctx, err)
		}
		there, err := s.vacate(ctx, st.key)
		if err != nil {
			return err
		}
		if there != nil && there.Status != statusStaging {
			return sessionstore.ErrSessionExists
		}
	}
}

// commit makes the session appear. Its head refers to all that was written.
func (st *staging) commit(ctx context.Context, h *head) error {
	s := st.store
	h.Refs = append([]ref{}, st.refs...)
	if !st.reserved {
		return s.put(ctx, h)
	}
	st.sent = true
	res, err := s.heads.ReplaceOne(ctx, bson.D{
		{Key: "_id", Value: st.key}, {Key: "status", Value: statusStaging}, {Key: "stagers", Value: st.gen},
	}, h)
	if err != nil {
		return heeded(ctx, err)
	}
	if res.MatchedCount == 0 {
		st.sent = false
		return st.lost(ctx)
	}
	s.shared.ttls.learn(h.Key, h.TTL)
	return nil
}

// lost says why the staging head does not name this incarnation any more.
func (st *staging) lost(ctx context.Context) error {
	there, err := st.store.vacate(ctx, st.key)
	if err != nil {
		return err
	}
	if there != nil && there.Status != statusStaging {
		return sessionstore.ErrSessionExists
	}
	return errLost
}

// abandon removes what was written if the call fails; else a purge will do it. After a
// commit whose outcome is unknown it must not.
func (st *staging) abandon(ctx context.Context, failed *error) {
	if *failed == nil || !st.reserved || st.sent {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), abandonTimeout)
	defer cancel()
	s := st.store
	mine := bson.D{{Key: "session", Value: st.key}, {Key: "gen", Value: st.gen}}
	if _, err := s.blocks.DeleteMany(ctx, mine); err != nil {
		return
	}
	staged := bson.D{{Key: "_id", Value: st.key}, {Key: "status", Value: statusStaging}}
	leave := bson.D{{Key: "$pullAll", Value: bson.D{{Key: "stagers", Value: []string{st.gen}}}}}
	if _, err := s.heads.UpdateOne(ctx, staged, leave); err != nil {
		return
	}
	_, _ = s.heads.DeleteOne(ctx, append(staged, bson.E{Key: "stagers", Value: bson.D{{Key: "$size", Value: 0}}}))
}
