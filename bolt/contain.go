package bolt

import (
	"fmt"
	"runtime"
	"time"

	"go.etcd.io/bbolt"
)

// callerPanic carries a panic of the caller's own code (Options.Now) out of a
// transaction, to the call whose clock it was.
type callerPanic struct{ value any }

// readClock calls the clock that the caller gave.
func readClock(now func() time.Time) time.Time {
	defer func() {
		if p := recover(); p != nil {
			panic(&callerPanic{p})
		}
	}()
	return now()
}

// contained runs f and returns a panic of it as an error: bbolt panics on pages that are
// not what they should be. With debug.SetPanicOnFault, which the caller sets, that holds
// for a file that has become shorter than its pages, too. A callerPanic goes on.
func contained(db *bbolt.DB, f func() error) (err error) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case *callerPanic:
			panic(p)
		default:
			err = fmt.Errorf("%w: %s: %w", errDamaged, db.Path(), pageError{p})
		}
	}()
	return f()
}

// pageError is what bbolt, or the memory map, panicked with on reading a page.
type pageError struct{ panicked any }

// Error has no words of Go's runtime: they tell of indices and addresses.
func (e pageError) Error() string {
	if _, ok := e.panicked.(runtime.Error); ok {
		return "a page cannot be read"
	}
	return fmt.Sprint(e.panicked)
}

func (e pageError) Unwrap() error {
	err, _ := e.panicked.(error)
	return err
}
