package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"iter"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/memory"
)

// copied runs a copy from c's store to another one's.
func (c *cli) copied(to *cli, args ...string) result {
	c.Helper()
	return call(c.T, "", append([]string{"copy", "--from", c.url, "--to", to.url}, args...)...)
}

func (c *cli) copyOK(to *cli, want string, args ...string) {
	c.Helper()
	if r := c.copied(to, args...); r.code != exitOK || r.err != "" || r.out != want {
		c.Errorf("copy %q: exit status %d, output %q, standard error %q; want 0, %q and nothing", args, r.code, r.out, r.err, want)
	}
}

func TestCopy(t *testing.T) {
	t.Parallel()
	c, to := newCLI(t), newCLI(t)
	c.ok("import", "--format", "python", "testdata/python.jsonl")
	c.ok("rewind", "order-7", "4")
	c.ok("append", "order-7", "after a gap <&>")
	c.ok("fork", "--id", "child", "--at", "2", "order-7")
	c.copyOK(to, "copied 4 sessions, 7 messages\n")
	if got, want := to.ok("export"), c.ok("export"); got != want {
		t.Errorf("the copy exports\n%s\nwant\n%s", got, want)
	}
	c.copyOK(to, "copied 0 sessions, 0 messages; 4 there already\n")
	c.copyOK(to, `{"copied":0,"updated":0,"replaced":0,"same":2,"expired":0,"different":0,"failed":0,"missing":0,"messages":0}`+"\n", "--json", "--recheck", "child", "order-7")
	c.ok("append", "order-7", "more")
	c.copyOK(to, "copied 0 sessions, 6 messages; 1 brought up to date; 3 there already\n")
	if got := to.ok("verify"); !strings.Contains(got, "4 sessions, 8 messages: 0 problems") {
		t.Errorf("verify of the copy printed %q, want 4 sessions and no problems", got)
	}
	one := newCLI(t)
	c.copyOK(one, "copied 1 session, 2 messages\n", "--parent", "order-7")
	if got := one.ok("ls", "--json"); lineCount(got) != 1 || !strings.Contains(got, `"session_id":"child"`) {
		t.Errorf("after copy --parent, ls printed %q, want the child", got)
	}
}

// What the target has with other content is reported by its id, and overwritten only if that
// is asked for.
func TestCopyReportsWhatDiffers(t *testing.T) {
	t.Parallel()
	c, to := newCLI(t), newCLI(t)
	for _, id := range []string{"a", "b", "c"} {
		c.ok("new", "--id", id)
	}
	c.copyOK(to, "copied 3 sessions, 0 messages\n")
	to.ok("append", "b", "mine")
	c.ok("append", "c", "more")
	before := to.ok("show", "b")

	r := c.copied(to)
	if r.code != exitFailed || r.out != "copied 0 sessions, 1 message; 1 brought up to date; 1 there already\n" {
		t.Errorf("copy: exit status %d, output %q; want 1 and the counts", r.code, r.out)
	}
	if lineCount(r.err) != 2 || !strings.HasPrefix(r.err, `sessionctl: session "b": session exists with other content: `) ||
		!strings.Contains(r.err, "\nsessionctl: copy: 1 session: ") || !strings.Contains(r.err, "--replace") {
		t.Errorf("copy: standard error %q; want session b, and the count with what to do", r.err)
	}
	r = c.copied(to, "--json", "b", "none")
	lines := strings.Split(r.out, "\n")
	var line struct {
		ID      string `json:"session_id"`
		Differs bool
		Error   string
	}
	if err := json.Unmarshal([]byte(lines[0]), &line); err != nil || line.ID != "b" || !line.Differs || line.Error == "" || len(lines) != 3 {
		t.Errorf("copy --json printed %q, %v; want session b and the counts", r.out, err)
	}
	c.complains(r, exitFailed, []string{"1 session", `"none"`, "session not found"}, []string{"copy", "--json"})
	if got := to.ok("show", "b"); got != before {
		t.Errorf("the target's session is now\n%s\nwant\n%s", got, before)
	}

	c.copyOK(to, "copied 0 sessions, 0 messages; 1 replaced\n", "--replace", "b")
	if got, want := to.ok("export"), c.ok("export"); got != want {
		t.Errorf("the copy exports\n%s\nwant\n%s", got, want)
	}
}

func TestCopyOfExpired(t *testing.T) {
	t.Parallel()
	from := register("expiring", func(ctx context.Context, _ string) (sessionstore.SessionStore, error) {
		past, err := memory.New(&memory.Options{Now: func() time.Time { return time.Now().Add(-time.Hour) }})
		if err == nil {
			_, err = past.CreateSession(ctx, sessionstore.Session{ID: "s", TTL: time.Minute})
		}
		return past, err
	})
	r := call(t, "", "copy", "--from", from, "--to", newCLI(t).url)
	if want := "sessionctl: 1 session had expired and stayed out\n"; r.code != exitOK || r.err != want || r.out != "copied 0 sessions, 0 messages\n" {
		t.Errorf("exit status %d, output %q, standard error %q; want 0 and %q", r.code, r.out, r.err, want)
	}
}

// register makes a URL that a function opens.
func register(kind string, open func(context.Context, string) (sessionstore.SessionStore, error)) string {
	scheme := kind + strconv.FormatInt(registered.Add(1), 10) // a test may run several times
	sessionstore.Register(scheme, open)
	return scheme + ":"
}

var registered atomic.Int64

// A store that cannot take sessions exactly gets none.
func TestCopyToAStoreThatCannot(t *testing.T) {
	t.Parallel()
	to := register("inexact", func(context.Context, string) (sessionstore.SessionStore, error) {
		store, err := memory.New(nil)
		return struct{ sessionstore.SessionStore }{store}, err
	})
	c := newCLI(t)
	c.ok("new")
	r := call(t, "", "copy", "--from", c.url, "--to", to)
	c.complains(r, exitFailed, []string{"cannot restore a session exactly"}, []string{"copy"})
}

// What a target that fails took is said, and stays.
func TestCopyToAFailingStore(t *testing.T) {
	t.Parallel()
	to := register("failing", func(context.Context, string) (sessionstore.SessionStore, error) {
		store, err := memory.New(nil)
		return failing{store}, err
	})
	c := newCLI(t)
	c.ok("new", "--id", "lost")
	r := call(t, "", "copy", "--from", c.url, "--to", to)
	c.complains(r, exitFailed, []string{`"lost"`, "disk is gone"}, []string{"copy"})
	if want := "copied 0 sessions, 0 messages\n"; r.out != want {
		t.Errorf("copy printed %q, want %q", r.out, want)
	}
}

// failing cannot read a session.
type failing struct{ *memory.Store }

func (failing) GetSession(context.Context, string) (sessionstore.Session, error) {
	return sessionstore.Session{}, errors.New("disk is gone")
}

func TestCopyUsage(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	c.ok("new", "--id", "s")
	other := "bolt:" + filepath.ToSlash(filepath.Join(c.dir, "other.db"))
	const pg, secret = "postgres://app:hunter2@db.example.com/x", "hunter2"
	for _, tt := range []struct {
		name string
		args []string
		want string
	}{
		{"nothing", nil, "--from and --to"},
		{"no target", []string{"--from", c.url}, "--from and --to"},
		{"no source", []string{"--to", c.url}, "--from and --to"},
		{"an empty target", []string{"--from", c.url, "--to", ""}, "--to"},
		{"a store", []string{"--store", other, "--from", c.url, "--to", other}, "--store"},
		{"the same file", []string{"--from", c.url, "--to", c.url + "?namespace=n"}, "same file"},
		{"the same file by another name", []string{"--from", c.url, "--to", strings.Replace(c.url, "s.db", "./s.db", 1)}, "same file"},
		{"the same file, which is missing", []string{"--from", other, "--to", other + "?timeout=1s"}, "same file"},
		{"the same database", []string{"--from", pg, "--to", strings.Replace(pg, "postgres", "postgresql", 1) + "?migrate=off"}, "same store, postgresql://db.example.com/x"},
		{"memory twice", []string{"--from", "memory:", "--to", "memory:"}, "same store"},
		{"a store that is none", []string{"--from", "a.db", "--to", other}, "scheme"},
		{"an unknown scheme", []string{"--from", c.url, "--to", "sqlite:x"}, "sqlite:…"},
		{"a bad id", []string{"--from", c.url, "--to", other, "a\x00"}, "U+0000"},
		{"ids and filters", []string{"--from", c.url, "--to", other, "--user", "u", "s"}, "either"},
		{"an empty user", []string{"--from", c.url, "--to", other, "--user", ""}, "--user"},
		{"a URL as an id", []string{"--from", c.url, pg}, "--from and --to"},
	} {
		args := append([]string{"copy"}, tt.args...)
		r := call(t, "", args...)
		c.complains(r, exitUsage, []string{tt.want}, args)
		if r.out != "" || strings.Contains(r.err, secret) {
			t.Errorf("%s: output %q, standard error %q; want nothing, and no secret", tt.name, r.out, r.err)
		}
	}
	r := call(t, "", "copy", "--from", other, "--to", c.url)
	c.complains(r, exitFailed, []string{"other.db does not exist"}, []string{"copy"})
	r = call(t, "", "copy", "--from", other, "--to", strings.Replace(c.url, "s.db", "new.db", 1))
	c.complains(r, exitFailed, []string{"other.db does not exist"}, []string{"copy"})
	if entries, err := os.ReadDir(c.dir); err != nil || len(entries) != 1 {
		t.Errorf("after a copy without a source the directory holds %v, %v; want the store alone", entries, err)
	}
}

func TestCopyProgress(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	p := newCopyProgress(&out)
	rep := sessionstore.CopyReport{Copied: 3, Updated: 1, Replaced: 2, Same: 4, Messages: 50}
	p.at(rep)
	if out.Len() > 0 {
		t.Errorf("a copy that has just begun logs %q, want nothing", out.String())
	}
	p.next = time.Now()
	p.at(rep)
	p.at(rep)
	p.clear()
	const text = "copied 3 sessions, 50 messages; 1 brought up to date; 2 replaced; 4 there already"
	if got, want := out.String(), "sessionctl: "+text+" so far\n"; got != want {
		t.Errorf("elsewhere than on a terminal the progress is %q, want %q", got, want)
	}
	out.Reset()
	terminal := &copyProgress{progress: progress{w: &out}}
	terminal.at(rep)
	terminal.at(rep)
	terminal.clear()
	if got, want := out.String(), "\r"+text+"\x1b[K\r\x1b[K"; got != want {
		t.Errorf("on a terminal the progress is %q, want %q", got, want)
	}
}

// interrupted is a store that interrupts the command at a call.
type interrupted struct {
	sessionstore.SessionStore
	call func()
}

func (s interrupted) GetSession(ctx context.Context, id string) (sessionstore.Session, error) {
	s.call()
	return s.SessionStore.GetSession(ctx, id)
}

func (s interrupted) RestoreSession(ctx context.Context, in sessionstore.Session, messages iter.Seq2[sessionstore.Message, error]) (sessionstore.Session, error) {
	s.call()
	return sessionstore.RestoreSession(ctx, s.SessionStore, in, messages)
}

func (s interrupted) ListMessages(ctx context.Context, id string, q sessionstore.MessageQuery) (sessionstore.MessagePage, error) {
	s.call()
	return s.SessionStore.ListMessages(ctx, id, q)
}

// A copy that is interrupted says so, and the next one completes it.
func TestCopyInterrupted(t *testing.T) {
	t.Parallel()
	c, to := newCLI(t), newCLI(t)
	for _, id := range []string{"a", "b", "c", "d"} {
		c.ok("new", "--id", id)
		c.ok("append", id, "hello")
	}
	var stop func()
	var calls, at atomic.Int64
	target := register("interrupted", func(ctx context.Context, _ string) (sessionstore.SessionStore, error) {
		store, err := sessionstore.Open(ctx, to.url)
		return interrupted{store, func() {
			if calls.Add(1) == at.Load() {
				stop()
			}
		}}, err
	})
	var outcomes [2]int // by exit status
	for outcomes[exitOK] == 0 {
		calls.Store(0)
		at.Add(1)
		ctx, cancel := context.WithCancel(t.Context())
		stop = cancel
		var out, errOut bytes.Buffer
		code := run(ctx, []string{"copy", "--from", c.url, "--to", target}, strings.NewReader(""), &out, &errOut)
		cancel()
		outcomes[code]++
		if lineCount(out.String()) != 1 || code == exitFailed && errOut.String() != "sessionctl: interrupted\n" {
			t.Errorf("a copy interrupted at call %d: output %q, standard error %q; want what was copied and that it was interrupted", at.Load(), out.String(), errOut.String())
		}
		if got := to.ok("verify"); !strings.Contains(got, " 0 problems") {
			t.Errorf("a copy interrupted at call %d: verify printed %q", at.Load(), got)
		}
	}
	if outcomes[exitFailed] == 0 {
		t.Error("no copy was interrupted")
	}
	if got, want := to.ok("export"), c.ok("export"); got != want {
		t.Errorf("the copy exports\n%s\nwant\n%s", got, want)
	}
}
