package memory

import (
	"hash/maphash"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sessionstore/sessionstore"
)

// shardCount is large enough that calls on different sessions seldom meet in one shard,
// and small enough that an empty namespace is a few kilobytes.
const shardCount = 64

// space is the data of one namespace.
//
// Locks are taken in this order: shard, then entry, then the index's list of marked
// entries; and the index, then entry, then that list. Nothing that holds an entry takes the
// index or a shard.
type space struct {
	seed   maphash.Seed
	serial atomic.Uint64 // of the newest entry
	shards [shardCount]shard
	index  index
}

type shard struct {
	mu      sync.RWMutex
	entries map[string]*entry
}

// entry is a session. It is in its shard's map until it is gone, and then never again: a
// new session of the same id is another entry.
type entry struct {
	id, user, parent string // of the session; they never change
	serial           uint64 // of the entry, greater than 0

	mu      sync.Mutex
	session sessionstore.Session // its maps are replaced, never changed
	history history
	ids     ids
	gone    bool
	marked  bool // it is in the index's list of entries to be placed

	place place // guarded by the index
	link  link  // guarded by the list
}

func newSpace() *space {
	return &space{seed: maphash.MakeSeed(), index: newIndex()}
}

func (sp *space) newEntry(s sessionstore.Session) *entry {
	return &entry{
		serial: sp.serial.Add(1),
		id:     s.ID, user: s.UserID, parent: s.ParentID,
		session: s, ids: ids{seed: sp.seed},
	}
}

func (sp *space) shard(id string) *shard {
	return &sp.shards[maphash.String(sp.seed, id)%shardCount]
}

// find returns the entry of id, or nil. It may be gone by the time it is locked.
func (sp *space) find(id string) *entry {
	sh := sp.shard(id)
	sh.mu.RLock()
	e := sh.entries[id]
	sh.mu.RUnlock()
	return e
}

// insert adds an entry, in the place of one that has expired. Stamp, which may be nil, is
// called in the atomic step, before the record is read, to complete the session or to refuse
// it.
func (sp *space) insert(e *entry, clock func() time.Time, stamp func(s *sessionstore.Session, now time.Time) error) error {
	old, err := sp.swap(e, clock, stamp)
	if err != nil {
		return err
	}
	if old != nil {
		sp.index.drop(old)
	}
	sp.index.relieve()
	return nil
}

func (sp *space) swap(e *entry, clock func() time.Time, stamp func(*sessionstore.Session, time.Time) error) (old *entry, err error) {
	sh := sp.shard(e.id)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	now := clock()
	if stamp != nil {
		if err := stamp(&e.session, now); err != nil {
			return nil, err
		}
	}
	old = sh.entries[e.id]
	if old != nil && !old.end(func(s *sessionstore.Session) bool { return s.Expired(now) }) {
		return nil, sessionstore.ErrSessionExists
	}
	if sh.entries == nil {
		sh.entries = map[string]*entry{}
	}
	sh.entries[e.id] = e
	e.mu.Lock()
	sp.index.mark(e)
	e.mu.Unlock()
	return old, nil
}

// remove takes the session of id away if cond holds for it, which is called in the atomic
// step, and reports whether it did.
func (sp *space) remove(id string, cond func(*sessionstore.Session) bool) bool {
	sh := sp.shard(id)
	sh.mu.Lock()
	e := sh.entries[id]
	ok := e != nil && e.end(cond)
	if ok {
		delete(sh.entries, id)
	}
	sh.mu.Unlock()
	if ok {
		sp.index.drop(e)
	}
	return ok
}

// end makes the entry one that is gone, if cond holds for its session. The caller holds the
// shard, so that no other call has done so before.
func (e *entry) end(cond func(*sessionstore.Session) bool) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !cond(&e.session) {
		return false
	}
	e.gone = true
	e.session, e.history, e.ids = sessionstore.Session{}, history{}, ids{}
	return true
}
