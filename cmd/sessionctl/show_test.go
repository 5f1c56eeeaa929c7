package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/memory"
)

func TestGoldenOutputs(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	if got, want := c.ok("import", "--format", "python", "testdata/python.jsonl"), "imported 3 sessions, 5 messages, 0 skipped\n"; got != want {
		t.Fatalf("import printed %q, want %q", got, want)
	}
	for _, tt := range []struct {
		file string
		args []string
	}{
		{"ls.golden", []string{"ls"}},
		{"ls-json.golden", []string{"ls", "--json", "--user", "ada", "--status", "active", "--status", "closed"}},
		{"show.golden", []string{"show", "order-7"}},
		{"show-full.golden", []string{"show", "--full", "--last", "4", "order-7"}},
		{"show-json.golden", []string{"show", "--json", "order-7"}},
		{"show-empty.golden", []string{"show", "paused"}},
		{"chat.golden", []string{"chat-messages", "order-7"}},
		{"chat-json.golden", []string{"chat-messages", "--json", "order-7"}},
		{"chat-last-json.golden", []string{"chat-messages", "--json", "--last", "1", "order-7"}},
	} {
		t.Run(tt.file, func(t *testing.T) {
			got := c.ok(tt.args...)
			golden(t, tt.file, got)
			if strings.HasSuffix(tt.file, "json.golden") {
				return
			}
			if i := strings.IndexFunc(got, func(r rune) bool {
				return r != '\n' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r))
			}); i >= 0 {
				t.Errorf("the output drives the terminal: %q", got[i:])
			}
		})
	}
}

func TestChatMessagesBounds(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	c.ok("new", "--id", "s")
	c.okIn(`{"role":"user","content":"q"}{"role":"assistant","tool_calls":[{"id":"c","function":{"name":"f","arguments":"{}"}}]}`, "append", "s", "-")
	var msgs []map[string]any
	if err := json.Unmarshal([]byte(c.ok("chat-messages", "--json", "s")), &msgs); err != nil || len(msgs) != 3 || msgs[2]["role"] != "tool" {
		t.Errorf("an unanswered call gives %v, %v; want an error result as the third message", msgs, err)
	}
	if got, want := c.ok("chat-messages", "--json", "--drop-unanswered", "s"), `[{"role":"user","content":"q"}]`+"\n"; got != want {
		t.Errorf("chat-messages --drop-unanswered printed %q, want %q", got, want)
	}
	if got := c.ok("chat-messages", "--json", "--tokens", "10000", "s"); !strings.HasPrefix(got, `[{"role":"user"`) {
		t.Errorf("chat-messages --tokens 10000 printed %q, want everything", got)
	}
	c.fails(exitFailed, []string{"too large"}, "chat-messages", "--tokens", "1", "s")
	c.fails(exitFailed, []string{"too large"}, "chat-messages", "--last", "1", "s")
	c.ok("new", "--id", "empty")
	if got := c.ok("chat-messages", "--json", "empty"); got != "[]\n" {
		t.Errorf("chat-messages of an empty session printed %q, want []", got)
	}
}

// long is a memory store with one session of n messages.
func long(t *testing.T, n int) sessionstore.SessionStore {
	t.Helper()
	store, err := memory.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := store.CreateSession(t.Context(), sessionstore.Session{ID: "s"}); err != nil {
		t.Fatal(err)
	}
	for done := 0; done < n; {
		batch := make([]sessionstore.Message, min(n-done, sessionstore.MaxAppendMessages))
		for i := range batch {
			batch[i] = sessionstore.UserMessage(strconv.Itoa(done + i + 1))
		}
		if _, err := store.AppendMessages(t.Context(), "s", sessionstore.Append{Messages: batch}); err != nil {
			t.Fatal(err)
		}
		done += len(batch)
	}
	return store
}

func TestShowPages(t *testing.T) {
	t.Parallel()
	const n = 2345
	store := long(t, n)
	for _, last := range []int{0, 1, 999, 1000, 1001, 2000, n, n + 1, 10 * n} {
		var out bytes.Buffer
		a := &app{out: bufio.NewWriter(&out), json: true}
		if err := a.show(t.Context(), store, "s", last, false); err != nil {
			t.Fatalf("show --last %d: %v", last, err)
		}
		a.out.Flush()
		want := n
		if last > 0 {
			want = min(last, n)
		}
		got := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
		if len(got) != want+1 {
			t.Fatalf("show --last %d printed %d lines, want the session and %d messages", last, len(got), want)
		}
		for i, line := range got[1:] {
			m, err := sessionstore.DecodeMessage([]byte(line))
			if wantSeq := int64(n - want + i + 1); err != nil || m.Seq != wantSeq {
				t.Fatalf("show --last %d, message %d: seq %d, %v; want seq %d", last, i, m.Seq, err, wantSeq)
			}
		}
	}
}

// What is appended while show reads is not shown: it would be another moment.
func TestShowEndsWhereItBegan(t *testing.T) {
	t.Parallel()
	store := long(t, 1500)
	count := 0
	for page, err := range history(t.Context(), store, "s", 0) {
		if err != nil {
			t.Fatal(err)
		}
		count += len(page.Messages)
		if _, err := store.AppendMessages(t.Context(), "s", sessionstore.Append{Messages: []sessionstore.Message{sessionstore.UserMessage("x")}}); err != nil {
			t.Fatal(err)
		}
	}
	if count != 1500 {
		t.Errorf("the history has %d messages, want the 1500 of its beginning", count)
	}
}

func TestListPages(t *testing.T) {
	t.Parallel()
	const n = 2100
	store, err := memory.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		if _, err := store.CreateSession(t.Context(), sessionstore.Session{ID: "s" + strconv.Itoa(i), UserID: strconv.Itoa(i % 3)}); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		q           sessionstore.SessionQuery
		limit, want int
	}{
		{limit: 0, want: n}, {limit: 1, want: 1}, {limit: 1000, want: 1000}, {limit: 1001, want: 1001}, {limit: 5000, want: n},
		{q: sessionstore.SessionQuery{UserID: "1"}, limit: 0, want: n / 3},
	} {
		var out bytes.Buffer
		a := &app{out: bufio.NewWriter(&out)}
		if err := a.list(t.Context(), store, tt.q, tt.limit); err != nil {
			t.Fatal(err)
		}
		a.out.Flush()
		if got := lineCount(out.String()) - 1; got != tt.want {
			t.Errorf("ls --user %q --limit %d printed %d sessions, want %d", tt.q.UserID, tt.limit, got, tt.want)
		}
	}
}

func TestEscape(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ in, one, many string }{
		{"plain", "plain", "plain"},
		{"é 客 🙂 👩\u200d🚀 \ufffd", "é 客 🙂 👩\u200d🚀 \ufffd", "é 客 🙂 👩\u200d🚀 \ufffd"},
		{"a\nb\tc\r\nd\re", `a\nb\tc\r\nd\re`, "a\nb\tc\nd\\re"},
		{"\x1b[31m\x00\x07\x7f\u009b", `\u001b[31m\u0000\u0007\u007f\u009b`, `\u001b[31m\u0000\u0007\u007f\u009b`},
		{"\u202eabc\u2066\u200f\ufeff", `\u202eabc\u2066\u200f\ufeff`, `\u202eabc\u2066\u200f\ufeff`},
		{"\u2028\u2029\U000e0041", `\u2028\u2029\U000e0041`, `\u2028\u2029\U000e0041`},
		{"\xffx\xe2\x82", `\xffx\xe2\x82`, `\xffx\xe2\x82`},
	} {
		if got := oneLine(tt.in); got != tt.one {
			t.Errorf("oneLine(%q) = %q, want %q", tt.in, got, tt.one)
		}
		if got := lines(tt.in); got != tt.many {
			t.Errorf("lines(%q) = %q, want %q", tt.in, got, tt.many)
		}
	}
}

// JSON for a terminal says the same without driving it, however its bytes arrive.
func TestTerminalWriter(t *testing.T) {
	t.Parallel()
	const in = "{\"a\":\"é 客 🙂 👩\u200d🚀\u009b\u202e\u007f\ufeff\U000e0041 \\u001b\"}\n"
	const want = `{"a":"é 客 🙂 👩` + "\u200d" + `🚀\u009b\u202e\u007f\ufeff\udb40\udc41 \u001b"}` + "\n"
	for _, step := range []int{1, 2, 3, len(in)} {
		var out bytes.Buffer
		w := &terminalWriter{w: &out}
		for at := 0; at < len(in); at += step {
			part := in[at:min(at+step, len(in))]
			if n, err := w.Write([]byte(part)); n != len(part) || err != nil {
				t.Fatalf("Write of %q: %d, %v; want %d, nil", part, n, err, len(part))
			}
		}
		if out.String() != want {
			t.Errorf("in steps of %d: %q, want %q", step, out.String(), want)
		}
		var got, plain any
		if err := errors.Join(json.Unmarshal(out.Bytes(), &got), json.Unmarshal([]byte(in), &plain)); err != nil || !reflect.DeepEqual(got, plain) {
			t.Errorf("it reads as %v, %v; want %v", got, err, plain)
		}
	}
}

// Field report S02: text is never cut inside a character.
func TestFitCutsAtCharacters(t *testing.T) {
	t.Parallel()
	const s = "ab🙂客服é👩\u200d🚀 z"
	for width := 1; width <= cells.StringWidth(s)+1; width++ {
		got := fit(s, width)
		if !utf8.ValidString(got) || cells.StringWidth(got) > width {
			t.Errorf("fit(%q, %d) = %q of %d cells", s, width, got, cells.StringWidth(got))
		}
		if body := strings.TrimSuffix(got, "…"); !strings.HasPrefix(s, body) || got == body && got != s {
			t.Errorf("fit(%q, %d) = %q, want the beginning and …", s, width, got)
		}
	}
}

func TestTable(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	tab := &table{w: &out, width: 34}
	tab.row("ID", "NAME", "TEXT")
	tab.row("1", "客服", "short")
	tab.row("2", "ann", "a text that is longer than what is left")
	if err := tab.flush(); err != nil {
		t.Fatal(err)
	}
	tab.row("3", "a longer name", "x")
	if err := tab.flush(); err != nil {
		t.Fatal(err)
	}
	const want = "ID  NAME  TEXT\n1   客服  short\n2   ann   a text that is longer t…\n3   a longer name  x\n"
	if out.String() != want {
		t.Errorf("table is\n%s\nwant\n%s", out.String(), want)
	}
}
