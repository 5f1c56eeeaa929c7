package formats

import (
	"context"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/sessionstore/sessionstore"
)

// tree is a conversation that may have been continued in several ways from any message.
type tree struct {
	field   string // where the nodes stand, for errors
	name    string // the conversation's id where the file comes from; "" if it has none
	session sessionstore.Session
	nodes   []node // in the order of the file
	current string // the id of the last node of the branch that was open; "" if not known

	// speaker returns what adds the messages of a node to b. It is called for each branch,
	// and what it returns for each node of the branch that says something, in order.
	speaker func(b *builder) func(node) error
}

// node is one entry of a tree.
type node struct {
	id     string
	parent string    // "": a root
	at     time.Time // zero: not known
	says   bool      // it has something that belongs to the history
	value  string    // its JSON
}

// maxBranches bounds what a file can make us write: each branch has all the messages
// before it as well.
const maxBranches = 1000

// maxBranchBytes bounds the text of all branches of a conversation together.
const maxBranchBytes = 16 * MaxRecordBytes

// eachTree makes a format of a decoder for records that are trees. The branch that was
// open becomes a session; the others are counted, or by Options.Branches become forks of
// it, each from the last message that they have in common.
func eachTree(decode func(text string) (*tree, error)) format {
	return func(ctx context.Context, r io.Reader, o *Options) iter.Seq2[conversation, error] {
		return func(yield func(conversation, error) bool) {
			s := &spool{dir: o.TempDir}
			defer s.close()
			err := readRecords(r, nil, func(rec record) bool {
				if ctx.Err() != nil {
					return false // the importer says so
				}
				if rec.err != nil {
					return yield(conversation{}, RecordError{Line: rec.line, Index: rec.index, Err: rec.err})
				}
				t, err := decode(rec.text)
				if err == nil {
					return t.each(rec, s, o.Branches, yield)
				}
				return yield(conversation{}, RecordError{Line: rec.line, Index: rec.index, Err: err})
			})
			if err != nil {
				yield(conversation{}, err)
			}
		}
	}
}

// each yields the conversations of t, which is that of rec. It returns false if nobody
// listens any more.
func (t *tree) each(rec record, s *spool, branches bool, yield func(conversation, error) bool) bool {
	report := func(err error) bool {
		return yield(conversation{}, RecordError{Line: rec.line, Index: rec.index, Err: err})
	}
	lines, odd, err := t.lines()
	if err != nil {
		return report(err)
	}
	others := lines[1:]
	c, err := t.conversation(rec, s, lines[0], nil)
	if s.err != nil {
		yield(conversation{}, s.err)
		return false
	}
	if err != nil {
		return report(err)
	}
	if !branches {
		c.branches, others = int64(len(others)), nil
	}
	if len(others) == 0 {
		rec.text, t.nodes = "", nil // c has it as long as it is needed
	}
	if !yield(c, nil) {
		return false
	}
	if odd != nil && !report(odd) {
		return false
	}
	if len(others) > maxBranches {
		if !report(&sessionstore.LimitError{What: "branches of a conversation", Limit: maxBranches, Got: int64(len(others))}) {
			return false
		}
		others = others[:maxBranches]
	}
	total := 0
	for _, line := range others {
		for _, n := range line {
			total += len(t.nodes[n].value)
		}
		if total > maxBranchBytes {
			return report(&sessionstore.LimitError{What: "bytes in the branches of a conversation", Limit: maxBranchBytes, Got: int64(total)})
		}
		c, err := t.conversation(rec, s, line, lines[0])
		switch {
		case s.err != nil:
			yield(conversation{}, s.err)
			return false
		case err != nil:
			if !report(err) {
				return false
			}
		case !yield(c, nil):
			return false
		}
	}
	return true
}

// conversation makes a conversation of a line of nodes. Trunk is the line that it is a
// branch of, nil for the trunk itself.
func (t *tree) conversation(rec record, s *spool, line, trunk []int) (conversation, error) {
	shared := 0
	for shared < min(len(line), len(trunk)) && line[shared] == trunk[shared] {
		shared++
	}
	var at int64 // the last Seq that both have
	c, err := decoder(func(_ string, b *builder) error {
		b.session = t.session
		say := t.speaker(b)
		for i, n := range line {
			if i == shared {
				at = b.count
			}
			if !t.nodes[n].says {
				continue
			}
			if err := say(t.nodes[n]); err != nil {
				return err
			}
		}
		return nil
	}).run(rec.text, s)
	if err != nil {
		return conversation{}, err
	}
	c.line, c.index, c.name = rec.line, rec.index, t.name
	if trunk != nil {
		last := t.nodes[line[len(line)-1]]
		c.branch, c.record, c.session.ForkSeq = last.id, "", at
		c.session.UpdatedAt = last.at
	}
	return c, nil
}

// Where a node stands, as far as lines has found out.
const (
	unseen   = iota
	climbing // it is below a node that is being looked for
	placed
	circular // it is its own ancestor, or below one that is
)

const none = -1

// place is what lines finds out about a node.
type place struct {
	parent int // none for a root
	state  int
	tip    int       // the last node that says something on the way to this one, or none
	at     time.Time // of this node or the nearest above that has a time
	inner  bool      // another node is below it
}

// lines returns the ways from a root to an end of the tree: first the one to the current
// node, or where that is not there to the newest end, then the others, without what says
// nothing at their ends. The first may be empty. Odd says which nodes could not be placed.
func (t *tree) lines() (lines [][]int, odd, err error) {
	places, odd := t.place()
	current := none
	var ends []int
	for i, p := range places {
		if t.current != "" && t.nodes[i].id == t.current {
			current = i
		}
		if p.state == placed && !p.inner {
			ends = append(ends, i)
		}
	}
	if current != none && places[current].state == circular {
		return nil, nil, odd
	}
	if current == none {
		if len(ends) == 0 && odd != nil {
			return nil, nil, odd
		}
		for _, i := range ends {
			if current == none || places[i].newer(places[current]) {
				current = i
			}
		}
	}

	// A tip above another one, or above the current node, is no end of its own.
	covered := make([]bool, len(places))
	cover := func(i int) {
		for i != none && !covered[i] {
			covered[i] = true
			i = places[i].parent
		}
	}
	cover(current)
	isTip := make([]bool, len(places))
	var tips []int
	for _, i := range ends {
		if tip := places[i].tip; tip != none && !isTip[tip] {
			isTip[tip] = true
			tips = append(tips, tip)
			cover(places[tip].parent)
		}
	}
	lines = append(lines, way(places, current))
	for _, i := range tips {
		if !covered[i] {
			lines = append(lines, way(places, i))
		}
	}
	return lines, odd, nil
}

// newer reports whether the end p, which comes later in the file than q, is the one to go
// on from.
func (p place) newer(q place) bool {
	if (p.tip == none) != (q.tip == none) {
		return q.tip == none
	}
	return !p.at.Before(q.at)
}

// way returns the nodes from the root to i.
func way(places []place, i int) []int {
	var line []int
	for ; i != none; i = places[i].parent {
		line = append(line, i)
	}
	slices.Reverse(line)
	return line
}

// place finds the place of each node, in time that grows with their number alone. The
// error is about nodes that no root leads to, and such that have lost their parent.
func (t *tree) place() ([]place, error) {
	index := make(map[string]int, len(t.nodes))
	for i, n := range t.nodes {
		index[n.id] = i
	}
	var orphans, around []int
	places := make([]place, len(t.nodes))
	for i, n := range t.nodes {
		parent, ok := index[n.parent]
		if n.parent == "" || !ok {
			parent = none
		}
		if n.parent != "" && !ok {
			orphans = append(orphans, i)
		}
		places[i] = place{parent: parent, tip: none}
	}
	var chain []int
	for i := range places {
		chain = chain[:0]
		j := i
		for j != none && places[j].state == unseen {
			places[j].state = climbing
			chain = append(chain, j)
			j = places[j].parent
		}
		circle := j != none && places[j].state != placed
		for _, k := range slices.Backward(chain) {
			p := &places[k]
			if circle {
				p.state = circular
				around = append(around, k)
				continue
			}
			p.state = placed
			if up := p.parent; up != none {
				places[up].inner = true
				p.tip, p.at = places[up].tip, places[up].at
			}
			if t.nodes[k].says {
				p.tip = k
			}
			if at := t.nodes[k].at; !at.IsZero() {
				p.at = at
			}
		}
	}
	var odd []string
	if n := len(around); n > 0 {
		odd = append(odd, fmt.Sprintf("%d nodes, %q among them, are left out: their parents go round in a circle", n, clip(t.nodes[around[0]].id)))
	}
	if n := len(orphans); n > 0 {
		odd = append(odd, fmt.Sprintf("the parents of %d nodes, %q among them, are missing, and all that was before them", n, clip(t.nodes[orphans[0]].id)))
	}
	if odd == nil {
		return places, nil
	}
	return places, invalid(t.field, strings.Join(odd, "; "))
}
