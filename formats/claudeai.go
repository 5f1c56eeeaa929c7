package formats

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/internal/wire"
)

// decodeClaudeAI reads one conversation of a data export of Claude.ai: a list of messages
// under "chat_messages". Where these name the message before them (parent_message_uuid)
// they are a tree, and the branch that ends with current_leaf_message_uuid, or without one
// with the last message of the list, is the conversation; see eachTree for the others. A
// message that names none follows the one before it in the list.
//
// A message becomes a message with its uuid and time, and what its content lists, in order:
//
//   - a text becomes text. Where the content has no text, that of the message itself, which
//     older exports have, takes its place;
//   - a tool_use becomes a tool call. One without an id gets one (call_1, …);
//   - a tool_result becomes a tool message, whoever's message it stands in. So an answer
//     with results is several messages: up to the first result, the results, what follows
//     them, and so on; the second and later have the uuid with -2, -3 and so on as their
//     ids. One without a tool_use_id, or with one that no call has, answers the first open
//     call. Its is_error is kept as a key of the message;
//   - thinking, and whatever else there is, becomes a part as it came.
//
// The text that Claude.ai extracted from an attachment follows as a text of its own, under
// the attachment's name. The other files are not in the export.
//
// Everything else is kept as it is spelled: of the conversation (name, account, settings
// and others) as an object under Session.Extra["claudeai"], of a message (files,
// attachments without their text, and what the blocks of the content have beside what was
// read) under Message.Extra["claudeai"] of the first message that it became.
func decodeClaudeAI(text string) (*tree, error) {
	record, ok := parseObject(text)
	if !ok {
		return nil, invalid("record", "is not an object")
	}
	list := record.get("chat_messages")
	if !isArray(list) {
		return nil, invalid("chat_messages", "is not a list")
	}
	t := &tree{field: "chat_messages"}
	if t.name, ok = record.text("uuid"); !ok {
		return nil, invalid("uuid", "is not a string")
	}
	if t.current, ok = record.text("current_leaf_message_uuid"); !ok {
		return nil, invalid("current_leaf_message_uuid", "is not a string")
	}
	var err error
	if t.session.CreatedAt, err = isoTime("created_at", record.get("created_at")); err != nil {
		return nil, err
	}
	if t.session.UpdatedAt, err = isoTime("updated_at", record.get("updated_at")); err != nil {
		return nil, err
	}
	t.session.Extra = extraUnder("claudeai", record.without("chat_messages", "created_at", "updated_at", "current_leaf_message_uuid"))
	for e := range elements(list) {
		n, err := claudeAINode(len(t.nodes), e)
		if err != nil {
			return nil, err
		}
		switch {
		case n.parent == claudeAIRoot:
			n.parent = ""
		case n.parent == "" && len(t.nodes) > 0:
			n.parent = t.nodes[len(t.nodes)-1].id
		}
		t.nodes = append(t.nodes, n)
	}
	if t.current == "" && len(t.nodes) > 0 {
		t.current = t.nodes[len(t.nodes)-1].id
	}
	t.speaker = func(b *builder) func(node) error { return (&claudeAI{b: b, ids: map[string]bool{}}).message }
	return t, nil
}

// claudeAIRoot is the parent that Claude.ai gives to the first message.
const claudeAIRoot = "00000000-0000-4000-8000-000000000000"

func claudeAINode(i int, text string) (node, error) {
	n := node{value: text, says: true}
	field := "chat_messages[" + strconv.Itoa(i) + "]"
	o, ok := parseObject(text)
	if !ok {
		return n, invalid(field, "is not an object")
	}
	if n.id, ok = o.text("uuid"); !ok {
		return n, invalid(field+".uuid", "is not a string")
	}
	if n.id == "" {
		n.id = "message-" + strconv.Itoa(i)
	}
	if n.parent, ok = o.text("parent_message_uuid"); !ok {
		return n, invalid(field+".parent_message_uuid", "is not a string")
	}
	var err error
	n.at, err = isoTime(field+".created_at", o.get("created_at"))
	return n, err
}

// isoTime reads a time of ISO 8601 in all spellings that the library reads. Without one it
// is zero.
func isoTime(field, text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	m, err := decodeMessage(`{"created_at":` + text + `}`)
	if err != nil {
		return time.Time{}, invalid(field, "is not a time of ISO 8601")
	}
	return m.CreatedAt, nil
}

// claudeAI adds the messages of one branch.
type claudeAI struct {
	b   *builder
	ids map[string]bool // of the calls of the branch

	// What the present message becomes.
	n     node
	role  sessionstore.Role
	made  int // messages so far
	extra map[string]json.RawMessage
	said  wire.Answer // since the last result
	calls bool        // some of it is calls
	open  bool        // there is some
}

func (d *claudeAI) message(n node) error {
	d.n, d.made, d.extra = n, 0, nil
	o, _ := parseObject(n.value)
	if err := d.read(o); err != nil {
		return fmt.Errorf("message %q: %w", clip(n.id), err)
	}
	return nil
}

func (d *claudeAI) read(o object) error {
	sender, _ := o.text("sender")
	switch sender {
	case "human", "user":
		d.role = sessionstore.RoleUser
	case "assistant":
		d.role = sessionstore.RoleAssistant
	default:
		return invalid("sender", fmt.Sprintf("unknown sender %q", clip(sender)))
	}
	text, ok := o.text("text")
	if !ok {
		return invalid("text", "is not a string")
	}
	content := o.get("content")
	if content != "" && !isArray(content) {
		return invalid("content", "is not a list")
	}
	documents, attachments, err := claudeAIDocuments(o.get("attachments"))
	if err != nil {
		return err
	}
	said, more := claudeAIText(content)
	left := o.drop("sender", "created_at", "parent_message_uuid")
	if said == text || !more && said == "" {
		left = left.drop("text")
	}
	if attachments != "" {
		left = left.set("attachments", attachments)
	}
	if blocks := claudeAILeft(content); blocks == "" {
		left = left.drop("content")
	} else {
		left = left.set("content", blocks)
	}
	if id, _ := o.text("uuid"); id == d.n.id {
		left = left.drop("uuid")
	}
	d.extra = withExtra(nil, "claudeai", left)

	if !more && said == "" && text != "" {
		d.part(sessionstore.TextPart(text))
	} else {
		i := 0
		for e := range elements(content) {
			if err := d.block(e); err != nil {
				return fmt.Errorf("content[%d]: %w", i, err)
			}
			i++
		}
	}
	for _, s := range documents {
		d.part(sessionstore.TextPart(s))
	}
	if d.made > 0 && !d.open {
		return nil
	}
	return d.end()
}

// claudeAIText returns the texts of a content, joined, and whether it has anything else.
func claudeAIText(content string) (said string, more bool) {
	var b strings.Builder
	for e := range elements(content) {
		o, _ := parseObject(e)
		if kind, _ := o.text("type"); kind != "text" {
			more = true
		}
		s, _ := o.text("text")
		b.WriteString(s)
	}
	return b.String(), more
}

// claudeAILeft returns what is left of the blocks of a content when they have been read: a
// list with an object for each block, or "" if there is nothing but their types.
func claudeAILeft(content string) string {
	if !isArray(content) {
		return content
	}
	var blocks []object
	more := false
	for e := range elements(content) {
		o, _ := parseObject(e)
		switch kind, _ := o.text("type"); kind {
		case "text":
			o = o.drop("text")
		case "tool_use":
			o = o.drop("id", "name", "input")
		case "tool_result":
			o = o.drop("tool_use_id", "content", "is_error")
		case "":
			o = nil // kept as a part, like all others
		default:
			o = object{{"type", quote(kind)}}
		}
		more = more || len(o.drop("type")) > 0
		blocks = append(blocks, o)
	}
	if !more {
		return ""
	}
	return listOf(blocks)
}

// claudeAIDocuments returns the texts of the attachments, and these without them.
func claudeAIDocuments(attachments string) (texts []string, left string, err error) {
	if attachments == "" {
		return nil, "", nil
	}
	if !isArray(attachments) {
		return nil, "", invalid("attachments", "is not a list")
	}
	var rest []object
	for e := range elements(attachments) {
		field := fmt.Sprintf("attachments[%d]", len(rest))
		o, ok := parseObject(e)
		if !ok {
			return nil, "", invalid(field, "is not an object")
		}
		name, ok := o.text("file_name")
		text, isText := o.text("extracted_content")
		if !ok || !isText {
			return nil, "", invalid(field, "has a file_name or an extracted_content that is not a string")
		}
		if text != "" {
			if name != "" {
				text = name + ":\n" + text
			}
			texts = append(texts, text)
		}
		rest = append(rest, o.drop("extracted_content"))
	}
	return texts, listOf(rest), nil
}

func (d *claudeAI) block(text string) error {
	o, ok := parseObject(text)
	if !ok {
		return invalid("block", "is not an object")
	}
	kind, ok := o.text("type")
	if !ok {
		return invalid("type", "is not a string")
	}
	switch kind {
	case "text":
		s, ok := o.text("text")
		if !ok {
			return invalid("text", "is not a string")
		}
		if s != "" {
			d.part(sessionstore.TextPart(s))
		}
		return nil
	case "tool_use":
		return d.call(o)
	case "tool_result":
		return d.result(o)
	}
	p, err := sessionstore.ParsePart(bytesOf(text))
	if err != nil {
		return err
	}
	d.part(p)
	return nil
}

func (d *claudeAI) part(p sessionstore.Part) {
	d.said.Part(p)
	d.open = true
}

func (d *claudeAI) call(o object) error {
	id, ok := o.text("id")
	name, isName := o.text("name")
	if !ok || !isName || name == "" {
		return invalid("tool_use", "has no name, or an id that is not a string")
	}
	if !d.calls {
		d.b.calls.group()
	}
	if id == "" || d.ids[id] {
		id = d.b.calls.call()
	} else {
		d.b.calls.named(id)
	}
	d.ids[id] = true
	c := sessionstore.ToolCall{ID: id, Type: "function", Name: name, Arguments: o.get("input")}
	if c.Arguments == "" {
		c.Arguments = "{}"
	}
	d.said.Call(c)
	d.calls, d.open = true, true
	return nil
}

func (d *claudeAI) result(o object) error {
	id, ok := o.text("tool_use_id")
	if !ok {
		return invalid("tool_use_id", "is not a string")
	}
	c, err := claudeAIResult(o.get("content"))
	if err != nil {
		return err
	}
	if d.open {
		if err := d.end(); err != nil {
			return err
		}
	}
	if d.ids[id] {
		d.b.calls.answered(id)
	} else {
		id = d.b.calls.result()
	}
	m := sessionstore.Message{Role: sessionstore.RoleTool, Content: c, ToolCallID: id}
	if v := o.get("is_error"); v == "true" {
		m.Extra = map[string]json.RawMessage{"is_error": json.RawMessage(v)}
	}
	return d.put(m)
}

// claudeAIResult reads the content of a result: a text, or a list of blocks.
func claudeAIResult(text string) (sessionstore.Content, error) {
	if s, ok := unquote(text); ok || text == "" {
		return sessionstore.Text(s), nil
	}
	if !isArray(text) {
		return sessionstore.Content{}, invalid("content", "is neither a string nor a list")
	}
	var a wire.Answer
	for e := range elements(text) {
		o, ok := parseObject(e)
		if kind, _ := o.text("type"); ok && kind == "text" {
			if s, ok := o.text("text"); ok {
				a.Part(sessionstore.TextPart(s))
				continue
			}
		}
		p, err := sessionstore.ParsePart(bytesOf(e))
		if err != nil {
			return sessionstore.Content{}, err
		}
		a.Part(p)
	}
	return a.Message().Content, nil
}

// end adds what was said since the last result as a message.
func (d *claudeAI) end() error {
	m := d.said.Message()
	m.Role = d.role
	d.said, d.calls, d.open = wire.Answer{}, false, false
	return d.put(m)
}

// put adds the next message that the present one becomes.
func (d *claudeAI) put(m sessionstore.Message) error {
	d.made++
	m.ID, m.CreatedAt = d.n.id, d.n.at
	if d.made > 1 {
		m.ID += "-" + strconv.Itoa(d.made)
	}
	m.Extra = joined(m.Extra, d.extra)
	d.extra = nil
	return d.b.add(m)
}
