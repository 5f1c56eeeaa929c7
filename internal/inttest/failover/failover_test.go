//go:build unix

package failover_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/url"
	"os"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/internal/inttest/crash"
	"github.com/sessionstore/sessionstore/internal/inttest/failover"
	"github.com/sessionstore/sessionstore/internal/testenv"
	"github.com/sessionstore/sessionstore/memory"
	"github.com/sessionstore/sessionstore/verify"

	_ "github.com/sessionstore/sessionstore/postgres"
	_ "github.com/sessionstore/sessionstore/redis"
)

const (
	sessions = 24 // so that each shard has some
	patience = 3 * time.Minute
)

// The driver would print each connection that it cannot make.
func init() { goredis.SetLogger(silent{}) }

type silent struct{}

func (silent) Printf(context.Context, string, ...any) {}

// A master dies: writes go on once its replica has taken its place.
func TestClusterFailover(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cluster, err := failover.NewCluster(ctx, installed(t, "Redis"))
	t.Cleanup(func() {
		if err := cluster.Close(); err != nil {
			t.Error(err)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	store, w := start(ctx, t, cluster.URL())
	if err := w.More(ctx, 20); err != nil {
		t.Fatal(err)
	}
	if err := cluster.KillMaster(); err != nil {
		t.Fatal(err)
	}
	killed := time.Now()
	if err := cluster.AwaitFailover(ctx); err != nil {
		t.Fatal(err)
	}
	recovered := time.Since(killed)
	if err := w.More(ctx, 20); err != nil {
		t.Fatal(err)
	}
	finish(ctx, t, store, w, killed, fmt.Sprintf("a master was killed; its replica took its place after %v, and all sessions had 20 more appends after %v",
		recovered.Round(time.Millisecond), time.Since(killed).Round(time.Millisecond)))
}

// PgBouncer is killed and started again, five times.
func TestPgbouncerRestarts(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	server, err := url.Parse(testenv.Postgres(t))
	if err != nil {
		t.Fatal("the URL of the PostgreSQL server does not parse")
	}
	if _, secret := server.User.Password(); secret {
		t.Skip("the PostgreSQL server of the environment wants a password; unset SESSIONSTORE_TEST_POSTGRES to have one started that does not")
	}
	pool, err := crash.Pgbouncer(server.Hostname(), server.Port()).New(installed(t, "PgBouncer"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := pool.Remove(); err != nil {
			t.Error(err)
		}
	})
	if err := pool.Start(); err != nil {
		t.Fatal(err)
	}
	// As package postgres asks for before PgBouncer 1.21: no prepared statements.
	store, w := start(ctx, t, pool.URL+"&schema=failover&pool_max_conns=8&default_query_exec_mode=exec")
	for range 5 {
		if err := w.More(ctx, 5); err != nil {
			t.Fatal(err)
		}
		if err := pool.Kill(); err != nil {
			t.Fatal(err)
		}
		if err := pool.Start(); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.More(ctx, 5); err != nil {
		t.Fatal(err)
	}
	finish(ctx, t, store, w, time.Time{}, "PgBouncer was killed and started again five times")
}

func start(ctx context.Context, t *testing.T, url string) (sessionstore.SessionStore, *failover.Writers) {
	t.Helper()
	store, err := sessionstore.Open(ctx, url+"&namespace="+rand.Text()) // the server may be one that stays
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	w, err := failover.Start(ctx, store, sessions)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Stop)
	return store, w
}

func finish(ctx context.Context, t *testing.T, store sessionstore.SessionStore, w *failover.Writers, before time.Time, what string) {
	t.Helper()
	w.Stop()
	o, err := w.Check(ctx, before)
	if err != nil {
		t.Error(err)
	}
	report, err := verify.Store(ctx, store, nil)
	if err == nil {
		err = report.Err()
	}
	if err != nil {
		t.Error(err)
	}
	t.Logf("%s: %d appends acknowledged, %d attempts failed, %d acknowledged appends lost", what, o.Acknowledged, o.Failures, o.Lost)
}

// installed returns the binary of a server.
func installed(t *testing.T, name string) string {
	t.Helper()
	for _, i := range testenv.Wanted() {
		if i.Name == name && i.Path != "" {
			return i.Path
		}
	}
	const hint = "no %s is installed that could be killed: make servers installs one"
	if os.Getenv("CI") == "true" {
		t.Fatalf(hint, name)
	}
	t.Skipf(hint, name)
	return ""
}

// forgetful acknowledges an append, or a half of it, that it does not make.
type forgetful struct {
	sessionstore.SessionStore
	n    int
	drop func(n int, a *sessionstore.Append)
}

func (f *forgetful) AppendMessages(ctx context.Context, id string, a sessionstore.Append) ([]sessionstore.Message, error) {
	f.n++
	f.drop(f.n, &a)
	return f.SessionStore.AppendMessages(ctx, id, a)
}

// The check finds what a store has forgotten.
func TestCheck(t *testing.T) {
	t.Parallel()
	for name, drop := range map[string]func(int, *sessionstore.Append){
		"loses one": func(n int, a *sessionstore.Append) {
			if n == 3 {
				a.Messages = nil
			}
		},
		"loses half of one": func(n int, a *sessionstore.Append) {
			if n == 3 {
				a.Messages = a.Messages[:1]
			}
		},
		"stores one twice": func(n int, a *sessionstore.Append) {
			if n == 3 {
				again := a.Messages[0]
				again.ID = "another"
				a.Messages = append(a.Messages, again)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inner, err := memory.New(nil)
			if err != nil {
				t.Fatal(err)
			}
			w, err := failover.Start(t.Context(), &forgetful{SessionStore: inner, drop: drop}, 1)
			if err != nil {
				t.Fatal(err)
			}
			if err := w.More(t.Context(), 10); err != nil {
				t.Fatal(err)
			}
			w.Stop()
			_, err = w.Check(t.Context(), time.Time{})
			if err == nil {
				t.Error("the check found nothing")
			}
		})
	}
}
