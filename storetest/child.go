package storetest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sessionstore/sessionstore"
)

// childVar holds the task of a child process: a test binary that was started by a case.
const childVar = "STORETEST_CHILD"

// childTask is what a child process does: that many writers append that many messages
// "w<writer> <call>", one a call, under these texts as ids.
type childTask struct {
	Test      string // the name of the test that calls Run
	Namespace string
	Now       time.Time // of the store's clock, which stands still
	Session   string
	First     int // number of the first writer
	Writers   int
	Calls     int
}

// Lines that a child process prints, among whatever else a test binary prints.
const (
	childReady = "storetest-child ready"
	childAcked = "storetest-child acked "
	childDone  = "storetest-child done"
)

// serveChild does the task of a child process, if this is one, and reports whether it
// was.
func serveChild(t *testing.T, b Backend) bool {
	v, ok := os.LookupEnv(childVar)
	if !ok {
		return false
	}
	var task childTask
	if err := json.Unmarshal([]byte(v), &task); err != nil {
		t.Fatalf("storetest: %s: %v", childVar, err)
	}
	if task.Test != t.Name() {
		return true // another call of Run that the -run pattern matches too
	}
	s := b.Open(t, Config{Namespace: task.Namespace, Now: func() time.Time { return task.Now }})
	defer s.Close()
	var out sync.Mutex
	say := func(line string) {
		out.Lock()
		defer out.Unlock()
		fmt.Fprintln(os.Stdout, "\n"+line)
	}
	say(childReady)
	_, _ = bufio.NewReader(os.Stdin).ReadString('\n') // the start gate
	var wg sync.WaitGroup
	for w := range task.Writers {
		wg.Go(func() {
			for n := range task.Calls {
				m := sessionstore.UserMessage(fmt.Sprintf("w%d %d", task.First+w, n))
				m.ID = m.Content.String()
				if _, err := s.AppendMessages(t.Context(), task.Session, sessionstore.Append{Messages: []sessionstore.Message{m}}); err != nil {
					t.Errorf("AppendMessages in a child process: got error %v, want none", err)
					return
				}
				say(childAcked + m.ID)
			}
		})
	}
	wg.Wait()
	say(childDone)
	return true
}

// child is a child process that works on the case's data.
type child struct {
	e     *env
	cmd   *exec.Cmd
	stdin io.WriteCloser

	out   bytes.Buffer // all that it printed; to be read once done is closed
	acked []string     // likewise
	lines chan string  // the acknowledged, as they come; closed at the end
	done  chan struct{}
	err   error
}

// startChild starts a child process and waits until it has opened the store.
func (e *env) startChild(task childTask) *child {
	exe, err := os.Executable()
	if err != nil {
		e.Fatalf("os.Executable: got error %v, want the test binary", err)
	}
	task.Test, _, _ = cutLast(e.rec.Name(), "/") // of the rule's subtest: its parent
	task.Namespace, task.Now = e.namespace, e.clock.Now()
	spec, err := json.Marshal(task)
	if err != nil {
		e.Fatalf("the task of a child process: %v", err)
	}
	c := &child{e: e, lines: make(chan string, task.Writers*task.Calls), done: make(chan struct{})}
	c.cmd = exec.CommandContext(e.ctx, exe, "-test.run="+runPattern(task.Test), "-test.count=1", "-test.timeout="+watchdog().String())
	c.cmd.Env = append(append(os.Environ(), e.backend.Child...), childVar+"="+string(spec))
	if c.stdin, err = c.cmd.StdinPipe(); err != nil {
		e.Fatalf("a child process: %v", err)
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		e.Fatalf("a child process: %v", err)
	}
	c.cmd.Stderr = c.cmd.Stdout
	if err := c.cmd.Start(); err != nil {
		e.Fatalf("starting %s again as a child process: got error %v, want none", exe, err)
	}
	e.Cleanup(func() { _ = c.cmd.Process.Kill(); <-c.done })
	ready := make(chan struct{})
	go c.read(out, ready)
	select {
	case <-ready:
	case <-c.done:
		e.Fatalf("a child process of the test binary, started again for %q\n  got:  its end (%v) before it opened the store\n  want: Run to call Backend.Open there\n%s", task.Test, c.err, c.output())
	}
	return c
}

func (c *child) read(out io.Reader, ready chan<- struct{}) {
	defer close(c.done)
	defer close(c.lines)
	r := bufio.NewReader(out)
	for {
		line, err := r.ReadString('\n')
		c.out.WriteString(line)
		line = strings.TrimSuffix(line, "\n")
		switch id, acked := strings.CutPrefix(line, childAcked); {
		case acked:
			c.acked = append(c.acked, id)
			c.lines <- id
		case line == childReady:
			close(ready)
		}
		if err != nil {
			break
		}
	}
	c.err = c.cmd.Wait()
}

// start opens the child's gate.
func (c *child) start() {
	if _, err := io.WriteString(c.stdin, "go\n"); err != nil {
		c.e.Fatalf("a child process: got error %v at its start gate, want none", err)
	}
}

// wait waits for the end of the child, and returns the ids of the messages whose append
// returned in it.
func (c *child) wait() ([]string, error) {
	<-c.done
	return c.acked, c.err
}

// kill ends the child at once, as a crash would, and returns what wait returns.
func (c *child) kill() []string {
	_ = c.cmd.Process.Kill()
	<-c.done
	return c.acked
}

// output is what the child printed, for a failure. It must have ended.
func (c *child) output() string { return "  its output:\n" + indent(clip(c.out.String(), 4000)) }

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}
