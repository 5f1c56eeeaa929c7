package storetest

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// recorder is a testing.TB that keeps the failures of a case to itself, so that a rule
// can fail without failing the test: an exempt one, or one that kills a mutant.
type recorder struct {
	testing.TB // of the rule: for TempDir, Setenv and the like

	ctx    context.Context
	cancel context.CancelFunc

	mu       sync.Mutex
	failed   bool
	done     bool   // the case is over or given up: what comes later is nobody's business
	skipped  string // the reason, if it was skipped
	text     strings.Builder
	failures int             // of which text has the first few
	log      strings.Builder // shown only with a failure
	notes    []string
	cleanups []func()
}

func newRecorder(tb testing.TB) *recorder {
	r := &recorder{TB: tb}
	r.ctx, r.cancel = context.WithCancel(tb.Context())
	return r
}

func (r *recorder) Helper() {}

func (r *recorder) Context() context.Context { return r.ctx }

func (r *recorder) fail(msg string) {
	at := caller()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.done {
		return
	}
	r.failed = true
	if r.failures++; r.failures <= enough {
		fmt.Fprintf(&r.text, "%s: %s\n", at, msg)
	}
}

// enough failures of a case are shown; more of the same tell nothing new.
const enough = 5

// caller returns the file and line that a failure comes from: the innermost frame that is
// not plumbing, of the suite or of the code that the backend's author gave it.
func caller() string {
	pcs := make([]uintptr, 32)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(3, pcs)])
	for {
		f, more := frames.Next()
		file := filepath.Base(f.File)
		plumbing := strings.HasPrefix(f.Function, "runtime.") ||
			strings.Contains(f.Function, "/storetest.") && (file == "harness.go" || file == "recorder.go" || file == "client.go")
		if f.File != "" && !plumbing {
			return fmt.Sprintf("%s:%d", file, f.Line)
		}
		if !more {
			return "storetest"
		}
	}
}

func (r *recorder) Fail() { r.fail("failed") }
func (r *recorder) Error(args ...any) {
	r.fail(strings.TrimSuffix(fmt.Sprintln(args...), "\n"))
}
func (r *recorder) Errorf(format string, args ...any) { r.fail(fmt.Sprintf(format, args...)) }

// FailNow ends the calling goroutine, which is that of the case or one it has started
// with env.together.
func (r *recorder) FailNow() {
	r.mu.Lock()
	r.failed = true
	r.mu.Unlock()
	runtime.Goexit()
}
func (r *recorder) Fatal(args ...any) {
	r.fail(strings.TrimSuffix(fmt.Sprintln(args...), "\n"))
	r.FailNow()
}
func (r *recorder) Fatalf(format string, args ...any) {
	r.fail(fmt.Sprintf(format, args...))
	r.FailNow()
}

func (r *recorder) Failed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.failed
}

func (r *recorder) Skip(args ...any) {
	r.skip(strings.TrimSuffix(fmt.Sprintln(args...), "\n"))
}
func (r *recorder) Skipf(format string, args ...any) { r.skip(fmt.Sprintf(format, args...)) }
func (r *recorder) SkipNow()                         { r.skip("without a reason") }
func (r *recorder) skip(why string) {
	r.mu.Lock()
	r.skipped = why
	r.mu.Unlock()
	runtime.Goexit()
}
func (r *recorder) Skipped() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.skipped != ""
}

func (r *recorder) Log(args ...any) { r.logf("%s", fmt.Sprintln(args...)) }
func (r *recorder) Logf(format string, args ...any) {
	r.logf(format+"\n", args...)
}
func (r *recorder) logf(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.done && r.log.Len() < 64<<10 {
		fmt.Fprintf(&r.log, format, args...)
	}
}
func (r *recorder) Output() io.Writer { return recorderOutput{r} }

type recorderOutput struct{ r *recorder }

func (o recorderOutput) Write(b []byte) (int, error) {
	o.r.logf("%s", b)
	return len(b), nil
}

func (r *recorder) Cleanup(f func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cleanups = append(r.cleanups, f)
}

// cleanup runs what Cleanup was given, the last first, each to its end even if another
// one fails.
func (r *recorder) cleanup() {
	r.cancel()
	for {
		r.mu.Lock()
		n := len(r.cleanups)
		if n == 0 {
			r.mu.Unlock()
			return
		}
		f := r.cleanups[n-1]
		r.cleanups = r.cleanups[:n-1]
		r.mu.Unlock()
		r.contain(f)
	}
}

// contain runs f in a goroutine of its own and waits for it, so that neither a FailNow
// nor a panic in it ends more than f.
func (r *recorder) contain(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		r.watch(f)
	}()
	<-done
}

// watch runs f and records a failure if it ends in any other way than by returning, or
// by this recorder's FailNow or Skip: a goroutine that anybody else ends has proved
// nothing. A panic becomes a failure with the stack it came from.
func (r *recorder) watch(f func()) {
	returned := false
	defer func() {
		switch p := recover(); {
		case p != nil:
			buf := make([]byte, 16<<10)
			r.fail(fmt.Sprintf("got a panic, want none: %v\n%s", p, buf[:runtime.Stack(buf, false)]))
		case !returned && !r.Failed() && !r.Skipped():
			r.fail("got the end of the goroutine by runtime.Goexit before the case was done, want none; is it FailNow or Skip of another test? Backend's functions are to use the tb that they are given")
		}
	}()
	f()
	returned = true
}

// note records something that the case could not exercise.
func (r *recorder) note(s string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.notes = append(r.notes, s)
}
