package redis_test

import (
	"context"
	"net"
	"net/url"
	"sync"
	"testing"

	goredis "github.com/redis/go-redis/v9"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/internal/testenv"
	"github.com/sessionstore/sessionstore/redis"
	"github.com/sessionstore/sessionstore/storetest"
)

// conns are the connections that a client has made.
type conns struct {
	mu   sync.Mutex
	open []net.Conn
}

func (c *conns) dial(ctx context.Context, network, address string) (net.Conn, error) {
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

// servers opens stores, each with a client of its own.
type servers struct {
	client func(tb testing.TB, c *conns) goredis.UniversalClient
	conns  sync.Map // of each store
}

func (s *servers) store(tb testing.TB, c storetest.Config) sessionstore.SessionStore {
	conns := &conns{}
	client := s.client(tb, conns)
	store, err := redis.New(client, &redis.Options{Now: c.Now, Namespace: c.Namespace})
	if err != nil {
		tb.Fatalf("New(namespace %q): got %v, want nil", c.Namespace, err)
	}
	s.conns.Store(store, conns)
	tb.Cleanup(func() {
		store.Close()
		client.Close()
	})
	return store
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

// single makes clients of one server.
func single(change func(*goredis.Options)) *servers {
	return &servers{client: func(tb testing.TB, c *conns) goredis.UniversalClient {
		o, err := goredis.ParseURL(testenv.Redis(tb))
		if err != nil {
			tb.Fatalf("ParseURL: got %v, want nil", err)
		}
		o.Dialer = c.dial
		if change != nil {
			change(o)
		}
		return goredis.NewClient(o)
	}}
}

// cluster makes clients of a cluster, which may read from replicas.
func cluster() *servers {
	return &servers{client: func(tb testing.TB, c *conns) goredis.UniversalClient {
		u, err := url.Parse(testenv.RedisCluster(tb))
		if err != nil {
			tb.Fatalf("Parse: got %v, want nil", err)
		}
		u.Scheme = "redis"
		o, err := goredis.ParseClusterURL(u.String())
		if err != nil {
			tb.Fatalf("ParseClusterURL: got %v, want nil", err)
		}
		o.Dialer = c.dial
		o.ReadOnly = true
		return goredis.NewClusterClient(o)
	}}
}

func TestConformance(t *testing.T) {
	t.Parallel()
	b := single(nil).backend()
	b.Child = []string{"SESSIONSTORE_TEST_REDIS=" + testenv.Redis(t)}
	storetest.Run(t, b)
}

// TestConformanceOneConn is field report S39: a call that holds a connection and waits for
// another never ends.
func TestConformanceOneConn(t *testing.T) {
	t.Parallel()
	storetest.Run(t, single(func(o *goredis.Options) { o.PoolSize, o.PipelinePoolSize = 1, -1 }).backend())
}

func TestConformanceCluster(t *testing.T) {
	t.Parallel()
	b := cluster().backend()
	b.Child = []string{"SESSIONSTORE_TEST_REDIS_CLUSTER=" + testenv.RedisCluster(t)}
	storetest.Run(t, b)
}
