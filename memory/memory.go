package memory

import (
	"context"
	"fmt"
	"net/url"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/internal/scope"
)

// DB is the data that stores share. It is safe for use by any number of stores.
type DB struct {
	mu     sync.Mutex
	spaces map[string]*space
}

// NewDB returns an empty DB.
func NewDB() *DB {
	return &DB{spaces: map[string]*space{}}
}

func (db *DB) space(namespace string) *space {
	db.mu.Lock()
	defer db.mu.Unlock()
	sp := db.spaces[namespace]
	if sp == nil {
		sp = newSpace()
		db.spaces[namespace] = sp
	}
	return sp
}

// Options are the settings of a store. The zero value is a private, empty store.
type Options struct {
	// DB is the data, as other stores of the process may see it too. Nil: a private one.
	DB *DB

	// Namespace separates applications (or tests) that share a DB: each sees its own
	// sessions only. Empty is a namespace like any other; see [sessionstore.CheckID] for
	// what may be in it.
	Namespace string

	// Now is the store's clock. Nil: time.Now. It is called while locks are held, so it
	// must not call the store.
	Now func() time.Time
}

// Store is a [sessionstore.SessionStore] in memory, or the view of one owner on it.
type Store struct {
	space *space
	now   func() time.Time

	scope scope.Scope
}

var (
	_ sessionstore.SessionStore = (*Store)(nil)
	_ sessionstore.Forker       = (*Store)(nil)
	_ sessionstore.Purger       = (*Store)(nil)
	_ sessionstore.Restorer     = (*Store)(nil)
	_ sessionstore.OwnerScoper  = (*Store)(nil)
)

// New returns a store. Options may be nil. Errors: ErrInvalid (the namespace).
func New(opts *Options) (*Store, error) {
	var o Options
	if opts != nil {
		o = *opts
	}
	if err := scope.CheckNamespace(o.Namespace); err != nil {
		return nil, fmt.Errorf("memory: new store: %w", err)
	}
	if o.DB == nil {
		o.DB = NewDB()
	}
	return &Store{space: o.DB.space(o.Namespace), now: scope.Clock(o.Now), scope: scope.New()}, nil
}

func init() {
	sessionstore.Register("memory", open)
}

// open is the Opener of "memory:": each call gives an empty store of its own. Of the
// parameters that Open documents, timeout and migrate change nothing here, but must be
// what bolt takes: a URL that is wrong shows it before it is used with another store.
func open(_ context.Context, rawURL string) (sessionstore.SessionStore, error) {
	u, err := sessionstore.ParseURL(rawURL)
	if err != nil {
		return nil, err
	}
	if u.Opaque != "" || u.Host != "" || u.Path != "" || u.User != nil {
		return nil, &sessionstore.InvalidError{Field: "url", Reason: `"memory:" takes no host or path`}
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return nil, &sessionstore.InvalidError{Field: "url", Reason: "the query does not parse"}
	}
	var o Options
	for key, values := range query {
		v := values[len(values)-1]
		reason := ""
		switch key {
		case "namespace":
			o.Namespace = v
		case "timeout":
			if d, err := time.ParseDuration(v); err != nil || d < 0 {
				reason = "is not a duration such as 1s"
			}
		case "migrate":
			if v != "off" {
				reason = "takes off and nothing else"
			}
		default:
			return nil, &sessionstore.InvalidError{Field: "url", Reason: fmt.Sprintf("unknown parameter %.64q", key)}
		}
		if reason != "" {
			return nil, &sessionstore.InvalidError{Field: key, Reason: reason}
		}
	}
	store, err := New(&o)
	if err != nil {
		return nil, err
	}
	return store, nil
}

// Close makes later calls fail with ErrStoreClosed and waits for those in flight. The
// data belongs to the DB and stays, for as long as something refers to it. Closing a view
// closes that view only.
func (s *Store) Close() error {
	s.scope.Close()
	return nil
}

// wrap adds the operation and the id to a method's error. An id that is too long to be one
// is cut.
func wrap(err *error, op, id string) {
	if *err == nil {
		return
	}
	if n := sessionstore.MaxIDBytes; len(id) > n {
		for n > 0 && !utf8.RuneStart(id[n]) {
			n--
		}
		id = id[:n]
	}
	*err = fmt.Errorf("memory: %s %q: %w", op, id, *err)
}
