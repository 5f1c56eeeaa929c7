package formats_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/formats"
)

func TestPythonFile(t *testing.T) {
	t.Parallel()
	store := newStore(t)
	file := testdata(t, "python.jsonl")
	importFile(t, store, "python", strings.NewReader(file), formats.Report{Sessions: 5, Messages: 9})
	importFile(t, store, "python", strings.NewReader(file), formats.Report{Skipped: 5})

	at := func(clock string) time.Time {
		v, err := time.Parse(time.RFC3339Nano, "2026-02-03T"+clock+"Z")
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	for _, want := range []struct {
		id               string
		status           sessionstore.Status
		system           string
		created, updated time.Time
		messages         []string
		ids              []string
	}{
		{"s-1", "active", "", at("09:00:00"), at("09:00:00.5"), nil, nil},
		{"s-2", "paused", "", at("10:00:00"), at("10:05:00"), []string{"user: Is anyone there?", "assistant: I am.\x00 👋"}, []string{"m-1", "m-2"}},
		{"s-3", "closed", "", at("10:00:00"), at("12:30:00.000007"), []string{"user: Bye.", "system: The desk is closed."}, []string{"m-2", "m-1"}},
		{"a-1", "active", "You sort letters.", importTime, importTime, []string{"user: cab", `assistant:  call_7=sort{"letters": "cab",  "n": 18014398509481985}`, "tool(call_7): abc"}, nil},
	} {
		s, err := store.GetSession(t.Context(), want.id)
		if err != nil {
			t.Errorf("session %q: %v", want.id, err)
			continue
		}
		if s.Status != want.status || s.System != want.system || !s.CreatedAt.Equal(want.created) || !s.UpdatedAt.Equal(want.updated) || s.Version != 1 {
			t.Errorf("session %q is %s with system %q, of %v, updated %v, version %d, want %s, %q, %v, %v, 1",
				s.ID, s.Status, s.System, s.CreatedAt, s.UpdatedAt, s.Version, want.status, want.system, want.created, want.updated)
		}
		messages := history(t, store, s.ID)
		wantMessages(t, messages, want.messages...)
		for i, id := range want.ids {
			if messages[i].ID != id {
				t.Errorf("session %q, message %d has the id %q, want %q", s.ID, i+1, messages[i].ID, id)
			}
		}
	}
	s2, _ := store.GetSession(t.Context(), "s-2")
	if n, ok := s2.Metadata.Int("try"); n != 2 || !ok {
		t.Errorf("metadata try is %d, want 2, from the last line of the session", n)
	}
	if m := history(t, store, "s-2")[1]; !m.CreatedAt.Equal(at("10:00:02")) || m.AgentName != "desk" {
		t.Errorf("message of %v by %q, want 10:00:02 by desk", m.CreatedAt, m.AgentName)
	}
}

func TestPythonLacks(t *testing.T) {
	t.Parallel()
	// No time and no ids but what must be there.
	s, messages := importOne(t, "python", `{"session_id":"s"}
{"session_id":"s","role":"user","content":"a"}
{"session_id":"s","role":"user","content":"b","created_at":"2020-01-02T03:04:05Z"}
{"session_id":"s","role":"user","content":"c"}
{"session_id":"s","role":"user","content":"d","created_at":"2020-01-01T00:00:00Z"}`)
	at := time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC)
	if !s.CreatedAt.Equal(at) || !s.UpdatedAt.Equal(at) {
		t.Errorf("session of %v, updated %v, want both %v", s.CreatedAt, s.UpdatedAt, at)
	}
	for i, want := range []time.Time{at, at, at, time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)} {
		if !messages[i].CreatedAt.Equal(want) {
			t.Errorf("message %d is of %v, want %v", i, messages[i].CreatedAt, want)
		}
	}
	wantMessages(t, messages, "user: a", "user: b", "user: c", "user: d")

	// An agent dictionary beside a session dictionary.
	s, messages = importOne(t, "python", `{"session_id":"s","system":"Be kind.","note":1,"metadata":{"a":1,"b":1},"messages":[{"role":"user","content":"hi"}]}
{"session_id":"s","status":"closed","metadata":{"b":2}}`)
	if s.System != "Be kind." || s.Status != "closed" || string(s.Extra["note"]) != "1" || len(s.Metadata) != 2 || s.Metadata["b"] != int64(2) {
		t.Errorf("joined session %+v, want the system and note of the one and the status of the other", s)
	}
	wantMessages(t, messages, "user: hi")

	s, messages = importOne(t, "python", `{"session_id":"s","messages":null}`)
	if s.ID != "s" || len(messages) != 0 {
		t.Errorf("session %q with %d messages, want s with none", s.ID, len(messages))
	}
}

func TestPythonRefuses(t *testing.T) {
	t.Parallel()
	const session = `{"session_id":"s","agent_name":"a"}`
	for _, tc := range []struct {
		name, file, why string
		lines           []int64
		sessions        int64
	}{
		{"no object", session + "\n[]\n", "not an object", []int64{2}, 1},
		{"no session_id", session + "\n" + `{"agent_name":"a"}`, "session_id: is missing", []int64{2}, 1},
		{"message without session_id", session + "\n" + `{"role":"user","session_id":null}`, "session_id: is missing", []int64{2}, 1},
		{"session_id is a number", session + "\n" + `{"session_id":1}`, "not a string", []int64{2}, 1},
		{"message of no session", session + "\n" + `{"session_id":"t","role":"user"}`, "not in the file", []int64{2}, 1},
		{"bad messages", session + "\n" + `{"session_id":"s","role":"user","content":"a"}` + "\n" + `{"session_id":"s","role":"user","content":1}` + "\n" + `{"session_id":"s","role":"king"}` + "\n" + `{"session_id":"t"}`, `session "s" is left out`, []int64{3, 4}, 1},
		{"bad session", `{"session_id":"s","ttl_seconds":"x"}` + "\n" + `{"session_id":"t"}`, "ttl_seconds", []int64{1}, 1},
		{"unknown status", `{"session_id":"s","status":"lost"}` + "\n" + `{"session_id":"t"}`, `"lost"`, []int64{1}, 1},
		{"two histories", session + "\n" + `{"session_id":"s","messages":[]}` + "\n" + `{"session_id":"s","role":"user"}`, "message dictionaries and an agent", []int64{1}, 0},
		{"bad agent history", session + "\n" + `{"session_id":"t","messages":[{"role":"user"},{"content":1}]}`, "messages[1]", []int64{2}, 1},
		{"bad anonymous history", session + "\n" + `{"messages":[1]}`, "messages[0]", []int64{2}, 1},
		{"agent messages no list", session + "\n" + `{"session_id":"t","messages":{}}`, "not a list", []int64{2}, 1},
		{"bad agent dictionary", session + "\n" + `{"session_id":"t","system":1,"messages":[]}`, "system", []int64{2}, 1},
		{"message id twice", session + "\n" + `{"session_id":"s","message_id":"1","role":"user"}` + "\n" + `{"session_id":"s","message_id":"1","role":"user"}`, "message_id", []int64{1}, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			store := newStore(t)
			rep, bad, err := importText(t, store, "python", tc.file)
			if err != nil || rep.Sessions != tc.sessions || len(bad) != len(tc.lines) {
				t.Fatalf("%+v, %v, bad %v, want %d sessions and errors at lines %d", rep, err, bad, tc.sessions, tc.lines)
			}
			for i, line := range tc.lines {
				if bad[i].Line != line || !strings.Contains(bad[i].Err.Error(), tc.why) {
					t.Errorf("bad record %v, want line %d and %q", bad[i], line, tc.why)
				}
			}
			if n := len(allSessions(t, store)); int64(n) != tc.sessions {
				t.Errorf("%d sessions in the store, want %d", n, tc.sessions)
			}
		})
	}
}

// TestPythonCutFile cuts a file at each byte: the whole file then adds what was cut off.
func TestPythonCutFile(t *testing.T) {
	t.Parallel()
	lines := []string{
		`{"session_id":"s"}`, `{"session_id":"s","role":"user","content":"é"}`, `{"session_id":"s","role":"user","content":"b"}`,
	}
	for _, file := range []string{"[" + strings.Join(lines, ",\n") + "]", strings.Join(lines, "\n")} {
		whole := newStore(t)
		importFile(t, whole, "python", strings.NewReader(file), formats.Report{Sessions: 1, Messages: 2})
		for cut := range len(file) {
			store := newStore(t)
			rep, bad, err := importText(t, store, "python", file[:cut])
			var syntax *formats.SyntaxError
			if err != nil && (!errors.As(err, &syntax) || file[0] != '[') {
				t.Fatalf("import of %q: %+v, %v, bad %v, want no error but a *SyntaxError of an array", file[:cut], rep, err, bad)
			}
			if rep, bad, err := importText(t, store, "python", file); err != nil || len(bad) != 0 || rep.Sessions+rep.Skipped != 1 {
				t.Fatalf("import of the whole after %q: %+v, %v, bad %v", file[:cut], rep, err, bad)
			}
			wantEqualStores(t, store, whole)
		}
	}
}

// wantEqualStores compares what two stores export.
func wantEqualStores(t *testing.T, got, want sessionstore.SessionStore) {
	t.Helper()
	var texts [2]strings.Builder
	for i, store := range []sessionstore.SessionStore{got, want} {
		if _, err := sessionstore.Export(t.Context(), store, &texts[i], nil); err != nil {
			t.Fatal(err)
		}
	}
	if texts[0].String() != texts[1].String() {
		t.Errorf("the store exports\n%s\nwant\n%s", texts[0].String(), texts[1].String())
	}
}

// TestPythonUnreadable has records that are no good JSON. Where one names its session,
// that stays out; else it is reported, and the others imported. The mended file gives what
// it would have given at first.
func TestPythonUnreadable(t *testing.T) {
	t.Parallel()
	message := func(text string) string { return `{"session_id":"s","role":"user","content":"` + text + `"}` }
	sessions := []string{`{"session_id":"s","metadata":{"a":1}}`, `{"session_id":"t"}`, `{"session_id":"t","role":"user","content":"of t"}`}
	mended := []string{message("head"), `{"session_id":"s","message_id":"id","role":"assistant","content":"middle"}`, message("end")}
	for _, tc := range []struct {
		name, line string
		messages   int // of session s without the line; -1: it stays out
	}{
		{"cut in the middle of the file", `{"session_id":"s","role":"us`, 2},
		{"cut, and written on", `{"role":"us{"session_id":"s","role":"user"}`, 2},
		{"two in a line", message("1") + message("2"), 2},
		{"no JSON", `hello`, 2},
		{"no dictionary", `["hello"]`, 2},
		{"without its session", `{"role":"user","content":"x"}`, 2},
		{"too large", message(strings.Repeat("x", formats.MaxRecordBytes)), 2},
		{"id that is no text", `{"session_id":"s` + "\xff" + `","role":"user"}`, 2},
		{"content that is no text", message("\xff"), -1},
		{"half a surrogate pair", message(`\ud83d`), -1},
		{"too deep", `{"session_id":"s","role":"user","content":` + strings.Repeat("[", 500) + strings.Repeat("]", 500) + `}`, -1},
	} {
		for at, place := range []string{"head", "middle", "end"} {
			t.Run(tc.name+"/"+place, func(t *testing.T) {
				t.Parallel()
				broken := append(slices.Clone(sessions), mended...)
				broken[3+at] = tc.line
				whole := strings.Join(append(slices.Clone(sessions), mended...), "\n")
				want := newStore(t)
				importFile(t, want, "python", strings.NewReader(whole), formats.Report{Sessions: 2, Messages: 4})

				store := newStore(t)
				for again := range 2 {
					rep, bad, err := importText(t, store, "python", strings.Join(broken, "\n")+"\n")
					if err != nil || rep.Failed != 1 || len(bad) != 1 || bad[0].Line != int64(4+at) || bad[0].Index != int64(3+at) {
						t.Fatalf("import %d: %+v, %v, bad %v, want line %d alone to be bad", again+1, rep, err, bad, 4+at)
					}
					if n := rep.Sessions + rep.Skipped; tc.messages >= 0 && n != 2 || tc.messages < 0 && n != 1 {
						t.Fatalf("import %d: %+v, want all sessions but one that the bad line names", again+1, rep)
					}
				}
				if tc.messages >= 0 && len(history(t, store, "s")) != tc.messages {
					t.Errorf("session s has %d messages, want %d", len(history(t, store, "s")), tc.messages)
				}
				rep, bad, err := importText(t, store, "python", whole)
				if err != nil || rep != (formats.Report{Sessions: 1, Messages: 3, Skipped: 1}) {
					t.Errorf("import of the mended file: %+v, %v, bad %v, want session s written and t skipped", rep, err, bad)
				}
				wantEqualStores(t, store, want)
				importFile(t, store, "python", strings.NewReader(whole), formats.Report{Skipped: 2})
			})
		}
	}
}

// TestPythonMendsNothingElse has sessions that lack a message of the file's and were
// changed since, so that to replace them would lose something.
func TestPythonMendsNothingElse(t *testing.T) {
	t.Parallel()
	const session = `{"session_id":"s","metadata":{"a":1}}` + "\n"
	line := func(text string) string { return `{"session_id":"s","role":"user","content":"` + text + `"}` + "\n" }
	paused := sessionstore.StatusPaused
	for _, tc := range []struct {
		name   string
		mended string // "": the file
		change func(s sessionstore.SessionStore) error
		why    string
	}{
		{"appended to", line("a") + line("b") + line("c") + line("d"), func(s sessionstore.SessionStore) error {
			_, err := s.AppendMessages(t.Context(), "s", sessionstore.Append{Messages: []sessionstore.Message{sessionstore.UserMessage("new")}})
			return err
		}, "messages that the file does not have"},
		{"as many messages", "", func(s sessionstore.SessionStore) error {
			_, err := s.AppendMessages(t.Context(), "s", sessionstore.Append{Messages: []sessionstore.Message{sessionstore.UserMessage("new")}})
			return err
		}, "with other content"},
		{"updated", "", func(s sessionstore.SessionStore) error {
			_, err := s.UpdateSession(t.Context(), "s", sessionstore.SessionUpdate{SetMetadata: sessionstore.Metadata{"a": 2}})
			return err
		}, "its state"},
		{"paused", "", func(s sessionstore.SessionStore) error {
			_, err := s.UpdateSession(t.Context(), "s", sessionstore.SessionUpdate{Status: &paused})
			return err
		}, "resume it"},
		{"truncated", "", func(s sessionstore.SessionStore) error {
			_, err := s.TruncateMessages(t.Context(), "s", sessionstore.Truncate{ThroughSeq: 1})
			return err
		}, "truncated"},
		{"made by someone else", "", func(s sessionstore.SessionStore) error {
			if err := s.DeleteSession(t.Context(), "s"); err != nil {
				return err
			}
			_, err := s.CreateSession(t.Context(), sessionstore.Session{ID: "s", UserID: "ada"})
			return err
		}, "its state"},
		{"mended badly", line("a") + line("b") + line("c") + `{"session_id":"s","message_id":"1","role":"user"}` + "\n" + `{"session_id":"s","message_id":"1","role":"user"}`,
			func(sessionstore.SessionStore) error { return nil }, "twice"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			store := newStore(t)
			if rep, _, err := importText(t, store, "python", session+line("a")+"{\n"+line("c")); err != nil || rep.Sessions != 1 || rep.Failed != 1 {
				t.Fatalf("%+v, %v, want the session and one error", rep, err)
			}
			if err := tc.change(store); err != nil {
				t.Fatal(err)
			}
			before := history(t, store, "s")
			if tc.mended == "" {
				tc.mended = line("a") + line("b") + line("c")
			}
			rep, bad, err := importText(t, store, "python", session+tc.mended)
			if err != nil || rep != (formats.Report{Failed: 1}) || !strings.Contains(bad[0].Error(), tc.why) {
				t.Errorf("%+v, %v, bad %v, want it refused with %q", rep, err, bad, tc.why)
			}
			if after := history(t, store, "s"); !slices.EqualFunc(before, after, func(a, b sessionstore.Message) bool { return a.ID == b.ID }) {
				t.Errorf("messages %q, before %q", sayAll(after), sayAll(before))
			}
		})
	}
}

// cutOff is a store whose deletes fail, as if the import were interrupted there.
type cutOff struct {
	sessionstore.SessionStore
	sessionstore.Restorer
	cancel context.CancelFunc
}

func (c cutOff) DeleteSession(ctx context.Context, _ string) error {
	c.cancel()
	return context.Cause(ctx)
}

// TestMendInterrupted has an import interrupted while it replaces a session: that is then as
// it was, and the next import completes it.
func TestMendInterrupted(t *testing.T) {
	t.Parallel()
	const session = `{"session_id":"s"}` + "\n"
	line := func(text string) string { return `{"session_id":"s","role":"user","content":"` + text + `"}` + "\n" }
	mended := session + line("a") + line("b") + line("c")
	store := newStore(t)
	if rep, _, err := importText(t, store, "python", session+line("a")+"{\n"+line("c")); err != nil || rep.Sessions != 1 {
		t.Fatalf("%+v, %v, want the session", rep, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	cut := cutOff{store, store.(sessionstore.Restorer), cancel}
	if rep, err := formats.Import(ctx, cut, "python", strings.NewReader(mended), nil); !errors.Is(err, context.Canceled) {
		t.Fatalf("the import that is cut off: %+v, %v, want context.Canceled", rep, err)
	}
	s, err := store.GetSession(t.Context(), "s")
	if err != nil || s.Status != sessionstore.StatusActive || s.MessageCount != 2 {
		t.Fatalf("after it the session is %+v, %v, want it active with 2 messages", s, err)
	}
	if rep, bad, err := importText(t, store, "python", mended); err != nil || rep != (formats.Report{Sessions: 1, Messages: 3}) {
		t.Errorf("the next import: %+v, bad %v, %v, want the session completed", rep, bad, err)
	}
}

// TestPythonLargeFile has more than is sorted in memory, and a session in it that is more
// than is kept in memory.
func TestPythonLargeFile(t *testing.T) {
	t.Parallel()
	const sessions, small, large = 200, 10, 3000
	text := strings.Repeat("z", 3500)
	file := func(yield func(string) bool) {
		for i := range large {
			yield(fmt.Sprintf(`{"session_id":"large","message_id":"m%d","role":"user","content":"%d %s"}`, i, i, text))
			if i < sessions*small {
				yield(fmt.Sprintf(`{"session_id":"s%d","role":"user","content":"%d %s"}`, i%sessions, i, text))
			}
		}
		yield(`{"session_id":"large","status":"closed"}`)
		for i := range sessions {
			yield(fmt.Sprintf(`{"session_id":"s%d","agent_name":"a"}`, i))
		}
	}
	dir := t.TempDir()
	store := newStore(t)
	for i, want := range []formats.Report{{Sessions: sessions + 1, Messages: sessions*small + large}, {Skipped: sessions + 1}} {
		rep, err := formats.Import(t.Context(), store, "python", lines(t, file), &formats.Options{
			TempDir: dir,
			OnError: func(e formats.RecordError) { t.Errorf("bad record: %v", e) },
		})
		if err != nil || rep != want {
			t.Fatalf("import %d: %+v, %v, want %+v", i+1, rep, err, want)
		}
	}
	s, err := store.GetSession(t.Context(), "large")
	if err != nil || s.Status != sessionstore.StatusClosed {
		t.Errorf("large session is %s, %v, want closed", s.Status, err)
	}
	for i, m := range history(t, store, "large") {
		if !strings.HasPrefix(m.Content.String(), fmt.Sprintf("%d z", i)) || m.ID != fmt.Sprintf("m%d", i) {
			t.Fatalf("message %d is %q and begins with %.10q", i, m.ID, m.Content.String())
		}
	}
	for i, m := range history(t, store, "s7") {
		if want := fmt.Sprintf("%d z", i*sessions+7); !strings.HasPrefix(m.Content.String(), want) {
			t.Fatalf("message %d of s7 begins with %.10q, want %q", i, m.Content.String(), want)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("%d temporary files are left, error %v", len(left), err)
	}
}

// TestCannotSpool has a record whose messages are too large to stay in memory, and no
// place for them: that is no fault of the record.
func TestCannotSpool(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("x", 3<<20)
	for format, file := range map[string]string{
		"openai": `{"messages":[{"role":"user","content":"` + text + `"}]}`,
		"python": `{"session_id":"s","messages":[{"role":"user","content":"` + text + `"}]}`,
	} {
		rep, err := formats.Import(t.Context(), newStore(t), format, strings.NewReader(file), &formats.Options{TempDir: t.TempDir() + "/missing"})
		if !errors.Is(err, os.ErrNotExist) || rep != (formats.Report{}) {
			t.Errorf("%s: %+v, %v, want the error of the file system", format, rep, err)
		}
	}
}

func TestPythonCannotSpill(t *testing.T) {
	t.Parallel()
	r := lines(t, func(yield func(string) bool) {
		for i := range 30 {
			yield(fmt.Sprintf(`{"session_id":"s%d","system":"%s"}`, i, strings.Repeat("x", 1<<19)))
		}
	})
	_, err := formats.Import(t.Context(), newStore(t), "python", r, &formats.Options{TempDir: t.TempDir() + "/missing"})
	if !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error %v, want that of the file system", err)
	}
}

func TestCancelWithin(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"python", "openai"} {
		ctx, cancel := context.WithCancel(t.Context())
		n := 0
		r := lines(t, func(yield func(string) bool) {
			for {
				if n++; n == 1000 {
					cancel()
				}
				if !yield(`{"session_id":null,"messages":[]}`) {
					return
				}
			}
		})
		if _, err := formats.Import(ctx, newStore(t), format, r, nil); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: error %v, want context.Canceled", format, err)
		}
	}
}

// lines returns a reader of the lines that all yields, made as they are read.
func lines(t testing.TB, all iter.Seq[string]) io.Reader {
	next, stop := iter.Pull(all)
	t.Cleanup(stop)
	return &lineReader{next: next}
}

type lineReader struct {
	next func() (string, bool)
	rest string
}

func (r *lineReader) Read(b []byte) (int, error) {
	if r.rest == "" {
		line, ok := r.next()
		if !ok {
			return 0, io.EOF
		}
		r.rest = line + "\n"
	}
	n := copy(b, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}
