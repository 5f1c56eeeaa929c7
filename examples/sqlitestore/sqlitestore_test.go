package sqlitestore_test

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/examples/sqlitestore"
	"github.com/sessionstore/sessionstore/storetest"
)

var (
	_ sessionstore.SessionStore = (*sqlitestore.Store)(nil)
	_ sessionstore.Forker       = (*sqlitestore.Store)(nil)
	_ sessionstore.Purger       = (*sqlitestore.Store)(nil)
)

// fileVar tells a child process of the suite which file its parent tests.
const fileVar = "SQLITESTORE_TEST_FILE"

// TestConformance has all namespaces in one file. Every handle opens it by itself, as
// another process would, and some handles are in other processes.
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

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "sessions.db")
	for _, c := range []struct {
		path string
		o    *sqlitestore.Options
	}{{"", nil}, {":memory:", nil}, {file, &sqlitestore.Options{Namespace: "a\nb"}}} {
		if _, err := sqlitestore.Open(t.Context(), c.path, c.o); !errors.Is(err, sessionstore.ErrInvalid) {
			t.Errorf("Open(%q, %+v): got %v, want ErrInvalid", c.path, c.o, err)
		}
	}
	if _, err := sqlitestore.Open(t.Context(), t.TempDir(), nil); err == nil {
		t.Error("Open of a directory: got nil, want an error")
	}
	db, err := sql.Open("sqlite", file)
	if err != nil {
		t.Fatalf("sql.Open: got %v, want nil", err)
	}
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), `PRAGMA user_version = 2`); err != nil {
		t.Fatalf("setting user_version: got %v, want nil", err)
	}
	if _, err := sqlitestore.Open(t.Context(), file, nil); !errors.Is(err, sessionstore.ErrSchemaTooNew) {
		t.Errorf("Open of a file with schema 2: got %v, want ErrSchemaTooNew", err)
	}
}

// TestOpenTogether opens a file that is not there yet by several handles at once.
func TestOpenTogether(t *testing.T) {
	t.Parallel()
	for round := range 5 {
		file := filepath.Join(t.TempDir(), fmt.Sprint(round, ".db"))
		gate := make(chan struct{})
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() {
				<-gate
				s, err := sqlitestore.Open(t.Context(), file, nil)
				if err != nil {
					t.Errorf("Open, eight at once: got %v, want nil", err)
					return
				}
				defer s.Close()
				if _, err := s.CreateSession(t.Context(), sessionstore.Session{ID: fmt.Sprint(i)}); err != nil {
					t.Errorf("CreateSession after it: got %v, want nil", err)
				}
			})
		}
		close(gate)
		wg.Wait()
	}
}

// TestSize keeps the promise that a store over a SQL database needs less than 400 lines.
func TestSize(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatalf("Glob: got %v, want nil", err)
	}
	lines := 0
	for _, f := range files {
		if strings.HasSuffix(f, "_test.go") {
			continue
		}
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatalf("ReadFile: got %v, want nil", err)
		}
		lines += bytes.Count(text, []byte("\n"))
	}
	if lines == 0 || lines >= 400 {
		t.Errorf("lines of Go, comments included: got %d, want fewer than 400", lines)
	}
}
