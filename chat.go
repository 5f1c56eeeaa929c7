package sessionstore

import (
	"encoding/json"
	"slices"
	"strconv"

	"github.com/sessionstore/sessionstore/internal/codec"
)

// ChatMessage is a message as chat-completions APIs take it in their list of messages.
// It marshals to exactly that object: the key content is always there, null only on an
// assistant's turn without text; tool_calls only where there are calls; ids, metadata
// and agent names are not sent.
type ChatMessage struct {
	Role       Role       // role
	Content    Content    // content
	Name       string     // name
	ToolCalls  []ToolCall // tool_calls
	ToolCallID string     // tool_call_id

	// Extra holds what else such an API takes back: refusal and audio of an assistant.
	Extra map[string]json.RawMessage
}

// chatExtra names the unmodelled keys that an assistant's message may have in a request.
// Others, such as reasoning_content, are of answers only, and may be refused.
var chatExtra = []string{"audio", "refusal"}

// audioID returns of an answer's audio what a request takes: its id, without the sound.
func audioID(audio json.RawMessage) (json.RawMessage, bool) {
	var a struct {
		ID json.RawMessage `json:"id"`
	}
	if json.Unmarshal(audio, &a) != nil || len(a.ID) < 3 || a.ID[0] != '"' {
		return nil, false
	}
	return append(append([]byte(`{"id":`), a.ID...), '}'), true
}

// ChatMessage returns m as chat-completions APIs take it. Reasoning is left out, and of
// an assistant all parts but texts and refusals, which are what they take of it: images
// that a model made, and blocks that belong to another API. Keys that are null are dropped
// from parts, and an image_url that is a string becomes an object with the url. The result of a tool may only be text there; its other parts are
// left out ([Prompt.ChatMessages] sends them in a user message).
func (m Message) ChatMessage() ChatMessage {
	c := ChatMessage{Role: m.Role, Name: m.Name}
	switch m.Role {
	case RoleAssistant:
		c.Content = chatContent(m.Content, Content{}, spoken)
		c.ToolCalls = cloneCalls(m.ToolCalls)
		for _, k := range chatExtra {
			v, ok := m.Extra[k]
			if k == "audio" {
				v, ok = audioID(v)
			}
			if ok && string(v) != "null" {
				if c.Extra == nil {
					c.Extra = make(map[string]json.RawMessage)
				}
				c.Extra[k] = slices.Clone(v)
			}
		}
	case RoleTool:
		c.ToolCallID = m.ToolCallID
		c.Content = chatContent(m.Content, Text(""), hasText)
	default:
		c.Content = chatContent(m.Content, Text(""), sendable)
	}
	return c
}

// mediaOnly stands for the text of a tool's result that has none.
const mediaOnly = "The result is in the user message that follows."

// ChatMessages returns the prompt as the list of messages of a chat-completions request:
// Session.System first, if there is any. Images and other media among the results of a
// message's tool calls follow those in one user message, because a result may only be
// text. What is nothing without its reasoning is left out.
func (p Prompt) ChatMessages() []ChatMessage {
	out := make([]ChatMessage, 0, len(p.Messages)+1)
	if p.Session.System != "" {
		out = append(out, ChatMessage{Role: RoleSystem, Content: Text(p.Session.System)})
	}
	var media []Part
	flush := func() {
		if len(media) > 0 {
			out = append(out, ChatMessage{Role: RoleUser, Content: Parts(media...)})
			media = nil
		}
	}
	for _, m := range p.Messages {
		c := m.ChatMessage()
		if m.Role != RoleTool {
			flush()
		} else if m.hasMedia() {
			if c.Content.isEmpty() {
				c.Content = Text(mediaOnly)
			}
			media = append(media, TextPart("From the result of tool call "+strconv.Quote(m.ToolCallID)+":"))
			for _, part := range m.Content.All() {
				if isMedia(part) {
					media = append(media, chatPart(part))
				}
			}
		}
		if c.Role == RoleAssistant && c.Content.isEmpty() && len(c.ToolCalls) == 0 && len(c.Extra) == 0 {
			continue
		}
		out = append(out, c)
	}
	flush()
	return out
}

// chatContent returns c with the parts that keep accepts, as they are sent, or none if
// nothing is left.
func chatContent(c, none Content, keep func(Part) bool) Content {
	if c.IsNull() {
		return none
	}
	if c.IsText() {
		return c
	}
	var parts []Part
	for _, p := range c.All() {
		if keep(p) {
			parts = append(parts, chatPart(p))
		}
	}
	if len(parts) == 0 {
		return none
	}
	return Parts(parts...)
}

// chatPart returns p without its null keys, also those of an image, audio or file in it,
// and with the url of an image in an object.
func chatPart(p Part) Part {
	r := newReader(p.raw)
	if r.Object() != nil {
		return p
	}
	out := append(make([]byte, 0, len(p.raw)+len(`{"url":}`)), '{')
	for {
		key, ok, err := r.Key()
		if err != nil {
			return p
		}
		if !ok {
			break
		}
		value, err := r.Raw(MaxDepth)
		if err != nil {
			return p
		}
		if value == "null" {
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out, _ = codec.AppendString(out, key)
		out = append(out, ':')
		switch {
		case key == "image_url" && value[0] == '"':
			out = append(out, `{"url":`...)
			out = append(out, value...)
			out = append(out, '}')
		case value[0] == '{' && (key == "image_url" || key == "input_audio" || key == "file"):
			out = append(out, chatPart(Part{raw: value}).raw...)
		default:
			out = append(out, value...)
		}
	}
	return Part{raw: string(append(out, '}'))}
}

func isReasoning(p Part) bool {
	switch p.Type() {
	case "reasoning", "thinking", "redacted_thinking":
		return true
	}
	return false
}

func isText(p Part) bool  { return p.Type() == "text" }
func isMedia(p Part) bool { return !isText(p) && !isReasoning(p) }

// hasText and sendable leave out texts that are empty, or were null: APIs refuse them.
func hasText(p Part) bool  { return isText(p) && p.Text() != "" }
func sendable(p Part) bool { return hasText(p) || isMedia(p) }

// spoken is what an assistant may have said.
func spoken(p Part) bool { return hasText(p) || p.Type() == "refusal" }

// reasonsOnly reports whether m is reasoning about what the next message says.
func (m Message) reasonsOnly() bool {
	if len(m.ToolCalls) > 0 || m.Content.isEmpty() || m.Content.IsText() {
		return false
	}
	for _, p := range m.Content.All() {
		if !isReasoning(p) {
			return false
		}
	}
	return true
}

func (m Message) hasMedia() bool {
	if m.Content.IsText() {
		return false
	}
	for _, p := range m.Content.All() {
		if isMedia(p) {
			return true
		}
	}
	return false
}

// MarshalJSON returns the object that the API takes.
func (c ChatMessage) MarshalJSON() ([]byte, error) { return c.AppendJSON(nil) }

// AppendJSON appends the object that the API takes, with no more escapes than JSON needs
// (json.Marshal escapes <, > and & in whatever MarshalJSON returns). Errors: ErrInvalid;
// dst may then have grown.
func (c ChatMessage) AppendJSON(dst []byte) ([]byte, error) {
	dst, err := appendString(append(dst, `{"role":`...), "role", string(c.Role))
	if err != nil {
		return dst, err
	}
	if dst, err = c.Content.appendJSON(append(dst, `,"content":`...), "content"); err != nil {
		return dst, err
	}
	if c.Name != "" {
		if dst, err = appendMember(dst, "name", c.Name); err != nil {
			return dst, err
		}
	}
	for i, call := range c.ToolCalls {
		if i == 0 {
			dst = append(dst, `,"tool_calls":[`...)
		} else {
			dst = append(dst, ',')
		}
		if dst, err = call.appendJSON(dst); err != nil {
			return dst, err
		}
	}
	if len(c.ToolCalls) > 0 {
		dst = append(dst, ']')
	}
	if c.Role == RoleTool {
		if dst, err = appendMember(dst, "tool_call_id", c.ToolCallID); err != nil {
			return dst, err
		}
	}
	if dst, err = appendExtra(dst, "", c.Extra, chatKey); err != nil {
		return dst, err
	}
	return append(dst, '}'), nil
}

// chatKey reports whether k is a key that ChatMessage has a field for.
func chatKey(k string) bool {
	switch k {
	case "role", "content", "name", "tool_calls", "tool_call_id":
		return true
	}
	return false
}
