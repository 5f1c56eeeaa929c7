package bolt

import (
	"context"
	"fmt"
	"runtime/debug"
	"time"

	"go.etcd.io/bbolt"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/internal/scope"
)

// Options are the settings of a store. The zero value is ready to use.
type Options struct {
	// Now is the store's clock; nil is time.Now. It is called within transactions, so
	// that a session has expired for all of a call or for none of it: it must be quick,
	// and must not call the store.
	Now func() time.Time

	// Namespace separates applications in one file. Empty is a namespace like any other;
	// one that is not empty follows the rule of ids, see [sessionstore.CheckID].
	Namespace string
}

// Store is a [sessionstore.SessionStore] in a bbolt database. It is safe for use by any
// number of goroutines, and any number of stores may share a database.
type Store struct {
	handle
	owned bool // by Open: Close closes the database
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

// New returns a store over an open database, which the caller closes after the store.
// It does no I/O: buckets are made by the first write. Errors: ErrInvalid.
//
// The durability of what the store acknowledges is that of db: with bbolt's NoSync it is
// the caller who gives it up.
func New(db *bbolt.DB, o *Options) (*Store, error) {
	if o == nil {
		o = &Options{}
	}
	if db == nil {
		return nil, &sessionstore.InvalidError{Field: "db", Reason: "must not be nil"}
	}
	if err := scope.CheckNamespace(o.Namespace); err != nil {
		return nil, err
	}
	names := newSpaceNames(o.Namespace)
	return &Store{handle: handle{
		db: db, writer: acquireWriter(db), names: &names, now: scope.Clock(o.Now), scope: scope.New(),
	}}, nil
}

// Close makes later calls fail with ErrStoreClosed and waits for those in flight. It
// closes the database only if Open opened it.
func (s *Store) Close() error {
	if !s.scope.Close() {
		return nil
	}
	s.writer.release()
	if !s.owned {
		return nil
	}
	if err := s.db.Close(); err != nil {
		return fmt.Errorf("bolt: close: %w", err)
	}
	return nil
}

// handle is what a store and the views of its users have in common.
type handle struct {
	db     *bbolt.DB
	writer *writer
	names  *spaceNames
	now    func() time.Time
	scope  scope.Scope
}

// view is a store confined to one owner.
type view struct{ handle }

// ForUser returns a view confined to one owner; see [sessionstore.ForUser]. The owner is
// checked within the transactions. The view has neither Backup nor PurgeExpired.
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

// read runs f in a read-only transaction. F decodes all it returns: no byte of the file
// is used after it.
func (h *handle) read(f func(sp *space, now time.Time) error) error {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	err := h.contained(func() error {
		return h.db.View(func(tx *bbolt.Tx) error {
			sp, err := openSpace(tx, h.names)
			if err != nil {
				return err
			}
			return f(sp, readClock(h.now))
		})
	})
	return err
}

// contained is the function of that name for a call that runs in its own goroutine.
func (h *handle) contained(f func() error) error {
	defer func() {
		if p := recover(); p != nil {
			if c, ok := p.(*callerPanic); ok {
				p = c.value
			}
			panic(p)
		}
	}()
	return contained(h.db, f)
}

// write runs plan in a write transaction, which it may share with others; see operation.
func (h *handle) write(ctx context.Context, plan func(sp *space, now time.Time) (func() error, error)) error {
	o := &operation{}
	o.plan = func(tx *bbolt.Tx) (func() error, error) {
		sp, err := openSpace(tx, h.names)
		if err != nil {
			return nil, err
		}
		write, err := plan(sp, readClock(h.now))
		o.size = sp.size
		if err != nil || write == nil {
			return nil, err
		}
		return func() error {
			if err := sp.create(); err != nil {
				return err
			}
			return write()
		}, nil
	}
	return h.writer.do(ctx, o)
}

// failed wraps what a method returns, once. Ids are quoted up to 80 characters: one that
// is refused may be of any length. A new session may have none.
func failed(operation, id string, err error) error {
	if id == "" {
		return fmt.Errorf("bolt: %s: %w", operation, err)
	}
	return fmt.Errorf("bolt: %s %.80q: %w", operation, id, err)
}
