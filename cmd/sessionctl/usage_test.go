package main

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func TestUsageErrors(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		args []string
		want []string
	}{
		{"unknown command", []string{"lst"}, []string{`"lst"`, "did you mean ls"}},
		{"far from any command", []string{"frobnicate"}, []string{"--help"}},
		{"unknown flag", []string{"ls", "--frob"}, []string{"--frob", "sessionctl ls --help"}},
		{"unknown flag of an unknown command", []string{"frobnicate", "--x"}, []string{"--x"}},
		{"help on an unknown command", []string{"help", "lst"}, []string{`"lst"`, "ls"}},
		{"unknown shell", []string{"completion", "cmd.exe"}, []string{"cmd.exe"}},
		{"no shell", []string{"completion"}, []string{"--help"}},
		{"URL without --store", []string{"postgres://app:pw@h/d"}, []string{"--store"}},
		{"text that is no UTF-8", []string{"append", "s", "\xff"}, []string{"content", "UTF-8"}},
		{"json where there is none", []string{"export", "--json"}, []string{"--json"}},
		{"too many arguments", []string{"ls", "x"}, []string{"no arguments", "got 1 argument\n"}},
		{"missing id", []string{"show"}, []string{"show takes ID", "got 0"}},
		{"missing ids", []string{"rm"}, []string{"rm takes ID…"}},
		{"missing text", []string{"append", "s"}, []string{"append takes ID TEXT"}},
		{"empty id", []string{"show", ""}, []string{"must not be empty"}},
		{"control character in an id", []string{"show", "a\x1b[2Jb"}, []string{"U+001B"}},
		{"second id", []string{"rm", "a", "b\n"}, []string{"U+000A"}},
		{"long id", []string{"pause", strings.Repeat("x", 256)}, []string{"256 bytes"}},
		{"invalid id of a new session", []string{"new", "--id", "a\x00"}, []string{"U+0000"}},
		{"invalid user", []string{"new", "--user", "\xff"}, []string{"UTF-8"}},
		{"unknown status", []string{"ls", "--status", "open"}, []string{`"open"`, "paused"}},
		{"negative limit", []string{"ls", "--limit", "-1"}, []string{"--limit", "0 or more"}},
		{"limit that is no number", []string{"purge", "--limit", "ten"}, []string{"--limit", "0 or more"}},
		{"negative last", []string{"show", "--last", "-3", "s"}, []string{"--last"}},
		{"bad duration", []string{"new", "--ttl", "5"}, []string{"--ttl", "90s"}},
		{"negative duration", []string{"update", "--ttl", "-5s", "s"}, []string{"--ttl"}},
		{"duration below a microsecond", []string{"new", "--ttl", "0.1ns"}, []string{"--ttl", "1us"}},
		{"duration of a nanosecond", []string{"update", "--ttl", "1ns", "s"}, []string{"--ttl", "1us"}},
		{"version 0", []string{"update", "--if-version", "0", "--touch", "s"}, []string{"--if-version", "1 or more"}},
		{"bad namespace", []string{"new", "--store", "bolt:x.db?namespace=a%00"}, []string{"namespace", "U+0000"}},
		{"empty store", []string{"ls", "--store", ""}, []string{"--store", "empty"}},
		{"empty user of a new session", []string{"new", "--user", ""}, []string{"--user", "empty"}},
		{"empty agent of a new session", []string{"new", "--agent="}, []string{"--agent", "empty"}},
		{"empty id of a new session", []string{"new", "--id", ""}, []string{"--id", "empty"}},
		{"empty user of a list", []string{"ls", "--user", ""}, []string{"--user", "empty"}},
		{"empty agent of a list", []string{"ls", "--agent", ""}, []string{"--agent", "empty"}},
		{"empty parent of a list", []string{"ls", "--parent", ""}, []string{"--parent", "empty"}},
		{"empty user of an export", []string{"export", "--user", ""}, []string{"--user", "empty"}},
		{"empty user of an import", []string{"import", "--format", "openai", "--user", "", "-"}, []string{"--user", "empty"}},
		{"empty agent of an import", []string{"import", "--format", "openai", "--agent", "", "-"}, []string{"--agent", "empty"}},
		{"empty user of a fork", []string{"fork", "--user", "", "s"}, []string{"--user", "empty"}},
		{"empty id of a fork", []string{"fork", "--id", "", "s"}, []string{"--id", "empty"}},
		{"empty id of a message", []string{"append", "--id", "", "s", "x"}, []string{"--id", "empty"}},
		{"empty id of a call", []string{"append", "--call-id", "", "s", "x"}, []string{"--call-id", "empty"}},
		{"memory's timeout", []string{"ls", "--store", "memory:?timeout=soon"}, []string{"timeout"}},
		{"unknown role", []string{"append", "--role", "robot", "s", "x"}, []string{"--role", "assistant"}},
		{"role for standard input", []string{"append", "--role", "user", "s", "-"}, []string{"--role"}},
		{"seq that is no number", []string{"rewind", "s", "x"}, []string{`"x"`, "sequence number"}},
		{"negative seq", []string{"fork", "--at", "-1", "s"}, []string{"--at"}},
		{"metadata without a value", []string{"update", "--set", "x", "s"}, []string{"KEY=VALUE"}},
		{"metadata set and deleted", []string{"update", "--set", "x=1", "--delete", "x", "s"}, []string{`"x"`, "also set"}},
		{"lone surrogate in metadata", []string{"update", "--set", `x="\ud83d"`, "s"}, []string{"--set"}},
		{"nothing to update", []string{"update", "s"}, []string{"nothing to update"}},
		{"unknown format", []string{"import", "--format", "xml", "x"}, []string{`"xml"`, "sharegpt"}},
		{"ids and filters", []string{"export", "--user", "u", "s"}, []string{"either"}},
		{"store without a scheme", []string{"ls", "--store", "sessions.db"}, []string{"scheme", "bolt:PATH"}},
		{"unknown scheme", []string{"ls", "--store", "sqlite:x"}, []string{"sqlite:…", "bolt"}},
		{"unknown mode", []string{"ls", "--store", "bolt:x.db?mode=all"}, []string{"mode"}},
		{"compact of another backend", []string{"compact", "--store", "memory:"}, []string{"compact", "bolt"}},
		{"backup of another backend", []string{"backup", "--store", "memory:", "x"}, []string{"backup", "bolt"}},
		{"backup as JSON", []string{"backup", "--json", "-"}, []string{"--json"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := newCLI(t)
			c.fails(exitUsage, tt.want, tt.args...)
			c.noFiles()
		})
	}
}

func TestNoCommand(t *testing.T) {
	t.Parallel()
	r := call(t, "")
	if r.code != exitUsage || r.out != "" {
		t.Errorf("exit status %d, output %q; want 2 and nothing", r.code, r.out)
	}
	for _, want := range []string{"chat-messages", "SESSIONSTORE_URL", "sessionctl: a command is missing\n"} {
		if !strings.Contains(r.err, want) {
			t.Errorf("standard error %q; want %q in it", r.err, want)
		}
	}
}

func TestHelpVersionCompletion(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"--help"}, "chat-messages"},
		{[]string{"help", "ls"}, "--status"},
		{[]string{"append", "-h"}, "tool_calls"},
		{[]string{"version"}, runtime.Version()},
		{[]string{"completion", "bash"}, "sessionctl"},
	} {
		if r := call(t, "", tt.args...); r.code != exitOK || r.err != "" || !strings.Contains(r.out, tt.want) {
			t.Errorf("sessionctl %q: exit status %d, standard error %q, output %q; want 0, nothing and %q", tt.args, r.code, r.err, r.out, tt.want)
		}
	}
}

// Every command has a help text that names its arguments, and a one-line description.
func TestEveryCommandIsDescribed(t *testing.T) {
	t.Parallel()
	root := (&app{}).rootCmd()
	want := strings.Fields("demo new append ls show chat-messages update pause resume close fork rewind clear rm purge import export copy verify migrate compact backup version")
	for _, name := range want {
		cmd, _, err := root.Find([]string{name})
		if err != nil || cmd == root {
			t.Errorf("there is no command %s", name)
			continue
		}
		if cmd.Short == "" || strings.HasSuffix(cmd.Short, ".") {
			t.Errorf("%s: short description %q; want one, without a full stop", name, cmd.Short)
		}
	}
}

func TestMissingStoreIsNotMade(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{
		{"ls"}, {"ls", "--json"}, {"show", "s"}, {"chat-messages", "s"}, {"export"}, {"verify"},
		{"append", "s", "x"}, {"append", "s", "-"}, {"update", "--touch", "s"}, {"pause", "s"}, {"resume", "s"}, {"close", "s"},
		{"fork", "s"}, {"rewind", "s", "0"}, {"clear", "s"}, {"rm", "s"}, {"purge"}, {"migrate"}, {"migrate", "--check"}, {"compact"}, {"backup", "-"},
	} {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			t.Parallel()
			c := newCLI(t)
			c.fails(exitFailed, []string{"s.db", "does not exist"}, args...)
			c.fails(exitFailed, []string{"copy.db"}, "backup", filepath.Join(c.dir, "no", "copy.db"))
			c.noFiles()
		})
	}
}

// A mode that the user wrote is the one that counts.
func TestModeOfTheURL(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		url  string
		want string
	}{
		{"bolt:s.db", "bolt:s.db?mode=ro"},
		{"bolt:s.db?", "bolt:s.db?mode=ro"},
		{"BOLT:s.db?timeout=2s", "BOLT:s.db?timeout=2s&mode=ro"},
		{"bolt:s.db?mode=rwc", "bolt:s.db?mode=rwc"},
		{"bolt:s.db?namespace=a%20b&mode=rw", "bolt:s.db?namespace=a%20b&mode=rw"},
		{"bolt:s.db?%zz", "bolt:s.db?%zz"},
		{"memory:", "memory:"},
		{"postgres://h/d", "postgres://h/d"},
	} {
		if got := withMode(tt.url, toRead); got != tt.want {
			t.Errorf("withMode(%q) = %q, want %q", tt.url, got, tt.want)
		}
	}
	c := newCLI(t)
	c.url += "?mode=rw"
	c.fails(exitFailed, []string{"s.db does not exist", "mode=rw"}, "new")
	c.noFiles()
}

func TestMissingDirectory(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	c.url = strings.Replace(c.url, "s.db", "no/s.db", 1)
	for _, args := range [][]string{{"new"}, {"ls"}, {"demo"}} {
		r := call(t, "", append([]string{"--store", c.url}, args...)...)
		c.complains(r, exitFailed, []string{"the directory of " + c.url + " does not exist"}, args)
		if n := strings.Count(r.err, "no/s.db"); n != 1 {
			t.Errorf("sessionctl %q: standard error %q names the path %d times, want once", args, r.err, n)
		}
	}
	c.noFiles()
}

func TestBadInputMakesNoStore(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	c.fails(exitFailed, []string{"no-such-file"}, "import", "--format", "native", filepath.Join(c.dir, "no-such-file"))
	c.fails(exitFailed, []string{"is a directory"}, "import", "--format", "native", c.dir)
	c.failsIn("{", exitFailed, []string{"standard input", "cut off"}, "append", "s", "-")
	c.noFiles()
}

// The environment names the store where the flag does not, and is never shown.
func TestStoreFromTheEnvironment(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cmd := command(t, dir, "new", "--id", "s")
	cmd.Env = append(cmd.Env, storeVariable+"=bolt:env.db")
	if r := finish(t, cmd); r.code != exitOK || r.out != "s\n" {
		t.Fatalf("new: exit status %d, output %q, standard error %q; want 0 and \"s\"", r.code, r.out, r.err)
	}
	info, err := os.Stat(filepath.Join(dir, "env.db"))
	if err != nil {
		t.Fatal(err)
	}
	if got := info.Mode().Perm(); runtime.GOOS != "windows" && got != 0o600 {
		t.Errorf("mode of the file is %o, want 600", got)
	}
	cmd = command(t, dir, "ls", "--store", "bolt:flag.db")
	cmd.Env = append(cmd.Env, storeVariable+"=bolt:env.db")
	if r := finish(t, cmd); r.code != exitFailed || !strings.Contains(r.err, "flag.db") {
		t.Errorf("ls --store: exit status %d, standard error %q; want 1 and the flag's file", r.code, r.err)
	}
}

// A URL that went to the wrong place is not shown either.
func TestSecretsInTheWrongPlace(t *testing.T) {
	t.Parallel()
	const secret = "hun ter2\""
	const url = "postgres://app:" + secret + "@db.example.com/x"
	for _, args := range [][]string{
		{"-store=" + url, "ls"}, {"--stor=" + url, "ls"}, {"ls", "-s" + url}, {"--store", url, "ls"}, {url},
		{"ls", "--limit=" + url}, {"ls", "--limit", url}, {"ls", "--status", url}, {"ls", "--json=" + url}, {"ls", url},
		{"new", "--ttl", url}, {"new", "--set", url}, {"append", "--role", url, "s", "x"}, {"rewind", "s", url}, {"fork", "--at", url, "s"},
		{"import", "--format", url, "x"}, {"import", "--format", "openai", url}, {"show", url}, {"rm", url}, {"backup", url},
		{"copy", "--from", url, "--to", "memory:"}, {"copy", "--from", "memory:", "--to", url}, {"copy", "--from", "memory:", "--to", "bolt:s.db", url},
		{"copy", "--from", url, "--to", url}, {"copy", url}, {"copy", "--replace=" + url}, {"migrate", "--store", url}, {"migrate", url}, {"migrate", "--check=" + url},
		{"help", url}, {"completion", url}, {"completion", "bash", url}, {"pause", url + "\x00"}, {"show", strings.Repeat("x", 30) + url},
	} {
		c := newCLI(t)
		c.ok("new", "--id", "s")
		r := call(t, "", append([]string{"--store", c.url}, args...)...)
		if r.code == exitOK || strings.Contains(r.out+r.err, "ter2") {
			t.Errorf("sessionctl %q: exit status %d, output %q, standard error %q; want a failure without the secret", args, r.code, r.out, r.err)
		}
	}
}

func TestRedacted(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ text, want string }{
		{`no URL: a@b`, `no URL: a@b`},
		{`open redis://h:6379/0: no route`, `open redis://h:6379/0: no route`},
		{`get "postgres://u:hunter2@h/d": gone`, `get "postgres://h/d": gone`},
		{`get "postgres://u:hunter2`, `get "postgres:…`},
		{`(see mongodb://u:hunter2@h/d?x=y).`, `(see mongodb://h/d).`},
	} {
		if got := redacted(tt.text, nil); got != tt.want {
			t.Errorf("redacted(%q) = %q, want %q", tt.text, got, tt.want)
		}
	}
}

func TestSecretsAreNotShown(t *testing.T) {
	t.Parallel()
	const secret = "hunter2"
	for _, url := range []string{
		"postgres://app:" + secret + "@db.example.com/x",
		"sqlite://app:" + secret + "@db.example.com/x",
		"bolt:no.db?key=" + secret,
		"host=/cloudsql/p:r:i password=" + secret,
		"redis:" + secret,
		"app:" + secret + "@db.example.com",
	} {
		for _, args := range [][]string{{"ls"}, {"demo"}, {"compact"}, {"ls", "--help"}, {"backup", "-"}} {
			cmd := command(t, t.TempDir(), args...)
			cmd.Env = append(cmd.Env, storeVariable+"="+url)
			r := finish(t, cmd)
			if strings.Contains(r.out+r.err, secret) {
				t.Errorf("SESSIONSTORE_URL=%s sessionctl %q shows the secret: %q %q", url, args, r.out, r.err)
			}
			if args[len(args)-1] != "--help" && r.code == exitOK {
				t.Errorf("SESSIONSTORE_URL=%s sessionctl %q: exit status 0, want a failure", url, args)
			}
		}
	}
}
