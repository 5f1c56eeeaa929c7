package formats_test

import (
	"context"
	"fmt"
	"iter"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/formats"
)

// forgetful is a store that takes everything and keeps nothing, so that what is live is
// the importer's.
type forgetful struct {
	sessionstore.SessionStore // nil: another method would be a bug
	restored                  func()
}

func (forgetful) GetSession(context.Context, string) (sessionstore.Session, error) {
	return sessionstore.Session{}, sessionstore.ErrSessionNotFound
}

func (f forgetful) RestoreSession(_ context.Context, s sessionstore.Session, messages iter.Seq2[sessionstore.Message, error]) (sessionstore.Session, error) {
	for _, err := range messages {
		if err != nil {
			return s, err
		}
	}
	f.restored()
	return s, nil
}

// TestBoundedMemory streams 64 MiB through each format and looks at what stays reachable
// while it runs.
func TestBoundedMemory(t *testing.T) {
	const size, bound = 64 << 20, 24 << 20
	text := strings.Repeat("word ", 400)
	for _, tc := range []struct {
		format   string
		sessions int // lines a session in the python format come apart
		line     func(i int) string
	}{
		{"openai", 0, func(i int) string {
			return fmt.Sprintf(`{"messages":[{"role":"user","content":"%d %s"},{"role":"assistant","content":"ok"}]}`, i, text)
		}},
		{"chatgpt", 0, func(i int) string {
			return fmt.Sprintf(`{"id":"%d","mapping":{"a":{"message":{"author":{"role":"user"},"content":{"parts":["%s"]}}},"b":{"parent":"a"},"c":{"parent":"a"}}}`, i, text)
		}},
		{"python", 300, func(i int) string {
			if i < 300 {
				return fmt.Sprintf(`{"session_id":"s%d"}`, i)
			}
			return fmt.Sprintf(`{"session_id":"s%d","role":"user","content":"%d %s"}`, i%300, i, text)
		}},
		{"python", 1, func(i int) string {
			if i == 0 {
				return `{"session_id":"one"}`
			}
			return fmt.Sprintf(`{"session_id":"one","role":"user","content":"%d %s"}`, i, text)
		}},
	} {
		t.Run(fmt.Sprintf("%s/%d", tc.format, tc.sessions), func(t *testing.T) {
			live := func() uint64 {
				var m runtime.MemStats
				runtime.GC()
				runtime.ReadMemStats(&m)
				return m.HeapAlloc
			}
			before := live()
			var most uint64
			n, read := 0, 0
			var mu sync.Mutex // conversations are written by several goroutines
			look := func() { most = max(most, live()) }
			file := lines(t, func(yield func(string) bool) {
				for i := 0; read < size; i++ {
					line := tc.line(i)
					if read += len(line); i%6000 == 0 {
						mu.Lock()
						look()
						mu.Unlock()
					}
					if !yield(line) {
						return
					}
				}
			})
			rep, err := formats.Import(t.Context(), forgetful{restored: func() {
				mu.Lock()
				defer mu.Unlock()
				if n++; n%6000 == 1 {
					look()
				}
			}}, tc.format, file, &formats.Options{TempDir: t.TempDir()})
			if err != nil || rep.Sessions == 0 || rep.Failed != 0 || read < size {
				t.Fatalf("%+v, %v after %d bytes, want all of them imported", rep, err, read)
			}
			if most > before+bound {
				t.Errorf("%d MiB were live, %d before, want at most %d more for a file of %d", most>>20, before>>20, bound>>20, read>>20)
			}
		})
	}
}
