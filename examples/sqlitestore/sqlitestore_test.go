package sqlitestore_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/examples/sqlitestore"
	"github.com/sessionstore/sessionstore/storetest"
)

// fileVar tells a child process of the suite which file its parent tests.
const fileVar = "SQLITESTORE_TEST_FILE"

// TestConformance has all namespaces in one file. Every handle has it open by itself, as
// another process would have, and some are in other processes.
func TestConformance(t *testing.T) {
	t.Parallel()
	path := os.Getenv(fileVar)
	if path == "" {
		path = filepath.Join(t.TempDir(), "50% of #1?.db")
	}
	open := func(tb testing.TB, c storetest.Config) sessionstore.SessionStore {
		s, err := sqlitestore.Open(tb.Context(), path, &sqlitestore.Options{Namespace: c.Namespace, Now: c.Now})
		if err != nil {
			tb.Fatalf("Open: got %v, want nil", err)
		}
		return s
	}
	storetest.Run(t, storetest.Backend{Open: open, Reopen: open, Child: []string{fileVar + "=" + path}})
}
