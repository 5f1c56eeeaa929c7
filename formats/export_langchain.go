package formats

import (
	"encoding/json"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/internal/wire"
)

// langChainRecord makes {"messages": […]} of message dictionaries, Session.System first,
// with what Session.Extra["langchain"] has beside them. Contents are written as they are
// stored: LangChain passes on the parts of any provider. Arguments that are no object make
// a call an invalid one, as there.
func langChainRecord(p sessionstore.Prompt, left wire.Left) (wire.Object, error) {
	leftMetadata(p, left)
	leftKeys(p, left, append([]string{"langchain", "is_error"}, langChainKwargs...)...)
	leftCallKeys(p, left, "langchain")
	var list []wire.Object
	if p.Session.System != "" {
		list = append(list, langChainDict(sessionstore.Message{Role: sessionstore.RoleSystem, Content: sessionstore.Text(p.Session.System)}))
	}
	for _, m := range p.Messages {
		list = append(list, langChainDict(m))
	}
	if len(list) == 0 {
		return nil, wire.NothingToSend()
	}
	o := wire.Object{}.Set("messages", wire.List(list))
	return append(o, ownExtra(p.Session, "langchain", left).Without("messages")...), nil
}

// langChainKwargs are the keys of Message.Extra that LangChain has in additional_kwargs.
var langChainKwargs = []string{"refusal", "audio", "reasoning_content"}

var langChainTypes = map[sessionstore.Role]string{
	sessionstore.RoleUser: "human", sessionstore.RoleAssistant: "ai", sessionstore.RoleTool: "tool",
	sessionstore.RoleSystem: "system", sessionstore.RoleDeveloper: "system",
}

// developerKey marks a system message of LangChain as one of OpenAI's role developer.
const developerKey = "__openai_role__"

func langChainDict(m sessionstore.Message) wire.Object {
	kind := langChainTypes[m.Role]
	rest := wire.Parse(m.Extra["langchain"])
	kwargs := rest.Object("additional_kwargs")
	for _, k := range langChainKwargs {
		if v, ok := m.Extra[k]; ok && string(v) != "null" && kwargs.Get(k) == nil {
			kwargs = kwargs.Set(k, v)
		}
	}
	if m.Role == sessionstore.RoleDeveloper {
		kwargs = kwargs.SetString(developerKey, "developer")
	}
	data := wire.Object{}.Set("content", langChainText(m.Content)).
		Set("additional_kwargs", kwargs.Raw()).
		Set("response_metadata", rest.Object("response_metadata").Raw()).
		SetString("type", kind).Set("name", stringOrNull(m.Name)).Set("id", stringOrNull(rest.String("id")))
	switch m.Role {
	case sessionstore.RoleAssistant:
		calls, invalid := langChainCalls(m.ToolCalls)
		data = data.Set("tool_calls", wire.List(calls)).Set("invalid_tool_calls", wire.List(invalid))
	case sessionstore.RoleTool:
		status := "success"
		if wire.Failed(m) {
			status = "error"
		}
		data = data.SetString("tool_call_id", m.ToolCallID).SetString("status", status)
	}
	data = append(data, rest.Without("content", "additional_kwargs", "response_metadata", "type", "name", "id",
		"tool_calls", "invalid_tool_calls", "tool_call_id", "status")...)
	return wire.Object{}.SetString("type", kind).Set("data", data.Raw())
}

func langChainText(c sessionstore.Content) json.RawMessage {
	if !c.IsParts() {
		return wire.Quote(c.String())
	}
	var parts []wire.Object
	for _, p := range c.All() {
		parts = append(parts, wire.Parse(p.Raw()))
	}
	return wire.List(parts)
}

func langChainCalls(all []sessionstore.ToolCall) (calls, invalid []wire.Object) {
	for _, c := range all {
		rest := wire.Parse(c.Extra["langchain"])
		o := wire.Object{}.SetString("name", c.Name)
		args := wire.Input(c.Arguments)
		valid := c.Type == "custom" || string(args) == "{}" || wire.Parse([]byte(c.Arguments)) != nil
		if rest.String("type") == "invalid_tool_call" {
			valid = false
		}
		if valid {
			o = o.Set("args", args).SetString("id", c.ID).SetString("type", "tool_call")
		} else {
			o = o.SetString("args", c.Arguments).SetString("id", c.ID).SetString("type", "invalid_tool_call")
		}
		o = append(o, rest.Without("name", "args", "id", "type")...)
		if valid {
			calls = append(calls, o)
		} else {
			invalid = append(invalid, o)
		}
	}
	return calls, invalid
}

func stringOrNull(s string) json.RawMessage {
	if s == "" {
		return json.RawMessage("null")
	}
	return wire.Quote(s)
}
