package backends

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/internal/testenv"
	"github.com/sessionstore/sessionstore/postgres"
)

// onPostgres is a schema.
type onPostgres struct {
	dsn, schema string
	admin       *pgxpool.Pool
}

func postgresData(tb testing.TB) Data {
	tb.Helper()
	d := &onPostgres{dsn: testenv.Postgres(tb), schema: name()}
	d.admin = d.pool(tb, nil)
	s, err := postgres.New(d.admin, &postgres.Options{Schema: d.schema})
	if err == nil {
		err = s.Migrate(tb.Context())
	}
	if err != nil {
		tb.Fatalf("Migrate: got %v, want nil", err)
	}
	tb.Cleanup(func() {
		if _, err := d.admin.Exec(context.Background(), "DROP SCHEMA IF EXISTS "+d.schema+" CASCADE"); err != nil {
			tb.Errorf("dropping the schema: got %v, want nil", err)
		}
	})
	return d
}

func (d *onPostgres) pool(tb testing.TB, change func(*pgxpool.Config)) *pgxpool.Pool {
	tb.Helper()
	c, err := pgxpool.ParseConfig(d.dsn)
	if err != nil {
		tb.Fatal("ParseConfig: got an error, want the server's settings") // it may quote a password
	}
	c.MaxConns = 6
	if change != nil {
		change(c)
	}
	pool, err := pgxpool.NewWithConfig(context.Background(), c)
	if err != nil {
		tb.Fatalf("NewWithConfig: got %v, want nil", err)
	}
	tb.Cleanup(pool.Close)
	return pool
}

func (d *onPostgres) Open(tb testing.TB, o Options) sessionstore.SessionStore {
	tb.Helper()
	pool := d.pool(tb, func(c *pgxpool.Config) {
		c.ConnConfig.RuntimeParams["application_name"] = d.schema
		c.ConnConfig.DialFunc = o.dial
	})
	s, err := postgres.New(pool, &postgres.Options{Schema: d.schema, Namespace: o.Namespace, Now: o.Now})
	return closing(tb, s, err)
}

func (d *onPostgres) Kill(ctx context.Context) error {
	_, err := d.admin.Exec(ctx, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1 AND pid <> pg_backend_pid()", d.schema)
	return err
}
