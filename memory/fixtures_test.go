package memory_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/memory"
)

// benchMessage is a role, about 400 bytes of text and two metadata keys.
func benchMessage(id string) sessionstore.Message {
	m := sessionstore.UserMessage(strings.Repeat("A message of common length. ", 15)[:400])
	m.ID = id
	m.Metadata = sessionstore.Metadata{"model": "m-1", "tokens": int64(113)}
	return m
}

// ids returns n message ids, made beforehand so that both sides of a comparison get theirs
// for nothing.
func ids(prefix string, n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf("%s-%030d", prefix, i)
	}
	return out
}

func newStore(tb testing.TB, opts *memory.Options) *memory.Store {
	tb.Helper()
	store, err := memory.New(opts)
	if err != nil {
		tb.Fatalf("New(%+v) = %v, want a store", opts, err)
	}
	tb.Cleanup(func() { store.Close() })
	return store
}

func create(tb testing.TB, store sessionstore.SessionStore, s sessionstore.Session) sessionstore.Session {
	tb.Helper()
	out, err := store.CreateSession(tb.Context(), s)
	if err != nil {
		tb.Fatalf("CreateSession(%+v) = %v, want nil", s, err)
	}
	return out
}

// fill appends n messages, the ids of which begin with prefix.
func fill(tb testing.TB, store sessionstore.SessionStore, id, prefix string, n int) {
	tb.Helper()
	for done := 0; done < n; {
		batch := make([]sessionstore.Message, min(n-done, sessionstore.MaxAppendMessages))
		for i := range batch {
			batch[i] = benchMessage(fmt.Sprintf("%s-%d", prefix, done+i))
		}
		if _, err := store.AppendMessages(tb.Context(), id, sessionstore.Append{Messages: batch}); err != nil {
			tb.Fatalf("AppendMessages(%q, %d messages) = %v, want nil", id, len(batch), err)
		}
		done += len(batch)
	}
}
