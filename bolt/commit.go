package bolt

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"

	"go.etcd.io/bbolt"
)

// A write transaction takes operations until it has this many, or this many bytes of
// messages.
const (
	maxBatch      = 256
	maxBatchBytes = 16 << 20
)

// operation is one write of one call. Plan reads, and makes every refusal; what it
// returns writes, and is nil when there is nothing to write. So an operation that is
// refused has written nothing, and the rest of its transaction goes on.
//
// Both run in the transaction of whichever caller leads, and may run again in another
// one after a rollback: they must not keep state but for the result.
type operation struct {
	plan func(tx *bbolt.Tx) (write func() error, err error)
	size int // about how many bytes it writes, known once it is planned

	done  chan struct{} // closed when err is final
	err   error
	panic *callerPanic
}

func (o *operation) finished() bool {
	select {
	case <-o.done:
		return true
	default:
		return false
	}
}

// writer groups the writes to one database. Callers line up; who gets the turn leads:
// it runs what is waiting at that moment in one transaction, and waits for nobody.
type writer struct {
	db   *bbolt.DB
	turn chan struct{} // holds one element while someone leads

	mu      sync.Mutex
	waiting []*operation
	staging map[string]bool // restores whose staged buckets are in use

	forgotten int64 // bytes of pages written when the memory map was last let go of

	handles int // guarded by writers
}

// writers holds the writer of every open database, so that all the stores over one
// database share a line. It is freed with the last of them.
var writers = struct {
	sync.Mutex
	m map[*bbolt.DB]*writer
}{m: map[*bbolt.DB]*writer{}}

func acquireWriter(db *bbolt.DB) *writer {
	writers.Lock()
	defer writers.Unlock()
	w := writers.m[db]
	if w == nil {
		w = &writer{db: db, turn: make(chan struct{}, 1), staging: map[string]bool{}}
		writers.m[db] = w
	}
	w.handles++
	return w
}

func (w *writer) release() {
	writers.Lock()
	defer writers.Unlock()
	if w.handles--; w.handles == 0 {
		delete(writers.m, w.db)
	}
}

// do runs the operation and returns when it is durable, or refused, or when ctx is done
// while it still waits: then it will not run.
func (w *writer) do(ctx context.Context, o *operation) error {
	o.done = make(chan struct{})
	w.mu.Lock()
	w.waiting = append(w.waiting, o)
	w.mu.Unlock()
	select {
	case w.turn <- struct{}{}:
		w.lead(ctx, o)
	case <-o.done:
	case <-ctx.Done():
	}
	if !o.finished() {
		if w.withdraw(o) {
			return ctx.Err()
		}
		<-o.done // it is in a transaction that is running: its end is the truth
	}
	if o.panic != nil {
		panic(o.panic.value)
	}
	return o.err
}

// lead runs transactions until the leader's own operation is through.
func (w *writer) lead(ctx context.Context, own *operation) {
	defer func() { <-w.turn }()
	for !own.finished() && ctx.Err() == nil {
		w.commit()
	}
}

// withdraw takes the operation out of the line, unless a leader has it already.
func (w *writer) withdraw(o *operation) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	i := slices.Index(w.waiting, o)
	if i < 0 {
		return false
	}
	w.waiting = slices.Delete(w.waiting, i, i+1)
	return true
}

// take returns the next in line.
func (w *writer) take() *operation {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.waiting) == 0 {
		return nil
	}
	o := w.waiting[0]
	w.waiting[0] = nil
	w.waiting = w.waiting[1:]
	return o
}

// commit runs what waits, and what joins while that runs, in one transaction. When it
// returns, by a panic or runtime.Goexit too, every operation that it took is done.
func (w *writer) commit() {
	var batch []*operation
	defer func() {
		for _, o := range batch {
			if !o.finished() {
				o.err = errAbandoned
				close(o.done)
			}
		}
	}()
	size := 0
	next := func() *operation {
		if n := len(batch); n > 0 {
			size += batch[n-1].size
		}
		if len(batch) == maxBatch || size >= maxBatchBytes {
			return nil
		}
		o := w.take()
		if o == nil {
			// Those whom the last commit let go may be about to line up again: let them run
			// if they can run now. Who is alone loses nothing.
			runtime.Gosched()
			if o = w.take(); o == nil {
				return nil
			}
		}
		batch = append(batch, o)
		return o
	}
	err := w.transact(next)
	switch {
	case errors.Is(err, errSpoiled) && len(batch) > 1:
		for _, o := range batch {
			alone := []*operation{o}
			err := w.transact(func() *operation {
				if len(alone) == 0 {
					return nil
				}
				alone = nil
				return o
			})
			o.end(err)
		}
	default:
		for _, o := range batch {
			o.end(err)
		}
	}
}

// end makes the outcome final: err is that of the whole transaction.
func (o *operation) end(err error) {
	if err != nil && !errors.Is(err, errSpoiled) {
		o.err, o.panic = err, nil
	}
	close(o.done)
}

var (
	errAbandoned = errors.New("the transaction was abandoned")

	// errSpoiled says that an operation failed while it wrote: its own err says how.
	errSpoiled = errors.New("an operation failed in the middle")
)

// transact runs the operations that next gives in one transaction, and commits it if any
// of them wrote. Each operation's own outcome is in its err; what transact returns holds
// for all of them: then nothing was written, or, after a failed commit, it is unknown.
func (w *writer) transact(next func() *operation) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	o := next()
	if o == nil {
		return nil
	}
	var tx *bbolt.Tx
	if err := contained(w.db, func() (err error) { tx, err = w.db.Begin(true); return err }); err != nil {
		return err
	}
	defer func() {
		if tx != nil {
			_ = contained(w.db, tx.Rollback)
		}
	}()
	wrote := false
	for ; o != nil; o = next() {
		var write func() error
		o.err, o.panic = nil, nil
		o.contain(w.db, func() error {
			var err error
			write, err = o.plan(tx)
			return err
		})
		if o.err != nil || o.panic != nil || write == nil {
			continue
		}
		wrote = true
		if o.contain(w.db, write); o.err != nil || o.panic != nil {
			return errSpoiled
		}
	}
	if !wrote {
		return nil
	}
	if err := contained(w.db, tx.Commit); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	tx = nil
	return nil
}

// contain runs f and keeps what came of it in o.
func (o *operation) contain(db *bbolt.DB, f func() error) {
	defer func() {
		if p, ok := recover().(*callerPanic); ok {
			o.panic = p
		}
	}()
	o.err = contained(db, f)
}
