// Command peers measures libraries that keep conversations side by side, on the same
// servers: what a call takes, and what becomes of concurrent appends to one session. It
// prints the tables of docs/benchmarks.md.
//
//	make peers
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"slices"
	"testing"
	"time"

	"github.com/sessionstore/sessionstore/internal/testenv"
)

// storages are what systems are compared on. FerretDB, where it stands in for MongoDB, is
// given a fiftieth of the data: its speed says nothing.
var storages = []struct {
	name   string
	server func(testing.TB) string
	scale  float64
}{
	{"memory", nil, 1},
	{"PostgreSQL", testenv.Postgres, 1},
	{"MongoDB", testenv.Mongo, 1.0 / 50},
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	rounds := flag.Int("rounds", 5, "rounds of each workload")
	scale := flag.Float64("scale", 1, "below 1: less of everything")
	flag.Parse()
	slog.SetDefault(slog.New(slog.DiscardHandler))
	if err := run(ctx, os.Stdout, *rounds, *scale); err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		stop()
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer, rounds int, scale float64) error {
	fmt.Fprintf(out, "%s, %s, %s/%s on %d CPUs", time.Now().UTC().Format(time.DateOnly), runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU())
	for _, module := range []string{adkModule, langchainModule, genkitModule} {
		fmt.Fprintf(out, "; %s %s", module, version(module))
	}
	fmt.Fprintln(out)
	for _, storage := range storages {
		dsn := ""
		if storage.server != nil {
			var missing, err error
			if dsn, missing, err = testenv.Find(storage.server); err != nil {
				return err
			} else if missing != nil {
				fmt.Fprintf(out, "\n%s: %v\n", storage.name, missing)
				continue
			}
		}
		if err := compare(ctx, out, storage.name, dsn, rounds, storage.scale*scale); err != nil {
			return fmt.Errorf("%s: %w", storage.name, err)
		}
	}
	return nil
}

// compare prints the tables of one storage.
func compare(ctx context.Context, out io.Writer, storage, dsn string, rounds int, scale float64) (err error) {
	var names []string
	var stores []*store
	defer func() {
		for _, s := range stores {
			err = errors.Join(err, s.close())
		}
	}()
	for _, sys := range systems {
		if sys.storage != storage {
			continue
		}
		s, err := sys.open(ctx, dsn)
		if err != nil {
			return fmt.Errorf("%s: %w", sys.name, err)
		}
		names, stores = append(names, sys.name), append(stores, s)
	}
	fmt.Fprintf(out, "\n### %s\n\n| a call |", storage)
	for _, name := range names {
		fmt.Fprintf(out, " %s |", name)
	}
	fmt.Fprintf(out, "\n|---|")
	for range names {
		fmt.Fprint(out, "--:|")
	}
	fmt.Fprintln(out)
	for _, w := range workloads {
		took, err := race(ctx, w, stores, rounds, scale)
		if err != nil {
			return fmt.Errorf("%s: %w", w.name, err)
		}
		fmt.Fprintf(out, "| %s |", w.name)
		for i, d := range took {
			switch {
			case d == 0:
				fmt.Fprint(out, " – |")
			case i == 0:
				fmt.Fprintf(out, " %v |", short(d))
			default:
				fmt.Fprintf(out, " %v (×%.3g) |", short(d), float64(d)/float64(took[0]))
			}
		}
		fmt.Fprintln(out)
	}
	fmt.Fprintf(out, "\n| %d × %d appends to one session at once | kept | refused | lost | doubled | stored though refused | reordered | took |\n|---|--:|--:|--:|--:|--:|--:|--:|\n", goroutines, each)
	for i, s := range stores {
		o, err := contest(ctx, s)
		if err != nil {
			return fmt.Errorf("%s: %w", names[i], err)
		}
		if o.unread != nil {
			fmt.Fprintf(out, "| %s | the history cannot be read: %v | %d | | | | | %v |\n", names[i], o.unread, o.refused, short(o.took))
			continue
		}
		fmt.Fprintf(out, "| %s | %d | %d | %d | %d | %d | %d | %v |\n", names[i], o.kept, o.refused, o.lost, o.doubled, o.ghosts, o.reordered, short(o.took))
	}
	return nil
}

// short rounds a time to three digits.
func short(d time.Duration) time.Duration {
	unit := time.Duration(1)
	for d/unit >= 1000 {
		unit *= 10
	}
	return d.Round(unit)
}

// version is that of a module in this build.
func version(module string) string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	i := slices.IndexFunc(info.Deps, func(m *debug.Module) bool { return m.Path == module })
	if i < 0 {
		return "unknown"
	}
	return info.Deps[i].Version
}
