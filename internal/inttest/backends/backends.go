package backends

import (
	"context"
	"crypto/rand"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/sessionstore/sessionstore"
)

// Backend is a kind of store.
type Backend struct {
	Name string
	// Server says that a handle has connections, which can break.
	Server bool
	// Kills says that the server can be told to end connections; see Data.
	Kills bool
	// Resends says that the driver sends a command again whose reply it has lost.
	Resends bool

	data func(tb testing.TB) Data
}

// All are the five, the quick ones first.
func All() []Backend {
	return []Backend{
		{Name: "memory", data: memoryData},
		{Name: "bolt", data: boltData},
		{Name: "redis", Server: true, Kills: true, Resends: true, data: redisData},
		{Name: "postgres", Server: true, Kills: true, data: postgresData},
		{Name: "mongo", Server: true, data: mongoData},
	}
}

// Data is the place that handles share: nothing else is in it.
type Data interface {
	// Open returns a handle, which is closed with the test.
	Open(tb testing.TB, o Options) sessionstore.SessionStore

	// Kill has the server end the connections of all handles, where it can.
	Kill(ctx context.Context) error
}

// Options are the settings of a handle.
type Options struct {
	Namespace string
	Now       func() time.Time // nil: time.Now

	// Dial makes the connections; nil: as usual. An embedded store has none.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)

	// Once keeps the driver from sending a command again whose reply it has lost.
	Once bool
}

// New makes the data, which is removed with the test. It skips the test where there is no
// server, or fails it if CI=true; see package testenv.
func (b Backend) New(tb testing.TB) Data {
	tb.Helper()
	return b.data(tb)
}

// name is one that nobody else uses.
func name() string { return "test_" + strings.ToLower(rand.Text()) }

func (o Options) dial(ctx context.Context, network, address string) (net.Conn, error) {
	if o.Dial != nil {
		return o.Dial(ctx, network, address)
	}
	return new(net.Dialer).DialContext(ctx, network, address)
}

// closing closes a store with the test, before what lies under it.
func closing(tb testing.TB, s sessionstore.SessionStore, err error) sessionstore.SessionStore {
	tb.Helper()
	if err != nil {
		tb.Fatalf("New: got %v, want nil", err)
	}
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Errorf("Close: got %v, want nil", err)
		}
	})
	return s
}
