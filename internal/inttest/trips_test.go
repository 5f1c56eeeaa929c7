package inttest_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"net"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	goredis "github.com/redis/go-redis/v9"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/internal/testenv"
	_ "github.com/sessionstore/sessionstore/mongo"
	_ "github.com/sessionstore/sessionstore/postgres"
	_ "github.com/sessionstore/sessionstore/redis"
)

// TestAppendTrips counts on the wire what an append costs, with the stores that Open
// makes of a URL: what the driver sends unasked counts, too. Its attributes are the
// README's, see cmd/backendtable.
func TestAppendTrips(t *testing.T) {
	for _, tt := range []struct {
		backend string
		server  func(testing.TB) string
		change  func(t *testing.T, u *url.URL)
		version func(t *testing.T, dsn string) string
	}{
		{"postgres", testenv.Postgres, postgresSchema, postgresVersion},
		{"redis", testenv.Redis, redisNamespace, redisVersion},
		{"mongo", testenv.Mongo, mongoDatabase, mongoVersion},
	} {
		t.Run(tt.backend, func(t *testing.T) {
			dsn := tt.server(t)
			u, err := url.Parse(dsn)
			if err != nil {
				t.Fatal("the server's URL does not parse") // it may hold a password
			}
			tt.change(t, u)
			w := newWire(t, u.Host)
			u.Host = w.Addr().String()
			store, err := sessionstore.Open(t.Context(), u.String())
			if err != nil {
				t.Fatalf("Open: got %v, want nil", err)
			}
			t.Cleanup(func() { store.Close() })
			trips := appendTrips(t, store, &w.turns)
			if trips != 1 {
				t.Errorf("an append: got %d round trips, want 1", trips)
			}
			t.Attr("append", fmt.Sprintf("%d round trip", trips))
			t.Attr("server", tt.version(t, dsn))
		})
	}
}

// appendTrips returns the fewest of several appends: a driver looks after its connections
// at times of its own.
func appendTrips(t *testing.T, store sessionstore.SessionStore, turns *atomic.Int64) int64 {
	t.Helper()
	s, err := store.CreateSession(t.Context(), sessionstore.Session{})
	if err != nil {
		t.Fatalf("CreateSession: got %v, want nil", err)
	}
	defer func() {
		if err := store.DeleteSession(context.WithoutCancel(t.Context()), s.ID); err != nil {
			t.Errorf("DeleteSession: got %v, want nil", err)
		}
	}()
	fewest := int64(-1)
	for range 10 {
		before := turns.Load()
		if _, err := store.AppendMessages(t.Context(), s.ID, sessionstore.Append{Messages: []sessionstore.Message{sessionstore.UserMessage("hello")}}); err != nil {
			t.Fatalf("AppendMessages: got %v, want nil", err)
		}
		if n := turns.Load() - before; fewest < 0 || n < fewest {
			fewest = n
		}
	}
	return fewest
}

// wire stands before a server and counts how often a client begins to send after the
// server has: on one connection, each time is a round trip.
type wire struct {
	net.Listener
	turns atomic.Int64
}

func newWire(t *testing.T, server string) *wire {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("Listen: got %v, want nil", err)
	}
	w := &wire{Listener: l}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			go w.relay(client, server)
		}
	}()
	return w
}

func (w *wire) relay(client net.Conn, server string) {
	defer client.Close()
	s, err := net.Dial("tcp", server)
	if err != nil {
		return
	}
	defer s.Close()
	var asked atomic.Bool
	go func() {
		defer client.Close()
		io.Copy(client, watched{s, func() { asked.Store(false) }})
	}()
	io.Copy(s, watched{client, func() {
		if !asked.Swap(true) {
			w.turns.Add(1)
		}
	}})
}

// watched says when something was read, before it is passed on.
type watched struct {
	io.Reader
	read func()
}

func (r watched) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if n > 0 {
		r.read()
	}
	return n, err
}

func name() string { return "test_" + strings.ToLower(rand.Text()) }

func set(u *url.URL, key, value string) {
	query := u.Query()
	query.Set(key, value)
	u.RawQuery = query.Encode()
}

func postgresSchema(t *testing.T, u *url.URL) {
	schema := name()
	dropSchema(t, u.String(), schema)
	set(u, "schema", schema)
}

// dropSchema drops a schema at the end of the test.
func dropSchema(t *testing.T, dsn, schema string) {
	t.Helper()
	t.Cleanup(func() {
		err := onPostgres(dsn, func(ctx context.Context, c *pgx.Conn) error {
			_, err := c.Exec(ctx, "DROP SCHEMA IF EXISTS "+pgx.Identifier{schema}.Sanitize()+" CASCADE")
			return err
		})
		if err != nil {
			t.Errorf("dropping the schema: got %v, want nil", err)
		}
	})
}

func onPostgres(dsn string, do func(context.Context, *pgx.Conn) error) error {
	ctx := context.Background()
	c, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return err
	}
	defer c.Close(ctx)
	return do(ctx, c)
}

func postgresVersion(t *testing.T, dsn string) (version string) {
	err := onPostgres(dsn, func(ctx context.Context, c *pgx.Conn) error {
		return c.QueryRow(ctx, "SHOW server_version").Scan(&version)
	})
	if err != nil {
		t.Fatalf("SHOW server_version: got %v, want nil", err)
	}
	version, _, _ = strings.Cut(version, " ")
	return "PostgreSQL " + version
}

// redisNamespace needs nothing to be dropped: the test deletes its session.
func redisNamespace(_ *testing.T, u *url.URL) { set(u, "namespace", name()) }

func redisVersion(t *testing.T, dsn string) string {
	o, err := goredis.ParseURL(dsn)
	if err != nil {
		t.Fatalf("ParseURL: got %v, want nil", err)
	}
	client := goredis.NewClient(o)
	defer client.Close()
	info, err := client.Info(t.Context(), "server").Result()
	if err != nil {
		t.Fatalf("INFO: got %v, want nil", err)
	}
	found := map[string]string{}
	for line := range strings.Lines(info) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		found[key] = value
	}
	if v := found["valkey_version"]; v != "" {
		return "Valkey " + v
	}
	return "Redis " + found["redis_version"]
}

func mongoDatabase(t *testing.T, u *url.URL) {
	dsn, database := u.String(), name()
	t.Cleanup(func() {
		if err := onMongo(dsn, func(ctx context.Context, c *mongo.Client) error { return c.Database(database).Drop(ctx) }); err != nil {
			t.Errorf("dropping the database: got %v, want nil", err)
		}
	})
	set(u, "directConnection", "true") // through the wire, not around it
	u.Path = "/" + database
}

func onMongo(dsn string, do func(context.Context, *mongo.Client) error) error {
	ctx := context.Background()
	c, err := mongo.Connect(options.Client().ApplyURI(dsn))
	if err != nil {
		return err
	}
	defer c.Disconnect(ctx)
	return do(ctx, c)
}

func mongoVersion(t *testing.T, dsn string) string {
	var info struct {
		Version  string
		FerretDB string `bson:"ferretdbVersion"`
	}
	err := onMongo(dsn, func(ctx context.Context, c *mongo.Client) error {
		return c.Database("admin").RunCommand(ctx, bson.D{{Key: "buildInfo", Value: 1}}).Decode(&info)
	})
	if err != nil {
		t.Fatalf("buildInfo: got %v, want nil", err)
	}
	if v := info.FerretDB; v != "" {
		return "FerretDB " + strings.TrimPrefix(v, "v") + ", one write at a time"
	}
	return "MongoDB " + info.Version
}
