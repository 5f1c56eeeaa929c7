package mongo

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	driver "go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/sessionstore/sessionstore"
)

// errDamaged is for data that no version of this package has written.
var errDamaged = errors.New("the data is damaged")

// errRefused says that an update's filter matched nothing: the head is not as it must be.
var errRefused = errors.New("the session is not as it must be")

// newHead returns the head of a session without messages.
func (s *Store) newHead(of sessionstore.Session) (*head, error) {
	state, err := encodeSession(of)
	if err != nil {
		return nil, err
	}
	h := &head{
		Key: s.key(of.ID), Format: format, Space: s.opts.Namespace, Gen: newToken(),
		Status: string(of.Status), User: of.UserID, Parent: of.ParentID,
		Place: place(of.UpdatedAt, of.ID), Expires: never, TTL: of.TTL.Microseconds(),
		Last: of.LastSeq, Count: of.MessageCount, Version: of.Version, Session: state,
		Refs: []ref{}, Tail: []string{}, IDs: []string{},
	}
	if !of.ExpiresAt.IsZero() {
		h.Expires = stamp(of.ExpiresAt)
	}
	return h, nil
}

// session returns the session of a head. It is ErrSessionNotFound if the head is none's.
func (h *head) session() (sessionstore.Session, error) {
	if h.Format > format {
		return sessionstore.Session{}, tooNew(h.Format)
	}
	if h.Status == statusGone || h.Status == statusStaging {
		return sessionstore.Session{}, sessionstore.ErrSessionNotFound
	}
	out, err := sessionstore.DecodeSession([]byte(h.Session))
	if err != nil {
		return sessionstore.Session{}, fmt.Errorf("%w: %w", errDamaged, err)
	}
	if len(h.Place) <= stampWidth {
		return sessionstore.Session{}, errDamaged
	}
	if out.UpdatedAt, err = parseStamp(h.Place[:stampWidth]); err != nil {
		return sessionstore.Session{}, err
	}
	out.ExpiresAt = time.Time{}
	if h.Expires != never {
		if out.ExpiresAt, err = parseStamp(h.Expires); err != nil {
			return sessionstore.Session{}, err
		}
	}
	out.LastSeq, out.MessageCount, out.Version = h.Last, h.Count, h.Version
	return out, nil
}

func tooNew(found int64) error {
	return fmt.Errorf("%w: format %d, this one knows %d", sessionstore.ErrSchemaTooNew, found, format)
}

// encodeSession returns what of a session only a write of its own state changes. The rest
// are fields of their own, which updates compare and change.
func encodeSession(s sessionstore.Session) (string, error) {
	s.LastSeq, s.MessageCount, s.Version = 0, 0, 0
	s.UpdatedAt, s.ExpiresAt = time.Time{}, time.Time{}
	b, err := s.AppendJSON(nil)
	return string(b), err
}

// entry is a message as it is stored: its JSON without session and seq.
type entry struct {
	seq  int64
	id   string
	text string
}

func newEntry(m sessionstore.Message) (entry, error) {
	e := entry{seq: m.Seq, id: m.ID}
	m.SessionID, m.Seq = "", 0
	b, err := m.AppendJSON(nil)
	e.text = string(b)
	return e, err
}

func (e entry) message(session string) (sessionstore.Message, error) {
	m, err := sessionstore.DecodeMessage([]byte(e.text))
	if err != nil {
		return sessionstore.Message{}, fmt.Errorf("message %d: %w: %w", e.seq, errDamaged, err)
	}
	m.SessionID, m.Seq = session, e.seq
	return m, nil
}

// entries returns the messages of the tail.
func (h *head) entries() ([]entry, error) {
	if len(h.Tail) != len(h.IDs) || int64(len(h.Tail)) != h.N || h.N > h.Last {
		return nil, errDamaged
	}
	out := make([]entry, len(h.Tail))
	for i := range out {
		out[i] = entry{seq: h.Last - h.N + 1 + int64(i), id: h.IDs[i], text: h.Tail[i]}
	}
	return out, nil
}

// entries returns the messages of a block, without their ids if those were not read.
func (b *block) entries() ([]entry, error) {
	if len(b.Messages) != len(b.Seqs) || len(b.IDs) > 0 && len(b.IDs) != len(b.Seqs) {
		return nil, errDamaged
	}
	out := make([]entry, len(b.Seqs))
	for i := range out {
		out[i] = entry{seq: b.Seqs[i], text: b.Messages[i]}
		if len(b.IDs) > 0 {
			out[i].id = b.IDs[i]
		}
	}
	return out, nil
}

// read returns the head of a key, with the fields of the projection, or all; nil if there
// is none.
func (s *Store) read(ctx context.Context, key string, fields bson.D) (*head, error) {
	o := options.FindOne()
	if fields != nil {
		o.SetProjection(fields)
	}
	var h head
	err := s.heads.FindOne(ctx, bson.D{{Key: "_id", Value: key}}, o).Decode(&h)
	if errors.Is(err, driver.ErrNoDocuments) {
		return nil, nil
	}
	if err != nil {
		return nil, heeded(ctx, err)
	}
	return &h, nil
}

// load is read for a session that may have expired but is there, and is the view's.
func (s *Store) load(ctx context.Context, id string, fields bson.D) (*head, sessionstore.Session, error) {
	h, err := s.read(ctx, s.key(id), fields)
	if err != nil {
		return nil, sessionstore.Session{}, err
	}
	if h == nil {
		return nil, sessionstore.Session{}, sessionstore.ErrSessionNotFound
	}
	out, err := h.session()
	if err != nil {
		return nil, sessionstore.Session{}, err
	}
	if !s.scope.Owns(h.User) {
		return nil, sessionstore.Session{}, sessionstore.ErrSessionNotFound
	}
	s.shared.ttls.learn(h.Key, h.TTL)
	return h, out, nil
}

// codeNotImplemented is FerretDB's error for what it lacks.
const codeNotImplemented = 238

// modify is one atomic step: it updates a head that matches and returns it as it is then,
// with the fields of the projection at least. Otherwise it is errRefused.
func (s *Store) modify(ctx context.Context, filter, update, fields bson.D) (*head, error) {
	for {
		o := options.FindOneAndUpdate().SetReturnDocument(options.After)
		whole := s.shared.whole.Load()
		if !whole {
			o.SetProjection(fields)
		}
		var h head
		err := s.heads.FindOneAndUpdate(ctx, filter, update, o).Decode(&h)
		var refused driver.CommandError
		switch {
		case err == nil:
			return &h, nil
		case errors.Is(err, driver.ErrNoDocuments):
			return nil, errRefused
		case !whole && errors.As(err, &refused) && refused.Code == codeNotImplemented:
			s.shared.whole.Store(true) // nothing was written
			continue
		}
		return nil, heeded(ctx, err)
	}
}

// existing is the part of a filter that says that a head is a session's, and the view's,
// at the time now.
func (s *Store) existing(key string, now time.Time) bson.D {
	f := bson.D{
		{Key: "_id", Value: key},
		{Key: "format", Value: format},
		{Key: "expires", Value: bson.D{{Key: "$gt", Value: stamp(now)}}},
	}
	if owner := s.scope.Owner(); owner != "" {
		f = append(f, bson.E{Key: "user", Value: owner})
	}
	return f
}
