package bolt_test

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.etcd.io/bbolt"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/bolt"
)

// mapped returns how many bytes of the file are in this process's resident memory.
func mapped(t *testing.T, path string) (bytesResident int) {
	t.Helper()
	smaps, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		t.Skipf("needs /proc/self/smaps: %v", err)
	}
	ours := false
	for lines := bufio.NewScanner(bytes.NewReader(smaps)); lines.Scan(); {
		line := lines.Text()
		if first, _, _ := strings.Cut(line, " "); !strings.HasSuffix(first, ":") {
			ours = strings.HasSuffix(line, path)
		} else if ours && first == "Rss:" {
			var kb int
			if _, err := fmt.Sscanf(line, "Rss: %d kB", &kb); err != nil {
				t.Fatalf("%q: %v", line, err)
			}
			bytesResident += kb << 10
		}
	}
	return bytesResident
}

// Restoring many sessions does not take as much memory as the file is long.
func TestRestoreStaysSmall(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "many.db")
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{NoSync: true, FreelistType: bbolt.FreelistMapType})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	s, err := bolt.New(db, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	text := strings.Repeat("x", 2<<10)
	most := 0
	for i := range 12000 {
		// Ids in no order, as hashes are.
		id := fmt.Sprintf("%08x", uint32(i)*2654435761)
		m := sessionstore.UserMessage(text)
		m.ID, m.Seq, m.CreatedAt = "m", 1, at
		_, err := s.RestoreSession(t.Context(), sessionstore.Session{ID: id, CreatedAt: at, UpdatedAt: at, LastSeq: 1, MessageCount: 1, Version: 1},
			func(yield func(sessionstore.Message, error) bool) { yield(m, nil) })
		if err != nil {
			t.Fatal(err)
		}
		if i%500 == 0 {
			most = max(most, mapped(t, path))
		}
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if most > 8<<20 || info.Size() < 40<<20 {
		t.Errorf("%d KiB of a file of %d MiB were in memory, want at most 8 MiB of at least 40", most>>10, info.Size()>>20)
	}
}
