package testenv

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"testing"
)

var postgresKind = server{
	name:     "PostgreSQL",
	variable: "SESSIONSTORE_TEST_POSTGRES",
	binaries: []string{"postgres", "initdb"},
	places:   []string{"/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/opt/homebrew/opt/postgresql*/bin"},
	install:  "postgresql",
	ready:    "database system is ready to accept connections",
	account:  "postgres", // it refuses to run as root
	prepare: func(bin map[string]string, dir string) *exec.Cmd {
		return exec.CommandContext(context.Background(), bin["initdb"], "-D", filepath.Join(dir, "data"), "-U", "postgres",
			"--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync")
	},
	// Without fsync: what is durable after a power cut is PostgreSQL's to test.
	command: func(bin map[string]string, dir string, port int) []string {
		return []string{bin["postgres"], "-D", filepath.Join(dir, "data"), "-p", fmt.Sprint(port),
			"-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=", "-c", "lc_messages=C",
			"-c", "max_connections=400", "-c", "fsync=off", "-c", "full_page_writes=off"}
	},
	dsn: func(port int) string {
		return fmt.Sprintf("postgres://postgres@127.0.0.1:%d/postgres?sslmode=disable", port)
	},
}

var postgres = instance{kind: postgresKind}

// Postgres returns the URL of a PostgreSQL server, as a role that may create schemas.
func Postgres(tb testing.TB) string {
	tb.Helper()
	return postgres.get(tb)
}
