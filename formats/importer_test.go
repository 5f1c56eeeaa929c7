package formats_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/formats"
)

func chat(text string) string {
	return `{"messages":[{"role":"user","content":"` + text + `"},{"role":"assistant","content":"yes"}]}`
}

// TestBadLines is field report I05: one malformed line must cost that line only.
func TestBadLines(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("long ", 700_000)
	tenMB := `{"messages":[{"role":"user","content":"` + long + `"},{"role":"assistant","content":"` + long + `"},{"role":"user","content":"` + long + `"}]}`
	for _, tc := range []struct {
		name, file string
		sessions   int64
		line       int64
	}{
		{"good, broken, good", chat("a") + "\n{\"messages\":[\n" + chat("b") + "\n", 2, 2},
		{"not a conversation", chat("a") + "\n{\"x\":1}\n" + chat("b") + "\n", 2, 2},
		{"blank lines", "\n" + chat("a") + "\n\n{]\n \n" + chat("b") + "\n\n", 2, 4},
		{"byte order mark", "\ufeff" + chat("a") + "\nnope\n" + chat("b"), 2, 2},
		{"CRLF", chat("a") + "\r\nnope\r\n" + chat("b") + "\r\n", 2, 2},
		{"no final newline", chat("a") + "\nnope\n" + chat("b"), 2, 2},
		{"a line of 10 MB", tenMB + "\n" + tenMB[:len(tenMB)-1] + "\n" + chat("b") + "\n", 2, 2},
		{"invalid UTF-8", chat("a") + "\n" + chat("\xff") + "\n" + chat("b"), 2, 2},
		{"half a surrogate pair", chat("a") + "\n" + chat(`\ud83d`) + "\n" + chat("b"), 2, 2},
		{"an unknown role", chat("a") + "\n" + `{"messages":[{"role":"wizard","content":""}]}` + "\n" + chat("b"), 2, 2},
		{"an array", "[" + chat("a") + ",\n{\"messages\":1},\n" + chat("b") + "]", 2, 2},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			store := newStore(t)
			rep, bad, err := importText(t, store, "openai", tc.file)
			if err != nil || rep.Sessions != tc.sessions || len(bad) != 1 || bad[0].Line != tc.line || bad[0].Index != 1 {
				t.Fatalf("%+v, %v, bad %v, want %d sessions and one error at line %d, record 1", rep, err, bad, tc.sessions, tc.line)
			}
			rep, bad, err = importText(t, store, "openai", tc.file)
			if want := (formats.Report{Skipped: tc.sessions, Failed: 1}); err != nil || rep != want {
				t.Errorf("second import: %+v, %v, bad %v, want %+v", rep, err, bad, want)
			}
		})
	}
}

func TestBrokenArrayEnds(t *testing.T) {
	t.Parallel()
	store := newStore(t)
	rep, _, err := importText(t, store, "openai", "["+chat("a")+",\n"+chat("b")+"}\n"+chat("c")+"]")
	var syntax *formats.SyntaxError
	if !errors.As(err, &syntax) || syntax.Line != 2 || syntax.Index != 2 || rep.Sessions != 2 {
		t.Errorf("%+v, %v, want 2 sessions and a *SyntaxError at line 2, record 2", rep, err)
	}
}

func TestEqualRecords(t *testing.T) {
	t.Parallel()
	store := newStore(t)
	// The same conversation in four spellings, and another.
	file := chat("a") + "\n" + chat("a") + "\n" + chat("b") + "\n" + chat(`\u0061`) + "\n" +
		`{ "messages" : [ {"content":"a","role":"user"}, {"role":"assistant","content":"no","content":"yes"} ] }` + "\n"
	for i, want := range []formats.Report{{Sessions: 5, Messages: 10}, {Skipped: 5}, {Skipped: 5}} {
		if rep, bad, err := importText(t, store, "openai", file); rep != want || err != nil {
			t.Errorf("import %d: %+v, %v, bad %v, want %+v", i+1, rep, err, bad, want)
		}
	}
	ids := map[string]bool{}
	for _, s := range allSessions(t, store) {
		ids[s.ID] = true
		for _, m := range history(t, store, s.ID) {
			ids[m.ID] = true
		}
	}
	if len(ids) != 15 {
		t.Errorf("%d different ids of sessions and messages, want 15", len(ids))
	}
	// A file with one more of them adds that one.
	if rep, _, err := importText(t, store, "openai", file+chat("a")); rep != (formats.Report{Sessions: 1, Messages: 2, Skipped: 5}) || err != nil {
		t.Errorf("longer file: %+v, %v, want one session more", rep, err)
	}
}

func TestOwners(t *testing.T) {
	t.Parallel()
	store := newStore(t)
	for _, user := range []string{"ada", "bob", ""} {
		opts := &formats.Options{UserID: user, AgentName: "mo"}
		for i, want := range []formats.Report{{Sessions: 1, Messages: 2}, {Skipped: 1}} {
			rep, err := formats.Import(t.Context(), store, "openai", strings.NewReader(chat("a")), opts)
			if err != nil || rep != want {
				t.Errorf("import %d for %q: %+v, %v, want %+v", i+1, user, rep, err, want)
			}
		}
	}
	for _, s := range allSessions(t, store) {
		if s.AgentName != "mo" {
			t.Errorf("session %q is of agent %q, want mo", s.ID, s.AgentName)
		}
	}
	// Another owner's session cannot be seen, but its id is in use.
	file := `{"session_id":"s","agent_name":"a"}`
	for _, user := range []string{"ada", "bob"} {
		var bad error
		rep, err := formats.Import(t.Context(), sessionstore.ForUser(store, user), "python", strings.NewReader(file), &formats.Options{
			UserID:  user,
			OnError: func(e formats.RecordError) { bad = e },
		})
		if err != nil || user == "ada" && rep.Sessions != 1 || user == "bob" && !errors.Is(bad, sessionstore.ErrSessionExists) {
			t.Errorf("session s for %s: %+v, %v, bad record: %v, want ada to get it and ErrSessionExists for bob", user, rep, err, bad)
		}
	}
}

func TestSkipsWhatWentOn(t *testing.T) {
	t.Parallel()
	store := newStore(t)
	file := `{"session_id":"s","agent_name":"a","status":"active"}
{"session_id":"s","message_id":"1","role":"user","content":"one"}
{"session_id":"s","message_id":"2","role":"user","content":"two"}
{"session_id":"s","message_id":"3","role":"user","content":"three"}
`
	again := func(what string) {
		t.Helper()
		if rep, bad, err := importText(t, store, "python", file); rep != (formats.Report{Skipped: 1}) || err != nil {
			t.Errorf("%s: %+v, %v, bad %v, want one session skipped", what, rep, err, bad)
		}
	}
	importFile(t, store, "python", strings.NewReader(file), formats.Report{Sessions: 1, Messages: 3})
	again("unchanged")
	if _, err := store.AppendMessages(t.Context(), "s", sessionstore.Append{Messages: []sessionstore.Message{sessionstore.UserMessage("four")}}); err != nil {
		t.Fatal(err)
	}
	again("appended to")
	if _, err := store.TruncateMessages(t.Context(), "s", sessionstore.Truncate{ThroughSeq: 1}); err != nil {
		t.Fatal(err)
	}
	again("truncated")
	paused := sessionstore.StatusPaused
	if _, err := store.UpdateSession(t.Context(), "s", sessionstore.SessionUpdate{Status: &paused}); err != nil {
		t.Fatal(err)
	}
	again("paused")

	rep, bad, err := importText(t, store, "python", strings.Replace(file, "one", "uno", 1))
	if err != nil || rep.Failed != 1 || !errors.Is(bad[0].Err, sessionstore.ErrSessionExists) || bad[0].Line != 1 {
		t.Errorf("other content: %+v, %v, bad %v, want ErrSessionExists at line 1", rep, err, bad)
	}
}

// appendOnly is a store without optional powers.
type appendOnly struct {
	sessionstore.SessionStore
	crash bool // appends fail, and so does the clean-up
}

func (s *appendOnly) AppendMessages(ctx context.Context, id string, a sessionstore.Append) ([]sessionstore.Message, error) {
	if s.crash {
		return nil, errCrash
	}
	return s.SessionStore.AppendMessages(ctx, id, a)
}

func (s *appendOnly) DeleteSession(ctx context.Context, id string) error {
	if s.crash {
		return errCrash
	}
	return s.SessionStore.DeleteSession(ctx, id)
}

var errCrash = errors.New("crash")

func TestStoreWithoutRestorer(t *testing.T) {
	t.Parallel()
	store := &appendOnly{SessionStore: newStore(t)}
	importFile(t, store, "openai", strings.NewReader(chat("a")), formats.Report{Sessions: 1, Messages: 2})
	importFile(t, store, "openai", strings.NewReader(chat("a")), formats.Report{Skipped: 1})

	store.crash = true
	rep, _, err := importText(t, store, "openai", chat("b"))
	if !errors.Is(err, errCrash) || rep.Sessions != 0 {
		t.Errorf("failing store: %+v, %v, want its error", rep, err)
	}
	store.crash = false
	rep, bad, err := importText(t, store, "openai", chat("b")+"\n"+chat("c"))
	if err != nil || rep.Sessions != 1 || len(bad) != 1 || !errors.Is(bad[0].Err, formats.ErrIncomplete) {
		t.Errorf("after a crash: %+v, %v, bad %v, want one session and ErrIncomplete", rep, err, bad)
	}

	// A crash between the messages and the status.
	if _, err := store.CreateSession(t.Context(), sessionstore.Session{ID: "closed"}); err != nil {
		t.Fatal(err)
	}
	rep, bad, err = importText(t, store, "python", `{"session_id":"closed","status":"closed"}`)
	if err != nil || len(bad) != 1 || !errors.Is(bad[0].Err, formats.ErrIncomplete) {
		t.Errorf("status not set: %+v, %v, bad %v, want ErrIncomplete", rep, err, bad)
	}
}

// racing writes each session itself just before it is restored.
type racing struct{ sessionstore.SessionStore }

func (s racing) RestoreSession(ctx context.Context, r sessionstore.Session, messages iter.Seq2[sessionstore.Message, error]) (sessionstore.Session, error) {
	if _, err := sessionstore.RestoreSession(ctx, s.SessionStore, r, messages); err != nil {
		return sessionstore.Session{}, err
	}
	return sessionstore.RestoreSession(ctx, s.SessionStore, r, messages)
}

func TestTwoImportsAtOnce(t *testing.T) {
	t.Parallel()
	importFile(t, racing{newStore(t)}, "openai", strings.NewReader(chat("a")), formats.Report{Skipped: 1})
}

func TestClosedStore(t *testing.T) {
	t.Parallel()
	store := newStore(t)
	store.Close()
	for _, format := range []string{"openai", "python"} {
		rep, bad, err := importText(t, store, format, `{"messages":[],"session_id":"a"}`)
		if !errors.Is(err, sessionstore.ErrStoreClosed) || rep.Failed != 0 {
			t.Errorf("%s: %+v, %v, bad %v, want ErrStoreClosed and no bad record", format, rep, err, bad)
		}
	}
}

func TestExpired(t *testing.T) {
	t.Parallel()
	file := `{"session_id":"old","updated_at":"2020-01-01T00:00:00","ttl_seconds":60}
{"session_id":"new","updated_at":"2020-01-01T00:00:00"}`
	importFile(t, newStore(t), "python", strings.NewReader(file), formats.Report{Sessions: 1, Expired: 1})
}

func TestTooLargeForTheStore(t *testing.T) {
	t.Parallel()
	// One message of more than 8 MiB, and a session with more than 1 MiB of Extra: both
	// can be read, but not be stored.
	big := chat(strings.Repeat("x", sessionstore.MaxAppendBytes))
	state := `{"tools":"` + strings.Repeat("x", sessionstore.MaxStateBytes) + `","messages":[]}`
	store := newStore(t)
	rep, bad, err := importText(t, store, "openai", big+"\n"+state+"\n"+chat("a"))
	if err != nil || rep.Sessions != 1 || len(bad) != 2 {
		t.Fatalf("%+v, %v, bad %v, want one session and two bad records", rep, err, bad)
	}
	for _, b := range bad {
		if !errors.Is(b.Err, sessionstore.ErrTooLarge) {
			t.Errorf("%v, want ErrTooLarge", b)
		}
	}
	if n := len(allSessions(t, store)); n != 1 {
		t.Errorf("%d sessions in the store, want 1", n)
	}
}

func TestLongConversation(t *testing.T) {
	t.Parallel()
	// More messages and bytes than one append takes.
	var b strings.Builder
	b.WriteString(`{"messages":[`)
	text := strings.Repeat("y", 8000)
	const n = 1100
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"role":"user","content":"%d %s"}`, i, text)
	}
	b.WriteString("]}")
	for _, store := range []sessionstore.SessionStore{newStore(t), &appendOnly{SessionStore: newStore(t)}} {
		importFile(t, store, "openai", strings.NewReader(b.String()), formats.Report{Sessions: 1, Messages: n})
		importFile(t, store, "openai", strings.NewReader(b.String()), formats.Report{Skipped: 1})
		s := allSessions(t, store)[0]
		for i, m := range history(t, store, s.ID) {
			if m.Seq != int64(i+1) || !strings.HasPrefix(m.Content.String(), fmt.Sprintf("%d y", i)) {
				t.Fatalf("message %d has seq %d and begins with %.10q", i, m.Seq, m.Content.String())
			}
		}
	}
}

func TestProgress(t *testing.T) {
	t.Parallel()
	file := strings.Repeat(chat("a")+"\n", 4_000)
	for _, format := range formats.Names() {
		var last int64
		_, err := formats.Import(t.Context(), newStore(t), format, strings.NewReader(file), &formats.Options{
			OnProgress: func(n int64) {
				if n <= last {
					t.Errorf("%s: %d bytes after %d", format, n, last)
				}
				last = n
			},
		})
		if format == "native" {
			if err == nil {
				t.Error("native took a file that is no export")
			}
			continue
		}
		if err != nil || last != int64(len(file)) {
			t.Errorf("%s: the last progress is %d bytes, error %v, want %d", format, last, err, len(file))
		}
	}
}

func TestNative(t *testing.T) {
	t.Parallel()
	from, to := newStore(t), newStore(t)
	importFile(t, from, "python", strings.NewReader(testdata(t, "python.jsonl")), formats.Report{Sessions: 5, Messages: 9})
	var file bytes.Buffer
	if _, err := sessionstore.Export(t.Context(), from, &file, nil); err != nil {
		t.Fatal(err)
	}
	text := file.String()
	importFile(t, to, "native", strings.NewReader(text), formats.Report{Sessions: 5, Messages: 9})
	importFile(t, to, "native", strings.NewReader(text), formats.Report{Skipped: 5})
	file.Reset()
	if _, err := sessionstore.Export(t.Context(), to, &file, nil); err != nil || file.String() != text {
		t.Errorf("the second store exports otherwise than the first, error %v", err)
	}
	paused := sessionstore.StatusPaused
	if _, err := to.UpdateSession(t.Context(), "s-1", sessionstore.SessionUpdate{Status: &paused}); err != nil {
		t.Fatal(err)
	}
	rep, bad, err := importText(t, to, "native", text)
	if err != nil || rep.Failed != 1 || bad[0].Index != -1 || !strings.Contains(bad[0].Error(), `session "s-1"`) {
		t.Errorf("changed session: %+v, %v, bad %v, want one error that names it", rep, err, bad)
	}
}

func TestOccurrences(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	o := formats.NewOccurrences(dir, 1024)
	want := map[uint64]uint32{}
	r := rand.New(rand.NewPCG(1, 2))
	for i := range 60_000 {
		key := r.Uint64N(20_000) * 0x9e3779b97f4a7c15
		if i%3 == 0 {
			key = r.Uint64N(10) // some come often, and 0 is a key like others
		}
		want[key]++
		if got, err := o.Count(key); err != nil || got != want[key] {
			t.Fatalf("count %d of key %d = %d, %v, want %d", i, key, got, err, want[key])
		}
	}
	if !o.Spilled() {
		t.Error("all counts are in memory, want the table too small for them")
	}
	// Without a name, the file is gone however the process ends.
	if files, err := os.ReadDir(dir); err != nil || len(files) != 0 && runtime.GOOS != "windows" {
		t.Errorf("%d temporary files have a name, %v, want none", len(files), err)
	}
	o.Close()
	if files, err := os.ReadDir(dir); err != nil || len(files) != 0 {
		t.Errorf("%d temporary files after Close, %v, want none", len(files), err)
	}
}

func TestOccurrencesCannotSpill(t *testing.T) {
	t.Parallel()
	o := formats.NewOccurrences(t.TempDir()+"/missing", 1024)
	defer o.Close()
	for i := range uint64(2000) {
		if _, err := o.Count(i); err != nil {
			if !errors.Is(err, os.ErrNotExist) {
				t.Errorf("error %v, want that of the file system", err)
			}
			return
		}
	}
	t.Error("no error without a place for temporary files")
}
