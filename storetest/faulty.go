package storetest

import (
	"context"
	"errors"
	"iter"
	"sync/atomic"

	"github.com/sessionstore/sessionstore"
)

// ErrFault is what a failing call of a [Faulty] returns if its Err is nil. It is neither a
// sentinel of package sessionstore nor a context's error: a caller has to take the outcome
// of such a write for unknown.
var ErrFault = errors.New("storetest: the store fails on purpose")

// Fault says whether and where a call fails.
type Fault int

// What becomes of a call.
const (
	Pass       Fault = iota // the call is not disturbed
	FailBefore              // the call fails without having reached the store
	FailAfter               // the call takes place, and fails all the same: a write is committed, its answer lost
)

// Call is a call that a [Faulty] is about to make.
type Call struct {
	N      int64  // 1 for the first call, counted over all methods and views but Close
	Method string // such as "AppendMessages"
	ID     string // the session's, where there is one
}

// Faulty is a store that fails when it is told to, for tests of the code that uses one: what
// does a caller do when the answer to a write is lost, and what does it repeat?
//
//	store := storetest.NewFaulty(inner, storetest.FailCall(3, storetest.FailAfter))
//
// It is safe for concurrent use if Decide is. It has the optional powers of the store
// below, and no others: what a function of package sessionstore falls back to are calls of
// the Faulty, each of which may fail. Close never fails on purpose.
type Faulty struct {
	sessionstore.SessionStore                    // what does the work
	Decide                    func(c Call) Fault // asked once before each call; nil: Pass
	Err                       error              // what a failing call returns; nil: ErrFault

	calls *atomic.Int64
}

// NewFaulty returns store with faults where decide says so.
func NewFaulty(store sessionstore.SessionStore, decide func(c Call) Fault) *Faulty {
	return &Faulty{SessionStore: store, Decide: decide, calls: new(atomic.Int64)}
}

// FailCall fails the call number n, counted from 1, and lets all others pass.
func FailCall(n int64, f Fault) func(Call) Fault {
	return func(c Call) Fault {
		if c.N == n {
			return f
		}
		return Pass
	}
}

// Calls returns how many calls were made until now, failed ones included.
func (f *Faulty) Calls() int64 { return f.calls.Load() }

// faulted makes a call as Decide wants it.
func faulted[T any](f *Faulty, method, id string, call func() (T, error)) (T, error) {
	n := f.calls.Add(1)
	fault := Pass
	if f.Decide != nil {
		fault = f.Decide(Call{N: n, Method: method, ID: id})
	}
	var none T
	err := f.Err
	if err == nil {
		err = ErrFault
	}
	switch fault {
	case FailBefore:
		return none, err
	case FailAfter:
		if _, own := call(); own != nil {
			return none, own // it failed by itself: there is no answer to lose
		}
		return none, err
	}
	return call()
}

// CreateSession implements [sessionstore.SessionStore].
func (f *Faulty) CreateSession(ctx context.Context, s sessionstore.Session) (sessionstore.Session, error) {
	return faulted(f, "CreateSession", s.ID, func() (sessionstore.Session, error) { return f.SessionStore.CreateSession(ctx, s) })
}

// GetSession implements [sessionstore.SessionStore].
func (f *Faulty) GetSession(ctx context.Context, id string) (sessionstore.Session, error) {
	return faulted(f, "GetSession", id, func() (sessionstore.Session, error) { return f.SessionStore.GetSession(ctx, id) })
}

// UpdateSession implements [sessionstore.SessionStore].
func (f *Faulty) UpdateSession(ctx context.Context, id string, u sessionstore.SessionUpdate) (sessionstore.Session, error) {
	return faulted(f, "UpdateSession", id, func() (sessionstore.Session, error) { return f.SessionStore.UpdateSession(ctx, id, u) })
}

// DeleteSession implements [sessionstore.SessionStore].
func (f *Faulty) DeleteSession(ctx context.Context, id string) error {
	_, err := faulted(f, "DeleteSession", id, func() (struct{}, error) { return struct{}{}, f.SessionStore.DeleteSession(ctx, id) })
	return err
}

// ListSessions implements [sessionstore.SessionStore].
func (f *Faulty) ListSessions(ctx context.Context, q sessionstore.SessionQuery) (sessionstore.SessionPage, error) {
	return faulted(f, "ListSessions", "", func() (sessionstore.SessionPage, error) { return f.SessionStore.ListSessions(ctx, q) })
}

// AppendMessages implements [sessionstore.SessionStore].
func (f *Faulty) AppendMessages(ctx context.Context, id string, a sessionstore.Append) ([]sessionstore.Message, error) {
	return faulted(f, "AppendMessages", id, func() ([]sessionstore.Message, error) { return f.SessionStore.AppendMessages(ctx, id, a) })
}

// ListMessages implements [sessionstore.SessionStore].
func (f *Faulty) ListMessages(ctx context.Context, id string, q sessionstore.MessageQuery) (sessionstore.MessagePage, error) {
	return faulted(f, "ListMessages", id, func() (sessionstore.MessagePage, error) { return f.SessionStore.ListMessages(ctx, id, q) })
}

// TruncateMessages implements [sessionstore.SessionStore].
func (f *Faulty) TruncateMessages(ctx context.Context, id string, t sessionstore.Truncate) (sessionstore.Session, error) {
	return faulted(f, "TruncateMessages", id, func() (sessionstore.Session, error) { return f.SessionStore.TruncateMessages(ctx, id, t) })
}

// ForkSession implements [sessionstore.Forker] where the store below does. Elsewhere it is
// errors.ErrUnsupported, which counts as absent, and no call.
func (f *Faulty) ForkSession(ctx context.Context, id string, k sessionstore.Fork) (sessionstore.Session, error) {
	p, ok := f.SessionStore.(sessionstore.Forker)
	if !ok {
		return sessionstore.Session{}, errors.ErrUnsupported
	}
	return faulted(f, "ForkSession", id, func() (sessionstore.Session, error) { return p.ForkSession(ctx, id, k) })
}

// PurgeExpired implements [sessionstore.Purger], as ForkSession does Forker.
func (f *Faulty) PurgeExpired(ctx context.Context, limit int) (int, error) {
	p, ok := f.SessionStore.(sessionstore.Purger)
	if !ok {
		return 0, errors.ErrUnsupported
	}
	return faulted(f, "PurgeExpired", "", func() (int, error) { return p.PurgeExpired(ctx, limit) })
}

// RestoreSession implements [sessionstore.Restorer], as ForkSession does Forker.
func (f *Faulty) RestoreSession(ctx context.Context, s sessionstore.Session, messages iter.Seq2[sessionstore.Message, error]) (sessionstore.Session, error) {
	p, ok := f.SessionStore.(sessionstore.Restorer)
	if !ok {
		return sessionstore.Session{}, errors.ErrUnsupported
	}
	return faulted(f, "RestoreSession", s.ID, func() (sessionstore.Session, error) { return p.RestoreSession(ctx, s, messages) })
}

// ForUser implements [sessionstore.OwnerScoper]. The view fails as f does, and counts its
// calls with f's.
func (f *Faulty) ForUser(userID string) sessionstore.SessionStore {
	return &Faulty{SessionStore: sessionstore.ForUser(f.SessionStore, userID), Decide: f.Decide, Err: f.Err, calls: f.calls}
}

var (
	_ sessionstore.SessionStore = (*Faulty)(nil)
	_ sessionstore.Forker       = (*Faulty)(nil)
	_ sessionstore.Purger       = (*Faulty)(nil)
	_ sessionstore.Restorer     = (*Faulty)(nil)
	_ sessionstore.OwnerScoper  = (*Faulty)(nil)
)
