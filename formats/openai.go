package formats

import (
	"fmt"

	"github.com/sessionstore/sessionstore"
)

// decodeOpenAI reads one conversation in the form of OpenAI's chat completions:
//
//   - an object with messages, as a request or a line of a fine-tuning file has them;
//   - a list of messages;
//   - a line of preference data, {"input": {"messages": […]}, "preferred_output": […],
//     "non_preferred_output": […]}. Its history is the input and the preferred output;
//     the other output is kept under Session.Extra["openai"].
//
// A system message at the start becomes Session.System if it is a plain text and nothing
// else; another one, also directly after it, stays a message, and so does one of role
// developer. So the chat messages of the session are the list that was read. The legacy
// function_call becomes a tool call, the legacy role function becomes tool; their ids are
// made (call_1, …) and paired by position.
//
// Unknown keys of a message (weight, refusal and others) are kept in Message.Extra, those
// of the record (tools, parallel_tool_calls, functions, model and others) as an object
// under Session.Extra["openai"].
func decodeOpenAI(text string, b *builder) error {
	d := openAI{builder: b}
	if isArray(text) {
		return d.list("messages", text)
	}
	record, ok := parseObject(text)
	if !ok {
		return invalid("record", "is neither an object nor a list of messages")
	}
	if !record.has("messages") {
		return d.preference(record)
	}
	d.session.Extra = extraUnder("openai", record.without("messages"))
	return d.list("messages", record.get("messages"))
}

// isChatMessage reports whether text is a message rather than a record: a file may be
// one list of messages.
func isChatMessage(text string) bool {
	o, ok := parseObject(text)
	return ok && o.has("role") && !o.has("messages")
}

type openAI struct{ *builder }

func (d *openAI) preference(record object) error {
	input, ok := parseObject(record.get("input"))
	if record.has("role") {
		return invalid("record", "is a single message: those of one conversation belong in a list, or in an object with messages")
	}
	if !ok || !record.has("preferred_output") {
		return invalid("record", "has neither messages nor input and preferred_output")
	}
	rest := record
	for i, m := range rest {
		if m.key == "input" {
			rest = append(append(object{}, rest[:i]...), rest[i+1:]...)
			break
		}
	}
	if in := input.without("messages"); in != nil {
		rest = append(rest, member{"input", string(in)})
	}
	d.session.Extra = extraUnder("openai", rest.without("preferred_output"))
	if err := d.list("input.messages", input.get("messages")); err != nil {
		return err
	}
	return d.list("preferred_output", record.get("preferred_output"))
}

// list reads messages. Field is where they stand, for errors.
func (d *openAI) list(field, text string) error {
	if !isArray(text) {
		return invalid(field, "is not a list")
	}
	i := 0
	for e := range elements(text) {
		if err := d.message(e); err != nil {
			return fmt.Errorf("%s[%d]: %w", field, i, err)
		}
		i++
	}
	return nil
}

func (d *openAI) message(text string) error {
	m, err := decodeMessage(text)
	if err != nil {
		return err
	}
	m.SessionID, m.Seq = "", 0
	if raw, ok := m.Extra["function_call"]; ok {
		if string(raw) != "null" {
			call, err := parseCall("function_call", string(raw))
			if err != nil {
				return err
			}
			d.calls.group()
			call.ID = d.calls.call()
			m.ToolCalls = append(m.ToolCalls, call)
		}
		if delete(m.Extra, "function_call"); len(m.Extra) == 0 {
			m.Extra = nil
		}
	}
	if m.Role == "function" {
		m.Role = sessionstore.RoleTool
		if m.ToolCallID == "" {
			m.ToolCallID = d.calls.result()
		}
	}
	if !m.Role.Valid() {
		return invalid("role", fmt.Sprintf("unknown role %q", clip(string(m.Role))))
	}
	if d.session.System == "" && d.count == 0 && isPlainSystem(m) {
		d.session.System = m.Content.String()
		return nil
	}
	return d.add(m)
}

// isPlainSystem reports whether nothing is lost if only the text of m is kept.
func isPlainSystem(m sessionstore.Message) bool {
	return m.Role == sessionstore.RoleSystem && m.Content.IsText() && m.Content.String() != "" &&
		m.ID == "" && m.Name == "" && m.AgentName == "" && m.ToolCallID == "" &&
		len(m.ToolCalls) == 0 && len(m.Metadata) == 0 && len(m.Extra) == 0 && m.CreatedAt.IsZero()
}
