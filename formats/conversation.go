package formats

import (
	"encoding/json"
	"iter"

	"github.com/sessionstore/sessionstore"
)

type messageSeq = iter.Seq2[sessionstore.Message, error]

// conversation is what a format makes of a record, or of several that belong together.
type conversation struct {
	line, index int64  // of its record, for errors
	file        string // of an archive, for errors; "" otherwise

	// session with an empty ID gets one derived from name, branch or record. Its counters
	// and Version are set by the importer.
	session sessionstore.Session
	given   sessionstore.Session // session as the file has it; set by the importer
	derived bool                 // set by the importer when it made the id from record
	record  string               // the JSON that the id is derived from, until that is done

	// name is the id of the conversation where the file comes from, which is no session id
	// yet: two users can have the same.
	name string

	// branch is not empty if this is a branch of the last conversation before it that is
	// none. It tells the branches of one apart.
	branch string

	branches int64 // others of the record that are left out

	// messages can be ranged over more than once. What they lack (ids, times) the
	// importer fills in. An error that they yield ends the import.
	messages messageSeq
	count    int64
	size     int // of the JSON of all of it, in bytes
}

// inOrder returns an iterator over messages that are all in memory.
func inOrder(messages []sessionstore.Message) messageSeq {
	return func(yield func(sessionstore.Message, error) bool) {
		for _, m := range messages {
			if !yield(m, nil) {
				return
			}
		}
	}
}

// decoder reads the conversation of one record into b.
type decoder func(text string, b *builder) error

// builder collects a conversation entry by entry. It hands a message on only when the
// next one comes, so that what belongs to it can be added until then.
type builder struct {
	session sessionstore.Session
	name    string // as in conversation
	calls   calls

	last  sessionstore.Message
	count int64 // of messages, last among them
	sink  func(sessionstore.Message) error
}

func (b *builder) add(m sessionstore.Message) error {
	if err := b.flush(); err != nil {
		return err
	}
	b.last = m
	b.count++
	return nil
}

func (b *builder) flush() error {
	if b.count == 0 {
		return nil
	}
	return b.sink(b.last)
}

// run makes a conversation of a record. Its messages are in s until that starts again.
func (decode decoder) run(text string, s *spool) (conversation, error) {
	s.start(len(text))
	b := builder{sink: s.add}
	err := decode(text, &b)
	if err == nil {
		err = b.flush()
	}
	if err != nil {
		return conversation{}, err
	}
	messages, err := s.all()
	return conversation{session: b.session, name: b.name, record: text, messages: messages, count: b.count, size: len(text)}, err
}

// extraUnder returns an Extra that has the object raw under one key, or nil.
func extraUnder(key string, raw json.RawMessage) map[string]json.RawMessage {
	if raw == nil {
		return nil
	}
	return map[string]json.RawMessage{key: raw}
}
