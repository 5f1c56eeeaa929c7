package formats_test

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/formats"
)

// wrong are values that no optional field, or few, may have.
var wrong = []any{nil, json.Number("9007199254740993"), "", "x\x00", true, []any{}, []any{nil}, map[string]any{}, map[string]any{"x": "y"}}

// mutate calls yield for v with each member of each object in it missing, null and of each
// wrong type, and each element of a list likewise, one at a time.
func mutate(v any, yield func()) {
	switch v := v.(type) {
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			was := v[k]
			delete(v, k)
			yield()
			for _, w := range wrong {
				v[k] = w
				yield()
			}
			v[k] = was
			mutate(was, yield)
		}
	case []any:
		for i, was := range v {
			for _, w := range wrong {
				v[i] = w
				yield()
			}
			v[i] = was
			mutate(was, yield)
		}
	}
}

// Field report I01: whichever field is missing or of another type, the record is imported
// or reported, a second import adds nothing, and what was imported can be exported as the
// APIs take it.
func TestEveryFieldMissingOrWrong(t *testing.T) {
	t.Parallel()
	every := 7 // a prime: no value is left out for all fields
	if testing.Short() {
		every = 31
	}
	for _, format := range sources(t) {
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			v := parsed(t, testdata(t, "matrix/"+format+".json"))
			n := 0
			mutate(v, func() {
				if n++; t.Failed() || n%every != 0 {
					return
				}
				text, err := json.Marshal(v)
				if err != nil {
					t.Fatal(err)
				}
				surviveImport(t, format, string(text))
			})
		})
	}
}

// surviveImport imports a file that may be bad, and exports what came of it.
func surviveImport(t *testing.T, format, file string) {
	store := newStore(t)
	defer store.Close()
	first, bad, err := importText(t, store, format, file)
	if errors.Is(err, sessionstore.ErrInvalid) {
		return // not even UTF-8
	}
	if _, broken := errors.AsType[*formats.SyntaxError](err); err != nil && !broken {
		t.Fatalf("Import(%s) = %v\nof %s", format, err, file)
	}
	for _, e := range bad {
		if !errors.Is(e, sessionstore.ErrInvalid) && !errors.Is(e, sessionstore.ErrTooLarge) {
			t.Errorf("Import(%s) reports %v\nof %s", format, e, file)
		}
	}
	second, _, _ := importText(t, store, format, file)
	if want := (formats.Report{Skipped: first.Sessions + first.Skipped, Expired: first.Expired, Branches: first.Branches, Failed: first.Failed}); second != want {
		t.Errorf("a second Import(%s) is %+v, want %+v\nof %s", format, second, want, file)
	}
	surviveExport(t, store, file)
}

// surviveExport exports what came of a file to each format, and holds it against what the
// APIs take.
func surviveExport(t testing.TB, store sessionstore.SessionStore, file string) {
	for _, target := range formats.ExportNames() {
		var out strings.Builder
		report, err := formats.Export(t.Context(), store, target, &out, nil)
		if err != nil {
			t.Errorf("Export(%s) = %v\nof %s", target, err, file)
			continue
		}
		if target == "native" {
			continue
		}
		lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
		if report.Sessions == 0 {
			lines = nil
		}
		if int64(len(lines)) != report.Sessions {
			t.Errorf("Export(%s) counts %d sessions and wrote %d lines\nof %s", target, report.Sessions, len(lines), file)
		}
		check := checkers[target]
		for _, line := range lines {
			if !json.Valid([]byte(line)) {
				t.Errorf("Export(%s) is no JSON: %s\nof %s", target, line, file)
			}
			if check == nil || target == "finetune" {
				continue
			}
			if err := check([]byte(line)); err != nil {
				t.Errorf("Export(%s): %v\nin %s\nof %s", target, err, line, file)
			}
		}
	}
}
