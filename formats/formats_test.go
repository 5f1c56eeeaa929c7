package formats_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/formats"
	"github.com/sessionstore/sessionstore/memory"
)

var importTime = time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC)

func newStore(t testing.TB) sessionstore.SessionStore {
	t.Helper()
	store, err := memory.New(&memory.Options{Now: func() time.Time { return importTime }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	return store
}

// importFile imports r, in which nothing is bad, and compares the report.
func importFile(t *testing.T, store sessionstore.SessionStore, format string, r io.Reader, want formats.Report) {
	t.Helper()
	got, err := formats.Import(t.Context(), store, format, r, &formats.Options{
		Now:     func() time.Time { return importTime },
		OnError: func(e formats.RecordError) { t.Errorf("record error: %v", e) },
	})
	if err != nil || got != want {
		t.Errorf("Import(%s) = %+v, %v, want %+v, nil", format, got, err, want)
	}
}

// importText imports text and returns what was reported for bad records.
func importText(t *testing.T, store sessionstore.SessionStore, format, text string) (formats.Report, []formats.RecordError, error) {
	t.Helper()
	var bad []formats.RecordError
	rep, err := formats.Import(t.Context(), store, format, strings.NewReader(text), &formats.Options{
		Now:     func() time.Time { return importTime },
		OnError: func(e formats.RecordError) { bad = append(bad, e) },
	})
	if rep.Failed != int64(len(bad)) {
		t.Errorf("Failed is %d, but OnError was called %d times", rep.Failed, len(bad))
	}
	return rep, bad, err
}

// importOne imports text, which is one good conversation.
func importOne(t *testing.T, format, text string) (sessionstore.Session, []sessionstore.Message) {
	t.Helper()
	store := newStore(t)
	rep, bad, err := importText(t, store, format, text)
	if err != nil || len(bad) > 0 || rep.Sessions != 1 {
		t.Fatalf("Import(%s) = %+v, %v, bad records %v, want one session", format, rep, err, bad)
	}
	s := allSessions(t, store)[0]
	return s, history(t, store, s.ID)
}

func allSessions(t testing.TB, store sessionstore.SessionStore) []sessionstore.Session {
	t.Helper()
	var all []sessionstore.Session
	var q sessionstore.SessionQuery
	for {
		page, err := store.ListSessions(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, page.Sessions...)
		if q.Cursor = page.Next; q.Cursor == "" {
			return all
		}
	}
}

func history(t testing.TB, store sessionstore.SessionStore, id string) []sessionstore.Message {
	t.Helper()
	var all []sessionstore.Message
	var q sessionstore.MessageQuery
	for {
		page, err := store.ListMessages(t.Context(), id, q)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, page.Messages...)
		if !page.HasMore {
			return all
		}
		q.AfterSeq = all[len(all)-1].Seq
	}
}

// checkPairs fails if a tool message answers no call before it.
func checkPairs(t *testing.T, id string, messages []sessionstore.Message) {
	t.Helper()
	open := map[string]bool{"call_1": id == "s-1"} // the python file has a result whose call is not there
	for _, m := range messages {
		for _, c := range m.ToolCalls {
			open[c.ID] = true
		}
		if m.Role == sessionstore.RoleTool && !open[m.ToolCallID] {
			t.Errorf("session %q, message %d answers %q, which was not called", id, m.Seq, m.ToolCallID)
		}
	}
}

// say is a message in short: role, then text, then calls and the call answered.
func say(m sessionstore.Message) string {
	var b strings.Builder
	b.WriteString(string(m.Role))
	if m.ToolCallID != "" {
		b.WriteString("(" + m.ToolCallID + ")")
	}
	if !m.Content.IsNull() {
		b.WriteString(": " + m.Content.String())
	}
	for _, c := range m.ToolCalls {
		b.WriteString(" " + c.ID + "=" + c.Name + c.Arguments)
	}
	return b.String()
}

func sayAll(messages []sessionstore.Message) []string {
	var out []string
	for _, m := range messages {
		out = append(out, say(m))
	}
	return out
}

func wantMessages(t *testing.T, got []sessionstore.Message, want ...string) {
	t.Helper()
	if g := sayAll(got); !slices.Equal(g, want) {
		t.Errorf("messages\n got %q\nwant %q", g, want)
	}
}

func testdata(t testing.TB, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestNames(t *testing.T) {
	t.Parallel()
	want := []string{"anthropic", "chatgpt", "claudeai", "langchain", "native", "openai", "python", "responses", "sharegpt", "vercel"}
	if got := formats.Names(); !slices.Equal(got, want) {
		t.Errorf("Names() = %q, want %q", got, want)
	}
}

func TestUnknownFormat(t *testing.T) {
	t.Parallel()
	_, err := formats.Import(t.Context(), newStore(t), "sharegtp", strings.NewReader("{}"), nil)
	if !errors.Is(err, sessionstore.ErrInvalid) || !strings.Contains(err.Error(), "sharegpt") {
		t.Errorf("got error %v, want ErrInvalid naming the formats", err)
	}
}

func TestDoneContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, format := range formats.Names() {
		store := newStore(t)
		rep, err := formats.Import(ctx, store, format, strings.NewReader(`{"sessionstore":"export","version":1}`+"\n"+`{"session":{"session_id":"a"}}`), nil)
		if !errors.Is(err, context.Canceled) {
			t.Errorf("Import(%s) = %+v, %v, want context.Canceled", format, rep, err)
		}
		if n := len(allSessions(t, store)); n != 0 {
			t.Errorf("Import(%s) wrote %d sessions", format, n)
		}
	}
}
