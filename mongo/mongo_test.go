package mongo_test

import (
	"context"
	"fmt"
	"hash/fnv"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	driver "go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/internal/testenv"
	"github.com/sessionstore/sessionstore/mongo"
	"github.com/sessionstore/sessionstore/storetest"
)

// These give the server to the child processes of the suite, and tell them that the
// databases are not theirs to drop.
const (
	serverVar = "SESSIONSTORE_TEST_MONGO"
	childVar  = "SESSIONSTORE_TEST_MONGO_CHILD"
)

// conns are the connections that a client has made.
type conns struct {
	mu   sync.Mutex
	open []net.Conn
}

func (c *conns) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, network, address)
	if err == nil {
		c.mu.Lock()
		c.open = append(c.open, conn)
		c.mu.Unlock()
	}
	return conn, err
}

// cut closes all of them, so that whoever has one finds it broken.
func (c *conns) cut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, conn := range c.open {
		conn.Close()
	}
	c.open = nil
}

// connect returns a client that goes with the test.
func connect(tb testing.TB, change func(*options.ClientOptions)) *driver.Client {
	tb.Helper()
	o := options.Client().ApplyURI(testenv.Mongo(tb)).SetMaxPoolSize(16)
	if change != nil {
		change(o)
	}
	client, err := driver.Connect(o)
	if err != nil {
		tb.Fatalf("Connect: got %v, want nil", err)
	}
	tb.Cleanup(func() { _ = client.Disconnect(context.Background()) })
	return client
}

// servers opens stores, each with a client of its own. Every other one has one connection:
// field report S39 is a call that holds a connection and waits for another for ever.
type servers struct {
	opened atomic.Int64
	conns  sync.Map // of each store
	made   sync.Map // databases
}

// database is that of a case, for all its namespaces. FerretDB reads all of a collection for
// most queries, so that cases would slow down one another in one.
func database(namespace string) string {
	h := fnv.New64a()
	h.Write([]byte(namespace[:min(len(namespace), len("storetest-0123456789abcdef"))]))
	return fmt.Sprintf("sessionstore_test_%016x", h.Sum64())
}

func (s *servers) store(tb testing.TB, c storetest.Config) sessionstore.SessionStore {
	conns := &conns{}
	client := connect(tb, func(o *options.ClientOptions) {
		o.SetDialer(conns)
		if s.opened.Add(1)%2 == 0 {
			o.SetMaxPoolSize(1)
		}
	})
	db := client.Database(database(c.Namespace))
	store, err := mongo.New(db, &mongo.Options{Now: c.Now, Namespace: c.Namespace})
	if err != nil {
		tb.Fatalf("New(namespace %q): got %v, want nil", c.Namespace, err)
	}
	s.conns.Store(store, conns)
	if _, made := s.made.LoadOrStore(db.Name(), true); !made && os.Getenv(childVar) == "" {
		if err := store.Migrate(tb.Context()); err != nil {
			tb.Fatalf("Migrate: got %v, want nil", err)
		}
		dropAfter(tb, db.Name())
	}
	return store
}

// dropAfter drops a database once the test is over.
func dropAfter(tb testing.TB, name string) {
	client := connect(tb, nil)
	tb.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := client.Database(name).Drop(ctx); err != nil {
			tb.Errorf("dropping the database %s: got %v, want nil", name, err)
		}
	})
}

func (s *servers) cut(tb testing.TB, store sessionstore.SessionStore) {
	c, ok := s.conns.Load(store)
	if !ok {
		tb.Fatalf("Break: got a store that Open did not make: %T", store)
	}
	c.(*conns).cut()
}

func (s *servers) backend() storetest.Backend {
	return storetest.Backend{Open: s.store, Reopen: s.store, Break: s.cut}
}

func TestConformance(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("on FerretDB the suite takes more than ten minutes: run without -short")
	}
	b := (&servers{}).backend()
	b.Child = []string{serverVar + "=" + testenv.Mongo(t), childVar + "=1"}
	storetest.Run(t, b)
}

// TestCreateOverExpired is that a session which takes the id of one that has expired begins
// when it appears, not when the call began to remove the other.
func TestCreateOverExpired(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "", nil)
	f.create(t, sessionstore.Session{ID: "s", TTL: time.Minute})
	var read time.Time // by the store
	s, err := mongo.New(f.db, &mongo.Options{Now: func() time.Time {
		if read.IsZero() {
			read = f.now
		}
		read = read.Add(time.Hour)
		return read
	}})
	if err != nil {
		t.Fatalf("New: got %v, want nil", err)
	}
	t.Cleanup(func() { s.Close() })
	got, err := s.CreateSession(t.Context(), sessionstore.Session{ID: "s"})
	if err != nil || !got.UpdatedAt.Equal(read) || !got.CreatedAt.Equal(read) {
		t.Errorf("CreateSession over one that has expired: got created_at %v, updated_at %v, %v, want %v, what the clock said last",
			got.CreatedAt, got.UpdatedAt, err, read)
	}
}
