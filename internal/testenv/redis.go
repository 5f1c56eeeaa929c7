package testenv

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
)

var redisKind = server{
	name:     "Redis",
	variable: "SESSIONSTORE_TEST_REDIS",
	binaries: []string{"redis-server"},
	places:   []string{"/usr/bin", "/usr/local/bin", "/opt/homebrew/bin"},
	install:  "redis-server",
	ready:    "Ready to accept connections",
	command: func(bin map[string]string, dir string, port int) []string {
		return redisCommand(bin, dir, port)
	},
	dsn: func(port int) string { return fmt.Sprintf("redis://127.0.0.1:%d/0?%s", port, patience().Encode()) },
}

// patience are the options of a URL by which a client waits for a slow machine: three
// seconds for a reply, which the driver gives it, are not enough for 32 MiB on one that is
// busy with other tests.
func patience() url.Values {
	return url.Values{"read_timeout": {"1m"}, "write_timeout": {"1m"}}
}

// redisNode is one master of a cluster.
var redisNode = server{
	name:     "Redis Cluster",
	variable: "SESSIONSTORE_TEST_REDIS_CLUSTER",
	binaries: redisKind.binaries,
	places:   redisKind.places,
	install:  redisKind.install,
	ready:    redisKind.ready,
	command: func(bin map[string]string, dir string, port int) []string {
		command := append(redisCommand(bin, dir, port), "--cluster-enabled", "yes", "--cluster-node-timeout", "30000")
		// The bus port is 10,000 higher by default, which may be more than there are.
		if bus, err := freePort(); err == nil {
			command = append(command, "--cluster-port", strconv.Itoa(bus))
		}
		return command
	},
	dsn: func(port int) string { return fmt.Sprintf("127.0.0.1:%d", port) },
}

// redisCommand starts a server that keeps a log of its writes, as a store of record should.
func redisCommand(bin map[string]string, dir string, port int) []string {
	return []string{bin["redis-server"], "--port", strconv.Itoa(port), "--bind", "127.0.0.1", "--dir", dir,
		"--appendonly", "yes", "--appendfsync", "everysec", "--save", ""}
}

var redis = instance{kind: redisKind}

// Redis returns the URL of a Redis server.
func Redis(tb testing.TB) string {
	tb.Helper()
	return redis.get(tb)
}

const (
	clusterMasters = 3
	clusterSlots   = 16384
)

var cluster = instance{kind: redisNode}

// RedisCluster returns the URL of a Redis Cluster: of SESSIONSTORE_TEST_REDIS_CLUSTER, or
// of one that it starts from three masters.
func RedisCluster(tb testing.TB) string {
	tb.Helper()
	cluster.once.Do(func() { cluster.dsn, cluster.err = startCluster() })
	return cluster.get(tb)
}

func startCluster() (string, error) {
	if dsn := os.Getenv(redisNode.variable); dsn != "" {
		return dsn, nil
	}
	var nodes []string
	for range clusterMasters {
		address, err := redisNode.find()
		if err != nil {
			return "", err
		}
		nodes = append(nodes, address)
	}
	if err := joinCluster(nodes); err != nil {
		return "", fmt.Errorf("making a Redis Cluster for tests: %w", err)
	}
	query := patience()
	query["addr"] = nodes[1:]
	return "redis+cluster://" + nodes[0] + "?" + query.Encode(), nil
}

// joinCluster spreads the slots over the nodes, and makes them meet.
func joinCluster(nodes []string) error {
	deadline := time.Now().Add(startTimeout)
	conns := make([]*redisConn, len(nodes))
	for i, address := range nodes {
		c, err := dialRedis(address, deadline)
		if err != nil {
			return err
		}
		defer func() { _ = c.Close() }()
		conns[i] = c
		first, last := clusterSlots*i/len(nodes), clusterSlots*(i+1)/len(nodes)-1
		if _, err := c.do("CLUSTER ADDSLOTSRANGE %d %d", first, last); err != nil {
			return err
		}
		if _, err := c.do("CLUSTER SET-CONFIG-EPOCH %d", i+1); err != nil {
			return err
		}
	}
	for _, c := range conns[1:] {
		// Id, host:port@busport, flags, …
		self, err := c.do("CLUSTER NODES")
		if err != nil {
			return err
		}
		fields := strings.Fields(self)
		if len(fields) < 2 {
			return fmt.Errorf("CLUSTER NODES says %q", self)
		}
		_, bus, _ := strings.Cut(fields[1], "@")
		bus, _, _ = strings.Cut(bus, ",")
		if _, err := conns[0].do("CLUSTER MEET 127.0.0.1 %d %s", c.RemoteAddr().(*net.TCPAddr).Port, bus); err != nil {
			return err
		}
	}
	for _, c := range conns {
		for {
			info, err := c.do("CLUSTER INFO")
			if err != nil {
				return err
			}
			if strings.Contains(info, "cluster_state:ok") && strings.Contains(info, fmt.Sprintf("cluster_known_nodes:%d", len(nodes))) {
				break
			}
			if time.Now().After(deadline) {
				return fmt.Errorf("not ready after %v: %s", startTimeout, info)
			}
			time.Sleep(20 * time.Millisecond)
		}
	}
	return nil
}

// redisConn speaks as much of the protocol as joinCluster needs: this package is for the
// tests of other backends too, and brings them no driver.
type redisConn struct {
	net.Conn
	replies *bufio.Reader
}

func dialRedis(address string, deadline time.Time) (*redisConn, error) {
	dialer := net.Dialer{Deadline: deadline}
	c, err := dialer.DialContext(context.Background(), "tcp", address)
	if err != nil {
		return nil, err
	}
	if err := c.SetDeadline(deadline); err != nil {
		return nil, err
	}
	return &redisConn{c, bufio.NewReader(c)}, nil
}

// do sends a command and returns its reply, which is a line or a string.
func (c *redisConn) do(format string, args ...any) (string, error) {
	command := fmt.Sprintf(format, args...)
	if _, err := io.WriteString(c, command+"\r\n"); err != nil {
		return "", err
	}
	line, err := c.replies.ReadString('\n')
	if err != nil {
		return "", err
	}
	line = strings.TrimSuffix(line, "\r\n")
	switch {
	case strings.HasPrefix(line, "+"):
		return line[1:], nil
	case strings.HasPrefix(line, "$"):
		n, err := strconv.Atoi(line[1:])
		if err != nil || n < 0 {
			return "", fmt.Errorf("%s: got %q", command, line)
		}
		text := make([]byte, n+2)
		if _, err := io.ReadFull(c.replies, text); err != nil {
			return "", err
		}
		return string(text[:n]), nil
	}
	return "", fmt.Errorf("%s: got %q", command, line)
}
