package formats

import (
	"encoding/json"
	"strings"

	"github.com/sessionstore/sessionstore"
)

// tool reads a call of version 5 and up.
func (d *vercel) tool(kind string, o object) error {
	name, ok := o.text("toolName")
	if kind != "dynamic-tool" {
		name = strings.TrimPrefix(kind, "tool-")
	}
	state, isState := o.text("state")
	if !ok || !isState {
		return invalid("part", "has a toolName or state that is not a string")
	}
	input := o.get("input")
	if input == "" {
		if raw, ok := o.text("rawInput"); ok {
			input = raw
		} else {
			input = o.get("rawInput")
		}
	}
	left := o.drop("toolCallId", "toolName", "state", "input", "rawInput", "output", "errorText")
	var result string
	failed := true
	switch state {
	case "output-available":
		if o.get("preliminary") == "true" {
			d.keepWhole(o)
			return nil
		}
		result, failed = outputText(o, "output"), false
	case "output-error":
		result = outputText(o, "errorText")
	case "output-denied":
		approval, _ := parseObject(o.get("approval"))
		if result, _ = approval.text("reason"); result == "" {
			result = "The user denied the execution of this tool."
		}
		left = left.set("state", `"output-denied"`)
	default:
		d.keepWhole(o)
		return nil
	}
	return d.called(o.get("toolCallId"), name, input, result, failed, left)
}

// invocation reads a call of version 4.
func (d *vercel) invocation(o, part object) error {
	name, ok := o.text("toolName")
	state, isState := o.text("state")
	if !ok || !isState {
		return invalid("toolInvocation", "has a toolName or state that is not a string")
	}
	if len(d.results) > 0 && o.get("step") != d.number {
		if err := d.step(); err != nil {
			return err
		}
	}
	d.number = o.get("step")
	if state != "result" {
		d.keepWhole(part.set("toolInvocation", string(o.without())))
		return nil
	}
	left := o.drop("toolCallId", "toolName", "state", "args", "result", "step")
	return d.called(o.get("toolCallId"), name, o.get("args"), outputText(o, "result"), false, part.with("toolInvocation", left))
}

// called adds a call with its result.
func (d *vercel) called(idText, name, input, result string, failed bool, left object) error {
	id, ok := unquote(idText)
	if idText != "" && !ok {
		return invalid("toolCallId", "is not a string")
	}
	if name == "" {
		return invalid("part", "has no name of a tool")
	}
	if id == "" {
		id = d.calls.call()
	}
	if input == "" {
		input = "{}"
	}
	d.said.Call(sessionstore.ToolCall{ID: id, Type: "function", Name: name, Arguments: input})
	m := sessionstore.ToolMessage(id, result)
	if failed {
		m.Extra = map[string]json.RawMessage{"is_error": json.RawMessage("true")}
	}
	d.results = append(d.results, m)
	d.leave(object{{"type", left.get("type")}}, left)
	return nil
}

// outputText returns what a tool gave: a string, or the JSON of another value.
func outputText(o object, key string) string {
	if s, ok := o.text(key); ok && o.get(key) != "" {
		return s
	}
	if s := o.get(key); s != "" {
		return s
	}
	if o.has(key) {
		return "null"
	}
	return ""
}
