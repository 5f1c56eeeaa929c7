package formats_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/internal/stories"
)

// TestAnyHistoryIsExported: whatever an agent left behind goes out as the APIs take it.
func TestAnyHistoryIsExported(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		history := stories.Histories().Draw(r, "history")
		store := newStore(t)
		defer store.Close()
		m := sessionstore.NewManager(store, nil)
		s, err := m.Start(t.Context(), sessionstore.Session{System: rapid.SampledFrom([]string{"", "be kind"}).Draw(r, "system")})
		if err != nil {
			r.Fatalf("Start() = %v", err)
		}
		if _, err := m.Append(t.Context(), s.ID, history...); err != nil {
			r.Fatalf("Append() = %v", err)
		}
		surviveExport(t, store, string(stories.JSON(r, history)))
	})
}
