package redis_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/google/uuid"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/internal/testenv"
	"github.com/sessionstore/sessionstore/redis"
	"github.com/sessionstore/sessionstore/storetest"
)

// BenchmarkStore is the store by itself, for benchstat.
func BenchmarkStore(b *testing.B) {
	storetest.Bench(b, storetest.Backend{Open: single(nil).store})
}

// BenchmarkRatio compares the store with a program that does the same work with the driver
// by hand, and reports how many times as long the store takes: the median of five rounds,
// in which who goes first rotates. One round is enough of b.N:
//
//	go test -run '^$' -bench Ratio -benchtime 1x ./redis
//
// A write has two floors. Bare is RPUSH of the message. Equal writes the message, its id,
// the session's state and two list entries in a MULTI, without reading or checking
// anything.
func BenchmarkRatio(b *testing.B) {
	for _, n := range []int{0, 1000, 10_000} {
		b.Run(fmt.Sprintf("W1/history=%d", n), func(b *testing.B) {
			r := newRace(b)
			r.run(1000, map[string]func(int){
				"bare": r.alone(r.bareAppend(n, 1)), "equal": r.alone(r.equalAppend(n, 1)),
				"history=0": r.alone(r.storeAppend(0, 1)), "store": r.alone(r.storeAppend(n, 1)),
			})
		})
	}
	for _, sessions := range []int{64, 1} {
		name := map[int]string{64: "W2", 1: "hot"}[sessions]
		b.Run(name, func(b *testing.B) {
			r := newRace(b)
			r.run(200*writers, map[string]func(int){
				"bare": r.together(r.bareAppend(0, sessions)), "equal": r.together(r.equalAppend(0, sessions)),
				"store": r.together(r.storeAppend(0, sessions)),
			})
		})
	}
	for _, w := range []struct {
		name         string
		stored, read int
	}{{"W3", 10_000, 20}, {"W4", 1000, 1000}} {
		b.Run(w.name, func(b *testing.B) {
			r := newRace(b)
			r.run(100, map[string]func(int){
				"lrange": r.alone(r.bareRead(w.stored, w.read)), "store": r.alone(r.storeRead(w.stored, w.read)),
			})
		})
	}
	b.Run("W5", func(b *testing.B) {
		r := newRace(b)
		r.run(200, map[string]func(int){"hgetall": r.alone(r.bareList()), "store": r.alone(r.storeList())})
	})
}

const writers = 32

type race struct {
	*testing.B
	ctx     context.Context
	client  *goredis.Client
	store   *redis.Store
	message sessionstore.Message
}

func newRace(b *testing.B) *race {
	o, err := goredis.ParseURL(testenv.Redis(b))
	if err != nil {
		b.Fatalf("ParseURL: got %v, want nil", err)
	}
	r := &race{B: b, ctx: b.Context(), client: goredis.NewClient(o)}
	b.Cleanup(func() { r.client.Close() })
	if r.store, err = redis.New(r.client, &redis.Options{Namespace: "ratio " + uuid.NewString()}); err != nil {
		b.Fatalf("New: got %v, want nil", err)
	}
	r.message = sessionstore.UserMessage(strings.Repeat("A message of common length. ", 15)[:400])
	r.message.Metadata = sessionstore.Metadata{"model": "m-1", "tokens": int64(113)}
	return r
}

// run races the store against the others.
func (r *race) run(n int, lanes map[string]func(n int)) {
	var names []string
	for name := range lanes {
		names = append(names, name)
	}
	slices.Sort(names)
	times := map[string][]time.Duration{}
	for round := range 5 {
		for i := range names {
			name := names[(i+round)%len(names)]
			start := time.Now()
			lanes[name](n)
			times[name] = append(times[name], time.Since(start))
		}
	}
	median := func(name string) float64 {
		slices.Sort(times[name])
		return float64(times[name][len(times[name])/2]) / float64(n)
	}
	r.ReportMetric(median("store"), "ns/call")
	for _, name := range names {
		if name != "store" {
			r.ReportMetric(median("store")/median(name), "x_"+name)
		}
	}
	r.ReportMetric(0, "ns/op")
}

func (r *race) must(err error) {
	if err != nil {
		r.Helper()
		r.Errorf("got %v, want nil", err)
	}
}

func (r *race) alone(f func()) func(int) {
	return func(n int) {
		for range n {
			f()
		}
	}
}

func (r *race) together(f func()) func(int) {
	return func(n int) {
		var wg sync.WaitGroup
		for range writers {
			wg.Go(func() {
				for range n / writers {
					f()
				}
			})
		}
		wg.Wait()
	}
}

// floorMessage is what a program by hand would store: it marshals with encoding/json.
type floorMessage struct {
	ID        string         `json:"message_id"`
	Role      string         `json:"role"`
	Content   string         `json:"content"`
	CreatedAt time.Time      `json:"created_at"`
	Metadata  map[string]any `json:"metadata"`
}

func (r *race) floorMessage() (id string, record []byte) {
	id = uuid.Must(uuid.NewV7()).String()
	record, err := json.Marshal(floorMessage{id, "user", r.message.Content.String(), time.Now(), r.message.Metadata})
	r.must(err)
	return id, record
}

func (r *race) key() string { return "floor:{" + uuid.NewString() + "}:" }

func (r *race) bareAppend(stored, sessions int) func() {
	key := r.key()
	push := func(p goredis.Cmdable, session int) error {
		_, record := r.floorMessage()
		return p.RPush(r.ctx, fmt.Sprint(key, session), record).Err()
	}
	r.fill(stored, func(p goredis.Pipeliner) { _ = push(p, 0) })
	var next atomic.Int64
	return func() { r.must(push(r.client, int(next.Add(1))%sessions)) }
}

func (r *race) fill(n int, f func(goredis.Pipeliner)) {
	_, err := r.client.Pipelined(r.ctx, func(p goredis.Pipeliner) error {
		for range n {
			f(p)
		}
		return nil
	})
	r.must(err)
}

func (r *race) equalAppend(stored, sessions int) func() {
	key := r.key()
	seqs := make([]atomic.Int64, sessions)
	before := make([]atomic.Pointer[string], sessions)
	put := func(p goredis.Pipeliner, i int) {
		id, record := r.floorMessage()
		seq := seqs[i].Add(1)
		now := fmt.Sprintf("%018dsession of the length of an id, %4d", time.Now().UnixMicro(), i)
		was := before[i].Swap(&now)
		if was == nil {
			was = new(string)
		}
		p.ZAdd(r.ctx, fmt.Sprint(key, "m", i), goredis.Z{Score: float64(seq), Member: record})
		p.HSet(r.ctx, fmt.Sprint(key, "i", i), id, seq)
		p.HSet(r.ctx, fmt.Sprint(key, "s", i), "updated", now[:18], "expires", "", "last_seq", seq, "message_count", seq, "bytes", seq)
		p.ZRem(r.ctx, key+"index", "a"+*was, "uuser"+*was)
		p.ZAdd(r.ctx, key+"index", goredis.Z{Member: "a" + now}, goredis.Z{Member: "uuser" + now})
	}
	r.fill(stored, func(p goredis.Pipeliner) { put(p, 0) })
	var next atomic.Int64
	return func() {
		p := r.client.TxPipeline()
		put(p, int(next.Add(1))%sessions)
		_, err := p.Exec(r.ctx)
		r.must(err)
	}
}

func (r *race) session(stored int) string {
	s, err := r.store.CreateSession(r.ctx, sessionstore.Session{
		UserID: "user", AgentName: "agent", Metadata: sessionstore.Metadata{"title": "A conversation"},
	})
	r.must(err)
	for stored > 0 {
		batch := slices.Repeat([]sessionstore.Message{r.message}, min(stored, sessionstore.MaxAppendMessages))
		_, err := r.store.AppendMessages(r.ctx, s.ID, sessionstore.Append{Messages: batch})
		r.must(err)
		stored -= len(batch)
	}
	return s.ID
}

func (r *race) storeAppend(stored, sessions int) func() {
	ids := []string{r.session(stored)}
	for len(ids) < sessions {
		ids = append(ids, r.session(0))
	}
	var next atomic.Int64
	return func() {
		id := ids[int(next.Add(1))%sessions]
		_, err := r.store.AppendMessages(r.ctx, id, sessionstore.Append{Messages: []sessionstore.Message{r.message}})
		r.must(err)
	}
}

func (r *race) bareRead(stored, read int) func() {
	key := r.key()
	r.fill(stored, func(p goredis.Pipeliner) {
		_, record := r.floorMessage()
		p.RPush(r.ctx, key, record)
	})
	return func() {
		records, err := r.client.LRange(r.ctx, key, int64(-read), -1).Result()
		r.must(err)
		out := make([]floorMessage, len(records))
		for i, record := range records {
			r.must(json.Unmarshal([]byte(record), &out[i]))
		}
	}
}

func (r *race) storeRead(stored, read int) func() {
	id := r.session(stored)
	return func() {
		page, err := r.store.ListMessages(r.ctx, id, sessionstore.MessageQuery{Limit: read, Newest: true})
		r.must(err)
		if len(page.Messages) != read {
			r.Errorf("ListMessages: got %d messages, want %d", len(page.Messages), read)
		}
	}
}

const (
	listed   = 50
	sessions = 10_000
)

func (r *race) bareList() func() {
	key, n := r.key(), 0
	meta, err := json.Marshal(map[string]any{"title": "A conversation"})
	r.must(err)
	r.fill(sessions, func(p goredis.Pipeliner) {
		n++
		id := uuid.NewString()
		now := time.Now().Format(time.RFC3339Nano)
		p.HSet(r.ctx, key+id, "session_id", id, "user_id", "user", "agent_name", "agent", "status", "active", "metadata", meta,
			"created_at", now, "updated_at", now, "last_seq", 0, "version", 1)
		p.ZAdd(r.ctx, key+"index", goredis.Z{Score: float64(n), Member: id})
	})
	return func() {
		ids, err := r.client.ZRangeArgs(r.ctx, goredis.ZRangeArgs{Key: key + "index", Start: 0, Stop: listed - 1, Rev: true}).Result()
		r.must(err)
		cmds := make([]*goredis.MapStringStringCmd, len(ids))
		_, err = r.client.Pipelined(r.ctx, func(p goredis.Pipeliner) error {
			for i, id := range ids {
				cmds[i] = p.HGetAll(r.ctx, key+id)
			}
			return nil
		})
		r.must(err)
		for _, cmd := range cmds {
			var s sessionstore.Session
			s.ID, s.UserID, s.AgentName = cmd.Val()["session_id"], cmd.Val()["user_id"], cmd.Val()["agent_name"]
			s.CreatedAt, err = time.Parse(time.RFC3339Nano, cmd.Val()["created_at"])
			r.must(err)
			s.UpdatedAt, err = time.Parse(time.RFC3339Nano, cmd.Val()["updated_at"])
			r.must(err)
			r.must(json.Unmarshal([]byte(cmd.Val()["metadata"]), &s.Metadata))
		}
	}
}

func (r *race) storeList() func() {
	for range sessions {
		r.session(0)
	}
	return func() {
		page, err := r.store.ListSessions(r.ctx, sessionstore.SessionQuery{UserID: "user", Limit: listed})
		r.must(err)
		if len(page.Sessions) != listed {
			r.Errorf("ListSessions: got %d sessions, want %d", len(page.Sessions), listed)
		}
	}
}
