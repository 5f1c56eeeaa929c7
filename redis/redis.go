package redis

import (
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/internal/scope"
)

// Options are the settings of a store. The zero value is ready to use.
type Options struct {
	// Now is the store's clock; nil is time.Now. The server's clock is never asked. It is
	// read just before a script is sent, so a session may expire while the script waits
	// its turn and still be found by it.
	Now func() time.Time

	// Namespace separates applications on one server. Empty is a namespace like any
	// other; one that is not empty follows the rule of ids, see [sessionstore.CheckID].
	Namespace string

	// Shards is into how many hash slots a namespace is spread; 0 is 16 for a client of a
	// cluster and 1 for any other, at most 1,000. The first store that is used
	// writes the number into the namespace: later ones take it from there, and one that
	// asks for another is ErrInvalid.
	Shards int

	// Logger is told, once a store, of a server that may evict keys; nil is
	// [slog.Default].
	Logger *slog.Logger
}

const (
	clusterShards = 16
	maxShards     = 1000
)

// Store is a [sessionstore.SessionStore] in Redis, or the view of one owner on it. It is
// safe for use by any number of goroutines.
type Store struct {
	client goredis.UniversalClient
	names  names
	opts   Options // complete, but for Shards
	space  *atomic.Pointer[space]

	scope scope.Scope
	owned bool // by Open: Close closes the client
}

var (
	_ sessionstore.SessionStore = (*Store)(nil)
	_ sessionstore.Forker       = (*Store)(nil)
	_ sessionstore.Purger       = (*Store)(nil)
	_ sessionstore.Restorer     = (*Store)(nil)
	_ sessionstore.OwnerScoper  = (*Store)(nil)
)

// New returns a store over a client, which the caller closes after the store. Options may
// be nil. It does no I/O: the first call of a method looks at the namespace's format.
// Errors: ErrInvalid.
//
// Set ContextTimeoutEnabled in the client's options, so that the deadline of a context
// ends the wait for a reply. The driver hears of a context that is cancelled only while it
// waits for a connection or to try again: a server that does not answer holds such a call
// for the client's ReadTimeout, by default 3 s.
func New(client goredis.UniversalClient, opts *Options) (*Store, error) {
	var o Options
	if opts != nil {
		o = *opts
	}
	if client == nil {
		return nil, fmt.Errorf("redis: new store: %w", invalid("client", "must not be nil"))
	}
	if err := scope.CheckNamespace(o.Namespace); err != nil {
		return nil, fmt.Errorf("redis: new store: %w", err)
	}
	if o.Shards < 0 || o.Shards > maxShards {
		return nil, fmt.Errorf("redis: new store: %w", invalid("shards", "is %d, not 0 to %d", o.Shards, maxShards))
	}
	o.Now = scope.Clock(o.Now)
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	return &Store{
		client: client,
		names:  newNames(o.Namespace),
		opts:   o,
		space:  new(atomic.Pointer[space]),
		scope:  scope.New(),
	}, nil
}

// String names the namespace and nothing of the client, whose options have a password.
func (s *Store) String() string { return fmt.Sprintf("redis store %q", s.opts.Namespace) }

// GoString is String: no verb shows the client.
func (s *Store) GoString() string { return s.String() }

// Close makes later calls fail with ErrStoreClosed and waits for those in flight. It
// closes the client only if Open made it. Closing a view closes that view only.
func (s *Store) Close() error {
	if !s.scope.Close() || !s.owned {
		return nil
	}
	if err := s.client.Close(); err != nil {
		return fmt.Errorf("redis: close: %w", err)
	}
	return nil
}

// ForUser returns a view confined to one owner; see [sessionstore.ForUser]. The owner is
// checked in the scripts. The view cannot purge.
func (s *Store) ForUser(userID string) sessionstore.SessionStore {
	viewed, err := s.scope.View(userID)
	if err != nil {
		return sessionstore.Unusable(fmt.Errorf("redis: view: %w", err))
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
	*err = fmt.Errorf("redis: %s %q: %w", op, id, *err)
}

func invalid(field, format string, args ...any) error {
	return &sessionstore.InvalidError{Field: field, Reason: fmt.Sprintf(format, args...)}
}
