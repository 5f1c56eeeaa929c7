package memory_test

import (
	"testing"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/memory"
	"github.com/sessionstore/sessionstore/storetest"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	db := memory.NewDB()
	storetest.Run(t, storetest.Backend{
		Open: func(tb testing.TB, c storetest.Config) sessionstore.SessionStore {
			store, err := memory.New(&memory.Options{DB: db, Namespace: c.Namespace, Now: c.Now})
			if err != nil {
				tb.Fatalf("New(namespace %q) = %v, want a store", c.Namespace, err)
			}
			return store
		},
	})
}
