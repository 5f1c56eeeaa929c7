// Package chat makes the messages of a Chat Completions request of a prompt.
package chat

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/internal/wire"
)

// Limits of the Chat Completions API.
const (
	maxChatID = 40 // bytes of a tool call's id
	maxName   = 64 // of the name of a tool or of a speaker
)

// Messages returns a prompt as the messages of a request, as
// [sessionstore.Prompt.ChatMessages] does, and leaves out or translates what the API, or a
// server compatible with it, refuses. The same prompt gives the same bytes. Left is told
// what goes out in no form; nil: nobody asks, and an attachment that is malformed is
// ErrInvalid. Answers has, for each assistant's message in order, its place in the prompt.
func Messages(p sessionstore.Prompt, left wire.Left) (messages []sessionstore.ChatMessage, answers []int, err error) {
	b := builder{ids: wire.IDs{Valid: func(id string) bool { return id != "" && len(id) <= maxChatID }}, left: left}
	sent := sessionstore.Prompt{Session: p.Session, Messages: make([]sessionstore.Message, 0, len(p.Messages))}
	var calls map[string]string // of the last assistant: stored id to sent id
	for i, m := range p.Messages {
		switch m.Role {
		case sessionstore.RoleAssistant:
			m, calls = b.assistant(m)
			if m.Content.IsNull() && len(m.ToolCalls) == 0 && len(m.Extra) == 0 {
				continue
			}
			answers = append(answers, i)
		default:
			content, err := b.content(m)
			if err != nil {
				return nil, nil, fmt.Errorf("message %d of the prompt (id %q): %w", i, m.ID, err)
			}
			m.Content = content
			if !wire.IsTurn(m) && wire.Blank(content.String()) {
				b.left.Note("blank text")
				continue
			}
			if m.Role == sessionstore.RoleTool {
				m.ToolCallID = calls[m.ToolCallID]
			}
		}
		m.Name = chatName(m.Name)
		sent.Messages = append(sent.Messages, m)
	}
	if !slices.ContainsFunc(sent.Messages, wire.IsTurn) {
		return nil, nil, wire.NothingToSend()
	}
	return sent.ChatMessages(), answers, nil
}

type builder struct {
	ids  wire.IDs
	left wire.Left
}

// assistant returns an answer as it is sent back: its texts and refusals, its calls
// under ids that the API takes, and what stands for its audio. A content without any is
// null.
func (b *builder) assistant(m sessionstore.Message) (sessionstore.Message, map[string]string) {
	if m.Content.IsText() {
		if m.Content.String() == "" {
			m.Content = sessionstore.Content{}
		}
	} else {
		var parts []sessionstore.Part
		for _, p := range m.Content.All() {
			switch {
			case wire.IsText(p) && p.Text() != "":
				parts = append(parts, sessionstore.TextPart(p.Text()))
			case p.Type() == "refusal":
				if o := wire.Parse(p.Raw()); o.String("refusal") != "" {
					if q, err := (wire.Object{}).SetString("type", "refusal").SetString("refusal", o.String("refusal")).Part(); err == nil {
						parts = append(parts, q)
					}
				}
			default:
				b.left.Part(p)
			}
		}
		m.Content = sessionstore.Content{}
		if len(parts) > 0 {
			m.Content = sessionstore.Parts(parts...)
		}
	}
	m.ToolCalls, m.Extra = slices.Clone(m.ToolCalls), chatExtra(m.Extra)
	sent := make(map[string]string, len(m.ToolCalls))
	for i, c := range m.ToolCalls {
		wireID := b.ids.Take(c.ID)
		sent[c.ID] = wireID
		m.ToolCalls[i] = chatCall(c, wireID)
	}
	return m, sent
}

// chatCall returns a call without the keys that only another API takes back.
func chatCall(c sessionstore.ToolCall, id string) sessionstore.ToolCall {
	name := c.Name
	if name == "" && c.Type != "function" {
		name = c.Type // a tool that the provider knows by its type alone
	}
	call := sessionstore.ToolCall{ID: id, Name: wire.ToolName(name, maxName), Arguments: c.Arguments}
	if c.Type == "custom" {
		call.Type = "custom"
	} else {
		call.Arguments = wire.Arguments(c.Arguments)
	}
	return call
}

// chatExtra keeps the refusal of an answer and the id of its audio.
func chatExtra(extra map[string]json.RawMessage) map[string]json.RawMessage {
	out := make(map[string]json.RawMessage)
	var refusal string
	if json.Unmarshal(extra["refusal"], &refusal) == nil && refusal != "" {
		out["refusal"] = wire.Quote(refusal)
	}
	if id := wire.Parse(extra["audio"]).String("id"); id != "" {
		out["audio"] = (wire.Object{}).SetString("id", id).Raw()
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

// content returns the content of a message that is no answer, with attachments in the
// shapes of Chat Completions. Instructions can only be text.
func (b *builder) content(m sessionstore.Message) (sessionstore.Content, error) {
	if !m.Content.IsParts() {
		return m.Content, nil
	}
	var parts []sessionstore.Part
	for _, p := range m.Content.All() {
		if wire.IsText(p) {
			parts = append(parts, sessionstore.TextPart(p.Text()))
			continue
		}
		if !wire.IsTurn(m) {
			b.left.Part(p)
			continue
		}
		media, ok, err := b.left.Media(p)
		if err != nil {
			return sessionstore.Content{}, err
		}
		if !ok {
			continue
		}
		q, err := b.media(media).Part()
		if err != nil {
			return sessionstore.Content{}, err
		}
		parts = append(parts, q)
	}
	return sessionstore.Parts(parts...), nil
}

// media returns an attachment as a part of Chat Completions, or a note for one that
// it has no shape for.
func (b *builder) media(m wire.Media) wire.Object {
	switch {
	case m.Text != "":
		return textPart(m.Document())
	case m.Kind == wire.Image && (m.URL != "" || slices.Contains(wire.ImageTypes, m.MIME)):
		image := wire.Object{}.SetString("url", m.Location())
		if m.Detail != "" {
			image = image.SetString("detail", m.Detail)
		}
		return wire.Object{}.SetString("type", "image_url").Set("image_url", image.Raw())
	case m.Kind == wire.Audio && (m.MIME == "audio/wav" || m.MIME == "audio/mp3"):
		audio := wire.Object{}.SetString("data", m.Data).SetString("format", strings.TrimPrefix(m.MIME, "audio/"))
		return wire.Object{}.SetString("type", "input_audio").Set("input_audio", audio.Raw())
	case m.Kind == wire.File && m.FileID != "" && m.FileOf == wire.OpenAI:
		return wire.Object{}.SetString("type", "file").Set("file", wire.Object{}.SetString("file_id", m.FileID).Raw())
	case m.Kind == wire.File && m.Data != "":
		file := wire.Object{}.SetString("filename", m.FileName()).SetString("file_data", m.DataURL())
		return wire.Object{}.SetString("type", "file").Set("file", file.Raw())
	}
	return textPart(b.left.Noted(m))
}

func textPart(s string) wire.Object {
	return wire.Object{}.SetString("type", "text").SetString("text", s)
}

// chatName returns the name of a speaker as the API takes it: without white space and
// the characters that it reserves.
func chatName(name string) string {
	name = strings.Map(func(r rune) rune {
		if strings.ContainsRune(`<|\/>`, r) || r == '\u00a0' || strings.TrimSpace(string(r)) == "" {
			return '_'
		}
		return r
	}, name)
	for len(name) > maxName {
		runes := []rune(name)
		name = string(runes[:len(runes)-1])
	}
	return name
}
