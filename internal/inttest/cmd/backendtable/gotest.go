package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
)

// result is what came of tests.
type result struct {
	actions map[string]string            // pass, fail or skip, of "package test"
	attrs   map[string]map[string]string // that a test has given itself, of "test"
}

// event is what go test -json prints; see go doc test2json.
type event struct {
	Action, Package, Test, Output, Key, Value string
}

// goTest runs go test in a module. That tests fail is part of the result; that they do not
// build is an error.
func goTest(ctx context.Context, dir string, args ...string) (*result, error) {
	cmd := exec.CommandContext(ctx, "go", append([]string{"test", "-json", "-count=1", "-timeout=30m"}, args...)...)
	// As in make test: on FerretDB one rule takes six minutes.
	cmd.Dir, cmd.Env, cmd.Stderr = dir, append(os.Environ(), "GOWORK=off", "STORETEST_WATCHDOG=25m"), os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	r, err := read(out)
	var exit *exec.ExitError
	if werr := cmd.Wait(); err == nil && !errors.As(werr, &exit) {
		err = werr
	}
	if err == nil && len(r.actions) == 0 {
		err = errors.New("no test has run")
	}
	if err != nil {
		return nil, fmt.Errorf("go test in %s: %w", dir, err)
	}
	return r, nil
}

func read(out io.Reader) (*result, error) {
	r := &result{actions: map[string]string{}, attrs: map[string]map[string]string{}}
	for events := json.NewDecoder(bufio.NewReader(out)); ; {
		var e event
		if err := events.Decode(&e); errors.Is(err, io.EOF) {
			return r, nil
		} else if err != nil {
			return nil, err
		}
		switch e.Action {
		case "build-output":
			fmt.Fprint(os.Stderr, e.Output)
		case "pass", "fail", "skip":
			if e.Test != "" {
				r.actions[path.Base(e.Package)+" "+e.Test] = e.Action
			}
		case "attr":
			if r.attrs[e.Test] == nil {
				r.attrs[e.Test] = map[string]string{}
			}
			r.attrs[e.Test][e.Key] = e.Value
		}
	}
}
