// Command withservers runs a command, such as the tests, with servers: for each that no
// variable of the environment names, it starts a container and sets the variable, if a
// Docker engine answers and has the image, or can pull it. What it cannot start is left
// to the tests, which start what is installed. It says where each server comes from, and
// stops the containers at the end, whatever the end is.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"sync"
	"syscall"

	"github.com/sessionstore/sessionstore/internal/inttest/containers"
)

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: withservers COMMAND [ARGUMENT]...")
		os.Exit(2)
	}
	os.Exit(run(os.Args[1:]))
}

// run returns the exit status of the command.
func run(command []string) int {
	// An interrupt from the terminal is the command's too. It ends; this then cleans up.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	env, stopAll := start(ctx)
	status := runCommand(ctx, command, env)
	if err := stopAll(); err != nil {
		fmt.Fprintln(os.Stderr, "withservers: stopping a container:", err)
		status = max(status, 1)
	}
	return status
}

func runCommand(ctx context.Context, command, env []string) int {
	if ctx.Err() != nil {
		return 1
	}
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		return max(exit.ExitCode(), 1) // -1 for a signal
	}
	fmt.Fprintln(os.Stderr, "withservers:", err)
	return 1
}

// start returns the variables of the servers that it has started, and what stops them.
func start(ctx context.Context) (env []string, stop func() error) {
	var wanted []*containers.Kind
	for _, kind := range containers.Kinds {
		if os.Getenv(kind.Variable) != "" {
			say("%s: the one that %s names", kind.Name, kind.Variable)
			continue
		}
		wanted = append(wanted, kind)
	}
	none := func() error { return nil }
	if len(wanted) == 0 {
		return nil, none
	}
	engine, err := containers.Connect()
	if err != nil {
		say("no containers: %v", err)
		return nil, none
	}
	var (
		mu    sync.Mutex
		stops []func() error
		group sync.WaitGroup
	)
	for _, kind := range wanted {
		group.Go(func() {
			image := containers.Newest(kind)
			url, stop, err := engine.Start(ctx, image, func(what string) { say("%s: %s", kind.Name, what) })
			if err != nil {
				say("%s: no container: %v", kind.Name, err)
				return
			}
			say("%s: a container of %s", kind.Name, image.Ref)
			mu.Lock()
			defer mu.Unlock()
			env = append(env, kind.Variable+"="+url)
			stops = append(stops, stop)
		})
	}
	group.Wait()
	return env, func() error {
		var errs []error
		for _, stop := range stops {
			errs = append(errs, stop())
		}
		return errors.Join(errs...)
	}
}

func say(format string, args ...any) { fmt.Printf("servers: "+format+"\n", args...) }
