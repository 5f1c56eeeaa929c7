package formats_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/sessionstore/sessionstore/formats"
)

// realFile opens one of the conversation files that nobody here wrote. They lie beside
// the repository, in shared/data, and not everyone has them.
func realFile(t *testing.T, name string) *os.File {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		f, err := os.Open(filepath.Join(dir, "shared", "data", name))
		if err == nil {
			t.Cleanup(func() { f.Close() })
			return f
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			t.Skipf("needs %s in a folder shared/data beside the repository; the same formats are tested with files under testdata", name)
		}
		dir = parent
	}
}

func TestRealFiles(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		format, file       string
		sessions, messages int64
		systems            int
	}{
		{"sharegpt", "sharegpt-toolcalls.json", 300, 1914, 0},
		{"openai", "openai-finetune.jsonl", 4, 13, 3},
		{"python", "python-dicts.jsonl", 6, 10, 1},
	} {
		t.Run(tc.file, func(t *testing.T) {
			t.Parallel()
			store := newStore(t)
			want := formats.Report{Sessions: tc.sessions, Messages: tc.messages}
			importFile(t, store, tc.format, realFile(t, tc.file), want)
			importFile(t, store, tc.format, realFile(t, tc.file), formats.Report{Skipped: tc.sessions})

			systems := 0
			var messages int64
			for _, s := range allSessions(t, store) {
				if s.System != "" {
					systems++
				}
				got := history(t, store, s.ID)
				messages += int64(len(got))
				checkPairs(t, s.ID, got)
			}
			if systems != tc.systems || messages != tc.messages {
				t.Errorf("got %d systems and %d messages, want %d and %d", systems, messages, tc.systems, tc.messages)
			}
		})
	}
}
