package linear

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"

	"github.com/sessionstore/sessionstore/storetest"
)

// Dice is a source of chance for several goroutines.
type Dice struct {
	mu  sync.Mutex
	rng *rand.Rand
}

// NewDice returns dice that always roll the same for the same seed, if they are asked in
// the same order.
func NewDice(seed uint64) *Dice { return &Dice{rng: rand.New(rand.NewPCG(seed, 0))} }

// Roll reports true with the chance p.
func (d *Dice) Roll(p float64) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.rng.Float64() < p
}

// Lossy is for storetest.NewFaulty: so many of the calls fail, half of them after they took
// place.
func (d *Dice) Lossy(p float64) func(storetest.Call) storetest.Fault {
	return func(storetest.Call) storetest.Fault {
		switch {
		case !d.Roll(p):
			return storetest.Pass
		case d.Roll(0.5):
			return storetest.FailBefore
		}
		return storetest.FailAfter
	}
}

// Cutter makes connections that break: before something is sent, in the midst of it, when
// it was sent, or when an answer is there.
type Cutter struct {
	Dice   *Dice
	Chance float64 // of each read and write
	Cuts   atomic.Int64

	calm atomic.Bool
}

// Calm ends the cutting, so that what was kept can be looked at.
func (c *Cutter) Calm() { c.calm.Store(true) }

// Rage begins it again.
func (c *Cutter) Rage() { c.calm.Store(false) }

func (c *Cutter) cuts() bool {
	if c.calm.Load() || !c.Dice.Roll(c.Chance) {
		return false
	}
	c.Cuts.Add(1)
	return true
}

// Dial makes a connection that breaks.
func (c *Cutter) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return &brittle{conn, c}, nil
}

type brittle struct {
	net.Conn
	by *Cutter
}

var errCut = errors.New("linear: the connection was cut on purpose")

func (b *brittle) Write(p []byte) (int, error) {
	if !b.by.cuts() {
		return b.Conn.Write(p)
	}
	n := 0
	switch {
	case b.by.Dice.Roll(0.6):
		n, _ = b.Conn.Write(p) // all of it: the answer will be lost
	case b.by.Dice.Roll(0.5):
		n, _ = b.Conn.Write(p[:len(p)/2])
	}
	_ = b.Close()
	return n, &net.OpError{Op: "write", Net: "tcp", Err: errCut}
}

func (b *brittle) Read(p []byte) (int, error) {
	n, err := b.Conn.Read(p)
	if err == nil && b.by.cuts() {
		_ = b.Close()
		return 0, &net.OpError{Op: "read", Net: "tcp", Err: errCut}
	}
	return n, err
}
