package formats

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/internal/wire"
)

// langChain reads the message dictionaries of LangChain, all their forms:
//
//	{"type": "human", "data": {"content": …}}                   messages_to_dict, old and new
//	{"lc": 1, "type": "constructor", "id": […], "kwargs": {…}}  dumps
//	{"type": "human", "content": …}                             the fields alone
//
// Role by type: human and user, ai and assistant (chunks too), system (developer, if
// additional_kwargs has LangChain's mark of that role), tool, function, and chat with a
// role of its own. A generic message, whose role langchaingo does
// not write, is the user's. A remove entry is an order to a running program and no message:
// it is passed over.
//
// The calls of an answer are its tool_calls and invalid_tool_calls or, in old files, those
// in additional_kwargs. A result of status error has is_error in Message.Extra. One without
// a tool_call_id answers the first open call by position. All else of data that says
// something (its id, response_metadata, usage_metadata, artifact and others) is kept under
// Message.Extra["langchain"].
type langChain struct{ *builder }

// decodeLangChain reads one conversation: a list of dictionaries, or an object with one
// under messages. A system message at the start becomes Session.System if nothing is lost.
func decodeLangChain(text string, b *builder) error {
	d := langChain{b}
	list := text
	if record, ok := parseObject(text); ok {
		if !record.has("messages") {
			return d.dict(record) // one alone
		}
		list = record.get("messages")
		d.session.Extra = extraUnder("langchain", record.without("messages"))
	}
	if !isArray(list) {
		return invalid("messages", "is not a list")
	}
	i := 0
	for e := range elements(list) {
		if err := d.message(e); err != nil {
			return fmt.Errorf("messages[%d]: %w", i, err)
		}
		i++
	}
	return nil
}

// isLangChainMessage reports whether text is a message rather than a record: a file may be
// one list of messages.
func isLangChainMessage(text string) bool {
	o, ok := parseObject(text)
	return ok && o.has("type") && (o.has("data") || o.has("lc") || o.has("content"))
}

// message reads a dictionary, or the string of one.
func (d langChain) message(text string) error {
	if inner, ok := unquote(text); ok {
		if err := check(inner); err != nil {
			return err
		}
		text = inner
	}
	o, ok := parseObject(text)
	if !ok {
		return invalid("message", "is not an object")
	}
	return d.dict(o)
}

func (d langChain) dict(o object) error {
	kind, ok := o.text("type")
	if !ok {
		return invalid("type", "is not a string")
	}
	data := o
	switch {
	case o.has("lc"):
		var class string
		for e := range elements(o.get("id")) {
			class, _ = unquote(e) // the last one
		}
		if data, ok = parseObject(o.get("kwargs")); !ok {
			return invalid("kwargs", "is not an object")
		}
		kind = class
	case o.has("data"):
		if data, ok = parseObject(o.get("data")); !ok {
			return invalid("data", "is not an object")
		}
	}
	if kind == "" {
		if kind, ok = data.text("type"); !ok || kind == "" {
			return invalid("type", "is missing")
		}
	}
	return d.data(strings.ToLower(strings.TrimSuffix(strings.TrimSuffix(kind, "Chunk"), "Message")), data)
}

var langChainRoles = map[string]sessionstore.Role{
	"human": sessionstore.RoleUser, "user": sessionstore.RoleUser, "generic": sessionstore.RoleUser,
	"ai": sessionstore.RoleAssistant, "assistant": sessionstore.RoleAssistant,
	"system": sessionstore.RoleSystem, "developer": sessionstore.RoleDeveloper,
	"tool": sessionstore.RoleTool, "function": sessionstore.RoleTool,
}

func (d langChain) data(kind string, o object) error {
	if kind == "remove" {
		return nil
	}
	m := sessionstore.Message{}
	known := []string{"type", "content", "name", "tool_calls", "invalid_tool_calls", "tool_call_id"}
	if kind == "chat" {
		role, _ := o.text("role")
		if kind = strings.ToLower(role); langChainRoles[kind] == "" {
			return invalid("role", fmt.Sprintf("unknown role %q", clip(role)))
		}
		known = append(known, "role")
	}
	if m.Role = langChainRoles[kind]; m.Role == "" {
		return invalid("type", fmt.Sprintf("unknown type %q", clip(kind)))
	}
	var err error
	if m.Content, err = langChainContent(o.get("content")); err != nil {
		return err
	}
	kwargs, _ := parseObject(o.get("additional_kwargs"))
	if role, _ := kwargs.text(developerKey); role == "developer" && m.Role == sessionstore.RoleSystem {
		m.Role = sessionstore.RoleDeveloper
	}
	var ok bool
	if m.Name, ok = o.text("name"); !ok {
		return invalid("name", "is not a string")
	}
	switch m.Role {
	case sessionstore.RoleAssistant:
		err = d.answer(&m, o)
	case sessionstore.RoleTool:
		if m.ToolCallID, ok = o.text("tool_call_id"); !ok {
			return invalid("tool_call_id", "is not a string")
		}
		if m.ToolCallID == "" {
			m.ToolCallID = d.calls.result()
		} else {
			d.calls.answered(m.ToolCallID)
		}
		if status, _ := o.text("status"); status == "error" {
			m.Extra = extraUnder("is_error", json.RawMessage("true"))
		}
		known = append(known, "status")
	}
	if err != nil {
		return err
	}
	if rest := langChainRest(o, known); rest != nil {
		m.Extra = extraKey(m.Extra, "langchain", rest)
	}
	if d.session.System == "" && d.count == 0 && isPlainSystem(m) {
		d.session.System = m.Content.String()
		return nil
	}
	return d.add(m)
}

// langChainContent reads a content: a string, or a list of parts and of strings, which are
// parts of text.
func langChainContent(text string) (sessionstore.Content, error) {
	if !isArray(text) {
		return textOrParts("content", text)
	}
	var parts []sessionstore.Part
	i := 0
	for e := range elements(text) {
		if s, ok := unquote(e); ok {
			parts = append(parts, sessionstore.TextPart(s))
		} else if p, err := sessionstore.ParsePart(bytesOf(e)); err == nil {
			parts = append(parts, p)
		} else {
			return sessionstore.Content{}, fmt.Errorf("content[%d]: %w", i, err)
		}
		i++
	}
	return sessionstore.Parts(parts...), nil
}

// langChainRest returns what data has beside the known keys, without what says nothing:
// the models write every field they have.
func langChainRest(o object, known []string) json.RawMessage {
	var rest object
	for _, m := range o {
		switch m.value {
		case "null", "{}", "[]", "false", `""`:
			continue
		}
		if !slices.Contains(known, m.key) {
			rest = append(rest, m)
		}
	}
	return rest.without()
}

// answer reads the calls of an assistant's message.
func (d langChain) answer(m *sessionstore.Message, o object) error {
	d.calls.group()
	for key, list := range map[string]string{"tool_calls": o.get("tool_calls"), "invalid_tool_calls": o.get("invalid_tool_calls")} {
		if list != "" && !isArray(list) {
			return invalid(key, "is not a list")
		}
	}
	for e := range elements(o.get("tool_calls")) {
		c, err := d.call(e)
		if err != nil {
			return fmt.Errorf("tool_calls[%d]: %w", len(m.ToolCalls), err)
		}
		m.ToolCalls = append(m.ToolCalls, c)
	}
	for e := range elements(o.get("invalid_tool_calls")) {
		c, err := d.call(e)
		if err != nil {
			return fmt.Errorf("invalid_tool_calls: %w", err)
		}
		c.Extra = extraUnder("langchain", wire.Parse(c.Extra["langchain"]).SetString("type", "invalid_tool_call").Raw())
		m.ToolCalls = append(m.ToolCalls, c)
	}
	if len(m.ToolCalls) == 0 {
		if err := d.oldCalls(m, o.get("additional_kwargs")); err != nil {
			return fmt.Errorf("additional_kwargs: %w", err)
		}
	}
	for i := range m.ToolCalls {
		if c := &m.ToolCalls[i]; c.ID == "" {
			c.ID = d.calls.call()
		} else {
			d.calls.named(c.ID)
		}
	}
	return nil
}

// call reads {"name", "args", "id", "type"}. The args keep their spelling.
func (d langChain) call(text string) (sessionstore.ToolCall, error) {
	o, ok := parseObject(text)
	if !ok {
		return sessionstore.ToolCall{}, invalid("call", "is not an object")
	}
	c := sessionstore.ToolCall{Type: "function"}
	if c.ID, ok = o.text("id"); !ok {
		return c, invalid("id", "is not a string")
	}
	if c.Name, ok = o.text("name"); !ok {
		return c, invalid("name", "is not a string")
	}
	if c.Arguments, ok = o.text("args"); !ok {
		c.Arguments = o.get("args")
	}
	c.Extra = extraUnder("langchain", langChainRest(o, []string{"id", "name", "args", "type"}))
	return c, nil
}

// oldCalls reads the calls in OpenAI's shape that files have which were written before
// answers had tool_calls.
func (d langChain) oldCalls(m *sessionstore.Message, kwargs string) error {
	o, ok := parseObject(kwargs)
	if !ok {
		return nil
	}
	if list := o.get("tool_calls"); list != "" {
		old, err := decodeMessage(`{"role":"assistant","tool_calls":` + list + `}`)
		if err != nil {
			return err
		}
		m.ToolCalls = old.ToolCalls
		return nil
	}
	if call := o.get("function_call"); call != "" {
		c, err := parseCall("function_call", call)
		if err != nil {
			return err
		}
		m.ToolCalls = append(m.ToolCalls, c)
	}
	return nil
}
