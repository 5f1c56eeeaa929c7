package mongo

import (
	"context"
	"iter"

	"github.com/sessionstore/sessionstore"
)

// RestoreSession writes a session as an export gave it; see [sessionstore.Restorer]. The
// iterator may use the store, but must not close it. A short history is written with the
// head; a longer one, block by block, where no method finds it until the head is put in
// place. What a crash leaves there PurgeExpired removes after an hour, so an iterator must
// give each next 4 MiB within that time. The ids of all messages are held in memory, some
// 100 bytes each.
func (s *Store) RestoreSession(ctx context.Context, in sessionstore.Session, messages iter.Seq2[sessionstore.Message, error]) (_ sessionstore.Session, err error) {
	defer wrap(&err, "restore", in.ID)
	if ctx, err = s.enter(ctx); err != nil {
		return sessionstore.Session{}, err
	}
	defer s.scope.Leave()
	if err := s.scope.Admit(in.UserID); err != nil {
		return sessionstore.Session{}, err
	}
	rules, err := sessionstore.NewRestoration(in)
	if err != nil {
		return sessionstore.Session{}, err
	}
	st := &staging{store: s, key: s.key(in.ID), gen: newToken()}
	defer st.abandon(ctx, &err)
	var pending []entry
	size := 0
	hi := ""
	seen := make(map[string]struct{})
	write := func(entries []entry) error {
		hi = max(hi, greatest(entries))
		blocks, refs := s.cut(st.key, st.gen, entries)
		return st.write(ctx, blocks, refs)
	}
	for m, err := range messages {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return sessionstore.Session{}, err
		}
		if m, err = rules.Next(m); err != nil {
			return sessionstore.Session{}, err
		}
		if _, ok := seen[m.ID]; ok {
			return sessionstore.Session{}, invalid("message_id", "%.80q is in the history twice", m.ID)
		}
		seen[m.ID] = struct{}{}
		if size >= maxInsert {
			if err := write(pending); err != nil {
				return sessionstore.Session{}, err
			}
			pending, size = nil, 0
		}
		e, err := newEntry(m)
		if err != nil {
			return sessionstore.Session{}, err
		}
		pending = append(pending, e)
		size += len(e.text)
	}
	out, err := rules.Finish(s.clock())
	if err != nil {
		return sessionstore.Session{}, err
	}
	older, tail := divide(pending, out.LastSeq)
	if err := write(older); err != nil {
		return sessionstore.Session{}, err
	}
	h, err := s.newHead(out)
	if err != nil {
		return sessionstore.Session{}, err
	}
	h.Gen, h.Hi = st.gen, hi
	h.add(tail)
	if err := st.commit(ctx, h); err != nil {
		return sessionstore.Session{}, err
	}
	return out, nil
}

// divide parts messages into those for blocks and those for the tail, which must be in a
// row up to the last seq. All of a short history are for the tail.
func divide(entries []entry, last int64) (older, tail []entry) {
	n, size := 0, 0
	for n < len(entries) && entries[len(entries)-1-n].seq == last-int64(n) {
		size += len(entries[len(entries)-1-n].text)
		n++
	}
	if n < len(entries) || n >= spillMessages || size >= spillBytes {
		n = kept(entries[len(entries)-n:])
	}
	return entries[:len(entries)-n], entries[len(entries)-n:]
}

// add puts messages into the tail of a new head.
func (h *head) add(tail []entry) {
	for _, e := range tail {
		h.Tail = append(h.Tail, e.text)
		h.IDs = append(h.IDs, e.id)
		h.N++
		h.Size += int64(len(e.text))
	}
}
