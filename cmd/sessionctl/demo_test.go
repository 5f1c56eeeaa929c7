package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The demo runs any number of times in an empty directory, and its session stays.
func TestDemo(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for n := 1; n <= 2; n++ {
		r := finish(t, command(t, dir, "demo"))
		if r.code != exitOK || r.err != "" {
			t.Fatalf("demo, run %d: exit status %d, standard error %q; want 0 and nothing", n, r.code, r.err)
		}
		for _, want := range []string{
			"bolt:sessions.db", "session is paused", "session is closed", "track_order", `"tool_calls":[{"id":"call_1"`,
			`{"role":"system","content":"You help customers of a book shop. Be brief."}`, "still closed", "sessionctl show ",
		} {
			if !strings.Contains(r.out, want) {
				t.Errorf("demo, run %d, printed\n%s\nwant %q in it", n, r.out, want)
			}
		}
		list := finish(t, command(t, dir, "ls", "--json", "--user", "ada", "--status", "closed"))
		if lineCount(list.out) != n {
			t.Errorf("ls after %d runs printed %q, want as many sessions", n, list.out)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 || entries[0].Name() != "sessions.db" {
		t.Errorf("the directory holds %v, %v; want sessions.db alone", entries, err)
	}
	ignored, err := os.ReadFile(filepath.Join("..", "..", ".gitignore"))
	if err != nil || !strings.Contains(string(ignored), "*.db\n") {
		t.Errorf(".gitignore is %q, %v; want it to cover sessions.db", ignored, err)
	}
}

// What the demo tells to try next can be typed, and shows no password.
func TestDemoTellsWhatToTry(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	if got, want := c.ok("demo"), "  sessionctl --store '"+c.url+"' ls --user ada\n"; !strings.Contains(got, want) {
		t.Errorf("demo printed\n%s\nwant %q in it", got, want)
	}
	c.url += "?namespace=o%27brien"
	if got, want := c.ok("demo"), "  sessionctl --store '"+c.url+"' ls --user ada\n"; !strings.Contains(got, want) {
		t.Errorf("demo printed\n%s\nwant %q in it", got, want)
	}
	for url, want := range map[string]string{
		"postgres://u:hunter2@h/d": "--store … ",
		"postgres://h/d?key=x":     "--store … ",
		"postgres://h/d":           "--store 'postgres://h/d' ",
		"bolt:it's.db":             `--store 'bolt:it'\''s.db' `,
		"bolt:a@hunter2":           "--store … ",
		"":                         "",
	} {
		if got := (&demo{app: &app{storeFlag: url}}).storeOption(); got != want {
			t.Errorf("for %q the option is %q, want %q", url, got, want)
		}
	}
}

func TestDemoInMemory(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r := finish(t, command(t, dir, "demo", "--store", "memory:"))
	if r.code != exitOK || r.err != "" || !strings.Contains(r.out, "ends with its process") || strings.Contains(r.out, "sessionctl show") {
		t.Errorf("demo: exit status %d, standard error %q, output\n%s\nwant 0, nothing, and that the store ends", r.code, r.err, r.out)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Errorf("the directory holds %v, %v; want nothing", entries, err)
	}
}
