package formats

import (
	"encoding/json"
	"errors"
	"iter"

	"github.com/sessionstore/sessionstore"
)

type messageSeq = iter.Seq2[sessionstore.Message, error]

// conversation is what a format makes of a record, or of several that belong together.
type conversation struct {
	line, index int64 // of its record, for errors

	// session with an empty ID gets one derived from the record. Its counters and
	// Version are set by the importer.
	session sessionstore.Session
	derived bool   // set by the importer when it made the id
	record  string // the JSON that the id is derived from

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
	calls   calls

	last  sessionstore.Message
	count int64 // of messages, last among them
	sink  func(sessionstore.Message) bool
}

// errEnough ends the reading of a record because its consumer has had enough.
var errEnough = errors.New("enough")

func (b *builder) add(m sessionstore.Message) error {
	if err := b.flush(); err != nil {
		return err
	}
	b.last = m
	b.count++
	return nil
}

func (b *builder) flush() error {
	if b.count > 0 && !b.sink(b.last) {
		return errEnough
	}
	return nil
}

// keepDecoded is the size of a record up to which its messages are kept in memory beside
// it. Those of a larger one are decoded twice: to see that it is good, and to write it.
const keepDecoded = 1 << 20

// run makes a conversation of a record.
func (decode decoder) run(text string) (conversation, error) {
	var messages []sessionstore.Message
	b := builder{sink: func(m sessionstore.Message) bool {
		if len(text) <= keepDecoded {
			messages = append(messages, m)
		}
		return true
	}}
	err := decode(text, &b)
	if err == nil {
		err = b.flush()
	}
	if err != nil {
		return conversation{}, err
	}
	c := conversation{session: b.session, record: text, messages: inOrder(messages), count: b.count, size: len(text)}
	if len(text) > keepDecoded {
		c.messages = decode.again(text)
	}
	return c, nil
}

// again returns the messages of a record that was found good.
func (decode decoder) again(text string) messageSeq {
	return func(yield func(sessionstore.Message, error) bool) {
		b := builder{sink: func(m sessionstore.Message) bool { return yield(m, nil) }}
		err := decode(text, &b)
		if err == nil {
			err = b.flush()
		}
		if err != nil && !errors.Is(err, errEnough) {
			yield(sessionstore.Message{}, err)
		}
	}
}

// extraUnder returns an Extra that has the object raw under one key, or nil.
func extraUnder(key string, raw json.RawMessage) map[string]json.RawMessage {
	if raw == nil {
		return nil
	}
	return map[string]json.RawMessage{key: raw}
}
