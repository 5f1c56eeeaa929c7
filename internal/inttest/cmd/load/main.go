// Command load fills a store to a size and says whether its calls stay as fast as at a
// hundredth of it, and with -soak whether this process stays as large as it is over a
// long time. See package load.
package main

import (
	"context"
	"crypto/rand"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	goredis "github.com/redis/go-redis/v9"

	"github.com/sessionstore/sessionstore"
	_ "github.com/sessionstore/sessionstore/bolt"
	"github.com/sessionstore/sessionstore/internal/inttest/bench"
	"github.com/sessionstore/sessionstore/internal/inttest/load"
	"github.com/sessionstore/sessionstore/internal/testenv"
	_ "github.com/sessionstore/sessionstore/memory"
	_ "github.com/sessionstore/sessionstore/postgres"
	_ "github.com/sessionstore/sessionstore/redis"
)

// servers are the backends that are found or started by their name; any other store is
// named by its URL.
var servers = map[string]func(testing.TB) string{"postgres": testenv.Postgres, "redis": testenv.Redis}

// goal is how much slower a call may be at the whole size than at a hundredth of it.
const goal = 1.5

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	stores := flag.String("stores", "postgres,redis", "a list of postgres, redis and URLs")
	sessions := flag.Int("sessions", 100_000, "how many sessions the store is filled with")
	messages := flag.Int("messages", 1_000_000, "how many messages they have together")
	calls := flag.Int("calls", 2000, "how many calls of each operation are measured")
	soak := flag.Duration("soak", 0, "soak each store for this long instead")
	flag.Parse()
	fmt.Println(bench.Machine())
	for _, name := range strings.Split(*stores, ",") {
		var err error
		if *soak > 0 {
			err = soakStore(ctx, os.Stdout, name, *soak)
		} else {
			err = flat(ctx, os.Stdout, name, load.Size{Sessions: *sessions, Messages: *messages}, *calls)
		}
		if err != nil {
			fmt.Fprintf(os.Stderr, "load: %s: %v\n", shown(name), err)
			stop()
			os.Exit(1)
		}
	}
}

// open opens a store by the name of its backend or its URL, with a namespace of its own.
func open(ctx context.Context, name string) (_ sessionstore.SessionStore, settle func(context.Context) error, err error) {
	url := name
	if server := servers[name]; server != nil {
		var missing error
		if url, missing, err = testenv.Find(server); err != nil || missing != nil {
			return nil, nil, errors.Join(err, missing)
		}
	}
	switch name {
	case "postgres":
		settle = func(ctx context.Context) error { return analyse(ctx, url) }
	case "redis":
		settle = func(ctx context.Context) error { return rewritten(ctx, url) }
	}
	if scheme, _, _ := strings.Cut(url, ":"); scheme == "memory" || scheme == "bolt" {
		store, err := sessionstore.Open(ctx, url)
		return store, settle, err
	}
	separator := "?"
	if strings.Contains(url, "?") {
		separator = "&"
	}
	store, err := sessionstore.Open(ctx, url+separator+"namespace="+rand.Text())
	return store, settle, err
}

// analyse is what autovacuum does sooner or later after so much was written.
func analyse(ctx context.Context, dsn string) error {
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }() // what it was opened for has said what went wrong
	_, err = conn.Exec(ctx, "VACUUM ANALYZE")
	return err
}

// rewritten waits until Redis does not rewrite its log, which takes half of a machine with
// two processors.
func rewritten(ctx context.Context, url string) error {
	o, err := goredis.ParseURL(url)
	if err != nil {
		return errors.New("the URL of the Redis server does not parse") // not shown: it may hold a password
	}
	client := goredis.NewClient(o)
	defer func() { _ = client.Close() }() // what it was opened for has said what went wrong
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		info, err := client.Info(ctx, "persistence").Result()
		if err != nil || !strings.Contains(info, "_in_progress:1") && !strings.Contains(info, "aof_rewrite_scheduled:1") {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func flat(ctx context.Context, out io.Writer, name string, size load.Size, calls int) error {
	store, settle, err := open(ctx, name)
	if err != nil {
		return err
	}
	defer store.Close()
	fmt.Fprintf(out, "\n### %s\n\n", shown(name))
	r, err := load.Flat(ctx, store, settle, load.Config{Size: size, Calls: calls, Progress: func(format string, args ...any) {
		fmt.Fprintf(out, format+"\n", args...)
	}})
	if err != nil {
		return err
	}
	fmt.Fprint(out, "\n| call | p50 at 1 % | at 100 % | ratio | p99 at 1 % | at 100 % | ratio | at most 1.5 |\n|---|--:|--:|--:|--:|--:|--:|---|\n")
	for _, op := range r.Operations {
		p50, p99 := op.Grown()
		verdict := "ok"
		if p50 > goal || p99 > goal {
			verdict = "**missed**"
		}
		fmt.Fprintf(out, "| %s | %v | %v | %.2f | %v | %v | %.2f | %s |\n", op.Name,
			op.P50[0].Round(time.Microsecond), op.P50[1].Round(time.Microsecond), p50,
			op.P99[0].Round(time.Microsecond), op.P99[1].Round(time.Microsecond), p99, verdict)
	}
	fmt.Fprintf(out, "\nHeap of this process: %.1f MiB at 1 %%, %.1f MiB at 100 %%.\n", mib(r.Heap[0]), mib(r.Heap[1]))
	return nil
}

func soakStore(ctx context.Context, out io.Writer, name string, total time.Duration) error {
	store, _, err := open(ctx, name)
	if err != nil {
		return err
	}
	defer store.Close()
	samples, err := load.Soak(ctx, store, total, max(total/10, time.Second))
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "\n### %s, soaked for %v\n\n| after | calls | heap in use | goroutines |\n|--:|--:|--:|--:|\n", shown(name), total)
	for _, s := range samples {
		fmt.Fprintf(out, "| %v | %d | %.1f MiB | %d |\n", s.At.Round(time.Second), s.Calls, mib(s.Heap), s.Goroutines)
	}
	return nil
}

// shown is the name of a store without a password.
func shown(name string) string {
	if servers[name] != nil {
		return name
	}
	return sessionstore.RedactURL(name)
}

func mib(n uint64) float64 { return float64(n) / (1 << 20) }
