package mongo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// purgeChunk is how many heads or blocks one read of a purge gives.
const purgeChunk = 256

// PurgeExpired removes up to limit expired sessions of the namespace (0: 1,000), what is
// left of deletes, and what was written for an hour and no head refers to; see
// [sessionstore.Purger]. Each session is a step of its own: after an error the count says
// how many are gone already. A view has no such power: errors.ErrUnsupported.
func (s *Store) PurgeExpired(ctx context.Context, limit int) (n int, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("mongo: purge: %w", err)
		}
	}()
	if ctx, err = s.enter(ctx); err != nil {
		return 0, err
	}
	defer s.scope.Leave()
	if limit, err = s.scope.PurgeLimit(limit); err != nil {
		return 0, err
	}
	if n, err = s.purgeHeads(ctx, limit); err != nil {
		return n, err
	}
	return n, s.purgeBlocks(ctx)
}

// purgeHeads removes what has expired, and what was buried.
func (s *Store) purgeHeads(ctx context.Context, limit int) (removed int, err error) {
	for removed < limit {
		now := s.clock()
		cursor, err := s.heads.Find(ctx, bson.D{
			{Key: "ns", Value: s.opts.Namespace},
			{Key: "expires", Value: bson.D{{Key: "$lte", Value: stamp(now)}}},
			{Key: "format", Value: bson.D{{Key: "$lte", Value: format}}},
		}, options.Find().SetLimit(int64(min(purgeChunk, limit-removed))).SetProjection(withoutMessages))
		if err != nil {
			return removed, heeded(ctx, err)
		}
		var found []head
		if err := cursor.All(ctx, &found); err != nil {
			return removed, heeded(ctx, err)
		}
		if len(found) == 0 {
			return removed, nil
		}
		// None of them will be found again: each is removed, or was used meanwhile.
		for i := range found {
			if err := ctx.Err(); err != nil {
				return removed, err
			}
			counts, err := s.purgeHead(ctx, &found[i], now)
			if err != nil {
				return removed, err
			}
			if counts {
				removed++
			}
		}
	}
	return removed, nil
}

// purgeHead removes a head that may be removed, and reports whether it was a session's.
func (s *Store) purgeHead(ctx context.Context, h *head, now time.Time) (counts bool, err error) {
	if h.Status == statusGone {
		return false, s.sweep(ctx, h)
	}
	err = s.expire(ctx, h, now)
	if errors.Is(err, errRefused) {
		return false, nil
	}
	return err == nil && h.Status != statusStaging, err
}

// purgeBlocks looks at the blocks that have waited for an hour. One that its head refers
// to is settled: no later purge looks at it. Any other is removed.
func (s *Store) purgeBlocks(ctx context.Context) error {
	old := stamp(s.clock().Add(-stagedFor))
	waited := bson.E{Key: "check", Value: bson.D{{Key: "$gt", Value: ""}, {Key: "$lt", Value: old}}}
	left := map[string]bool{} // those that wait for a staging head to expire
	for {
		found, err := s.find(ctx, bson.D{{Key: "ns", Value: s.opts.Namespace}, waited},
			options.Find().SetLimit(int64(purgeChunk+len(left))).
				SetProjection(bson.D{{Key: "session", Value: 1}, {Key: "gen", Value: 1}}))
		if err != nil {
			return err
		}
		found = slices.DeleteFunc(found, func(b block) bool { return left[b.ID] })
		if len(found) == 0 {
			return nil
		}
		of := map[string][]block{}
		for _, b := range found {
			of[b.Session] = append(of[b.Session], b)
		}
		for key, blocks := range of {
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := s.settle(ctx, key, blocks, waited, left); err != nil {
				return err
			}
		}
	}
}

// settle decides about blocks of one session that have waited.
func (s *Store) settle(ctx context.Context, key string, blocks []block, waited bson.E, left map[string]bool) error {
	h, err := s.read(ctx, key, bson.D{{Key: "tail", Value: 0}, {Key: "ids", Value: 0}})
	if err != nil {
		return err
	}
	used := map[string]bool{}
	if h != nil {
		for _, r := range h.Refs {
			used[r.Block] = true
		}
	}
	var keep, drop []ref
	fence := false
	for _, b := range blocks {
		switch {
		case h != nil && (h.Format > format || h.Status == statusStaging && slices.Contains(h.Stagers, b.Gen)):
			left[b.ID] = true
		case used[b.ID]:
			keep = append(keep, ref{Block: b.ID})
		default:
			drop = append(drop, ref{Block: b.ID})
			fence = fence || h != nil && h.Gen == b.Gen
		}
	}
	if fence {
		// Whoever wrote the blocks may be slow, and about to refer to them from this very head:
		// not from its next epoch.
		_, err := s.modify(ctx, bson.D{{Key: "_id", Value: key}, {Key: "gen", Value: h.Gen}, {Key: "epoch", Value: h.Epoch}},
			bson.D{{Key: "$inc", Value: bson.D{{Key: "epoch", Value: int64(1)}}}}, bson.D{{Key: "gen", Value: 1}})
		if errors.Is(err, errRefused) {
			return nil // the next look at them decides
		}
		if err != nil {
			return err
		}
	}
	if len(keep) > 0 {
		// Not those that somebody is about to drop: they wait anew.
		_, err := s.blocks.UpdateMany(ctx, bson.D{
			{Key: "session", Value: key},
			{Key: "_id", Value: bson.D{{Key: "$in", Value: names(keep)}}},
			waited,
		}, bson.D{{Key: "$unset", Value: bson.D{{Key: "check", Value: ""}}}})
		if err != nil {
			return heeded(ctx, err)
		}
	}
	return s.remove(ctx, key, drop)
}
