package mongo

import (
	"context"
	"errors"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/sessionstore/sessionstore"
)

const (
	// A block is full with one of these, and a tail is moved to blocks when it passes them.
	spillMessages = 96
	spillBytes    = 64 << 10

	// What a tail keeps of the newest messages at most, so that a read of those few needs
	// no block.
	keepMessages = 32
	keepBytes    = 16 << 10

	// maxRefs bounds the blocks of a session, and with them the size of its head: some 1.5
	// million short messages, or 1.5 GB of longer ones.
	maxRefs = 25_000

	// maxInsert bounds the bytes of messages that one command writes, but for a single block.
	maxInsert = 4 << 20
)

// errMoved says that a head has other blocks by now than those that were read.
var errMoved = errors.New("the session has changed meanwhile")

// crosses reports whether a value that grew has passed a multiple of a bound. One writer
// finds that for each multiple, however many there are.
func crosses(before, after, bound int64) bool { return before/bound < after/bound }

// cut divides messages into blocks of an incarnation, and returns the references to them.
// Nobody knows the blocks yet: until a head refers to them, a purge may remove them.
func (s *Store) cut(key, gen string, entries []entry) ([]block, []ref) {
	var blocks []block
	var refs []ref
	for len(entries) > 0 {
		n, size := 0, 0
		for n < len(entries) && n < spillMessages && (n == 0 || size+len(entries[n].text) <= spillBytes) {
			size += len(entries[n].text)
			n++
		}
		b := block{ID: newToken(), Session: key, Gen: gen, Space: s.opts.Namespace, Check: stamp(s.clock())}
		for _, e := range entries[:n] {
			b.Seqs = append(b.Seqs, e.seq)
			b.IDs = append(b.IDs, e.id)
			b.Messages = append(b.Messages, e.text)
		}
		blocks = append(blocks, b)
		refs = append(refs, ref{Block: b.ID, First: entries[0].seq, Last: entries[n-1].seq, N: int64(n), Size: int64(size)})
		entries = entries[n:]
	}
	return blocks, refs
}

// checkRefs holds the number of a session's blocks against maxRefs.
func checkRefs(n int) error {
	if n > maxRefs {
		return &sessionstore.LimitError{What: "blocks of messages in a session", Limit: maxRefs, Got: int64(n)}
	}
	return nil
}

// insert writes blocks.
func (s *Store) insert(ctx context.Context, blocks []block) error {
	for len(blocks) > 0 {
		n, size := 0, 0
		for n < len(blocks) && (n == 0 || size < maxInsert) {
			for _, text := range blocks[n].Messages {
				size += len(text)
			}
			n++
		}
		if _, err := s.blocks.InsertMany(ctx, blocks[:n]); err != nil {
			return heeded(ctx, err)
		}
		blocks = blocks[n:]
	}
	return nil
}

// fetch returns the blocks of the references, in their order, with the fields of the
// projection, or all. It is errMoved if one is gone, because the head has moved on.
func (s *Store) fetch(ctx context.Context, h *head, refs []ref, fields bson.D) ([]block, error) {
	if len(refs) == 0 {
		return nil, nil
	}
	filter := bson.D{
		{Key: "session", Value: h.Key},
		{Key: "_id", Value: bson.D{{Key: "$in", Value: names(refs)}}},
	}
	o := options.Find()
	if fields != nil {
		o.SetProjection(fields)
	}
	found, err := s.find(ctx, filter, o)
	if err != nil {
		return nil, err
	}
	at := make(map[string]int, len(found))
	for i := range found {
		at[found[i].ID] = i
	}
	out := make([]block, len(refs))
	for i, r := range refs {
		j, ok := at[r.Block]
		if !ok {
			return nil, s.missing(ctx, h)
		}
		out[i] = found[j]
	}
	return out, nil
}

func (s *Store) find(ctx context.Context, filter bson.D, o *options.FindOptionsBuilder) ([]block, error) {
	cursor, err := s.blocks.Find(ctx, filter, o)
	if err != nil {
		return nil, heeded(ctx, err)
	}
	var out []block
	if err := cursor.All(ctx, &out); err != nil {
		return nil, heeded(ctx, err)
	}
	return out, nil
}

func names(refs []ref) []string {
	out := make([]string, len(refs))
	for i, r := range refs {
		out[i] = r.Block
	}
	return out
}

// search returns those messages in the head's blocks that have one of the ids.
func (s *Store) search(ctx context.Context, h *head, ids []string) ([]entry, error) {
	filter := bson.D{
		{Key: "session", Value: h.Key},
		{Key: "ids", Value: bson.D{{Key: "$in", Value: ids}}},
	}
	found, err := s.find(ctx, filter, options.Find())
	if err != nil {
		return nil, err
	}
	want := make(map[string]bool, len(ids))
	for _, id := range ids {
		want[id] = true
	}
	mine := make(map[string]bool, len(h.Refs))
	for _, r := range h.Refs {
		mine[r.Block] = true
	}
	var out []entry
	for i := range found {
		if !mine[found[i].ID] {
			continue // not committed, or dropped
		}
		entries, err := found[i].entries()
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			if want[e.id] {
				out = append(out, e)
			}
		}
	}
	return out, nil
}

// unmoved is errMoved if the head has other blocks by now.
func (s *Store) unmoved(ctx context.Context, h *head) error {
	now, err := s.read(ctx, h.Key, bson.D{{Key: "gen", Value: 1}, {Key: "epoch", Value: 1}})
	if err != nil {
		return err
	}
	if now == nil || now.Gen != h.Gen || now.Epoch != h.Epoch {
		return errMoved
	}
	return nil
}

// missing says why a block of the head could not be found: the head has moved on, or, if
// it has not, nothing can be read from it any more.
func (s *Store) missing(ctx context.Context, h *head) error {
	if err := s.unmoved(ctx, h); err != nil {
		return err
	}
	return errDamaged
}

// spill moves all but the newest messages of a tail to blocks. Appends go on meanwhile. If
// somebody else was first, it is their blocks that count.
func (s *Store) spill(ctx context.Context, key string) error {
	h, err := s.read(ctx, key, nil)
	if err != nil || h == nil || h.Format != format {
		return err
	}
	tail, err := h.entries()
	if err != nil {
		return err
	}
	tail = tail[:len(tail)-kept(tail)]
	blocks, refs := s.cut(key, h.Gen, tail)
	if len(blocks) == 0 {
		return nil
	}
	if err := checkRefs(len(h.Refs) + len(refs)); err != nil {
		return err
	}
	if err := s.insert(ctx, blocks); err != nil {
		return err
	}
	var texts, ids []string
	size := int64(0)
	for _, e := range tail {
		texts, ids = append(texts, e.text), append(ids, e.id)
		size += int64(len(e.text))
	}
	_, err = s.modify(ctx, bson.D{{Key: "_id", Value: key}, {Key: "gen", Value: h.Gen}, {Key: "epoch", Value: h.Epoch}}, bson.D{
		{Key: "$pullAll", Value: bson.D{{Key: "tail", Value: texts}, {Key: "ids", Value: ids}}},
		{Key: "$push", Value: bson.D{{Key: "refs", Value: bson.D{{Key: "$each", Value: refs}}}}},
		{Key: "$max", Value: bson.D{{Key: "hi", Value: greatest(tail)}}},
		{Key: "$inc", Value: bson.D{{Key: "epoch", Value: int64(1)}, {Key: "n", Value: int64(-len(tail))}, {Key: "size", Value: -size}}},
	}, bson.D{{Key: "gen", Value: 1}})
	if errors.Is(err, errRefused) {
		return s.discard(ctx, h, refs)
	}
	return err
}

// greatest is the greatest id of the entries.
func greatest(entries []entry) (id string) {
	for _, e := range entries {
		id = max(id, e.id)
	}
	return id
}

// kept is how many of the newest messages a spill leaves in the tail.
func kept(tail []entry) int {
	n, size := 0, 0
	for n < min(len(tail), keepMessages) {
		size += len(tail[len(tail)-1-n].text)
		if size > keepBytes {
			break
		}
		n++
	}
	return n
}

// discard removes blocks that were written for a head that has moved on. It looks first
// whether that refers to them after all.
func (s *Store) discard(ctx context.Context, h *head, refs []ref) error {
	if len(refs) == 0 {
		return nil
	}
	now, err := s.read(ctx, h.Key, bson.D{{Key: "gen", Value: 1}, {Key: "refs", Value: 1}})
	if err != nil {
		return err
	}
	if now != nil && now.Gen == h.Gen {
		used := make(map[string]bool, len(now.Refs))
		for _, r := range now.Refs {
			used[r.Block] = true
		}
		refs = slices.DeleteFunc(slices.Clone(refs), func(r ref) bool { return used[r.Block] })
	}
	return s.remove(ctx, h.Key, refs)
}

// remove deletes blocks.
func (s *Store) remove(ctx context.Context, key string, refs []ref) error {
	if len(refs) == 0 {
		return nil
	}
	_, err := s.blocks.DeleteMany(ctx, bson.D{
		{Key: "session", Value: key},
		{Key: "_id", Value: bson.D{{Key: "$in", Value: names(refs)}}},
	})
	return heeded(ctx, err)
}
