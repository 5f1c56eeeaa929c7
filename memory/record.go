package memory

import (
	"encoding/json"
	"maps"

	"github.com/sessionstore/sessionstore"
)

// record is a stored message: immutable, and free of what need not be stored. A message's
// map of two keys takes two allocations and 340 bytes, these keys and values one of 64.
type record struct {
	message  sessionstore.Message // without SessionID and Metadata
	metadata []pair
	nested   bool // a value of the metadata is a map or a slice
}

type pair struct {
	key   string
	value any
}

// set makes r the record of m, which is in normal form. They share nothing.
func (r *record) set(m *sessionstore.Message) {
	r.message = *m
	r.message.SessionID, r.message.Metadata = "", nil
	if m.ToolCalls != nil || m.Extra != nil {
		r.message = r.message.Clone()
		r.message.Metadata = nil
	}
	if len(m.Metadata) == 0 {
		return
	}
	r.metadata = make([]pair, 0, len(m.Metadata))
	for k, v := range m.Metadata {
		r.metadata = append(r.metadata, pair{k, v})
		r.nested = r.nested || !scalar(v)
	}
	if r.nested {
		r.metadata = r.metadata[:0]
		for k, v := range m.Metadata.Clone() {
			r.metadata = append(r.metadata, pair{k, v})
		}
	}
}

// copyTo writes the message, as one of the session id, to m. They share nothing.
func (r *record) copyTo(m *sessionstore.Message, id string) {
	*m = r.message
	if m.ToolCalls != nil || m.Extra != nil {
		*m = m.Clone()
	}
	m.SessionID = id
	m.Metadata = make(sessionstore.Metadata, len(r.metadata))
	for i := range r.metadata {
		p := &r.metadata[i]
		m.Metadata[p.key] = p.value
	}
	if r.nested {
		m.Metadata = m.Metadata.Clone()
	}
}

// cloneSession is s.Clone for one that is in normal form, in less time.
func cloneSession(s sessionstore.Session) sessionstore.Session {
	for _, v := range s.Metadata {
		if !scalar(v) {
			return s.Clone()
		}
	}
	if s.Extra != nil {
		return s.Clone()
	}
	s.Metadata = maps.Clone(s.Metadata)
	return s
}

// scalar reports whether a value of normal form is immutable. All that are not are maps
// and slices; a type that this list does not know is taken for one.
func scalar(v any) bool {
	switch v.(type) {
	case nil, bool, string, int64, float64, json.Number:
		return true
	}
	return false
}
