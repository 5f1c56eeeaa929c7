package mongo

import (
	"context"
	"errors"
	"fmt"
	"time"

	driver "go.mongodb.org/mongo-driver/v2/mongo"
)

// enter begins a call, which s.scope.Leave ends. A driver's session in the context is put
// aside: in a transaction of the caller's, what the call has acknowledged would be undone by
// an abort, and none of it could be seen by others until then.
func (s *Store) enter(ctx context.Context) (context.Context, error) {
	if err := s.scope.Enter(ctx); err != nil {
		return ctx, err
	}
	if driver.SessionFromContext(ctx) != nil {
		ctx = driver.NewSessionContext(ctx, nil)
	}
	return ctx, nil
}

// heeded gives an error of the driver the context's own, if that has ended: the driver
// reports some of those as a timeout of its own.
func heeded(ctx context.Context, err error) error {
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	if ended := ctx.Err(); ended != nil {
		return fmt.Errorf("%w: %w", ended, err)
	}
	if deadline, ok := ctx.Deadline(); ok && driver.IsTimeout(err) && !time.Now().Before(deadline) {
		return fmt.Errorf("%w: %w", context.DeadlineExceeded, err)
	}
	return err
}
