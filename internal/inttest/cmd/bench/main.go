// Command bench measures the stores against programs that do the same work with the raw
// drivers, and prints the ratios beside the goals. See package bench.
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"runtime/pprof"
	"strings"
	"time"

	"github.com/sessionstore/sessionstore/internal/inttest/bench"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		stop()
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	cfg := bench.Config{Progress: os.Stderr}
	quick := flag.Bool("quick", false, "rounds of a tenth of the time: about two minutes in all")
	names := flag.String("backends", "", "measure these only: a list of "+strings.Join(bench.Names(), ","))
	workloads := flag.String("run", "", "measure the workloads that match this `regexp` only")
	out := flag.String("o", "", "write the rounds to this `file` for benchstat")
	profile := flag.String("cpuprofile", "", "write a CPU profile to this `file`, labelled with backend, workload and candidate")
	flag.IntVar(&cfg.Rounds, "rounds", 5, "rounds of each workload")
	flag.DurationVar(&cfg.Budget, "budget", 1500*time.Millisecond, "about how long a round takes")
	flag.Parse()
	if flag.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", flag.Arg(0))
	}
	if *quick {
		cfg.Budget /= 10
	}
	if *names != "" {
		cfg.Backends = strings.Split(*names, ",")
	}
	var err error
	if cfg.Workloads, err = regexp.Compile(*workloads); err != nil {
		return err
	}
	if *profile != "" {
		stop, err := startProfile(*profile)
		if err != nil {
			return err
		}
		defer stop()
	}
	load, start := bench.Load(), time.Now()
	results, failed := bench.Run(ctx, cfg) // what was measured before a failure is worth printing
	fmt.Printf("%s, %v; load average before %s, after %s\n\n", bench.Machine(), time.Since(start).Round(time.Second), load, bench.Load())
	bench.WriteTable(os.Stdout, results)
	if *out == "" {
		return failed
	}
	return errors.Join(failed, writeFile(*out, func(w *bufio.Writer) error { return bench.WriteBenchmarks(w, results) }))
}

func startProfile(name string) (stop func(), err error) {
	f, err := os.Create(name)
	if err != nil {
		return nil, err
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return func() {
		pprof.StopCPUProfile()
		if err := f.Close(); err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
		}
	}, nil
}

func writeFile(name string, write func(*bufio.Writer) error) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(f)
	return errors.Join(write(w), w.Flush(), f.Close())
}
