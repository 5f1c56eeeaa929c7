package memory

import "hash/maphash"

// ids finds a session's records by message id: a hash table with open addressing, of the
// positions in the history. Unlike a map of strings it holds no pointers, which a garbage
// collector would have to follow, and takes 11 to 22 bytes an id.
type ids struct {
	seed  maphash.Seed
	slots []slot // a power of two, at most three quarters of them in use; nil: none
	n     int
}

// slot holds 32 bits of the id's hash, then the position + 1; 0 is empty.
type slot uint64

func (s slot) hash() uint32  { return uint32(s >> 32) }
func (s slot) position() int { return int(uint32(s)) - 1 }

const minSlots = 8

func (t *ids) hash(id string) uint32 {
	return uint32(maphash.String(t.seed, id))
}

// find returns the position in h of the message id.
func (t *ids) find(h *history, id string) (position int, ok bool) {
	if t.n == 0 {
		return 0, false
	}
	hash, mask := t.hash(id), uint32(len(t.slots)-1)
	for i := hash & mask; t.slots[i] != 0; i = (i + 1) & mask {
		if s := t.slots[i]; s.hash() == hash && h.at(s.position()).message.ID == id {
			return s.position(), true
		}
	}
	return 0, false
}

// add notes the position of an id that is not there yet.
func (t *ids) add(id string, position int) {
	if 4*(t.n+1) > 3*len(t.slots) {
		t.slots = resized(t.slots, max(minSlots, 2*len(t.slots)), t.n)
	}
	put(t.slots, slot(t.hash(id))<<32|slot(position+1))
	t.n++
}

// head returns a table of its own with the positions below n, of which there are n.
func (t *ids) head(n int) ids {
	out := ids{seed: t.seed, n: n}
	if n == 0 {
		return out
	}
	size := minSlots
	for 4*n > 3*size {
		size *= 2
	}
	out.slots = resized(t.slots, size, n)
	return out
}

// resized returns a table of so many slots with the positions of old that are below n.
func resized(old []slot, size, n int) []slot {
	out := make([]slot, size)
	for _, s := range old {
		if s != 0 && s.position() < n {
			put(out, s)
		}
	}
	return out
}

func put(slots []slot, s slot) {
	mask := uint32(len(slots) - 1)
	i := s.hash() & mask
	for slots[i] != 0 {
		i = (i + 1) & mask
	}
	slots[i] = s
}
