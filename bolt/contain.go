package bolt

import (
	"fmt"
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
			err = fmt.Errorf("%w: %s: %v", errDamaged, db.Path(), p)
		}
	}()
	return f()
}
