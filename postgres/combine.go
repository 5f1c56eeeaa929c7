package postgres

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/sessionstore/sessionstore"
)

// Appends to one session take their turns anyway, by the lock of its row, and each holds
// a connection while it waits. So what comes to a session while an append of this store
// is under way waits here instead, without a connection, and then goes to the server in
// one statement. Nobody waits for company: an append that comes when none is under way
// goes at once, alone, in its caller's goroutine and under its caller's context.
//
// What waited is sent by a goroutine of its own, because none of its callers may have to
// stay when their context ends. The statement is over before the last of the callers
// returns: so Close, which waits for them, waits for it.

// appendLines are the lines before the sessions that have an append under way.
type appendLines struct {
	mu   sync.Mutex
	busy map[destination][]*waiting
}

func newAppendLines() *appendLines {
	return &appendLines{busy: map[destination][]*waiting{}}
}

// destination is what appends must have in common to go together.
type destination struct{ id, owner string }

// sendFunc appends rows in one statement and returns the last one's Seq.
type sendFunc func(context.Context, messageRows) (last int64, err error)

// waiting is an append in line. Its fields are guarded by the lines until done is closed.
type waiting struct {
	ctx   context.Context
	rows  messageRows
	group *group // that it went with; nil: none yet
	last  int64
	done  chan struct{} // closed when the group has ended
}

// group is what goes to the server in one statement.
type group struct {
	members  []*waiting
	present  int // of the members: those whose callers have not left
	cancel   context.CancelFunc
	err      error
	panicked any // of the clock, or of the caller's hooks in the driver
}

var errAbandoned = errors.New("the append was abandoned")

// do runs an append that has no IfLastSeq: by send itself, or together with others.
func (l *appendLines) do(ctx context.Context, to destination, r messageRows, send sendFunc) (int64, error) {
	w := l.join(ctx, to, r)
	if w == nil {
		defer l.next(to, send)
		return send(ctx, r)
	}
	select {
	case <-w.done:
	case <-ctx.Done():
		if last := l.leave(to, w); last {
			<-w.done
		}
		return 0, ctx.Err()
	}
	g := w.group
	switch {
	case g.panicked != nil:
		panic(g.panicked)
	case len(g.members) > 1 && nothingWritten(g.err):
		// Perhaps another's fault. If not, the reason is better told about this append alone.
		return send(ctx, r)
	}
	return w.last, g.err
}

// nothingWritten reports whether the server says so.
func nothingWritten(err error) bool {
	var pg *pgconn.PgError
	return errors.Is(err, errRefused) || errors.As(err, &pg) && pg.SeverityUnlocalized == "ERROR"
}

// join puts an append in line. It returns nil if there is nobody to wait for: then next
// must be called when the append has ended.
func (l *appendLines) join(ctx context.Context, to destination, r messageRows) *waiting {
	l.mu.Lock()
	defer l.mu.Unlock()
	line, ok := l.busy[to]
	if !ok {
		l.busy[to] = nil
		return nil
	}
	w := &waiting{ctx: ctx, rows: r, done: make(chan struct{})}
	l.busy[to] = append(line, w)
	return w
}

// leave takes out an append whose context has ended: of the line, or of what a group still
// has to wait for. It reports whether that was the last of a group, which then ends.
func (l *appendLines) leave(to destination, w *waiting) (last bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if w.group == nil {
		i := slices.Index(l.busy[to], w)
		l.busy[to] = slices.Delete(l.busy[to], i, i+1)
		return false
	}
	if w.group.present--; w.group.present > 0 {
		return false
	}
	w.group.cancel()
	return true
}

// next sends what is in line, now that an append to the session has ended.
func (l *appendLines) next(to destination, send sendFunc) {
	l.mu.Lock()
	defer l.mu.Unlock()
	line := l.busy[to]
	if len(line) == 0 {
		delete(l.busy, to)
		return
	}
	n := fitting(line)
	g := &group{members: slices.Clone(line[:n]), present: n}
	for _, w := range g.members {
		w.group = g
	}
	l.busy[to] = slices.Delete(line, 0, n)
	// The hooks in the driver may want the values of a context; it ends when all have left.
	ctx, cancel := context.WithCancel(context.WithoutCancel(g.members[0].ctx))
	g.cancel = cancel
	go l.run(ctx, to, g, send)
}

// fitting returns how many of a line go into one statement: at least one, and no more
// than have the size of one call.
func fitting(line []*waiting) int {
	messages, bytes := 0, 0
	for i, w := range line {
		messages += len(w.rows)
		bytes += w.rows.size()
		if i > 0 && (messages > sessionstore.MaxAppendMessages || bytes > sessionstore.MaxAppendBytes) {
			return i
		}
	}
	return len(line)
}

// run sends a group, and ends with its members informed and the next group on its way,
// also where send panics or ends the goroutine.
func (l *appendLines) run(ctx context.Context, to destination, g *group, send sendFunc) {
	g.err = errAbandoned
	defer func() {
		g.panicked = recover()
		g.cancel()
		for _, w := range g.members {
			close(w.done)
		}
		// They may be about to line up again: let them run if they can run now. Else every
		// other statement would carry the one append that came too late for its predecessor.
		runtime.Gosched()
		l.next(to, send)
	}()
	var all messageRows
	for _, w := range g.members {
		all = append(all, w.rows...)
	}
	var last int64
	if last, g.err = send(ctx, all); g.err != nil {
		return
	}
	for _, w := range slices.Backward(g.members) {
		w.last = last
		last -= int64(len(w.rows))
	}
}
