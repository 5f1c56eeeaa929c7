package bolt_test

import (
	"testing"

	"github.com/sessionstore/sessionstore/storetest"
)

// BenchmarkStore is the store by itself, for benchstat; "make bench" compares it with its
// floors.
func BenchmarkStore(b *testing.B) {
	storetest.Bench(b, storetest.Backend{Open: newFiles(b, false).store})
}
