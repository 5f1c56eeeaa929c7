package postgres_test

import (
	"context"
	"crypto/rand"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/internal/testenv"
	"github.com/sessionstore/sessionstore/postgres"
	"github.com/sessionstore/sessionstore/storetest"
)

// These give the server and the schema to the child processes of the suite.
const (
	serverVar  = "SESSIONSTORE_TEST_POSTGRES"
	bouncerVar = "SESSIONSTORE_TEST_PGBOUNCER"
	schemaVar  = "SESSIONSTORE_TEST_SCHEMA"
)

// database is a schema of a server, with the pools that its tests make.
type database struct {
	dsn    string
	schema string
	tune   func(*pgxpool.Config) // of the pools; nil for nothing

	mu    sync.Mutex
	pools map[sessionstore.SessionStore]*pgxpool.Pool
}

// newDatabase makes a schema that goes with the test.
func newDatabase(tb testing.TB, tune func(*pgxpool.Config)) *database {
	tb.Helper()
	return newDatabaseAt(tb, testenv.Postgres(tb), tune)
}

func newDatabaseAt(tb testing.TB, dsn string, tune func(*pgxpool.Config)) *database {
	tb.Helper()
	d := &database{dsn: dsn, tune: tune, schema: os.Getenv(schemaVar), pools: map[sessionstore.SessionStore]*pgxpool.Pool{}}
	if d.schema != "" { // a child process
		return d
	}
	d.schema = `test "` + strings.ToLower(rand.Text()) + `'`
	if err := d.store(tb, nil).Migrate(tb.Context()); err != nil {
		tb.Fatalf("Migrate: got %v, want nil", err)
	}
	tb.Cleanup(func() {
		d.exec(tb, "DROP SCHEMA "+pgx.Identifier{d.schema}.Sanitize()+" CASCADE")
	})
	return d
}

// child is what the suite's child processes need.
func (d *database) child() []string {
	return []string{serverVar + "=" + d.dsn, bouncerVar + "=" + d.dsn, schemaVar + "=" + d.schema}
}

// pool returns a new pool, whose connections the server lists under its name.
func (d *database) pool(tb testing.TB) *pgxpool.Pool {
	tb.Helper()
	cfg, err := pgxpool.ParseConfig(d.dsn)
	if err != nil {
		tb.Fatalf("ParseConfig: got %v, want nil", err)
	}
	cfg.MaxConns = 8
	cfg.ConnConfig.RuntimeParams["application_name"] = rand.Text()
	if d.tune != nil {
		d.tune(cfg)
	}
	pool, err := pgxpool.NewWithConfig(context.Background(), cfg)
	if err != nil {
		tb.Fatalf("NewWithConfig: got %v, want nil", err)
	}
	tb.Cleanup(pool.Close)
	return pool
}

func (d *database) store(tb testing.TB, o *postgres.Options) *postgres.Store {
	tb.Helper()
	if o == nil {
		o = &postgres.Options{}
	}
	o.Schema = d.schema
	pool := d.pool(tb)
	s, err := postgres.New(pool, o)
	if err != nil {
		tb.Fatalf("New: got %v, want nil", err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.pools[s] = pool
	return s
}

func (d *database) open(tb testing.TB, c storetest.Config) sessionstore.SessionStore {
	return d.store(tb, &postgres.Options{Now: c.Now, Namespace: c.Namespace})
}

// exec runs a statement on a connection of its own.
func (d *database) exec(tb testing.TB, sql string, args ...any) {
	tb.Helper()
	ctx := context.WithoutCancel(tb.Context())
	conn, err := pgx.Connect(ctx, d.dsn)
	if err != nil {
		tb.Errorf("connect: got %v, want nil", err)
		return
	}
	defer conn.Close(ctx)
	// Without a prepared statement, which would not work through a pooler.
	if _, err := conn.Exec(ctx, sql, append([]any{pgx.QueryExecModeExec}, args...)...); err != nil {
		tb.Errorf("%s: got %v, want nil", sql, err)
	}
}

// breakConnections ends the connections of a store in the server.
func (d *database) breakConnections(tb testing.TB, s sessionstore.SessionStore) {
	d.mu.Lock()
	pool := d.pools[s]
	d.mu.Unlock()
	if pool == nil {
		tb.Fatalf("break the connections of %T: got a store that the test has not opened", s)
	}
	d.exec(tb, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1 AND pid <> pg_backend_pid()",
		pool.Config().ConnConfig.RuntimeParams["application_name"])
}

func (d *database) backend() storetest.Backend {
	return storetest.Backend{Open: d.open, Reopen: d.open, Child: d.child(), Break: d.breakConnections}
}

// TestConformance has pools with the driver's defaults.
func TestConformance(t *testing.T) {
	storetest.Run(t, newDatabase(t, nil).backend())
}

// TestConformancePgbouncer has one connection in each pool (field report S39), and a
// pooler behind them that gives each transaction another one, which prepared statements
// do not survive (O07).
func TestConformancePgbouncer(t *testing.T) {
	skipShort(t)
	storetest.Run(t, newDatabaseAt(t, testenv.Pgbouncer(t), func(c *pgxpool.Config) {
		c.MaxConns = 1
		c.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeExec
	}).backend())
}

// TestConformanceSerializable has an isolation that turns transactions down for what
// others did, and the protocol that carries everything as text.
func TestConformanceSerializable(t *testing.T) {
	skipShort(t)
	storetest.Run(t, newDatabase(t, func(c *pgxpool.Config) {
		c.ConnConfig.RuntimeParams["default_transaction_isolation"] = "serializable"
		c.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeSimpleProtocol
	}).backend())
}

func skipShort(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: the suite runs once, with the driver's defaults; leave it out to run it in other modes")
	}
}
