package memory

import (
	"fmt"
	"hash/maphash"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
	"weak"

	"github.com/sessionstore/sessionstore"
)

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func newTestStore(t *testing.T, opts *Options) *Store {
	t.Helper()
	s, err := New(opts)
	if err != nil {
		t.Fatalf("New = %v, want a store", err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func mustCreate(t *testing.T, s *Store, in sessionstore.Session) {
	t.Helper()
	if _, err := s.CreateSession(t.Context(), in); err != nil {
		t.Fatalf("CreateSession(%q) = %v, want nil", in.ID, err)
	}
}

func mustAppend(t *testing.T, s *Store, id string, texts ...string) {
	t.Helper()
	var a sessionstore.Append
	for _, text := range texts {
		m := sessionstore.UserMessage(text)
		m.ID = text
		a.Messages = append(a.Messages, m)
	}
	if _, err := s.AppendMessages(t.Context(), id, a); err != nil {
		t.Fatalf("AppendMessages(%q, %q) = %v, want nil", id, texts, err)
	}
}

func listed(t *testing.T, s *Store, q sessionstore.SessionQuery) (ids, next string) {
	t.Helper()
	page, err := s.ListSessions(t.Context(), q)
	if err != nil {
		t.Fatalf("ListSessions(%+v) = %v, want nil", q, err)
	}
	var out []string
	for _, session := range page.Sessions {
		out = append(out, session.ID)
	}
	return strings.Join(out, " "), page.Next
}

// TestOrder compares an order with a sorted slice, through growth and decline.
func TestOrder(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	rng := rand.New(rand.NewPCG(seed, 0))
	var o order
	var want []item
	compare := func(step int) {
		t.Helper()
		if got := slices.Collect(o.up()); !slices.Equal(got, want) || o.len() != len(want) {
			t.Fatalf("seed %d, step %d: up has %d items of %d, want %d, or another order", seed, step, len(got), o.len(), len(want))
		}
		for _, block := range o.blocks {
			if len(block) == 0 || len(block) > blockSize {
				t.Fatalf("seed %d, step %d: a block of %d items, want 1 to %d", seed, step, len(block), blockSize)
			}
		}
		before := item{rng.Int64N(1000), &entry{id: fmt.Sprint("e", rng.IntN(5000))}}
		at, _ := slices.BinarySearchFunc(want, before, item.compare)
		below := slices.Clone(want[:at])
		slices.Reverse(below)
		if got := slices.Collect(o.down(&before)); !slices.Equal(got, below) {
			t.Fatalf("seed %d, step %d: down from %d %s has %d items, want %d", seed, step, before.at, before.entry.id, len(got), len(below))
		}
		for range o.down(nil) {
			break // the walk may be left
		}
		for range o.up() {
			break
		}
	}
	for step := range 6000 {
		// First it grows, then it shrinks to nothing.
		if step < 3000 && rng.IntN(4) > 0 || len(want) == 0 {
			it := item{rng.Int64N(1000), &entry{id: fmt.Sprint("e", step)}}
			if step%3 == 0 && len(want) > 0 {
				it.at = want[len(want)-1].at + rng.Int64N(2)
			}
			o.insert(it)
			at, _ := slices.BinarySearchFunc(want, it, item.compare)
			want = slices.Insert(want, at, it)
		} else {
			at := rng.IntN(len(want))
			o.remove(want[at])
			want = slices.Delete(want, at, at+1)
		}
		if step%200 == 0 {
			compare(step)
		}
	}
	for len(want) > 0 {
		o.remove(want[0])
		want = want[1:]
	}
	if len(o.blocks) != 0 || o.len() != 0 {
		t.Errorf("seed %d: an empty order has %d blocks and %d items, want none", seed, len(o.blocks), o.len())
	}
}

// Blocks that have shrunk are joined: few items never lie in many blocks.
func TestOrderJoinsBlocks(t *testing.T) {
	t.Parallel()
	var o order
	var all []item
	for i := range 100 * blockSize {
		it := item{int64(i), &entry{id: "e"}}
		all = append(all, it)
		o.insert(it)
	}
	for i, it := range all {
		if i%blockSize != 0 {
			o.remove(it)
		}
	}
	if got := len(o.blocks); got > 2 {
		t.Errorf("100 items lie in %d blocks, want 2 at most", got)
	}
}

// TestHistory compares a history with a slice, and its snapshots with what they were.
func TestHistory(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	rng := rand.New(rand.NewPCG(seed, 0))
	var h history
	var want []int64
	last := int64(0)
	seqs := func(h *history) []int64 {
		var out []int64
		for i := 0; i < h.len(); {
			run := h.run(i)
			for j := range run {
				out = append(out, run[j].message.Seq)
			}
			i += len(run)
		}
		return out
	}
	type snapshot struct {
		h    history
		want []int64
	}
	var snapshots []snapshot
	for step := range 400 {
		switch rng.IntN(8) {
		case 0:
			n := rng.IntN(len(want) + 1)
			if rng.IntN(3) > 0 {
				n = max(n, len(want)-rng.IntN(70)) // most cuts are near the end
			}
			h = h.head(n)
			want = slices.Clone(want[:n])
		case 1:
			snapshots = append(snapshots, snapshot{h, slices.Clone(want)})
			last += rng.Int64N(3) // a gap, as a truncate leaves one
		default:
			for range rng.IntN(40) {
				last++
				h.grow().message.Seq = last
				want = append(want, last)
			}
		}
		if got := seqs(&h); !slices.Equal(got, want) {
			t.Fatalf("seed %d, step %d: got Seqs %v, want %v", seed, step, got, want)
		}
		for _, seq := range []int64{-1, 0, 1, last / 2, last - 1, last, last + 10} {
			at, found := slices.BinarySearch(want, seq)
			if found {
				at++
			}
			if got := h.through(seq); got != at {
				t.Fatalf("seed %d, step %d: %d records up to Seq %d, want %d", seed, step, got, seq, at)
			}
		}
	}
	for i, s := range snapshots {
		if got := seqs(&s.h); !slices.Equal(got, s.want) {
			t.Errorf("seed %d: snapshot %d has become %v, want %v", seed, i, got, s.want)
		}
	}
}

// TestIDs finds every id of a history and none else, also where their hashes are equal.
func TestIDs(t *testing.T) {
	t.Parallel()
	table := ids{seed: maphash.MakeSeed()}
	var h history
	name := func(i int) string { return fmt.Sprint("id-", i) }
	check := func(table *ids, n int) {
		t.Helper()
		for i := range n + 100 {
			at, ok := table.find(&h, name(i))
			if want := i < n; ok != want || want && at != i {
				t.Fatalf("find(%q) of %d ids = %d, %t; want %d, %t", name(i), n, at, ok, i, want)
			}
		}
	}
	check(&table, 0)
	for i := range 3000 {
		table.add(name(i), h.len())
		h.grow().message.ID = name(i)
	}
	check(&table, 3000)
	for _, n := range []int{0, 1, 6, 7, 1500, 3000} {
		head := table.head(n)
		check(&head, n)
	}
	check(&table, 3000)
	head := table.head(5)
	if got, most := cap(head.slots), minSlots; got > most {
		t.Errorf("a table of 5 ids has room for %d, want %d: the rest is to be given back", got, most)
	}
	// Two ids in one slot of equal hash: the id itself decides.
	clash := ids{seed: table.seed, slots: make([]slot, minSlots), n: 2}
	hash := slot(clash.hash(name(1))) << 32
	put(clash.slots, hash|slot(0+1))
	put(clash.slots, hash|slot(1+1))
	if at, ok := clash.find(&h, name(1)); at != 1 || !ok {
		t.Errorf("find of the second of two ids with one hash = %d, %t; want 1, true", at, ok)
	}
}

// A session that is written while a list runs is shown as it is, where it belongs now, and
// a page stays sorted.
func TestListDuringWrites(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, written string
		limit         int
		after         string
		want          string
	}{
		{"within the page", "b", 2, "", "b c"},
		{"below the page", "a", 2, "", "c b"},
		{"from the page to one before", "b", 2, "c", "a"},
		{"no session of this page", "c", 2, "c", "b a"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			db, now := NewDB(), start
			writer := newTestStore(t, &Options{DB: db, Now: func() time.Time { return now }})
			keys := map[string]sessionstore.SessionKey{}
			for _, id := range []string{"a", "b", "c"} {
				now = now.Add(time.Second)
				mustCreate(t, writer, sessionstore.Session{ID: id})
				keys[id] = sessionstore.SessionKey{UpdatedAt: now, ID: id}
			}
			// The list reads its clock after it has repaired the index.
			reader := newTestStore(t, &Options{DB: db, Now: func() time.Time {
				now = now.Add(time.Second)
				mustAppend(t, writer, c.written, fmt.Sprint("at ", now))
				return now
			}})
			q := sessionstore.SessionQuery{Limit: c.limit}
			if c.after != "" {
				q.Cursor = keys[c.after].Cursor()
			}
			if got, _ := listed(t, reader, q); got != c.want {
				t.Errorf("the list while %q is written shows %q, want %q", c.written, got, c.want)
			}
			if got, _ := listed(t, writer, sessionstore.SessionQuery{Limit: 1}); got != c.written {
				t.Errorf("the next list begins with %q, want %q", got, c.written)
			}
		})
	}
}

// A session that is deleted while a list runs is not shown.
func TestListDuringDelete(t *testing.T) {
	t.Parallel()
	s := newTestStore(t, nil)
	mustCreate(t, s, sessionstore.Session{ID: "a"})
	mustCreate(t, s, sessionstore.Session{ID: "b"})
	q, err := sessionstore.SessionQuery{}.Prepare()
	if err != nil {
		t.Fatal(err)
	}
	found := s.space.index.list(&q, nil, func() time.Time {
		// What a delete does before it takes the entry out of the index.
		s.space.find("b").end(func(*sessionstore.Session) bool { return true })
		return time.Now()
	})
	if len(found.sessions) != 1 || found.sessions[0].ID != "a" {
		t.Errorf("the list shows %v, want session a alone", found.sessions)
	}
}

// Filters that match little make short pages with bounded work, and the walk still ends.
func TestListWalkLimit(t *testing.T) {
	t.Parallel()
	s := newTestStore(t, nil)
	mustCreate(t, s, sessionstore.Session{ID: "the one", AgentName: "rare"})
	for i := range 2 * walkLimit {
		mustCreate(t, s, sessionstore.Session{ID: fmt.Sprint(i), AgentName: "common"})
	}
	q := sessionstore.SessionQuery{AgentName: "rare"}
	for call := range 3 {
		want, last := "", call == 2
		if last {
			want = "the one"
		}
		got, next := listed(t, s, q)
		if got != want || last != (next == "") {
			t.Fatalf("page %d has %q and next %q; want %q, and the end: %t", call, got, next, want, last)
		}
		q.Cursor = next
	}
}

// Without a list, writers place entries themselves once many wait, so that the next list
// has little to do.
func TestBacklogIsBounded(t *testing.T) {
	t.Parallel()
	s := newTestStore(t, nil)
	for i := range 2 * backlog {
		mustCreate(t, s, sessionstore.Session{ID: fmt.Sprint(i)})
	}
	if got := s.space.index.marked.len(); got > backlog {
		t.Errorf("%d entries wait to be placed, want %d at most", got, backlog)
	}
	// Who reads the index is not waited for.
	s.space.index.mu.RLock()
	mustCreate(t, s, sessionstore.Session{ID: "during a list"})
	s.space.index.mu.RUnlock()
	if got, _ := listed(t, s, sessionstore.SessionQuery{Limit: 1}); got != "during a list" {
		t.Errorf("the list begins with %q, want the session created last", got)
	}
	if got := s.space.index.marked.len(); got != 0 {
		t.Errorf("%d entries wait after a list, want 0", got)
	}
}

// Field report S24: a deleted session leaves nothing behind, whether it was listed, written
// since, or neither; and so does one that expired.
func TestNothingIsLeft(t *testing.T) {
	t.Parallel()
	now := start
	db := NewDB()
	s := newTestStore(t, &Options{DB: db, Now: func() time.Time { return now }})
	for _, id := range []string{"new", "listed", "written", "expired", "taken"} {
		mustCreate(t, s, sessionstore.Session{ID: id, UserID: "u", ParentID: "p", TTL: time.Hour})
		mustAppend(t, s, id, "1", "2")
		if id == "listed" || id == "written" {
			listed(t, s, sessionstore.SessionQuery{})
		}
		if id == "written" {
			now = now.Add(time.Second)
			mustAppend(t, s, id, "3")
		}
		entry := weak.Make(s.space.find(id))
		switch id {
		case "expired":
			now = now.Add(time.Hour)
			if n, err := s.PurgeExpired(t.Context(), 0); n != 1 || err != nil {
				t.Fatalf("PurgeExpired = %d, %v; want 1, nil", n, err)
			}
		case "taken":
			now = now.Add(time.Hour)
			mustCreate(t, s, sessionstore.Session{ID: id})
			fallthrough
		default:
			if err := s.DeleteSession(t.Context(), id); err != nil {
				t.Fatalf("DeleteSession(%q) = %v, want nil", id, err)
			}
		}
		runtime.GC()
		if entry.Value() != nil {
			t.Errorf("the entry of the session %q is still referred to, want it to be garbage", id)
		}
	}
	ix := &s.space.index
	if a, b, c, d := ix.all.len(), len(ix.byUser), len(ix.byParent), ix.expiring.len(); a+b+c+d != 0 {
		t.Errorf("the index has %d sessions, %d users, %d parents, %d expiries; want none", a, b, c, d)
	}
	for i := range s.space.shards {
		if n := len(s.space.shards[i].entries); n != 0 {
			t.Errorf("shard %d has %d sessions, want none", i, n)
		}
	}
	if ix.marked.len() != 0 || ix.marked.head != nil || ix.marked.tail != nil {
		t.Errorf("%d entries wait to be placed, want none", ix.marked.len())
	}
}

// A truncate gives back the memory of what it removed, and so does a fork at a Seq: neither
// keeps the chunk alive that the cut went through.
func TestTruncateReleases(t *testing.T) {
	t.Parallel()
	s := newTestStore(t, nil)
	mustCreate(t, s, sessionstore.Session{ID: "s"})
	for i := range 3 * chunkSize / 2 {
		mustAppend(t, s, "s", fmt.Sprint(i))
	}
	const keep = chunkSize / 2
	removed := weak.Make(s.space.find("s").history.at(chunkSize))
	inCut := weak.Make(s.space.find("s").history.at(keep))
	if _, err := s.ForkSession(t.Context(), "s", sessionstore.Fork{ID: "fork", AtSeq: new(int64(keep))}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.TruncateMessages(t.Context(), "s", sessionstore.Truncate{ThroughSeq: keep}); err != nil {
		t.Fatal(err)
	}
	runtime.GC()
	if removed.Value() != nil || inCut.Value() != nil {
		t.Errorf("a removed record is still referred to (in another chunk: %t, in the chunk of the cut: %t), want neither",
			removed.Value() != nil, inCut.Value() != nil)
	}
	mustAppend(t, s, "s", fmt.Sprint(chunkSize)) // its id is free again
}

func TestMarkedList(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	rng := rand.New(rand.NewPCG(seed, 0))
	var l list
	var want []*entry
	for step := range 500 {
		if rng.IntN(2) == 0 {
			e := &entry{}
			l.push(e)
			want = append(want, e)
		} else if len(want) > 0 {
			i := rng.IntN(len(want))
			l.remove(want[i])
			want = slices.Delete(want, i, i+1)
		}
		var got, back []*entry
		for e := l.first(); e != nil; e = e.link.next {
			got = append(got, e)
		}
		for e := l.tail; e != nil; e = e.link.prev {
			back = append(back, e)
		}
		slices.Reverse(back)
		if !slices.Equal(got, want) || !slices.Equal(back, want) || l.len() != len(want) {
			t.Fatalf("seed %d, step %d: %d entries forward, %d back, len %d; want %d", seed, step, len(got), len(back), l.len(), len(want))
		}
	}
}

// A record shares nothing with the message that it was made of or with those made of it.
func TestRecordOwnsItsValues(t *testing.T) {
	t.Parallel()
	m := sessionstore.UserMessage("text")
	m.ID, m.ToolCalls = "m", []sessionstore.ToolCall{{ID: "c", Type: "function", Name: "f"}}
	m.Metadata = sessionstore.Metadata{"list": []any{"a"}, "map": map[string]any{"k": int64(1)}}
	scribble := func(m *sessionstore.Message) {
		m.ToolCalls[0].Name = "scribbled"
		m.Metadata["list"].([]any)[0] = "scribbled"
		m.Metadata["map"].(map[string]any)["k"] = "scribbled"
		m.Metadata["more"] = "scribbled"
	}
	var r record
	r.set(&m)
	scribble(&m)
	var first, second sessionstore.Message
	r.copyTo(&first, "s")
	scribble(&first)
	r.copyTo(&second, "s")
	got := fmt.Sprintf("%v %s", map[string]any(second.Metadata), second.ToolCalls[0].Name)
	if want := "map[list:[a] map:map[k:1]] f"; got != want {
		t.Errorf("the record holds %s, want %s", got, want)
	}
}

// The entry of a deleted session is taken out of the index after its id is free: by then
// its successor may lie there, at the same time and under the same id, and must stay.
func TestSuccessorStaysListed(t *testing.T) {
	t.Parallel()
	s := newTestStore(t, &Options{Now: func() time.Time { return start }})
	for i, first := range []string{"old", "new"} {
		id := fmt.Sprint("s", i)
		mustCreate(t, s, sessionstore.Session{ID: id, UserID: "u"})
		old := s.space.find(id)
		if _, err := s.ListSessions(t.Context(), sessionstore.SessionQuery{}); err != nil { // places the old one
			t.Fatal(err)
		}
		// What remove does, up to where it takes the entry out of the index.
		sh := s.space.shard(id)
		sh.mu.Lock()
		old.end(func(*sessionstore.Session) bool { return true })
		delete(sh.entries, id)
		sh.mu.Unlock()
		mustCreate(t, s, sessionstore.Session{ID: id, UserID: "u"})
		list := func() {
			page, err := s.ListSessions(t.Context(), sessionstore.SessionQuery{UserID: "u"})
			if n := len(page.Sessions); err != nil || n != i+1 {
				t.Errorf("round %d: got %d sessions, %v, want %d", i, n, err, i+1)
			}
		}
		if first == "new" {
			list() // places the new one beside the old one
		}
		s.space.index.drop(old)
		list()
	}
}
