package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/sessionstore/sessionstore"
)

// decode reads the one session that a command printed as JSON.
func (c *cli) decode(out string) sessionstore.Session {
	c.Helper()
	s, err := sessionstore.DecodeSession([]byte(out))
	if err != nil || lineCount(out) != 1 {
		c.Fatalf("output %q: %v; want one session in one line", out, err)
	}
	return s
}

func TestLifecycle(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	id := strings.TrimSpace(c.ok("new", "--user", "ada", "--agent", "support", "--system", "Be brief.", "--ttl", "720h",
		"--set", "n=1", "--set", "zip=01234", "--set", `list=[1,null]`, "--set-string", "flag=true"))
	if len(id) != 36 {
		t.Fatalf("new printed %q, want a UUID", id)
	}
	s := c.decode(c.ok("update", "--json", "--delete", "list", "--agent", "billing", "--ttl", "0", id))
	if n, ok := s.Metadata.Int("n"); !ok || n != 1 {
		t.Errorf("metadata n is %v, want the number 1", s.Metadata["n"])
	}
	if zip, ok := s.Metadata.String("zip"); !ok || zip != "01234" {
		t.Errorf("metadata zip is %v, want the text 01234", s.Metadata["zip"])
	}
	if flag, ok := s.Metadata.String("flag"); !ok || flag != "true" {
		t.Errorf("metadata flag is %v, want the text true", s.Metadata["flag"])
	}
	if _, ok := s.Metadata["list"]; ok || s.AgentName != "billing" || s.TTL != 0 || s.Version != 2 || s.UserID != "ada" || s.System != "Be brief." {
		t.Errorf("after the update: %+v; want no list, agent billing, TTL 0, version 2, user and system as before", s)
	}

	if got := c.ok("append", id, "hello"); !strings.Contains(got, "1    user  ") {
		t.Errorf("append printed %q, want seq 1 of a user", got)
	}
	calls := `[{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]},
		{"role":"tool","tool_call_id":"c","content":"done"}]`
	out := c.okIn(calls, "append", "--json", "--if-last-seq", "1", id, "-")
	if lineCount(out) != 2 || !strings.Contains(out, `"seq":2`) || !strings.Contains(out, `"seq":3`) {
		t.Errorf("append - printed %q, want the messages with seqs 2 and 3", out)
	}
	c.fails(exitFailed, []string{"conflict", "last_seq is 3"}, "append", "--if-last-seq", "2", id, "late")

	if got, want := c.ok("pause", id), id+" is paused (version 3)\n"; got != want {
		t.Errorf("pause printed %q, want %q", got, want)
	}
	c.fails(exitFailed, []string{"session is paused", id}, "append", id, "refused")
	c.fails(exitFailed, []string{"session is paused", id}, "clear", id)
	if s := c.decode(c.ok("resume", "--json", id)); s.Status != sessionstore.StatusActive {
		t.Errorf("resumed session is %s, want active", s.Status)
	}

	child := c.decode(c.ok("fork", "--json", "--at", "1", "--user", "bob", "--id", "child", "--set", "n=2", id))
	if child.ID != "child" || child.ParentID != id || child.ForkSeq != 1 || child.MessageCount != 1 || child.UserID != "bob" {
		t.Errorf("fork made %+v; want child of %s at 1 with one message, of bob", child, id)
	}
	if got := c.ok("ls", "--parent", id); lineCount(got) != 2 || !strings.Contains(got, "child") {
		t.Errorf("ls --parent printed %q, want a header and the child", got)
	}
	if got := strings.TrimSpace(c.ok("fork", id)); len(got) != 36 {
		t.Errorf("fork printed %q, want a UUID", got)
	}
	c.fails(exitFailed, []string{"is 9, the last seq is 3"}, "fork", "--at", "9", id)

	if got, want := c.ok("rewind", id, "1"), id+" has 1 message; the next seq is 4\n"; got != want {
		t.Errorf("rewind printed %q, want %q", got, want)
	}
	if s := c.decode(c.ok("clear", "--json", id)); s.MessageCount != 0 || s.LastSeq != 3 {
		t.Errorf("cleared session has %d messages and last seq %d, want 0 and 3", s.MessageCount, s.LastSeq)
	}
	c.ok("close", id)
	c.fails(exitFailed, []string{"invalid status transition"}, "resume", id)
	c.fails(exitFailed, []string{"session is closed"}, "append", id, "refused")

	c.fails(exitFailed, []string{"session exists"}, "new", "--id", "child")
	if got, want := c.ok("rm", "--json", "child"), `{"deleted":"child"}`+"\n"; got != want {
		t.Errorf("rm printed %q, want %q", got, want)
	}
	for _, args := range [][]string{
		{"show", "child"}, {"show", "--last", "1", "child"}, {"chat-messages", "child"}, {"append", "child", "x"}, {"update", "--touch", "child"},
		{"pause", "child"}, {"fork", "child"}, {"rewind", "child", "0"}, {"clear", "child"}, {"rm", "child"},
	} {
		c.fails(exitFailed, []string{"session not found", "child"}, args...)
	}
	if got := c.ok("verify"); !strings.HasPrefix(got, "verified 2 sessions, 3 messages: 0 problems") {
		t.Errorf("verify printed %q, want 2 sessions, 3 messages and no problems", got)
	}
}

func TestRemoveStopsAtAFailure(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	c.ok("new", "--id", "a")
	c.ok("new", "--id", "b")
	r := call(t, "", "--store", c.url, "rm", "a", "none", "b")
	c.complains(r, exitFailed, []string{`"none"`, "1 of 3 are deleted"}, []string{"rm"})
	if r.out != "a is deleted\n" {
		t.Errorf("rm printed %q, want that a is deleted", r.out)
	}
	if got := c.ok("ls", "--json"); lineCount(got) != 1 || !strings.Contains(got, `"session_id":"b"`) {
		t.Errorf("ls printed %q, want b alone", got)
	}
}

func TestUpdateCondition(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	c.ok("new", "--id", "s", "--ttl", "1h")
	before := c.decode(c.ok("update", "--json", "--touch", "s"))
	if before.Version != 1 || !before.ExpiresAt.After(before.CreatedAt) {
		t.Errorf("touched session %+v; want version 1 and an expiry", before)
	}
	c.ok("update", "--if-version", "1", "--system", "", "--set", "a=<&>", "s")
	c.fails(exitFailed, []string{"version is 2", "expected 1"}, "update", "--if-version", "1", "--agent", "x", "s")
	if got := c.ok("ls", "--json"); !strings.Contains(got, `"a":"<&>"`) {
		t.Errorf("ls --json printed %q, want <&> without escapes", got)
	}
}

func TestPurge(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	c.ok("new", "--id", "stays")
	for _, id := range []string{"a", "b", "c"} {
		c.ok("new", "--id", id, "--ttl", "1us")
	}
	if got := c.ok("ls", "--json"); lineCount(got) != 1 {
		t.Errorf("ls printed %q, want one session", got)
	}
	if got, want := c.ok("purge", "--limit", "2"), "purged 2 sessions\n"; got != want {
		t.Errorf("purge --limit 2 printed %q, want %q", got, want)
	}
	if got, want := c.ok("purge", "--json"), `{"purged":1}`+"\n"; got != want {
		t.Errorf("purge printed %q, want %q", got, want)
	}
	c.ok("show", "stays")
}

func TestAppendInput(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	c.ok("new", "--id", "s")
	if got := c.okIn("\ufeff {\"role\":\"user\",\"content\":\"a\"}\r\n\r\n{\"role\":\"user\",\"content\":[]}", "append", "s", "-"); lineCount(got) != 3 {
		t.Errorf("append of JSON lines printed %q, want two messages", got)
	}
	if got := c.okIn(" ", "append", "--json", "s", "-"); got != "" {
		t.Errorf("append of nothing printed %q, want nothing", got)
	}
	c.okIn("[]", "append", "s", "-")
	for _, tt := range []struct {
		name, in string
		want     []string
	}{
		{"second is bad", `{"role":"user","content":"x"}{"role":"robot","content":"x"}`, []string{"standard input: message 2: ", "robot"}},
		{"second has no role", `[{"role":"user","content":"x"},{"content":"x"}]`, []string{"standard input: message 2: ", "role"}},
		{"second does not decode", `{"role":"user","content":"x"}{"role":7}`, []string{"standard input: message 2: ", "role"}},
		{"no JSON", `hello`, []string{"no JSON at byte 1"}},
		{"cut array", `[{"role":"user"`, []string{"no JSON"}},
		{"cut object", `{"role":"user"`, []string{"cut off"}},
		{"not an object", `7`, []string{"message 1"}},
		{"lone surrogate", `{"role":"user","content":"\ud83d"}`, []string{"message 1"}},
		{"invalid UTF-8", "{\"role\":\"user\",\"content\":\"\xff\"}", []string{"message 1", "UTF-8"}},
		{"another session's", `{"session_id":"other","role":"user","content":"x"}`, []string{"session_id"}},
		{"id twice", `[{"message_id":"m","role":"user","content":"x"},{"message_id":"m","role":"user","content":"x"}]`, []string{"message 2: ", `"m"`, "twice"}},
		{"too many", "[" + strings.TrimSuffix(strings.Repeat(`{"role":"user","content":"x"},`, 1001), ",") + "]", []string{"too large", "1001"}},
	} {
		c.failsIn(tt.in, exitFailed, tt.want, "append", "s", "-")
	}
	if got := c.decode(strings.SplitAfter(c.ok("show", "--json", "s"), "\n")[0]); got.LastSeq != 2 {
		t.Errorf("last seq is %d after refused batches, want 2", got.LastSeq)
	}
	first := c.ok("append", "--json", "--id", "m", "--role", "developer", "s", "x")
	if again := c.ok("append", "--json", "--id", "m", "--role", "developer", "s", "x"); again != first {
		t.Errorf("append of the same id printed %q, want the stored message %q", again, first)
	}
	c.fails(exitFailed, []string{"message id exists"}, "append", "--id", "m", "s", "y")
	if got := c.ok("append", "--json", "--role", "tool", "--call-id", "c1", "s", "--", "-1"); !strings.Contains(got, `"tool_call_id":"c1"`) || !strings.Contains(got, `"content":"-1"`) {
		t.Errorf("append of a result printed %q, want the call's id and the text -1", got)
	}
}

// What the commands print as JSON, one value a line, is JSON.
func TestJSONOutputs(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	c.ok("import", "--format", "python", "testdata/python.jsonl")
	for _, args := range [][]string{
		{"new", "--json"}, {"ls", "--json"}, {"show", "--json", "order-7"}, {"chat-messages", "--json", "order-7"},
		{"append", "--json", "order-7", "<&>"}, {"update", "--json", "--touch", "order-7"}, {"pause", "--json", "order-7"},
		{"resume", "--json", "order-7"}, {"fork", "--json", "order-7"}, {"rewind", "--json", "order-7", "3"}, {"clear", "--json", "order-7"},
		{"close", "--json", "order-7"}, {"rm", "--json", "order-7"}, {"purge", "--json"}, {"verify", "--json"}, {"export"},
		{"import", "--json", "--format", "openai", "testdata/openai.jsonl"}, {"backup", "--json", c.dir + "/copy.db"}, {"compact", "--json"},
	} {
		out := c.ok(args...)
		if !strings.HasSuffix(out, "\n") {
			t.Errorf("sessionctl %q printed %q; want whole lines", args, out)
		}
		for line := range strings.Lines(out) {
			if !json.Valid([]byte(line)) {
				t.Errorf("sessionctl %q printed %q; want JSON", args, line)
			}
			if strings.Contains(line, `\u003c`) || strings.Contains(line, `\u0026`) {
				t.Errorf("sessionctl %q printed %q; want no HTML escapes", args, line)
			}
		}
	}
}
