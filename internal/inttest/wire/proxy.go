package wire

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"
)

// Kind is what goes wrong.
type Kind string

// The kinds of faults. A connection that is cut is closed to both sides.
const (
	CutRequest  Kind = "cut before the request"      // the server does not get it
	HalfRequest Kind = "cut in the request"          // the server gets half of it
	CutReply    Kind = "cut before the reply"        // the server has answered; the client does not get it
	HalfReply   Kind = "cut in the reply"            // the client gets half of it
	LoseRequest Kind = "silence before the request"  // a partition: from the request on, nothing passes
	LoseReply   Kind = "silence before the reply"    // a partition: from the reply on, nothing passes
	LateRequest Kind = "silence, and a late request" // as LoseRequest, but the end of the partition delivers it
)

// Fault is what goes wrong, and when.
type Fault struct {
	Kind Kind
	Turn int  // from 1: the turn that it happens in
	Down bool // after a cut, no connection works until Heal
}

// Proxy passes bytes between the clients of a listener and a server.
type Proxy struct {
	listener net.Listener
	server   string
	skips    func(request []byte) bool
	relays   sync.WaitGroup

	mu      sync.Mutex
	links   map[*link]struct{}
	fault   Fault // Turn 0: none
	turns   int
	fired   bool
	replied chan struct{} // see Replied
	healed  chan struct{} // closed when what is held may go on; nil: nothing is held
	down    bool
	slow    time.Duration // before each half of what is passed
	every   int           // turns; 0: never
	cuts    int           // that every has made
	closed  bool
}

// NewProxy starts a proxy before the server at an address. Requests that skips reports are
// in no turn: a driver sends them when it likes. Nil skips none.
func NewProxy(server string, skips func(request []byte) bool) (*Proxy, error) {
	l, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	if skips == nil {
		skips = func([]byte) bool { return false }
	}
	p := &Proxy{listener: l, server: server, skips: skips, links: map[*link]struct{}{}}
	p.relays.Go(p.accept)
	return p, nil
}

// Addr is what clients connect to.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// Close closes all connections, and waits for the goroutines of the proxy.
func (p *Proxy) Close() error {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.Heal()
	err := p.listener.Close()
	p.Cut()
	p.relays.Wait()
	return err
}

// Arm lets a fault happen in a later turn; the next one is the first.
func (p *Proxy) Arm(f Fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fault, p.turns, p.fired, p.replied = f, 0, false, make(chan struct{})
}

// Heal disarms the fault and ends what it does. It reports whether it has happened.
func (p *Proxy) Heal() (fired bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.healed != nil {
		if p.fault.Kind != LateRequest {
			// What was on its way is lost with the connections.
			for l := range p.links {
				l.cut()
			}
		}
		close(p.healed)
		p.healed = nil
	}
	fired, p.fired = p.fired, false
	p.fault, p.down = Fault{}, false
	return fired
}

// Partition lets nothing pass until Heal. Connections stay open, and new ones are accepted.
func (p *Proxy) Partition() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hold()
}

func (p *Proxy) hold() {
	if p.healed == nil {
		p.healed = make(chan struct{})
	}
}

// Slow delays what passes, and passes it in halves; 0 ends that.
func (p *Proxy) Slow(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.slow = d
}

// Cut closes all connections.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.links {
		l.cut()
	}
}

// cutKinds are the faults that Every makes in turn.
var cutKinds = []Kind{CutRequest, CutReply, HalfRequest, HalfReply}

// Every cuts a connection in each nth turn, in all the ways there are; 0 ends that. It
// returns how many it has cut.
func (p *Proxy) Every(n int) (cuts int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.every = n
	return p.cuts
}

// Conns is how many connections clients have open.
func (p *Proxy) Conns() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.links)
}

// Replied is closed once the server has answered the request whose reply LoseReply keeps,
// or has closed the connection instead.
func (p *Proxy) Replied() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.replied
}

// Fired reports whether the fault has happened.
func (p *Proxy) Fired() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.fired
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.relays.Go(func() { p.relay(client) })
	}
}

// link is a connection of a client and the one to the server that belongs to it.
type link struct {
	client, server net.Conn
	asked          bool          // the client has sent since the server did
	doomed         Kind          // what happens to the next reply; "": nothing
	silent         chan struct{} // closed when no more comes from the server
}

func (l *link) cut() { _, _ = l.client.Close(), l.server.Close() }

func (p *Proxy) relay(client net.Conn) {
	server, err := new(net.Dialer).DialContext(context.Background(), "tcp", p.server)
	if err != nil {
		_ = client.Close()
		return
	}
	l := &link{client: client, server: server, silent: make(chan struct{})}
	p.mu.Lock()
	if refused := p.down || p.closed; refused {
		l.cut()
	}
	p.links[l] = struct{}{}
	p.mu.Unlock()
	var ways sync.WaitGroup
	ways.Go(func() {
		pump(l, server, client, p.request)
		p.linger(l)
		l.cut()
	})
	ways.Go(func() {
		pump(l, client, server, p.reply)
		close(l.silent)
		l.cut()
	})
	ways.Wait()
	p.mu.Lock()
	delete(p.links, l)
	p.mu.Unlock()
}

var errCut = errors.New("cut")

// linger keeps the connection to the server when the client has gone, if there is a reply
// to come that LoseReply is for: the server is to carry out the request, or to see that
// the rest of it does not come.
func (p *Proxy) linger(l *link) {
	p.mu.Lock()
	replied, wait := p.replied, l.doomed == LoseReply
	p.mu.Unlock()
	if !wait {
		return
	}
	_ = l.server.(*net.TCPConn).CloseWrite()
	select {
	case <-replied:
	case <-l.silent:
		p.mu.Lock()
		defer p.mu.Unlock()
		if l.doomed == LoseReply {
			l.doomed = ""
			close(p.replied)
		}
	}
}

// pump reads and passes on what judge lets through, until one of the two is closed.
func pump(l *link, to, from net.Conn, judge func(l *link, chunk []byte) verdict) {
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			if judge(l, buf[:n]).pass(to, buf[:n]) != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// verdict is what becomes of a chunk.
type verdict struct {
	first int             // bytes that are passed on
	cut   bool            // then the connection is closed
	wait  <-chan struct{} // before anything; nil: not at all
	lost  bool            // after the wait, the connection is closed
	slow  time.Duration
}

func (v verdict) pass(to net.Conn, chunk []byte) error {
	if v.wait != nil {
		<-v.wait
		if v.lost {
			return errCut
		}
	}
	chunk = chunk[:v.first]
	if half := len(chunk) / 2; v.slow > 0 && half > 0 {
		time.Sleep(v.slow)
		if _, err := to.Write(chunk[:half]); err != nil {
			return err
		}
		time.Sleep(v.slow)
		chunk = chunk[half:]
	}
	if _, err := to.Write(chunk); err != nil {
		return err
	}
	if v.cut {
		return errCut
	}
	return nil
}

// request judges what a client sends.
func (p *Proxy) request(l *link, chunk []byte) verdict {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := Kind("")
	if !l.asked && !p.skips(chunk) {
		l.asked = true
		if p.turns++; p.turns == p.fault.Turn && !p.fired {
			p.fired, now = true, p.fault.Kind
		}
		if p.every > 0 && p.turns%p.every == 0 {
			now = cutKinds[p.cuts%len(cutKinds)]
			p.cuts++
		}
	}
	switch now {
	case CutRequest, HalfRequest:
		p.takeDown(l)
		v := verdict{cut: true}
		if now == HalfRequest {
			v.first = len(chunk) / 2
		}
		return v
	case CutReply, HalfReply, LoseReply:
		l.doomed = now
	case LoseRequest, LateRequest:
		p.hold()
	}
	return p.passing(chunk)
}

// reply judges what the server sends.
func (p *Proxy) reply(l *link, chunk []byte) verdict {
	p.mu.Lock()
	defer p.mu.Unlock()
	l.asked = false
	now := l.doomed
	l.doomed = ""
	switch now {
	case CutReply, HalfReply:
		p.takeDown(l)
		v := verdict{cut: true}
		if now == HalfReply {
			v.first = len(chunk) / 2
		}
		return v
	case LoseReply:
		p.hold()
		close(p.replied)
	}
	return p.passing(chunk)
}

// passing is the verdict on a chunk that nothing happens to by itself.
func (p *Proxy) passing(chunk []byte) verdict {
	v := verdict{first: len(chunk), slow: p.slow}
	if p.healed != nil {
		v.wait, v.lost = p.healed, p.fault.Kind != LateRequest
	}
	return v
}

// takeDown ends all connections but the one that the fault happens on, if they are to.
func (p *Proxy) takeDown(but *link) {
	if !p.fault.Down {
		return
	}
	p.down = true
	for l := range p.links {
		if l != but {
			l.cut()
		}
	}
}
