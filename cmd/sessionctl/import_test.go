package main

import (
	"archive/zip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sessionstore/sessionstore/formats"
)

const chatGPTExport = `[{"conversation_id":"c1","title":"Demo","current_node":"b2","mapping":{
"a":{"message":{"author":{"role":"user"},"content":{"content_type":"text","parts":["hi"]}}},
"b1":{"parent":"a","message":{"author":{"role":"assistant"},"content":{"content_type":"text","parts":["old"]}}},
"b2":{"parent":"a","message":{"author":{"role":"assistant"},"content":{"content_type":"text","parts":["new"]}}}}}]`

// Without --format the format is found out, and said on standard error.
func TestImportFindsTheFormat(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ file, format, want string }{
		{"openai.jsonl", "openai", "imported 2 sessions, 4 messages, 0 skipped\n"},
		{"sharegpt.json", "sharegpt", "imported 2 sessions, 6 messages, 0 skipped\n"},
		{"python.jsonl", "python", "imported 3 sessions, 5 messages, 0 skipped\n"},
	} {
		t.Run(tt.format, func(t *testing.T) {
			t.Parallel()
			c := newCLI(t)
			file := filepath.Join("testdata", tt.file)
			r := call(t, "", "--store", c.url, "import", file)
			if want := "sessionctl: " + file + ": the format is " + tt.format + "\n"; r.code != exitOK || r.out != tt.want || r.err != want {
				t.Errorf("exit status %d, output %q, standard error %q; want 0, %q and %q", r.code, r.out, r.err, tt.want, want)
			}
			if r = call(t, "", "--store", c.url, "import", "--format", tt.format, file); r.code != exitOK || r.err != "" || !strings.HasPrefix(r.out, "imported 0 sessions") {
				t.Errorf("with --format: exit status %d, output %q, standard error %q; want nothing new and nothing said", r.code, r.out, r.err)
			}
		})
	}
	c := newCLI(t)
	c.ok("import", "--format", "python", "testdata/python.jsonl")
	c.okErr(c.ok("export"), "sessionctl: -: the format is native\n", "import", "-")
}

// okErr runs a command that succeeds and says something on standard error.
func (c *cli) okErr(in, want string, args ...string) {
	c.Helper()
	if r := call(c.T, in, append([]string{"--store", c.url}, args...)...); r.code != exitOK || r.err != want {
		c.Errorf("%q: exit status %d, standard error %q; want 0 and %q", args, r.code, r.err, want)
	}
}

func TestImportHelpNamesTheFormats(t *testing.T) {
	t.Parallel()
	help := newCLI(t).ok("import", "--help")
	for _, name := range formats.Names() {
		if !strings.Contains(help, "\n  "+name+" ") {
			t.Errorf("the help has no line about %s:\n%s", name, help)
		}
	}
}

func TestImportOfNoFormat(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	r := call(t, `{"x":1}`, "--store", c.url, "import", "-")
	c.complains(r, exitFailed, []string{`"x"`, "chatgpt", "vercel"}, nil)
	r = call(t, `[{"id":"m","role":"user","content":"hi"}]`, "--store", c.url, "import", "-")
	c.complains(r, exitFailed, []string{"could be vercel"}, nil)
	if got := c.ok("ls", "--json"); got != "" {
		t.Errorf("ls printed %q, want nothing", got)
	}
}

// The zip archive that ChatGPT sends is imported as it is, from a file or a pipe; other
// branches only when asked for.
func TestImportOfZip(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	name := filepath.Join(t.TempDir(), "export.zip")
	writeZip(t, name, "conversations-000.json", chatGPTExport)
	r := call(t, "", "--store", c.url, "import", name)
	if want := "imported 1 sessions, 2 messages, 0 skipped\n"; r.code != exitOK || r.out != want {
		t.Errorf("exit status %d, output %q; want 0 and %q", r.code, r.out, want)
	}
	if !strings.Contains(r.err, "the format is chatgpt\n") || !strings.Contains(r.err, "1 alternative stayed out; --branches") {
		t.Errorf("standard error %q; want the format, and the other branch", r.err)
	}
	archive, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := c.okIn(string(archive), "import", "--format", "chatgpt", "--branches", "-"), "imported 1 sessions, 2 messages, 1 skipped\n"; got != want {
		t.Errorf("import --branches printed %q, want %q", got, want)
	}
	list := c.ok("ls", "--json")
	if strings.Count(list, `"parent_id":"chatgpt-`) != 1 || !strings.Contains(list, `"fork_seq":1`) {
		t.Errorf("ls printed %s, want a fork from message 1", list)
	}
	c.roundTrip()
}

func writeZip(t *testing.T, name, entry, content string) {
	t.Helper()
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z := zip.NewWriter(f)
	w, err := z.Create(entry)
	if err == nil {
		_, err = w.Write([]byte(content))
	}
	if err == nil {
		err = z.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
}
