package wire_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	goredis "github.com/redis/go-redis/v9"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.uber.org/goleak"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/internal/inttest/call"
	"github.com/sessionstore/sessionstore/internal/inttest/wire"
	"github.com/sessionstore/sessionstore/internal/testenv"
	_ "github.com/sessionstore/sessionstore/mongo"
	_ "github.com/sessionstore/sessionstore/postgres"
	_ "github.com/sessionstore/sessionstore/redis"
)

// full is for `make wire`: more kinds of faults for each call.
var full = flag.Bool("full", false, "also the rarer faults")

func TestMain(m *testing.M) {
	flag.Parse()
	goredis.SetLogger(quiet{}) // of connections that break
	if f := flag.Lookup("test.parallel"); f.Value.String() == fmt.Sprint(runtime.GOMAXPROCS(0)) {
		_ = f.Value.Set("8") // most of the time is spent waiting
	}
	os.Exit(m.Run())
}

type quiet struct{}

func (quiet) Printf(context.Context, string, ...any) {}

// limits of what a test waits for: nothing takes as long that does not hang.
const (
	hangs    = time.Minute
	deadline = 300 * time.Millisecond // of a call whose server has become silent
	maxConns = 4                      // of a pool
)

// secret is the password in the URLs. The servers do not ask for it; nothing may show it.
const secret = "pa55-w0rd-in-no-message"

// backend is a kind of store and its server.
type backend struct {
	name   string
	server func(testing.TB) string
	own    func(t *testing.T, u *url.URL) // makes a place that is the test's own
	client map[string]string              // parameters of the URL of a client behind the proxy
	user   string                         // to send the secret with; "": none
	skips  func(request []byte) bool      // what the driver sends by itself
	watch  int                            // connections of the driver that are not in its pool

	// fresh is for a driver that takes longer to find the server again than to begin anew.
	fresh bool
	// dear is for a server that takes its time: it meets fewer faults without -full.
	dear bool
	// resends is for a driver that sends a write again by itself.
	resends bool
}

var backends = []*backend{
	{
		name: "postgres", server: testenv.Postgres, own: ownSchema, user: "postgres",
		client: map[string]string{"pool_max_conns": fmt.Sprint(maxConns)},
	},
	{
		name: "redis", server: testenv.Redis, own: ownNamespace, user: "default", resends: true,
		client: map[string]string{"pool_size": fmt.Sprint(maxConns), "max_retries": "2", "read_timeout": "2s", "dial_timeout": "2s"},
	},
	{
		name: "mongo", server: testenv.Mongo, own: ownDatabase, skips: greets, watch: 2, fresh: true, dear: true,
		client: map[string]string{
			"directConnection": "true", "maxPoolSize": fmt.Sprint(maxConns),
			"serverSelectionTimeoutMS": "2000", "heartbeatFrequencyMS": "500",
		},
	},
}

// greets reports whether a request is one that the MongoDB driver begins a connection
// with, and looks after its server with.
func greets(request []byte) bool {
	return bytes.Contains(request, []byte("hello\x00")) || bytes.Contains(request, []byte("isMaster\x00"))
}

// place is where the stores of a test lie.
type place struct {
	*backend
	url *url.URL
}

// on begins a test of a backend: it starts the server and, at the end, looks for
// goroutines that were left.
func (b *backend) on(t *testing.T) place {
	t.Helper()
	u, err := url.Parse(b.server(t))
	if err != nil {
		t.Fatal("the server's URL does not parse") // it may hold a password
	}
	leaks := goleak.IgnoreCurrent()
	t.Cleanup(func() { goleak.VerifyNone(t, leaks) })
	b.own(t, u)
	return place{b, u}
}

// direct opens a store in a namespace, without a proxy.
func (p place) direct(t *testing.T, namespace string) sessionstore.SessionStore {
	t.Helper()
	u := *p.url
	set(&u, "namespace", namespace)
	store, err := sessionstore.Open(t.Context(), u.String())
	if err != nil {
		t.Fatalf("Open: got %v, want nil", err)
	}
	t.Cleanup(func() {
		if err := errors.Join(empty(store), store.Close()); err != nil {
			t.Errorf("removing what the test made: got %v, want nil", err)
		}
	})
	return store
}

// empty removes all sessions.
func empty(store sessionstore.SessionStore) error {
	ctx := context.Background()
	for {
		page, err := store.ListSessions(ctx, sessionstore.SessionQuery{})
		if err != nil {
			return err
		}
		for _, s := range page.Sessions {
			if err := store.DeleteSession(ctx, s.ID); err != nil {
				return err
			}
		}
		if page.Next == "" && len(page.Sessions) == 0 {
			return nil
		}
	}
}

// proxied is a client's side: stores whose connections can be broken.
type proxied struct {
	place
	*wire.Proxy
	url   string
	store sessionstore.SessionStore // nil: not open
}

func (p place) proxied(t *testing.T, namespace string) *proxied {
	t.Helper()
	proxy, err := wire.NewProxy(p.url.Host, p.skips)
	if err != nil {
		t.Fatalf("NewProxy: got %v, want nil", err)
	}
	u := *p.url
	u.Host = proxy.Addr()
	if _, ok := u.User.Password(); !ok && p.user != "" {
		u.User = url.UserPassword(p.user, secret)
	}
	set(&u, "namespace", namespace)
	set(&u, "migrate", "off")
	for key, value := range p.client {
		set(&u, key, value)
	}
	c := &proxied{place: p, Proxy: proxy, url: u.String()}
	t.Cleanup(func() {
		c.leave(t)
		if err := proxy.Close(); err != nil {
			t.Errorf("closing the proxy: got %v, want nil", err)
		}
	})
	return c
}

// reach opens the store if it is not open, and returns once it is answered. Each dead
// connection in its pool may fail one call, and no more.
func (c *proxied) reach(t *testing.T) sessionstore.SessionStore {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), hangs)
	defer cancel()
	if c.store == nil {
		store, err := sessionstore.Open(ctx, c.url)
		if err != nil {
			t.Fatalf("Open: got %v, want nil", err)
		}
		c.store = store
	}
	for failed := 0; ; failed++ {
		_, err := c.store.GetSession(ctx, "none")
		if errors.Is(err, sessionstore.ErrSessionNotFound) {
			return c.store
		}
		if failed == maxConns || ctx.Err() != nil {
			t.Fatalf("GetSession, connected again, after %d calls that failed: got %v, want ErrSessionNotFound", failed, err)
		}
	}
}

// leave closes the store, and waits for its connections to be closed.
func (c *proxied) leave(t *testing.T) {
	t.Helper()
	if c.store == nil {
		return
	}
	store := c.store
	c.store = nil
	if err := store.Close(); err != nil {
		t.Errorf("Close: got %v, want nil", err)
	}
	c.wantConns(t, 0)
}

// wantConns waits until there are no more connections than that: they end some time after
// the call that closes them.
func (c *proxied) wantConns(t *testing.T, most int) {
	t.Helper()
	for end := time.Now().Add(hangs); c.Conns() > most; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("connections: got %d, want at most %d", c.Conns(), most)
		}
	}
}

// checkError checks that an error is one that a broken connection gives, and that it
// keeps the secret.
func checkError(t *testing.T, what string, err error) {
	t.Helper()
	if err == nil {
		return
	}
	if text := fmt.Sprintf("%v %+v", err, err); strings.Contains(text, secret) {
		t.Errorf("%s: got an error that shows the password: %s", what, text)
	}
	if call.Class(err) == call.Unknown && !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, context.Canceled) && !broken(err) {
		t.Errorf("%s: got the error %v (%T), want one of a connection, or the context's", what, err, err)
	}
}

// broken reports whether a caller can tell by the error that the connection is to blame.
func broken(err error) bool {
	var network net.Error
	// Of the MongoDB driver, whose own type is not exported: other calls broke the pool.
	var cleared interface{ Retryable() bool }
	return errors.As(err, &network) || errors.As(err, &cleared) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) ||
		errors.Is(err, pgconn.ErrConnClosed) || mongo.IsNetworkError(err) || mongo.IsTimeout(err)
}

func name() string { return "test_" + strings.ToLower(rand.Text()) }

func set(u *url.URL, key, value string) {
	query := u.Query()
	query.Set(key, value)
	u.RawQuery = query.Encode()
}

func ownSchema(t *testing.T, u *url.URL) {
	dsn, schema := u.String(), name()
	t.Cleanup(func() {
		ctx := context.Background()
		c, err := pgx.Connect(ctx, dsn)
		if err == nil {
			_, err = c.Exec(ctx, "DROP SCHEMA IF EXISTS "+pgx.Identifier{schema}.Sanitize()+" CASCADE")
			err = errors.Join(err, c.Close(ctx))
		}
		if err != nil {
			t.Errorf("dropping the schema: got %v, want nil", err)
		}
	})
	set(u, "schema", schema)
	migrate(t, u)
}

// migrate makes the tables before several stores want to at once.
func migrate(t *testing.T, u *url.URL) {
	store, err := sessionstore.Open(t.Context(), u.String())
	if err == nil {
		err = store.Close()
	}
	if err != nil {
		t.Fatalf("Open: got %v, want nil", err)
	}
}

// ownNamespace needs nothing more: each store has one of its own, and is emptied.
func ownNamespace(*testing.T, *url.URL) {}

func ownDatabase(t *testing.T, u *url.URL) {
	dsn, database := u.String(), name()
	t.Cleanup(func() {
		ctx := context.Background()
		c, err := mongo.Connect(options.Client().ApplyURI(dsn))
		if err == nil {
			err = errors.Join(c.Database(database).Drop(ctx), c.Disconnect(ctx))
		}
		if err != nil {
			t.Errorf("dropping the database: got %v, want nil", err)
		}
	})
	u.Path = "/" + database
	migrate(t, u)
}
