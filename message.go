package sessionstore

import (
	"encoding/json"
	"time"
)

// Role says who speaks in a message.
type Role string

// The roles that a store accepts. Importers map the legacy role "function" to tool.
const (
	RoleSystem    Role = "system"
	RoleDeveloper Role = "developer"
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleTool      Role = "tool"
)

// Valid reports whether r is one of the five roles.
func (r Role) Valid() bool {
	switch r {
	case RoleSystem, RoleDeveloper, RoleUser, RoleAssistant, RoleTool:
		return true
	}
	return false
}

// Message is one entry of a history, immutable once stored. It marshals to, and reads,
// the JSON object whose keys the comments name.
//
// A struct that embeds Message is marshalled as the Message alone, because MarshalJSON
// is promoted: keep it in a named field instead.
type Message struct {
	ID         string     // message_id; see CheckID; unique in its session; empty on input: the store makes a UUIDv7
	SessionID  string     // session_id; set by the store
	Seq        int64      // seq; assigned by the store
	Role       Role       // role
	Content    Content    // content
	Name       string     // name; see MaxNameBytes
	ToolCallID string     // tool_call_id; of the call that a tool message answers; see MaxNameBytes
	ToolCalls  []ToolCall // tool_calls
	AgentName  string     // agent_name; see CheckID, or empty
	CreatedAt  time.Time  // created_at; assigned by the store when zero; UTC, cut to microseconds, years 1 to 9999
	Metadata   Metadata   // metadata

	// Extra holds unknown keys. A key that names a modelled one is ErrInvalid.
	Extra map[string]json.RawMessage
}

// ToolCall is a model's request to run a tool. It is written in the shape of OpenAI's
// chat completions ({"id","type","function":{"name","arguments"}}, and for the type
// "custom" {"id","type","custom":{"name","input"}}), and also read flat
// ({"id","name","arguments"}).
//
// Unknown keys inside the function (or custom) object are kept as an object under
// Extra["function"] (or Extra["custom"]).
type ToolCall struct {
	ID, Type, Name string // Type "" becomes "function"
	Arguments      string // as received, never reparsed
	Extra          map[string]json.RawMessage
}

// UserMessage returns a message of role user with the given text.
func UserMessage(text string) Message {
	return Message{Role: RoleUser, Content: Text(text)}
}

// AssistantMessage returns a message of role assistant. An empty text together with
// tool calls gives a null content, as chat APIs want it for a tool-only turn.
func AssistantMessage(text string, calls ...ToolCall) Message {
	m := Message{Role: RoleAssistant, Content: Text(text), ToolCalls: calls}
	if text == "" && len(calls) > 0 {
		m.Content = Content{}
	}
	return m
}

// ToolMessage returns a message of role tool that answers the call with the given id.
func ToolMessage(callID, text string) Message {
	return Message{Role: RoleTool, ToolCallID: callID, Content: Text(text)}
}

// Clone returns a deep copy that shares nothing with m.
func (m Message) Clone() Message {
	m.Metadata = m.Metadata.Clone()
	m.Extra = cloneExtra(m.Extra)
	m.ToolCalls = cloneCalls(m.ToolCalls)
	return m
}

func cloneCalls(calls []ToolCall) []ToolCall {
	if len(calls) == 0 {
		return nil
	}
	out := make([]ToolCall, len(calls))
	for i, c := range calls {
		c.Extra = cloneExtra(c.Extra)
		out[i] = c
	}
	return out
}

// sameContent reports whether m and o say the same: everything but Seq, SessionID,
// CreatedAt and the id. Both are in normal form.
func (m Message) sameContent(o Message) bool {
	if m.Role != o.Role || m.Name != o.Name || m.ToolCallID != o.ToolCallID ||
		m.AgentName != o.AgentName || len(m.ToolCalls) != len(o.ToolCalls) ||
		!m.Content.Equal(o.Content) || !m.Metadata.equal(o.Metadata) || !equalExtra(m.Extra, o.Extra) {
		return false
	}
	for i, c := range m.ToolCalls {
		d := o.ToolCalls[i]
		if c.ID != d.ID || c.Type != d.Type || c.Name != d.Name || c.Arguments != d.Arguments || !equalExtra(c.Extra, d.Extra) {
			return false
		}
	}
	return true
}

// prepared validates what a caller sets and returns it in normal form, a deep copy.
func (m Message) prepared() (Message, error) {
	var err error
	if m.ID != "" {
		if err = checkID("message_id", m.ID); err != nil {
			return Message{}, err
		}
	}
	if !m.Role.Valid() {
		return Message{}, invalid("role", "unknown role %q", clip(string(m.Role)))
	}
	if err = m.Content.check("content"); err != nil {
		return Message{}, err
	}
	if err = checkName("name", m.Name, MaxNameBytes); err != nil {
		return Message{}, err
	}
	if err = checkName("tool_call_id", m.ToolCallID, MaxNameBytes); err != nil {
		return Message{}, err
	}
	if err = checkName("agent_name", m.AgentName, MaxIDBytes); err != nil {
		return Message{}, err
	}
	if m.ToolCalls, err = normalCalls(m.ToolCalls); err != nil {
		return Message{}, err
	}
	if m.CreatedAt, err = normalTime("created_at", m.CreatedAt); err != nil {
		return Message{}, err
	}
	if m.Metadata, err = m.Metadata.normal("metadata"); err != nil {
		return Message{}, err
	}
	if m.Extra, err = normalExtra("", m.Extra, messageKey); err != nil {
		return Message{}, err
	}
	return m, nil
}

func normalCalls(calls []ToolCall) ([]ToolCall, error) {
	if len(calls) == 0 {
		return nil, nil
	}
	out := make([]ToolCall, len(calls))
	for i, c := range calls {
		if c.Type == "" {
			c.Type = "function"
		}
		var err error
		if err = checkName("tool_calls.id", c.ID, MaxNameBytes); err != nil {
			return nil, err
		}
		if err = checkName("tool_calls.type", c.Type, MaxNameBytes); err != nil {
			return nil, err
		}
		if err = checkName("tool_calls.name", c.Name, MaxNameBytes); err != nil {
			return nil, err
		}
		if err = checkText("tool_calls.arguments", c.Arguments); err != nil {
			return nil, err
		}
		if c.Extra, err = normalCallExtra(c); err != nil {
			return nil, err
		}
		out[i] = c
	}
	return out, nil
}
