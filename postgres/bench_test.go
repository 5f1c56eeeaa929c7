package postgres_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/postgres"
	"github.com/sessionstore/sessionstore/storetest"
)

// BenchmarkStore is the store by itself, for benchstat.
func BenchmarkStore(b *testing.B) {
	storetest.Bench(b, storetest.Backend{Open: newDatabase(b, nil).open})
}

// BenchmarkRatio compares the store with a program that does the same work with pgx by
// hand, on the same server, and reports how many times as long the store takes: the
// median of five rounds, in which who goes first rotates. One round is enough of b.N:
//
//	go test -run '^$' -bench Ratio -benchtime 1x ./postgres
//
// A write has two floors. Bare is one INSERT of the message. Equal writes what the store
// writes, to the same tables, without reading or checking anything, in one pgx.Batch. A
// read's floor decodes with encoding/json. The server that the tests start has fsync off,
// which makes the bare floor lower than that of a server which waits for its disk: name
// another in SESSIONSTORE_TEST_POSTGRES to measure that.
func BenchmarkRatio(b *testing.B) {
	for _, n := range []int{0, 1000, 10_000} {
		b.Run(fmt.Sprintf("W1/history=%d", n), func(b *testing.B) {
			r := newRace(b)
			r.run(300, map[string]func(int){
				"bare": r.alone(r.bare(1)), "equal": r.alone(r.equal(1)), "history=0": r.alone(r.store(1, 0)), "store": r.alone(r.store(1, n)),
			})
		})
	}
	for name, sessions := range map[string]int{"W2": 64, "hot": 1} {
		b.Run(name, func(b *testing.B) {
			r := newRace(b)
			r.run(50*writers, map[string]func(int){
				"bare": r.parallel(r.bare(sessions)), "equal": r.parallel(r.equal(sessions)), "store": r.parallel(r.store(sessions, 0)),
			})
		})
	}
	for name, q := range map[string]sessionstore.MessageQuery{"W3": {Limit: 20, Newest: true}, "W4": {Limit: 1000}} {
		b.Run(name, func(b *testing.B) {
			r := newRace(b)
			n := 10_000
			if !q.Newest {
				n = 1000
			}
			id := r.fill(n)
			r.run(50, map[string]func(int){
				"select": func(n int) {
					for range n {
						r.selectMessages(id, q.Limit)
					}
				},
				"store": func(n int) {
					for range n {
						page, err := r.to.ListMessages(r.Context(), id, q)
						if r.must(err); len(page.Messages) != q.Limit {
							r.Fatalf("ListMessages: got %d messages, want %d", len(page.Messages), q.Limit)
						}
					}
				},
			})
		})
	}
	b.Run("W5", func(b *testing.B) {
		r := newRace(b)
		r.parallel(func(_, i int) {
			_, err := r.to.CreateSession(b.Context(), sessionstore.Session{UserID: "user", AgentName: "agent",
				Metadata: sessionstore.Metadata{"title": "A conversation", "n": int64(i)}})
			r.must(err)
		})(10_000)
		r.analyze()
		r.run(100, map[string]func(int){
			"select": func(n int) {
				for range n {
					r.selectSessions(50)
				}
			},
			"store": func(n int) {
				for range n {
					page, err := r.to.ListSessions(b.Context(), sessionstore.SessionQuery{UserID: "user", Limit: 50})
					if r.must(err); len(page.Sessions) != 50 {
						r.Fatalf("ListSessions: got %d sessions, want 50", len(page.Sessions))
					}
				}
			},
		})
	})
}

const writers = 32

type race struct {
	*testing.B
	pool    *pgxpool.Pool
	schema  string
	to      *postgres.Store
	message sessionstore.Message
	record  string // the message as JSON
}

func newRace(b *testing.B) *race {
	d := newDatabase(b, func(c *pgxpool.Config) { c.MaxConns = 16 })
	r := &race{B: b, to: d.store(b, nil), schema: pgx.Identifier{d.schema}.Sanitize()}
	r.pool = d.pools[r.to]
	r.message = sessionstore.UserMessage(strings.Repeat("A message of common length. ", 15)[:400])
	r.message.Metadata = sessionstore.Metadata{"model": "m-1", "tokens": int64(113)}
	record, err := r.message.AppendJSON(nil)
	r.must(err)
	r.record = string(record)
	return r
}

// run races the store against the others.
func (r *race) run(n int, lanes map[string]func(n int)) {
	names := make([]string, 0, len(lanes))
	for name := range lanes {
		names = append(names, name)
		lanes[name](n) // connections are made, statements prepared
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

func (r *race) exec(sql string, args ...any) {
	r.Helper()
	_, err := r.pool.Exec(r.Context(), strings.ReplaceAll(sql, "@", r.schema+"."), args...)
	r.must(err)
}

func (r *race) analyze() { r.exec("ANALYZE @sessions, @messages") }

// alone makes calls one after the other, parallel from 32 goroutines. Call i of a writer
// goes to a session of its choice.
func (r *race) alone(call func(writer, i int)) func(int) {
	return func(n int) {
		for i := range n {
			call(0, i)
		}
	}
}

func (r *race) parallel(call func(writer, i int)) func(int) {
	return func(n int) {
		var wg sync.WaitGroup
		for w := range writers {
			wg.Go(func() {
				for i := w; i < n; i += writers {
					call(w, i)
				}
			})
		}
		wg.Wait()
	}
}

// fill returns a new session with n messages.
func (r *race) fill(n int) string {
	s, err := r.to.CreateSession(r.Context(), sessionstore.Session{UserID: "user", AgentName: "agent", Metadata: sessionstore.Metadata{"title": "A conversation"}})
	r.must(err)
	for ; n > 0; n -= 1000 {
		_, err := r.to.AppendMessages(r.Context(), s.ID, sessionstore.Append{Messages: slices.Repeat([]sessionstore.Message{r.message}, min(n, 1000))})
		r.must(err)
	}
	r.analyze()
	return s.ID
}

func (r *race) store(sessions, history int) func(writer, i int) {
	ids := make([]string, sessions)
	for i := range ids {
		ids[i] = r.fill(history)
	}
	return func(w, i int) {
		_, err := r.to.AppendMessages(r.Context(), ids[(2*w+i)%sessions], sessionstore.Append{Messages: []sessionstore.Message{r.message}})
		r.must(err)
	}
}

func (r *race) bare(sessions int) func(writer, i int) {
	r.exec("CREATE TABLE @bare (session bigint, seq bigint, body json, PRIMARY KEY (session, seq))")
	insert := strings.ReplaceAll("INSERT INTO @bare VALUES ($1, $2, $3)", "@", r.schema+".")
	var seq atomic.Int64
	return func(w, i int) {
		_, err := r.pool.Exec(r.Context(), insert, (2*w+i)%sessions, seq.Add(1), r.record)
		r.must(err)
	}
}

func (r *race) equal(sessions int) func(writer, i int) {
	ids, sids := make([]string, sessions), make([]int64, sessions)
	for i := range ids {
		ids[i] = r.fill(0)
		r.must(r.pool.QueryRow(r.Context(), "SELECT sid FROM "+r.schema+".sessions WHERE id = $1", ids[i]).Scan(&sids[i]))
	}
	update := "UPDATE " + r.schema + ".sessions SET last_seq = $2, message_count = $2, updated_at = $3 WHERE namespace = '' AND id = $1"
	insert := "INSERT INTO " + r.schema + ".messages (sid, seq, id, role, created_at, body) VALUES ($1, $2, $3, $4, $5, $6)"
	var seq atomic.Int64
	return func(w, i int) {
		at, now, n := (2*w+i)%sessions, time.Now(), seq.Add(1)
		b := &pgx.Batch{}
		b.Queue(update, ids[at], n, now)
		b.Queue(insert, sids[at], n, uuid.Must(uuid.NewV7()).String(), "user", now, r.record)
		r.must(r.pool.SendBatch(r.Context(), b).Close())
	}
}

// plainMessage and plainSession are what a program by hand would decode.
type plainMessage struct {
	ID        string         `json:"message_id"`
	SessionID string         `json:"session_id"`
	Role      string         `json:"role"`
	Content   any            `json:"content"`
	CreatedAt time.Time      `json:"created_at"`
	Metadata  map[string]any `json:"metadata"`
}

type plainSession struct {
	ID        string         `json:"session_id"`
	UserID    string         `json:"user_id"`
	AgentName string         `json:"agent_name"`
	Status    string         `json:"status"`
	System    string         `json:"system"`
	CreatedAt time.Time      `json:"created_at"`
	Metadata  map[string]any `json:"metadata"`
}

func (r *race) selectMessages(id string, limit int) {
	rows, err := r.pool.Query(r.Context(), "SELECT seq, body FROM "+r.schema+".messages WHERE sid = (SELECT sid FROM "+
		r.schema+".sessions WHERE namespace = '' AND id = $1) ORDER BY seq DESC LIMIT $2", id, limit)
	r.must(err)
	out := make([]plainMessage, 0, limit)
	var seq int64
	var body []byte
	_, err = pgx.ForEachRow(rows, []any{&seq, &body}, func() error {
		var m plainMessage
		err := json.Unmarshal(body, &m)
		out = append(out, m)
		return err
	})
	if r.must(err); len(out) != limit {
		r.Fatalf("SELECT: got %d messages, want %d", len(out), limit)
	}
}

func (r *race) selectSessions(limit int) {
	rows, err := r.pool.Query(r.Context(), "SELECT body, updated_at, last_seq, message_count FROM "+r.schema+
		".sessions WHERE namespace = '' AND user_id = $1 AND user_id <> '' ORDER BY updated_at DESC, id DESC LIMIT $2", "user", limit)
	r.must(err)
	out := make([]plainSession, 0, limit)
	var body []byte
	var updated time.Time
	var last, count int64
	_, err = pgx.ForEachRow(rows, []any{&body, &updated, &last, &count}, func() error {
		var s plainSession
		err := json.Unmarshal(body, &s)
		out = append(out, s)
		return err
	})
	if r.must(err); len(out) != limit {
		r.Fatalf("SELECT: got %d sessions, want %d", len(out), limit)
	}
}
