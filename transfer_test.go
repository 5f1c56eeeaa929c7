package sessionstore_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/memory"
)

func memoryAt(t *testing.T, now *time.Time) *memory.Store {
	t.Helper()
	s, err := memory.New(&memory.Options{Now: func() time.Time { return *now }})
	wantErr(t, "memory.New", err, nil)
	t.Cleanup(func() { s.Close() })
	return s
}

// dump is everything that a store holds, in the order of its list.
func dump(t *testing.T, s sessionstore.SessionStore) string {
	t.Helper()
	var out []byte
	q := sessionstore.SessionQuery{}
	for {
		page, err := s.ListSessions(t.Context(), q)
		wantErr(t, "ListSessions", err, nil)
		for _, sess := range page.Sessions {
			out, err = sess.AppendJSON(out)
			wantErr(t, "AppendJSON", err, nil)
			out = append(out, '\n')
			for m, err := range sessionstore.NewManager(s, nil).Messages(t.Context(), sess.ID) {
				wantErr(t, "Messages", err, nil)
				out, err = m.AppendJSON(out)
				wantErr(t, "AppendJSON", err, nil)
				out = append(out, '\n')
			}
		}
		if page.Next == "" {
			return string(out)
		}
		q.Cursor = page.Next
	}
}

// sample fills a store with sessions of every kind.
func sample(t *testing.T, s sessionstore.SessionStore, now *time.Time) {
	t.Helper()
	ctx, m := t.Context(), sessionstore.NewManager(s, nil)
	fill(t, s, sessionstore.Session{ID: "long"}, 2500)
	*now = now.Add(time.Second)
	_, err := m.Rewind(ctx, "long", 2400)
	wantErr(t, "Rewind", err, nil)
	_, err = m.Start(ctx, sessionstore.Session{ID: "ended", UserID: "u", AgentName: "é{}<&>", System: "a\u2028b", TTL: time.Hour,
		Metadata: sessionstore.Metadata{"n": 1, "f": 1.0, "nested": map[string]any{"a.b": []any{nil, true}}},
		Extra:    map[string]json.RawMessage{"later": json.RawMessage(`[1e2]`)}})
	wantErr(t, "Start", err, nil)
	*now = now.Add(time.Second)
	_, err = m.Append(ctx, "ended", sessionstore.UserMessage("\x00 <b> \U0001F642"), calls("x"), sessionstore.ToolMessage("x", "r"))
	wantErr(t, "Append", err, nil)
	_, err = m.Fork(ctx, "ended", sessionstore.Fork{ID: "child", AtSeq: ptr(int64(2))})
	wantErr(t, "Fork", err, nil)
	_, err = m.Append(ctx, "child", sessionstore.AssistantMessage("on"))
	wantErr(t, "Append", err, nil)
	_, err = m.End(ctx, "ended")
	wantErr(t, "End", err, nil)
	_, err = m.Start(ctx, sessionstore.Session{ID: "empty", Status: sessionstore.StatusPaused})
	wantErr(t, "Start", err, nil)
}

func export(t *testing.T, s sessionstore.SessionStore, o *sessionstore.ExportOptions) (string, sessionstore.ExportReport) {
	t.Helper()
	var b bytes.Buffer
	rep, err := sessionstore.NewManager(s, nil).Export(t.Context(), &b, o)
	wantErr(t, "Export", err, nil)
	return b.String(), rep
}

// importInto imports a file and returns the report and the bad records as text.
func importInto(t *testing.T, s sessionstore.SessionStore, file string) (sessionstore.ImportReport, []string, error) {
	t.Helper()
	var bad []string
	rep, err := sessionstore.NewManager(s, nil).Import(t.Context(), strings.NewReader(file),
		&sessionstore.ImportOptions{OnError: func(e sessionstore.RecordError) { bad = append(bad, e.Error()) }})
	if int64(len(bad)) != rep.Failed {
		t.Errorf("Import called OnError %d times, and reports %d failed", len(bad), rep.Failed)
	}
	return rep, bad, err
}

func wantImport(t *testing.T, what string, got sessionstore.ImportReport, bad []string, want sessionstore.ImportReport) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got the report %+v, want %+v; bad records %q", what, got, want, bad)
	}
}

// seal returns lines with an end line that fits them.
func seal(sessions, messages int, lines ...string) string {
	text := strings.Join(lines, "\n") + "\n"
	return text + fmt.Sprintf(`{"end":{"sessions":%d,"messages":%d,"sha256":"%x"}}`+"\n", sessions, messages, sha256.Sum256([]byte(text)))
}

func TestTransferRoundTrip(t *testing.T) {
	t.Parallel()
	now := t0
	from, to := memoryAt(t, &now), memoryAt(t, &now)
	sample(t, from, &now)
	file, wrote := export(t, smallPages{from, 100}, nil)
	if wrote.Sessions != 4 || wrote.Messages != 2400+3+3 || len(wrote.Missing) != 0 {
		t.Errorf("Export: %+v, want 4 sessions and 2406 messages", wrote)
	}
	now = now.Add(time.Minute)
	rep, bad, err := importInto(t, to, file)
	wantErr(t, "Import", err, nil)
	wantImport(t, "Import", rep, bad, sessionstore.ImportReport{Sessions: 4, Messages: 2406})
	want := dump(t, from)
	if got := dump(t, to); got != want {
		t.Errorf("the copy differs:\n got %.2000s\nwant %.2000s", got, want)
	}
	if again, _ := export(t, to, nil); again != file {
		t.Errorf("the copy's export differs:\n got %.2000s\nwant %.2000s", again, file)
	}
	rep, bad, err = importInto(t, smallPages{to, 100}, file)
	wantErr(t, "Import again", err, nil)
	wantImport(t, "Import again", rep, bad, sessionstore.ImportReport{Skipped: 4})
	if got := dump(t, to); got != want {
		t.Errorf("a second import changed the copy:\n got %.2000s\nwant %.2000s", got, want)
	}
}

func TestTransferFormat(t *testing.T) {
	t.Parallel()
	now := t0
	s := memoryAt(t, &now)
	m := sessionstore.NewManager(s, nil)
	_, err := m.Start(t.Context(), sessionstore.Session{ID: "s"})
	wantErr(t, "Start", err, nil)
	_, err = m.Append(t.Context(), "s", named("m", sessionstore.UserMessage("<hi>")))
	wantErr(t, "Append", err, nil)
	got, _ := export(t, s, nil)
	want := seal(1, 1,
		`{"sessionstore":"export","version":1}`,
		`{"session":{"session_id":"s","agent_name":"","status":"active","metadata":{},"created_at":"2026-03-01T09:30:00.123456+00:00","updated_at":"2026-03-01T09:30:00.123456+00:00","last_seq":1,"message_count":1,"version":1}}`,
		`{"message":{"message_id":"m","session_id":"s","seq":1,"role":"user","content":"<hi>","tool_call_id":null,"agent_name":null,"created_at":"2026-03-01T09:30:00.123456+00:00","metadata":{}}}`)
	if got != want {
		t.Errorf("Export:\n got %s\nwant %s", got, want)
	}
	if got, _ := export(t, memoryAt(t, &now), nil); got != seal(0, 0, `{"sessionstore":"export","version":1}`) {
		t.Errorf("Export of nothing:\n%s", got)
	}
}

func TestExportOptions(t *testing.T) {
	t.Parallel()
	now := t0
	s := memoryAt(t, &now)
	sample(t, s, &now)
	for _, c := range []struct {
		name string
		o    sessionstore.ExportOptions
		want []string
		miss []string
	}{
		{"ids", sessionstore.ExportOptions{IDs: []string{"child", "gone", "empty", "child", "gone"}}, []string{"child", "empty"}, []string{"gone"}},
		{"user", sessionstore.ExportOptions{Query: sessionstore.SessionQuery{UserID: "u", Limit: 1}}, []string{"child", "ended"}, nil},
		{"status", sessionstore.ExportOptions{Query: sessionstore.SessionQuery{Statuses: []sessionstore.Status{sessionstore.StatusPaused}}}, []string{"empty"}, nil},
	} {
		file, wrote := export(t, s, &c.o)
		to := memoryAt(t, &now)
		_, bad, err := importInto(t, to, file)
		wantErr(t, "Import", err, nil)
		page, err := to.ListSessions(t.Context(), sessionstore.SessionQuery{})
		wantErr(t, "ListSessions", err, nil)
		var got []string
		for _, sess := range page.Sessions {
			got = append(got, sess.ID)
		}
		slices.Sort(got)
		if !slices.Equal(got, c.want) || !slices.Equal(wrote.Missing, c.miss) || wrote.Sessions != int64(len(c.want)) {
			t.Errorf("%s: exported %q, report %+v, bad %q, want %q and missing %q", c.name, got, wrote, bad, c.want, c.miss)
		}
	}
	for name, o := range map[string]sessionstore.ExportOptions{
		"cursor":      {Query: sessionstore.SessionQuery{Cursor: sessionstore.SessionKey{UpdatedAt: t0, ID: "s"}.Cursor()}},
		"both":        {IDs: []string{"s"}, Query: sessionstore.SessionQuery{UserID: "u"}},
		"bad query":   {Query: sessionstore.SessionQuery{Limit: -1}},
		"bad id":      {IDs: []string{""}},
		"bad user id": {Query: sessionstore.SessionQuery{UserID: "\n"}},
	} {
		_, err := sessionstore.Export(t.Context(), s, io.Discard, &o)
		wantErr(t, "Export with "+name, err, sessionstore.ErrInvalid)
	}
}

// A session that changes while it is exported is exported as it was at one moment; one
// that goes is left out.
func TestExportOfWhatChanges(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(context.Context, sessionstore.SessionStore) error
		voids  int
	}{
		"append": {func(ctx context.Context, s sessionstore.SessionStore) error {
			_, err := s.AppendMessages(ctx, "s", sessionstore.Append{Messages: []sessionstore.Message{sessionstore.UserMessage("new")}})
			return err
		}, 0},
		"truncate": {func(ctx context.Context, s sessionstore.SessionStore) error {
			_, err := s.TruncateMessages(ctx, "s", sessionstore.Truncate{ThroughSeq: 6})
			return err
		}, 1},
		"delete": {func(ctx context.Context, s sessionstore.SessionStore) error { return s.DeleteSession(ctx, "s") }, 1},
	} {
		now := t0
		store, to := memoryAt(t, &now), memoryAt(t, &now)
		fill(t, store, sessionstore.Session{ID: "other"}, 4)
		fill(t, store, sessionstore.Session{ID: "s"}, 10)
		before := dump(t, store)
		w := &watched{SessionStore: smallPages{store, 3}, before: func(page int) {
			if page == 3 {
				wantErr(t, name, c.change(t.Context(), store), nil)
			}
		}}
		file, wrote := export(t, w, nil)
		if got := strings.Count(file, "\n{\"void\":{}}\n"); got != c.voids {
			t.Errorf("%s: %d void lines, want %d:\n%s", name, got, c.voids, file)
		}
		rep, bad, err := importInto(t, to, file)
		wantErr(t, name+": Import", err, nil)
		wantImport(t, name, rep, bad, sessionstore.ImportReport{Sessions: wrote.Sessions, Messages: wrote.Messages})
		want := dump(t, store)
		if name == "append" {
			want = before
		}
		if got := dump(t, to); got != want {
			t.Errorf("%s: the copy differs:\n got %s\nwant %s", name, got, want)
		}
		// What an incomplete session of the file finds in the store does not matter.
		rep, bad, err = importInto(t, to, file)
		wantErr(t, name+": Import again", err, nil)
		wantImport(t, name+" again", rep, bad, sessionstore.ImportReport{Skipped: wrote.Sessions})
	}
}

func TestExportOfWhatNeverRests(t *testing.T) {
	t.Parallel()
	store := newMemory(t)
	startWith(t, store, 1000)
	w := &watched{SessionStore: smallPages{store, 100}, before: func(n int) {
		_, err := store.TruncateMessages(t.Context(), "s", sessionstore.Truncate{ThroughSeq: int64(1000 - n)})
		wantErr(t, "TruncateMessages", err, nil)
	}}
	_, err := sessionstore.Export(t.Context(), w, io.Discard, nil)
	wantErr(t, "Export", err, sessionstore.ErrConflict)
}

// touching touches a session after each page of sessions that is listed.
type touching struct {
	sessionstore.SessionStore
	now *time.Time
	ids []string
}

func (s *touching) ListSessions(ctx context.Context, q sessionstore.SessionQuery) (sessionstore.SessionPage, error) {
	page, err := s.SessionStore.ListSessions(ctx, q)
	if len(s.ids) > 0 {
		*s.now = s.now.Add(time.Second)
		if _, err := s.UpdateSession(ctx, s.ids[0], sessionstore.SessionUpdate{Touch: true}); err != nil {
			return page, err
		}
		s.ids = s.ids[1:]
	}
	return page, err
}

// A session that moves in the list during the export is neither missed nor doubled.
func TestExportOfAMovingList(t *testing.T) {
	t.Parallel()
	now := t0
	store, to := memoryAt(t, &now), memoryAt(t, &now)
	for i := range 10 {
		now = now.Add(time.Second)
		_, err := store.CreateSession(t.Context(), sessionstore.Session{ID: fmt.Sprint(i)})
		wantErr(t, "CreateSession", err, nil)
	}
	moving := &touching{store, &now, []string{"3", "9", "0", "1", "2", "0", "4", "5"}}
	file, wrote := export(t, moving, &sessionstore.ExportOptions{Query: sessionstore.SessionQuery{Limit: 2}})
	rep, bad, err := importInto(t, to, file)
	wantErr(t, "Import", err, nil)
	wantImport(t, "Import", rep, bad, sessionstore.ImportReport{Sessions: 10})
	if wrote.Sessions != 10 {
		t.Errorf("Export wrote %d sessions, want 10", wrote.Sessions)
	}
}

type fullDisk struct{ left int }

func (w *fullDisk) Write(p []byte) (int, error) {
	if w.left -= len(p); w.left < 0 {
		return 0, io.ErrShortWrite
	}
	return len(p), nil
}

func TestTransferFailures(t *testing.T) {
	t.Parallel()
	now := t0
	s := memoryAt(t, &now)
	sample(t, s, &now)
	for _, room := range []int{0, 100_000} {
		_, err := sessionstore.Export(t.Context(), s, &fullDisk{room}, nil)
		wantErr(t, "Export to a full disk", err, io.ErrShortWrite)
	}
	_, err := sessionstore.Export(t.Context(), memoryAt(t, &now), &fullDisk{}, nil)
	wantErr(t, "Export of nothing to a full disk", err, io.ErrShortWrite)
	done, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = sessionstore.Export(done, s, io.Discard, nil)
	wantErr(t, "Export with a done context", err, context.Canceled)
	_, err = sessionstore.Export(done, s, io.Discard, &sessionstore.ExportOptions{IDs: []string{"long"}})
	wantErr(t, "Export of an id with a done context", err, context.Canceled)

	file, _ := export(t, s, nil)
	_, err = sessionstore.Import(done, memoryAt(t, &now), strings.NewReader(file), nil)
	wantErr(t, "Import with a done context", err, context.Canceled)
	broken := io.MultiReader(strings.NewReader(file[:len(file)/2]), iotest.ErrReader(errLost))
	to := memoryAt(t, &now)
	_, err = sessionstore.Import(t.Context(), to, broken, nil)
	wantErr(t, "Import from a broken reader", err, errLost)
	_, err = to.GetSession(t.Context(), "long")
	wantErr(t, "the session that was not read to its end", err, sessionstore.ErrSessionNotFound)
	_, err = sessionstore.Import(t.Context(), memoryAt(t, &now), iotest.ErrReader(errLost), nil)
	wantErr(t, "Import from a reader that gives nothing", err, errLost)
	_, err = sessionstore.Import(t.Context(), unavailable{memoryAt(t, &now)}, strings.NewReader(file), nil)
	wantErr(t, "Import into a broken store", err, errLost)
	rep, err := sessionstore.Import(t.Context(), memoryAt(t, &now), iotest.OneByteReader(strings.NewReader(file)), nil)
	if err != nil || rep.Sessions != 4 {
		t.Errorf("Import byte by byte = %+v, %v, want 4 sessions", rep, err)
	}
}

// unavailable is a store whose restores get lost.
type unavailable struct{ *memory.Store }

func (unavailable) RestoreSession(context.Context, sessionstore.Session, iter.Seq2[sessionstore.Message, error]) (sessionstore.Session, error) {
	return sessionstore.Session{}, errLost
}

const header = `{"sessionstore":"export","version":1}`

func sessionLine(id string, messages int) string {
	return fmt.Sprintf(`{"session":{"session_id":%q,"created_at":"2026-03-01T09:30:00Z","updated_at":"2026-03-01T09:30:00Z","last_seq":%d,"message_count":%d,"version":1}}`, id, messages, messages)
}

func messageLine(seq int) string {
	return fmt.Sprintf(`{"message":{"message_id":"m%d","seq":%d,"role":"user","content":"hi","created_at":"2026-03-01T09:30:00Z"}}`, seq, seq)
}

// Field report I05: bad records are reported by line, and the good ones imported.
func TestImportBadRecords(t *testing.T) {
	t.Parallel()
	good := func(id string) []string { return []string{sessionLine(id, 1), messageLine(1)} }
	expired := strings.Replace(sessionLine("e", 0), `"version"`, `"ttl_seconds":0.1,"version"`, 1)
	long := strings.Replace(messageLine(1), `"hi"`, `"`+strings.Repeat("x", 7<<20)+`"`, 1)
	tooLong := strings.Replace(messageLine(1), `"hi"`, `"`+strings.Repeat("x", 9<<20)+`"`, 1)
	for _, c := range []struct {
		name  string
		lines [][]string
		want  []string // sessions
		bad   []string // beginnings
	}{
		{"none", [][]string{good("a"), good("b")}, []string{"a", "b"}, nil},
		{"an empty session at the end", [][]string{good("a"), {sessionLine("b", 0)}}, []string{"a", "b"}, nil},
		{"garbage between sessions", [][]string{good("a"), {"garbage"}, good("b")}, []string{"a", "b"}, []string{"line 4: invalid line"}},
		{"a broken session, and its messages", [][]string{good("a"), {`{"session":{"session_id":`, messageLine(1), messageLine(2)}, good("b")}, []string{"a", "b"}, []string{"line 4: invalid line"}},
		{"a session of wrong type", [][]string{good("a"), {`{"session":{"session_id":1}}`, messageLine(1)}, good("b")}, []string{"a", "b"}, []string{"line 4: invalid session_id"}},
		{"a session without times", [][]string{{`{"session":{"session_id":"x","version":1}}`}, good("b")}, []string{"b"}, []string{`line 2: session "x": `}},
		{"a bad id", [][]string{{sessionLine("", 1), messageLine(1)}, good("b")}, []string{"b"}, []string{`line 2: `}},
		{"a broken message", [][]string{{sessionLine("a", 3), messageLine(1), `{"message":{]`, messageLine(3)}, good("b")}, []string{"b"}, []string{`line 4: session "a": invalid line`}},
		{"a message of wrong type", [][]string{{sessionLine("a", 3), messageLine(1), `{"message":{"content":1}}`, messageLine(3)}, good("b")}, []string{"b"}, []string{`line 4: session "a": invalid content`}},
		{"an unpaired surrogate", [][]string{{sessionLine("a", 1), `{"message":{"message_id":"m","seq":1,"role":"user","content":"\ud83d"}}`}, good("b")}, []string{"b"}, []string{`line 3: session "a": invalid line`}},
		{"invalid UTF-8", [][]string{{sessionLine("a", 1), "{\"message\":{\"content\":\"\xff\"}}"}, good("b")}, []string{"b"}, []string{`line 3: session "a": invalid line`}},
		{"an unknown role", [][]string{{sessionLine("a", 1), strings.Replace(messageLine(1), "user", "human", 1)}, good("b")}, []string{"b"}, []string{`line 2: session "a": `}},
		{"too few messages", [][]string{{sessionLine("a", 2), messageLine(1)}, good("b")}, []string{"b"}, []string{`line 4: session "a": invalid message_count`}},
		{"too many messages", [][]string{{sessionLine("a", 1), messageLine(1), messageLine(2), messageLine(3)}, good("b")}, []string{"b"}, []string{`line 4: session "a": invalid message_count`}},
		{"messages of nobody", [][]string{{messageLine(1), messageLine(2)}, good("b")}, []string{"b"}, []string{"line 2: invalid message"}},
		{"another header", [][]string{good("a"), {header}, good("b")}, []string{"a", "b"}, []string{"line 4: invalid header"}},
		{"a line of another kind", [][]string{good("a"), {`{"tool":{}}`}, good("b")}, []string{"a", "b"}, []string{"line 4: invalid line"}},
		{"more than an object", [][]string{good("a"), {sessionLine("x", 0) + "{}"}, good("b")}, []string{"a", "b"}, []string{"line 4: invalid line"}},
		{"a void session", [][]string{{sessionLine("a", 2), messageLine(1), `{"void":{}}`}, good("a"), {sessionLine("v", 0), `{"void":{}}`}}, []string{"a"}, nil},
		{"the same session twice", [][]string{good("a"), good("a"), {sessionLine("a", 0)}}, []string{"a"}, []string{`line 6: session "a": session exists with other content`}},
		{"another session of that id", [][]string{{sessionLine("there", 1), messageLine(1)}, good("b")}, []string{"b"}, []string{`line 2: session "there": session exists with other content`}},
		{"a session whose time has run out", [][]string{{expired}, good("b")}, []string{"b"}, nil},
		{"a long line", [][]string{{sessionLine("a", 1), long}, good("b")}, []string{"a", "b"}, nil},
		{"too large a message", [][]string{{sessionLine("a", 1), tooLong}, good("b")}, []string{"b"}, []string{`line 2: session "a": `}},
	} {
		now := t0
		s := memoryAt(t, &now)
		_, err := s.CreateSession(t.Context(), sessionstore.Session{ID: "there"})
		wantErr(t, "CreateSession", err, nil)
		lines := slices.Concat(append([][]string{{header}}, c.lines...)...)
		file := seal(len(c.want), 0, lines...)
		_, bad, err := importInto(t, s, file)
		if err != nil && !errors.Is(err, sessionstore.ErrInvalid) { // the counts of seal are not always true
			t.Errorf("%s: Import() = %v", c.name, err)
		}
		page, err := s.ListSessions(t.Context(), sessionstore.SessionQuery{})
		wantErr(t, "ListSessions", err, nil)
		var got []string
		for _, sess := range page.Sessions {
			if sess.ID != "there" {
				got = append(got, sess.ID)
			}
		}
		slices.Sort(got)
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: imported %q, want %q; bad records %.300q", c.name, got, c.want, bad)
		}
		if !slices.EqualFunc(bad, c.bad, strings.HasPrefix) {
			t.Errorf("%s: bad records %.300q, want %q", c.name, bad, c.bad)
		}
	}
}

func TestImportTolerates(t *testing.T) {
	t.Parallel()
	now := t0
	from := memoryAt(t, &now)
	sample(t, from, &now)
	file, _ := export(t, from, nil)
	for name, variant := range map[string]string{
		"CRLF":             strings.ReplaceAll(file, "\n", "\r\n"),
		"no final newline": strings.TrimSuffix(file, "\n"),
		"a BOM":            "\ufeff" + file,
		"blank lines":      "\n \r\n" + strings.ReplaceAll(file, "\n", "\n\n\t\n") + "\n\n",
		"spaces":           strings.ReplaceAll(file, "\n", "  \n\t"),
	} {
		to := memoryAt(t, &now)
		rep, bad, err := importInto(t, to, variant)
		wantErr(t, name, err, nil)
		wantImport(t, name, rep, bad, sessionstore.ImportReport{Sessions: 4, Messages: 2406})
		if dump(t, to) != dump(t, from) {
			t.Errorf("%s: the copy differs", name)
		}
	}
}

func TestImportRefuses(t *testing.T) {
	t.Parallel()
	now := t0
	for _, c := range []struct {
		name, file string
		want       error
	}{
		{"nothing", "", sessionstore.ErrInvalid},
		{"blank lines", "\n\n", sessionstore.ErrInvalid},
		{"something else", `{"role":"user"}` + "\n", sessionstore.ErrInvalid},
		{"no JSON", "PK\x03\x04", sessionstore.ErrInvalid},
		{"another value", `{"sessionstore":"backup","version":1}`, sessionstore.ErrInvalid},
		{"no version", `{"sessionstore":"export"}`, sessionstore.ErrInvalid},
		{"a version of wrong type", `{"sessionstore":"export","version":"1"}`, sessionstore.ErrInvalid},
		{"a newer version", seal(0, 0, `{"sessionstore":"export","version":2}`), sessionstore.ErrSchemaTooNew},
		{"a header alone", header, io.ErrUnexpectedEOF},
		{"wrong sessions", seal(1, 0, header), sessionstore.ErrInvalid},
		{"wrong messages", seal(0, 1, header), sessionstore.ErrInvalid},
		{"another checksum", header + "\n" + `{"end":{"sessions":0,"messages":0,"sha256":"00"}}`, sessionstore.ErrInvalid},
		{"an end of wrong type", header + "\n" + `{"end":[]}`, sessionstore.ErrInvalid},
		{"counts of wrong type", header + "\n" + `{"end":{"sessions":"0"}}`, sessionstore.ErrInvalid},
		{"counts that are no integers", header + "\n" + `{"end":{"messages":1.5}}`, sessionstore.ErrInvalid},
		{"a checksum of wrong type", header + "\n" + `{"end":{"sha256":1}}`, sessionstore.ErrInvalid},
		{"more after the end", seal(0, 0, header) + sessionLine("s", 0), sessionstore.ErrInvalid},
	} {
		s := memoryAt(t, &now)
		rep, _, err := importInto(t, s, c.file)
		wantErr(t, c.name, err, c.want)
		if rep.Sessions != 0 || dump(t, s) != "" {
			t.Errorf("%s: imported %+v, want nothing", c.name, rep)
		}
	}
	known := strings.Replace(seal(0, 0, header), `{"end":{`, `{"end":{"more":[1],`, 1)
	if _, _, err := importInto(t, memoryAt(t, &now), known); err != nil {
		t.Errorf("an end line with unknown keys: %v, want it read", err)
	}
}

// What is there already is compared to the last byte, and left as it is.
func TestImportCompares(t *testing.T) {
	t.Parallel()
	now := t0
	from := memoryAt(t, &now)
	fill(t, from, sessionstore.Session{ID: "s"}, 4)
	file, _ := export(t, from, nil)
	lines := strings.SplitAfter(file, "\n")
	for _, c := range []struct{ name, file, want string }{
		{"another content", strings.Replace(file, `"content":"3"`, `"content":"X"`, 1), `line 2: session "s": session exists`},
		{"another time", strings.Replace(file, `"created_at":"2026`, `"created_at":"2025`, 1), `line 2: session "s": session exists`},
		{"fewer messages", strings.Join(slices.Delete(slices.Clone(lines), 3, 4), ""), `line 6: session "s": invalid message_count`},
		{"more messages", strings.Join(slices.Insert(slices.Clone(lines), 5, lines[5]), ""), `line 7: session "s": invalid message_count`},
		{"a broken message", strings.Replace(file, `"content":"3"`, `"content":3`, 1), `line 5: session "s": invalid content`},
		{"a broken message behind another difference", strings.Replace(strings.Replace(file, `"content":"4"`, `"content":4`, 1), `"content":"1"`, `"content":"X"`, 1), `line 6: session "s": invalid content`},
	} {
		before := dump(t, from)
		rep, bad, err := importInto(t, smallPages{from, 2}, c.file)
		wantErr(t, c.name, err, sessionstore.ErrInvalid) // the checksum
		wantImport(t, c.name, rep, bad, sessionstore.ImportReport{Failed: 1})
		if len(bad) != 1 || !strings.HasPrefix(bad[0], c.want) {
			t.Errorf("%s: bad records %q, want one that begins %q", c.name, bad, c.want)
		}
		if got := dump(t, from); got != before {
			t.Errorf("%s: the import changed the store:\n got %s\nwant %s", c.name, got, before)
		}
	}
	for name, change := range map[string]func(sessionstore.SessionStore) error{
		"deleted meanwhile": func(s sessionstore.SessionStore) error { return s.DeleteSession(t.Context(), "s") },
		"closed meanwhile":  func(s sessionstore.SessionStore) error { return s.Close() },
	} {
		to := newMemory(t)
		_, _, err := importInto(t, to, file)
		wantErr(t, "Import", err, nil)
		rep, bad, err := importInto(t, &watched{SessionStore: smallPages{to, 2}, before: func(page int) {
			if page == 2 {
				wantErr(t, name, change(to), nil)
			}
		}}, file)
		if name == "closed meanwhile" {
			wantErr(t, name, err, sessionstore.ErrStoreClosed)
			continue
		}
		wantErr(t, name, err, nil)
		wantImport(t, name, rep, bad, sessionstore.ImportReport{Failed: 1})
	}
}

// Wherever a file is cut, all sessions before the cut are imported, none in part, and the
// cut is noticed. So is a byte that was changed.
func TestImportOfADamagedFile(t *testing.T) {
	t.Parallel()
	now := t0
	from := memoryAt(t, &now)
	for i := range 3 {
		now = now.Add(time.Second)
		fill(t, from, sessionstore.Session{ID: fmt.Sprint("s", i)}, i+1)
	}
	file, _ := export(t, from, nil)
	whole := dump(t, from)
	for cut := 1; cut < len(file)-1; cut++ {
		to := memoryAt(t, &now)
		_, _, err := importInto(t, to, file[:cut])
		if strings.Contains(file[:cut], "\n") {
			wantErr(t, fmt.Sprintf("a file cut at byte %d", cut), err, io.ErrUnexpectedEOF)
		} else if err == nil {
			t.Errorf("a file cut at byte %d was taken", cut)
		}
		// The list is newest first, and so is the file.
		if got := dump(t, to); !strings.HasPrefix(whole, got) || strings.Count(got, "session_id\":\"s2") != 4*min(1, strings.Count(got, "s2")) {
			t.Fatalf("a file cut at byte %d gave\n%s\nwhich is no list of whole sessions of\n%s", cut, got, whole)
		}
	}
	for at := range len(file) - 1 {
		damaged := []byte(file)
		damaged[at] ^= 1
		if _, _, err := importInto(t, memoryAt(t, &now), string(damaged)); err == nil {
			t.Errorf("byte %d was changed from %q to %q in the line\n%s\nand nobody noticed", at, file[at], damaged[at], file)
		}
	}
}

// A line that is longer than any record can be is skipped, and the rest goes on.
func TestImportOfAnEndlessLine(t *testing.T) {
	t.Parallel()
	now := t0
	to := memoryAt(t, &now)
	r := io.MultiReader(strings.NewReader(header+"\n"+sessionLine("a", 0)+"\n"), io.LimitReader(xs{}, 33<<20),
		strings.NewReader("\n"+sessionLine("b", 0)+"\n"+`{"end":{"sessions":2,"messages":0,"sha256":"?"}}`))
	var bad []sessionstore.RecordError
	rep, err := sessionstore.Import(t.Context(), to, r, &sessionstore.ImportOptions{OnError: func(e sessionstore.RecordError) { bad = append(bad, e) }})
	wantErr(t, "Import", err, nil)
	wantImport(t, "Import", rep, nil, sessionstore.ImportReport{Sessions: 2, Failed: 1})
	if len(bad) != 1 || bad[0].Line != 3 || !errors.Is(bad[0], sessionstore.ErrTooLarge) {
		t.Errorf("bad records %v, want line 3 with ErrTooLarge", bad)
	}
}

type xs struct{}

func (xs) Read(p []byte) (int, error) {
	return copy(p, strings.Repeat("x", len(p))), nil
}

// A store without Restorer renumbers; the rest is there.
func TestImportByAppend(t *testing.T) {
	t.Parallel()
	now := t0
	to := memoryAt(t, &now)
	rep, bad, err := importInto(t, plain{to}, seal(1, 2, header, sessionLine("a", 2), messageLine(1), messageLine(2)))
	wantErr(t, "Import", err, nil)
	wantImport(t, "Import", rep, bad, sessionstore.ImportReport{Sessions: 1, Messages: 2})
}

func FuzzImport(f *testing.F) {
	f.Add(seal(0, 0, header))
	f.Add(seal(1, 2, header, sessionLine("a", 2), messageLine(1), messageLine(2)))
	f.Add(seal(1, 1, header, sessionLine("a", 2), messageLine(1), `{"void":{}}`, sessionLine("a", 1), messageLine(1)))
	f.Add("\ufeff" + header + "\r\n\r\n" + sessionLine("a", 0) + "\r\ngarbage")
	f.Fuzz(func(t *testing.T, file string) {
		now := t0
		first, second := memoryAt(t, &now), memoryAt(t, &now)
		rep, _, err := importInto(t, first, file)
		again, _, err2 := importInto(t, second, file)
		if rep != again || (err == nil) != (err2 == nil) {
			t.Errorf("two imports of one file: %+v, %v and %+v, %v", rep, err, again, err2)
		}
		copied, _ := export(t, first, nil)
		third := memoryAt(t, &now)
		_, bad, err := importInto(t, third, copied)
		if err != nil || bad != nil || dump(t, third) != dump(t, first) {
			t.Errorf("what was imported does not survive an export: %v, %q", err, bad)
		}
	})
}
