package sessionstore

// messageKey reports whether k is the key of a field of Message.
func messageKey(k string) bool {
	switch k {
	case "message_id", "session_id", "seq", "role", "content", "name", "tool_call_id",
		"tool_calls", "agent_name", "created_at", "metadata":
		return true
	}
	return false
}

// AppendJSON appends the wire form of m to dst: canonical, so that equal messages are
// equal bytes, and never HTML-escaped. What is not in normal form yet is written as if
// it were. Errors: ErrInvalid, for what has no wire form; dst may then have grown.
//
// json.Marshal escapes <, > and & in whatever MarshalJSON returns; use AppendJSON in
// tools.
func (m Message) AppendJSON(dst []byte) ([]byte, error) {
	dst, err := appendString(append(dst, `{"message_id":`...), "message_id", m.ID)
	if err != nil {
		return dst, err
	}
	if dst, err = appendMember(dst, "session_id", m.SessionID); err != nil {
		return dst, err
	}
	dst = appendInt(dst, "seq", m.Seq)
	if dst, err = appendMember(dst, "role", string(m.Role)); err != nil {
		return dst, err
	}
	if dst, err = m.Content.appendJSON(append(dst, `,"content":`...), "content"); err != nil {
		return dst, err
	}
	if m.Name != "" {
		if dst, err = appendMember(dst, "name", m.Name); err != nil {
			return dst, err
		}
	}
	if dst, err = appendMemberOrNull(dst, "tool_call_id", m.ToolCallID); err != nil {
		return dst, err
	}
	for i, c := range m.ToolCalls {
		if i == 0 {
			dst = append(dst, `,"tool_calls":[`...)
		} else {
			dst = append(dst, ',')
		}
		if dst, err = c.appendJSON(dst); err != nil {
			return dst, err
		}
	}
	if len(m.ToolCalls) > 0 {
		dst = append(dst, ']')
	}
	if dst, err = appendMemberOrNull(dst, "agent_name", m.AgentName); err != nil {
		return dst, err
	}
	if dst, err = appendTimeOrNull(dst, "created_at", m.CreatedAt); err != nil {
		return dst, err
	}
	if dst, err = appendObject(append(dst, `,"metadata":`...), "metadata", m.Metadata, MaxDepth); err != nil {
		return dst, err
	}
	if dst, err = appendExtra(dst, "", m.Extra, messageKey); err != nil {
		return dst, err
	}
	return append(dst, '}'), nil
}

// DecodeMessage reads one message, in any form that the wire form allows, into normal
// form. It keeps nothing of b. Whether a store takes the message is not judged here:
// roles and lengths are for [Append.Prepare]. Errors: ErrInvalid.
func DecodeMessage(b []byte) (Message, error) {
	r := newBytesReader(b)
	if err := r.Object(); err != nil {
		return Message{}, badJSON("message", err)
	}
	m := Message{}
	for {
		key, ok, err := r.NextKey()
		if err != nil {
			return Message{}, badJSON("message", err)
		}
		if !ok {
			break
		}
		switch key {
		case "message_id":
			m.ID, err = r.string("message_id")
		case "session_id":
			m.SessionID, err = r.string("session_id")
		case "seq":
			m.Seq, err = r.int("seq")
		case "role":
			m.Role, err = r.role("role")
		case "content":
			m.Content, err = r.content("content")
		case "name":
			m.Name, err = r.string("name")
		case "tool_call_id":
			m.ToolCallID, err = r.string("tool_call_id")
		case "tool_calls":
			m.ToolCalls, err = r.calls()
		case "agent_name":
			m.AgentName, err = r.string("agent_name")
		case "created_at":
			m.CreatedAt, err = r.time("created_at")
		case "metadata":
			m.Metadata, err = r.metadata("metadata")
		default:
			m.Extra, err = r.extraValue("", r.Keep(key), m.Extra)
		}
		if err != nil {
			return Message{}, err
		}
	}
	if err := r.end("message"); err != nil {
		return Message{}, err
	}
	if m.Metadata == nil {
		m.Metadata = Metadata{}
	}
	return m, nil
}

// MarshalJSON is AppendJSON for encoding/json.
func (m Message) MarshalJSON() ([]byte, error) { return m.AppendJSON(nil) }

// UnmarshalJSON replaces m by what DecodeMessage reads. As encoding/json has it, null
// changes nothing.
func (m *Message) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		return nil
	}
	v, err := DecodeMessage(b)
	if err == nil {
		*m = v
	}
	return err
}

// role reads a role. The known ones are not kept as parts of the text.
func (r *reader) role(field string) (Role, error) {
	s, err := r.string(field)
	switch Role(s) {
	case RoleUser:
		return RoleUser, err
	case RoleAssistant:
		return RoleAssistant, err
	case RoleTool:
		return RoleTool, err
	}
	return Role(s), err
}

func appendMemberOrNull(dst []byte, key, s string) ([]byte, error) {
	if s == "" {
		return append(appendKey(dst, key), "null"...), nil
	}
	return appendMember(dst, key, s)
}

// sizeBound is at least the length that AppendJSON writes of m, which is in normal form.
func (m Message) sizeBound() int {
	const fixed = 300 // keys, punctuation, seq and time
	n := fixed + stringBound(m.ID) + stringBound(m.SessionID) + stringBound(string(m.Role)) +
		stringBound(m.Name) + stringBound(m.ToolCallID) + stringBound(m.AgentName) +
		m.Content.sizeBound() + metadataBound(m.Metadata) + extraBound(m.Extra)
	for i := range m.ToolCalls {
		n += m.ToolCalls[i].sizeBound()
	}
	return n
}
