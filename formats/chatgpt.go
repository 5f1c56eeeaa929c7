package formats

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/internal/codec"
)

// decodeChatGPT reads one conversation of a data export of ChatGPT: a tree of nodes under
// "mapping", of which each may have a message and has one parent. The branch that leads to
// current_node is the conversation; without one, or if that node is missing, the branch
// with the newest end. See eachTree for the others.
//
// A node becomes a message with the node's id and time. Left out are nodes that ChatGPT
// does not show (is_visually_hidden_from_conversation), the user's and the model's own
// settings (user_editable_context, model_editable_context), and system messages without a
// text; what comes after them takes their place.
//
//   - Parts that are strings, the text of code, of an output, a quote or an error, and the
//     transcript of a voice message become text: a string if there is one of them.
//   - Other parts, such as pointers to images and recordings, which the export does not
//     hold, are kept as they came. Where such an object has no type, it gets its
//     content_type for one.
//   - Thoughts and reasoning_recap become a part of type reasoning, which has the whole
//     content as it came.
//   - An assistant's message to a tool (recipient) is a call: its text becomes the
//     arguments of a tool call of type function if it is a JSON object, and otherwise,
//     as for Python code, the input of one of type custom. The export has no ids of calls,
//     so that they are made (call_1, …). A message of a tool answers the first open call
//     to a tool of its name, or if there is none the first open call; one after the next
//     message of the user, or a second one, answers none. It is kept, and not sent to a
//     model.
//
// Everything else is kept as it is spelled: of the conversation (title,
// default_model_slug and others) as an object under Session.Extra["chatgpt"], of a message
// (author, recipient, status, the model's name in its metadata) under
// Message.Extra["chatgpt"].
func decodeChatGPT(text string) (*tree, error) {
	record, ok := parseObject(text)
	if !ok {
		return nil, invalid("record", "is not an object")
	}
	mapping, ok := parseObject(record.get("mapping"))
	if !ok {
		return nil, invalid("mapping", "is not an object")
	}
	t := &tree{field: "mapping"}
	for _, key := range []string{"id", "conversation_id"} {
		name, ok := record.text(key)
		if !ok {
			return nil, invalid(key, "is not a string")
		}
		if name != "" {
			t.name = name
		}
	}
	var err error
	if t.session.CreatedAt, err = unixTime("create_time", record.get("create_time")); err != nil {
		return nil, err
	}
	if t.session.UpdatedAt, err = unixTime("update_time", record.get("update_time")); err != nil {
		return nil, err
	}
	if t.current, ok = record.text("current_node"); !ok {
		return nil, invalid("current_node", "is not a string")
	}
	t.session.Extra = extraUnder("chatgpt", record.without("mapping", "create_time", "update_time", "current_node"))
	if t.nodes, err = chatGPTNodes(mapping); err != nil {
		return nil, err
	}
	t.speaker = func(b *builder) func(node) error { return (&chatGPT{builder: b}).message }
	return t, nil
}

func chatGPTNodes(mapping object) ([]node, error) {
	nodes := make([]node, 0, len(mapping))
	index := make(map[string]int, len(mapping))
	children := map[string]string{} // to the parents that list them
	for _, m := range mapping {
		n := node{id: m.key}
		o, ok := parseObject(m.value)
		if !ok {
			return nil, nodeError(n.id, invalid("node", "is not an object"))
		}
		if n.parent, ok = o.text("parent"); !ok {
			return nil, nodeError(n.id, invalid("parent", "is not a string"))
		}
		for e := range elements(o.get("children")) {
			if child, ok := unquote(e); ok {
				children[child] = n.id
			}
		}
		if n.value = o.get("message"); n.value != "" {
			message, ok := parseObject(n.value)
			if !ok {
				return nil, nodeError(n.id, invalid("message", "is not an object"))
			}
			var err error
			if n.at, err = unixTime("create_time", message.get("create_time")); err != nil {
				return nil, nodeError(n.id, err)
			}
			n.says = shownByChatGPT(message)
		}
		if i, ok := index[n.id]; ok { // of duplicate keys the last one counts
			nodes[i] = n
			continue
		}
		index[n.id] = len(nodes)
		nodes = append(nodes, n)
	}
	for i, n := range nodes {
		if n.parent == "" && children[n.id] != n.id {
			nodes[i].parent = children[n.id]
		}
	}
	return nodes, nil
}

func nodeError(id string, err error) error { return fmt.Errorf("mapping[%q]: %w", clip(id), err) }

// unixTime reads a time in seconds since 1970, with a fraction. Without one it is zero.
func unixTime(field, text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if !codec.ValidNumber(text) {
		return time.Time{}, invalid(field, "is not a number of seconds")
	}
	nanos, ok := codec.ParseNanos(text)
	if !ok {
		return time.Time{}, invalid(field, "is beyond what can be kept")
	}
	return time.Unix(0, nanos).UTC(), nil
}

// shownByChatGPT reports whether a message is one that its user saw.
func shownByChatGPT(message object) bool {
	metadata, _ := parseObject(message.get("metadata"))
	if metadata.get("is_visually_hidden_from_conversation") == "true" {
		return false
	}
	content, _ := parseObject(message.get("content"))
	switch kind, _ := content.text("content_type"); kind {
	case "user_editable_context", "model_editable_context":
		return false
	}
	author, _ := parseObject(message.get("author"))
	if role, _ := author.text("role"); role == string(sessionstore.RoleSystem) {
		for e := range elements(content.get("parts")) {
			if e != `""` {
				return true
			}
		}
		return false
	}
	return true
}

// chatGPT adds the messages of one branch.
type chatGPT struct {
	*builder
	open   []openCall
	inCall bool // the last message was a call
}

// openCall is a call without a result so far.
type openCall struct{ id, tool string }

func (d *chatGPT) message(n node) error {
	message, _ := parseObject(n.value)
	if id, _ := message.text("id"); id == n.id {
		message = message.drop("id")
	}
	m, err := d.read(message)
	if err != nil {
		return nodeError(n.id, err)
	}
	m.ID, m.CreatedAt = n.id, n.at
	return d.add(m)
}

func (d *chatGPT) read(message object) (m sessionstore.Message, err error) {
	author, ok := parseObject(message.get("author"))
	if !ok {
		return m, invalid("author", "is not an object")
	}
	role, _ := author.text("role")
	m.Role = sessionstore.Role(role)
	if !m.Role.Valid() {
		return m, invalid("author.role", fmt.Sprintf("unknown role %q", clip(role)))
	}
	name, ok := author.text("name")
	if !ok {
		return m, invalid("author.name", "is not a string")
	}
	recipient, ok := message.text("recipient")
	if !ok {
		return m, invalid("recipient", "is not a string")
	}
	content, ok := parseObject(message.get("content"))
	if !ok && message.get("content") != "" {
		return m, invalid("content", "is not an object")
	}
	var left object // of the content
	if m.Content, left, err = chatGPTContent(content); err != nil {
		return m, err
	}
	isCall := m.Role == sessionstore.RoleAssistant && recipient != "" && recipient != "all"
	switch {
	case isCall:
		if !d.inCall {
			d.open = nil
		}
		d.call(&m, recipient)
	case m.Role == sessionstore.RoleTool:
		m.ToolCallID = d.answered(name)
	case m.Role == sessionstore.RoleUser:
		d.open = nil
	}
	d.inCall = isCall
	if kind, _ := content.text("content_type"); kind == "system_error" && m.Role == sessionstore.RoleTool {
		m.Extra = map[string]json.RawMessage{"is_error": json.RawMessage("true")}
	}
	m.Extra = withExtra(m.Extra, "chatgpt", message.with("author", author.drop("role")).with("content", left).drop("create_time"))
	return m, nil
}

// call makes m the call that its text is.
func (d *chatGPT) call(m *sessionstore.Message, tool string) {
	c := sessionstore.ToolCall{ID: d.calls.call(), Type: "custom", Name: tool, Arguments: m.Content.String()}
	if _, ok := parseObject(c.Arguments); ok && check(c.Arguments) == nil {
		c.Type = "function"
	}
	d.open = append(d.open, openCall{c.ID, tool})
	m.ToolCalls = []sessionstore.ToolCall{c}
	var rest []sessionstore.Part
	for _, p := range m.Content.All() {
		if p.Type() != "text" {
			rest = append(rest, p)
		}
	}
	m.Content = sessionstore.Content{}
	if rest != nil {
		m.Content = sessionstore.Parts(rest...)
	}
}

// answered returns the id of the call that a message of a tool answers, or "".
func (d *chatGPT) answered(tool string) string {
	if len(d.open) == 0 {
		return ""
	}
	i := max(0, slices.IndexFunc(d.open, func(c openCall) bool { return c.tool == tool }))
	id := d.open[i].id
	d.open = slices.Delete(d.open, i, i+1)
	return id
}

// chatGPTContent reads what a message says, and returns what is left of it to keep.
func chatGPTContent(o object) (c sessionstore.Content, left object, err error) {
	kind, ok := o.text("content_type")
	if !ok {
		return c, nil, invalid("content.content_type", "is not a string")
	}
	switch kind {
	case "thoughts", "reasoning_recap":
		p, err := typedPart("content", o, "reasoning")
		return sessionstore.Parts(p), nil, err
	}
	if list := o.get("parts"); list != "" {
		if !isArray(list) {
			return c, nil, invalid("content.parts", "is not a list")
		}
		c, whole, err := chatGPTParts(list)
		left := o
		if whole {
			left = o.drop("parts")
		}
		if whole && (kind == "text" || kind == "multimodal_text") {
			left = left.drop("content_type")
		}
		return c, left, err
	}
	for _, key := range []string{"text", "result"} {
		if o.get(key) == "" {
			continue
		}
		s, ok := o.text(key)
		if !ok {
			return c, nil, invalid("content."+key, "is not a string")
		}
		return sessionstore.Text(s), o.drop(key), nil
	}
	if kind == "" || len(o) == 1 || o.has("parts") || o.has("text") {
		return c, o, nil
	}
	p, err := typedPart("content", o, kind)
	return sessionstore.Parts(p), nil, err
}

// chatGPTParts reads a list of parts. Whole reports whether that is all of it.
func chatGPTParts(list string) (c sessionstore.Content, whole bool, err error) {
	var says []string // the elements that say something
	whole = true
	for e := range elements(list) {
		if e == "null" {
			whole = false
			continue
		}
		says = append(says, e)
	}
	if len(says) == 0 {
		return sessionstore.Text(""), whole, nil
	}
	if len(says) == 1 { // it may be large, and is not copied into a part
		if s, transcript, ok := chatGPTText(says[0]); ok {
			return sessionstore.Text(s), whole && !transcript, nil
		}
	}
	parts := make([]sessionstore.Part, len(says))
	for i, e := range says {
		if s, transcript, ok := chatGPTText(e); ok {
			parts[i] = sessionstore.TextPart(s)
			whole = whole && !transcript
			continue
		}
		field := fmt.Sprintf("content.parts[%d]", i)
		o, ok := parseObject(e)
		if !ok {
			return c, false, invalid(field, "is neither a string nor an object")
		}
		kind, _ := o.text("content_type")
		if parts[i], err = typedPart(field, o, kind); err != nil {
			return c, false, err
		}
	}
	return sessionstore.Parts(parts...), whole, nil
}

// chatGPTText returns the text that a part is: a string, or the transcript of what was
// spoken.
func chatGPTText(part string) (s string, transcript, ok bool) {
	if s, ok = unquote(part); ok {
		return s, false, true
	}
	o, _ := parseObject(part)
	if kind, _ := o.text("content_type"); kind != "audio_transcription" {
		return "", false, false
	}
	s, ok = o.text("text")
	return s, true, ok
}

// typedPart returns o as a part. If it has no type, kind becomes its first key.
func typedPart(field string, o object, kind string) (sessionstore.Part, error) {
	if !o.has("type") && kind != "" {
		o = append(object{{"type", quote(kind)}}, o...)
	}
	raw := o.without()
	if raw == nil {
		raw = json.RawMessage("{}")
	}
	p, err := sessionstore.ParsePart(raw)
	if err != nil {
		return p, fmt.Errorf("%s: %w", field, err)
	}
	return p, nil
}
