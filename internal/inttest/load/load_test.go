package load_test

import (
	"testing"
	"time"

	"github.com/sessionstore/sessionstore/internal/inttest/load"
	"github.com/sessionstore/sessionstore/memory"
)

// The measurements themselves, on a store that needs no server. How fast it is, is not
// judged here.
func TestFlat(t *testing.T) {
	t.Parallel()
	store, err := memory.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	r, err := load.Flat(t.Context(), store, nil, load.Config{
		Size: load.Size{Sessions: 5000, Messages: 15_000}, Calls: 100, Progress: t.Logf,
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Operations) != 4 {
		t.Fatalf("measured %d operations, want 4", len(r.Operations))
	}
	for _, op := range r.Operations {
		for i := range 2 {
			if op.P50[i] <= 0 || op.P99[i] < op.P50[i] {
				t.Errorf("%s: p50 %v, p99 %v; want times, the second one greater", op.Name, op.P50, op.P99)
			}
		}
	}
}

func TestSoak(t *testing.T) {
	t.Parallel()
	store, err := memory.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	samples, err := load.Soak(t.Context(), store, time.Second, 100*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	if len(samples) == 0 || samples[len(samples)-1].Calls == 0 {
		t.Errorf("got %d samples, want some, with calls", len(samples))
	}
}
