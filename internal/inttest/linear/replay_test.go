package linear_test

import (
	"path/filepath"
	"testing"

	"github.com/sessionstore/sessionstore/internal/inttest/linear"
)

// TestReplay checks histories that were kept: those of testdata/good have an order, those
// of testdata/bad, named by what is wrong with them, have none.
func TestReplay(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"good", "bad"} {
		files, err := filepath.Glob(filepath.Join("testdata", kind, "*.json"))
		if err != nil || len(files) == 0 {
			t.Fatalf("histories in testdata/%s: got %q, %v, want some", kind, files, err)
		}
		for _, file := range files {
			calls, err := linear.Load(file)
			if err != nil {
				t.Errorf("Load: got %v, want nil", err)
				continue
			}
			err = linear.Check(calls, t.TempDir())
			if (err == nil) != (kind == "good") {
				t.Errorf("Check of %s: got %v, want it to be %s", file, err, kind)
			}
		}
	}
}
