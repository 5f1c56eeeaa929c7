package formats_test

import (
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/formats"
)

// seeds are files in which something is wrong, or looks as if it were.
var seeds = []string{
	"", "\ufeff", "[", "[]", "[[]]", "{", "{\n", "{\n \"a\":1}\n{}", "{}\n{}", "[1,\n]", "[{}]\n[{}]", "nul", `"\ud800"`, "\xff", "[\"\\\"]\"]",
	`{"messages":[{"role":"user","content":"a"}]}` + "\r\n\r\n" + `{"messages":[{"role":"user","content":"a"}]}`,
	`[{"role":"system","content":"a"},{"role":"assistant","function_call":{"name":"f"}},{"role":"function","content":null}]`,
	`{"input":{"messages":[]},"preferred_output":[]}`,
	`{"conversations":[{"from":"function_call","value":"[{\"name\":\"a\"}]"},{"from":"observation","value":""}],"tools":"[]"}`,
	`{"conversation":[{"human":"a","assistant":"b"}]}`,
	`{"session_id":"s","status":"closed","ttl_seconds":1e9}` + "\n" + `{"session_id":"s","role":"tool","message_id":"m"}`,
	`{"session_id":"s","messages":[{"role":"user","content":[{"type":"text","text":null}]}]}`,
	`{"session_id":null,"messages":null}`,
}

func addSeeds(f *testing.F, file string) {
	f.Helper()
	for _, s := range seeds {
		f.Add(s)
	}
	f.Add(testdata(f, file))
}

// FuzzRecords: however a file arrives, it is cut into the same records, in order.
func FuzzRecords(f *testing.F) {
	addSeeds(f, "sharegpt.json")
	f.Fuzz(func(t *testing.T, file string) {
		for _, whole := range []func(string) bool{nil, formats.IsChatMessage} {
			got, err := read(strings.NewReader(file), whole)
			var syntax *formats.SyntaxError
			if err != nil && !errors.As(err, &syntax) {
				t.Fatalf("error %v is no *SyntaxError", err)
			}
			for _, r := range []io.Reader{iotest.OneByteReader(strings.NewReader(file)), iotest.DataErrReader(strings.NewReader(file))} {
				again, err2 := read(r, whole)
				if !slices.Equal(got, again) || (err == nil) != (err2 == nil) || err != nil && err.Error() != err2.Error() {
					t.Fatalf("read in pieces\n got %q, %v\nwant %q, %v", again, err2, got, err)
				}
			}
		}
	})
}

// fuzzImport: an import ends, reports what it wrote, and finds all of it the next time.
func fuzzImport(t *testing.T, format, file string) {
	store := newStore(t)
	first, _, err := importText(t, store, format, file)
	if unreadable(err) && first == (formats.Report{}) {
		return
	}
	var syntax *formats.SyntaxError
	if err != nil && !errors.As(err, &syntax) {
		t.Fatalf("error %v is no *SyntaxError", err)
	}
	sessions := allSessions(t, store)
	var messages int64
	for _, s := range sessions {
		got := history(t, store, s.ID)
		messages += int64(len(got))
		if s.MessageCount != int64(len(got)) || s.LastSeq != s.MessageCount {
			t.Errorf("session %q counts %d messages to %d, it has %d", s.ID, s.MessageCount, s.LastSeq, len(got))
		}
	}
	if first.Sessions != int64(len(sessions)) || first.Messages != messages {
		t.Errorf("report %+v, the store has %d sessions and %d messages", first, len(sessions), messages)
	}
	second, _, err2 := importText(t, store, format, file)
	want := formats.Report{Skipped: first.Sessions + first.Skipped, Expired: first.Expired, Failed: first.Failed}
	if second != want || (err == nil) != (err2 == nil) {
		t.Errorf("second import %+v, %v, want %+v, %v", second, err2, want, err)
	}
}

func FuzzOpenAI(f *testing.F) {
	addSeeds(f, "openai.jsonl")
	f.Fuzz(func(t *testing.T, file string) { fuzzImport(t, "openai", file) })
}

func FuzzShareGPT(f *testing.F) {
	addSeeds(f, "sharegpt.json")
	f.Fuzz(func(t *testing.T, file string) { fuzzImport(t, "sharegpt", file) })
}

func FuzzPython(f *testing.F) {
	addSeeds(f, "python.jsonl")
	f.Fuzz(func(t *testing.T, file string) { fuzzImport(t, "python", file) })
}

// FuzzNative: nothing in a file makes the adapter fail otherwise than by an error.
func FuzzNative(f *testing.F) {
	addSeeds(f, "openai.jsonl")
	f.Add(`{"sessionstore":"export","version":1}` + "\n" + `{"session":{"session_id":"s","created_at":"2020-01-01","updated_at":"2020-01-01","version":1}}`)
	f.Fuzz(func(t *testing.T, file string) {
		store := newStore(t)
		rep, _, err := importText(t, store, "native", file)
		if n := len(allSessions(t, store)); rep.Sessions != int64(n) || errors.Is(err, sessionstore.ErrStoreClosed) {
			t.Errorf("report %+v, %v, the store has %d sessions", rep, err, n)
		}
	})
}
