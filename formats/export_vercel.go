package formats

import (
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/internal/wire"
)

// vercelRecord makes {"id", "messages"} of UIMessages of the AI SDK's version 5,
// Session.System first. Answers with nothing of the user between them are the steps of one
// UIMessage, calls in it tool parts with their results: a result that is the text of a JSON
// object or list is written as such. What an import kept under Extra["vercel"] goes where
// it was.
func vercelRecord(p sessionstore.Prompt, left wire.Left) (wire.Object, error) {
	leftNames(p, left)
	leftCallKeys(p, left)
	leftKeys(p, left, "vercel", "is_error", "refusal")
	if len(p.Session.Metadata) > 0 {
		left.Note("metadata of a session")
	}
	d := uiMessages{left: left}
	if p.Session.System != "" {
		d.open("system", sessionstore.Message{ID: "system"})
		d.parts = append(d.parts, uiText(p.Session.System))
	}
	for i, m := range p.Messages {
		switch m.Role {
		case sessionstore.RoleTool: // in the part of its call
		case sessionstore.RoleAssistant:
			d.answer(m, p.Messages[i+1:])
		case sessionstore.RoleUser:
			d.input("user", m)
		default:
			d.input("system", m)
		}
	}
	d.close()
	if len(d.list) == 0 {
		return nil, wire.NothingToSend()
	}
	rest := ownExtra(p.Session, "vercel", left)
	id := rest.String("id")
	if id == "" {
		id = p.Session.ID
	}
	o := wire.Object{}.SetString("id", id).Set("messages", wire.List(d.list))
	return append(o, rest.Without("id", "messages")...), nil
}

// uiMessages are made one after the other; the last one is open.
type uiMessages struct {
	left  wire.Left
	list  []wire.Object
	role  string // "": none is open
	head  sessionstore.Message
	parts []wire.Object
}

func (d *uiMessages) open(role string, m sessionstore.Message) {
	d.close()
	d.role, d.head = role, m
}

func (d *uiMessages) close() {
	if d.role != "" && len(d.parts) > 0 {
		o := wire.Object{}.SetString("id", d.head.ID).SetString("role", d.role)
		if len(d.head.Metadata) > 0 {
			o = o.Set("metadata", metadataJSON(d.head))
		}
		o = o.Set("parts", wire.List(d.parts))
		for _, m := range wire.Parse(d.head.Extra["vercel"]) {
			if o.Get(m.Key) == nil {
				o = append(o, m)
			}
		}
		d.list = append(d.list, o)
	}
	d.role, d.parts = "", nil
}

// input adds a message that is no answer.
func (d *uiMessages) input(role string, m sessionstore.Message) {
	d.open(role, m)
	if m.Content.IsText() && m.Content.String() != "" {
		d.parts = append(d.parts, uiText(m.Content.String()))
	}
	for _, p := range m.Content.All() {
		if o := d.part(p); o != nil {
			d.parts = append(d.parts, o)
		}
	}
	if d.restore(m, 0); len(d.parts) == 0 {
		d.left.Note("empty message")
	}
}

// restore puts back what an import kept of the parts from a place on. They are as many as
// there were then, unless some of them were kept whole.
func (d *uiMessages) restore(m sessionstore.Message, from int) {
	var kept []json.RawMessage
	if json.Unmarshal(wire.Parse(m.Extra["vercel"]).Get("parts"), &kept) != nil {
		return
	}
	parts, next := make([]wire.Object, 0, len(kept)), d.parts[from:]
	for _, raw := range kept {
		left := wire.Parse(raw)
		if isWhole(left) {
			parts = append(parts, left)
			continue
		}
		if len(next) == 0 {
			return
		}
		o := slices.Clone(next[0])
		next = next[1:]
		if kind := left.String("type"); kind == "dynamic-tool" {
			name := strings.TrimPrefix(o.String("type"), "tool-")
			o = o.SetString("type", kind).SetString("toolName", name)
		}
		if left.String("state") == "output-denied" {
			o = o.Set("state", left.Get("state")).Without("errorText")
		}
		for _, m := range left {
			if o.Get(m.Key) == nil {
				o = append(o, m)
			}
		}
		parts = append(parts, o)
	}
	if len(next) == 0 {
		d.parts = append(d.parts[:from], parts...)
	}
}

// isWhole reports whether a part that an import kept is all of it: a call that was not
// complete, or a file at a place which cannot be sent.
func isWhole(o wire.Object) bool {
	switch kind := o.String("type"); kind {
	case "file":
		return o.Get("url") != nil || o.Get("data") != nil
	case "tool-invocation":
		return o.Object("toolInvocation").Get("toolCallId") != nil
	default:
		return o.Get("toolCallId") != nil && (kind == "dynamic-tool" || strings.HasPrefix(kind, "tool-"))
	}
}

// metadataJSON returns the metadata of a message as it is stored.
func metadataJSON(m sessionstore.Message) json.RawMessage {
	raw, err := sessionstore.Message{Role: m.Role, Metadata: m.Metadata}.AppendJSON(nil)
	if err != nil {
		return json.RawMessage("{}")
	}
	return wire.Parse(raw).Get("metadata")
}

// answer adds a step, with the results of its calls, which come next in rest.
func (d *uiMessages) answer(m sessionstore.Message, rest []sessionstore.Message) {
	if d.role != "assistant" {
		d.open("assistant", m)
	} else if len(m.Metadata) > 0 {
		d.left.Note("metadata of a message")
	}
	step := len(d.parts)
	d.parts = append(d.parts, wire.Object{}.SetString("type", "step-start"))
	for _, it := range wire.Sequence(m) {
		if it.Call != nil {
			i := slices.IndexFunc(rest, func(r sessionstore.Message) bool { return r.ToolCallID == it.Call.ID })
			d.parts = append(d.parts, d.call(*it.Call, rest[i]))
		} else if o := d.part(it.Part); o != nil {
			d.parts = append(d.parts, o)
		}
	}
	if s := wire.Spoken(m); len(d.parts) == step+1 && s != "" {
		d.parts = append(d.parts, uiText(s))
	}
	if d.restore(m, step+1); len(d.parts) == step+1 {
		d.parts = d.parts[:step]
	}
}

// uiOwn are the parts of UIMessages that are stored as they came.
func uiOwn(p sessionstore.Part, o wire.Object) bool {
	switch kind := p.Type(); kind {
	case "source-url", "source-document":
		return true
	case "file":
		return o.String("mediaType") != "" && o.String("url") != ""
	case "reasoning":
		return o.Get("id") == nil && o.Get("summary") == nil
	default:
		return strings.HasPrefix(kind, "data-")
	}
}

// part returns a part of a message as one of a UIMessage, or nil if there is none for it.
func (d *uiMessages) part(p sessionstore.Part) wire.Object {
	o := wire.Parse(p.Raw()).Without()
	switch kind := p.Type(); {
	case wire.IsText(p) && p.Text() != "":
		text := uiText(p.Text())
		if v := o.Get("providerMetadata"); v != nil {
			text = text.Set("providerMetadata", v)
		}
		return text
	case uiOwn(p, o):
		return o
	case kind == "refusal":
		return uiText(o.String("refusal"))
	case kind == "thinking" && o.String("thinking") != "":
		return uiReasoning(o.String("thinking"), "anthropic", wire.Object{{Key: "signature", Value: o.Get("signature")}})
	case kind == "redacted_thinking":
		return uiReasoning("", "anthropic", wire.Object{{Key: "redactedData", Value: o.Get("data")}})
	case kind == "reasoning":
		var texts []string
		var summary []struct{ Text string }
		if json.Unmarshal(o.Get("summary"), &summary) == nil {
			for _, s := range summary {
				texts = append(texts, s.Text)
			}
		}
		return uiReasoning(strings.Join(texts, "\n\n"), "openai", wire.Object{
			{Key: "itemId", Value: o.Get("id")}, {Key: "reasoningEncryptedContent", Value: o.Get("encrypted_content")}})
	}
	m, ok, err := d.left.Media(p)
	if !ok || err != nil {
		return nil
	}
	if o := uiFile(m); o != nil {
		return o
	}
	d.left.Part(p)
	return nil
}

func uiText(s string) wire.Object {
	return wire.Object{}.SetString("type", "text").SetString("text", s)
}

// uiReasoning returns a part with what a provider needs to take it back; a nil value is
// not there.
func uiReasoning(text, provider string, needs wire.Object) wire.Object {
	o := wire.Object{}.SetString("type", "reasoning").SetString("text", text)
	needs = slices.DeleteFunc(needs, func(m wire.Member) bool { return m.Value == nil })
	if len(needs) > 0 {
		o = o.Set("providerMetadata", wire.Object{}.Set(provider, needs.Raw()).Raw())
	}
	return o
}

// uiFile returns an attachment as a part, or nil for a file that only its provider has.
func uiFile(m wire.Media) wire.Object {
	kind, url := m.MIME, m.URL
	switch {
	case m.Text != "":
		kind, url = "text/plain", "data:text/plain;base64,"+base64.StdEncoding.EncodeToString([]byte(m.Text))
	case m.Data != "":
		url = m.DataURL()
	case url == "":
		return nil
	case kind == "" && m.Kind == wire.Image:
		kind = "image/*"
	case kind == "":
		kind = "application/octet-stream"
	}
	o := wire.Object{}.SetString("type", "file").SetString("mediaType", kind)
	if m.Name != "" {
		o = o.SetString("filename", m.Name)
	}
	return o.SetString("url", url)
}

// call returns a call with its result.
func (d *uiMessages) call(c sessionstore.ToolCall, result sessionstore.Message) wire.Object {
	name := c.Name
	if name == "" {
		name = "unnamed"
	}
	o := wire.Object{}.SetString("type", "tool-"+name).SetString("toolCallId", c.ID)
	text := ""
	if result.Content.IsText() {
		text = result.Content.String()
	}
	for _, p := range result.Content.All() {
		if wire.IsText(p) {
			text += p.Text()
		} else {
			d.left.Part(p)
		}
	}
	if wire.Failed(result) {
		return o.SetString("state", "output-error").Set("input", argumentsValue(c)).SetString("errorText", text)
	}
	output := wire.Quote(text)
	if len(text) > 0 && (text[0] == '{' || text[0] == '[') && json.Valid([]byte(text)) {
		output = json.RawMessage(text)
	}
	return o.SetString("state", "output-available").Set("input", argumentsValue(c)).Set("output", output)
}
