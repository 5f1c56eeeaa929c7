package bolt_test

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"go.etcd.io/bbolt"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/bolt"
)

// A restore in several transactions leaves in the session's bucket what one transaction
// would have, and writes no large message more than twice.
func TestRestoreOfLargeMessages(t *testing.T) {
	t.Parallel()
	const mib = 1 << 20
	for _, tt := range []struct {
		name  string
		sizes []int
		seqs  func(i int) int64
	}{
		{"two", []int{7 * mib, 7 * mib}, nil},
		{"many", slices.Repeat([]int{5 * mib}, 9), nil},
		{"pairs", slices.Repeat([]int{3 * mib}, 8), nil},
		{"small and large", []int{10, 5 * mib, 10, 10, 3 * mib, 3 * mib, 10, 5 * mib, 10}, nil},
		{"after a truncate", slices.Repeat([]int{5 * mib}, 4), func(i int) int64 { return int64(3*i + 2) }},
		{"small", slices.Repeat([]int{2000}, 5000), nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "s.db")
			db, err := bbolt.Open(path, 0o600, &bbolt.Options{NoSync: true, FreelistType: bbolt.FreelistMapType})
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			store, err := bolt.New(db, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer store.Close()
			at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
			total := 0
			var want []sessionstore.Message
			for i, size := range tt.sizes {
				m := sessionstore.UserMessage(strings.Repeat("\n", size/20) + strings.Repeat("x", size-size/20))
				m.ID, m.SessionID, m.CreatedAt, m.Metadata = fmt.Sprintf("m%d", i), "s", at, sessionstore.Metadata{}
				if m.Seq = int64(i) + 1; tt.seqs != nil {
					m.Seq = tt.seqs(i)
				}
				want = append(want, m)
				total += size
			}
			s := sessionstore.Session{ID: "s", CreatedAt: at, UpdatedAt: at, Version: 1, LastSeq: want[len(want)-1].Seq + 5, MessageCount: int64(len(want))}
			if _, err := store.RestoreSession(t.Context(), s, func(yield func(sessionstore.Message, error) bool) {
				for _, m := range want {
					if !yield(m, nil) {
						return
					}
				}
			}); err != nil {
				t.Fatal(err)
			}
			var got []sessionstore.Message
			for q := (sessionstore.MessageQuery{}); ; {
				page, err := store.ListMessages(t.Context(), "s", q)
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, page.Messages...)
				if !page.HasMore {
					break
				}
				q.AfterSeq = got[len(got)-1].Seq
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("%d messages are not those that were restored, %d", len(got), len(want))
			}
			keys := 0
			if err := db.View(func(tx *bbolt.Tx) error {
				b := tx.Bucket([]byte("sessionstore.sessions:")).Bucket([]byte("s"))
				return b.ForEach(func(_, _ []byte) error { keys++; return nil })
			}); err != nil {
				t.Fatal(err)
			}
			if most := 2*len(want) + 2; keys > most {
				t.Errorf("the session's bucket has %d keys, want at most %d", keys, most)
			}
			info, err := os.Stat(path)
			if err != nil {
				t.Fatal(err)
			}
			// The file grows in steps, and pages are reused once a transaction later.
			if most := int64(3*total + 40*mib); info.Size() > most {
				t.Errorf("the file has %d bytes for %d of messages, want at most %d", info.Size(), total, most)
			}
		})
	}
}

// A message id that comes again after its first message was staged is refused, wherever.
func TestRestoreRefusesRepeatedID(t *testing.T) {
	t.Parallel()
	store, err := bolt.Open(t.Context(), filepath.Join(t.TempDir(), "s.db"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	text := strings.Repeat("x", 3<<20)
	const n = 6
	for first := range n {
		for second := first + 1; second < n; second++ {
			s := sessionstore.Session{ID: "s", CreatedAt: at, UpdatedAt: at, Version: 1, LastSeq: n, MessageCount: n}
			_, err := store.RestoreSession(t.Context(), s, func(yield func(sessionstore.Message, error) bool) {
				for i := range n {
					m := sessionstore.UserMessage(text)
					m.ID, m.Seq, m.CreatedAt = fmt.Sprintf("m%d", i), int64(i)+1, at
					if i == second {
						m.ID = fmt.Sprintf("m%d", first)
					}
					if !yield(m, nil) {
						return
					}
				}
			})
			if err == nil || !strings.Contains(err.Error(), "in the history twice") {
				t.Errorf("messages %d and %d with one id: %v, want a refusal", first, second, err)
			}
		}
	}
}
