// Package responses makes the items of OpenAI's Responses API of a prompt, and messages to
// store of that API's items.
package responses

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/internal/wire"
)

// Limits of the Responses API.
const (
	maxCallID = 64 // bytes of a call_id
	maxName   = 64 // of the name of a tool
)

// Items returns a prompt as the input of a Responses request. System says whether
// Session.System is its first message or goes elsewhere. The same prompt gives the same
// bytes. Left is told what goes out in no form; nil: nobody asks, and an attachment that is
// malformed is ErrInvalid.
func Items(p sessionstore.Prompt, system bool, left wire.Left) ([]wire.Object, error) {
	b := itemBuilder{ids: wire.IDs{Valid: func(id string) bool { return id != "" && len(id) <= maxCallID }}, left: left}
	if system && p.Session.System != "" {
		b.message("system", textItem("input_text", p.Session.System))
	}
	turns := 0
	for i, m := range p.Messages {
		before := len(b.items)
		if err := b.add(m); err != nil {
			return nil, fmt.Errorf("message %d of the prompt (id %q): %w", i, m.ID, err)
		}
		if wire.IsTurn(m) {
			turns += len(b.items) - before
		}
	}
	items := b.pairedReasoning(b.items)
	if turns == 0 || len(items) == 0 {
		return nil, wire.NothingToSend()
	}
	return items, nil
}

// selfContained are the items of tools that OpenAI runs itself. What the caller's machine
// has to answer, such as a computer_call, is stored but not sent.
var selfContained = []string{"file_search_call", "web_search_call", "code_interpreter_call",
	"image_generation_call", "mcp_call", "mcp_list_tools", "compaction"}

type itemBuilder struct {
	ids   wire.IDs
	left  wire.Left
	items []wire.Object
	sent  map[string]sentCall // of the last answer, by the stored id
}

type sentCall struct {
	id     string
	output string // type of the item that answers it
}

func (b *itemBuilder) add(m sessionstore.Message) error {
	switch m.Role {
	case sessionstore.RoleAssistant:
		b.answer(m)
		return nil
	case sessionstore.RoleTool:
		return b.result(m)
	}
	parts, err := b.inputParts(m, wire.IsTurn(m))
	blank := !slices.ContainsFunc(parts, func(p wire.Object) bool { return p.String("type") != "input_text" || !wire.Blank(p.String("text")) })
	if err == nil && len(parts) > 0 && (wire.IsTurn(m) || !blank) {
		b.message(string(m.Role), parts...)
	} else if err == nil {
		b.left.Note("blank text")
	}
	return err
}

// message adds a message of one text as a string, which every compatible server takes.
func (b *itemBuilder) message(role string, parts ...wire.Object) {
	o := wire.Object{}.SetString("type", "message").SetString("role", role)
	if len(parts) == 1 && parts[0].Only("type", "text") {
		o = o.Set("content", parts[0].Get("text"))
	} else {
		o = o.Set("content", wire.List(parts))
	}
	b.items = append(b.items, o)
}

// answer adds what an assistant said, in order: texts that follow each other as one
// message, unless their phases differ.
func (b *itemBuilder) answer(m sessionstore.Message) {
	b.sent = make(map[string]sentCall, len(m.ToolCalls))
	var said []wire.Object
	var phase string
	flush := func() {
		if len(said) == 0 {
			return
		}
		o := wire.Object{}.SetString("type", "message").SetString("role", "assistant").Set("content", wire.List(said))
		if phase != "" {
			o = o.SetString("phase", phase)
		}
		b.items = append(b.items, o)
		said = nil
	}
	var refusal string
	refused := json.Unmarshal(m.Extra["refusal"], &refusal) == nil && refusal != ""
	items, before := wire.Sequence(m), len(b.items)
	for i, it := range items {
		if it.Call != nil {
			if refused && !slices.ContainsFunc(items[i:], func(it wire.Item) bool { return it.Call == nil }) {
				said, refused = append(said, refusalPart(refusal)), false
			}
			flush()
			b.call(*it.Call)
			continue
		}
		o := wire.Parse(it.Part.Raw())
		switch kind := it.Part.Type(); {
		case wire.IsText(it.Part) && it.Part.Text() != "" || kind == "refusal" && o.String("refusal") != "":
			if next := o.String("phase"); next != phase {
				flush()
				phase = next
			}
			said = append(said, outputPart(o))
		case kind == "reasoning" && o.String("id") != "" && len(o.Get("summary")) > 0 && o.Get("summary")[0] == '[',
			slices.Contains(selfContained, kind):
			flush()
			b.items = append(b.items, o.Without("status"))
		default:
			b.left.Part(it.Part)
		}
	}
	if refused {
		said = append(said, refusalPart(refusal))
	}
	flush()
	if s := wire.Spoken(m); len(b.items) == before && s != "" {
		said = append(said, outputPart(textItem("output_text", s)))
		flush()
	}
}

func refusalPart(s string) wire.Object {
	return wire.Object{}.SetString("type", "refusal").SetString("refusal", s)
}

// outputPart returns a text or a refusal as a message's content has it.
func outputPart(o wire.Object) wire.Object {
	if o.String("type") == "refusal" {
		return refusalPart(o.String("refusal"))
	}
	annotations := json.RawMessage("[]")
	if a := o.Get("annotations"); len(a) > 0 && a[0] == '[' {
		annotations = a
	}
	return textItem("output_text", o.String("text")).Set("annotations", annotations)
}

// callKeys are the keys of a call's item that the API takes back, beside the modelled.
var callKeys = []string{"namespace", "caller", "async"}

func (b *itemBuilder) call(c sessionstore.ToolCall) {
	id := b.ids.Take(c.ID)
	name := c.Name
	if name == "" && c.Type != "function" {
		name = c.Type
	}
	kind, text, value := "function_call", "arguments", wire.Arguments(c.Arguments)
	if c.Type == "custom" {
		kind, text, value = "custom_tool_call", "input", c.Arguments
	}
	b.sent[c.ID] = sentCall{id, kind + "_output"}
	o := wire.Object{}.SetString("type", kind).SetString("call_id", id).
		SetString("name", wire.ToolName(name, maxName)).SetString(text, value)
	for _, k := range callKeys {
		if v, ok := c.Extra[k]; ok && string(v) != "null" {
			o = o.Set(k, v)
		}
	}
	b.items = append(b.items, o)
}

// result adds the output of a call: a string if it is but text.
func (b *itemBuilder) result(m sessionstore.Message) error {
	parts, err := b.inputParts(m, true)
	if err != nil {
		return err
	}
	call := b.sent[m.ToolCallID]
	o := wire.Object{}.SetString("type", call.output).SetString("call_id", call.id)
	media := slices.ContainsFunc(parts, func(p wire.Object) bool { return p.String("type") != "input_text" })
	switch {
	case media:
		o = o.Set("output", wire.List(parts))
	case len(parts) == 1:
		o = o.Set("output", parts[0].Get("text"))
	default:
		var text string
		for _, p := range parts {
			text += p.String("text")
		}
		o = o.SetString("output", text)
	}
	b.items = append(b.items, o)
	return nil
}

// pairedReasoning leaves out reasoning that nothing of the same answer follows, such as
// that of an answer that was cut.
func (b *itemBuilder) pairedReasoning(items []wire.Object) []wire.Object {
	out := items[:0:0]
	for i, o := range items {
		if o.String("type") == "reasoning" {
			j := i + 1
			for j < len(items) && items[j].String("type") == "reasoning" {
				j++
			}
			if j == len(items) || !isOutput(items[j]) {
				b.left.Note("reasoning that nothing follows")
				continue
			}
		}
		out = append(out, o)
	}
	return out
}

func isOutput(o wire.Object) bool {
	switch kind := o.String("type"); kind {
	case "message":
		return o.String("role") == "assistant"
	case "function_call", "custom_tool_call":
		return true
	default:
		return slices.Contains(selfContained, kind)
	}
}

// inputParts returns the content of a message that is no answer.
func (b *itemBuilder) inputParts(m sessionstore.Message, attachments bool) ([]wire.Object, error) {
	if m.Content.IsText() {
		return []wire.Object{textItem("input_text", m.Content.String())}, nil
	}
	var parts []wire.Object
	for _, p := range m.Content.All() {
		if wire.IsText(p) {
			if p.Text() != "" {
				parts = append(parts, textItem("input_text", p.Text()))
			} else {
				b.left.Part(p)
			}
			continue
		}
		if !attachments {
			b.left.Part(p)
			continue
		}
		media, ok, err := b.left.Media(p)
		if err != nil {
			return nil, err
		}
		if ok {
			parts = append(parts, b.inputMedia(media))
		}
	}
	return parts, nil
}

// inputMedia returns an attachment as a part of the Responses API, or a note for one that
// it has no shape for.
func (b *itemBuilder) inputMedia(m wire.Media) wire.Object {
	own := m.FileID != "" && m.FileOf == wire.OpenAI
	switch {
	case m.Text != "":
		return textItem("input_text", m.Document())
	case m.Kind == wire.Image && (own || m.URL != "" || slices.Contains(wire.ImageTypes, m.MIME)):
		detail := m.Detail
		if detail == "" {
			detail = "auto"
		}
		o := wire.Object{}.SetString("type", "input_image").SetString("detail", detail)
		if own {
			return o.SetString("file_id", m.FileID)
		}
		return o.SetString("image_url", m.Location())
	case m.Kind == wire.File && own:
		return wire.Object{}.SetString("type", "input_file").SetString("file_id", m.FileID)
	case m.Kind == wire.File && m.URL != "":
		return wire.Object{}.SetString("type", "input_file").SetString("file_url", m.URL)
	case m.Kind == wire.File && m.Data != "":
		return wire.Object{}.SetString("type", "input_file").SetString("filename", m.FileName()).SetString("file_data", m.DataURL())
	}
	return textItem("input_text", b.left.Noted(m))
}

func textItem(kind, s string) wire.Object {
	return wire.Object{}.SetString("type", kind).SetString("text", s)
}
