package memory_test

import (
	"testing"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/memory"
	"github.com/sessionstore/sessionstore/storetest"
)

// BenchmarkStore is the store by itself, for benchstat; "make bench" compares it with its
// floors.
func BenchmarkStore(b *testing.B) {
	storetest.Bench(b, storetest.Backend{Open: func(tb testing.TB, c storetest.Config) sessionstore.SessionStore {
		return newStore(tb, &memory.Options{Namespace: c.Namespace, Now: c.Now})
	}})
}
