// Package testenv finds a server for the tests of a backend, or starts one.
//
// A server that a variable names (SESSIONSTORE_TEST_POSTGRES, SESSIONSTORE_TEST_REDIS,
// SESSIONSTORE_TEST_MONGO) is used as it is. Otherwise the test process starts one from installed binaries, on a
// free port of the loopback interface and in a temporary folder; all tests of the
// process share it, each in namespaces of its own. It ends with the process, however
// that ends: a shell holds a pipe from it, and stops the server and removes the folder
// once the pipe closes. Without binaries the test is skipped, and fails where CI=true,
// because a skip that nobody sees there would prove nothing.
package testenv

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// startTimeout is how long a server may take until it says that it is ready, and
// startTries how many ports are tried: another process may take one that was free.
const (
	startTimeout = time.Minute
	startTries   = 3
)

// server is a kind of server that can be started.
type server struct {
	name     string   // for messages
	variable string   // of the environment, with the DSN of one that runs already
	binaries []string // that are needed, the server first; Debian's package is named by install
	places   []string // where they may lie if not in PATH; patterns of filepath.Glob
	install  string
	hint     string // instead of install: how to get it where it is no package
	ready    string // is in a line of its output once it takes connections

	// Prepare makes what the server needs in dir; nil for nothing.
	prepare func(bin map[string]string, dir string) *exec.Cmd
	// Command is the server's command line. Its account may be another one than the
	// test's; it keeps everything in dir.
	command func(bin map[string]string, dir string, port int) []string
	// DSN is what a client connects to.
	dsn func(port int) string
	// Account is the user that runs the server where the test's own is root; "" for root.
	account string
}

// instance is the one server of its kind in this process.
type instance struct {
	kind server
	once sync.Once
	dsn  string
	err  error
}

// get returns the server's DSN, or ends the test.
func (i *instance) get(tb testing.TB) string {
	tb.Helper()
	i.once.Do(func() { i.dsn, i.err = i.kind.find() })
	if i.err == nil {
		return i.dsn
	}
	var missing *missingError
	if errors.As(i.err, &missing) && os.Getenv("CI") != "true" {
		tb.Skip(i.err)
	}
	tb.Fatal(i.err)
	return ""
}

// missingError says that a server is not installed.
type missingError struct{ text string }

func (e *missingError) Error() string { return e.text }

func (k server) find() (string, error) {
	if dsn := os.Getenv(k.variable); dsn != "" {
		return dsn, nil
	}
	bin, err := k.locate()
	if err != nil {
		return "", err
	}
	for range startTries {
		var dsn string
		if dsn, err = k.start(bin); err == nil {
			return dsn, nil
		}
	}
	return "", err
}

// locate finds the binaries, in PATH first, all others beside one another.
func (k server) locate() (map[string]string, error) {
	bin := map[string]string{}
	for _, name := range k.binaries {
		path, err := exec.LookPath(name)
		if err != nil {
			if path = lookIn(k.places, name); path == "" {
				hint := k.hint
				if hint == "" {
					hint = fmt.Sprintf("install it (Debian: apt-get install %s)", k.install)
				}
				return nil, &missingError{fmt.Sprintf("no %s server: start one and set %s, or %s", k.name, k.variable, hint)}
			}
		}
		bin[name] = path
	}
	return bin, nil
}

// lookIn returns the binary in the last of the places that has it: the newest version.
func lookIn(places []string, name string) (found string) {
	for _, place := range places {
		paths, _ := filepath.Glob(filepath.Join(place, name))
		for _, path := range paths {
			if p, err := exec.LookPath(path); err == nil {
				found = p
			}
		}
	}
	return found
}

// Installed is what there is of a kind of server that the tests would start.
type Installed struct {
	Name    string // of the kind
	Path    string // of the server; "" if it is not there
	Package string // Debian's, if the server comes from one
}

// Wanted returns the servers that the tests would start: those that no variable names.
func Wanted() []Installed {
	var wanted []Installed
	for _, k := range kinds {
		if os.Getenv(k.variable) != "" {
			continue
		}
		i := Installed{Name: k.name, Package: k.install}
		if bin, err := k.locate(); err == nil {
			i.Path = bin[k.binaries[0]]
		}
		wanted = append(wanted, i)
	}
	return wanted
}

// start runs the server and waits until it is ready.
func (k server) start(bin map[string]string) (dsn string, err error) {
	dir, err := os.MkdirTemp("", "sessionstore-test-")
	if err != nil {
		return "", err
	}
	defer func() {
		if err != nil {
			_ = os.RemoveAll(dir)
			err = fmt.Errorf("starting a %s server for tests: %w", k.name, err)
		}
	}()
	account, err := lookup(k.account, dir)
	if err != nil {
		return "", err
	}
	if k.prepare != nil {
		cmd := k.prepare(bin, dir)
		cmd.Dir = dir
		account.apply(cmd)
		if out, err := cmd.CombinedOutput(); err != nil {
			return "", fmt.Errorf("%s: %w\n%s", filepath.Base(cmd.Path), err, out)
		}
	}
	port, err := freePort()
	if err != nil {
		return "", err
	}
	if err := k.run(k.command(bin, dir, port), dir, account); err != nil {
		return "", err
	}
	return k.dsn(port), nil
}

// keeper runs a server until its standard input closes, which it does when the test
// process ends, and then removes the server's folder, $1. A server that ends by itself
// closes the output, which the test process reads.
const keeper = `dir=$1; shift
"$@" </dev/null & pid=$!
exec >/dev/null 2>&1
cat
kill -TERM $pid; kill -INT $pid
wait $pid
rm -rf "$dir"`

// run starts the server under the keeper. The goroutine that reads its output lives as
// long as it does.
func (k server) run(command []string, dir string, account account) error {
	cmd := exec.CommandContext(context.Background(), "/bin/sh", append([]string{"-c", keeper, "sh", dir}, command...)...)
	cmd.Dir = dir
	account.apply(cmd)
	detach(cmd)
	hold, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, w, err := os.Pipe()
	if err != nil {
		return err
	}
	cmd.Stdout, cmd.Stderr = w, w
	if err := cmd.Start(); err != nil {
		_, _ = out.Close(), w.Close()
		return err
	}
	_ = w.Close()
	result := make(chan error, 1)
	go func() {
		result <- awaitLine(out, k.ready)
		_, _ = io.Copy(io.Discard, out)
	}()
	timeout := time.NewTimer(startTimeout)
	defer timeout.Stop()
	select {
	case err = <-result:
	case <-timeout.C:
		err = fmt.Errorf("not ready after %v", startTimeout)
	}
	if err != nil {
		_ = hold.Close()
		_ = cmd.Wait()
		return err
	}
	held.Lock()
	defer held.Unlock()
	held.pipes = append(held.pipes, hold)
	return nil
}

// held keeps the pipes to the keepers open: unreachable, they would be closed by the
// garbage collector.
var held struct {
	sync.Mutex
	pipes []io.Closer
}

// awaitLine reads until a line contains text.
func awaitLine(r io.Reader, text string) error {
	var seen strings.Builder
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		if strings.Contains(lines.Text(), text) {
			return nil
		}
		seen.WriteString(lines.Text() + "\n")
	}
	return fmt.Errorf("it ended before it was ready:\n%s", seen.String())
}

func freePort() (int, error) {
	l, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	port := l.Addr().(*net.TCPAddr).Port
	return port, l.Close()
}
