//go:build unix

package crash

import (
	"fmt"
	"strconv"

	"github.com/sessionstore/sessionstore/internal/testenv"
)

// ClusterNode is a node of a Redis Cluster that finds out within seconds that another one
// is gone. It replicates as Redis does by default: what a master has acknowledged may not
// have reached its replica.
var ClusterNode = &Kind{
	Name: "Redis", ready: "Ready to accept connections",
	command: func(binary, dir string, port int) []string {
		// The bus port is 10,000 higher by default, where systems give ports to clients.
		return []string{binary, "--port", strconv.Itoa(port), "--cluster-port", strconv.Itoa(port - 5000), "--bind", "127.0.0.1", "--dir", dir,
			"--appendonly", "yes", "--appendfsync", "everysec", "--save", "",
			"--cluster-enabled", "yes", "--cluster-node-timeout", "2000", "--cluster-require-full-coverage", "no"}
	},
	url: func(port int) string { return fmt.Sprintf("127.0.0.1:%d", port) },
}

// Pgbouncer pools transactions for the PostgreSQL at host and port.
func Pgbouncer(host, port string) *Kind {
	return &Kind{
		Name: "PgBouncer", Account: "postgres", ready: "process up",
		command: func(binary, _ string, own int) []string {
			return testenv.PgbouncerCommand(binary, own, host, port)
		},
		url: func(port int) string {
			return fmt.Sprintf("postgres://postgres@127.0.0.1:%d/postgres?sslmode=disable", port)
		},
	}
}
