package formats

import (
	"encoding/json"
	"fmt"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/internal/wire"
	"github.com/sessionstore/sessionstore/internal/wire/claude"
)

// decodeAnthropic reads one conversation in the form of Anthropic's Messages API:
//
//   - an object with messages, and perhaps a system, as a request has them;
//   - a list of messages;
//   - one message, such as an answer of the API.
//
// A system of one plain text becomes Session.System; another one, of several blocks or
// with cache_control, a system message at the start. An answer is stored as
// providers/anthropic stores it: tool_use blocks become tool calls, any other block a part
// as it came. Of a user's message, tool_result blocks become tool messages, with is_error
// and cache_control in Message.Extra; what else it has follows them as a user message. So
// the conversation goes to the API again as it came.
//
// Keys that have no field here are kept as they are spelled: those of the record (model,
// tools, stop_reason, usage and others) as an object under Session.Extra["anthropic"],
// those of a message or of a tool_result under Message.Extra["anthropic"].
func decodeAnthropic(text string, b *builder) error {
	d := anthropic{b}
	if isArray(text) {
		return d.list(text)
	}
	record, ok := parseObject(text)
	switch {
	case !ok:
		return invalid("record", "is neither an object nor a list of messages")
	case record.has("messages"):
		if err := d.system(record.get("system")); err != nil {
			return err
		}
		d.session.Extra = extraUnder("anthropic", record.without("system", "messages"))
		return d.list(record.get("messages"))
	case record.has("role"):
		d.session.Extra = extraUnder("anthropic", record.without("role", "content"))
		return d.message(object{{"role", record.get("role")}, {"content", record.get("content")}})
	}
	return invalid("record", "has neither messages nor a role")
}

type anthropic struct{ *builder }

func (d anthropic) system(text string) error {
	if text == "" {
		return nil
	}
	if s, ok := unquote(text); ok {
		d.session.System = s
		return nil
	}
	content, err := partsOf("system", text)
	if err != nil {
		return err
	}
	parts, plain := 0, true
	for _, p := range content.All() {
		parts++
		plain = plain && p.Type() == "text" && wire.Parse(p.Raw()).Only("type", "text")
	}
	switch {
	case parts == 0:
		return nil
	case parts == 1 && plain:
		d.session.System = content.String()
		return nil
	}
	return d.add(sessionstore.Message{Role: sessionstore.RoleSystem, Content: content})
}

func (d anthropic) list(text string) error {
	if !isArray(text) {
		return invalid("messages", "is not a list")
	}
	i := 0
	for e := range elements(text) {
		o, ok := parseObject(e)
		if !ok {
			return invalid(fmt.Sprintf("messages[%d]", i), "is not an object")
		}
		if err := d.message(o); err != nil {
			return fmt.Errorf("messages[%d]: %w", i, err)
		}
		i++
	}
	return nil
}

func (d anthropic) message(o object) error {
	role, _ := o.text("role")
	extra := extraUnder("anthropic", o.without("role", "content"))
	content := o.get("content")
	switch role {
	case "assistant":
		return d.answer(content, extra)
	case "user":
		if isArray(content) {
			return d.blocks(content, extra)
		}
	case "system":
	default:
		return invalid("role", fmt.Sprintf("unknown role %q", clip(role)))
	}
	c, err := textOrParts("content", content)
	if err != nil {
		return err
	}
	return d.add(sessionstore.Message{Role: sessionstore.Role(role), Content: c, Extra: extra})
}

func (d anthropic) answer(content string, extra map[string]json.RawMessage) error {
	if !isArray(content) {
		c, err := textOrParts("content", content)
		if err != nil {
			return err
		}
		return d.add(sessionstore.Message{Role: sessionstore.RoleAssistant, Content: c, Extra: extra})
	}
	var a wire.Answer
	i := 0
	for e := range elements(content) {
		o := wire.Parse(bytesOf(e))
		if o == nil {
			return invalid(fmt.Sprintf("content[%d]", i), "is not an object")
		}
		if o.String("type") == "tool_use" {
			if err := areStrings(o, "id", "name"); err != nil {
				return fmt.Errorf("content[%d]: %w", i, err)
			}
		}
		if err := claude.AddBlock(&a, o); err != nil {
			return fmt.Errorf("content[%d]: %w", i, err)
		}
		i++
	}
	m := a.Message()
	m.Extra = joined(m.Extra, extra)
	return d.add(m)
}

// blocks adds a user's message: first the results that are in it, each as a message, then
// the rest.
func (d anthropic) blocks(content string, extra map[string]json.RawMessage) error {
	var rest []sessionstore.Part
	results, i := false, 0
	for e := range elements(content) {
		o := wire.Parse(bytesOf(e))
		if o == nil {
			return invalid(fmt.Sprintf("content[%d]", i), "is not an object")
		}
		var err error
		if o.String("type") == "tool_result" {
			results = true
			err = d.result(o)
		} else {
			var p sessionstore.Part
			p, err = sessionstore.ParsePart(bytesOf(e))
			rest = append(rest, p)
		}
		if err != nil {
			return fmt.Errorf("content[%d]: %w", i, err)
		}
		i++
	}
	if results && len(rest) == 0 {
		d.last.Extra = joined(d.last.Extra, extra)
		return nil
	}
	return d.add(sessionstore.Message{Role: sessionstore.RoleUser, Content: sessionstore.Parts(rest...), Extra: extra})
}

// resultKeys are the keys of a tool_result that are kept where providers/anthropic reads
// them.
var resultKeys = []string{"is_error", "cache_control", "toolset_name"}

func (d anthropic) result(o wire.Object) error {
	if err := areStrings(o, "tool_use_id"); err != nil {
		return err
	}
	m := sessionstore.Message{Role: sessionstore.RoleTool, ToolCallID: o.String("tool_use_id")}
	var err error
	if m.Content, err = textOrParts("content", string(o.Get("content"))); err != nil {
		return err
	}
	for _, k := range resultKeys {
		if v := o.Get(k); v != nil {
			m.Extra = extraKey(m.Extra, k, v)
		}
	}
	if rest := o.Without(append([]string{"type", "tool_use_id", "content"}, resultKeys...)...); len(rest) > 0 {
		m.Extra = extraKey(m.Extra, "anthropic", rest.Raw())
	}
	return d.add(m)
}

// areStrings returns an error if one of the keys of o is there and no string.
func areStrings(o wire.Object, keys ...string) error {
	for _, k := range keys {
		if v := o.Get(k); v != nil && v[0] != '"' {
			return invalid(k, "is not a string")
		}
	}
	return nil
}

// textOrParts reads a content: a string, a list of parts, or nothing. Text "" is what is
// absent or null.
func textOrParts(field, text string) (sessionstore.Content, error) {
	if text == "" {
		return sessionstore.Content{}, nil
	}
	if s, ok := unquote(text); ok {
		return sessionstore.Text(s), nil
	}
	return partsOf(field, text)
}

func partsOf(field, text string) (sessionstore.Content, error) {
	if !isArray(text) {
		return sessionstore.Content{}, invalid(field, "is neither a string nor a list")
	}
	var parts []sessionstore.Part
	i := 0
	for e := range elements(text) {
		p, err := sessionstore.ParsePart(bytesOf(e))
		if err != nil {
			return sessionstore.Content{}, fmt.Errorf("%s[%d]: %w", field, i, err)
		}
		parts = append(parts, p)
		i++
	}
	return sessionstore.Parts(parts...), nil
}

// extraKey adds an entry to an Extra that may be nil.
func extraKey(extra map[string]json.RawMessage, key string, raw json.RawMessage) map[string]json.RawMessage {
	if extra == nil {
		extra = make(map[string]json.RawMessage)
	}
	extra[key] = raw
	return extra
}
