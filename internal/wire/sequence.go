package wire

import (
	"encoding/json"
	"slices"

	"github.com/sessionstore/sessionstore"
)

// PositionsKey is the key of Message.Extra that says where the tool calls of an answer
// stood among its parts: for each call, how many parts were before it. Without it they
// came last, as they nearly always do.
const PositionsKey = "call_positions"

// Item is a part of a message or one of its tool calls.
type Item struct {
	Part sessionstore.Part
	Call *sessionstore.ToolCall // nil: a part
}

// Sequence returns the parts and the calls of m in the order in which the model gave
// them. A content that is a text is one part; an empty one is none.
func Sequence(m sessionstore.Message) []Item {
	var items []Item
	if m.Content.IsText() {
		if s := m.Content.String(); s != "" {
			items = append(items, Item{Part: sessionstore.TextPart(s)})
		}
	}
	for _, p := range m.Content.All() {
		items = append(items, Item{Part: p})
	}
	at := positions(m, len(items))
	for i := range slices.Backward(m.ToolCalls) {
		items = slices.Insert(items, at[i], Item{Call: &m.ToolCalls[i]})
	}
	return items
}

func positions(m sessionstore.Message, parts int) []int {
	var at []int
	ok := json.Unmarshal(m.Extra[PositionsKey], &at) == nil && len(at) == len(m.ToolCalls) &&
		slices.IsSorted(at) && (len(at) == 0 || at[0] >= 0 && at[len(at)-1] <= parts)
	if !ok {
		at = slices.Repeat([]int{parts}, len(m.ToolCalls))
	}
	return at
}

// Answer builds an assistant's message from what a model gave, in order.
type Answer struct {
	parts []sessionstore.Part
	calls []sessionstore.ToolCall
	at    []int
}

// Part adds a part.
func (a *Answer) Part(p sessionstore.Part) { a.parts = append(a.parts, p) }

// Call adds a tool call.
func (a *Answer) Call(c sessionstore.ToolCall) {
	a.calls = append(a.calls, c)
	a.at = append(a.at, len(a.parts))
}

// Message returns the message: its content is null if there is no part, a text if there
// is one part of nothing but text, else the parts.
func (a *Answer) Message() sessionstore.Message {
	m := sessionstore.Message{Role: sessionstore.RoleAssistant, ToolCalls: a.calls}
	switch {
	case len(a.parts) == 1 && isPlainText(a.parts[0]):
		m.Content = sessionstore.Text(a.parts[0].Text())
	case len(a.parts) > 0:
		m.Content = sessionstore.Parts(a.parts...)
	case len(a.calls) == 0:
		m.Content = sessionstore.Text("")
	}
	if len(a.at) > 0 && a.at[0] < len(a.parts) {
		raw, err := json.Marshal(a.at)
		if err == nil {
			m.Extra = map[string]json.RawMessage{PositionsKey: raw}
		}
	}
	return m
}

func isPlainText(p sessionstore.Part) bool {
	return p.Type() == "text" && Parse(p.Raw()).Only("type", "text")
}

// IsText reports whether p is a text in any provider's shape.
func IsText(p sessionstore.Part) bool {
	switch p.Type() {
	case "text", "input_text", "output_text":
		return true
	}
	return false
}
