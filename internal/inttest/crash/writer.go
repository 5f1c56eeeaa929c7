package crash

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"sync"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/internal/inttest/call"
)

// What a writer writes to.
const (
	workers  = 3
	sessions = 4 // of each worker, which nobody else touches
)

// Large is a restore that no store writes in one step: more messages and bytes than any
// takes at once.
const (
	largeMessages = 1100
	largeSize     = 4096
)

// Shared names the session of a round that all workers append to.
func Shared(round int) string { return fmt.Sprintf("shared-%d", round) }

// Writer makes calls of all kinds on a store, with some workers at once.
type Writer struct {
	Store sessionstore.SessionStore
	Log   io.Writer
	Round int // with Seed it determines the calls, as far as what is read does not
	Seed  uint64
}

// Run returns when the outcome of a call of each worker is unknown.
func (w *Writer) Run(ctx context.Context) {
	var all sync.WaitGroup
	for n := range workers {
		all.Go(func() {
			(&worker{
				Writer: w, n: n, rng: rand.New(rand.NewPCG(w.Seed, uint64(w.Round*workers+n))),
			}).run(ctx)
		})
	}
	all.Wait()
}

type worker struct {
	*Writer
	n     int
	rng   *rand.Rand
	calls int
}

func (w *worker) run(ctx context.Context) {
	for {
		c, err := w.next(ctx)
		if err != nil {
			_ = Record{Worker: w.n, Class: call.Unknown, Err: err.Error()}.write(w.Log)
			return
		}
		// Nobody hears it where the log is gone: then the test is.
		if err := (Record{Worker: w.n, Begin: &c}).write(w.Log); err != nil {
			return
		}
		out, err := c.Do(ctx, w.Store)
		r := Record{Worker: w.n, Class: call.Class(err)}
		if len(out.Messages) > 0 {
			r.Seq = out.Messages[0].Seq
		}
		if r.Class == call.Unknown {
			r.Err = err.Error()
		}
		if err := r.write(w.Log); err != nil || r.Class == call.Unknown {
			return
		}
	}
}

// one of n is true once in n times.
func (w *worker) oneOf(n int) bool { return w.rng.IntN(n) == 0 }

func (w *worker) id() string { return fmt.Sprintf("w%d-%d", w.n, w.rng.IntN(sessions)) }

// next chooses a call by what the session is now. The error is that of reading it.
func (w *worker) next(ctx context.Context) (call.Call, error) {
	w.calls++
	c := call.Call{ID: w.id(), Tag: fmt.Sprintf("r%d-w%d-%d", w.Round, w.n, w.calls)}
	if w.oneOf(4) {
		c.Kind, c.ID, c.N = call.Append, Shared(w.Round), 1+w.rng.IntN(5)
		return c, nil
	}
	s, err := w.Store.GetSession(ctx, c.ID)
	switch {
	case errors.Is(err, sessionstore.ErrSessionNotFound) && !w.oneOf(4):
		c.Kind = call.Create
		return c, nil
	case errors.Is(err, sessionstore.ErrSessionNotFound):
		c.Kind, c.N = call.Restore, 1+w.rng.IntN(60)
		if w.oneOf(6) {
			c.N, c.Size = largeMessages, largeSize
		}
		return c, nil
	case err != nil:
		return c, err
	}
	w.change(&c, s)
	return c, nil
}

// change chooses what is done to a session that is there.
func (w *worker) change(c *call.Call, s sessionstore.Session) {
	switch p := w.rng.IntN(100); {
	case p < 45:
		c.Kind, c.N = call.Append, []int{1, 1, 2, 10, 100}[w.rng.IntN(5)]
		if w.oneOf(5) {
			c.IfLastSeq = &s.LastSeq
		}
	case p < 55:
		seq := w.rng.Int64N(s.LastSeq + 1)
		c.Kind, c.Seq = call.Truncate, &seq
	case p < 67:
		c.Kind, c.N = call.Update, w.rng.IntN(1000)
		c.Tag = fmt.Sprintf("key-%d", w.rng.IntN(5))
		if w.oneOf(3) {
			c.IfVersion = s.Version
		}
	case p < 75:
		c.Kind, c.Status = call.Status, sessionstore.StatusPaused
		switch {
		case w.oneOf(8):
			c.Status = sessionstore.StatusClosed
		case s.Status == sessionstore.StatusPaused:
			c.Status = sessionstore.StatusActive
		}
	case p < 77:
		c.Kind = call.Touch
	case p < 87:
		c.Kind, c.To = call.Fork, w.id()
		if w.oneOf(2) {
			seq := w.rng.Int64N(s.LastSeq + 1)
			c.Seq = &seq
		}
	case p < 97:
		c.Kind = call.Delete
	default:
		c.Kind = call.Purge
	}
}
