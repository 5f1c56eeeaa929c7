package redis

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	goredis "github.com/redis/go-redis/v9"

	"github.com/sessionstore/sessionstore"
)

// purgeChunk is how many ids one read of the register gives.
const purgeChunk = 256

// PurgeExpired removes up to limit expired sessions of the namespace (0: 1,000), and what
// was staged by restores and forks that did not finish and has lain for an hour; see
// [sessionstore.Purger]. Each session is a step of its own: after an error the count says
// how many are gone already. A view has no such power: errors.ErrUnsupported.
func (s *Store) PurgeExpired(ctx context.Context, limit int) (n int, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("redis: purge: %w", err)
		}
	}()
	if err := s.scope.Enter(ctx); err != nil {
		return 0, err
	}
	defer s.scope.Leave()
	if limit, err = s.scope.PurgeLimit(limit); err != nil {
		return 0, err
	}
	sp, err := s.open(ctx)
	if err != nil {
		return 0, err
	}
	for shard := range sp.tags {
		if err := s.purgeStaged(ctx, sp, shard); err != nil {
			return n, err
		}
		removed, err := s.purgeShard(ctx, sp, shard, limit-n)
		n += removed
		if err != nil {
			return n, err
		}
	}
	return n, nil
}

// purgeShard goes through the sessions that may have expired. Appends leave the register
// alone: a session that it names too early is moved on to where it belongs.
func (s *Store) purgeShard(ctx context.Context, sp *space, shard, limit int) (removed int, err error) {
	kept := 0 // they stay in front of those to come
	for removed < limit {
		ids, err := s.register(ctx, sp.tags[shard]+"expiry", s.opts.Now().UnixMilli(), kept)
		if err != nil || len(ids) == 0 {
			return removed, err
		}
		for _, id := range ids {
			if removed == limit {
				break
			}
			if err := ctx.Err(); err != nil {
				return removed, err
			}
			_, err := s.run(ctx, purgeScript, sp.keys(id), stamp(s.opts.Now()), id)
			switch {
			case err == nil:
				removed++
			case errors.Is(err, errKept), errors.Is(err, sessionstore.ErrSchemaTooNew):
				kept++
			case !errors.Is(err, errGone):
				return removed, err
			}
		}
	}
	return removed, nil
}

// register returns members with scores up to the greatest, without the first so many.
func (s *Store) register(ctx context.Context, key string, greatest int64, without int) ([]string, error) {
	var cmd *goredis.StringSliceCmd
	err := s.pipe(ctx, func(p goredis.Pipeliner) {
		cmd = p.ZRangeByScore(ctx, key, &goredis.ZRangeBy{
			Min: "-inf", Max: strconv.FormatInt(greatest, 10), Offset: int64(without), Count: purgeChunk,
		})
	})
	if err != nil {
		return nil, err
	}
	return cmd.Val(), nil
}

func (s *Store) purgeStaged(ctx context.Context, sp *space, shard int) error {
	old := s.opts.Now().Add(-stagedFor).UnixMilli()
	for {
		tokens, err := s.register(ctx, sp.tags[shard]+"staged", old, 0)
		if err != nil || len(tokens) == 0 {
			return err
		}
		for _, token := range tokens {
			if err := ctx.Err(); err != nil {
				return err
			}
			err := s.unstage(ctx, sp, shard, token, strconv.FormatInt(old, 10))
			if err != nil && !errors.Is(err, errKept) {
				return err
			}
		}
	}
}
