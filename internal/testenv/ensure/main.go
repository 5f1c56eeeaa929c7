// Command ensure sees to the servers that the tests start: those that no variable of the
// environment names. On Debian and its kin, as root, it installs what is missing, and it
// builds the stand-in for MongoDB. It says of each server where it is. It reports no
// failure: without a server, its tests are skipped, and say so; with CI=true they fail.
package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/sessionstore/sessionstore/internal/testenv"
)

func main() {
	ctx := context.Background()
	var missing []string
	for _, s := range testenv.Wanted() {
		switch {
		case s.Package == "":
			build(ctx)
		case s.Path == "":
			missing = append(missing, s.Package)
		}
	}
	if len(missing) > 0 {
		install(ctx, missing)
	}
	for _, s := range testenv.Wanted() {
		if s.Path == "" {
			say("%s: not there, and so not tested", s.Name)
			continue
		}
		say("%s: %s (%s)", s.Name, s.Path, version(ctx, s.Path))
	}
}

// build makes the stand-in for MongoDB from internal/inttest, or brings it up to date.
func build(ctx context.Context) {
	root := testenv.Root()
	server := filepath.Join(root, "bin", "mongoserver")
	if _, err := os.Stat(server); err != nil {
		say("building %s, with FerretDB; the first time that takes some minutes", server)
	}
	run(ctx, filepath.Join(root, "internal", "inttest"), []string{"GOWORK=off"},
		"go", "build", "-o", server, "./cmd/mongoserver")
}

func install(ctx context.Context, packages []string) {
	apt, err := exec.LookPath("apt-get")
	if err != nil || os.Geteuid() != 0 {
		return
	}
	say("installing %s", strings.Join(packages, " "))
	// A list of packages that is out of date names versions that are gone. RUNLEVEL keeps
	// the packages from starting services of the system's: the tests start their own.
	env := []string{"DEBIAN_FRONTEND=noninteractive", "RUNLEVEL=1"}
	run(ctx, "", env, apt, "update", "-q")
	run(ctx, "", env, apt, append([]string{"install", "-q", "-y", "--no-install-recommends"}, packages...)...)
}

func run(ctx context.Context, dir string, env []string, name string, args ...string) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		say("%s %s failed: %v", filepath.Base(name), args[0], err)
	}
}

// version returns the first line that the server says about itself.
func version(ctx context.Context, server string) string {
	out, err := exec.CommandContext(ctx, server, "--version").Output()
	if err != nil {
		return "its version is not known: " + err.Error()
	}
	line, _, _ := strings.Cut(string(out), "\n")
	return strings.TrimSpace(line)
}

func say(format string, args ...any) { fmt.Printf("servers: "+format+"\n", args...) }
