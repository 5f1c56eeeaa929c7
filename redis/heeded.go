package redis

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	goredis "github.com/redis/go-redis/v9"
)

// failed is heeded for a call of the store. Where that could not reach a node of a cluster,
// another one may have taken its place, which the driver would find out up to a minute
// later: it asks for the nodes only when one of them says that it has moved its slots.
func (s *Store) failed(ctx context.Context, err error) error {
	var reply goredis.Error
	if cluster, ok := s.client.(*goredis.ClusterClient); ok && err != nil && !errors.As(err, &reply) {
		cluster.ReloadState(ctx)
	}
	return heeded(ctx, err)
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
