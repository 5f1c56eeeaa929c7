// Package mongoproxy stands before a server that speaks MongoDB's protocol, but is not
// atomic on single documents as MongoDB is, and makes it so: one command that may write
// is with the server at a time. What reads passes freely.
//
// It knows as much of the protocol as that takes, and gives up a connection that uses
// more: compression, writes that want no reply, replies that come in several messages.
package mongoproxy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"sync"
)

// Proxy passes messages between the clients of a listener and one server.
type Proxy struct {
	// Server is the address of the server, for Dial.
	Server string
	// Log gets a line for each connection that is given up; nil for none.
	Log *slog.Logger

	// writing is held from when a write is sent until its whole reply is here, even if
	// the client has gone meanwhile: the server may still be busy with it.
	writing sync.Mutex
}

// Serve accepts connections until ctx ends, or the listener fails. It closes the listener
// and all connections before it returns.
func (p *Proxy) Serve(ctx context.Context, l net.Listener) error {
	ctx, cancel := context.WithCancel(ctx)
	var conns sync.WaitGroup
	defer conns.Wait()
	defer cancel()
	defer context.AfterFunc(ctx, func() { _ = l.Close() })()
	for {
		client, err := l.Accept()
		if err != nil {
			_ = l.Close()
			if ctx.Err() != nil {
				return nil
			}
			return fmt.Errorf("mongoproxy: %w", err)
		}
		conns.Go(func() {
			defer func() { _ = client.Close() }()
			if err := p.relay(ctx, client); err != nil && ctx.Err() == nil && p.Log != nil {
				p.Log.Warn("mongoproxy: gave up a connection", "client", client.RemoteAddr(), "err", err)
			}
		})
	}
}

// relay passes requests to the server and their replies back until the client is done.
func (p *Proxy) relay(ctx context.Context, client net.Conn) error {
	server, err := new(net.Dialer).DialContext(ctx, "tcp", p.Server)
	if err != nil {
		return err
	}
	defer func() { _ = server.Close() }()
	defer context.AfterFunc(ctx, func() { _, _ = client.Close(), server.Close() })()
	var request, reply message
	for {
		switch err := request.read(client); {
		case errors.Is(err, io.EOF), errors.Is(err, net.ErrClosed):
			return nil
		case err != nil:
			return fmt.Errorf("reading a request: %w", err)
		}
		command, err := request.command()
		if err != nil {
			return err
		}
		if err := p.exchange(server, command, request, &reply); err != nil {
			return fmt.Errorf("%s: %w", command, err)
		}
		if _, err := client.Write(reply); err != nil {
			return nil // it has gone, and what it asked for is done
		}
	}
}

// exchange sends a request and reads its reply.
func (p *Proxy) exchange(server net.Conn, command string, request message, reply *message) error {
	if !readOnly[command] {
		p.writing.Lock()
		defer p.writing.Unlock()
	}
	if _, err := server.Write(request); err != nil {
		return err
	}
	if err := reply.read(server); err != nil {
		return fmt.Errorf("reading the reply: %w", err)
	}
	return reply.single()
}

// readOnly are the commands that need not wait. One that is not known may write.
var readOnly = map[string]bool{
	"aggregate":       true, // FerretDB has neither $out nor $merge
	"buildInfo":       true,
	"collStats":       true,
	"count":           true,
	"dbStats":         true,
	"distinct":        true,
	"endSessions":     true,
	"explain":         true,
	"find":            true,
	"getMore":         true,
	"getParameter":    true,
	"hello":           true,
	"isMaster":        true,
	"ismaster":        true,
	"killCursors":     true,
	"listCollections": true,
	"listDatabases":   true,
	"listIndexes":     true,
	"ping":            true,
	"serverStatus":    true,
}
