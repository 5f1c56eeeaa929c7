package crash

import (
	"context"
	"io"
	"net"
	"sync"
)

// Relay stands between a writer and its server. What a killed writer has sent is still on
// its way to the server, which may carry it out some time later: the relay tells when the
// server is done with it.
type Relay struct {
	listener net.Listener
	server   string
	accepts  sync.WaitGroup
	conns    sync.WaitGroup
}

// NewRelay starts a relay before the server at an address.
func NewRelay(server string) (*Relay, error) {
	l, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	r := &Relay{listener: l, server: server}
	r.accepts.Go(func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			r.conns.Go(func() { r.pass(client.(*net.TCPConn)) })
		}
	})
	return r, nil
}

// Addr is what the writer connects to.
func (r *Relay) Addr() string { return r.listener.Addr().String() }

// Close takes no more connections, and returns once the server has closed all there were:
// after the writer's end that is when it has carried out what it got.
func (r *Relay) Close() error {
	err := r.listener.Close()
	r.accepts.Wait()
	r.conns.Wait()
	return err
}

func (r *Relay) pass(client *net.TCPConn) {
	defer func() { _ = client.Close() }()
	conn, err := new(net.Dialer).DialContext(context.Background(), "tcp", r.server)
	if err != nil {
		return
	}
	server := conn.(*net.TCPConn)
	defer func() { _ = server.Close() }()
	var sent sync.WaitGroup
	sent.Go(func() {
		_, _ = io.Copy(server, client)
		_ = server.CloseWrite()
	})
	_, _ = io.Copy(client, server)
	_, _ = io.Copy(io.Discard, server) // for a client that is gone
	_ = client.Close()
	sent.Wait()
}
