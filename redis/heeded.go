package redis

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"
)

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
