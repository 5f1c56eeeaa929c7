package postgres

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// What the server says, by SQLSTATE.
const (
	codeUniqueViolation      = "23505"
	codeSerializationFailure = "40001" // only where the default isolation is above READ COMMITTED
	codeDeadlock             = "40P01"
	codeUndefinedTable       = "42P01"
	codeUndefinedSchema      = "3F000"
)

// messageIDs is the constraint that makes a message id unique in its session.
const messageIDs = "messages_sid_id_key"

// maxPause bounds the wait before a transaction is run again, which is random: those
// that got into each other's way are not to do so again.
const maxPause = 20 * time.Millisecond

// retry runs f, which is one transaction, until it is not turned down for what others
// did at the same time: then nothing of it was written. Each time that happens another
// transaction went through, so this ends, or the context does.
func retry(ctx context.Context, f func() error) error {
	for pause := time.Millisecond; ; pause = min(2*pause, maxPause) {
		err := f()
		if !crossed(err) {
			return ended(ctx, explained(err))
		}
		wait := time.NewTimer(rand.N(pause))
		select {
		case <-wait.C:
		case <-ctx.Done():
			wait.Stop()
			return ctx.Err()
		}
	}
}

func crossed(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && (pg.Code == codeSerializationFailure || pg.Code == codeDeadlock)
}

// ended makes sure that an error which the end of the context caused says so: the driver
// may report what that did to the connection.
func ended(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil && !errors.Is(err, ctx.Err()) {
		return errors.Join(ctx.Err(), err)
	}
	return err
}

// explained adds what a server's message does not say, and takes away a password: an
// error of connecting holds the whole configuration of the connection.
func explained(err error) error {
	var connect *pgconn.ConnectError
	if errors.As(err, &connect) {
		return fmt.Errorf("connect: %w", connect.Unwrap())
	}
	var pg *pgconn.PgError
	if errors.As(err, &pg) && (pg.Code == codeUndefinedTable || pg.Code == codeUndefinedSchema) {
		return fmt.Errorf("%w (the tables are made by Migrate)", err)
	}
	return err
}

// violates reports whether err is that of the named constraint.
func violates(err error, constraint string) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && pg.Code == codeUniqueViolation && pg.ConstraintName == constraint
}

// transact runs queued statements in one round trip and one transaction, in which each
// sees what was committed before it began, unless the default isolation is higher.
// There is nothing to roll back: the server does that when one of them fails.
func (h *handle) transact(ctx context.Context, b *pgx.Batch) error {
	return h.pool.SendBatch(ctx, b).Close()
}
