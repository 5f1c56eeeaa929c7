package openai_test

import (
	"os"
	"testing"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/formats"
	"github.com/sessionstore/sessionstore/internal/wire"
	"github.com/sessionstore/sessionstore/memory"
)

// A conversation of a file goes to the API as the file has it. Instructions are the first
// message of either API.
func TestFileGoesOutAsItIs(t *testing.T) {
	t.Parallel()
	for format, send := range map[string]func(sessionstore.Prompt) ([]byte, error){"openai": chatWire, "responses": itemsWire} {
		raw, err := os.ReadFile("../../formats/testdata/matrix/" + format + ".json")
		if err != nil {
			t.Fatal(err)
		}
		file, err := os.Open("../../formats/testdata/matrix/" + format + ".json")
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		store, err := memory.New(nil)
		if err != nil {
			t.Fatal(err)
		}
		defer store.Close()
		if _, err := formats.Import(t.Context(), store, format, file, nil); err != nil {
			t.Fatal(err)
		}
		page, err := store.ListSessions(t.Context(), sessionstore.SessionQuery{})
		if err != nil || len(page.Sessions) != 1 {
			t.Fatalf("ListSessions() = %+v, %v, want one session", page, err)
		}
		p, err := sessionstore.NewManager(store, nil).Prompt(t.Context(), page.Sessions[0].ID, nil)
		if err != nil {
			t.Fatal(err)
		}
		want := wire.Parse(raw).Get("messages")
		if format == "responses" {
			p.Session.System = "" // goes out as the parameter instructions there
			want = wire.Parse(raw).Get("input")
		}
		if got, err := send(p); err != nil || !wire.Same(got, want) {
			t.Errorf("%s sent %v\n%s\nwant\n%s", format, err, got, want)
		}
	}
}
