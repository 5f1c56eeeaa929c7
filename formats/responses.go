package formats

import (
	"encoding/json"
	"fmt"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/internal/wire"
	"github.com/sessionstore/sessionstore/internal/wire/responses"
)

// decodeResponses reads one conversation of items of OpenAI's Responses API:
//
//   - a list of items, as the sessions of openai-agents store them;
//   - an object with an input (a string or a list of items), an output, or both, and
//     perhaps instructions: a request, a response, or a log of the two.
//
// Instructions that are a string become Session.System, items among them stay messages.
// What the model gave without anything between (reasoning, messages, calls, the items of
// hosted tools, compaction) becomes one assistant message, stored as providers/openai
// stores a response: calls become tool calls, texts and refusals parts, any other item a
// part as it came, in their order. A second message item begins a second assistant message
// unless calls are open. Other messages and the outputs of calls become a message each,
// their parts as they came. Items without a type but with a role are messages.
//
// Ids and statuses of messages, calls and outputs, which name what OpenAI stores, are not
// kept. Other keys that have no field here are, as they are spelled: those of the record
// under Session.Extra["responses"], those of an item under Message.Extra["responses"], or
// the call's Extra.
func decodeResponses(text string, b *builder) error {
	d := responsesItems{builder: b}
	if isArray(text) {
		if err := d.list("items", text); err != nil {
			return err
		}
		return d.end()
	}
	record, ok := parseObject(text)
	switch {
	case !ok:
		return invalid("record", "is neither an object nor a list of items")
	case !record.has("input") && !record.has("output"):
		return invalid("record", "has neither input nor output")
	}
	d.session.Extra = extraUnder("responses", record.without("instructions", "input", "output"))
	if s, ok := record.text("instructions"); ok {
		d.session.System = s
	} else if err := d.list("instructions", record.get("instructions")); err != nil {
		return err
	}
	if s, ok := record.text("input"); !ok {
		if err := d.list("input", record.get("input")); err != nil {
			return err
		}
	} else if record.get("input") != "" {
		if err := d.add(sessionstore.Message{Role: sessionstore.RoleUser, Content: sessionstore.Text(s)}); err != nil {
			return err
		}
	}
	if output := record.get("output"); output != "" {
		if err := d.list("output", output); err != nil {
			return err
		}
	}
	return d.end()
}

// isResponseItem reports whether text is an item rather than a record: a file may be one
// list of items.
func isResponseItem(text string) bool {
	o, ok := parseObject(text)
	return ok && (o.has("role") || o.has("type")) && !o.has("object") && !o.has("messages")
}

type responsesItems struct {
	*builder
	answer  wire.Answer
	open    bool // answer has something
	calls   bool // among it, calls
	message bool // its last item is a message
	extra   map[string]json.RawMessage
}

func (d *responsesItems) list(field, text string) error {
	if !isArray(text) {
		return invalid(field, "is not a list")
	}
	i := 0
	for e := range elements(text) {
		if err := d.item(e); err != nil {
			return fmt.Errorf("%s[%d]: %w", field, i, err)
		}
		i++
	}
	return nil
}

// end adds the answer so far.
func (d *responsesItems) end() error {
	if !d.open {
		return nil
	}
	m := d.answer.Message()
	m.Extra = joined(m.Extra, d.extra)
	d.answer, d.open, d.calls, d.message, d.extra = wire.Answer{}, false, false, false, nil
	return d.add(m)
}

func (d *responsesItems) item(text string) error {
	o := wire.Parse(bytesOf(text))
	if o == nil {
		return invalid("item", "is not an object")
	}
	if err := areStrings(o, "type", "role", "phase"); err != nil {
		return err
	}
	kind, role := o.String("type"), o.String("role")
	switch {
	case kind == "message", kind == "" && role != "":
		return d.said(role, o)
	case kind == "":
		return invalid("item", "has neither a type nor a role")
	case kind == "function_call_output", kind == "custom_tool_call_output":
		return d.output(o)
	}
	for call, input := range map[string]string{"function_call": "arguments", "custom_tool_call": "input"} {
		if kind == call {
			d.calls = true
			if err := areStrings(o, "call_id", "name", input); err != nil {
				return err
			}
		}
	}
	d.open, d.message = true, false
	return responses.AddItem(&d.answer, o)
}

// said takes a message item.
func (d *responsesItems) said(role string, o wire.Object) error {
	content, err := textOrParts("content", string(o.Get("content")))
	if err != nil {
		return err
	}
	var extra map[string]json.RawMessage
	if rest := o.Without("type", "role", "content", "id", "status", "phase"); len(rest) > 0 {
		extra = extraUnder("responses", rest.Raw())
	}
	if role == string(sessionstore.RoleAssistant) {
		if d.message && !d.calls {
			if err := d.end(); err != nil {
				return err
			}
		}
		d.open, d.message, d.extra = true, true, joined(d.extra, extra)
		switch {
		case content.IsNull():
			o = o.Set("content", json.RawMessage("[]"))
		case content.IsText():
			easy := wire.Object{}.SetString("type", "output_text").SetString("text", content.String())
			o = o.Set("content", wire.List([]wire.Object{easy}))
		}
		return responses.AddItem(&d.answer, o.SetString("type", "message"))
	}
	if err := d.end(); err != nil {
		return err
	}
	r := sessionstore.Role(role)
	if !r.Valid() || r == sessionstore.RoleTool {
		return invalid("role", fmt.Sprintf("unknown role %q", clip(role)))
	}
	return d.add(sessionstore.Message{Role: r, Content: content, Extra: extra})
}

// output takes the output of a call.
func (d *responsesItems) output(o wire.Object) error {
	if err := d.end(); err != nil {
		return err
	}
	if err := areStrings(o, "call_id"); err != nil {
		return err
	}
	m := sessionstore.Message{Role: sessionstore.RoleTool, ToolCallID: o.String("call_id")}
	var err error
	if m.Content, err = textOrParts("output", string(o.Get("output"))); err != nil {
		return err
	}
	if rest := o.Without("type", "call_id", "output", "id", "status"); len(rest) > 0 {
		m.Extra = extraUnder("responses", rest.Raw())
	}
	return d.add(m)
}
