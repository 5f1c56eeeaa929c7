package memory

import (
	"cmp"
	"iter"
	"slices"
	"sort"
)

// blockSize is the most items of a block: to move them about takes less time than to
// search for one.
const blockSize = 256

// item is an entry's place in an order: by time, in microseconds, then by id. An entry that
// is gone and its successor of the same id may be there together for a moment, and differ
// by their serial.
type item struct {
	at    int64
	entry *entry
}

func (a item) compare(b item) int {
	if c := cmp.Compare(a.at, b.at); c != 0 {
		return c
	}
	if c := cmp.Compare(a.entry.id, b.entry.id); c != 0 {
		return c
	}
	return cmp.Compare(a.entry.serial, b.entry.serial)
}

// order is a sorted collection of items: a list of sorted blocks, none of them empty. The
// zero value is an empty one.
type order struct {
	blocks [][]item
	n      int
}

// seek returns the position of the first item that is not less than it: b is len(blocks)
// if all are less.
func (o *order) seek(it item) (b, i int) {
	// Most of what is put in its place is the newest.
	if n := len(o.blocks); n > 0 && it.compare(o.blocks[n-1][0]) >= 0 {
		b = n - 1
		if block := o.blocks[b]; block[len(block)-1].compare(it) < 0 {
			return n, 0
		}
	} else {
		b = sort.Search(n, func(b int) bool {
			block := o.blocks[b]
			return block[len(block)-1].compare(it) >= 0
		})
		if b == n {
			return n, 0
		}
	}
	i, _ = slices.BinarySearchFunc(o.blocks[b], it, item.compare)
	return b, i
}

// insert adds an item that is not there yet.
func (o *order) insert(it item) {
	o.n++
	b, i := o.seek(it)
	if b == len(o.blocks) {
		// After the last one: the last block takes it if it can.
		if b == 0 || len(o.blocks[b-1]) == blockSize {
			o.blocks = append(o.blocks, []item{it})
			return
		}
		o.blocks[b-1] = append(o.blocks[b-1], it)
		return
	}
	if len(o.blocks[b]) == blockSize {
		half := slices.Clone(o.blocks[b][blockSize/2:])
		clear(o.blocks[b][blockSize/2:])
		o.blocks[b] = o.blocks[b][:blockSize/2]
		o.blocks = slices.Insert(o.blocks, b+1, half)
		if i > blockSize/2 {
			b, i = b+1, i-blockSize/2
		}
	}
	o.blocks[b] = slices.Insert(o.blocks[b], i, it)
}

// remove takes an item out that is there.
func (o *order) remove(it item) {
	o.n--
	b, i := o.seek(it)
	o.blocks[b] = slices.Delete(o.blocks[b], i, i+1)
	if len(o.blocks[b]) == 0 {
		o.blocks = slices.Delete(o.blocks, b, b+1)
		return
	}
	// Neighbours that have shrunk are joined, so that few items never lie in many blocks.
	if b+1 == len(o.blocks) {
		b--
	}
	if b >= 0 && len(o.blocks[b])+len(o.blocks[b+1]) <= blockSize/2 {
		o.blocks[b] = append(o.blocks[b], o.blocks[b+1]...)
		o.blocks = slices.Delete(o.blocks, b+1, b+2)
	}
}

func (o *order) len() int { return o.n }

// down walks the items from the greatest, or from the greatest that is less than before.
func (o *order) down(before *item) iter.Seq[item] {
	return func(yield func(item) bool) {
		b, i := len(o.blocks), 0
		if before != nil {
			b, i = o.seek(*before)
		}
		for {
			for i > 0 {
				i--
				if !yield(o.blocks[b][i]) {
					return
				}
			}
			if b == 0 {
				return
			}
			b--
			i = len(o.blocks[b])
		}
	}
}

// up walks the items from the least.
func (o *order) up() iter.Seq[item] {
	return func(yield func(item) bool) {
		for _, block := range o.blocks {
			for _, it := range block {
				if !yield(it) {
					return
				}
			}
		}
	}
}
