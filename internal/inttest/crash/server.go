//go:build unix

package crash

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Kind is a kind of server, set to keep what it has acknowledged.
type Kind struct {
	Name    string // as testenv.Wanted has it
	Account string // that it runs under where the test is root's; "" for root
	ready   string // is in a line of its output once it takes connections

	prepare func(binary, dir string) []string // a command that makes what it needs; nil: nothing
	command func(binary, dir string, port int) []string
	url     func(port int) string
}

// The kinds. The limits in the URLs are so that a writer learns soon that its server is
// gone.
var (
	Postgres = &Kind{
		Name: "PostgreSQL", Account: "postgres", ready: "database system is ready to accept connections",
		prepare: func(binary, dir string) []string {
			return []string{filepath.Join(filepath.Dir(binary), "initdb"), "-D", filepath.Join(dir, "data"), "-U", "postgres",
				"--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync"}
		},
		command: func(binary, dir string, port int) []string {
			return []string{binary, "-D", filepath.Join(dir, "data"), "-p", strconv.Itoa(port),
				"-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=", "-c", "lc_messages=C",
				"-c", "fsync=on", "-c", "full_page_writes=on", "-c", "synchronous_commit=on", "-c", "shared_buffers=16MB"}
		},
		url: func(port int) string {
			return fmt.Sprintf("postgres://postgres@127.0.0.1:%d/postgres?sslmode=disable", port)
		},
	}
	Redis = &Kind{
		Name: "Redis", ready: "Ready to accept connections",
		command: func(binary, dir string, port int) []string {
			return []string{binary, "--port", strconv.Itoa(port), "--bind", "127.0.0.1", "--dir", dir,
				"--appendonly", "yes", "--appendfsync", "always", "--save", ""}
		},
		url: func(port int) string {
			return fmt.Sprintf("redis://127.0.0.1:%d/0?max_retries=1&read_timeout=1m", port)
		},
	}
	Mongo = &Kind{
		Name: "MongoDB", ready: "Waiting for connections",
		command: func(binary, dir string, port int) []string {
			return []string{binary, "-addr", fmt.Sprintf("127.0.0.1:%d", port), "-dir", filepath.Join(dir, "data")}
		},
		url: func(port int) string {
			return fmt.Sprintf("mongodb://127.0.0.1:%d/?directConnection=true&serverSelectionTimeoutMS=1000&heartbeatFrequencyMS=500", port)
		},
	}
)

const (
	startTimeout = time.Minute
	startTries   = 10
)

// Server is a server that can be killed and started again on the same data and port.
type Server struct {
	URL string

	kind    *Kind
	command []string
	dir     string
	process *exec.Cmd
	release func() // ends the watch over the process
}

// New prepares a server of the kind in a folder of its own; Start starts it.
func (k *Kind) New(binary string) (_ *Server, err error) {
	dir, err := os.MkdirTemp("", "sessionstore-crash-")
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = os.RemoveAll(dir)
		}
	}()
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	s := &Server{URL: k.url(port), kind: k, command: k.command(binary, dir, port), dir: dir}
	if k.prepare == nil {
		return s, nil
	}
	cmd, err := s.cmd(k.prepare(binary, dir))
	if err != nil {
		return nil, err
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", cmd.Path, err, out)
	}
	return s, nil
}

// freePort finds a port that no outgoing connection is given while the server is down:
// systems take those from higher ones.
func freePort() (int, error) {
	var err error
	for range 100 {
		port := 10_000 + rand.IntN(20_000)
		var l net.Listener
		if l, err = new(net.ListenConfig).Listen(context.Background(), "tcp", fmt.Sprintf("127.0.0.1:%d", port)); err == nil {
			return port, l.Close()
		}
	}
	return 0, err
}

// cmd is a command in the server's folder, under its account.
func (s *Server) cmd(command []string) (*exec.Cmd, error) {
	cmd := exec.CommandContext(context.Background(), command[0], command[1:]...)
	cmd.Dir = s.dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // an interrupt from the terminal is the test's
	if s.kind.Account == "" || os.Geteuid() != 0 {
		return cmd, nil
	}
	u, err := user.Lookup(s.kind.Account)
	if err != nil {
		if u, err = user.Lookup("nobody"); err != nil {
			return nil, err
		}
	}
	uid, uerr := strconv.ParseUint(u.Uid, 10, 32)
	gid, gerr := strconv.ParseUint(u.Gid, 10, 32)
	if err := errors.Join(uerr, gerr, os.Chown(s.dir, int(uid), int(gid))); err != nil {
		return nil, err
	}
	cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	return cmd, nil
}

// Start starts the server, and returns once it takes connections. It tries some times:
// processes of the one that was killed may still hold what it needs.
func (s *Server) Start() error {
	var err error
	for range startTries {
		if err = s.start(); err == nil {
			return nil
		}
	}
	return fmt.Errorf("starting %s: %w", s.kind.Name, err)
}

func (s *Server) start() error {
	cmd, err := s.cmd(s.command)
	if err != nil {
		return err
	}
	out, w, err := os.Pipe()
	if err != nil {
		return err
	}
	cmd.Stdout, cmd.Stderr = w, w
	err = cmd.Start()
	_ = w.Close()
	if err != nil {
		_ = out.Close()
		return err
	}
	s.process = cmd
	if s.release, err = watch(cmd.Process.Pid); err != nil {
		return errors.Join(err, s.Kill())
	}
	ready := make(chan error, 1)
	go func() {
		defer func() { _ = out.Close() }()
		ready <- awaitLine(out, s.kind.ready)
		_, _ = io.Copy(io.Discard, out) // a server blocks that nobody reads
	}()
	timeout := time.NewTimer(startTimeout)
	defer timeout.Stop()
	select {
	case err = <-ready:
	case <-timeout.C:
		err = fmt.Errorf("not ready after %v", startTimeout)
	}
	if err != nil {
		return errors.Join(err, s.Kill())
	}
	return nil
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

// watch kills the process when this one ends, however that happens: a shell holds a pipe
// from here. Release ends the watch.
func watch(pid int) (release func(), err error) {
	cmd := exec.CommandContext(context.Background(), "/bin/sh", "-c", `read -r done || kill -KILL "$1"`, "sh", strconv.Itoa(pid))
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	hold, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return func() {
		_, _ = io.WriteString(hold, "done\n")
		_ = cmd.Wait()
	}, nil
}

// Kill ends the server and all its processes by SIGKILL, and waits for its end.
func (s *Server) Kill() error {
	if s.process == nil {
		return nil
	}
	if s.release != nil {
		s.release()
		s.release = nil
	}
	pid := s.process.Process.Pid
	// Stopped, it starts no more of them while they are looked for.
	_ = s.process.Process.Signal(syscall.SIGSTOP)
	var errs []error
	for _, child := range children(pid) {
		if err := syscall.Kill(child, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
			errs = append(errs, err)
		}
	}
	if err := s.process.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		errs = append(errs, err)
	}
	_ = s.process.Wait() // killed: that is its error
	s.process = nil
	return errors.Join(errs...)
}

// Remove kills the server and removes its data.
func (s *Server) Remove() error { return errors.Join(s.Kill(), os.RemoveAll(s.dir)) }

// children returns the processes that a process has started, where /proc tells. Elsewhere
// they end by themselves soon after it.
func children(pid int) (out []int) {
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range stats {
		stat, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
		}
		// Pid (name) state parent …; the name may have anything in it.
		_, rest, _ := strings.Cut(string(stat)[strings.LastIndexByte(string(stat), ')')+1:], " ")
		fields := strings.Fields(rest)
		if len(fields) < 2 || fields[1] != strconv.Itoa(pid) {
			continue
		}
		if child, err := strconv.Atoi(filepath.Base(filepath.Dir(path))); err == nil {
			out = append(out, child)
		}
	}
	return out
}
