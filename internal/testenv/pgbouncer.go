package testenv

import (
	"fmt"
	"net/url"
	"testing"
)

var pgbouncerKind = server{
	name:     "PgBouncer",
	variable: "SESSIONSTORE_TEST_PGBOUNCER",
	binaries: []string{"pgbouncer"},
	places:   []string{"/usr/sbin", "/usr/local/sbin", "/opt/homebrew/bin"},
	install:  "pgbouncer",
	ready:    "process up",
	account:  "postgres", // it refuses to run as root
	dsn: func(port int) string {
		return fmt.Sprintf("postgres://postgres@127.0.0.1:%d/postgres?sslmode=disable", port)
	},
}

// PgbouncerCommand is the command line of a PgBouncer at a port, which pools by transaction
// for the server at host and serverPort. Its settings come in a file only, which its account
// has to be able to read: it is written to the folder that it is started in.
func PgbouncerCommand(binary string, port int, host, serverPort string) []string {
	ini := fmt.Sprintf(`[databases]
postgres = host=%s port=%s user=postgres
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = %d
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 20
max_client_conn = 1000
`, host, serverPort, port)
	return []string{"/bin/sh", "-c", `printf %s "$2" >pgbouncer.ini && exec "$1" pgbouncer.ini`, "sh", binary, ini}
}

var pgbouncer = instance{kind: pgbouncerKind}

// Pgbouncer returns the URL of a PgBouncer that pools transactions, before the server
// that Postgres starts. That must be one that needs no password, so with a server of the
// environment it takes SESSIONSTORE_TEST_PGBOUNCER too.
func Pgbouncer(tb testing.TB) string {
	tb.Helper()
	server, err := url.Parse(Postgres(tb))
	if err != nil {
		tb.Fatal("the URL of the PostgreSQL server does not parse") // not shown: it may hold a password
	}
	pgbouncer.once.Do(func() {
		kind := pgbouncer.kind
		kind.command = func(bin map[string]string, _ string, port int) []string {
			return PgbouncerCommand(bin["pgbouncer"], port, server.Hostname(), server.Port())
		}
		pgbouncer.dsn, pgbouncer.err = kind.find()
	})
	return pgbouncer.get(tb)
}
