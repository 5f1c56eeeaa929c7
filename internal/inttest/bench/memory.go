package bench

import (
	"context"
	"maps"
	"sync"
	"time"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/memory"
)

// openMemory has a new store each time, so that what is done with goes.
func openMemory(context.Context, string) (*database, error) {
	return &database{
		cpu:   true,
		store: ofStore(func() (sessionstore.SessionStore, error) { return memory.New(nil) }),
		floors: []candidate{{
			name: "bare",
			append: func(_ context.Context, w Workload) (call, error) {
				all := make([]*history, w.sessions)
				for i := range all {
					var err error
					if all[i], err = newHistory(w.history); err != nil {
						return nil, err
					}
				}
				return func(e *entry) error {
					all[e.session].append(e.batch[0])
					return nil
				}, nil
			},
			read: func(_ context.Context, w Workload) (call, error) {
				s, err := newHistory(w.stored)
				return func(*entry) error { return counted(len(s.newest(w.read)), w.read, nil) }, err
			},
			list: func(_ context.Context, w Workload) (call, error) {
				users := newUsers(w.stored)
				return func(*entry) error { return counted(len(users.newest("user", w.read)), w.read, nil) }, nil
			},
		}},
	}, nil
}

// chunk is how many messages a history allocates at a time: a single slice would be copied
// to grow now and then, which costs more than all the rest.
const chunk = 64

// history is a session behind a lock, with nothing checked.
type history struct {
	mu      sync.Mutex
	session sessionstore.Session
	chunks  [][]sessionstore.Message
	n       int
}

func newHistory(n int) (*history, error) {
	msgs, _, err := messages(n)
	h := &history{}
	for i := range msgs {
		h.append(msgs[i])
	}
	return h, err
}

func (h *history) append(m sessionstore.Message) {
	m.Metadata = maps.Clone(m.Metadata)
	h.mu.Lock()
	if h.n%chunk == 0 {
		h.chunks = append(h.chunks, make([]sessionstore.Message, 0, chunk))
	}
	last := &h.chunks[len(h.chunks)-1]
	h.n++
	m.Seq = int64(h.n)
	m.CreatedAt = time.Now()
	*last = append(*last, m)
	h.mu.Unlock()
}

func (h *history) newest(n int) []sessionstore.Message {
	h.mu.Lock()
	defer h.mu.Unlock()
	out := make([]sessionstore.Message, n)
	for i := range out {
		at := h.n - n + i
		out[i] = h.chunks[at/chunk][at%chunk]
		out[i].Metadata = maps.Clone(out[i].Metadata)
	}
	return out
}

// users is an index of sessions by user, in the order of their times.
type users struct {
	mu sync.Mutex
	of map[string][]*history
}

func newUsers(n int) *users {
	u := &users{of: map[string][]*history{}}
	for i := range n {
		s := &history{session: session(i)}
		s.session.UpdatedAt = time.UnixMicro(int64(i))
		u.of["user"] = append(u.of["user"], s)
	}
	return u
}

func (u *users) newest(user string, n int) []sessionstore.Session {
	u.mu.Lock()
	defer u.mu.Unlock()
	of := u.of[user]
	out := make([]sessionstore.Session, n)
	for i := range out {
		s := of[len(of)-1-i]
		s.mu.Lock()
		out[i] = s.session
		s.mu.Unlock()
		out[i].Metadata = maps.Clone(out[i].Metadata)
	}
	return out
}
