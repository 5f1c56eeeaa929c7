package backends

import (
	"context"
	"path/filepath"
	"testing"

	"go.etcd.io/bbolt"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/bolt"
	"github.com/sessionstore/sessionstore/memory"
)

type inMemory struct{ db *memory.DB }

func memoryData(testing.TB) Data { return inMemory{memory.NewDB()} }

func (d inMemory) Open(tb testing.TB, o Options) sessionstore.SessionStore {
	tb.Helper()
	s, err := memory.New(&memory.Options{DB: d.db, Namespace: o.Namespace, Now: o.Now})
	return closing(tb, s, err)
}

func (inMemory) Kill(context.Context) error { return nil }

type inFile struct{ db *bbolt.DB }

func boltData(tb testing.TB) Data {
	tb.Helper()
	// What is on the disk after a crash is for other tests.
	db, err := bbolt.Open(filepath.Join(tb.TempDir(), "bolt"), 0o600, &bbolt.Options{NoSync: true, NoFreelistSync: true})
	if err != nil {
		tb.Fatalf("bbolt.Open: got %v, want nil", err)
	}
	tb.Cleanup(func() { _ = db.Close() })
	return inFile{db}
}

func (d inFile) Open(tb testing.TB, o Options) sessionstore.SessionStore {
	tb.Helper()
	s, err := bolt.New(d.db, &bolt.Options{Namespace: o.Namespace, Now: o.Now})
	return closing(tb, s, err)
}

func (inFile) Kill(context.Context) error { return nil }
