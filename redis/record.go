package redis

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/sessionstore/sessionstore"
)

// errDamaged is for data that no version of this package has written.
var errDamaged = errors.New("the data is damaged")

// recordFields are those of a session's hash that a session is decoded from, in the order
// of scripts/parts/record.lua.
var recordFields = []string{"format", "session", "gen", "fork_seq", "updated", "expires", "last_seq", "message_count", "version"}

// stored is a session with the name of its incarnation: a deleted session and a new one of
// its id differ in it.
type stored struct {
	sessionstore.Session
	gen string
}

// decodeRecord reads the values of recordFields, which others may follow. Without a session it is
// ErrSessionNotFound.
func decodeRecord(v []any) (stored, error) {
	if len(v) < len(recordFields) {
		return stored{}, errDamaged
	}
	if v[0] == nil {
		return stored{}, sessionstore.ErrSessionNotFound
	}
	var f [9]string
	for i := range f {
		text, ok := v[i].(string)
		if !ok {
			return stored{}, errDamaged
		}
		f[i] = text
	}
	if f[0] != format {
		return stored{}, tooNew(f[0])
	}
	s, err := sessionstore.DecodeSession([]byte(f[1]))
	if err != nil {
		return stored{}, fmt.Errorf("%w: %w", errDamaged, err)
	}
	for _, n := range []struct {
		to   *int64
		text string
	}{{&s.ForkSeq, f[3]}, {&s.LastSeq, f[6]}, {&s.MessageCount, f[7]}, {&s.Version, f[8]}} {
		if *n.to, err = strconv.ParseInt(n.text, 10, 64); err != nil {
			return stored{}, errDamaged
		}
	}
	if s.UpdatedAt, err = parseStamp(f[4]); err != nil {
		return stored{}, err
	}
	if s.ExpiresAt, err = parseStamp(f[5]); err != nil {
		return stored{}, err
	}
	return stored{s, f[2]}, nil
}

func tooNew(found string) error {
	return fmt.Errorf("%w: format %.20q, this one knows %s", sessionstore.ErrSchemaTooNew, found, format)
}

// encodeSession returns what of a session only a write of its own state changes. The rest
// are fields of their own, which scripts change.
func encodeSession(s sessionstore.Session) ([]byte, error) {
	s.ForkSeq, s.LastSeq, s.MessageCount, s.Version = 0, 0, 0, 0
	s.UpdatedAt, s.ExpiresAt = time.Time{}, time.Time{}
	return s.AppendJSON(nil)
}

func ttlField(s sessionstore.Session) string {
	return strconv.FormatInt(s.TTL.Microseconds(), 10)
}

// appendMessage appends a message's record: its JSON without session and seq, which the key
// and the score say. It begins with the id, where scripts read it.
func appendMessage(dst []byte, m sessionstore.Message) ([]byte, error) {
	m.SessionID, m.Seq = "", 0
	return m.AppendJSON(dst)
}

// entry is a message's record with its seq.
type entry struct {
	record string
	seq    int64
}

// pairs reads a list of records, each followed by its seq.
func pairs(list []any) ([]entry, error) {
	out := make([]entry, len(list)/2)
	for i := range out {
		record, ok := list[2*i].(string)
		if !ok {
			return nil, errDamaged
		}
		seq, err := number(list, 2*i+1)
		if err != nil {
			return nil, err
		}
		out[i] = entry{record, seq}
	}
	return out, nil
}

// numbered reads a list of records whose seqs go on from the first one's by step.
func numbered(list []any, first, step int64) ([]entry, error) {
	out := make([]entry, len(list))
	for i := range out {
		record, ok := list[i].(string)
		if !ok {
			return nil, errDamaged
		}
		out[i] = entry{record, first + int64(i)*step}
	}
	return out, nil
}

// decodeMessages uses the buffer again for each record.
func decodeMessages(id string, entries []entry) ([]sessionstore.Message, error) {
	out := make([]sessionstore.Message, len(entries))
	var buf []byte
	for i, e := range entries {
		buf = append(buf[:0], e.record...)
		m, err := sessionstore.DecodeMessage(buf)
		if err != nil {
			return nil, fmt.Errorf("message %d: %w: %w", e.seq, errDamaged, err)
		}
		m.SessionID, m.Seq = id, e.seq
		out[i] = m
	}
	return out, nil
}
