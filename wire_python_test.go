package sessionstore_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/sessionstore/sessionstore"
)

var update = flag.Bool("update", false, "write the golden files anew")

// What Python wrote is read, and written as the golden files say. Both lie under
// testdata/python; make.py there wrote the former.
func TestPythonFiles(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		keys   []string // that Python's constructors require, in any case
		recode func([]byte) ([]byte, error)
	}{
		{
			"sessions", []string{"session_id", "agent_name", "status", "metadata", "created_at", "updated_at"},
			func(b []byte) ([]byte, error) {
				s, err := sessionstore.DecodeSession(b)
				if err != nil {
					return nil, err
				}
				return s.AppendJSON(nil)
			},
		},
		{
			"messages", []string{"message_id", "session_id", "role", "content", "tool_call_id", "agent_name", "created_at", "metadata"},
			func(b []byte) ([]byte, error) {
				m, err := sessionstore.DecodeMessage(b)
				if err != nil {
					return nil, err
				}
				return m.AppendJSON(nil)
			},
		},
	} {
		var got []byte
		for line := range bytes.Lines(readFile(t, tt.name+".jsonl")) {
			out, err := tt.recode(line)
			if err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			again, err := tt.recode(out)
			if err != nil || !bytes.Equal(again, out) {
				t.Errorf("written %s, then %s, %v", out, again, err)
			}
			checkPythonReads(t, out, tt.keys)
			got = append(append(got, out...), '\n')
		}
		golden := filepath.Join("testdata", "python", tt.name+".golden.jsonl")
		if *update {
			if err := os.WriteFile(golden, got, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if want := readFile(t, tt.name+".golden.jsonl"); !bytes.Equal(got, want) {
			t.Errorf("%s: got\n%s\nwant\n%s", tt.name, got, want)
		}
	}
}

func readFile(t *testing.T, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", "python", name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// What fromisoformat of Python 3.7 reads, which is stricter than that of 3.11.
var fromISOFormat = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}\+00:00$`)

func checkPythonReads(t *testing.T, record []byte, keys []string) {
	t.Helper()
	var m map[string]any
	if err := json.Unmarshal(record, &m); err != nil {
		t.Fatalf("%s: %v", record, err)
	}
	for _, k := range keys {
		if _, ok := m[k]; !ok {
			t.Errorf("no key %q in %s", k, record)
		}
	}
	for _, k := range []string{"created_at", "updated_at", "expires_at"} {
		if s, ok := m[k].(string); ok && !fromISOFormat.MatchString(s) {
			t.Errorf("%s is %q, which not every Python reads", k, s)
		}
	}
}
