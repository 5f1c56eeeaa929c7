package postgres

import (
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/internal/scope"
)

// DefaultSchema is the schema of the tables where Options.Schema is empty.
const DefaultSchema = "sessionstore"

// Options are the settings of a store. The zero value is ready to use.
type Options struct {
	// Now is the store's clock; nil is time.Now. All processes that use a database should
	// agree about the time as well as NTP makes them: the rule for expiry is this clock,
	// never the server's.
	Now func() time.Time

	// Namespace separates applications in one schema. Empty is a namespace like any other;
	// one that is not empty follows the rule of ids, see [sessionstore.CheckID].
	Namespace string

	// Schema is the name of the schema that the tables lie in; empty is DefaultSchema. It
	// follows the rule of ids, and has at most 63 bytes.
	Schema string
}

// Store is a [sessionstore.SessionStore] in a PostgreSQL database. It is safe for use by
// any number of goroutines and processes.
type Store struct {
	handle
	owned bool // by Open: Close closes the pool
}

var (
	_ sessionstore.SessionStore = (*Store)(nil)
	_ sessionstore.Forker       = (*Store)(nil)
	_ sessionstore.Purger       = (*Store)(nil)
	_ sessionstore.Restorer     = (*Store)(nil)
	_ sessionstore.OwnerScoper  = (*Store)(nil)

	_ sessionstore.SessionStore = (*view)(nil)
	_ sessionstore.Forker       = (*view)(nil)
	_ sessionstore.Purger       = (*view)(nil)
	_ sessionstore.Restorer     = (*view)(nil)
	_ sessionstore.OwnerScoper  = (*view)(nil)
)

// New returns a store over a pool, which the caller closes after the store. It does no
// I/O: the tables are made by [Store.Migrate]. Errors: ErrInvalid.
//
// Any pool will do: with one connection, behind pgbouncer in transaction mode, with any
// query execution mode, default isolation level and synchronous_commit. The store leaves
// no state in a session of the server, and needs none.
func New(pool *pgxpool.Pool, o *Options) (*Store, error) {
	if o == nil {
		o = &Options{}
	}
	if pool == nil {
		return nil, invalid("pool", "must not be nil")
	}
	if err := scope.CheckNamespace(o.Namespace); err != nil {
		return nil, err
	}
	schema := o.Schema
	if schema == "" {
		schema = DefaultSchema
	}
	if err := scope.CheckID("schema", schema); err != nil {
		return nil, err
	}
	if len(schema) > maxIdentifier {
		return nil, invalid("schema", "is %d bytes long, PostgreSQL allows %d", len(schema), maxIdentifier)
	}
	return &Store{handle: handle{
		pool: pool, schema: schema, namespace: o.Namespace, sql: newStatements(schema),
		now: scope.Clock(o.Now), scope: scope.New(), lines: newAppendLines(),
	}}, nil
}

// maxIdentifier is how much of a name PostgreSQL keeps, in bytes: it cuts the rest off.
const maxIdentifier = 63

// Close makes later calls fail with ErrStoreClosed and waits for those in flight. It
// closes the pool only if Open made it.
func (s *Store) Close() error {
	if s.scope.Close() && s.owned {
		s.pool.Close()
	}
	return nil
}

// handle is what a store and the views of its users have in common.
type handle struct {
	pool      *pgxpool.Pool
	schema    string
	namespace string
	sql       *statements
	now       func() time.Time
	scope     scope.Scope
	lines     *appendLines // the same for all views
}

// view is a store confined to one owner.
type view struct{ handle }

// ForUser returns a view confined to one owner; see [sessionstore.ForUser]. The owner is
// checked by the statements themselves. The view cannot purge.
func (h *handle) ForUser(userID string) sessionstore.SessionStore {
	viewed, err := h.scope.View(userID)
	if err != nil {
		return sessionstore.Unusable(err)
	}
	v := &view{*h}
	v.scope = viewed
	return v
}

// Close closes the view, not the store.
func (v *view) Close() error {
	v.scope.Close()
	return nil
}

// clock reads the store's clock. It is read right before the statement that needs it.
func (h *handle) clock() time.Time { return scope.Read(h.now) }

// failed wraps what a method returns, once. Ids are quoted up to 80 characters: one that
// is refused may be of any length.
func failed(operation, id string, err error) error {
	return fmt.Errorf("postgres: %s %.80q: %w", operation, id, err)
}

func invalid(field, format string, args ...any) error {
	return &sessionstore.InvalidError{Field: field, Reason: fmt.Sprintf(format, args...)}
}
