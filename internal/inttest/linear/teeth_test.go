package linear_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/internal/inttest/linear"
	"github.com/sessionstore/sessionstore/memory"
)

// broken is a store that goes wrong with some of its calls, as stores do.
type broken struct {
	sessionstore.SessionStore
	calls atomic.Int64

	mu   sync.Mutex
	seen map[string]sessionstore.Session
}

// now reports whether to go wrong: with one of so many calls.
func (b *broken) now(every int64) bool { return b.calls.Add(1)%every == 0 }

// lostAppend acknowledges what it never writes.
type lostAppend struct{ *broken }

func (b lostAppend) AppendMessages(ctx context.Context, id string, a sessionstore.Append) ([]sessionstore.Message, error) {
	if !b.now(10) {
		return b.SessionStore.AppendMessages(ctx, id, a)
	}
	s, err := b.GetSession(ctx, id)
	if err != nil {
		return nil, err
	}
	a, err = a.Prepare(id)
	if err != nil {
		return nil, err
	}
	_, out, err := a.Apply(s, s.UpdatedAt)
	return out, err
}

// doubleAppend carries an append out twice, as a retry without the ids does.
type doubleAppend struct{ *broken }

func (b doubleAppend) AppendMessages(ctx context.Context, id string, a sessionstore.Append) ([]sessionstore.Message, error) {
	out, err := b.SessionStore.AppendMessages(ctx, id, a)
	if err == nil && b.now(10) {
		for i := range a.Messages {
			a.Messages[i].ID = ""
		}
		_, _ = b.SessionStore.AppendMessages(ctx, id, a)
	}
	return out, err
}

// tornAppend writes a batch message by message.
type tornAppend struct{ *broken }

func (b tornAppend) AppendMessages(ctx context.Context, id string, a sessionstore.Append) (out []sessionstore.Message, err error) {
	for _, m := range a.Messages {
		got, err := b.SessionStore.AppendMessages(ctx, id, sessionstore.Append{Messages: []sessionstore.Message{m}, IfLastSeq: a.IfLastSeq})
		if err != nil {
			return nil, err
		}
		out = append(out, got...)
		if a.IfLastSeq != nil {
			a.IfLastSeq = new(*a.IfLastSeq + 1)
		}
	}
	return out, nil
}

// looseGuard checks IfLastSeq before the append and not with it.
type looseGuard struct{ *broken }

func (b looseGuard) AppendMessages(ctx context.Context, id string, a sessionstore.Append) ([]sessionstore.Message, error) {
	if a.IfLastSeq != nil && b.now(3) {
		a.IfLastSeq = nil
	}
	return b.SessionStore.AppendMessages(ctx, id, a)
}

// staleRead answers from a cache that writes do not clear.
type staleRead struct{ *broken }

func (b staleRead) GetSession(ctx context.Context, id string) (sessionstore.Session, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if s, ok := b.seen[id]; ok && b.now(5) {
		return s, nil
	}
	s, err := b.SessionStore.GetSession(ctx, id)
	if err == nil {
		b.seen[id] = s
	}
	return s, err
}

// refusedDone says that a call was refused which went through, as one whose driver sent it
// twice.
type refusedDone struct{ *broken }

func (b refusedDone) DeleteSession(ctx context.Context, id string) error {
	err := b.SessionStore.DeleteSession(ctx, id)
	if err == nil && b.now(2) {
		return sessionstore.ErrSessionNotFound
	}
	return err
}

func (b refusedDone) UpdateSession(ctx context.Context, id string, u sessionstore.SessionUpdate) (sessionstore.Session, error) {
	s, err := b.SessionStore.UpdateSession(ctx, id, u)
	if err == nil && u.IfVersion != 0 && b.now(2) {
		return sessionstore.Session{}, sessionstore.ErrConflict
	}
	return s, err
}

// lateWrite acknowledges an update that it makes afterwards.
type lateWrite struct{ *broken }

func (b lateWrite) UpdateSession(ctx context.Context, id string, u sessionstore.SessionUpdate) (sessionstore.Session, error) {
	if !b.now(3) {
		return b.SessionStore.UpdateSession(ctx, id, u)
	}
	s, err := b.GetSession(ctx, id)
	if err != nil {
		return s, err
	}
	go func() { _, _ = b.SessionStore.UpdateSession(context.WithoutCancel(ctx), id, u) }()
	return u.Apply(s, s.UpdatedAt)
}

// undead keeps what was deleted.
type undead struct{ *broken }

func (b undead) DeleteSession(ctx context.Context, id string) error {
	if _, err := b.GetSession(ctx, id); err != nil || b.now(2) {
		return err
	}
	return b.SessionStore.DeleteSession(ctx, id)
}

// byClock orders what it shows by the clock, which goes back.
type byClock struct {
	*broken
	clock func() time.Time
}

func (b byClock) GetSession(ctx context.Context, id string) (sessionstore.Session, error) {
	s, err := b.SessionStore.GetSession(ctx, id)
	if now := b.clock(); err == nil && now.Before(s.UpdatedAt) {
		s.UpdatedAt = now
	}
	return s, err
}

// neverExpires shows what has expired.
type neverExpires struct {
	*broken
	beforeAll sessionstore.SessionStore
}

func (b neverExpires) GetSession(ctx context.Context, id string) (sessionstore.Session, error) {
	return b.beforeAll.GetSession(ctx, id)
}

// partialPage leaves a message out.
type partialPage struct{ *broken }

func (b partialPage) ListMessages(ctx context.Context, id string, q sessionstore.MessageQuery) (sessionstore.MessagePage, error) {
	page, err := b.SessionStore.ListMessages(ctx, id, q)
	if n := len(page.Messages); n > 1 && b.now(5) {
		page.Messages = append(page.Messages[:n/2:n/2], page.Messages[n/2+1:]...)
	}
	return page, err
}

// staleList shows sessions as they were.
type staleList struct{ *broken }

func (b staleList) ListSessions(ctx context.Context, q sessionstore.SessionQuery) (sessionstore.SessionPage, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	page, err := b.SessionStore.ListSessions(ctx, q)
	for i, s := range page.Sessions {
		if was, ok := b.seen[s.ID]; ok {
			page.Sessions[i] = was
		} else {
			b.seen[s.ID] = s
		}
	}
	return page, err
}

// halfFork leaves out the newest message.
type halfFork struct{ *broken }

func (b halfFork) ForkSession(ctx context.Context, id string, f sessionstore.Fork) (sessionstore.Session, error) {
	s, err := b.GetSession(ctx, id)
	if err == nil && s.LastSeq > 0 {
		f.AtSeq = new(s.LastSeq - 1)
	}
	return sessionstore.ForkSession(ctx, b.SessionStore, id, f)
}

// TestTeeth holds the checker against stores that are wrong: it must refuse a history of
// each of them, and keep it.
func TestTeeth(t *testing.T) {
	t.Parallel()
	type clock = func() time.Time
	type store = sessionstore.SessionStore
	for name, wrong := range map[string]func(b *broken, now clock, beforeAll store) store{
		"lost append":   func(b *broken, _ clock, _ store) store { return lostAppend{b} },
		"double append": func(b *broken, _ clock, _ store) store { return doubleAppend{b} },
		"torn append":   func(b *broken, _ clock, _ store) store { return tornAppend{b} },
		"loose guard":   func(b *broken, _ clock, _ store) store { return looseGuard{b} },
		"stale read":    func(b *broken, _ clock, _ store) store { return staleRead{b} },
		"refused, done": func(b *broken, _ clock, _ store) store { return refusedDone{b} },
		"late write":    func(b *broken, _ clock, _ store) store { return lateWrite{b} },
		"undead":        func(b *broken, _ clock, _ store) store { return undead{b} },
		"by the clock":  func(b *broken, now clock, _ store) store { return byClock{b, now} },
		"never expires": func(b *broken, _ clock, beforeAll store) store { return neverExpires{b, beforeAll} },
		"partial page":  func(b *broken, _ clock, _ store) store { return partialPage{b} },
		"stale list":    func(b *broken, _ clock, _ store) store { return staleList{b} },
		"half a fork":   func(b *broken, _ clock, _ store) store { return halfFork{b} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			// Most are seen in the first or second history. One that is not within this
			// many is not seen.
			for range 300 {
				clock := linear.NewClock()
				db := memory.NewDB()
				open := func(now func() time.Time) sessionstore.SessionStore {
					s, err := memory.New(&memory.Options{DB: db, Now: now})
					if err != nil {
						t.Fatalf("New: got %v, want nil", err)
					}
					return s
				}
				good := open(clock.Now)
				bad := wrong(&broken{SessionStore: good, seen: map[string]sessionstore.Session{}}, clock.Now,
					open(func() time.Time { return linear.Epoch.Add(-time.Hour) }))
				calls := linear.Run(t.Context(), linear.Plan{
					Seed: rand.Uint64(), Name: "s", Handles: []sessionstore.SessionStore{good, bad}, Clock: clock,
					Sessions: 2, Callers: 6, Calls: 30, Jump: 0.1,
				})
				dir := t.TempDir()
				err := linear.Check(calls, dir)
				if err == nil {
					continue
				}
				keptAndReplayed(t, dir, err)
				return
			}
			t.Error("Check of 300 histories of a store that is wrong: got nil, want an error")
		})
	}
}

// keptAndReplayed checks that a bad history is where the error says, and is still bad.
func keptAndReplayed(t *testing.T, dir string, err error) {
	t.Helper()
	found, globErr := filepath.Glob(filepath.Join(dir, "*", "history.json"))
	if globErr != nil || len(found) != 1 || !strings.Contains(err.Error(), filepath.Dir(found[0])) {
		t.Fatalf("Check of a bad history: got %v and the files %q, want an error that names the folder of one", err, found)
	}
	if drawing, _ := filepath.Glob(filepath.Join(dir, "*", "history.html")); len(drawing) != 1 {
		t.Errorf("Check of a bad history: got the drawings %q, want one", drawing)
	}
	calls, loadErr := linear.Load(found[0])
	if loadErr != nil {
		t.Fatalf("Load: got %v, want nil", loadErr)
	}
	if again := linear.Check(calls, dir); again == nil {
		t.Error("Check of what was kept: got nil, want the error again")
	}
}

// TestFaultsAreNoExcuse is that a store which is wrong is found out among calls with an
// unknown outcome, too.
func TestFaultsAreNoExcuse(t *testing.T) {
	t.Parallel()
	dice := linear.NewDice(rand.Uint64())
	for range 300 {
		clock := linear.NewClock()
		s, err := memory.New(&memory.Options{Now: clock.Now})
		if err != nil {
			t.Fatalf("New: got %v, want nil", err)
		}
		bad := lostAppend{&broken{SessionStore: forgetful{s, dice}}}
		calls := linear.Run(t.Context(), linear.Plan{
			Seed: rand.Uint64(), Name: "s", Handles: []sessionstore.SessionStore{bad}, Clock: clock,
			Sessions: 1, Callers: 4, Calls: 20, Jump: 0.1,
		})
		if linear.Check(calls, t.TempDir()) != nil {
			return
		}
	}
	t.Error("Check of 300 histories with lost appends among unknown outcomes: got nil, want an error")
}

// forgetful loses the answers of some appends.
type forgetful struct {
	sessionstore.SessionStore
	dice *linear.Dice
}

var errLost = errors.New("the answer is lost")

func (f forgetful) AppendMessages(ctx context.Context, id string, a sessionstore.Append) ([]sessionstore.Message, error) {
	out, err := f.SessionStore.AppendMessages(ctx, id, a)
	if err == nil && f.dice.Roll(0.1) {
		return nil, errLost
	}
	return out, err
}
