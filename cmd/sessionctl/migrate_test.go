package main

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/internal/testenv"
	"github.com/sessionstore/sessionstore/memory"
)

// aged is a backend whose data has a schema of a version.
type aged struct{ version, needed int }

func (a *aged) open(_ context.Context, rawURL string) (sessionstore.SessionStore, error) {
	off := strings.Contains(rawURL, "migrate=off")
	switch {
	case a.version > a.needed:
		return nil, fmt.Errorf("version %d: %w", a.version, sessionstore.ErrSchemaTooNew)
	case a.version < a.needed && off:
		return nil, fmt.Errorf("aged: %w", &sessionstore.SchemaError{Version: a.version, Needed: a.needed})
	}
	a.version = a.needed
	return memory.New(nil)
}

func TestMigrate(t *testing.T) {
	t.Parallel()
	data := &aged{2, 5}
	store := register("aged", data.open)
	want := func(version, code int, out, err string, args ...string) {
		t.Helper()
		r := call(t, "", append([]string{"migrate"}, args...)...)
		if r.code != code || r.out != out || r.err != err || data.version != version {
			t.Errorf("migrate %q: exit status %d, output %q, standard error %q, and the version is %d; want %d, %q, %q, and %d",
				args, r.code, r.out, r.err, data.version, code, out, err, version)
		}
	}
	pending := "sessionctl: migrate: " + store + ": schema version 2, this program needs 5\n"
	off := store + "?x=y&migrate=off"
	want(2, exitFailed, "", pending, "--check", "--store", store)
	want(2, exitFailed, `{"up_to_date":false,"from":2,"to":5}`+"\n", pending, "--check", "--json", "--store", off)
	want(5, exitOK, store+": migrated from version 2 to 5\n", "", "--store", off)
	want(5, exitOK, store+": up to date, nothing to do\n", "", "--store", off)
	want(5, exitOK, store+": up to date, nothing to do\n", "", "--check", "--store", store)
	want(5, exitOK, `{"up_to_date":true}`+"\n", "", "--check", "--json", "--store", store)
	data.version = 2
	want(5, exitOK, `{"up_to_date":true,"from":2,"to":5}`+"\n", "", "--json", "--store", store)
	data.version = 6
	for _, args := range [][]string{{"migrate"}, {"migrate", "--check"}} {
		r := call(t, "", append(args, "--store", store)...)
		newCLI(t).complains(r, exitFailed, []string{"newer version"}, args)
	}
}

// A store without a schema has nothing to migrate, and one that is missing is not made.
func TestMigrateWithoutASchema(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	c.fails(exitFailed, []string{"s.db does not exist"}, "migrate")
	c.fails(exitFailed, []string{"s.db does not exist"}, "migrate", "--check")
	c.noFiles()
	c.ok("new")
	for _, url := range []string{c.url, c.url + "?migrate=off", "memory:", "memory:?namespace=n"} {
		for _, check := range []string{"--check", "--check=false"} {
			if r := call(t, "", "migrate", "--store", url, check); r.code != exitOK || r.err != "" || !strings.HasSuffix(r.out, ": up to date, nothing to do\n") {
				t.Errorf("migrate %s of %s: exit status %d, output %q, standard error %q; want 0 and nothing to do", check, url, r.code, r.out, r.err)
			}
		}
	}
	r := call(t, "", "migrate", "--store", "memory:?migrate=on")
	if r.code != exitOK {
		t.Errorf("migrate of a URL with migrate=on: exit status %d, standard error %q; want 0, the command says what is done", r.code, r.err)
	}
}

// A deployment that migrates apart: its programs are refused until it has.
func TestMigratePostgres(t *testing.T) {
	t.Parallel()
	dsn := testenv.Postgres(t)
	const schema = "sessionctl migrate"
	drop := func() {
		conn, err := pgx.Connect(context.WithoutCancel(t.Context()), dsn)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close(context.WithoutCancel(t.Context()))
		if _, err := conn.Exec(context.WithoutCancel(t.Context()), "DROP SCHEMA IF EXISTS "+pgx.Identifier{schema}.Sanitize()+" CASCADE"); err != nil {
			t.Error(err)
		}
	}
	drop()
	t.Cleanup(drop)
	c := &cli{T: t, url: dsn + "&schema=" + url.QueryEscape(schema) + "&migrate=off"}
	c.fails(exitFailed, []string{"schema version 0"}, "ls")
	c.fails(exitFailed, []string{"migrate: postgres://", "schema version 0"}, "migrate", "--check")
	c.fails(exitFailed, []string{"schema version 0"}, "ls")
	if got := c.ok("migrate"); !strings.Contains(got, ": migrated from version 0 to ") {
		t.Errorf("migrate printed %q, want that it migrated from version 0", got)
	}
	c.ok("new", "--id", "s")
	for _, args := range [][]string{{"migrate"}, {"migrate", "--check"}} {
		if got := c.ok(args...); !strings.HasSuffix(got, ": up to date, nothing to do\n") {
			t.Errorf("sessionctl %q printed %q, want nothing to do", args, got)
		}
	}
	c.ok("show", "s")
}

func TestOptionsOfAURL(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ url, with, without string }{
		{"bolt:s.db", "bolt:s.db?migrate=off", "bolt:s.db"},
		{"bolt:s.db?", "bolt:s.db?migrate=off", "bolt:s.db?"},
		{"bolt:s.db?migrate=off", "bolt:s.db?migrate=off", "bolt:s.db?"},
		{"postgres://u:p%3F@h/d?a=1&migrate=x&b=%20&migrate", "postgres://u:p%3F@h/d?a=1&b=%20&migrate=off", "postgres://u:p%3F@h/d?a=1&b=%20"},
		{"redis://h?%6digrate=off&migrated=1", "redis://h?migrated=1&migrate=off", "redis://h?migrated=1"},
	} {
		if got := withOption(tt.url, "migrate", "off"); got != tt.with {
			t.Errorf("withOption(%q, migrate, off) = %q, want %q", tt.url, got, tt.with)
		}
		if got := withoutOption(tt.url, "migrate"); got != tt.without {
			t.Errorf("withoutOption(%q, migrate) = %q, want %q", tt.url, got, tt.without)
		}
	}
}
