package inttest_test

import (
	"context"
	"crypto/rand"
	"os"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/internal/testenv"
	"github.com/sessionstore/sessionstore/postgres"
	"github.com/sessionstore/sessionstore/storetest"
)

// schemaVar gives the schema to the child processes of the suite.
const schemaVar = "SESSIONSTORE_TEST_SCHEMA"

// TestPostgresOneConn is the whole suite, two processes included, with a single connection
// in each pool and the driver's defaults: field report S39, a call that holds a connection
// and waits for another never ends. The package's own tests do this with a pooler between,
// which knows no prepared statements; those of the other servers do it themselves.
func TestPostgresOneConn(t *testing.T) {
	dsn := testenv.Postgres(t)
	pool := func(tb testing.TB) *pgxpool.Pool {
		cfg, err := pgxpool.ParseConfig(dsn)
		if err != nil {
			tb.Fatal("ParseConfig: got an error, want the server's settings") // it may quote a password
		}
		cfg.MaxConns = 1
		p, err := pgxpool.NewWithConfig(context.Background(), cfg)
		if err != nil {
			tb.Fatalf("NewWithConfig: got %v, want nil", err)
		}
		tb.Cleanup(p.Close)
		return p
	}
	schema := os.Getenv(schemaVar)
	open := func(tb testing.TB, c storetest.Config) sessionstore.SessionStore {
		s, err := postgres.New(pool(tb), &postgres.Options{Schema: schema, Namespace: c.Namespace, Now: c.Now})
		if err != nil {
			tb.Fatalf("New: got %v, want nil", err)
		}
		return s
	}
	if schema == "" { // not a child process
		schema = "test_" + strings.ToLower(rand.Text())
		s, err := postgres.New(pool(t), &postgres.Options{Schema: schema})
		if err != nil {
			t.Fatalf("New: got %v, want nil", err)
		}
		dropSchema(t, dsn, schema)
		if err := s.Migrate(t.Context()); err != nil {
			t.Fatalf("Migrate: got %v, want nil", err)
		}
	}
	storetest.Run(t, storetest.Backend{
		Open: open, Reopen: open,
		Child: []string{"SESSIONSTORE_TEST_POSTGRES=" + dsn, schemaVar + "=" + schema},
	})
}
