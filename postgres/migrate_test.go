package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/internal/testenv"
	"github.com/sessionstore/sessionstore/postgres"
)

// url is what Open takes for the database.
func (d *database) url(options string) string {
	return d.dsn + "&schema=" + url.QueryEscape(d.schema) + options
}

// emptyDatabase is a schema that does not exist yet.
func emptyDatabase(t *testing.T, name string) *database {
	d := &database{dsn: testenv.Postgres(t), schema: name, pools: map[sessionstore.SessionStore]*pgxpool.Pool{}}
	drop := func() { d.exec(t, "DROP SCHEMA IF EXISTS "+pgx.Identifier{name}.Sanitize()+" CASCADE") }
	drop()
	t.Cleanup(drop)
	return d
}

// TestOpenTogether is field report O04: replicas that start at once on an empty database.
func TestOpenTogether(t *testing.T) {
	t.Parallel()
	d := emptyDatabase(t, "open together")
	const n = 16
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			s, err := sessionstore.Open(t.Context(), d.url("&pool_max_conns=1&namespace=n"))
			if err == nil {
				_, err = s.CreateSession(t.Context(), sessionstore.Session{ID: fmt.Sprint("s", i)})
				err = errors.Join(err, s.Close())
			}
			errs[i] = err
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Errorf("%d times Open at once: got %v, want nil", n, err)
	}
	if got, want := d.count(t, "SELECT count(*) FROM @schema_version"), 1; got != want {
		t.Errorf("rows of schema_version: got %d, want %d", got, want)
	}
	if got := d.count(t, "SELECT count(*) FROM @sessions WHERE namespace = 'n'"); got != n {
		t.Errorf("sessions: got %d, want %d", got, n)
	}
	s, err := sessionstore.Open(t.Context(), d.url("&migrate=off"))
	if err != nil {
		t.Fatalf("Open(migrate=off) of a schema that is there: got %v, want nil", err)
	}
	if err := errors.Join(s.Close(), s.Close()); err != nil {
		t.Errorf("Close twice: got %v, want nil", err)
	}
}

// TestSchemaMissing says what to do.
func TestSchemaMissing(t *testing.T) {
	t.Parallel()
	d := emptyDatabase(t, "schema missing")
	_, err := sessionstore.Open(t.Context(), d.url("&migrate=off"))
	if err == nil || !strings.Contains(err.Error(), "Migrate") {
		t.Errorf("Open(migrate=off): got %v, want an error that names Migrate", err)
	}
	var old *sessionstore.SchemaError
	if !errors.Is(err, sessionstore.ErrSchemaTooOld) || !errors.As(err, &old) || old.Version != 0 || old.Needed < 1 {
		t.Errorf("Open(migrate=off): got %v, want ErrSchemaTooOld, from version 0", err)
	}
	_, err = d.store(t, nil).GetSession(t.Context(), "s")
	if err == nil || !strings.Contains(err.Error(), "Migrate") {
		t.Errorf("GetSession: got %v, want an error that names Migrate", err)
	}
}

// TestNewerSchema is field report O05: a program on the schema of a newer one.
func TestNewerSchema(t *testing.T) {
	t.Parallel()
	d := newDatabase(t, nil)
	d.count(t, "WITH i AS (INSERT INTO @schema_version (version) VALUES (99) RETURNING 1) SELECT count(*) FROM i")
	if err := d.store(t, nil).Migrate(t.Context()); !errors.Is(err, sessionstore.ErrSchemaTooNew) {
		t.Errorf("Migrate: got %v, want ErrSchemaTooNew", err)
	}
	for _, options := range []string{"", "&migrate=off"} {
		s, err := sessionstore.Open(t.Context(), d.url(options))
		if !errors.Is(err, sessionstore.ErrSchemaTooNew) {
			t.Errorf("Open(%q): got %v, %v, want ErrSchemaTooNew", options, s, err)
		}
	}
}

// TestNewerRecord has a session that a newer program wrote.
func TestNewerRecord(t *testing.T) {
	t.Parallel()
	d := newDatabase(t, nil)
	now := time.Now()
	s := d.store(t, &postgres.Options{Now: func() time.Time { return now }})
	ctx := t.Context()
	must[sessionstore.Session](t)(s.CreateSession(ctx, sessionstore.Session{ID: "s", TTL: time.Hour}))
	must[[]sessionstore.Message](t)(s.AppendMessages(ctx, "s", say("1", "2")))
	d.count(t, `WITH u AS (UPDATE @sessions SET format = 2, body = '{"new": true}' RETURNING 1) SELECT count(*) FROM u`)
	was := d.count(t, "SELECT hashtext(s::text) FROM @sessions s")
	system := "x"
	for name, call := range map[string]func() error{
		"GetSession": func() error { _, err := s.GetSession(ctx, "s"); return err },
		"UpdateSession": func() error {
			_, err := s.UpdateSession(ctx, "s", sessionstore.SessionUpdate{System: &system})
			return err
		},
		"DeleteSession":       func() error { return s.DeleteSession(ctx, "s") },
		"ListSessions":        func() error { _, err := s.ListSessions(ctx, sessionstore.SessionQuery{}); return err },
		"AppendMessages":      func() error { _, err := s.AppendMessages(ctx, "s", say("3")); return err },
		"AppendMessages of 2": func() error { _, err := s.AppendMessages(ctx, "s", say("3", "4")); return err },
		"ListMessages": func() error {
			_, err := s.ListMessages(ctx, "s", sessionstore.MessageQuery{})
			return err
		},
		"TruncateMessages": func() error { _, err := s.TruncateMessages(ctx, "s", sessionstore.Truncate{}); return err },
		"ForkSession":      func() error { _, err := s.ForkSession(ctx, "s", sessionstore.Fork{}); return err },
	} {
		if err := call(); !errors.Is(err, sessionstore.ErrSchemaTooNew) {
			t.Errorf("%s: got %v, want ErrSchemaTooNew", name, err)
		}
	}
	now = now.Add(2 * time.Hour)
	if n, err := s.PurgeExpired(ctx, 0); n != 0 || err != nil {
		t.Errorf("PurgeExpired: got %d, %v, want 0, nil", n, err)
	}
	if got := d.count(t, "SELECT hashtext(s::text) FROM @sessions s"); got != was {
		t.Errorf("the session's row: got a changed one, want it as it was")
	}
	if got := d.count(t, "SELECT count(*) FROM @messages"); got != 2 {
		t.Errorf("messages: got %d, want 2", got)
	}
}

// TestCredentials is field report O06: errors that show a password.
func TestCredentials(t *testing.T) {
	t.Parallel()
	const secret, escaped = "S3cr&t!", "S3cr%26t%21"
	for _, url := range []string{
		"postgres://u:" + escaped + "@bad host:5432/db",
		"postgres://u:" + escaped + "@127.0.0.1:port/db",
		"postgres://u:" + escaped + "@127.0.0.1:1/db",
		"postgres://u:" + escaped + "@127.0.0.1:1/db?sslmode=nonsense",
		"postgres://u:" + escaped + "@127.0.0.1:1/db?pool_max_conns=" + escaped,
		"postgres://u:" + escaped + "@127.0.0.1:1/db?migrate=" + escaped[:4],
		"postgres://u:" + escaped + "@[::1/db",
		"postgres://u:" + escaped + "%zz@127.0.0.1:1/db",
		"postgres://127.0.0.1:1/db?user=u&password=" + escaped,
		"postgres://127.0.0.1:1/db?password=" + escaped + ";x",
		"postgres://127.0.0.1:1/db?sslmode=require&sslpassword=" + escaped + "&sslcert=/none&sslkey=/none",
		"postgresql://u:" + escaped + "@127.0.0.1:1,127.0.0.1:2/db?timeout=1s",
		testenv.Postgres(t) + "&default_query_exec_mode=" + escaped,
		strings.Replace(testenv.Postgres(t), "postgres@", "nobody-there:"+escaped+"@", 1),
	} {
		testenv.OpenHides(t, url, secret, escaped, "S3cr")
	}
}

// TestNew refuses what cannot work.
func TestNew(t *testing.T) {
	t.Parallel()
	pool := emptyDatabase(t, "new").pool(t)
	for name, o := range map[string]*postgres.Options{
		"a namespace with a newline": {Namespace: "a\nb"},
		"a schema with a NUL":        {Schema: "a\x00b"},
		"a schema of 64 bytes":       {Schema: strings.Repeat("s", 64)},
	} {
		if _, err := postgres.New(pool, o); !errors.Is(err, sessionstore.ErrInvalid) {
			t.Errorf("New with %s: got %v, want ErrInvalid", name, err)
		}
	}
	if _, err := postgres.New(nil, nil); !errors.Is(err, sessionstore.ErrInvalid) {
		t.Errorf("New without a pool: got %v, want ErrInvalid", err)
	}
}

// TestNoConnection has all connections in use: a context ends the wait.
func TestNoConnection(t *testing.T) {
	t.Parallel()
	d := newDatabase(t, nil)
	s := d.store(t, nil)
	pool := d.pools[s]
	for range pool.Config().MaxConns {
		conn, err := pool.Acquire(t.Context())
		if err != nil {
			t.Fatalf("Acquire: got %v, want nil", err)
		}
		defer conn.Release()
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := s.GetSession(ctx, "s"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("GetSession with no connection free: got %v, want the context's error", err)
	}
}
