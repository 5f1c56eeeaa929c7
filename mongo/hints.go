package mongo

import "sync"

// maxHints bounds the memory of hints: some 100 bytes a session.
const maxHints = 4096

// hints remember the TTLs of sessions. An append must know that of its session before it
// can say when the session expires, and has no round trip to ask for it: it guesses, and
// has the guess in its filter, so that a wrong one costs time and nothing else. The zero
// value is ready to use.
type hints struct {
	mu     sync.Mutex
	ttls   map[string]int64 // by key, in microseconds
	latest int64            // that was learned; the guess about all others
}

func (h *hints) learn(key string, ttl int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ttls == nil || len(h.ttls) >= maxHints {
		h.ttls = make(map[string]int64)
	}
	h.ttls[key], h.latest = ttl, ttl
}

func (h *hints) guess(key string) int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	if ttl, ok := h.ttls[key]; ok {
		return ttl
	}
	return h.latest
}
