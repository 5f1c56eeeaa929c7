//go:build unix

package crash_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"go.etcd.io/bbolt"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/internal/inttest/call"
	"github.com/sessionstore/sessionstore/internal/inttest/crash"
	"github.com/sessionstore/sessionstore/internal/testenv"
)

// The flags after -args: `make crash` kills hundreds of times.
var (
	kills = flag.Int("kills", 4, "how often to kill, on each backend; four times as often on bolt")
	seed  = flag.Uint64("seed", 0, "of the calls and the moments; 0: another each time")
)

// The variables make the process a writer.
const (
	urlVar   = "SESSIONSTORE_CRASH_URL"
	roundVar = "SESSIONSTORE_CRASH_ROUND"
	seedVar  = "SESSIONSTORE_CRASH_SEED"
)

func TestMain(m *testing.M) {
	goredis.SetLogger(quiet{}) // of servers that are gone
	if target := os.Getenv(urlVar); target != "" {
		if err := write(target); err != nil {
			fmt.Fprintln(os.Stderr, "writer:", err)
			os.Exit(1)
		}
		return
	}
	// What a variable names is not ours to kill.
	for _, name := range []string{"POSTGRES", "REDIS", "MONGO"} {
		os.Unsetenv("SESSIONSTORE_TEST_" + name)
	}
	flag.Parse()
	for *seed == 0 {
		*seed = rand.Uint64()
	}
	os.Exit(m.Run())
}

type quiet struct{}

func (quiet) Printf(context.Context, string, ...any) {}

func write(target string) error {
	round, rerr := strconv.Atoi(os.Getenv(roundVar))
	seed, serr := strconv.ParseUint(os.Getenv(seedVar), 10, 64)
	if err := errors.Join(rerr, serr); err != nil {
		return err
	}
	store, err := sessionstore.Open(context.Background(), target)
	if err != nil {
		return err
	}
	(&crash.Writer{Store: store, Log: os.Stdout, Round: round, Seed: seed}).Run(context.Background())
	return store.Close()
}

func TestBolt(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sessions.db")
	b := &bench{url: "bolt:" + path, victims: []victim{theWriter}, exclusive: true, inspect: func() error {
		db, err := bbolt.Open(path, 0o600, &bbolt.Options{ReadOnly: true})
		if err != nil {
			return err
		}
		err = db.View(func(tx *bbolt.Tx) error {
			var errs []error
			for err := range tx.Check() {
				errs = append(errs, err)
			}
			return errors.Join(errs...)
		})
		return errors.Join(err, db.Close())
	}}
	b.run(t, 4**kills)
	left, err := boltLeftovers(t.Context(), path)
	wantNothing(t, left, err)
}

func TestPostgres(t *testing.T) { server(t, crash.Postgres, postgresLeftovers) }
func TestRedis(t *testing.T)    { server(t, crash.Redis, redisLeftovers) }
func TestMongo(t *testing.T)    { server(t, crash.Mongo, mongoLeftovers) }

func server(t *testing.T, kind *crash.Kind, leftovers func(ctx context.Context, url string) ([]string, error)) {
	s, err := kind.New(binary(t, kind))
	if err != nil {
		t.Fatalf("New: got %v, want nil", err)
	}
	t.Cleanup(func() {
		if err := s.Remove(); err != nil {
			t.Errorf("Remove: got %v, want nil", err)
		}
	})
	if err := s.Start(); err != nil {
		t.Fatalf("Start: got %v, want nil", err)
	}
	b := &bench{url: s.URL, server: s, victims: []victim{theServer, theWriter, both, theServerBriefly}}
	b.run(t, *kills)
	left, err := leftovers(t.Context(), s.URL)
	wantNothing(t, left, err)
}

// binary finds the server as the other tests do.
func binary(t *testing.T, kind *crash.Kind) string {
	t.Helper()
	for _, i := range testenv.Wanted() {
		if i.Name == kind.Name && i.Path != "" {
			return i.Path
		}
	}
	const hint = "no %s server is installed that could be killed: make servers installs one"
	if os.Getenv("CI") == "true" {
		t.Fatalf(hint, kind.Name)
	}
	t.Skipf(hint, kind.Name)
	return ""
}

// victim is what is killed.
type victim int

const (
	theWriter        victim = iota
	theServer               // and started again after the writer has noticed
	both                    // the server first
	theServerBriefly        // and started again while the writer goes on; then the writer
)

// bench is a store that things are killed under.
type bench struct {
	url       string
	server    *crash.Server // nil: none
	victims   []victim
	exclusive bool         // a process at a time may have the store open
	inspect   func() error // looks at what the store lies in, when none has it open; nil: nothing

	store sessionstore.SessionStore // nil: not open
	rng   *rand.Rand
}

func (b *bench) run(t *testing.T, kills int) {
	t.Logf("seed %d", *seed)
	b.rng = rand.New(rand.NewPCG(*seed, 0))
	ledger, err := crash.NewLedger()
	if err != nil {
		t.Fatalf("NewLedger: got %v, want nil", err)
	}
	start := time.Now()
	for round := range kills {
		if err := b.round(t.Context(), ledger, round); err != nil {
			t.Fatalf("round %d of seed %d: %v", round, *seed, err)
		}
	}
	if err := b.close(); err != nil {
		t.Errorf("Close: got %v, want nil", err)
	}
	t.Logf("%d kills in %v: %d calls acknowledged, all there; %d not acknowledged, of which %d had happened, whole",
		kills, time.Since(start).Round(time.Second), ledger.Acknowledged, ledger.Open, ledger.Done)
}

// round starts a writer, kills, and checks what is left.
func (b *bench) round(ctx context.Context, ledger *crash.Ledger, round int) error {
	if err := b.reach(ctx, func(s sessionstore.SessionStore) error { return ledger.Begin(ctx, s, round) }); err != nil {
		return fmt.Errorf("before the writer: %w", err)
	}
	if err := b.leave(); err != nil {
		return err
	}
	if err := b.killOne(ctx, ledger, round); err != nil {
		return err
	}
	if b.inspect != nil {
		if err := b.inspect(); err != nil {
			return fmt.Errorf("the file, after the kill: %w", err)
		}
	}
	// The connections of this process are as dead as the server that they led to.
	err := b.reach(ctx, func(s sessionstore.SessionStore) error {
		_, err := s.GetSession(ctx, crash.Shared(round))
		return err
	})
	if err == nil {
		err = ledger.Check(ctx, b.store)
	}
	return errors.Join(err, b.leave())
}

// killOne runs a writer until it or its server is killed.
func (b *bench) killOne(ctx context.Context, ledger *crash.Ledger, round int) error {
	target, drain, err := b.target()
	if err != nil {
		return err
	}
	writer, log, err := b.writer(ctx, target, round)
	if err != nil {
		return errors.Join(err, drain())
	}
	after := 1 + b.rng.IntN(80) // calls
	who := b.victims[b.rng.IntN(len(b.victims))]
	var lost, killErr error
	killed := false
	err = ledger.Read(ctx, log, func(r crash.Record) {
		if r.Err != "" && !killed {
			lost = errors.Join(lost, fmt.Errorf("worker %d: %s", r.Worker, r.Err))
		}
		if after--; after == 0 {
			b.moment(3 * time.Millisecond)
			killed, killErr = true, b.kill(who, writer)
		}
	})
	_ = writer.Wait() // killed, perhaps: that is its error
	killErr = errors.Join(killErr, drain())
	if !killed {
		return errors.Join(err, fmt.Errorf("the writer ended before it was killed: %w", lost))
	}
	if b.server != nil && (who == theServer || who == both) {
		killErr = errors.Join(killErr, b.server.Start())
	}
	return errors.Join(err, lost, killErr)
}

// moment lets a random time pass, so that what is killed may be at any point of a call.
func (b *bench) moment(most time.Duration) { time.Sleep(time.Duration(b.rng.Int64N(int64(most)))) }

// target is the URL for a writer. Drain waits, after its end, for the server to be done
// with what it sent.
func (b *bench) target() (target string, drain func() error, err error) {
	if b.server == nil {
		return b.url, func() error { return nil }, nil
	}
	u, err := url.Parse(b.url)
	if err != nil {
		return "", nil, err
	}
	relay, err := crash.NewRelay(u.Host)
	if err != nil {
		return "", nil, err
	}
	u.Host = relay.Addr()
	return u.String(), relay.Close, nil
}

func (b *bench) writer(ctx context.Context, target string, round int) (*exec.Cmd, io.Reader, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, nil, err
	}
	cmd := exec.CommandContext(ctx, exe)
	cmd.Env = append(os.Environ(), urlVar+"="+target, roundVar+"="+strconv.Itoa(round), seedVar+"="+strconv.FormatUint(*seed, 10))
	cmd.Stderr = os.Stderr
	log, err := cmd.StdoutPipe()
	if err != nil {
		return nil, nil, err
	}
	return cmd, log, cmd.Start()
}

func (b *bench) kill(who victim, writer *exec.Cmd) error {
	switch who {
	case theServer:
		return b.server.Kill()
	case both:
		return errors.Join(b.server.Kill(), writer.Process.Kill())
	case theServerBriefly:
		err := errors.Join(b.server.Kill(), b.server.Start())
		b.moment(200 * time.Millisecond)
		if kerr := writer.Process.Kill(); !errors.Is(kerr, os.ErrProcessDone) {
			err = errors.Join(err, kerr)
		}
		return err
	}
	return writer.Process.Kill()
}

// reachTries is how many calls may fail after a restart: more than a pool has connections.
const reachTries = 100

// reach opens the store, if it is not open, and makes a call on it until it is answered.
func (b *bench) reach(ctx context.Context, do func(sessionstore.SessionStore) error) error {
	if b.store == nil {
		store, err := sessionstore.Open(ctx, b.url)
		if err != nil {
			return err
		}
		b.store = store
	}
	for try := 1; ; try++ {
		err := do(b.store)
		if call.Class(err) != call.Unknown || try == reachTries {
			return err
		}
	}
}

// leave closes a store that another process is to open.
func (b *bench) leave() error {
	if b.exclusive {
		return b.close()
	}
	return nil
}

func (b *bench) close() error {
	if b.store == nil {
		return nil
	}
	store := b.store
	b.store = nil
	return store.Close()
}
