package formats

import (
	"encoding/json"
	"slices"
	"strconv"

	"github.com/sessionstore/sessionstore"
)

// decodeShareGPT reads one conversation of the ShareGPT form:
//
//	{"conversations": [{"from": "human", "value": "…"}, …], "system": "…", "tools": "…"}
//
// Each entry becomes a message, with these exceptions: function_call entries in a row
// are the parallel calls of one assistant message, and a system entry at the start
// becomes Session.System unless the record has a system of its own. Call ids are made
// (call_1, …) and observations paired with them by position.
//
// The variants that are read as well: entries with role and content, and a list of
// exchanges {"human": "…", "assistant": "…"} under "conversation". Keys of the record
// that have no field here (id, tools, images and others) are kept as they are spelled, as
// an object under Session.Extra["sharegpt"], those of an entry likewise in the Extra of its
// message or call. So a record's id is kept, but is not the session's: such ids are unique
// in one data set at most.
func decodeShareGPT(text string, b *builder) error {
	record, ok := parseObject(text)
	if !ok {
		return invalid("record", "is not an object")
	}
	key := "conversations"
	if !record.has(key) && record.has("conversation") {
		key = "conversation"
	}
	list := record.get(key)
	if !isArray(list) {
		return invalid(key, "is not a list")
	}
	d := shareGPT{builder: b}
	if d.session.System, ok = record.text("system"); !ok {
		return invalid("system", "is not a string")
	}
	d.session.Extra = extraUnder("sharegpt", record.without(key, "system"))
	i := 0
	for e := range elements(list) {
		if err := d.entry(key+"["+strconv.Itoa(i)+"]", e); err != nil {
			return err
		}
		i++
	}
	return nil
}

type shareGPT struct {
	*builder
	inCalls bool // the last entry was a function_call
}

// entry reads one entry of the list. Field is its place, for errors.
func (d *shareGPT) entry(field, text string) error {
	e, ok := parseObject(text)
	if !ok {
		return invalid(field, "is not an object")
	}
	from, value := "from", "value"
	switch {
	case e.has("from"):
	case e.has("role"):
		from, value = "role", "content"
	case e.has("human"), e.has("assistant"):
		return d.exchange(field, e)
	}
	speaker, ok := e.text(from)
	if !ok || speaker == "" {
		return invalid(field, "has no "+from)
	}
	extra := extraUnder("sharegpt", e.without(from, value))
	if speaker == "function_call" {
		return d.call(field, e.get(value), extra)
	}
	content, ok := e.text(value)
	if !ok {
		return invalid(field, value+" is not a string")
	}
	m := sessionstore.Message{Extra: extra}
	if e.get(value) != "" {
		m.Content = sessionstore.Text(content)
	}
	return d.say(field, speaker, m)
}

// say adds a message of anyone but a function_call.
func (d *shareGPT) say(field, speaker string, m sessionstore.Message) error {
	d.inCalls = false
	switch speaker {
	case "human", "user":
		m.Role = sessionstore.RoleUser
	case "gpt", "assistant":
		m.Role = sessionstore.RoleAssistant
	case "chatgpt", "bing", "bard":
		m.Role, m.AgentName = sessionstore.RoleAssistant, speaker
	case "observation", "tool", "function_response":
		m.Role, m.ToolCallID = sessionstore.RoleTool, d.calls.result()
	case "system":
		m.Role = sessionstore.RoleSystem
		if d.session.System == "" && d.count == 0 && m.Extra == nil && m.Content.String() != "" {
			d.session.System = m.Content.String()
			return nil
		}
	default:
		return invalid(field, "is from "+strconv.Quote(clip(speaker))+", which is none of the format's names")
	}
	return d.add(m)
}

// call adds the call, or the list of calls, that value holds, as JSON or as a string of
// JSON. Directly after other calls it joins their message.
func (d *shareGPT) call(field, value string, extra map[string]json.RawMessage) error {
	if inner, ok := unquote(value); ok {
		if err := check(inner); err != nil {
			return invalid(field, "the value of the function_call: "+err.Error())
		}
		value = inner
	}
	texts := []string{value}
	if isArray(value) {
		texts = slices.Collect(elements(value))
	}
	if len(texts) == 0 {
		return invalid(field, "the function_call has no call")
	}
	if !d.inCalls {
		d.calls.group()
		if err := d.add(sessionstore.Message{Role: sessionstore.RoleAssistant}); err != nil {
			return err
		}
		d.inCalls = true
	}
	for _, t := range texts {
		c, err := parseCall(field, t)
		if err != nil {
			return err
		}
		c.ID = d.calls.call()
		for k, v := range extra {
			if c.Extra == nil {
				c.Extra = map[string]json.RawMessage{}
			}
			c.Extra[k] = v
		}
		d.last.ToolCalls = append(d.last.ToolCalls, c)
	}
	return nil
}

// exchange adds what the human and then what the assistant said.
func (d *shareGPT) exchange(field string, e object) error {
	extra := extraUnder("sharegpt", e.without("human", "assistant"))
	for _, speaker := range []string{"human", "assistant"} {
		if e.get(speaker) == "" {
			continue
		}
		content, ok := e.text(speaker)
		if !ok {
			return invalid(field, speaker+" is not a string")
		}
		m := sessionstore.Message{Content: sessionstore.Text(content), Extra: extra}
		if err := d.say(field, speaker, m); err != nil {
			return err
		}
		extra = nil
	}
	return nil
}
