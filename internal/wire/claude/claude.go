// Package claude makes the JSON of Anthropic's Messages API of a prompt, and messages to
// store of that API's blocks.
package claude

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/internal/wire"
)

// Limits of the Messages API.
const (
	maxID          = 64 // bytes of a tool call's id; not published, what other APIs take
	maxName        = 64 // of a tool's name; newer models take 128
	maxBreakpoints = 4  // blocks with cache_control in a request
)

// Opening is the text of the user message that goes before an answer which begins the
// conversation, such as a greeting, because the API wants a user first.
const Opening = "(The assistant begins the conversation.)"

// Turn is a message of a request.
type Turn struct {
	Role   string // "user" or "assistant"
	Blocks []wire.Object
}

// Messages returns a prompt as the system and the messages of a Messages request. The same
// prompt gives the same bytes. Left is told what goes out in no form; nil: nobody asks, and
// an attachment that is malformed is ErrInvalid.
func Messages(p sessionstore.Prompt, left wire.Left) (system []wire.Object, turns []Turn, err error) {
	b := builder{ids: wire.IDs{Valid: func(id string) bool { return wire.Plain(id, maxID) }}, left: left}
	if !wire.Blank(p.Session.System) {
		b.system = append(b.system, textBlock(p.Session.System))
	}
	lead := true
	for i, m := range p.Messages {
		lead = lead && (m.Role == sessionstore.RoleSystem || m.Role == sessionstore.RoleDeveloper)
		if err := b.add(m, lead); err != nil {
			return nil, nil, fmt.Errorf("message %d of the prompt (id %q): %w", i, m.ID, err)
		}
	}
	b.finish()
	if len(b.turns) == 0 {
		return nil, nil, wire.NothingToSend()
	}
	for _, t := range b.turns {
		role := "user"
		if t.assistant {
			role = "assistant"
		}
		turns = append(turns, Turn{role, t.blocks})
	}
	return b.system, turns, nil
}

// builder makes turns that alternate between user and assistant.
type builder struct {
	ids    wire.IDs
	left   wire.Left
	system []wire.Object
	turns  []turn
	sent   map[string]string // of the last answer: stored id to sent id
}

type turn struct {
	assistant bool
	results   int // leading blocks that answer the turn before
	blocks    []wire.Object
}

// to returns the turn to add to: the last one if it is of the same side.
func (b *builder) to(assistant bool) *turn {
	if n := len(b.turns); n == 0 || b.turns[n-1].assistant != assistant {
		b.turns = append(b.turns, turn{assistant: assistant})
	}
	return &b.turns[len(b.turns)-1]
}

func (b *builder) add(m sessionstore.Message, lead bool) error {
	switch m.Role {
	case sessionstore.RoleAssistant:
		b.answer(m)
		return nil
	case sessionstore.RoleTool:
		return b.result(m)
	}
	blocks, err := b.inputBlocks(m, m.Role == sessionstore.RoleUser)
	if err != nil || len(blocks) == 0 {
		return err
	}
	blocks = cacheLast(blocks, m)
	if lead {
		b.system = append(b.system, blocks...)
		return nil
	}
	t := b.to(false)
	t.blocks = append(t.blocks, blocks...)
	return nil
}

// answer adds what an assistant said, in order. Thinking that nothing of the answer
// follows is left out, as is what only another provider understands.
func (b *builder) answer(m sessionstore.Message) {
	b.sent = make(map[string]string, len(m.ToolCalls))
	var blocks []wire.Object
	for _, it := range wire.Sequence(m) {
		if it.Call != nil {
			blocks = append(blocks, b.call(*it.Call))
		} else if o := answerBlock(it.Part); o != nil {
			blocks = append(blocks, o)
		} else {
			b.left.Part(it.Part)
		}
	}
	if len(blocks) == 0 {
		if s := wire.Spoken(m); !wire.Blank(s) {
			blocks = append(blocks, textBlock(s))
		}
	}
	if len(blocks) > 0 {
		t := b.to(true)
		t.blocks = append(t.blocks, cacheLast(blocks, m)...)
	}
}

// own are the blocks of an answer that only this API understands, beside thinking. They
// are sent as they are stored.
var own = []string{"redacted_thinking", "server_tool_use", "web_search_tool_result",
	"web_fetch_tool_result", "code_execution_tool_result", "bash_code_execution_tool_result",
	"text_editor_code_execution_tool_result", "tool_search_tool_result", "container_upload"}

// answerBlock returns a part of an answer as a block, or nil if it is not for this API.
func answerBlock(p sessionstore.Part) wire.Object {
	o := wire.Parse(p.Raw()).Without()
	switch kind := p.Type(); {
	case wire.IsText(p):
		return textOf(o)
	case kind == "refusal" && !wire.Blank(o.String("refusal")):
		return textBlock(o.String("refusal"))
	case kind == "thinking" && o.String("signature") != "" && len(o.Get("thinking")) > 0 && o.Get("thinking")[0] == '"':
		return o
	case kind == "redacted_thinking" && o.String("data") == "":
		return nil
	case slices.Contains(own, kind):
		return o
	}
	return nil
}

// textOf returns a text part as a block with what this API understands of it, or nil if
// it is blank, which the API refuses.
func textOf(o wire.Object) wire.Object {
	if wire.Blank(o.String("text")) {
		return nil
	}
	b := textBlock(o.String("text"))
	for _, k := range []string{"citations", "cache_control"} {
		if v := o.Get(k); v != nil && string(v) != "[]" {
			b = b.Set(k, v)
		}
	}
	return b
}

// callKeys are the keys of a tool_use that the API takes back, beside the modelled.
var callKeys = []string{"cache_control", "caller", "toolset_name"}

func (b *builder) call(c sessionstore.ToolCall) wire.Object {
	id := b.ids.Take(c.ID)
	b.sent[c.ID] = id
	name := c.Name
	if name == "" && c.Type != "function" {
		name = c.Type
	}
	o := wire.Object{}.SetString("type", "tool_use").SetString("id", id).
		SetString("name", wire.ToolName(name, maxName)).Set("input", wire.Input(c.Arguments))
	return with(o, c.Extra, callKeys)
}

func with(o wire.Object, extra map[string]json.RawMessage, keys []string) wire.Object {
	for _, k := range keys {
		if v, ok := extra[k]; ok && string(v) != "null" {
			o = o.Set(k, v)
		}
	}
	return o
}

// result adds the result of a call to the user turn that follows the answer. All results
// of an answer stand together, before anything else.
func (b *builder) result(m sessionstore.Message) error {
	blocks, err := b.inputBlocks(m, true)
	if err != nil {
		return err
	}
	o := wire.Object{}.SetString("type", "tool_result").SetString("tool_use_id", b.sent[m.ToolCallID])
	var cache json.RawMessage // of its blocks, for the result as a whole
	for i, b := range blocks {
		if v := b.Get("cache_control"); v != nil {
			cache, blocks[i] = v, b.Without("cache_control")
		}
	}
	if len(blocks) > 0 {
		o = o.Set("content", wire.List(blocks))
	}
	if cache != nil {
		o = o.Set("cache_control", cache)
	}
	if wire.Failed(m) {
		o = o.Set("is_error", json.RawMessage("true"))
	}
	o = with(o, m.Extra, []string{"cache_control", "toolset_name"})
	t := b.to(false)
	t.blocks = slices.Insert(t.blocks, t.results, o)
	t.results++
	return nil
}

// inputBlocks returns the content of a message that is no answer. Instructions can only
// be text.
func (b *builder) inputBlocks(m sessionstore.Message, attachments bool) ([]wire.Object, error) {
	if m.Content.IsText() {
		if s := m.Content.String(); !wire.Blank(s) {
			return []wire.Object{textBlock(s)}, nil
		}
		if m.Role != sessionstore.RoleTool {
			b.left.Note("blank text")
		}
		return nil, nil
	}
	var blocks []wire.Object
	for _, p := range m.Content.All() {
		o := wire.Parse(p.Raw()).Without()
		switch {
		case wire.IsText(p):
			if o = textOf(o); o == nil {
				b.left.Part(p)
				continue
			}
		case !attachments:
			b.left.Part(p)
			continue
		case p.Type() == "search_result":
		default:
			media, ok, err := b.left.Media(p)
			if err != nil {
				return nil, err
			}
			if !ok {
				continue
			}
			o = b.mediaBlock(media, o)
		}
		blocks = append(blocks, o)
	}
	return blocks, nil
}

// mediaBlock returns an attachment as a block, or a note for one that the API has no
// block for. What is stored in the API's own shape is sent as it is.
func (b *builder) mediaBlock(m wire.Media, o wire.Object) wire.Object {
	var source wire.Object
	kind := map[wire.Kind]string{wire.Image: "image", wire.File: "document"}[m.Kind]
	switch {
	case m.Kind == wire.Other && o.String("type") == "document":
		return o // of content blocks
	case kind == "":
	case m.Text != "":
		source = wire.Object{}.SetString("type", "text").SetString("media_type", "text/plain").SetString("data", m.Text)
	case m.URL != "" && !strings.HasPrefix(m.URL, "gs:"):
		source = wire.Object{}.SetString("type", "url").SetString("url", m.URL)
	case m.FileID != "" && m.FileOf == wire.Anthropic:
		source = wire.Object{}.SetString("type", "file").SetString("file_id", m.FileID)
	case m.Data != "" && (m.Kind == wire.Image && slices.Contains(wire.ImageTypes, m.MIME) || m.Kind == wire.File && m.MIME == "application/pdf"):
		source = wire.Object{}.SetString("type", "base64").SetString("media_type", m.MIME).SetString("data", m.Data)
	}
	if source == nil {
		return textBlock(b.left.Noted(m))
	}
	block := wire.Object{}.SetString("type", kind).Set("source", source.Raw())
	if kind == "document" && m.Name != "" {
		block = block.SetString("title", m.Name)
	}
	for _, k := range []string{"context", "citations", "cache_control", "transformations"} {
		if v := o.Get(k); v != nil {
			block = block.Set(k, v)
		}
	}
	return block
}

func textBlock(s string) wire.Object {
	return wire.Object{}.SetString("type", "text").SetString("text", s)
}

// cacheLast puts the cache_control of a whole message on its last block that can have
// one.
func cacheLast(blocks []wire.Object, m sessionstore.Message) []wire.Object {
	v, ok := m.Extra["cache_control"]
	if !ok || string(v) == "null" {
		return blocks
	}
	for i, o := range slices.Backward(blocks) {
		if !isThinking(o) {
			blocks[i] = o.Set("cache_control", v)
			break
		}
	}
	return blocks
}

func isThinking(o wire.Object) bool {
	switch o.String("type") {
	case "thinking", "redacted_thinking":
		return true
	}
	return false
}

// finish repairs what only shows when all turns are there: thinking at the end of an
// answer, an answer at the start, white space at the end, too many cache breakpoints.
func (b *builder) finish() {
	turns := b.turns
	b.turns = nil
	for _, t := range turns {
		for t.assistant && len(t.blocks) > 0 && isThinking(t.blocks[len(t.blocks)-1]) {
			b.left.Note("thinking that nothing follows")
			t.blocks = t.blocks[:len(t.blocks)-1]
		}
		if len(t.blocks) == 0 {
			continue
		}
		to := b.to(t.assistant)
		to.blocks = append(to.blocks, t.blocks...)
	}
	if len(b.turns) > 0 && b.turns[0].assistant {
		b.turns = slices.Insert(b.turns, 0, turn{blocks: []wire.Object{textBlock(Opening)}})
	}
	if n := len(b.turns); n > 0 && b.turns[n-1].assistant {
		last := b.turns[n-1].blocks
		if o := last[len(last)-1]; o.String("type") == "text" {
			last[len(last)-1] = o.SetString("text", strings.TrimRight(o.String("text"), " \t\r\n"))
		}
	}
	left := maxBreakpoints
	for _, t := range slices.Backward(b.turns) {
		left = b.keepBreakpoints(t.blocks, left)
	}
	b.keepBreakpoints(b.system, left)
}

// keepBreakpoints removes cache_control from all but the last so many blocks that have
// it, and returns how many more may have one.
func (b *builder) keepBreakpoints(blocks []wire.Object, left int) int {
	for i, o := range slices.Backward(blocks) {
		if o.Get("cache_control") == nil {
			continue
		}
		if left == 0 || isThinking(o) {
			b.left.Note("cache_control")
			blocks[i] = o.Without("cache_control")
			continue
		}
		left--
	}
	return left
}
