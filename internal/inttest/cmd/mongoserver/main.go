// Command mongoserver is a server for the tests of the MongoDB backend where there is no
// MongoDB: FerretDB on SQLite, behind a proxy that makes its writes atomic. It says on a
// line when it is ready, and for how to reach it, and ends by an interrupt or SIGTERM.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/sessionstore/sessionstore/internal/inttest/ferret"
)

func main() {
	addr := flag.String("addr", "127.0.0.1:0", "`address` to listen on; port 0 for a free one")
	dir := flag.String("dir", "", "`folder` of the data, removed at the end if it was made here (default: a temporary one)")
	stdin := flag.Bool("stdin", false, "end when standard input does, too")
	version := flag.Bool("version", false, "say FerretDB's version, and end")
	flag.Parse()
	if flag.NArg() > 0 {
		flag.Usage()
		os.Exit(2)
	}
	if *version {
		fmt.Println("FerretDB", ferret.Version())
		return
	}
	if err := run(*addr, *dir, *stdin); err != nil {
		fmt.Fprintln(os.Stderr, "mongoserver:", err)
		os.Exit(1)
	}
}

func run(addr, dir string, stdin bool) error {
	// Most of its time goes into decoding JSON and the garbage of that.
	debug.SetGCPercent(400)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if stdin {
		go func() {
			_, _ = io.Copy(io.Discard, os.Stdin)
			cancel()
		}()
	}
	dir, remove, err := folder(dir)
	if err != nil {
		return err
	}
	defer remove()
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	return ferret.Serve(ctx, l, dir, slog.New(slog.NewTextHandler(os.Stderr, nil)), func() {
		// The words are those of a mongod's log.
		fmt.Printf("FerretDB %s: Waiting for connections at mongodb://%s/\n", ferret.Version(), l.Addr())
	})
}

// folder makes dir, or a temporary one if it is "". Remove removes what was made.
func folder(dir string) (made string, remove func(), err error) {
	if dir == "" {
		if dir, err = os.MkdirTemp("", "mongoserver-"); err != nil {
			return "", nil, err
		}
	} else if err := os.Mkdir(dir, 0o700); os.IsExist(err) {
		return dir, func() {}, nil
	} else if err != nil {
		return "", nil, err
	}
	return dir, func() { _ = os.RemoveAll(dir) }, nil
}
