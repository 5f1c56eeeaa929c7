package redis_test

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/sessionstore/sessionstore/redis"
)

// A node that cannot be reached may have a successor: the driver is told to ask who serves
// its slots, which it would otherwise do after as long as a minute.
func TestUnreachableNodeReloadsTheCluster(t *testing.T) {
	t.Parallel()
	asked := make(chan struct{}, 1000)
	client := goredis.NewClusterClient(&goredis.ClusterOptions{
		MaxRedirects: -1, MaxRetries: -1, ClusterStateReloadInterval: 24 * time.Hour, ContextTimeoutEnabled: true,
		ClusterSlots: func(context.Context) ([]goredis.ClusterSlot, error) {
			asked <- struct{}{}
			return []goredis.ClusterSlot{{Start: 0, End: 16383, Nodes: []goredis.ClusterNode{{ID: "gone", Addr: "127.0.0.1:1"}}}}, nil
		},
		Dialer: func(context.Context, string, string) (net.Conn, error) { return nil, errors.New("gone") },
	})
	defer client.Close()
	store, err := redis.New(client, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	client.ReloadState(t.Context())
	<-asked       // the driver knows the node
	for range 2 { // the first call may be what asks first
		if _, err := store.GetSession(t.Context(), "s"); err == nil {
			t.Fatal("GetSession on a node that is gone: got nil, want an error")
		}
		select {
		case <-asked:
		case <-time.After(time.Minute):
			t.Fatal("the driver was not told to ask for the nodes")
		}
	}
}
