package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/agent"
)

// chatIn runs a chat that must succeed and returns its output.
func chatIn(t *testing.T, url, stdin string, args ...string) result {
	t.Helper()
	args = append([]string{"--store", url, "chat"}, args...)
	r := call(t, stdin, args...)
	if r.code != exitOK {
		t.Fatalf("sessionctl %q: exit status %d, standard error %q; want 0", args, r.code, r.err)
	}
	return r
}

// shown returns the messages of a session as "role: text".
func shown(t *testing.T, url, id string) []string {
	t.Helper()
	r := call(t, "", "--store", url, "show", "--json", id)
	if r.code != exitOK {
		t.Fatalf("show %s: exit status %d, standard error %q", id, r.code, r.err)
	}
	var got []string
	for _, line := range strings.Split(strings.TrimSpace(r.out), "\n")[1:] {
		m, err := sessionstore.DecodeMessage([]byte(line))
		if err != nil {
			t.Fatal(err)
		}
		text := string(m.Role) + ": " + m.Content.String()
		if _, ok := agent.Interrupted(m); ok {
			text += " (interrupted)"
		}
		got = append(got, text)
	}
	return got
}

func wantLines(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("the history is\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
	}
}

// A conversation survives restarts of the command, on every backend that outlives it.
func TestChatSurvivesRestarts(t *testing.T) {
	t.Parallel()
	for _, b := range backends() {
		if b.name == "memory" {
			continue // it ends with the command
		}
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			url := b.url(t)
			first := chatIn(t, url, "good morning\n\n  \nstill here?\r\n", "--session", "s", "--user", "ada", "--system", "Be brief.")
			if want := "good morning\nstill here?\n"; first.out != want || first.err != "" {
				t.Errorf("printed %q and complained %q; want %q and nothing", first.out, first.err, want)
			}
			// The same command line again, with a last line that does not end.
			chatIn(t, url, "and now", "--session", "s", "--user", "ada", "--system", "Be brief.")
			wantLines(t, shown(t, url, "s"), "user: good morning", "assistant: good morning",
				"user: still here?", "assistant: still here?", "user: and now", "assistant: and now")
		})
	}
}

func TestChatMakesASession(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	r := chatIn(t, c.url, "hello\n")
	id, ok := strings.CutPrefix(strings.TrimSpace(r.err), "session ")
	if r.out != "hello\n" || !ok {
		t.Fatalf("printed %q and said %q; want the echo and the session's id", r.out, r.err)
	}
	wantLines(t, shown(t, c.url, id), "user: hello", "assistant: hello")
	if got := chatIn(t, c.url, " \n"); got.out != "" || got.err != "" {
		t.Errorf("without a line to send: printed %q and said %q, want nothing", got.out, got.err)
	}
	if got := lineCount(c.ok("ls")); got != 2 {
		t.Errorf("ls has %d lines, want the header and one session", got)
	}
}

func TestChatRefuses(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	c.noFiles()
	for _, args := range [][]string{
		{"--agent", "parrot"},
		{"--model", "m"},
		{"--base-url", "http://127.0.0.1:1"},
		{"--agent", "openai"},
		{"--agent", "openai", "--model", "m", "--base-url", "ftp://127.0.0.1"},
		{"--agent", "openai", "--model", "m", "--base-url", "127.0.0.1:1"},
		{"--agent", "openai", "--model", "m", "--base-url", "http://127.0.0.1:1/?version=1"},
		{"--session", "a\nb"},
		{"--temperature", "hot"},
		{"--max-tokens", "-1"},
		{"hello"},
	} {
		c.failsIn("x\n", exitUsage, nil, append([]string{"chat"}, args...)...)
	}
	c.noFiles()
	c.ok("new", "--id", "s", "--user", "ada", "--system", "Be brief.")
	c.failsIn("x\n", exitUsage, []string{"another user"}, "chat", "--session", "s", "--user", "bob")
	c.failsIn("x\n", exitUsage, []string{"instructions"}, "chat", "--session", "s", "--system", "Be long.")
	c.ok("pause", "s")
	c.failsIn("x\n", exitFailed, []string{"paused", "resume"}, "chat", "--session", "s")
	c.ok("close", "s")
	c.failsIn("x\n", exitFailed, []string{"closed"}, "chat", "--session", "s")
	c.failsIn("\xff\n", exitFailed, []string{"standard input", "UTF-8"}, "chat")
	long := strings.Repeat("x", sessionstore.MaxAppendBytes+1)
	c.failsIn(long, exitFailed, []string{"standard input", "bytes of a line"}, "chat")
	if got := c.ok("verify"); !strings.Contains(got, "1 session, 0 messages: 0 problems") {
		t.Errorf("verify printed %q, want the one session and no message", got)
	}
}

// Of two chats that start with a new id, the later one goes on with the session of the other.
func TestChatBesideAnother(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	var out, errOut bytes.Buffer
	a := &app{out: bufio.NewWriter(&out), err: &errOut, storeFlag: c.url}
	in, w := io.Pipe()
	a.in = in
	go func() {
		_, err := io.WriteString(w, "\n") // read once the chat has seen that there is no session
		c.ok("new", "--id", "s", "--user", "ada")
		_, werr := io.WriteString(w, "hello\n")
		w.CloseWithError(errors.Join(err, werr))
	}()
	root := a.rootCmd()
	root.SetArgs([]string{"--store", c.url, "chat", "--session", "s"})
	if err := root.ExecuteContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantLines(t, shown(t, c.url, "s"), "user: hello", "assistant: hello")
}

// A store that is not there is said before anything is read.
func TestChatWithoutAStore(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	c.url = "bolt:" + c.dir + "/missing/s.db"
	c.failsIn("x\n", exitFailed, []string{"does not exist"}, "chat")
	c.noFiles()
}

// completions is a server that speaks enough of the Chat Completions API: it streams the
// words that it is given, and waits for the client to go after those that it does not end.
type completions struct {
	*httptest.Server
	mu       sync.Mutex
	requests []string // the bodies
	status   int      // of a refusal; 0: it answers
	words    []string
	endless  bool
}

func newCompletions(t *testing.T, words ...string) *completions {
	t.Helper()
	s := &completions{words: words}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

func (s *completions) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	s.mu.Lock()
	s.requests = append(s.requests, string(body))
	status := s.status
	s.mu.Unlock()
	if status != 0 {
		http.Error(w, `{"error":{"message":"no such model","type":"invalid_request_error","code":"model_not_found"}}`, status)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	chunk := func(delta, reason string) {
		fmt.Fprintf(w, `data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":%s,"finish_reason":%s}]}`+"\n\n", delta, reason)
		_ = http.NewResponseController(w).Flush()
	}
	for _, word := range s.words {
		text, _ := json.Marshal(word)
		chunk(`{"role":"assistant","content":`+string(text)+`}`, "null")
	}
	if s.endless {
		<-r.Context().Done()
		return
	}
	chunk(`{}`, `"stop"`)
	fmt.Fprint(w, "data: [DONE]\n\n")
}

func (s *completions) last() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requests[len(s.requests)-1]
}

func (s *completions) args(more ...string) []string {
	return append([]string{"--agent", "openai", "--model", "m", "--base-url", s.URL + "/v1"}, more...)
}

func TestChatWithAModel(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	server := newCompletions(t, "It is ", "on its\nway \x1b[31m", "📦")
	r := chatIn(t, c.url, "Where is it?\n", server.args("--session", "s", "--system", "Be brief.", "--max-tokens", "50", "--temperature", "0.5")...)
	// What would change a terminal's colours is shown, not sent.
	if want := "It is on its\nway \\u001b[31m📦\n"; r.out != want {
		t.Errorf("printed %q, want %q", r.out, want)
	}
	var sent struct {
		MaxTokens   int     `json:"max_tokens"`
		Temperature float64 `json:"temperature"`
		Messages    []struct{ Role, Content string }
	}
	chatIn(t, c.url, "Thanks!\n", server.args("--session", "s", "--max-tokens", "50", "--temperature", "0.5")...)
	if err := json.Unmarshal([]byte(server.last()), &sent); err != nil {
		t.Fatal(err)
	}
	roles := ""
	for _, m := range sent.Messages {
		roles += m.Role + " "
	}
	if roles != "system user assistant user " || sent.MaxTokens != 50 || sent.Temperature != 0.5 {
		t.Errorf("the second request was %s, want the instructions, the first turn, the line, and the bounds", server.last())
	}
	chatIn(t, c.url, "Bye\n", server.args("--session", "s", "--last", "1")...)
	if got := strings.Count(server.last(), `"role"`); got > 3 {
		t.Errorf("with --last 1 the request was %s, want the instructions, a bit of history and the line", server.last())
	}
}

// A model that fails without a word leaves no trace, not even a session.
func TestChatWithAModelThatFails(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	server := newCompletions(t)
	server.status = http.StatusNotFound
	c.failsIn("hello\n", exitFailed, []string{"no such model"}, append([]string{"chat"}, server.args()...)...)
	if got := c.ok("verify"); !strings.Contains(got, "0 sessions, 0 messages: 0 problems") {
		t.Errorf("verify printed %q, want an empty store", got)
	}
}

// At a terminal a failure is said and the chat goes on.
func TestChatAtATerminal(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	for range 4 {
		chatIn(t, c.url, "before\n", "--session", "s")
	}
	server := newCompletions(t, "well")
	server.status = http.StatusNotFound
	var out, errOut bytes.Buffer
	a := &app{out: bufio.NewWriter(&out), err: &errOut, interactive: true, storeFlag: c.url}
	lines, w := io.Pipe()
	a.in = lines
	go func() {
		_, _ = io.WriteString(w, "one\n")
		// The next line is read after the first turn.
		_, err := io.WriteString(w, "t")
		server.mu.Lock()
		server.status = 0
		server.mu.Unlock()
		_, werr := io.WriteString(w, "wo\n")
		w.CloseWithError(errors.Join(err, werr)) // nil: the end of the input
	}()
	root := a.rootCmd()
	root.SetArgs(append([]string{"--store", c.url, "chat"}, server.args("--session", "s")...))
	if err := root.ExecuteContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got, want := out.String(), "> > well\n> "; got != want {
		t.Errorf("printed %q, want %q", got, want)
	}
	for _, want := range []string{"session s: 8 messages\n…\nuser: before\nassistant: before\n", "no such model"} {
		if !strings.Contains(errOut.String(), want) {
			t.Errorf("said %q, want %q in it", errOut.String(), want)
		}
	}
	wantLines(t, shown(t, c.url, "s")[8:], "user: two", "assistant: well")
}

// Ctrl-C in the middle of an answer keeps what was said, and the next chat goes on.
func TestChatInterrupted(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a process cannot be sent an interrupt on Windows; run this test on another system")
	}
	t.Parallel()
	c := newCLI(t)
	server := newCompletions(t, "Once upon ", "a time")
	server.endless = true
	for _, sig := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		id := "s" + fmt.Sprint(sig)
		cmd := command(t, c.dir, append([]string{"--store", c.url, "chat"}, server.args("--session", id)...)...)
		cmd.Stdin = strings.NewReader("Tell me a story\nnever sent\n")
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		cmd.Stdout = w
		wait := start(t, cmd)
		w.Close()
		out := make([]byte, len("Once upon a time"))
		if _, err := io.ReadFull(r, out); err != nil {
			t.Fatal(err)
		}
		// The store is not held while the model speaks.
		c.ok("ls")
		if err := cmd.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
		rest, err := io.ReadAll(r)
		if got := wait(); err != nil || got.code != exitFailed || got.err != "sessionctl: interrupted\n" || string(rest) != "\n" {
			t.Errorf("after the signal: %v, printed %q, exit status %d, standard error %q; want the end of the line, 1, and that it was interrupted", err, rest, got.code, got.err)
		}
		wantLines(t, shown(t, c.url, id), "user: Tell me a story", "assistant: Once upon a time (interrupted)")
		chatIn(t, c.url, "Go on\n", "--session", id)
		wantLines(t, shown(t, c.url, id)[2:], "user: Go on", "assistant: Go on")
	}
}
