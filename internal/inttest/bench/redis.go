package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	goredis "github.com/redis/go-redis/v9"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/redis"
)

func openRedis(ctx context.Context, dsn string) (*database, error) {
	o, err := goredis.ParseURL(dsn)
	if err != nil {
		return nil, err
	}
	d := &database{}
	client := goredis.NewClient(o)
	d.onClose(client.Close)
	client.AddHook(redisTrips{&d.trips})
	info, err := client.Info(ctx, "server").Result()
	if err != nil {
		return d, err
	}
	for line := range strings.Lines(info) {
		if version, ok := strings.CutPrefix(line, "redis_version:"); ok {
			d.server = "Redis " + strings.TrimSpace(version)
		}
	}
	prefix := "bench " + uuid.NewString()
	s, err := redis.New(client, &redis.Options{Namespace: prefix})
	if err != nil {
		return d, err
	}
	d.onClose(func() error { return removeKeys(client, prefix) })
	d.onClose(s.Close)
	d.store = ofStore(func() (sessionstore.SessionStore, error) { return s, nil })
	f := &redisFloor{client: client, prefix: prefix}
	d.floors = []candidate{
		{name: "bare", append: f.bare, read: f.read, list: f.list},
		{name: "equal", append: f.equal},
	}
	return d, nil
}

// removeKeys removes all keys of a database, the store's too, whose names have the prefix
// in an escaped form.
func removeKeys(client *goredis.Client, prefix string) error {
	ctx := context.Background()
	_, id, _ := strings.Cut(prefix, " ")
	keys := client.Scan(ctx, 0, "*"+id+"*", 1000).Iterator()
	for keys.Next(ctx) {
		if err := client.Unlink(ctx, keys.Val()).Err(); err != nil {
			return err
		}
	}
	return keys.Err()
}

// redisTrips counts commands, and pipelines as one.
type redisTrips struct{ n *atomic.Int64 }

func (t redisTrips) DialHook(next goredis.DialHook) goredis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

func (t redisTrips) ProcessHook(next goredis.ProcessHook) goredis.ProcessHook {
	return func(ctx context.Context, cmd goredis.Cmder) error {
		t.n.Add(1)
		return next(ctx, cmd)
	}
}

func (t redisTrips) ProcessPipelineHook(next goredis.ProcessPipelineHook) goredis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []goredis.Cmder) error {
		t.n.Add(1)
		return next(ctx, cmds)
	}
}

type redisFloor struct {
	client *goredis.Client
	prefix string
	n      int // keys that were named
}

func (f *redisFloor) key() string {
	f.n++
	return fmt.Sprintf("floor:{%s}:%d", f.prefix, f.n)
}

// pipelined sends n times what add adds, a thousand at a time.
func (f *redisFloor) pipelined(ctx context.Context, n int, add func(goredis.Pipeliner, int)) error {
	for from := 0; from < n; from += 1000 {
		_, err := f.client.Pipelined(ctx, func(p goredis.Pipeliner) error {
			for i := from; i < min(from+1000, n); i++ {
				add(p, i)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// fill makes a list of new messages.
func (f *redisFloor) fill(ctx context.Context, n int) (string, error) {
	key := f.key()
	_, records, err := messages(n)
	if err != nil {
		return "", err
	}
	return key, f.pipelined(ctx, n, func(p goredis.Pipeliner, i int) { p.RPush(ctx, key, records[i]) })
}

// bare is RPUSH of the message.
func (f *redisFloor) bare(ctx context.Context, w Workload) (call, error) {
	keys := make([]string, w.sessions)
	for i := range keys {
		var err error
		if keys[i], err = f.fill(ctx, w.history); err != nil {
			return nil, err
		}
	}
	return func(e *entry) error { return f.client.RPush(ctx, keys[e.session], e.record).Err() }, nil
}

// equal is a MULTI of the message, its id, the session's state and two list entries.
func (f *redisFloor) equal(ctx context.Context, w Workload) (call, error) {
	base := f.key()
	index := base + ":index"
	type state struct {
		messages, ids, session string // keys
		seq                    atomic.Int64
		place                  atomic.Pointer[string]
	}
	all := make([]state, w.sessions)
	put := func(p goredis.Pipeliner, s *state, id string, record []byte) {
		seq, at := s.seq.Add(1), fmt.Sprintf("%018d", time.Now().UnixMicro())
		place := at + s.session
		was := s.place.Swap(&place)
		p.ZAdd(ctx, s.messages, goredis.Z{Score: float64(seq), Member: record})
		p.HSet(ctx, s.ids, id, seq)
		p.HSet(ctx, s.session, "updated", at, "expires", "", "last_seq", seq, "message_count", seq, "bytes", seq)
		p.ZRem(ctx, index, "a\n"+*was, "uuser\n"+*was)
		p.ZAdd(ctx, index, goredis.Z{Member: "a\n" + place}, goredis.Z{Member: "uuser\n" + place})
	}
	for i := range all {
		s := &all[i]
		s.messages, s.ids, s.session = fmt.Sprint(base, ":m:", i), fmt.Sprint(base, ":i:", i), fmt.Sprint(base, ":s:", i)
		s.place.Store(new(string))
		msgs, records, err := messages(w.history)
		if err != nil {
			return nil, err
		}
		if err := f.pipelined(ctx, len(msgs), func(p goredis.Pipeliner, i int) { put(p, s, msgs[i].ID, records[i]) }); err != nil {
			return nil, err
		}
	}
	return func(e *entry) error {
		p := f.client.TxPipeline()
		put(p, &all[e.session], e.batch[0].ID, e.record)
		_, err := p.Exec(ctx)
		return err
	}, nil
}

func (f *redisFloor) read(ctx context.Context, w Workload) (call, error) {
	key, err := f.fill(ctx, w.stored)
	from, to := int64(0), int64(w.read-1)
	if w.newest {
		from, to = int64(-w.read), -1
	}
	return func(*entry) error {
		records, err := f.client.LRange(ctx, key, from, to).Result()
		if err != nil {
			return err
		}
		out := make([]plainMessage, 0, len(records))
		for _, record := range records {
			if out, err = decode(out, []byte(record)); err != nil {
				return err
			}
		}
		return counted(len(out), w.read, nil)
	}, err
}

// list is ZRANGE REV of an index, and HGETALL of each session in a pipeline.
func (f *redisFloor) list(ctx context.Context, w Workload) (call, error) {
	base := f.key()
	index := base + ":index"
	err := f.pipelined(ctx, w.stored, func(p goredis.Pipeliner, i int) {
		s := session(i)
		id, now := uuid.NewString(), time.Now().Format(time.RFC3339Nano)
		metadata, _ := json.Marshal(s.Metadata) // a string and a number
		p.HSet(ctx, base+id, "session_id", id, "user_id", s.UserID, "agent_name", s.AgentName, "status", "active", "system", "",
			"metadata", metadata, "created_at", now, "updated_at", now, "last_seq", 0, "message_count", 0, "version", 1)
		p.ZAdd(ctx, index, goredis.Z{Score: float64(i), Member: id})
	})
	newest := goredis.ZRangeArgs{Key: index, Start: 0, Stop: w.read - 1, Rev: true}
	return func(*entry) error {
		ids, err := f.client.ZRangeArgs(ctx, newest).Result()
		if err != nil {
			return err
		}
		cmds := make([]*goredis.MapStringStringCmd, len(ids))
		_, err = f.client.Pipelined(ctx, func(p goredis.Pipeliner) error {
			for i, id := range ids {
				cmds[i] = p.HGetAll(ctx, base+id)
			}
			return nil
		})
		if err != nil {
			return err
		}
		out := make([]plainSession, len(cmds))
		for i, cmd := range cmds {
			if out[i], err = plainHash(cmd.Val()); err != nil {
				return err
			}
		}
		return counted(len(out), w.read, nil)
	}, err
}

func plainHash(h map[string]string) (plainSession, error) {
	s := plainSession{ID: h["session_id"], UserID: h["user_id"], AgentName: h["agent_name"], Status: h["status"], System: h["system"]}
	var errs [6]error
	s.CreatedAt, errs[0] = time.Parse(time.RFC3339Nano, h["created_at"])
	s.UpdatedAt, errs[1] = time.Parse(time.RFC3339Nano, h["updated_at"])
	s.LastSeq, errs[2] = strconv.ParseInt(h["last_seq"], 10, 64)
	s.Count, errs[3] = strconv.ParseInt(h["message_count"], 10, 64)
	s.Version, errs[4] = strconv.ParseInt(h["version"], 10, 64)
	errs[5] = json.Unmarshal([]byte(h["metadata"]), &s.Metadata)
	return s, errors.Join(errs[:]...)
}
