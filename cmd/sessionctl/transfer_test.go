package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestImportCounts(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		format, file, first, second string
	}{
		{"openai", "openai.jsonl", "imported 2 sessions, 4 messages, 0 skipped\n", "imported 0 sessions, 0 messages, 2 skipped\n"},
		{"sharegpt", "sharegpt.json", "imported 2 sessions, 6 messages, 0 skipped\n", "imported 0 sessions, 0 messages, 2 skipped\n"},
		{"python", "python.jsonl", "imported 3 sessions, 5 messages, 0 skipped\n", "imported 0 sessions, 0 messages, 3 skipped\n"},
	} {
		t.Run(tt.format, func(t *testing.T) {
			t.Parallel()
			c := newCLI(t)
			file := filepath.Join("testdata", tt.file)
			if got := c.ok("import", "--format", tt.format, file); got != tt.first {
				t.Errorf("import printed %q, want %q", got, tt.first)
			}
			before := c.ok("export")
			if got := c.ok("import", "--format", tt.format, file); got != tt.second {
				t.Errorf("the second import printed %q, want %q", got, tt.second)
			}
			content, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if got := c.okIn(string(content), "import", "--format", tt.format, "-"); got != tt.second {
				t.Errorf("the import from standard input printed %q, want %q", got, tt.second)
			}
			if after := c.ok("export"); after != before {
				t.Errorf("the second import changed the store: export gives\n%s\nbefore it was\n%s", after, before)
			}
			if got := c.ok("verify"); !strings.Contains(got, " 0 problems") {
				t.Errorf("verify printed %q", got)
			}
		})
	}
}

// Files of others, beside the repository where they are at hand.
func TestImportSamples(t *testing.T) {
	t.Parallel()
	samples := filepath.Join("..", "..", "..", "shared", "data")
	for _, tt := range []struct{ format, file, want string }{
		{"sharegpt", "sharegpt-toolcalls.json", "imported 300 sessions, 1914 messages, 0 skipped\n"},
		{"openai", "openai-finetune.jsonl", "imported 4 sessions, 13 messages, 0 skipped\n"},
		{"python", "python-dicts.jsonl", "imported 6 sessions, 10 messages, 0 skipped\n"},
	} {
		t.Run(tt.format, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(samples, tt.file)
			if _, err := os.Stat(file); err != nil {
				t.Skipf("put the sample file %s beside the repository to run this: %v", tt.file, err)
			}
			c := newCLI(t)
			if got := c.ok("import", "--format", tt.format, file); got != tt.want {
				t.Errorf("import printed %q, want %q", got, tt.want)
			}
			c.roundTrip()
		})
	}
}

// roundTrip exports the store and imports it into another one, which must be equal.
func (c *cli) roundTrip() {
	c.Helper()
	export := c.ok("export")
	other := newCLI(c.T)
	counts := strings.TrimSuffix(c.ok("ls", "--json"), "\n")
	got := other.okIn(export, "import", "--json", "--format", "native", "-")
	var r struct{ Sessions, Messages, Skipped, Failed int }
	if err := json.Unmarshal([]byte(got), &r); err != nil || r.Sessions != lineCount(counts)+1 || r.Skipped != 0 || r.Failed != 0 {
		c.Errorf("import of the export printed %q, %v; want %d sessions, none skipped or failed", got, err, lineCount(counts)+1)
	}
	if again := other.ok("export"); again != export {
		c.Errorf("the imported store exports\n%s\nwant\n%s", again, export)
	}
	if got := other.ok("ls", "--json"); got != counts+"\n" {
		c.Errorf("the imported store lists\n%s\nwant\n%s", got, counts)
	}
	if got := other.okIn(export, "import", "--format", "native", "-"); !strings.HasPrefix(got, "imported 0 sessions, 0 messages, ") {
		c.Errorf("the second import printed %q, want nothing new", got)
	}
}

func TestExportAndBack(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	c.ok("import", "--format", "python", "testdata/python.jsonl")
	c.ok("rewind", "order-7", "4")
	c.ok("append", "order-7", "after a gap <&>")
	c.ok("update", "--set", "x=1.0", "--ttl", "720h", "order-7")
	c.ok("fork", "--id", "child", "--at", "2", "order-7")
	c.roundTrip()

	if got := c.ok("export", "--user", "李"); strings.Count(got, `"agent_name":"客服"`) != 1 || strings.Contains(got, "order-7") {
		t.Errorf("export --user printed %q, want one session", got)
	}
	if got := c.ok("export", "child", "done"); strings.Contains(got, `"session_id":"paused"`) || !strings.Contains(got, `"session_id":"child"`) || !strings.Contains(got, `"session_id":"done"`) {
		t.Errorf("export of two ids printed %q", got)
	}
}

func TestExportOfMissingSession(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	c.ok("import", "--format", "python", "testdata/python.jsonl")
	r := call(t, "", "--store", c.url, "export", "done", "none")
	c.complains(r, exitFailed, []string{`"none"`, "session not found"}, []string{"export"})
	other := newCLI(t)
	if got, want := other.okIn(r.out, "import", "--format", "native", "-"), "imported 1 sessions, 0 messages, 0 skipped\n"; got != want {
		t.Errorf("import of the rest printed %q, want %q", got, want)
	}
}

// An export that was cut off is reported, and what it has whole is imported.
func TestCutExportIsReported(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	c.ok("import", "--format", "python", "testdata/python.jsonl")
	export := c.ok("export")
	lines := strings.SplitAfter(strings.TrimSuffix(export, "\n"), "\n")
	for keep := range lines {
		cut := strings.Join(lines[:keep], "")
		other := newCLI(t)
		args := []string{"import", "--format", "native", "-"}
		r := call(t, cut, append([]string{"--store", other.url}, args...)...)
		if r.code != exitFailed || !strings.HasPrefix(r.err, "sessionctl: ") || strings.Contains(r.err, "goroutine") {
			t.Errorf("import of %d of %d lines: exit status %d, standard error %q; want 1 and the reason", keep, len(lines), r.code, r.err)
		}
		if lineCount(r.out) != 1 || !strings.HasPrefix(r.out, "imported ") {
			t.Errorf("import of %d of %d lines printed %q; want what was imported", keep, len(lines), r.out)
		}
		if got := other.ok("verify"); !strings.Contains(got, " 0 problems") {
			t.Errorf("after the import of %d lines verify printed %q", keep, got)
		}
	}
	// A byte that changed is not a different conversation.
	other := newCLI(t)
	r := call(t, strings.Replace(export, "Where is it?", "Where is he?", 1), "--store", other.url, "import", "--format", "native", "-")
	if r.code != exitFailed {
		t.Errorf("import of a changed file: exit status %d, standard error %q; want 1", r.code, r.err)
	}
}

// Field report I05: one bad record is reported, and the others imported.
func TestBadRecordsAreReported(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	r := call(t, "", "--store", c.url, "import", "--format", "openai", "testdata/openai-bad.jsonl")
	if want := "imported 2 sessions, 3 messages, 0 skipped\n"; r.code != exitFailed || r.out != want {
		t.Errorf("exit status %d, output %q; want 1 and %q", r.code, r.out, want)
	}
	if !strings.HasPrefix(r.err, "sessionctl: testdata/openai-bad.jsonl: line 2 ") || !strings.HasSuffix(r.err, "1 record could not be imported\n") {
		t.Errorf("standard error %q; want line 2 of the file, and the count", r.err)
	}
	r = call(t, "", "--store", c.url, "import", "--json", "--format", "openai", "testdata/openai-bad.jsonl")
	if want := `{"sessions":0,"messages":0,"skipped":2,"expired":0,"branches":0,"failed":1}` + "\n"; r.code != exitFailed || r.out != want {
		t.Errorf("exit status %d, output %q; want 1 and %q", r.code, r.out, want)
	}
}

// Field report I05: a bad line of a python file is reported, the others are imported, and
// the mended file gives what it would have given at first.
func TestBadLineOfPythonFile(t *testing.T) {
	t.Parallel()
	want := newCLI(t)
	lines := []string{
		`{"session_id":"s","created_at":"2026-01-01T00:00:00Z","updated_at":"2026-01-01T00:00:00Z"}`,
		`{"session_id":"s","role":"user","content":"hello"}`,
		`{"session_id":"s","role":"assistant","content":"hello you"}`,
	}
	whole := strings.Join(lines, "\n")
	want.okIn(whole, "import", "--format", "python", "-")
	for at := 1; at < len(lines); at++ {
		c := newCLI(t)
		bad := strings.Replace(whole, lines[at], lines[at][:20], 1)
		r := call(t, bad, "--store", c.url, "import", "--format", "python", "-")
		if want := "imported 1 sessions, 1 messages, 0 skipped\n"; r.code != exitFailed || r.out != want {
			t.Errorf("exit status %d, output %q; want 1 and %q", r.code, r.out, want)
		}
		if line := fmt.Sprintf("sessionctl: -: line %d (record %d): ", at+1, at); !strings.HasPrefix(r.err, line) || !strings.HasSuffix(r.err, "1 record could not be imported\n") {
			t.Errorf("standard error %q; want it to begin with %q, and the count", r.err, line)
		}
		if got, want := c.okIn(whole, "import", "--format", "python", "-"), "imported 1 sessions, 2 messages, 0 skipped\n"; got != want {
			t.Errorf("import of the mended file printed %q, want %q", got, want)
		}
		if got, want := c.ok("export"), want.ok("export"); got != want {
			t.Errorf("the store exports\n%s\nwant\n%s", got, want)
		}
	}
}

// Sessions that have expired are left out, but not without a word.
func TestImportOfExpired(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	const file = `{"session_id":"old","ttl_seconds":1,"created_at":"2020-01-01T00:00:00Z","updated_at":"2020-01-01T00:00:00Z"}` + "\n" + `{"session_id":"s"}`
	r := call(t, file, "--store", c.url, "import", "--format", "python", "-")
	if want := "imported 1 sessions, 0 messages, 0 skipped\n"; r.code != exitOK || r.out != want {
		t.Errorf("exit status %d, output %q; want 0 and %q", r.code, r.out, want)
	}
	if want := "sessionctl: -: 1 session had expired and stayed out\n"; r.err != want {
		t.Errorf("standard error %q, want %q", r.err, want)
	}
	r = call(t, file, "--store", c.url, "import", "--json", "--format", "python", "-")
	if want := `{"sessions":0,"messages":0,"skipped":1,"expired":1,"branches":0,"failed":0}` + "\n"; r.code != exitOK || r.out != want || lineCount(r.err) != 1 {
		t.Errorf("exit status %d, output %q, standard error %q; want 0, %q and a line", r.code, r.out, r.err, want)
	}
}

func TestImportOwner(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	c.ok("import", "--format", "openai", "--user", "ada", "--agent", "clerk", "testdata/openai.jsonl")
	c.ok("import", "--format", "openai", "--user", "bob", "testdata/openai.jsonl")
	if got := c.ok("ls", "--json", "--user", "ada", "--agent", "clerk"); lineCount(got) != 2 {
		t.Errorf("ls printed %q, want ada's two sessions", got)
	}
	if got := c.ok("ls", "--json"); lineCount(got) != 4 {
		t.Errorf("ls printed %q, want four sessions", got)
	}
}

func TestProgressText(t *testing.T) {
	t.Parallel()
	p := &progress{size: 4 << 20}
	for read, want := range map[int64]string{
		0:       "importing 0.0 MiB of 4.0 [..............................]   0%",
		2 << 20: "importing 2.0 MiB of 4.0 [###############...............]  50%",
		5 << 20: "importing 5.0 MiB of 4.0 [##############################] 100%",
	} {
		if got := p.text(read); got != want {
			t.Errorf("at %d bytes the bar is %q, want %q", read, got, want)
		}
	}
	if got, want := (&progress{}).text(3<<19), "importing 1.5 MiB"; got != want {
		t.Errorf("without a size the bar is %q, want %q", got, want)
	}
}

func TestProgressDrawsAndClears(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	p := &progress{w: &out}
	p.clear()
	if out.String() != "" {
		t.Errorf("clear before anything was drawn wrote %q, want nothing", out.String())
	}
	p.at(1 << 20)
	p.clear()
	p.clear()
	if got, want := out.String(), "\rimporting 1.0 MiB\x1b[K\r\x1b[K"; got != want {
		t.Errorf("the bar wrote %q, want %q", got, want)
	}
	newProgress(&out, 1).at(1)
	if got := out.String(); strings.Contains(got, "of") {
		t.Errorf("the bar wrote %q to what is no terminal", got)
	}
}
