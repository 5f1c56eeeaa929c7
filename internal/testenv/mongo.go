package testenv

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// mongoKind is the server that internal/inttest builds, to be found where the Makefile
// puts it. MongoDB itself is used where a variable or a container has it.
var mongoKind = server{
	name:     "MongoDB",
	variable: "SESSIONSTORE_TEST_MONGO",
	binaries: []string{"mongoserver"},
	places:   []string{filepath.Join(Root(), "bin")},
	hint:     "build one (make servers)",
	ready:    "Waiting for connections",
	command: func(bin map[string]string, dir string, port int) []string {
		return []string{bin["mongoserver"], "-addr", fmt.Sprintf("127.0.0.1:%d", port), "-dir", filepath.Join(dir, "data")}
	},
	dsn: func(port int) string { return fmt.Sprintf("mongodb://127.0.0.1:%d/", port) },
}

// Root returns the repository's folder, above the one that the test runs in, or "".
func Root() string {
	dir, err := os.Getwd()
	for err == nil {
		if _, err := os.Stat(filepath.Join(dir, "go.work")); err == nil {
			return dir
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			break
		}
		dir = parent
	}
	return ""
}

var mongo = instance{kind: mongoKind}

// Mongo returns the URI of a MongoDB server, or of a stand-in: FerretDB, behind a proxy
// that makes its writes atomic.
func Mongo(tb testing.TB) string {
	tb.Helper()
	return mongo.get(tb)
}
