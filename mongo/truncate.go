package mongo

import (
	"context"
	"errors"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/sessionstore/sessionstore"
)

// part is the beginning of a history, up to a seq: blocks as they are, and messages of the
// block or the tail that the seq lies in.
type part struct {
	refs  []ref
	split []ref // at most one: the block that the seq lies in
	tail  []entry
}

// upTo divides a history.
func upTo(h *head, through int64) (part, error) {
	var p part
	for _, r := range h.Refs {
		switch {
		case r.Last <= through:
			p.refs = append(p.refs, r)
		case r.First <= through:
			p.split = append(p.split, r)
		}
	}
	tail, err := h.entries()
	if err != nil {
		return part{}, err
	}
	for _, e := range tail {
		if e.seq <= through {
			p.tail = append(p.tail, e)
		}
	}
	return p, nil
}

// begin returns the messages of a block up to a seq.
func (s *Store) begin(ctx context.Context, h *head, of []ref, through int64) ([]entry, error) {
	blocks, err := s.fetch(ctx, h, of, nil)
	if err != nil {
		return nil, err
	}
	var out []entry
	for i := range blocks {
		entries, err := blocks[i].entries()
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			if e.seq <= through {
				out = append(out, e)
			}
		}
	}
	return out, nil
}

// count is the number of messages of the blocks.
func count(refs []ref) (n int64) {
	for _, r := range refs {
		n += r.N
	}
	return n
}

// TruncateMessages removes the newest messages; see [sessionstore.Truncate].
func (s *Store) TruncateMessages(ctx context.Context, id string, t sessionstore.Truncate) (_ sessionstore.Session, err error) {
	defer wrap(&err, "truncate", id)
	if ctx, err = s.enter(ctx); err != nil {
		return sessionstore.Session{}, err
	}
	defer s.scope.Leave()
	if err := sessionstore.CheckID(id); err != nil {
		return sessionstore.Session{}, err
	}
	if t, err = t.Prepare(); err != nil {
		return sessionstore.Session{}, err
	}
	for {
		out, err := s.truncate(ctx, id, t)
		if !errors.Is(err, errMoved) && !errors.Is(err, errRefused) {
			return out, err
		}
		if err := ctx.Err(); err != nil {
			return sessionstore.Session{}, err
		}
	}
}

// truncate gives the session the blocks that stay, one of them new for what stays of the
// block or tail that is divided, and an empty tail. Appends do not disturb it: what is in
// the tail by then goes too. It is errMoved or errRefused if the session has changed.
func (s *Store) truncate(ctx context.Context, id string, t sessionstore.Truncate) (sessionstore.Session, error) {
	now := s.clock()
	h, was, err := s.load(ctx, id, nil)
	if err != nil {
		return sessionstore.Session{}, err
	}
	if _, err := t.Apply(was, was.MessageCount, now); err != nil {
		return sessionstore.Session{}, err
	}
	p, err := upTo(h, t.ThroughSeq)
	if err != nil {
		return sessionstore.Session{}, err
	}
	if count(p.refs)+count(p.split)+int64(len(p.tail)) == was.MessageCount && len(p.split) == 0 {
		return was, nil // nothing to remove
	}
	// What stays in a small block of its own would be read with many others, after many
	// truncates: it is joined with the block before.
	join := p.split
	if n := len(p.refs); n > 0 && len(p.split)+len(p.tail) > 0 && p.refs[n-1].N < spillMessages/2 && p.refs[n-1].Size < spillBytes/2 {
		join = append([]ref{p.refs[n-1]}, join...)
		p.refs = p.refs[:n-1]
	}
	stay, err := s.begin(ctx, h, join, t.ThroughSeq)
	if err != nil {
		return sessionstore.Session{}, err
	}
	stay = append(stay, p.tail...)
	remaining := count(p.refs) + int64(len(stay))
	if _, err := t.Apply(was, remaining, now); err != nil {
		return sessionstore.Session{}, err
	}
	blocks, refs := s.cut(h.Key, h.Gen, stay)
	dropped := h.Refs[len(p.refs):]
	if err := s.insert(ctx, blocks); err != nil {
		return sessionstore.Session{}, err
	}
	if err := s.doubt(ctx, h.Key, dropped); err != nil {
		return sessionstore.Session{}, err
	}
	filter := append(s.existing(h.Key, now),
		bson.E{Key: "gen", Value: h.Gen},
		bson.E{Key: "epoch", Value: h.Epoch},
		bson.E{Key: "ttl", Value: h.TTL},
		bson.E{Key: "status", Value: string(sessionstore.StatusActive)})
	if t.IfLastSeq != nil {
		filter = append(filter, bson.E{Key: "last", Value: *t.IfLastSeq})
	}
	least := touched(id, now, h.TTL)
	if len(stay) > 0 {
		least = append(least, bson.E{Key: "hi", Value: greatest(stay)})
	}
	after, err := s.modify(ctx, filter, bson.D{
		{Key: "$set", Value: bson.D{
			{Key: "refs", Value: append(append([]ref{}, p.refs...), refs...)}, {Key: "count", Value: remaining},
			{Key: "tail", Value: bson.A{}}, {Key: "ids", Value: bson.A{}},
			{Key: "n", Value: int64(0)}, {Key: "size", Value: int64(0)},
		}},
		{Key: "$inc", Value: bson.D{{Key: "epoch", Value: int64(1)}}},
		{Key: "$max", Value: least},
	}, withoutMessages)
	if errors.Is(err, errRefused) {
		_ = s.discard(ctx, h, refs) // else a purge does it
		return sessionstore.Session{}, err
	}
	if err != nil {
		return sessionstore.Session{}, err
	}
	// The messages are gone: what is left of them no method finds, and a purge removes.
	_ = s.remove(ctx, h.Key, dropped)
	return after.session()
}

// doubt lets a purge look at blocks again that are about to be dropped.
func (s *Store) doubt(ctx context.Context, key string, refs []ref) error {
	if len(refs) == 0 {
		return nil
	}
	_, err := s.blocks.UpdateMany(ctx, bson.D{
		{Key: "session", Value: key},
		{Key: "_id", Value: bson.D{{Key: "$in", Value: names(refs)}}},
	}, bson.D{{Key: "$set", Value: bson.D{{Key: "check", Value: stamp(s.clock())}}}})
	return heeded(ctx, err)
}
