package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files of this test run")

// asCommand makes the test binary run as sessionctl.
const asCommand = "SESSIONCTL_TEST_AS_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) == "1" {
		os.Exit(mainStatus())
	}
	os.Unsetenv(storeVariable)
	os.Exit(m.Run())
}

// result is what a command left behind.
type result struct {
	code     int
	out, err string
}

// call runs a command line in this process.
func call(t *testing.T, stdin string, args ...string) result {
	t.Helper()
	var out, err bytes.Buffer
	code := run(t.Context(), args, strings.NewReader(stdin), &out, &err)
	return result{code, out.String(), err.String()}
}

// command is a command line for a process of its own, in dir.
func command(t *testing.T, dir string, args ...string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), exe, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), asCommand+"=1")
	return cmd
}

// finish runs cmd to its end.
func finish(t *testing.T, cmd *exec.Cmd) result {
	t.Helper()
	return start(t, cmd)()
}

// start starts cmd, and returns what waits for its end.
func start(t *testing.T, cmd *exec.Cmd) (wait func() result) {
	t.Helper()
	var out, errOut bytes.Buffer
	if cmd.Stdout == nil {
		cmd.Stdout = &out
	}
	cmd.Stderr = &errOut
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return func() result {
		t.Helper()
		if err := cmd.Wait(); cmd.ProcessState == nil {
			t.Fatalf("%q did not end: %v", cmd.Args, err)
		}
		return result{cmd.ProcessState.ExitCode(), out.String(), errOut.String()}
	}
}

// cli is a store file of a test's own.
type cli struct {
	*testing.T
	dir, url string
}

func newCLI(t *testing.T) *cli {
	t.Helper()
	dir := t.TempDir()
	return &cli{T: t, dir: dir, url: "bolt:" + filepath.ToSlash(filepath.Join(dir, "s.db"))}
}

// ok runs a command that must succeed and returns its output.
func (c *cli) ok(args ...string) string {
	c.Helper()
	return c.okIn("", args...)
}

func (c *cli) okIn(stdin string, args ...string) string {
	c.Helper()
	r := call(c.T, stdin, append([]string{"--store", c.url}, args...)...)
	if r.code != exitOK || r.err != "" {
		c.Fatalf("sessionctl %q: exit status %d, standard error %q; want 0 and nothing", args, r.code, r.err)
	}
	return r.out
}

// fails runs a command that must end with the status, and one line that has all of the
// words, and print nothing else. It returns that line.
func (c *cli) fails(code int, words []string, args ...string) string {
	c.Helper()
	return c.failsIn("", code, words, args...)
}

func (c *cli) failsIn(stdin string, code int, words []string, args ...string) string {
	c.Helper()
	r := call(c.T, stdin, append([]string{"--store", c.url}, args...)...)
	c.complains(r, code, words, args)
	if r.out != "" {
		c.Errorf("sessionctl %q failed and printed %q; want nothing", args, r.out)
	}
	return r.err
}

func (c *cli) complains(r result, code int, words, args []string) {
	c.Helper()
	if r.code != code {
		c.Errorf("sessionctl %q: exit status %d, standard error %q; want %d", args, r.code, r.err, code)
	}
	if !strings.HasPrefix(r.err, "sessionctl: ") || strings.Index(r.err, "\n") != len(r.err)-1 {
		c.Errorf("sessionctl %q: standard error %q; want one line that begins with \"sessionctl: \"", args, r.err)
	}
	for _, w := range words {
		if !strings.Contains(r.err, w) {
			c.Errorf("sessionctl %q: standard error %q; want %q in it", args, r.err, w)
		}
	}
}

// noFiles checks that the commands before created nothing.
func (c *cli) noFiles() {
	c.Helper()
	entries, err := os.ReadDir(c.dir)
	if err != nil {
		c.Fatal(err)
	}
	if len(entries) > 0 {
		c.Errorf("the directory holds %q; want it empty", entries[0].Name())
	}
}

// golden compares got with a file in testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v (go test -update writes it)", err)
	}
	if got != string(want) {
		t.Errorf("output differs from %s:\ngot\n%s\nwant\n%s", path, got, want)
	}
}

func lineCount(s string) int { return strings.Count(s, "\n") }

func numbers(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "%d ", i)
	}
	return b.String()
}
