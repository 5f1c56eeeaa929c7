package formats_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/sessionstore/sessionstore/formats"
)

// A byte order mark and CRLF change nothing, in any format.
func TestMarksAndLineEnds(t *testing.T) {
	t.Parallel()
	for _, format := range sources(t) {
		file := testdata(t, "matrix/"+format+".json")
		want, _ := exportText(t, storeOf(t, format, file), "native", nil)
		marked := "\ufeff" + strings.ReplaceAll(strings.TrimSpace(file), "\n", "\r\n")
		if got, _ := exportText(t, storeOf(t, format, marked), "native", nil); got != want {
			t.Errorf("%s with a byte order mark and CRLF gives\n%s\nwant\n%s", format, got, want)
		}
	}
}

// Of duplicate keys the last counts, for a field and for the id that is made of the record.
func TestLastOfDuplicateKeysCounts(t *testing.T) {
	t.Parallel()
	for format, key := range map[string]string{"anthropic": "system", "responses": "instructions", "langchain": "messages", "openai": "messages", "vercel": "messages"} {
		file := strings.TrimSpace(testdata(t, "matrix/"+format+".json"))
		want, _ := exportText(t, storeOf(t, format, file), "native", nil)
		twice := `{"` + key + `":[{"type":"human","role":"user","content":"x"}],` + strings.TrimPrefix(file, "{")
		if got, _ := exportText(t, storeOf(t, format, twice), "native", nil); got != want {
			t.Errorf("%s with the key %q twice gives\n%s\nwant\n%s", format, key, got, want)
		}
	}
}

// A list of records, one a line, and a list over several lines are the same conversations.
func TestLinesAndLists(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"anthropic", "responses", "langchain"} {
		file := testdata(t, "matrix/"+format+".json")
		for name, text := range map[string]string{
			"an array":         "[" + file + "," + file + "]",
			"objects in a row": file + file,
		} {
			store := newStore(t)
			if rep, bad, err := importText(t, store, format, text); err != nil || len(bad) > 0 || rep.Sessions != 2 {
				t.Errorf("%s, %s: %+v, %v, bad records %v, want two sessions", format, name, rep, err, bad)
			}
			lines, _ := exportText(t, store, format, nil)
			list, _ := exportText(t, store, format, &formats.ExportOptions{Array: true})
			one := strings.Split(strings.TrimSpace(lines), "\n")
			if len(one) != 2 || !reflect.DeepEqual(parsed(t, list), []any{parsed(t, one[0]), parsed(t, one[1])}) {
				t.Errorf("%s is exported as the lines\n%s\nand the list\n%s", format, lines, list)
			}
		}
	}
}
