package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/sessionstore/sessionstore"
)

// hold opens the store in this process and keeps it open.
func (c *cli) hold(mode string) {
	c.Helper()
	store, err := sessionstore.Open(c.Context(), c.url+"?mode="+mode)
	if err != nil {
		c.Fatal(err)
	}
	c.Cleanup(func() { store.Close() })
}

func TestLockedStore(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	c.ok("new", "--id", "s")
	c.hold("rw")
	url := c.url + "?timeout=20ms"
	want := []string{"locked", "s.db"}
	if runtime.GOOS == "linux" {
		want = append(want, strconv.Itoa(os.Getpid()))
	}
	for _, args := range [][]string{{"ls"}, {"append", "s", "x"}, {"new"}, {"verify"}, {"backup", "-"}} {
		r := finish(t, command(t, c.dir, append(args, "--store", url)...))
		c.complains(r, exitFailed, want, args)
	}
}

func TestReadersShareTheStore(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	c.ok("import", "--format", "python", "testdata/python.jsonl")
	c.hold("ro")
	url := c.url + "?timeout=20ms"
	for _, args := range [][]string{{"ls"}, {"show", "order-7"}, {"chat-messages", "order-7"}, {"export"}, {"verify"}, {"backup", "copy.db"}} {
		if r := finish(t, command(t, c.dir, append(args, "--store", url)...)); r.code != exitOK || r.err != "" {
			t.Errorf("sessionctl %q beside a reader: exit status %d, standard error %q; want 0", args, r.code, r.err)
		}
	}
	r := finish(t, command(t, c.dir, "append", "s", "x", "--store", url))
	c.complains(r, exitFailed, []string{"locked"}, []string{"append"})
}

// While append waits for its input, others use the store.
func TestAppendReadsBeforeItOpens(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	c.ok("new", "--id", "s")
	cmd := command(t, c.dir, "append", "s", "-", "--store", c.url)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	wait := start(t, cmd)
	// A pipe does not hold as much: once it is written, the command is reading.
	if _, err := io.WriteString(in, strings.Repeat(" ", 1<<20)); err != nil {
		t.Fatal(err)
	}
	c.ok("append", "s", "meanwhile")
	if _, err := io.WriteString(in, `{"role":"user","content":"late"}`); err != nil {
		t.Fatal(err)
	}
	in.Close()
	if r := wait(); r.code != exitOK || !strings.Contains(r.out, "2    user") {
		t.Errorf("append: exit status %d, output %q, standard error %q; want 0 and seq 2", r.code, r.out, r.err)
	}
}

func TestInterrupt(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a process cannot be sent an interrupt on Windows; run this test on another system")
	}
	t.Parallel()
	// A signal that is ignored here, as under nohup, would be ignored by the command too; one
	// that is caught is not inherited.
	caught := make(chan os.Signal, 1)
	signal.Notify(caught, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer signal.Stop(caught)
	for _, tt := range []struct {
		signal os.Signal
		args   []string
	}{
		{os.Interrupt, []string{"append", "s", "-"}},
		{syscall.SIGTERM, []string{"import", "--format", "openai", "-"}},
		{syscall.SIGHUP, []string{"import", "--format", "python", "-"}},
	} {
		args := tt.args
		c := newCLI(t)
		c.ok("new", "--id", "s")
		cmd := command(t, c.dir, append(args, "--store", c.url)...)
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		wait := start(t, cmd)
		if _, err := io.WriteString(in, strings.Repeat(" ", 1<<20)); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Process.Signal(tt.signal); err != nil {
			t.Fatal(err)
		}
		r := wait()
		if r.code != exitFailed || r.err != "sessionctl: interrupted\n" {
			t.Errorf("sessionctl %q: exit status %d, standard error %q; want 1 and that it was interrupted", args, r.code, r.err)
		}
		if got := c.ok("verify"); !strings.Contains(got, "1 session, 0 messages: 0 problems") {
			t.Errorf("verify printed %q, want the empty session", got)
		}
	}
}

func TestCancelledContext(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	c.ok("new", "--id", "s")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out, errOut strings.Builder
	code := run(ctx, []string{"--store", c.url, "ls"}, strings.NewReader(""), &out, &errOut)
	if code != exitFailed || out.String() != "" || errOut.String() != "sessionctl: interrupted\n" {
		t.Errorf("exit status %d, output %q, standard error %q; want 1, nothing and that it was interrupted", code, out.String(), errOut.String())
	}
}

// Who reads only the beginning of the output, like head, gets no complaint.
func TestBrokenPipe(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	c.ok("new", "--id", "s")
	c.ok("append", "s", numbers(300_000)) // more than is buffered
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	cmd := command(t, c.dir, "export", "--store", c.url)
	cmd.Stdout = w
	got := finish(t, cmd)
	w.Close()
	if got.code != exitFailed || got.err != "" {
		t.Errorf("exit status %d, standard error %q; want 1 without a word", got.code, got.err)
	}
}

// An import whose complaints nobody reads any more goes on.
func TestBrokenStandardError(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	bad, err := filepath.Abs("testdata/openai-bad.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	cmd := command(t, t.TempDir(), "import", "--format", "openai", bad)
	cmd.Stdout, cmd.Stderr = &out, w
	err = cmd.Run()
	w.Close()
	if want := "imported 2 sessions, 3 messages, 0 skipped\n"; cmd.ProcessState.ExitCode() != exitFailed || out.String() != want {
		t.Errorf("%v, output %q; want exit status 1 and %q", err, out.String(), want)
	}
}

func TestFullDisk(t *testing.T) {
	t.Parallel()
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skipf("this system has no /dev/full, as Linux has: %v", err)
	}
	defer full.Close()
	c := newCLI(t)
	c.ok("import", "--format", "python", "testdata/python.jsonl")
	for _, args := range [][]string{{"ls"}, {"export"}, {"chat-messages", "--json", "order-7"}, {"version"}, {"--help"}} {
		cmd := command(t, c.dir, append(args, "--store", c.url)...)
		cmd.Stdout = full
		c.complains(finish(t, cmd), exitFailed, []string{"no space left"}, args)
	}
}

func TestBackupAndCompact(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	c.ok("import", "--format", "python", "testdata/python.jsonl")
	want := c.ok("export")
	file := filepath.Join(c.dir, "copy.db")
	if got := c.ok("backup", file); !strings.HasPrefix(got, file+": ") {
		t.Errorf("backup printed %q, want the file's name and size", got)
	}
	c.fails(exitFailed, []string{"copy.db", "overwrites nothing"}, "backup", file)
	stream := c.ok("backup", "-")
	piped := filepath.Join(c.dir, "piped.db")
	if err := os.WriteFile(piped, []byte(stream), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{file, piped} {
		copied := &cli{T: t, dir: c.dir, url: "bolt:" + filepath.ToSlash(name)}
		if got := copied.ok("export"); got != want {
			t.Errorf("%s exports\n%s\nwant\n%s", name, got, want)
		}
	}

	c.ok("new", "--id", "big")
	c.ok("append", "big", strings.Repeat("x", 4<<20))
	c.ok("rm", "big")
	before := size(t, filepath.Join(c.dir, "s.db"))
	if got := c.ok("compact"); !strings.Contains(got, strconv.FormatInt(before, 10)+" bytes before") {
		t.Errorf("compact printed %q, want %d bytes before", got, before)
	}
	if after := size(t, filepath.Join(c.dir, "s.db")); after >= before {
		t.Errorf("the file has %d bytes after compact, %d before", after, before)
	}
	if got := c.ok("export"); got != want {
		t.Errorf("the compacted store exports\n%s\nwant\n%s", got, want)
	}
	entries, err := os.ReadDir(c.dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != 3 {
		t.Errorf("the directory holds %v, want the store and two copies", entries)
	}
}

func TestCompactOfReadOnly(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	c.ok("new")
	file := filepath.Join(c.dir, "s.db")
	before, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	c.url += "?mode=ro"
	c.fails(exitUsage, []string{"compact", "mode=ro"}, "compact")
	if after, err := os.Stat(file); err != nil || !os.SameFile(before, after) {
		t.Errorf("after the refusal: %v, %v; want the same file", after, err)
	}
}

func size(t *testing.T, name string) int64 {
	t.Helper()
	info, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

func TestNotADatabase(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	if err := os.WriteFile(filepath.Join(c.dir, "s.db"), []byte("hello, this is a text\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"ls"}, {"new"}, {"append", "s", "x"}, {"compact"}, {"backup", "-"}, {"verify"}} {
		c.fails(exitFailed, []string{"s.db"}, args...)
	}
	got, err := os.ReadFile(filepath.Join(c.dir, "s.db"))
	if err != nil || string(got) != "hello, this is a text\n" {
		t.Errorf("the file is now %q, %v; want it untouched", got, err)
	}
}
