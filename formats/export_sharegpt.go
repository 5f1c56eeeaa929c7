package formats

import (
	"encoding/json"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/internal/wire"
)

// shareGPTRecord makes {"system", "conversations"} with what Session.Extra["sharegpt"] has
// beside them. The format has texts only; the calls of an answer are function_call entries
// after its text, which are paired with observations by their order.
func shareGPTRecord(p sessionstore.Prompt, left wire.Left) (wire.Object, error) {
	leftMetadata(p, left)
	leftKeys(p, left, "sharegpt")
	leftCallKeys(p, left, "sharegpt", "function")
	leftNames(p, left)
	d := shareGPTList{left: left}
	for _, m := range p.Messages {
		d.message(m)
	}
	if len(d.entries) == 0 {
		return nil, wire.NothingToSend()
	}
	var o wire.Object
	if p.Session.System != "" {
		o = o.SetString("system", p.Session.System)
	}
	o = o.Set("conversations", wire.List(d.entries))
	return append(o, ownExtra(p.Session, "sharegpt", left).Without("system", "conversations", "conversation")...), nil
}

type shareGPTList struct {
	entries []wire.Object
	left    wire.Left
}

var shareGPTNames = map[sessionstore.Role]string{
	sessionstore.RoleUser: "human", sessionstore.RoleAssistant: "gpt", sessionstore.RoleTool: "observation",
	sessionstore.RoleSystem: "system", sessionstore.RoleDeveloper: "system",
}

func (d *shareGPTList) message(m sessionstore.Message) {
	from := shareGPTNames[m.Role]
	switch m.AgentName {
	case "chatgpt", "bing", "bard":
		if m.Role == sessionstore.RoleAssistant {
			from = m.AgentName
		}
	}
	if m.Role == sessionstore.RoleTool && wire.Failed(m) && !isMadeUp(m) {
		d.left.Note("error of a result")
	}
	text := d.text(m)
	extra := wire.Parse(m.Extra["sharegpt"])
	if text != "" || m.Role != sessionstore.RoleAssistant {
		d.add(from, wire.Quote(text), extra)
	}
	for _, c := range m.ToolCalls {
		call := wire.Object{}.SetString("name", c.Name).Set("arguments", argumentsValue(c))
		call = append(call, wire.Parse(c.Extra["function"]).Without("name", "arguments")...)
		d.add("function_call", wire.Quote(string(call.Raw())), wire.Parse(c.Extra["sharegpt"]))
	}
}

func (d *shareGPTList) add(from string, value json.RawMessage, extra wire.Object) {
	o := wire.Object{}.SetString("from", from).Set("value", value)
	d.entries = append(d.entries, append(o, extra.Without("from", "value")...))
}

// text returns the texts of a message, or what stands for them.
func (d *shareGPTList) text(m sessionstore.Message) string {
	if !m.Content.IsParts() && m.Content.String() != "" {
		return m.Content.String()
	}
	var text string
	for _, p := range m.Content.All() {
		switch {
		case wire.IsText(p):
			text += p.Text()
		case p.Type() == "refusal":
			text += wire.Parse(p.Raw()).String("refusal")
		default:
			d.left.Part(p)
		}
	}
	if text == "" && m.Role == sessionstore.RoleAssistant {
		text = wire.Spoken(m)
	}
	return text
}

// argumentsValue returns the arguments of a call as JSON: as they are if they are JSON,
// else as a string; none are an empty object.
func argumentsValue(c sessionstore.ToolCall) json.RawMessage {
	switch raw := json.RawMessage(wire.Arguments(c.Arguments)); {
	case c.Type == "custom":
		return wire.Object{}.SetString("input", c.Arguments).Raw()
	case json.Valid(raw):
		return raw
	}
	return wire.Quote(c.Arguments)
}
