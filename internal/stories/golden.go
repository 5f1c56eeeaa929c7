package stories

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/sessionstore/sessionstore"
)

// Update is whether a test writes its golden files anew.
var Update = flag.Bool("update", false, "write the golden files")

// Golden compares the request that wire makes of each of the Cases with a file in dir,
// and checks it against the API's rules.
func Golden(t *testing.T, dir string, wire func(sessionstore.Prompt) ([]byte, error), check func([]byte) error) {
	for _, c := range Cases() {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			raw, err := wire(Prompt(t, c.System, c.History))
			if err != nil {
				t.Fatalf("%s: %v", c.About, err)
			}
			if err := check(raw); err != nil {
				t.Errorf("%s: %v", c.About, err)
			}
			got := indent(t, raw)
			file := filepath.Join(dir, c.Name+".json")
			if *Update {
				if err := os.WriteFile(file, got, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, want) {
				t.Errorf("%s: %s differs; -update writes it\n%s", c.About, file, firstDifference(got, want))
			}
		})
	}
}

// firstDifference returns the first line that differs, with those around it.
func firstDifference(got, want []byte) string {
	a, b := bytes.Split(got, []byte("\n")), bytes.Split(want, []byte("\n"))
	i := 0
	for i < min(len(a), len(b)) && bytes.Equal(a[i], b[i]) {
		i++
	}
	around := func(lines [][]byte) []byte {
		return bytes.Join(lines[max(0, i-3):min(len(lines), i+4)], []byte("\n"))
	}
	return fmt.Sprintf("got, from line %d:\n%s\nwant:\n%s", max(0, i-3)+1, around(a), around(b))
}

// indent returns JSON with its keys sorted, so that the files are easy to read.
func indent(t *testing.T, raw []byte) []byte {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	if err := e.Encode(v); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
