package memory

import (
	"sync"
	"time"

	"github.com/sessionstore/sessionstore"
)

const (
	// walkLimit is how many sessions one list looks at.
	walkLimit = 5000

	// backlog is how many entries may be marked before writers help to place them, which
	// bounds what a list has to repair.
	backlog = 4096

	// relief is how many entries a writer then places. More than the one that it marked
	// itself, because it does not wait for its turn and so may have to skip it.
	relief = 8
)

// index has the entries of a space in the orders of its lists. An entry lies where it was
// put last; a write that moves it marks it, and whoever reads the index places it anew.
type index struct {
	mu       sync.RWMutex
	all      *order
	byUser   map[string]*order
	byParent map[string]*order
	expiring *order // by ExpiresAt, those that have one

	marked list
}

// place is where an entry lies in the orders.
type place struct {
	in      bool
	updated int64 // UpdatedAt in microseconds
	expires int64 // ExpiresAt in microseconds
	expiry  bool  // it has one
}

func newIndex() index {
	return index{
		all:      &order{},
		byUser:   map[string]*order{},
		byParent: map[string]*order{},
		expiring: &order{},
	}
}

// placeOf returns where a session belongs.
func placeOf(s *sessionstore.Session) place {
	p := place{in: true, updated: s.UpdatedAt.UnixMicro()}
	if !s.ExpiresAt.IsZero() {
		p.expires, p.expiry = s.ExpiresAt.UnixMicro(), true
	}
	return p
}

// mark notes that the entry, which the caller holds, is to be placed.
func (ix *index) mark(e *entry) {
	if !e.marked {
		e.marked = true
		ix.marked.push(e)
	}
}

// drop takes an entry that is gone out of the index.
func (ix *index) drop(e *entry) {
	ix.mu.Lock()
	ix.replace(e)
	ix.mu.Unlock()
}

// relieve helps with a backlog of marked entries. A writer calls it after its write, and
// does not wait for one who reads the index.
func (ix *index) relieve() {
	if ix.marked.len() <= backlog || !ix.mu.TryLock() {
		return
	}
	for range relief {
		if e := ix.marked.first(); e != nil {
			ix.replace(e)
		}
	}
	ix.mu.Unlock()
}

// repair places what was marked when it was called. What is marked meanwhile belongs to
// writes that have not returned yet.
func (ix *index) repair() {
	if ix.marked.len() == 0 {
		return // or is just being placed by one whom the reader's RLock waits for
	}
	ix.mu.Lock()
	for range ix.marked.len() {
		ix.replace(ix.marked.first())
	}
	ix.mu.Unlock()
}

// replace puts the entry where it belongs now, which for one that is gone is nowhere. The
// caller holds the index.
func (ix *index) replace(e *entry) {
	var to place
	e.mu.Lock()
	if e.marked {
		e.marked = false
		ix.marked.remove(e)
	}
	if !e.gone {
		to = placeOf(&e.session)
	}
	e.mu.Unlock()

	from := e.place
	e.place = to
	if was, is := from.in, to.in; was != is || from.updated != to.updated {
		old, now := item{from.updated, e}, item{to.updated, e}
		move(ix.all, old, was, now, is)
		moveIn(ix.byUser, e.user, old, was, now, is)
		moveIn(ix.byParent, e.parent, old, was, now, is)
	}
	if from.expiry != to.expiry || from.expires != to.expires {
		move(ix.expiring, item{from.expires, e}, from.expiry, item{to.expires, e}, to.expiry)
	}
}

func move(o *order, from item, was bool, to item, is bool) {
	if was {
		o.remove(from)
	}
	if is {
		o.insert(to)
	}
}

// moveIn moves an item within the order of a user or parent, if it has one.
func moveIn(orders map[string]*order, key string, from item, was bool, to item, is bool) {
	if key == "" {
		return
	}
	o := orders[key]
	if o == nil {
		o = &order{}
		orders[key] = o
	}
	move(o, from, was, to, is)
	if o.len() == 0 {
		delete(orders, key)
	}
}

// order returns the shortest order that has all that q asks for.
func (ix *index) order(q *sessionstore.SessionQuery) *order {
	o := ix.all
	switch {
	case q.ParentID != "":
		o = ix.byParent[q.ParentID]
	case q.UserID != "":
		o = ix.byUser[q.UserID]
	}
	if o == nil {
		o = &order{}
	}
	return o
}

// page is what a walk along the index found. The sessions share their maps with the store.
type page struct {
	sessions []sessionstore.Session
	moved    bool                    // one of them is no longer where the index had it
	last     sessionstore.SessionKey // where the walk ended
	more     bool                    // it ended before the end
}

// list walks along the index from after, or from the newest.
func (ix *index) list(q *sessionstore.SessionQuery, after *item, clock func() time.Time) page {
	ix.repair()
	ix.mu.RLock()
	defer ix.mu.RUnlock()
	now := clock()
	o := ix.order(q)
	p := page{sessions: make([]sessionstore.Session, 0, min(q.Limit, o.len()))}
	var last item
	looked := 0
	for it := range o.down(after) {
		if len(p.sessions) == q.Limit || looked == walkLimit {
			p.more = true
			break
		}
		looked++
		last = it
		e := it.entry
		e.mu.Lock()
		ok := !e.gone && q.Matches(e.session, now)
		if ok {
			p.sessions = append(p.sessions, e.session)
		}
		e.mu.Unlock()
		if ok && p.sessions[len(p.sessions)-1].UpdatedAt.UnixMicro() != it.at {
			p.moved = true
		}
	}
	if last.entry != nil {
		p.last = sessionstore.SessionKey{UpdatedAt: time.UnixMicro(last.at).UTC(), ID: last.entry.id}
	}
	return p
}

// expired returns the ids of up to limit sessions that have expired, as the index has it.
func (ix *index) expired(limit int, clock func() time.Time) []string {
	ix.repair()
	ix.mu.RLock()
	defer ix.mu.RUnlock()
	now := clock().UnixMicro()
	var ids []string
	for it := range ix.expiring.up() {
		if len(ids) == limit || it.at > now {
			break
		}
		ids = append(ids, it.entry.id)
	}
	return ids
}
