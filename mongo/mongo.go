package mongo

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	driver "go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readconcern"
	"go.mongodb.org/mongo-driver/v2/mongo/readpref"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/internal/scope"
)

// Options are the settings of a store. The zero value is ready to use.
type Options struct {
	// Now is the store's clock; nil is time.Now. The server's clock is never asked. It is
	// read just before a command is sent. All processes that use a database should agree
	// about the time as well as NTP makes them.
	Now func() time.Time

	// Namespace separates applications in one database. Empty is a namespace like any
	// other; one that is not empty follows the rule of ids, see [sessionstore.CheckID].
	Namespace string
}

// Store is a [sessionstore.SessionStore] in a MongoDB database, or the view of one owner
// on it. It is safe for use by any number of goroutines and processes.
type Store struct {
	client *driver.Client
	heads  *driver.Collection
	blocks *driver.Collection
	meta   *driver.Collection
	opts   Options // complete
	shared *shared

	scope scope.Scope
	owned bool // by Open: Close disconnects the client
}

// shared is what a store and its views have learned.
type shared struct {
	ttls hints

	// whole is set once the server has refused to return parts of a document that it
	// updates, as FerretDB does.
	whole atomic.Bool
}

var (
	_ sessionstore.SessionStore = (*Store)(nil)
	_ sessionstore.Forker       = (*Store)(nil)
	_ sessionstore.Purger       = (*Store)(nil)
	_ sessionstore.Restorer     = (*Store)(nil)
	_ sessionstore.OwnerScoper  = (*Store)(nil)
)

// New returns a store in a database, whose client the caller disconnects after the store.
// Options may be nil. It does no I/O: the indexes are made by [Store.Migrate]. Errors:
// ErrInvalid.
//
// Any client will do. Its read concern, write concern, read preference, registry and BSON
// options are not used: the store's own are part of what it promises.
func New(database *driver.Database, opts *Options) (*Store, error) {
	var o Options
	if opts != nil {
		o = *opts
	}
	if database == nil {
		return nil, fmt.Errorf("mongo: new store: %w", invalid("database", "must not be nil"))
	}
	if err := scope.CheckNamespace(o.Namespace); err != nil {
		return nil, fmt.Errorf("mongo: new store: %w", err)
	}
	o.Now = scope.Clock(o.Now)
	journal := true
	settings := options.Collection().
		SetReadConcern(readconcern.Majority()).
		SetWriteConcern(&writeconcern.WriteConcern{W: writeconcern.WCMajority, Journal: &journal}).
		SetReadPreference(readpref.Primary()).
		SetRegistry(bson.NewRegistry()).
		SetBSONOptions(&options.BSONOptions{})
	return &Store{
		client: database.Client(),
		heads:  database.Collection(headsName, settings),
		blocks: database.Collection(blocksName, settings),
		meta:   database.Collection(metaName, settings),
		opts:   o,
		shared: &shared{},
		scope:  scope.New(),
	}, nil
}

// String names the namespace and nothing of the client, whose options have a password.
func (s *Store) String() string { return fmt.Sprintf("mongo store %q", s.opts.Namespace) }

// GoString is String: no verb shows the client.
func (s *Store) GoString() string { return s.String() }

// closeTimeout bounds the wait for connections in use when Close disconnects a client of
// Open. None is: the calls in flight have ended.
const closeTimeout = 10 * time.Second

// Close makes later calls fail with ErrStoreClosed and waits for those in flight. It
// disconnects the client only if Open made it. Closing a view closes that view only.
func (s *Store) Close() error {
	if !s.scope.Close() || !s.owned {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	if err := s.client.Disconnect(ctx); err != nil {
		return fmt.Errorf("mongo: close: %w", err)
	}
	return nil
}

// ForUser returns a view confined to one owner; see [sessionstore.ForUser]. The owner is
// part of the filter of each write. The view cannot purge.
func (s *Store) ForUser(userID string) sessionstore.SessionStore {
	viewed, err := s.scope.View(userID)
	if err != nil {
		return sessionstore.Unusable(fmt.Errorf("mongo: view: %w", err))
	}
	view := *s
	view.scope, view.owned = viewed, false
	return &view
}

// wrap adds the operation and the id to a method's error. An id that is too long to be one
// is cut.
func wrap(err *error, op, id string) {
	if *err == nil {
		return
	}
	if len(id) > sessionstore.MaxIDBytes {
		id = id[:sessionstore.MaxIDBytes]
	}
	*err = fmt.Errorf("mongo: %s %q: %w", op, id, *err)
}

func invalid(field, format string, args ...any) error {
	return &sessionstore.InvalidError{Field: field, Reason: fmt.Sprintf(format, args...)}
}
