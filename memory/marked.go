package memory

import (
	"sync"
	"sync/atomic"
)

// list is the entries that wait to be placed, the one that waits longest first. An entry
// that is removed leaves nothing behind.
type list struct {
	mu   sync.Mutex
	head *entry
	tail *entry
	n    atomic.Int64
}

// link is an entry's neighbours in the list.
type link struct {
	prev, next *entry
}

func (l *list) len() int { return int(l.n.Load()) }

// push adds an entry that is not in the list.
func (l *list) push(e *entry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e.link.prev = l.tail
	if l.tail == nil {
		l.head = e
	} else {
		l.tail.link.next = e
	}
	l.tail = e
	l.n.Add(1)
}

// remove takes an entry out that is in the list.
func (l *list) remove(e *entry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e.link.prev == nil {
		l.head = e.link.next
	} else {
		e.link.prev.link.next = e.link.next
	}
	if e.link.next == nil {
		l.tail = e.link.prev
	} else {
		e.link.next.link.prev = e.link.prev
	}
	e.link = link{}
	l.n.Add(-1)
}

func (l *list) first() *entry {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.head
}
