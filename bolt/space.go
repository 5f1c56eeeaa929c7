package bolt

import (
	"fmt"
	"time"

	"go.etcd.io/bbolt"

	"github.com/sessionstore/sessionstore"
)

// space is one namespace within one transaction. Nothing that it returns outlives the
// transaction but decoded sessions and messages, which are copies.
type space struct {
	tx    *bbolt.Tx
	names *spaceNames
	ready bool // the format is written and the buckets exist
	size  int  // bytes of messages that the operation writes, set by its plan

	sessions, index *bbolt.Bucket // nil while nothing was ever written
}

func openSpace(tx *bbolt.Tx, names *spaceNames) (*space, error) {
	written, err := checkFormat(tx)
	if err != nil {
		return nil, err
	}
	sp := &space{tx: tx, names: names, sessions: tx.Bucket(names.sessions), index: tx.Bucket(names.index)}
	sp.ready = written && sp.sessions != nil && sp.index != nil
	return sp, nil
}

// create makes what is missing, before the first write.
func (sp *space) create() (err error) {
	if sp.ready {
		return nil
	}
	if err = writeFormat(sp.tx); err != nil {
		return err
	}
	if sp.sessions, err = sp.tx.CreateBucketIfNotExists(sp.names.sessions); err != nil {
		return err
	}
	if sp.index, err = sp.tx.CreateBucketIfNotExists(sp.names.index); err != nil {
		return err
	}
	sp.ready = true
	return nil
}

// entry is a session with its bucket.
type entry struct {
	bucket  *bbolt.Bucket
	session sessionstore.Session
}

// find returns the session whether or not it has expired, and whoever owns it.
func (sp *space) find(id string) (e entry, ok bool, err error) {
	return sp.findKey([]byte(id))
}

func (sp *space) findKey(id []byte) (e entry, ok bool, err error) {
	if sp.sessions == nil {
		return entry{}, false, nil
	}
	b := sp.sessions.Bucket(id)
	if b == nil {
		return entry{}, false, nil
	}
	s, err := decodeSession(b.Get([]byte{keyRecord}))
	if err != nil {
		return entry{}, false, err
	}
	return entry{bucket: b, session: s}, true, nil
}

// load returns the session if it has not expired and belongs to owner ("": to anyone),
// else ErrSessionNotFound.
func (sp *space) load(id, owner string, now time.Time) (entry, error) {
	e, ok, err := sp.find(id)
	if err != nil {
		return entry{}, err
	}
	if !ok || e.session.Expired(now) || owner != "" && e.session.UserID != owner {
		return entry{}, sessionstore.ErrSessionNotFound
	}
	return e, nil
}

// free returns nil if the id may be given to a new session at now, with the expired one
// that insert has to remove first; else ErrSessionExists.
func (sp *space) free(id string, now time.Time) (remains *entry, err error) {
	e, ok, err := sp.find(id)
	switch {
	case err != nil:
		return nil, err
	case !ok:
		return nil, nil
	case !e.session.Expired(now):
		return nil, sessionstore.ErrSessionExists
	}
	return &e, nil
}

// insert makes the bucket of a new session in place of what remains of an expired one.
// The session becomes visible with finish.
func (sp *space) insert(id string, remains *entry) (*bbolt.Bucket, error) {
	if remains != nil {
		if err := sp.remove(*remains); err != nil {
			return nil, err
		}
	}
	b, err := sp.sessions.CreateBucket([]byte(id))
	if err != nil {
		return nil, err
	}
	b.FillPercent = fillPercent
	return b, nil
}

// fillPercent is how full the pages of a session are left when they split: almost full,
// because messages are only added at the end, and ids that this module makes are too.
// A little room keeps ids of other kinds from splitting a page each time.
const fillPercent = 0.9

// finish writes a new session's record and its index entries.
func (sp *space) finish(b *bbolt.Bucket, s sessionstore.Session) error {
	if err := sp.putRecord(b, s); err != nil {
		return err
	}
	for _, key := range listKeys(s) {
		if err := sp.index.Put(key, nil); err != nil {
			return err
		}
	}
	return sp.setExpiry(b, s)
}

func (sp *space) putRecord(b *bbolt.Bucket, s sessionstore.Session) error {
	v, err := encodeSession(s)
	if err != nil {
		return err
	}
	return b.Put([]byte{keyRecord}, v)
}

// change writes the new state of a session and moves it in the lists. What expires
// earlier than before needs setExpiry as well.
func (sp *space) change(e entry, s sessionstore.Session) error {
	e.bucket.FillPercent = fillPercent
	if err := sp.putRecord(e.bucket, s); err != nil {
		return err
	}
	if s.UpdatedAt.Equal(e.session.UpdatedAt) {
		return nil
	}
	for _, key := range listKeys(e.session) {
		if err := sp.index.Delete(key); err != nil {
			return err
		}
	}
	for _, key := range listKeys(s) {
		if err := sp.index.Put(key, nil); err != nil {
			return err
		}
	}
	return nil
}

// setExpiry sees to it that the purge index holds the session under a time that is not
// after its ExpiresAt. An earlier one stays: PurgeExpired will move it on, and appends
// need not touch the index.
func (sp *space) setExpiry(b *bbolt.Bucket, s sessionstore.Session) error {
	old := b.Get([]byte{keyExpiry})
	if old != nil && !s.ExpiresAt.IsZero() && !s.ExpiresAt.Before(readTime(old)) {
		return nil
	}
	if old != nil {
		if err := sp.index.Delete(timeKey(byExpiry, readTime(old), s.ID)); err != nil {
			return err
		}
	}
	if s.ExpiresAt.IsZero() {
		return b.Delete([]byte{keyExpiry})
	}
	return sp.putExpiry(b, s)
}

func (sp *space) putExpiry(b *bbolt.Bucket, s sessionstore.Session) error {
	if err := sp.index.Put(timeKey(byExpiry, s.ExpiresAt, s.ID), nil); err != nil {
		return err
	}
	return b.Put([]byte{keyExpiry}, appendTime(nil, s.ExpiresAt))
}

// remove deletes all there is of a session.
func (sp *space) remove(e entry) error {
	keys := listKeys(e.session)
	if t := e.bucket.Get([]byte{keyExpiry}); t != nil {
		keys = append(keys, timeKey(byExpiry, readTime(t), e.session.ID))
	}
	for _, key := range keys {
		if err := sp.index.Delete(key); err != nil {
			return err
		}
	}
	return sp.sessions.DeleteBucket([]byte(e.session.ID))
}

// message returns the message with the given id, if the session has it.
func (e entry) message(id string) (m sessionstore.Message, ok bool, err error) {
	v := e.bucket.Get(idKey(id))
	if v == nil {
		return m, false, nil
	}
	seq, err := readSeq(v)
	if err != nil {
		return m, false, err
	}
	if m, err = decodeMessage(e.bucket.Get(messageKey(seq)), e.session.ID); err != nil {
		return m, false, fmt.Errorf("message %d: %w", seq, err)
	}
	return m, true, nil
}
