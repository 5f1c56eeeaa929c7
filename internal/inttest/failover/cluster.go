//go:build unix

package failover

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sessionstore/sessionstore/internal/inttest/crash"
)

const (
	masters = 3
	slots   = 16384
)

// Cluster is a Redis Cluster of three masters with a replica each.
type Cluster struct {
	nodes   []*crash.Server // the masters, then their replicas
	clients []*redis.Client // one for each
	ids     []string
}

// NewCluster starts one. Close ends it also after an error.
func NewCluster(ctx context.Context, binary string) (*Cluster, error) {
	c := &Cluster{}
	for range 2 * masters {
		s, err := crash.ClusterNode.New(binary)
		if err != nil {
			return c, err
		}
		c.nodes = append(c.nodes, s)
		if err := s.Start(); err != nil {
			return c, err
		}
		client := redis.NewClient(&redis.Options{Addr: s.URL, MaxRetries: -1})
		c.clients = append(c.clients, client)
		id, err := client.ClusterMyID(ctx).Result()
		if err != nil {
			return c, err
		}
		c.ids = append(c.ids, id)
	}
	for i, client := range c.clients {
		host, port, err := net.SplitHostPort(c.nodes[i].URL)
		if err != nil {
			return c, err
		}
		var own int
		if _, err := fmt.Sscan(port, &own); err != nil {
			return c, err
		}
		errs := []error{client.Do(ctx, "CLUSTER", "SET-CONFIG-EPOCH", i+1).Err()}
		if i < masters {
			errs = append(errs, client.ClusterAddSlotsRange(ctx, slots*i/masters, slots*(i+1)/masters-1).Err())
		}
		if i > 0 {
			errs = append(errs, c.clients[0].Do(ctx, "CLUSTER", "MEET", host, own, own-5000).Err())
		}
		if err := errors.Join(errs...); err != nil {
			return c, err
		}
	}
	for i := masters; i < 2*masters; i++ {
		// The replica has to know its master first.
		err := await(ctx, func() error { return c.clients[i].ClusterReplicate(ctx, c.ids[i-masters]).Err() })
		if err != nil {
			return c, err
		}
	}
	return c, c.whole(ctx, 2*masters, masters)
}

// whole waits until every node that runs knows n nodes, of which so many are replicas whose
// link to their master is up, and has all slots served.
func (c *Cluster) whole(ctx context.Context, n, replicas int) error {
	return await(ctx, func() error {
		up := 0
		for i, client := range c.clients {
			if c.nodes[i] == nil {
				continue
			}
			info, err := client.ClusterInfo(ctx).Result()
			if err != nil {
				return err
			}
			for _, want := range []string{"cluster_state:ok", "cluster_slots_ok:16384", fmt.Sprintf("cluster_known_nodes:%d", n)} {
				if !strings.Contains(info, want) {
					return fmt.Errorf("node %d does not say %s", i, want)
				}
			}
			replication, err := client.Info(ctx, "replication").Result()
			if err != nil {
				return err
			}
			if strings.Contains(replication, "master_link_status:up") {
				up++
			}
		}
		if up < replicas {
			return fmt.Errorf("%d replicas are connected, want %d", up, replicas)
		}
		return nil
	})
}

// KillMaster ends the first master by SIGKILL.
func (c *Cluster) KillMaster() error {
	s := c.nodes[0]
	c.nodes[0] = nil
	return s.Remove()
}

// AwaitFailover waits until the replica of the first master has taken its place.
func (c *Cluster) AwaitFailover(ctx context.Context) error {
	return await(ctx, func() error {
		info, err := c.clients[masters].Info(ctx, "replication").Result()
		if err == nil && !strings.Contains(info, "role:master") {
			err = errors.New("the replica is no master")
		}
		return err
	})
}

// URL is that of a store on the cluster.
func (c *Cluster) URL() string {
	query := url.Values{"read_timeout": {"2s"}, "dial_timeout": {"1s"}}
	for _, s := range c.nodes[1:] {
		query.Add("addr", s.URL)
	}
	return "redis+cluster://" + c.nodes[0].URL + "?" + query.Encode()
}

// Close ends all nodes and removes their data.
func (c *Cluster) Close() error {
	var errs []error
	for _, client := range c.clients {
		errs = append(errs, client.Close())
	}
	for _, s := range c.nodes {
		if s != nil {
			errs = append(errs, s.Remove())
		}
	}
	return errors.Join(errs...)
}

// await calls f until it returns nil, or the context is done.
func await(ctx context.Context, f func() error) error {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		err := f()
		if err == nil {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", ctx.Err(), err)
		}
	}
}
