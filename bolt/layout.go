package bolt

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"time"

	"go.etcd.io/bbolt"

	"github.com/sessionstore/sessionstore"
)

// dbFormat is the version of the layout of buckets and keys, recordFormat that of one
// record. Data of a higher one is refused, never rewritten.
const (
	dbFormat     = 1
	recordFormat = 1
)

// The buckets at the top of the file. The last three have the namespace after the
// colon, so that no namespace meets another, or the first bucket.
const (
	metaBucket      = "sessionstore.meta"
	sessionsPrefix  = "sessionstore.sessions:"
	indexPrefix     = "sessionstore.index:"
	stagedPrefix    = "sessionstore.staged:"
	formatKey       = "format"
	microsecondsLen = 8
)

// Keys of a session's own bucket. Their order is that of the bytes: the record comes
// after the messages, so that an append changes both in one page.
const (
	keyExpiry  = 'e' // alone: the time under which the purge index holds the session
	keyID      = 'i' // + message id → seq
	keyMessage = 'm' // + seq → message
	keyRecord  = 'r' // alone: the session
)

// Keys of the index bucket; all have empty values.
const (
	byTime   = 'a' // + time + session id
	byParent = 'p' // + length of parent id + parent id + time + session id
	byUser   = 'u' // + length of user id + user id + time + session id
	byExpiry = 'x' // + time + session id; the time may lie before the session's ExpiresAt
)

// errDamaged is for data that no version of this package has written.
var errDamaged = errors.New("the database is damaged")

// spaceNames are the names of a namespace's buckets.
type spaceNames struct {
	sessions, index, staged []byte
}

func newSpaceNames(namespace string) spaceNames {
	return spaceNames{
		sessions: []byte(sessionsPrefix + namespace),
		index:    []byte(indexPrefix + namespace),
		staged:   []byte(stagedPrefix + namespace),
	}
}

// appendTime appends the microseconds of t such that the order of the bytes is that of
// the times, also before 1970. The first byte is never 0xff: see after.
func appendTime(key []byte, t time.Time) []byte {
	return binary.BigEndian.AppendUint64(key, uint64(t.UnixMicro())^1<<63)
}

func readTime(b []byte) time.Time {
	return time.UnixMicro(int64(binary.BigEndian.Uint64(b) ^ 1<<63)).UTC()
}

// timeKey is a key of the indexes byTime and byExpiry.
func timeKey(kind byte, t time.Time, id string) []byte {
	key := make([]byte, 1, 1+microsecondsLen+len(id))
	key[0] = kind
	return append(appendTime(key, t), id...)
}

// ownedPrefix begins the keys of one user or one parent. The length before the name
// keeps "a" apart from "ab"; names have at most 255 bytes.
func ownedPrefix(kind byte, name string) []byte {
	key := make([]byte, 2, 2+len(name)+microsecondsLen+sessionstore.MaxIDBytes)
	key[0], key[1] = kind, byte(len(name))
	return append(key, name...)
}

// after is greater than every key that is the prefix, a time and an id.
func after(prefix []byte) []byte {
	return append(prefix[:len(prefix):len(prefix)], 0xff)
}

// listKeys returns the session's keys in the indexes that lists are read from.
func listKeys(s sessionstore.Session) [][]byte {
	keys := make([][]byte, 1, 3)
	keys[0] = timeKey(byTime, s.UpdatedAt, s.ID)
	if s.UserID != "" {
		keys = append(keys, append(appendTime(ownedPrefix(byUser, s.UserID), s.UpdatedAt), s.ID...))
	}
	if s.ParentID != "" {
		keys = append(keys, append(appendTime(ownedPrefix(byParent, s.ParentID), s.UpdatedAt), s.ID...))
	}
	return keys
}

func messageKey(seq int64) []byte {
	key := make([]byte, 1, 9)
	key[0] = keyMessage
	return binary.BigEndian.AppendUint64(key, uint64(seq))
}

func idKey(id string) []byte {
	key := make([]byte, 1, 1+len(id))
	key[0] = keyID
	return append(key, id...)
}

func seqValue(seq int64) []byte {
	return binary.BigEndian.AppendUint64(nil, uint64(seq))
}

func readSeq(b []byte) (int64, error) {
	if len(b) != 8 {
		return 0, fmt.Errorf("a seq of %d bytes: %w", len(b), errDamaged)
	}
	return int64(binary.BigEndian.Uint64(b)), nil
}

// encodeSession returns the session's record.
func encodeSession(s sessionstore.Session) ([]byte, error) {
	return s.AppendJSON([]byte{recordFormat})
}

func decodeSession(v []byte) (sessionstore.Session, error) {
	body, err := recordBody(v)
	if err != nil {
		return sessionstore.Session{}, err
	}
	s, err := sessionstore.DecodeSession(body)
	if err != nil {
		return sessionstore.Session{}, fmt.Errorf("%w: session record: %w", errDamaged, err)
	}
	return s, nil
}

// appendMessage appends the message's record to dst. It does not name the session,
// whose bucket says that: a fork copies records as they are.
func appendMessage(dst []byte, m sessionstore.Message) ([]byte, error) {
	m.SessionID = ""
	return m.AppendJSON(append(dst, recordFormat))
}

func decodeMessage(v []byte, sessionID string) (sessionstore.Message, error) {
	body, err := recordBody(v)
	if err != nil {
		return sessionstore.Message{}, err
	}
	m, err := sessionstore.DecodeMessage(body)
	if err != nil {
		return sessionstore.Message{}, fmt.Errorf("%w: message record: %w", errDamaged, err)
	}
	m.SessionID = sessionID
	return m, nil
}

func recordBody(v []byte) ([]byte, error) {
	switch {
	case len(v) == 0 || v[0] == 0:
		return nil, fmt.Errorf("a record without a format: %w", errDamaged)
	case v[0] > recordFormat:
		return nil, fmt.Errorf("a record of format %d, this version reads up to %d: %w",
			v[0], recordFormat, sessionstore.ErrSchemaTooNew)
	}
	return v[1:], nil
}

// checkFormat returns ErrSchemaTooNew for a file of a newer layout. A file without any
// format has not been written to yet.
func checkFormat(tx *bbolt.Tx) (written bool, err error) {
	meta := tx.Bucket([]byte(metaBucket))
	if meta == nil {
		return false, nil
	}
	v := string(meta.Get([]byte(formatKey)))
	n, err := strconv.Atoi(v)
	switch {
	case err != nil || n < 1:
		return false, fmt.Errorf("format %q: %w", v, errDamaged)
	case n > dbFormat:
		return false, fmt.Errorf("database format %d, this version reads up to %d: %w",
			n, dbFormat, sessionstore.ErrSchemaTooNew)
	}
	return true, nil
}

func writeFormat(tx *bbolt.Tx) error {
	meta, err := tx.CreateBucketIfNotExists([]byte(metaBucket))
	if err != nil {
		return err
	}
	return meta.Put([]byte(formatKey), []byte(strconv.Itoa(dbFormat)))
}
