package redis

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/sessionstore/sessionstore"
)

// enter begins a call on the store and, for a view, on those that it is a view of. Only the
// last guard is given the context: that any of them is closed comes before its error.
func (s *Store) enter(ctx context.Context) error {
	last := len(s.guards) - 1
	for i, g := range s.guards {
		c := context.Background()
		if i == last {
			c = ctx
		}
		if err := g.Enter(c); err != nil {
			leave(s.guards[:i])
			return err
		}
	}
	return nil
}

func (s *Store) leave() { leave(s.guards) }

func leave(guards []*sessionstore.Guard) {
	for _, g := range guards {
		g.Leave()
	}
}

// heeded gives an error of the driver the context's own, if that has ended. The driver
// takes a context's deadline for the connection's, whose error is not the context's and
// may come a moment earlier.
func heeded(ctx context.Context, err error) error {
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	if ended := ctx.Err(); ended != nil {
		return fmt.Errorf("%w: %w", ended, err)
	}
	if deadline, ok := ctx.Deadline(); ok && errors.Is(err, os.ErrDeadlineExceeded) && !time.Now().Before(deadline) {
		return fmt.Errorf("%w: %w", context.DeadlineExceeded, err)
	}
	return err
}
