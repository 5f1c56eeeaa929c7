package openai

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	sdk "github.com/openai/openai-go/v3"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/internal/wire"
)

// ChatMessage returns the answer of a Chat Completions request as the message to store.
// What the library does not model of it (a refusal, audio, annotations, the
// reasoning_content of compatible servers) is kept in its Extra as it was received.
//
// m must be decoded from JSON, as what the SDK's client returns is. Errors: ErrInvalid.
func ChatMessage(m sdk.ChatCompletionMessage) (sessionstore.Message, error) {
	return chatMessage(wire.Parse([]byte(m.RawJSON())))
}

// chatMessage makes a message of an answer's object, whole or added up of a stream.
func chatMessage(o wire.Object) (sessionstore.Message, error) {
	if o == nil {
		return sessionstore.Message{}, fmt.Errorf("openai: %w", wire.Invalid("message", "was not decoded from JSON"))
	}
	// A server may leave the role out. Nulls say the same as keys that are missing.
	o = o.Without().SetString("role", "assistant")
	for _, k := range []string{"annotations", "tool_calls"} {
		if string(o.Get(k)) == "[]" {
			o = o.Without(k)
		}
	}
	m, err := sessionstore.DecodeMessage(o.Raw())
	if err != nil {
		return sessionstore.Message{}, fmt.Errorf("openai: answer: %w", err)
	}
	// Some servers write "" where others write null, and a stream may differ from the whole.
	if !m.Content.IsParts() && m.Content.String() == "" {
		m.Content = sessionstore.Content{}
		if len(m.ToolCalls) == 0 && m.Extra["refusal"] == nil && m.Extra["audio"] == nil {
			m.Content = sessionstore.Text("")
		}
	}
	m.Metadata, m.CreatedAt = nil, time.Time{}
	return m, nil
}

// chatPieces adds up the deltas of a streamed answer to the object that it would have
// been whole.
type chatPieces struct {
	o     wire.Object
	calls []wire.Object
	at    map[int]int // by a call's index in the stream: its place in calls

	touched []touched // by the last delta
}

// touched is what a delta added to the call at a place.
type touched struct {
	at        int
	arguments string
}

// add merges a delta: strings are joined, lists too, and of anything else the last
// counts.
func (a *chatPieces) add(delta wire.Object) {
	a.touched = a.touched[:0]
	for _, m := range delta {
		if m.Key == "tool_calls" {
			a.addCalls(m.Value)
			continue
		}
		a.o = merge(a.o, m.Key, m.Value)
	}
}

// addCalls merges the deltas of calls by their index. Some servers send whole calls
// without an index, or all with the same: another id then begins another call.
func (a *chatPieces) addCalls(raw json.RawMessage) {
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil {
		return
	}
	for _, v := range list {
		d := wire.Parse(v)
		index := -1
		if raw := d.Get("index"); raw != nil && json.Unmarshal(raw, &index) != nil {
			continue
		}
		at, ok := a.at[index]
		if id := d.String("id"); !ok || index < 0 || id != "" && a.calls[at].String("id") != "" && id != a.calls[at].String("id") {
			at = len(a.calls)
			a.calls = append(a.calls, nil)
			if a.at == nil {
				a.at = make(map[int]int)
			}
			a.at[index] = at
		}
		call := a.calls[at]
		arguments := d.Object("function").String("arguments") + d.Object("custom").String("input")
		a.touched = append(a.touched, touched{at, arguments})
		for _, m := range d.Without("index") {
			if m.Key != "function" && m.Key != "custom" {
				call = call.Set(m.Key, m.Value)
				continue
			}
			inner := call.Object(m.Key)
			for _, n := range wire.Parse(m.Value) {
				if n.Key == "name" && inner.String("name") == "" {
					inner = inner.Set(n.Key, n.Value)
				} else if n.Key != "name" {
					inner = merge(inner, n.Key, n.Value)
				}
			}
			call = call.Set(m.Key, inner.Raw())
		}
		a.calls[at] = call
	}
}

// merge joins what is spelled, so that every byte stays, in time that grows with v alone:
// an answer has thousands of deltas.
func merge(o wire.Object, key string, v json.RawMessage) wire.Object {
	old := o.Get(key)
	switch {
	case string(v) == "null":
		return o
	case old == nil || len(v) == 0:
		return o.Set(key, slices.Clip(v)) // what is appended to it must not go into the delta's memory
	case old[0] == '"' && v[0] == '"' && key != "role":
		return o.Set(key, append(old[:len(old)-1], v[1:]...))
	case old[0] == '[' && v[0] == '[':
		head, tail := bytes.TrimSpace(old[1:len(old)-1]), bytes.TrimSpace(v[1:len(v)-1])
		switch {
		case len(tail) == 0:
			return o
		case len(head) == 0:
			return o.Set(key, slices.Clip(v))
		}
		return o.Set(key, slices.Concat([]byte{'['}, head, []byte{','}, tail, []byte{']'}))
	case old[0] == '{' && v[0] == '{':
		inner := wire.Parse(old)
		for _, m := range wire.Parse(v) {
			inner = merge(inner, m.Key, m.Value)
		}
		return o.Set(key, inner.Raw())
	}
	return o.Set(key, v)
}

// object returns what was added up.
func (a *chatPieces) object() wire.Object {
	if len(a.calls) == 0 {
		return a.o
	}
	list := []byte{'['}
	for i, c := range a.calls {
		if i > 0 {
			list = append(list, ',')
		}
		list = append(list, c.Raw()...)
	}
	return a.o.Set("tool_calls", append(list, ']'))
}
