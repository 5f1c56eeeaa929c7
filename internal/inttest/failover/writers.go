package failover

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sessionstore/sessionstore"
)

// batch is how many messages an append has.
const batch = 2

// ack is an append that the store has acknowledged.
type ack struct {
	ids   [batch]string
	began time.Time // the attempt that was acknowledged
}

// Writers append to sessions, each to its own, until they are stopped. An append that
// fails is tried again with the same ids until it does not.
type Writers struct {
	store    sessionstore.SessionStore
	sessions []string
	acks     [][]ack // by session; its writer's until the writers have stopped
	latest   []ack   // by session: what was tried last
	done     []atomic.Int64
	failures atomic.Int64
	stop     context.CancelFunc
	wg       sync.WaitGroup
}

// Start creates n sessions and starts a writer for each.
func Start(ctx context.Context, store sessionstore.SessionStore, n int) (*Writers, error) {
	w := &Writers{store: store, acks: make([][]ack, n), latest: make([]ack, n), done: make([]atomic.Int64, n)}
	for i := range n {
		w.sessions = append(w.sessions, fmt.Sprintf("failover-%d", i))
		if _, err := store.CreateSession(ctx, sessionstore.Session{ID: w.sessions[i]}); err != nil {
			return nil, err
		}
	}
	ctx, w.stop = context.WithCancel(ctx)
	for i := range n {
		w.wg.Go(func() { w.write(ctx, i) })
	}
	return w, nil
}

func (w *Writers) write(ctx context.Context, i int) {
	for n := 0; ctx.Err() == nil; n++ {
		var a ack
		msgs := make([]sessionstore.Message, batch)
		for k := range msgs {
			a.ids[k] = fmt.Sprintf("%d-%d-%d", i, n, k)
			msgs[k] = sessionstore.UserMessage(a.ids[k])
			msgs[k].ID = a.ids[k]
		}
		for ctx.Err() == nil {
			a.began = time.Now()
			w.latest[i] = a
			if err := w.append(ctx, w.sessions[i], msgs); err != nil {
				w.failures.Add(1)
				continue
			}
			w.acks[i] = append(w.acks[i], a)
			w.done[i].Add(1)
			break
		}
	}
}

// pace is how long a writer waits after each attempt, so that the shards which have lost
// nothing are not written full meanwhile.
const pace = 5 * time.Millisecond

// append makes one attempt.
func (w *Writers) append(ctx context.Context, session string, msgs []sessionstore.Message) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	_, err := w.store.AppendMessages(ctx, session, sessionstore.Append{Messages: msgs})
	pause := time.NewTimer(pace)
	defer pause.Stop()
	select {
	case <-pause.C:
	case <-ctx.Done():
	}
	return err
}

// More waits until each writer has had n more appends acknowledged.
func (w *Writers) More(ctx context.Context, n int64) error {
	want := make([]int64, len(w.done))
	for i := range want {
		want[i] = w.done[i].Load() + n
	}
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for i := range want {
		for w.done[i].Load() < want[i] {
			select {
			case <-tick.C:
			case <-ctx.Done():
				return fmt.Errorf("session %q: %d appends acknowledged, want %d: %w", w.sessions[i], w.done[i].Load(), want[i], ctx.Err())
			}
		}
	}
	return nil
}

// Stop waits for the writers to end.
func (w *Writers) Stop() {
	w.stop()
	w.wg.Wait()
}

// Outcome is what became of the appends.
type Outcome struct {
	Acknowledged int
	Failures     int64 // attempts that returned an error
	Lost         int   // acknowledged, and not there
}

// Check reads all sessions of writers that have stopped. Lost may be those, and only those,
// whose attempt began before the time, and of each session no more than the newest of
// them; the zero time allows none. Anything else is an error.
func (w *Writers) Check(ctx context.Context, before time.Time) (Outcome, error) {
	o := Outcome{Failures: w.failures.Load()}
	for i, id := range w.sessions {
		tried := map[string]bool{}
		for _, a := range append([]ack{w.latest[i]}, w.acks[i]...) {
			for _, id := range a.ids {
				tried[id] = true
			}
		}
		seen := map[string]bool{}
		next := int64(1)
		for q := (sessionstore.MessageQuery{}); ; {
			page, err := w.store.ListMessages(ctx, id, q)
			if err != nil {
				return o, err
			}
			for _, m := range page.Messages {
				switch {
				case m.Seq != next:
					return o, fmt.Errorf("session %q: after seq %d comes %d", id, next-1, m.Seq)
				case !tried[m.ID]:
					return o, fmt.Errorf("session %q: message %q is there, which nobody has appended", id, m.ID)
				case seen[m.ID]:
					return o, fmt.Errorf("session %q: message %q is there twice", id, m.ID)
				}
				seen[m.ID] = true
				next++
			}
			if !page.HasMore {
				break
			}
			q.AfterSeq = next - 1
		}
		lost := 0
		for n, a := range w.acks[i] {
			first, last := seen[a.ids[0]], seen[a.ids[batch-1]]
			switch {
			case first != last:
				return o, fmt.Errorf("session %q: half of append %d is there", id, n)
			case !first && !a.began.Before(before):
				return o, fmt.Errorf("session %q: append %d is lost, which was acknowledged after the failure", id, n)
			case !first:
				lost++
			case lost > 0 && a.began.Before(before):
				return o, fmt.Errorf("session %q: append %d is there, and one before it is lost", id, n)
			}
		}
		o.Acknowledged += len(w.acks[i])
		o.Lost += lost
	}
	return o, nil
}
