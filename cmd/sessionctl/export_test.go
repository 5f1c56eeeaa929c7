package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/sessionstore/sessionstore/formats"
)

func TestExportFormats(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	c.ok("import", "--format", "openai", "testdata/openai.jsonl")
	before := lineCount(c.ok("ls", "--json"))
	for _, format := range formats.ExportNames() {
		r := call(t, "", "--store", c.url, "export", "--format", format)
		if r.code != exitOK {
			t.Errorf("export --format %s: exit status %d, standard error %q", format, r.code, r.err)
		}
		back := format
		if format == "finetune" {
			back = "openai"
		}
		other := newCLI(t)
		other.okIn(r.out, "import", "--format", back, "-")
		if got := lineCount(other.ok("ls", "--json")); got != before {
			t.Errorf("%d sessions come back from %s, want %d:\n%s", got, format, before, r.out)
		}
		if format == "native" {
			continue
		}
		if got := strings.Count(r.out, "\n"); got != before {
			t.Errorf("export --format %s wrote %d lines, want %d", format, got, before)
		}
		r = call(t, "", "--store", c.url, "export", "--array", "--format", format)
		var list []map[string]any
		if err := json.Unmarshal([]byte(r.out), &list); err != nil || len(list) != before {
			t.Errorf("export --array --format %s gives a list of %d, %v, want %d", format, len(list), err, before)
		}
	}
}

// What a format cannot hold is said on standard error, and nothing else is.
func TestExportSaysWhatIsLeftOut(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	file := `{"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"https://example.com/a.png"}},{"type":"text","text":"what?"}]},` +
		`{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"look","arguments":"{}"}}]}]}` + "\n" + `{"messages":[]}`
	c.okIn(file, "import", "--format", "openai", "-")
	r := call(t, "", "--store", c.url, "export", "--format", "sharegpt")
	if want := "sessionctl: left out: 1 session with nothing to say, call without a result: 1, image_url part: 1\n"; r.code != exitOK || r.err != want {
		t.Errorf("exit status %d, standard error %q; want 0 and %q", r.code, r.err, want)
	}
	if !strings.Contains(r.out, `"from":"observation"`) {
		t.Errorf("the call has no result in %s", r.out)
	}
	r = call(t, "", "--store", c.url, "export", "--format", "sharegpt", "--drop-unanswered")
	if strings.Contains(r.out, "look") || strings.Contains(r.err, "call without a result") {
		t.Errorf("with --drop-unanswered the call is in %s, standard error %q", r.out, r.err)
	}
}

func TestExportUsage(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	for _, tt := range []struct {
		args, want []string
	}{
		{[]string{"export", "--format", "xml"}, []string{`"xml"`, "anthropic", "native"}},
		{[]string{"export", "--array"}, []string{"--array"}},
		{[]string{"export", "--drop-unanswered", "--format", "native"}, []string{"--drop-unanswered"}},
		{[]string{"export", "--format", "openai", "--user", "u", "s"}, []string{"either"}},
	} {
		c.fails(exitUsage, tt.want, tt.args...)
	}
	c.ok("import", "--format", "python", "testdata/python.jsonl")
	r := call(t, "", "--store", c.url, "export", "--format", "openai", "order-7", "none")
	if want := `export of ["none"]: session not found; the rest is complete`; r.code != exitFailed || !strings.HasSuffix(r.err, want+"\n") || lineCount(r.out) != 1 {
		t.Errorf("exit status %d, standard error %q, output %q; want %d, the reason %q and a conversation", r.code, r.err, r.out, exitFailed, want)
	}
}
