// Sessionctl keeps conversations in a session store from the command line: it creates
// sessions, appends to them, shows and edits them, moves them in and out of files, and
// looks after the store. Run it without arguments for the list of commands.
//
// Exit status: 0 on success, 1 if the work failed, 2 if the command line is wrong.
// Errors are one line on standard error.
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2
)

func main() { os.Exit(mainStatus()) }

func mainStatus() int {
	// Whoever reads the output, or the complaints, may go: the write then fails with EPIPE,
	// and an import, say, goes on without its complaints, where the signal would kill it.
	signal.Ignore(syscall.SIGPIPE)
	ends := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // as it is under nohup
		ends = append(ends, syscall.SIGHUP)
	}
	ctx, stop := signal.NotifyContext(context.Background(), ends...)
	defer stop()
	// The first signal cancels; a second one, should that take too long, kills.
	context.AfterFunc(ctx, stop)
	return run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
}

// outBuffer is how much output waits in memory until the store is closed again, so that
// a pager that holds the output does not hold the database's lock as well. What is
// longer streams.
const outBuffer = 1 << 20

// run executes one command line and returns its exit status.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	a := &app{
		in:    cancellable(ctx, stdin),
		err:   stderr,
		width: terminalWidth(stdout),
	}
	a.interactive = a.width > 0 && terminalWidth(stdin) > 0
	if a.width > 0 {
		stdout = &terminalWriter{w: stdout}
	}
	a.out = bufio.NewWriterSize(stdout, outBuffer)
	root := a.rootCmd()
	root.SetArgs(append([]string{}, args...)) // nil would mean os.Args
	err := root.ExecuteContext(ctx)
	if err != nil && !a.started {
		err = &usageError{err}
	}
	// Output before the failure is whole lines, and true.
	if werr := a.out.Flush(); err == nil && werr != nil {
		err = fmt.Errorf("write: %w", werr)
	}
	return report(ctx, stderr, args, err)
}

// report prints err as one line, without passwords that a URL in args has, and returns the
// exit status that it means.
func report(ctx context.Context, stderr io.Writer, args []string, err error) int {
	var usage *usageError
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, syscall.EPIPE):
		return exitFailed // whoever read the output has seen enough
	case errors.As(err, &usage):
		fmt.Fprintf(stderr, "sessionctl: %s\n", oneLine(redacted(err.Error(), args)))
		return exitUsage
	case ctx.Err() != nil && errors.Is(err, context.Canceled):
		fmt.Fprintln(stderr, "sessionctl: interrupted")
		return exitFailed
	}
	fmt.Fprintf(stderr, "sessionctl: %s\n", oneLine(redacted(err.Error(), args)))
	return exitFailed
}

// usageError is a mistake in the command line.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

func usagef(format string, args ...any) error {
	return &usageError{fmt.Errorf(format, args...)}
}

// cancellable returns r as a reader whose Read ends when ctx does, which a Read from a
// terminal or pipe would not. Nothing is read from r before the first Read.
func cancellable(ctx context.Context, r io.Reader) io.Reader {
	return &cancelReader{ctx: ctx, r: r}
}

type cancelReader struct {
	ctx context.Context
	r   io.Reader
	pr  *io.PipeReader
}

func (c *cancelReader) Read(p []byte) (int, error) {
	if c.pr == nil {
		pr, pw := io.Pipe()
		// It ends with its input, or with the process when a cancel leaves it behind.
		go func() {
			_, err := io.Copy(pw, c.r)
			pw.CloseWithError(err)
		}()
		context.AfterFunc(c.ctx, func() { pr.CloseWithError(c.ctx.Err()) })
		c.pr = pr
	}
	n, err := c.pr.Read(p)
	if cause := c.ctx.Err(); err != nil && cause != nil {
		err = cause // a reader that closes its own side sees io.ErrClosedPipe
	}
	return n, err
}
