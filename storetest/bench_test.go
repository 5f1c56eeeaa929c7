package storetest_test

import (
	"testing"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/memory"
	"github.com/sessionstore/sessionstore/storetest"
)

func BenchmarkMemory(b *testing.B) {
	db := memory.NewDB()
	storetest.Bench(b, storetest.Backend{Open: func(tb testing.TB, c storetest.Config) sessionstore.SessionStore {
		s, err := memory.New(&memory.Options{DB: db, Namespace: c.Namespace, Now: c.Now})
		if err != nil {
			tb.Fatalf("memory.New(%q): got %v, want nil", c.Namespace, err)
		}
		return s
	}})
}
