package linear

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Clock is a store's clock that stands still but when it is told to jump, and knows which
// values it had between two stamps. It gives the stamps, too.
type Clock struct {
	stamp atomic.Int64
	now   atomic.Int64 // microseconds since Epoch

	mu    sync.Mutex
	jumps []jump
}

// jump is the time at which the clock was set: somewhere between two stamps.
type jump struct{ before, after, to int64 }

// NewClock returns a clock that stands at Epoch.
func NewClock() *Clock { return &Clock{jumps: []jump{{}}} }

// Now is the clock for a store.
func (c *Clock) Now() time.Time { return Epoch.Add(time.Duration(c.now.Load()) * time.Microsecond) }

// Jump sets the clock to so much after Epoch.
func (c *Clock) Jump(to time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	j := jump{before: c.Stamp(), to: to.Microseconds()}
	c.now.Store(j.to)
	j.after = c.Stamp()
	c.jumps = append(c.jumps, j)
}

// Stamp returns a number greater than any that it has returned.
func (c *Clock) Stamp() int64 { return c.stamp.Add(1) }

// between returns the values that a call may have read from start to end, each once.
func (c *Clock) between(start, end int64) []int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []int64
	for i, j := range c.jumps {
		over := i+1 < len(c.jumps) && c.jumps[i+1].after < start
		if j.before <= end && !over && !slices.Contains(out, j.to) {
			out = append(out, j.to)
		}
	}
	return out
}
