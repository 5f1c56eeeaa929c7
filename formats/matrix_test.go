package formats_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/formats"
	"github.com/sessionstore/sessionstore/internal/stories"
	"github.com/sessionstore/sessionstore/internal/wirecheck"
)

// features are what conversations have, by what is looked for in the JSON of one: in a
// string of it, however deep and however often quoted.
var features = []struct{ name, marker string }{
	{"system", "system-marker"},
	{"instr", "instruction-marker"}, // a second system text, or one for developers
	{"text", "answer-marker"},
	{"aside", "aside-marker"}, // text beside calls
	{"unicode", "U+0000 \x00 😀"},
	{"image", "aW1hZ2UtbWFya2Vy"},
	{"image in result", "result.png"},
	{"audio", "YXVkaW8tbWFya2Vy"},
	{"file", "ZmlsZS1tYXJrZXI="},
	{"file name", "file-name.pdf"},
	{"arguments", "argument-marker"},
	{"big number", "9007199254740993"},
	{"call id", "call-2"},
	{"results", "second-result-marker"},
	{"custom call", "free-text-marker"},
	{"hosted tool", "hosted-marker"},
	{"error", ""}, // of a result; see survives
	{"reasoning", "reasoning-marker"},
	{"signature", "c2lnbmF0dXJlLW1hcmtlcg=="},
	{"refusal", "refusal-marker"},
	{"name", "name-marker"},
	{"tools", "tools-marker"},
	{"model", "model-marker"},
	{"metadata", "metadata-marker"},
	{"record key", "record-key-marker"},
	{"message key", "message-key-marker"},
	{"time", "2024-03-04T05:06:0"},
}

// survives reports whether a feature is in the native export of a store.
func survives(t *testing.T, store sessionstore.SessionStore, marker string) bool {
	for _, s := range allSessions(t, store) {
		raw, err := s.AppendJSON(nil)
		if err != nil {
			t.Fatal(err)
		}
		if marker != "" && says(raw, marker) {
			return true
		}
		for _, m := range history(t, store, s.ID) {
			raw, err := m.AppendJSON(nil)
			if err != nil {
				t.Fatal(err)
			}
			if marker != "" && says(raw, marker) || marker == "" && string(m.Extra["is_error"]) == "true" {
				return true
			}
		}
	}
	return false
}

// says reports whether a string, or a number, in JSON has marker in it. Strings that are
// JSON are looked into.
func says(raw []byte, marker string) bool {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	for {
		t, err := d.Token()
		if err != nil {
			return false
		}
		switch v := t.(type) {
		case string:
			if strings.Contains(v, marker) || strings.HasPrefix(v, "{") && says([]byte(v), marker) {
				return true
			}
		case json.Number:
			if v.String() == marker {
				return true
			}
		}
	}
}

// checkers hold what an API takes against what a format has for it.
var checkers = map[string]func([]byte) error{
	"anthropic": wirecheck.Anthropic,
	"finetune":  member("messages", wirecheck.Chat),
	"openai":    member("messages", wirecheck.Chat),
	"responses": member("input", wirecheck.Responses),
}

func member(key string, check func([]byte) error) func([]byte) error {
	return func(record []byte) error {
		var o map[string]json.RawMessage
		if err := json.Unmarshal(record, &o); err != nil {
			return err
		}
		return check(o[key])
	}
}

// importAs names the format that reads what a target writes.
func importAs(target string) string {
	if target == "finetune" {
		return "openai"
	}
	return target
}

// sources returns the formats that testdata/matrix has a rich conversation of.
func sources(t testing.TB) []string {
	t.Helper()
	files, err := filepath.Glob("testdata/matrix/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("testdata/matrix has the files %q, %v", files, err)
	}
	for i, f := range files {
		files[i] = strings.TrimSuffix(filepath.Base(f), ".json")
	}
	return files
}

func exportText(t *testing.T, store sessionstore.SessionStore, format string, o *formats.ExportOptions) (string, formats.ExportReport) {
	t.Helper()
	var out strings.Builder
	report, err := formats.Export(t.Context(), store, format, &out, o)
	if err != nil {
		t.Fatalf("Export(%s) = %v", format, err)
	}
	return out.String(), report
}

// TestMatrix imports a rich conversation of each format, exports it to each, and imports
// that again. The golden table says what is left of it.
func TestMatrix(t *testing.T) {
	t.Parallel()
	for _, f := range formats.Names() {
		if f != "native" && !slices.Contains(sources(t), f) {
			t.Errorf("testdata/matrix has no conversation of the format %s", f)
		}
	}
	var table strings.Builder
	fmt.Fprintf(&table, "+ survives export and import   f is in the file, but not after import   - is lost   . is not in the source\n\n")
	fmt.Fprintf(&table, "%-10s %-10s", "source", "target")
	for _, f := range features {
		fmt.Fprintf(&table, " %s |", f.name)
	}
	table.WriteString(" left out\n")
	for _, source := range sources(t) {
		store := newStore(t)
		if rep, bad, err := importText(t, store, source, testdata(t, "matrix/"+source+".json")); err != nil || len(bad) > 0 || rep.Sessions != 1 {
			t.Fatalf("Import(%s) = %+v, %v, bad records %v, want one session", source, rep, err, bad)
		}
		for _, target := range formats.ExportNames() {
			file, report := exportText(t, store, target, nil)
			if check := checkers[target]; check != nil {
				if err := check([]byte(file)); err != nil {
					t.Errorf("%s to %s: %v\nin %s", source, target, err, file)
				}
			}
			again := newStore(t)
			if rep, bad, err := importText(t, again, importAs(target), file); err != nil || len(bad) > 0 || rep.Sessions != 1 {
				t.Errorf("%s to %s cannot be imported again: %+v, %v, bad records %v\nin %s", source, target, rep, err, bad, file)
			}
			fmt.Fprintf(&table, "%-10s %-10s", source, target)
			for _, f := range features {
				cell := "-"
				switch {
				case !survives(t, store, f.marker):
					cell = "."
				case survives(t, again, f.marker):
					cell = "+"
				case f.marker != "" && says([]byte(file), f.marker):
					cell = "f"
				}
				fmt.Fprintf(&table, " %-*s |", len(f.name), cell)
			}
			var left []string
			for kind, n := range report.Left {
				left = append(left, fmt.Sprintf("%d %s", n, kind))
			}
			slices.Sort(left)
			fmt.Fprintf(&table, " %s\n", strings.Join(left, ", "))
		}
		table.WriteString("\n")
	}
	golden(t, "matrix.golden", trimLines(table.String()))
}

func trimLines(s string) string {
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		lines[i] = strings.TrimRight(l, " ")
	}
	return strings.TrimRight(strings.Join(lines, "\n"), "\n") + "\n"
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *stories.Update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if want := testdata(t, name); got != want {
		t.Errorf("%s is not what it was (-update writes it anew); got\n%s\nwant\n%s", path, got, want)
	}
}

// TestOwnRoundTrip: what a format holds comes back from an import and an export to the
// same format. The files of the matrix are in the form in which exports write; what is put
// differently otherwise has a test of its own.
func TestOwnRoundTrip(t *testing.T) {
	t.Parallel()
	for _, format := range sources(t) {
		if !slices.Contains(formats.ExportNames(), format) {
			continue
		}
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			source := testdata(t, "matrix/"+format+".json")
			store := newStore(t)
			if _, bad, err := importText(t, store, format, source); err != nil || len(bad) > 0 {
				t.Fatalf("Import() = %v, bad records %v", err, bad)
			}
			got, report := exportText(t, store, format, nil)
			if want := parsed(t, source); !reflect.DeepEqual(parsed(t, got), want) {
				t.Errorf("got\n%s\nwant\n%s", indented(t, got), indented(t, source))
			}
			if len(report.Left) > 0 {
				t.Errorf("%v was left out, want nothing", report.Left)
			}
		})
	}
}

// parsed returns the value of a JSON text, numbers as they are spelled.
func parsed(t testing.TB, text string) (v any) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return v
}

func indented(t testing.TB, text string) string {
	t.Helper()
	b, err := json.MarshalIndent(parsed(t, text), "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
