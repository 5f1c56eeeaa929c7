package mongo

import (
	"context"
	"errors"

	"github.com/sessionstore/sessionstore"
)

// ForkSession makes a new session that starts with another's history; see
// [sessionstore.Fork]. The messages of blocks go through the client, as they are, block by
// block, to where no method finds them until the child's head is put in place.
func (s *Store) ForkSession(ctx context.Context, id string, f sessionstore.Fork) (_ sessionstore.Session, err error) {
	defer wrap(&err, "fork", id)
	if ctx, err = s.enter(ctx); err != nil {
		return sessionstore.Session{}, err
	}
	defer s.scope.Leave()
	if err := sessionstore.CheckID(id); err != nil {
		return sessionstore.Session{}, err
	}
	if f, err = f.Prepare(); err != nil {
		return sessionstore.Session{}, err
	}
	if f.UserID != nil {
		if err := s.scope.Admit(*f.UserID); err != nil {
			return sessionstore.Session{}, err
		}
	}
	for {
		out, err := s.fork(ctx, id, f)
		if !errors.Is(err, errMoved) {
			return out, err
		}
		if err := ctx.Err(); err != nil {
			return sessionstore.Session{}, err
		}
	}
}

// fork makes the child of the head that it reads: that moment of the source, however it
// goes on. It is errMoved if a block was dropped before it was copied.
func (s *Store) fork(ctx context.Context, id string, f sessionstore.Fork) (_ sessionstore.Session, err error) {
	now := s.clock()
	h, src, err := s.load(ctx, id, nil)
	if err != nil {
		return sessionstore.Session{}, err
	}
	child, err := f.Apply(src, src.MessageCount, now)
	if err != nil {
		return sessionstore.Session{}, err
	}
	p, err := upTo(h, child.ForkSeq)
	if err != nil {
		return sessionstore.Session{}, err
	}
	begin, err := s.begin(ctx, h, p.split, child.ForkSeq)
	if err != nil {
		return sessionstore.Session{}, err
	}
	child.MessageCount = count(p.refs) + int64(len(begin)+len(p.tail))
	to, err := s.newHead(child)
	if err != nil {
		return sessionstore.Session{}, err
	}
	if len(p.refs)+len(begin) > 0 {
		to.Hi = h.Hi
	}
	to.add(p.tail)
	st := &staging{store: s, key: to.Key, gen: to.Gen}
	defer st.abandon(ctx, &err)
	for refs := p.refs; len(refs) > 0; {
		n := chunk(refs)
		blocks, err := s.fetch(ctx, h, refs[:n], nil)
		if err != nil {
			return sessionstore.Session{}, err
		}
		copied := append([]ref(nil), refs[:n]...)
		for i := range blocks {
			b := &blocks[i]
			b.ID, b.Session, b.Gen, b.Check = newToken(), to.Key, to.Gen, stamp(s.clock())
			copied[i].Block = b.ID
		}
		if err := st.write(ctx, blocks, copied); err != nil {
			return sessionstore.Session{}, err
		}
		refs = refs[n:]
	}
	blocks, refs := s.cut(to.Key, to.Gen, begin)
	if err := st.write(ctx, blocks, refs); err != nil {
		return sessionstore.Session{}, err
	}
	if err := st.commit(ctx, to); err != nil {
		return sessionstore.Session{}, err
	}
	return child, nil
}

// chunk is how many of the blocks are copied at once.
func chunk(refs []ref) int {
	n, size := 0, int64(0)
	for n < len(refs) && (n == 0 || size < maxInsert) {
		size += refs[n].Size
		n++
	}
	return n
}
