package mongo

import (
	"context"
	"errors"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/sessionstore/sessionstore"
)

// maxTail is how many bytes of messages a tail may have for another append: with 8 MiB
// more, ids, state and maxRefs references a head stays below MongoDB's 16 MiB.
const maxTail = 2 << 20

// AppendMessages adds a batch to a history, in one round trip; see [sessionstore.Append].
// One that would fill a tail by itself is written to blocks first, in three.
//
// Where the reply is lost and the driver may not send the command again, as on a
// standalone server, the outcome is unknown; repeating the call with the same ids settles
// it.
func (s *Store) AppendMessages(ctx context.Context, id string, a sessionstore.Append) (_ []sessionstore.Message, err error) {
	defer wrap(&err, "append to", id)
	if ctx, err = s.enter(ctx); err != nil {
		return nil, err
	}
	defer s.scope.Leave()
	if a, err = a.Prepare(id); err != nil {
		return nil, err
	}
	now := s.clock()
	b, err := newBatch(a, now)
	if err != nil {
		return nil, err
	}
	is := s.assumed(s.key(id), b)
	for tries := 0; ; tries++ {
		direct := b.fills() && tries < directTries
		if len(b.Messages) > 0 && !direct {
			out, err := s.tryAppend(ctx, id, b, is, now)
			if !errors.Is(err, errRefused) {
				return out, err
			}
		}
		// The session has moved on if reading it shows no reason for the refusal.
		h, session, err := s.load(ctx, id, nil)
		if err != nil {
			return nil, err
		}
		out, err := s.judge(ctx, h, session, b.Append, now)
		if err == nil && out == nil && direct {
			out, err = s.appendBlocks(ctx, h, session, b, now)
		}
		if out != nil || err != nil && !errors.Is(err, errMoved) && !errors.Is(err, errRefused) {
			return out, err
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		is, now = found(h), s.clock()
	}
}

// directTries is how often a batch that fills a tail is tried to be written to blocks at
// once. Somebody else's append in between makes that fail, and not the other way.
const directTries = 3

// batch is a prepared batch whose messages have their times, and are encoded.
type batch struct {
	sessionstore.Append
	ids   []string
	texts []string
	size  int // of the texts
}

// newBatch gives messages without a time that of now. It is theirs however long the append
// takes.
func newBatch(a sessionstore.Append, now time.Time) (batch, error) {
	b := batch{Append: a, ids: a.IDs(), texts: make([]string, len(a.Messages))}
	for i := range a.Messages {
		m := &a.Messages[i] // Prepare has made it this call's own
		if m.CreatedAt.IsZero() {
			m.CreatedAt = now
		}
		e, err := newEntry(*m)
		if err != nil {
			return batch{}, err
		}
		b.texts[i] = e.text
		b.size += len(e.text)
	}
	return b, nil
}

// fills reports whether a tail would be moved to blocks because of this batch alone.
func (b batch) fills() bool { return len(b.texts) >= spillMessages || b.size >= spillBytes }

// state is what an append takes a session to be. It is part of the filter, with what shows
// that none of the batch's ids is in a block.
type state struct {
	ttl    int64
	blocks bson.D
}

// assumed is the state before anything was read: an id above all those in blocks is in
// none. Those that this module makes grow with time; for any other that does not, the
// append is refused, and the blocks are searched.
func (s *Store) assumed(key string, b batch) state {
	is := state{ttl: s.shared.ttls.guess(key)}
	if len(b.ids) > 0 {
		is.blocks = bson.D{{Key: "hi", Value: bson.D{{Key: "$lt", Value: slices.Min(b.ids)}}}}
	}
	return is
}

// found is the state that a head shows whose blocks have none of the ids: while it has
// the same blocks, that stays so.
func found(h *head) state {
	return state{ttl: h.TTL, blocks: bson.D{{Key: "gen", Value: h.Gen}, {Key: "epoch", Value: h.Epoch}}}
}

// afterAppend is what an append must know of the head.
var afterAppend = bson.D{{Key: "last", Value: 1}, {Key: "n", Value: 1}, {Key: "size", Value: 1}}

// tryAppend appends in one step, if the session is as it should be; else errRefused.
func (s *Store) tryAppend(ctx context.Context, id string, b batch, is state, now time.Time) ([]sessionstore.Message, error) {
	filter := append(s.existing(s.key(id), now),
		bson.E{Key: "status", Value: string(sessionstore.StatusActive)},
		bson.E{Key: "ttl", Value: is.ttl},
		bson.E{Key: "ids", Value: bson.D{{Key: "$nin", Value: b.ids}}},
		bson.E{Key: "size", Value: bson.D{{Key: "$lte", Value: maxTail}}})
	filter = append(filter, is.blocks...)
	if b.IfLastSeq != nil {
		filter = append(filter, bson.E{Key: "last", Value: *b.IfLastSeq})
	}
	n, size := int64(len(b.texts)), int64(b.size)
	h, err := s.modify(ctx, filter, bson.D{
		{Key: "$push", Value: bson.D{
			{Key: "tail", Value: bson.D{{Key: "$each", Value: b.texts}}},
			{Key: "ids", Value: bson.D{{Key: "$each", Value: b.ids}}},
		}},
		{Key: "$inc", Value: bson.D{{Key: "last", Value: n}, {Key: "count", Value: n}, {Key: "n", Value: n}, {Key: "size", Value: size}}},
		{Key: "$max", Value: touched(id, now, is.ttl)},
	}, afterAppend)
	if err != nil {
		return nil, err
	}
	out := slices.Clone(b.Messages)
	for i := range out {
		out[i].Seq = h.Last - n + 1 + int64(i)
	}
	if crosses(h.N-n, h.N, spillMessages) || crosses(h.Size-size, h.Size, spillBytes) {
		// The messages are stored: that this does not succeed is no failure of the append.
		// Whoever crosses the next bound tries again.
		_ = s.spill(ctx, h.Key)
	}
	return out, nil
}

// touched is what a session that is used at now has at least: UpdatedAt and expiry never
// move back.
func touched(id string, now time.Time, ttl int64) bson.D {
	return bson.D{
		{Key: "place", Value: place(now, id)},
		{Key: "expires", Value: until(now, ttl)},
	}
}

// appendBlocks appends a batch with what was read of the head: the tail and all but the
// newest of the batch become blocks, before the head is told. It is errRefused if anything
// was appended meanwhile.
func (s *Store) appendBlocks(ctx context.Context, h *head, session sessionstore.Session, b batch, now time.Time) ([]sessionstore.Message, error) {
	to, out, err := b.Apply(session, now)
	if err != nil {
		return nil, err
	}
	entries, err := h.entries()
	if err != nil {
		return nil, err
	}
	for i := range out {
		entries = append(entries, entry{seq: out[i].Seq, id: b.ids[i], text: b.texts[i]})
	}
	older := entries[:len(entries)-kept(entries[len(entries)-len(out):])]
	blocks, refs := s.cut(h.Key, h.Gen, older)
	if err := checkRefs(len(h.Refs) + len(refs)); err != nil {
		return nil, err
	}
	if err := s.insert(ctx, blocks); err != nil {
		return nil, err
	}
	after := &head{Tail: []string{}, IDs: []string{}}
	after.add(entries[len(older):])
	filter := append(s.existing(h.Key, now),
		bson.E{Key: "status", Value: string(sessionstore.StatusActive)},
		bson.E{Key: "ttl", Value: h.TTL},
		bson.E{Key: "gen", Value: h.Gen},
		bson.E{Key: "epoch", Value: h.Epoch},
		bson.E{Key: "last", Value: h.Last})
	_, err = s.modify(ctx, filter, bson.D{
		{Key: "$set", Value: bson.D{
			{Key: "last", Value: to.LastSeq}, {Key: "count", Value: to.MessageCount},
			{Key: "tail", Value: after.Tail}, {Key: "ids", Value: after.IDs}, {Key: "n", Value: after.N}, {Key: "size", Value: after.Size},
		}},
		{Key: "$push", Value: bson.D{{Key: "refs", Value: bson.D{{Key: "$each", Value: refs}}}}},
		{Key: "$inc", Value: bson.D{{Key: "epoch", Value: int64(1)}}},
		{Key: "$max", Value: append(touched(session.ID, now, h.TTL), bson.E{Key: "hi", Value: greatest(older)})},
	}, bson.D{{Key: "gen", Value: 1}})
	if errors.Is(err, errRefused) {
		_ = s.discard(ctx, h, refs) // else a purge does it
	}
	if err != nil {
		return nil, err
	}
	return out, nil
}
