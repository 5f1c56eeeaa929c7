package postgres_test

import (
	"context"
	"net"
	"sync/atomic"

	"github.com/jackc/pgx/v5/pgxpool"
)

// wire watches the connections of a pool. The driver writes once for each round trip.
type wire struct {
	trips atomic.Int64

	// swallow, once set, lets the next request through and the answer not: the connection
	// ends as soon as the server has begun to answer.
	swallow atomic.Bool
}

func (w *wire) tune(c *pgxpool.Config) {
	dial := c.ConnConfig.DialFunc
	c.ConnConfig.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return &watched{Conn: conn, wire: w}, nil
	}
}

type watched struct {
	net.Conn
	wire *wire
	sent atomic.Bool // a request whose answer is to be swallowed
}

func (c *watched) Write(b []byte) (int, error) {
	c.wire.trips.Add(1)
	if c.wire.swallow.CompareAndSwap(true, false) {
		c.sent.Store(true)
	}
	return c.Conn.Write(b)
}

func (c *watched) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if c.sent.Load() {
		_ = c.Close()
		return 0, net.ErrClosed
	}
	return n, err
}
