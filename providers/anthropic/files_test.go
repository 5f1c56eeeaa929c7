package anthropic_test

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/formats"
	"github.com/sessionstore/sessionstore/internal/wire"
	"github.com/sessionstore/sessionstore/memory"
)

// A conversation of a file goes to the API as the file has it, but for texts, which the SDK
// sends as blocks.
func TestFileGoesOutAsItIs(t *testing.T) {
	t.Parallel()
	file, err := os.Open("../../formats/testdata/matrix/anthropic.json")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	store, err := memory.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	if _, err := formats.Import(t.Context(), store, "anthropic", file, nil); err != nil {
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
	got, err := wireJSON(p)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile("../../formats/testdata/matrix/anthropic.json")
	if err != nil {
		t.Fatal(err)
	}
	var list []json.RawMessage
	if err := json.Unmarshal(wire.Parse(raw).Get("messages"), &list); err != nil {
		t.Fatal(err)
	}
	messages := make([]wire.Object, len(list))
	for i, m := range list {
		o := wire.Parse(m)
		if text := o.String("content"); text != "" {
			block := wire.Object{}.SetString("type", "text").SetString("text", text)
			o = o.Set("content", wire.List([]wire.Object{block}))
		}
		messages[i] = o
	}
	for key, want := range map[string]json.RawMessage{"system": wire.Parse(raw).Get("system"), "messages": wire.List(messages)} {
		if sent := wire.Parse(got).Get(key); !wire.Same(sent, want) {
			t.Errorf("%s sent\n%s\nwant\n%s", key, sent, want)
		}
	}
}
