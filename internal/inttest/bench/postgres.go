package bench

import (
	"context"
	"crypto/rand"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/postgres"
)

// poolSize is the most connections of a pool: half as many as there are writers.
const poolSize = 16

// openPostgres makes a schema.
func openPostgres(ctx context.Context, dsn string) (*database, error) {
	cfg, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return nil, err
	}
	d := &database{}
	cfg.MaxConns = poolSize
	cfg.ConnConfig.Tracer = pgTrips{&d.trips}
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return nil, err
	}
	d.onClose(func() error { pool.Close(); return nil })
	if err := pool.QueryRow(ctx, "SHOW server_version").Scan(&d.server); err != nil {
		return d, err
	}
	d.server = "PostgreSQL " + d.server
	schema := "bench_" + strings.ToLower(rand.Text())
	s, err := postgres.New(pool, &postgres.Options{Schema: schema})
	if err != nil {
		return d, err
	}
	if err := s.Migrate(ctx); err != nil {
		return d, err
	}
	d.onClose(func() error {
		_, err := pool.Exec(context.WithoutCancel(ctx), "DROP SCHEMA "+schema+" CASCADE")
		return err
	})
	d.onClose(s.Close)
	f := &pgFloor{pool: pool, store: s, schema: schema}
	err = f.exec(ctx, `CREATE TABLE @bare_messages (session bigint, seq bigint, body json, PRIMARY KEY (session, seq));
		CREATE TABLE @bare_sessions (id bigint PRIMARY KEY, user_id text, updated_at bigint, body json);
		CREATE INDEX ON @bare_sessions (user_id, updated_at)`)
	if err != nil {
		return d, err
	}
	d.settle = func(ctx context.Context) error {
		return f.exec(ctx, "ANALYZE @sessions, @messages, @bare_messages, @bare_sessions")
	}
	d.store = ofStore(func() (sessionstore.SessionStore, error) { return s, nil })
	d.floors = []candidate{
		{name: "bare", append: f.bare, read: f.read, list: f.list},
		{name: "equal", append: f.equal},
	}
	return d, nil
}

// pgTrips counts queries, and batches as one.
type pgTrips struct{ n *atomic.Int64 }

func (t pgTrips) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	t.n.Add(1)
	return ctx
}
func (t pgTrips) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

func (t pgTrips) TraceBatchStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	t.n.Add(1)
	return ctx
}
func (t pgTrips) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}
func (t pgTrips) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData)     {}

func (t pgTrips) TracePrepareStart(ctx context.Context, _ *pgx.Conn, _ pgx.TracePrepareStartData) context.Context {
	t.n.Add(1)
	return ctx
}
func (t pgTrips) TracePrepareEnd(context.Context, *pgx.Conn, pgx.TracePrepareEndData) {}

type pgFloor struct {
	pool     *pgxpool.Pool
	store    *postgres.Store
	schema   string
	sessions int64 // of the bare table
}

// in gives the names after an @ the schema.
func (f *pgFloor) in(sql string) string { return strings.ReplaceAll(sql, "@", f.schema+".") }

func (f *pgFloor) exec(ctx context.Context, sql string) error {
	_, err := f.pool.Exec(ctx, f.in(sql))
	return err
}

// fill returns a new session of the bare table.
func (f *pgFloor) fill(ctx context.Context, n int) (session int64, err error) {
	f.sessions++
	_, records, err := messages(n)
	if err != nil {
		return 0, err
	}
	_, err = f.pool.CopyFrom(ctx, pgx.Identifier{f.schema, "bare_messages"}, []string{"session", "seq", "body"},
		pgx.CopyFromSlice(n, func(i int) ([]any, error) { return []any{f.sessions, int64(i + 1), records[i]}, nil }))
	return f.sessions, err
}

// bare is one INSERT.
func (f *pgFloor) bare(ctx context.Context, w Workload) (call, error) {
	sessions := make([]int64, w.sessions)
	for i := range sessions {
		var err error
		if sessions[i], err = f.fill(ctx, w.history); err != nil {
			return nil, err
		}
	}
	insert := f.in("INSERT INTO @bare_messages VALUES ($1, $2, $3)")
	var seq atomic.Int64
	seq.Store(int64(w.history))
	return func(e *entry) error {
		_, err := f.pool.Exec(ctx, insert, sessions[e.session], seq.Add(1), e.record)
		return err
	}, nil
}

// equal writes to the store's own tables, in one batch.
func (f *pgFloor) equal(ctx context.Context, w Workload) (call, error) {
	type state struct {
		id  string
		sid int64
	}
	all := make([]state, w.sessions)
	for i := range all {
		var err error
		if all[i].id, err = fill(ctx, f.store, w.history); err != nil {
			return nil, err
		}
		if err := f.pool.QueryRow(ctx, f.in("SELECT sid FROM @sessions WHERE id = $1"), all[i].id).Scan(&all[i].sid); err != nil {
			return nil, err
		}
	}
	update := f.in("UPDATE @sessions SET last_seq = $2, message_count = $2, updated_at = $3 WHERE namespace = '' AND id = $1")
	insert := f.in("INSERT INTO @messages (sid, seq, id, role, created_at, body) VALUES ($1, $2, $3, $4, $5, $6)")
	var seq atomic.Int64
	seq.Store(int64(w.history))
	return func(e *entry) error {
		s, n, now := &all[e.session], seq.Add(1), time.Now()
		b := &pgx.Batch{}
		b.Queue(update, s.id, n, now)
		b.Queue(insert, s.sid, n, e.batch[0].ID, "user", now, e.record)
		return f.pool.SendBatch(ctx, b).Close()
	}, nil
}

func (f *pgFloor) read(ctx context.Context, w Workload) (call, error) {
	session, err := f.fill(ctx, w.stored)
	order := "seq"
	if w.newest {
		order = "seq DESC"
	}
	query := f.in("SELECT body FROM @bare_messages WHERE session = $1 ORDER BY " + order + " LIMIT $2")
	return func(*entry) error { return readPostgres[plainMessage](ctx, f.pool, w, query, session) }, err
}

func (f *pgFloor) list(ctx context.Context, w Workload) (call, error) {
	records, err := sessionRecords(w.stored)
	if err != nil {
		return nil, err
	}
	_, err = f.pool.CopyFrom(ctx, pgx.Identifier{f.schema, "bare_sessions"}, []string{"id", "user_id", "updated_at", "body"},
		pgx.CopyFromSlice(len(records), func(i int) ([]any, error) { return []any{int64(i), "user", int64(i), records[i]}, nil }))
	query := f.in("SELECT body FROM @bare_sessions WHERE user_id = $1 ORDER BY updated_at DESC LIMIT $2")
	return func(*entry) error { return readPostgres[plainSession](ctx, f.pool, w, query, "user") }, err
}

func readPostgres[T any](ctx context.Context, pool *pgxpool.Pool, w Workload, query string, of any) error {
	rows, err := pool.Query(ctx, query, of, w.read)
	if err != nil {
		return err
	}
	out := make([]T, 0, w.read)
	for rows.Next() {
		// The bytes as they came: they are decoded before the next row.
		if out, err = decode(out, rows.RawValues()[0]); err != nil {
			rows.Close()
			return err
		}
	}
	return counted(len(out), w.read, rows.Err())
}
