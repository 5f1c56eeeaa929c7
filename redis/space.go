package redis

import (
	"bufio"
	"context"
	"log/slog"
	"strconv"
	"strings"
	"sync"

	goredis "github.com/redis/go-redis/v9"
)

// open returns the namespace. The first call of a store asks the server for its format and
// number of shards, and writes them if the namespace is new.
func (s *Store) open(ctx context.Context) (*space, error) {
	if sp := s.space.Load(); sp != nil {
		return sp, nil
	}
	shards := s.opts.Shards
	if shards == 0 {
		shards = 1
		if _, ok := s.client.(*goredis.ClusterClient); ok {
			shards = clusterShards
		}
	}
	v, err := openScript.Run(ctx, s.client, []string{s.names.meta()}, format, shards).StringSlice()
	if err != nil {
		return nil, s.failed(ctx, err)
	}
	if len(v) != 2 {
		return nil, errDamaged
	}
	if v[0] != format {
		return nil, tooNew(v[0])
	}
	there, err := strconv.Atoi(v[1])
	if err != nil || there < 1 || there > maxShards {
		return nil, errDamaged
	}
	if s.opts.Shards != 0 && s.opts.Shards != there {
		return nil, invalid("shards", "is %d, the namespace has %d", s.opts.Shards, there)
	}
	sp := &space{tags: make([]string, there)}
	for i := range sp.tags {
		sp.tags[i] = s.names.tag(i)
	}
	if s.space.CompareAndSwap(nil, sp) {
		s.warnOfEviction(ctx)
	}
	return s.space.Load(), nil
}

// warnOfEviction logs if a server may throw keys away when its memory is full. That it
// cannot be asked, because a role may not, is no reason to fail.
func (s *Store) warnOfEviction(ctx context.Context) {
	var mu sync.Mutex
	warned := false
	ask := func(ctx context.Context, c *goredis.Client) error {
		info, err := c.Info(ctx, "memory").Result()
		if err != nil {
			return nil
		}
		policy := infoField(info, "maxmemory_policy")
		mu.Lock()
		defer mu.Unlock()
		// The volatile policies evict only keys with a TTL, which none of a store's has.
		if !warned && strings.HasPrefix(policy, "allkeys-") {
			warned = true
			s.opts.Logger.LogAttrs(ctx, slog.LevelWarn,
				"redis: the server evicts keys when its memory is full, and sessions with them; a store of record needs maxmemory-policy noeviction",
				slog.String("maxmemory-policy", policy), slog.String("namespace", s.opts.Namespace))
		}
		return nil
	}
	switch c := s.client.(type) {
	case *goredis.Client:
		_ = ask(ctx, c)
	case *goredis.ClusterClient:
		_ = c.ForEachMaster(ctx, ask)
	}
}

// infoField returns the value of a line "name:value" of what INFO returns.
func infoField(info, name string) string {
	for sc := bufio.NewScanner(strings.NewReader(info)); sc.Scan(); {
		if value, ok := strings.CutPrefix(sc.Text(), name+":"); ok {
			return value
		}
	}
	return ""
}

// tx runs reads in one transaction, all of one shard: a client that may read from
// replicas sends plain reads there, but never a transaction.
func (s *Store) tx(ctx context.Context, f func(p goredis.Pipeliner)) error {
	p := s.client.TxPipeline()
	f(p)
	_, err := p.Exec(ctx)
	return s.failed(ctx, err)
}

// pipe runs reads of one shard that need not be of one moment. A client of one server, or of
// the master that sentinels name, sends them without a transaction, which costs less.
func (s *Store) pipe(ctx context.Context, f func(p goredis.Pipeliner)) error {
	if _, ok := s.client.(*goredis.Client); !ok {
		return s.tx(ctx, f)
	}
	p := s.client.Pipeline()
	f(p)
	_, err := p.Exec(ctx)
	return s.failed(ctx, err)
}

// eachShard calls f for each shard, at the same time if there are more than one, and
// returns one of their errors.
func (sp *space) eachShard(f func(shard int) error) error {
	if len(sp.tags) == 1 {
		return f(0)
	}
	errs := make([]error, len(sp.tags))
	var wg sync.WaitGroup
	for i := range sp.tags {
		wg.Go(func() { errs[i] = f(i) })
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
