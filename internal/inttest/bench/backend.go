package bench

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/sessionstore/sessionstore/internal/testenv"
)

// backend is a store that is measured.
type backend struct {
	name   string
	module string // of its driver, for its version

	// server finds or starts the server; nil for none.
	server func(testing.TB) string
	// scale is how much is stored on that server, see [Workloads]; nil for all.
	scale func(ctx context.Context, dsn string) (float64, error)
	// open makes a database for one workload, with nothing in it, on the server dsn.
	open func(ctx context.Context, dsn string) (*database, error)
}

// backends in the order of the table.
var backends = []backend{
	{name: "memory", open: openMemory},
	{name: "bolt", module: "go.etcd.io/bbolt", open: openBolt},
	{name: "redis", module: "github.com/redis/go-redis/v9", server: testenv.Redis, open: openRedis},
	{name: "postgres", module: "github.com/jackc/pgx/v5", server: testenv.Postgres, open: openPostgres},
	{name: "mongo", module: "go.mongodb.org/mongo-driver/v2", server: testenv.Mongo, scale: mongoScale, open: openMongo},
}

// database is the store and its floors, side by side.
type database struct {
	store  candidate
	floors []candidate
	server string // and its version

	// cpu asks for the processor time of this process: of work that waits for nothing, it is
	// all there is, with the garbage collector's part and without other processes'.
	cpu bool
	// trips is how often a request was sent and its answer waited for, by any of them.
	trips atomic.Int64
	// settle is called when new data was written; nil for nothing.
	settle func(context.Context) error

	closers []func() error // of what was opened, the last first
}

func (d *database) onClose(f func() error) { d.closers = append(d.closers, f) }

func (d *database) close() error {
	var errs []error
	for i := len(d.closers) - 1; i >= 0; i-- {
		errs = append(errs, d.closers[i]())
	}
	return errors.Join(errs...)
}
