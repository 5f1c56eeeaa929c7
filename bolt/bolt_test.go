package bolt_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"testing"

	"go.etcd.io/bbolt"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/bolt"
	"github.com/sessionstore/sessionstore/storetest"
)

// files opens database files for the suite: one for all namespaces, or one for each. A
// file is closed with the last store on it, and opened again by the next.
type files struct {
	dir  string
	each bool

	mu   sync.Mutex
	open map[string]*file // by namespace; "" for all
}

type file struct {
	db     *bbolt.DB
	stores int
}

// sharing is a store that lets go of its file when it is closed.
type sharing struct {
	*bolt.Store
	release func() error
}

func (s sharing) Close() error { return errors.Join(s.Store.Close(), s.release()) }

func newFiles(tb testing.TB, each bool) *files {
	return &files{dir: tb.TempDir(), each: each, open: map[string]*file{}}
}

func (f *files) store(tb testing.TB, c storetest.Config) sessionstore.SessionStore {
	f.mu.Lock()
	defer f.mu.Unlock()
	key := ""
	if f.each {
		key = c.Namespace
	}
	at := f.open[key]
	if at == nil {
		path := filepath.Join(f.dir, fmt.Sprintf("%x.db", sha256.Sum256([]byte(key))))
		db, err := bbolt.Open(path, 0o600, nil)
		if err != nil {
			tb.Fatalf("open: got %v, want nil", err)
		}
		at = &file{db: db}
		f.open[key] = at
	}
	s, err := bolt.New(at.db, &bolt.Options{Now: c.Now, Namespace: c.Namespace})
	if err != nil {
		tb.Fatalf("New(namespace %q): got %v, want nil", c.Namespace, err)
	}
	at.stores++
	return sharing{s, sync.OnceValue(func() error {
		f.mu.Lock()
		defer f.mu.Unlock()
		if at.stores--; at.stores > 0 {
			return nil
		}
		delete(f.open, key)
		return at.db.Close()
	})}
}

// TestConformance has every namespace in a file of its own, which it can open again.
func TestConformance(t *testing.T) {
	t.Parallel()
	f := newFiles(t, true)
	storetest.Run(t, storetest.Backend{Open: f.store, Reopen: f.store})
}

// TestConformanceOneFile has all namespaces in one file at the same time.
func TestConformanceOneFile(t *testing.T) {
	t.Parallel()
	f := newFiles(t, false)
	storetest.Run(t, storetest.Backend{Open: f.store})
}
