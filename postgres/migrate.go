package postgres

import (
	"context"
	"embed"
	"fmt"
	"hash/fnv"
	"io/fs"

	"github.com/jackc/pgx/v5"

	"github.com/sessionstore/sessionstore"
)

// migrations are the steps from one version of the schema to the next, named by the
// version that they make. A released one never changes.
//
//go:embed migrations/*.sql
var migrations embed.FS

// querier is a pool or a transaction.
type querier interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// Migrate makes the tables, or brings them to the version of this package: all steps or
// none, in one transaction. Any number of processes may do so at the same time; a schema
// that is up to date is only looked at. It needs a role that may create the schema, or
// create tables in it if it is there. Errors: ErrSchemaTooNew.
func (s *Store) Migrate(ctx context.Context) error {
	if err := s.migrate(ctx); err != nil {
		return fmt.Errorf("postgres: migrate schema %q: %w", s.schema, err)
	}
	return nil
}

func (s *Store) migrate(ctx context.Context) error {
	if err := s.scope.Enter(ctx); err != nil {
		return err
	}
	defer s.scope.Leave()
	steps, err := readSteps()
	if err != nil {
		return err
	}
	return retry(ctx, func() error {
		at, err := s.version(ctx, s.pool, len(steps))
		if err != nil || at == len(steps) {
			return err
		}
		// Not the default isolation: what another process has made while this one waited for
		// the lock must be seen.
		o := pgx.TxOptions{IsoLevel: pgx.ReadCommitted, AccessMode: pgx.ReadWrite}
		return pgx.BeginTxFunc(ctx, s.pool, o, func(tx pgx.Tx) error { return s.apply(ctx, tx, steps) })
	})
}

// checkSchema returns an error unless the schema has the version of this package. Errors:
// ErrSchemaTooOld, ErrSchemaTooNew.
func (s *Store) checkSchema(ctx context.Context) error {
	steps, err := readSteps()
	if err != nil {
		return err
	}
	return retry(ctx, func() error {
		at, err := s.version(ctx, s.pool, len(steps))
		if err == nil && at < len(steps) {
			err = fmt.Errorf("postgres: run Migrate on schema %q: %w", s.schema, &sessionstore.SchemaError{Version: at, Needed: len(steps)})
		}
		return err
	})
}

// version is that of the schema; 0: there are no tables yet.
func (s *Store) version(ctx context.Context, q querier, latest int) (at int, err error) {
	table := pgx.Identifier{s.schema, "schema_version"}.Sanitize()
	var there bool
	// Not to_regclass, which within a transaction may not know yet what another one made.
	if err := q.QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
		WHERE n.nspname = $1::text AND c.relname = 'schema_version')`, s.schema).Scan(&there); err != nil || !there {
		return 0, err
	}
	if err := q.QueryRow(ctx, "SELECT COALESCE(max(version), 0) FROM "+table).Scan(&at); err != nil {
		return 0, err
	}
	if at > latest {
		return at, fmt.Errorf("schema version %d, this package knows up to %d: %w", at, latest, sessionstore.ErrSchemaTooNew)
	}
	return at, nil
}

// apply runs the steps that are missing.
func (s *Store) apply(ctx context.Context, tx pgx.Tx, steps []string) error {
	key := fnv.New64a()
	fmt.Fprintf(key, "sessionstore migrations of %s", s.schema)
	if _, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock($1::bigint)", int64(key.Sum64())); err != nil {
		return err
	}
	at, err := s.version(ctx, tx, len(steps))
	if err != nil {
		return err
	}
	if at == 0 {
		if err := s.createSchema(ctx, tx); err != nil {
			return err
		}
	}
	for ; at < len(steps); at++ {
		// Without arguments the simple protocol takes several statements at once.
		if _, err := tx.Exec(ctx, write(steps[at], s.schema, ""), pgx.QueryExecModeSimpleProtocol); err != nil {
			return fmt.Errorf("to version %d: %w", at+1, err)
		}
		insert := "INSERT INTO " + pgx.Identifier{s.schema, "schema_version"}.Sanitize() + " (version) VALUES ($1::integer)"
		if _, err := tx.Exec(ctx, insert, at+1); err != nil {
			return err
		}
	}
	return nil
}

// createSchema makes the schema, unless it is there for a role that may only make tables
// in it, and the table of versions.
func (s *Store) createSchema(ctx context.Context, tx pgx.Tx) error {
	var encoding string
	var there bool
	ident := pgx.Identifier{s.schema}.Sanitize()
	err := tx.QueryRow(ctx, `SELECT current_setting('server_encoding'),
		EXISTS (SELECT 1 FROM pg_catalog.pg_namespace WHERE nspname = $1::text)`, s.schema).Scan(&encoding, &there)
	if err != nil {
		return err
	}
	if encoding != "UTF8" {
		return fmt.Errorf("the database has the encoding %s, and must have UTF8", encoding)
	}
	if !there {
		if _, err := tx.Exec(ctx, "CREATE SCHEMA "+ident); err != nil {
			return err
		}
	}
	_, err = tx.Exec(ctx, "CREATE TABLE "+ident+".schema_version (version integer PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT now())")
	return err
}

// readSteps returns the migrations in their order.
func readSteps() ([]string, error) {
	names, err := fs.Glob(migrations, "migrations/*.sql")
	if err != nil {
		return nil, err
	}
	steps := make([]string, len(names))
	for i, name := range names {
		var n int
		if _, err := fmt.Sscanf(name, "migrations/%04d_", &n); err != nil || n != i+1 {
			return nil, fmt.Errorf("migration %q: its number should be %d", name, i+1)
		}
		b, err := migrations.ReadFile(name)
		if err != nil {
			return nil, err
		}
		steps[i] = string(b)
	}
	return steps, nil
}
