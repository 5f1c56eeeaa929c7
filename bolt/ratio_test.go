package bolt_test

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"go.etcd.io/bbolt"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/bolt"
	"github.com/sessionstore/sessionstore/storetest"
)

// BenchmarkStore is the store by itself, for benchstat.
func BenchmarkStore(b *testing.B) {
	storetest.Bench(b, storetest.Backend{Open: newFiles(b, false).store})
}

// BenchmarkRatio compares the store with a program that does the same work with bbolt by
// hand, and reports how many times as long the store takes: the median of five rounds,
// in which who goes first rotates. One round is enough of b.N:
//
//	go test -run '^$' -bench Ratio -benchtime 1x ./bolt
//
// A write has two floors. Bare stores the message. Equal stores the message, its id, the
// session's state and two list entries, without reading or checking anything.
func BenchmarkRatio(b *testing.B) {
	for _, n := range []int{0, 1000, 10_000} {
		b.Run(fmt.Sprintf("W1/history=%d", n), func(b *testing.B) {
			r := newRace(b)
			at0 := r.storeAppend(0)
			r.run(300, map[string]func(int){
				"bare": r.bareAppend(n), "equal": r.equalAppend(n), "history=0": at0, "store": r.storeAppend(n),
			})
		})
	}
	for name, sessions := range map[string]int{"W2": 64, "hot": 1} {
		b.Run(name, func(b *testing.B) {
			r := newRace(b)
			r.run(200*writers, map[string]func(int){
				"bare": r.parallel(r.bareBatch(sessions)), "equal": r.parallel(r.equalBatch(sessions)),
				"store": r.parallel(r.storeParallel(sessions)),
			})
		})
	}
	b.Run("W3", func(b *testing.B) {
		r := newRace(b)
		r.run(500, map[string]func(int){
			"cursor": r.bareRead(10_000, 20), "store": r.storeRead(10_000, 20, sessionstore.MessageQuery{Limit: 20, Newest: true}),
		})
	})
	b.Run("W4", func(b *testing.B) {
		r := newRace(b)
		r.run(20, map[string]func(int){
			"cursor": r.bareRead(1000, 1000), "store": r.storeRead(1000, 1000, sessionstore.MessageQuery{}),
		})
	})
	b.Run("W5", func(b *testing.B) {
		r := newRace(b)
		r.run(300, map[string]func(int){"prefix": r.bareList(), "store": r.storeList()})
	})
}

const writers = 32

type race struct {
	*testing.B
	message sessionstore.Message
	record  []byte // the message as JSON
	session []byte // a session as JSON
}

func newRace(b *testing.B) *race {
	r := &race{B: b, message: sessionstore.UserMessage(strings.Repeat("A message of common length. ", 15)[:400])}
	r.message.Metadata = sessionstore.Metadata{"model": "m-1", "tokens": int64(113)}
	var err error
	if r.record, err = r.message.AppendJSON(nil); err != nil {
		b.Fatalf("AppendJSON: got %v, want nil", err)
	}
	s, err := sessionstore.Session{
		UserID: "user", AgentName: "agent", Metadata: sessionstore.Metadata{"title": "A conversation"},
	}.Create(time.Now())
	if err != nil {
		b.Fatalf("Create: got %v, want nil", err)
	}
	if r.session, err = s.AppendJSON(nil); err != nil {
		b.Fatalf("AppendJSON: got %v, want nil", err)
	}
	return r
}

// run races the store against the others.
func (r *race) run(n int, lanes map[string]func(n int)) {
	names := make([]string, 0, len(lanes))
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

func (r *race) db(name string) *bbolt.DB {
	db, err := bbolt.Open(filepath.Join(r.TempDir(), name), 0o600, &bbolt.Options{FreelistType: bbolt.FreelistMapType})
	if err != nil {
		r.Fatalf("open: got %v, want nil", err)
	}
	r.Cleanup(func() { _ = db.Close() })
	return db
}

func (r *race) must(err error) {
	if err != nil {
		r.Helper()
		r.Errorf("got %v, want nil", err)
	}
}

func bucket(tx *bbolt.Tx, name string) *bbolt.Bucket {
	b, err := tx.CreateBucketIfNotExists([]byte(name))
	if err != nil {
		panic(err)
	}
	b.FillPercent = 0.9
	return b
}

func be64(n int) []byte { return binary.BigEndian.AppendUint64(nil, uint64(n)) }

func (r *race) bareAppend(n int) func(int) {
	db, seq := r.db("bare"), 0
	put := func(tx *bbolt.Tx) error {
		seq++
		return bucket(tx, "messages").Put(be64(seq), r.record)
	}
	r.must(db.Update(func(tx *bbolt.Tx) error {
		for seq < n {
			r.must(put(tx))
		}
		return nil
	}))
	return func(n int) {
		for range n {
			r.must(db.Update(put))
		}
	}
}

func (r *race) equalAppend(n int) func(int) {
	db, puts := r.db("equal"), newEqual(r)
	put := func(tx *bbolt.Tx) error { return puts.put(tx, "session") }
	r.must(db.Update(func(tx *bbolt.Tx) error {
		for range n {
			r.must(put(tx))
		}
		return nil
	}))
	return func(n int) {
		for range n {
			r.must(db.Update(put))
		}
	}
}

// equal writes what the store writes, in the same layout. Its state is used within write
// transactions only.
type equal struct {
	*race
	seq    map[string]int
	before map[string][]byte // the time in the index
}

func newEqual(r *race) *equal {
	return &equal{r, map[string]int{}, map[string][]byte{}}
}

func (e *equal) put(tx *bbolt.Tx, session string) error {
	e.seq[session]++
	id, err := uuid.NewV7()
	if err != nil {
		return err
	}
	b, err := bucket(tx, "sessions").CreateBucketIfNotExists([]byte(session))
	if err != nil {
		return err
	}
	b.FillPercent = 0.9
	seq := be64(e.seq[session])
	e.must(b.Put([]byte("i"+id.String()), seq))
	e.must(b.Put(append([]byte("m"), seq...), e.record))
	e.must(b.Put([]byte("r"), e.session))
	index := bucket(tx, "index")
	now := be64(int(time.Now().UnixMicro()))
	for _, prefix := range []string{"a", "u\x04user"} {
		e.must(index.Delete([]byte(prefix + string(e.before[session]) + session)))
		e.must(index.Put([]byte(prefix+string(now)+session), nil))
	}
	e.before[session] = now
	return nil
}

func (r *race) equalBatch(sessions int) func() {
	db, puts := r.batchDB("equal"), newEqual(r)
	var next atomic.Int64
	return func() {
		session := fmt.Sprintf("session of the length of an id, %4d", int(next.Add(1))%sessions)
		r.must(db.Batch(func(tx *bbolt.Tx) error { return puts.put(tx, session) }))
	}
}

// batchDB is a database whose Batch does its best here: a full batch goes at once.
func (r *race) batchDB(name string) *bbolt.DB {
	db := r.db(name)
	db.MaxBatchSize = writers
	return db
}

func (r *race) bareBatch(sessions int) func() {
	db := r.batchDB("bare")
	var seq atomic.Int64
	return func() {
		n := int(seq.Add(1))
		r.must(db.Batch(func(tx *bbolt.Tx) error {
			return bucket(tx, "messages").Put(append(be64(n%sessions), be64(n)...), r.record)
		}))
	}
}

// parallel spreads calls of f over the writers.
func (r *race) parallel(f func()) func(int) {
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

func (r *race) bareRead(stored, want int) func(int) {
	db := r.db("bare")
	r.must(db.Update(func(tx *bbolt.Tx) error {
		for i := range stored {
			r.must(bucket(tx, "messages").Put(be64(i), r.record))
		}
		return nil
	}))
	return func(n int) {
		for range n {
			r.must(db.View(func(tx *bbolt.Tx) error {
				out := make([]map[string]any, 0, want)
				c := tx.Bucket([]byte("messages")).Cursor()
				for k, v := c.Last(); k != nil && len(out) < want; k, v = c.Prev() {
					var m map[string]any
					r.must(json.Unmarshal(v, &m))
					out = append(out, m)
				}
				return nil
			}))
		}
	}
}

func (r *race) bareList() func(int) {
	db := r.db("bare")
	r.must(db.Update(func(tx *bbolt.Tx) error {
		for i := range 10_000 {
			r.must(bucket(tx, "sessions").Put(append([]byte("user"), be64(i)...), r.session))
		}
		return nil
	}))
	return func(n int) {
		for range n {
			r.must(db.View(func(tx *bbolt.Tx) error {
				out := make([]map[string]any, 0, 50)
				c := tx.Bucket([]byte("sessions")).Cursor()
				for k, v := c.Last(); k != nil && len(out) < 50; k, v = c.Prev() {
					var m map[string]any
					r.must(json.Unmarshal(v, &m))
					out = append(out, m)
				}
				return nil
			}))
		}
	}
}

func (r *race) store() *bolt.Store {
	s, err := bolt.New(r.db("store"), nil)
	if err != nil {
		r.Fatalf("New: got %v, want nil", err)
	}
	r.Cleanup(func() { _ = s.Close() })
	return s
}

func (r *race) create(s *bolt.Store) string {
	out, err := s.CreateSession(r.Context(), sessionstore.Session{
		UserID: "user", AgentName: "agent", Metadata: sessionstore.Metadata{"title": "A conversation"},
	})
	r.must(err)
	return out.ID
}

func (r *race) append(s *bolt.Store, id string, n int) {
	batch := make([]sessionstore.Message, n)
	for i := range batch {
		batch[i] = r.message
	}
	_, err := s.AppendMessages(r.Context(), id, sessionstore.Append{Messages: batch})
	r.must(err)
}

func (r *race) fill(s *bolt.Store, n int) string {
	id := r.create(s)
	for ; n > 0; n -= 1000 {
		r.append(s, id, min(n, 1000))
	}
	return id
}

func (r *race) storeAppend(n int) func(int) {
	s := r.store()
	id := r.fill(s, n)
	return func(n int) {
		for range n {
			r.append(s, id, 1)
		}
	}
}

func (r *race) storeParallel(sessions int) func() {
	s := r.store()
	ids := make([]string, sessions)
	for i := range ids {
		ids[i] = r.create(s)
	}
	var next atomic.Int64
	return func() { r.append(s, ids[int(next.Add(1))%sessions], 1) }
}

func (r *race) storeRead(stored, want int, q sessionstore.MessageQuery) func(int) {
	s := r.store()
	id := r.fill(s, stored)
	return func(n int) {
		for range n {
			page, err := s.ListMessages(r.Context(), id, q)
			r.must(err)
			if len(page.Messages) != want {
				r.Errorf("ListMessages: got %d messages, want %d", len(page.Messages), want)
			}
		}
	}
}

func (r *race) storeList() func(int) {
	s := r.store()
	r.parallel(func() { r.create(s) })(10_000)
	return func(n int) {
		for range n {
			page, err := s.ListSessions(r.Context(), sessionstore.SessionQuery{UserID: "user", Limit: 50})
			r.must(err)
			if len(page.Sessions) != 50 {
				r.Errorf("ListSessions: got %d sessions, want 50", len(page.Sessions))
			}
		}
	}
}
