package gemini

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"mime"
	"path"
	"slices"
	"strings"

	"google.golang.org/genai"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/internal/wire"
)

// maxName is the greatest number of bytes of a function's name.
const maxName = 64

// Opening is the text of the user's turn that goes before an answer which begins the
// conversation, such as a greeting, because the API wants a user first.
const Opening = "(The model begins the conversation.)"

// elsewhere stands for the output of a function that is but attachments.
const elsewhere = "The output is in the message that follows."

// Contents returns a prompt as the system instruction, nil for none, and the contents of
// a generateContent request; see the package's comment for what goes where. The same
// prompt gives the same bytes.
//
// Errors: ErrInvalid for an attachment that is malformed, and for a prompt without a
// message for the model to answer.
func Contents(p sessionstore.Prompt) (*genai.Content, []*genai.Content, error) {
	b := builder{ids: wire.IDs{Valid: func(id string) bool { return id != "" }}}
	if !wire.Blank(p.Session.System) {
		b.system = append(b.system, &genai.Part{Text: p.Session.System})
	}
	lead := true
	for i, m := range p.Messages {
		lead = lead && !wire.IsTurn(m)
		if err := b.add(m, lead); err != nil {
			return nil, nil, fmt.Errorf("gemini: message %d of the prompt (id %q): %w", i, m.ID, err)
		}
	}
	b.flush()
	if len(b.contents) == 0 {
		return nil, nil, fmt.Errorf("gemini: %w", wire.NothingToSend())
	}
	if b.contents[0].Role == genai.RoleModel {
		b.contents = slices.Insert(b.contents, 0, genai.NewContentFromText(Opening, genai.RoleUser))
	}
	if len(b.system) == 0 {
		return nil, b.contents, nil
	}
	return &genai.Content{Parts: b.system}, b.contents, nil
}

type builder struct {
	ids      wire.IDs
	system   []*genai.Part
	contents []*genai.Content
	sent     map[string]*genai.FunctionCall // of the last answer, by the stored id
	results  []*genai.Part                  // function responses, which are a turn alone
	media    []*genai.Part                  // attachments of the results, for a turn after them
}

// to adds parts to the last turn if it is the role's, else to a new one.
func (b *builder) to(role string, parts ...*genai.Part) {
	if len(parts) == 0 {
		return
	}
	if n := len(b.contents); n > 0 {
		last := b.contents[n-1]
		if last.Role == role && last.Parts[0].FunctionResponse == nil {
			last.Parts = append(last.Parts, parts...)
			return
		}
	}
	b.contents = append(b.contents, &genai.Content{Role: role, Parts: parts})
}

// flush ends the results of an answer.
func (b *builder) flush() {
	if len(b.results) == 0 {
		return
	}
	b.contents = append(b.contents, &genai.Content{Role: genai.RoleUser, Parts: b.results})
	b.to(genai.RoleUser, b.media...)
	b.results, b.media = nil, nil
}

func (b *builder) add(m sessionstore.Message, lead bool) error {
	if m.Role == sessionstore.RoleTool {
		return b.result(m)
	}
	b.flush()
	if m.Role == sessionstore.RoleAssistant {
		b.answer(m)
		return nil
	}
	texts, media, err := inputParts(m)
	if err != nil {
		return err
	}
	if lead {
		b.system = append(b.system, texts...)
		return nil
	}
	if wire.IsTurn(m) {
		texts = media
	}
	b.to(genai.RoleUser, texts...)
	return nil
}

// answer adds what a model said, in order. What only another provider understands is left
// out.
func (b *builder) answer(m sessionstore.Message) {
	b.sent = make(map[string]*genai.FunctionCall, len(m.ToolCalls))
	var parts []*genai.Part
	for _, it := range wire.Sequence(m) {
		if it.Call != nil {
			parts = append(parts, b.call(*it.Call))
		} else if p := answerPart(it.Part); p != nil {
			parts = append(parts, p)
		}
	}
	if s := wire.Spoken(m); len(parts) == 0 && !wire.Blank(s) {
		parts = append(parts, &genai.Part{Text: s})
	}
	b.to(genai.RoleModel, parts...)
}

// answerPart returns a part of an answer, or nil if it is not for this API.
func answerPart(p sessionstore.Part) *genai.Part {
	o := wire.Parse(p.Raw())
	signature := signatureOf(o.String("thought_signature"))
	switch kind := p.Type(); {
	case wire.IsText(p):
		if signature == nil && wire.Blank(p.Text()) {
			return nil
		}
		return &genai.Part{Text: p.Text(), ThoughtSignature: signature}
	case kind == "reasoning" && signature != nil && p.Text() != "":
		return &genai.Part{Text: p.Text(), Thought: true, ThoughtSignature: signature}
	case kind == "refusal" && !wire.Blank(o.String("refusal")):
		return &genai.Part{Text: o.String("refusal")}
	case kind == "image_url":
		m, err := wire.ParseMedia(p)
		if data, errData := base64.StdEncoding.DecodeString(m.Data); err == nil && errData == nil && len(data) > 0 {
			return &genai.Part{InlineData: &genai.Blob{Data: data, MIMEType: m.MIME}, ThoughtSignature: signature}
		}
	case kind == partType:
		var own genai.Part
		if json.Unmarshal(o.Get("part"), &own) == nil {
			return &own
		}
	}
	return nil
}

func (b *builder) call(c sessionstore.ToolCall) *genai.Part {
	f := &genai.FunctionCall{ID: b.ids.Take(c.ID), Name: functionName(c)}
	d := json.NewDecoder(bytes.NewReader(wire.Input(c.Arguments)))
	d.UseNumber()
	if err := d.Decode(&f.Args); err != nil {
		f.Args = nil
	}
	b.sent[c.ID] = f
	signature := wire.Parse(c.Extra["extra_content"]).Object("google").String("thought_signature") // of the API compatible with OpenAI's
	var own string
	if json.Unmarshal(c.Extra["thought_signature"], &own) == nil && own != "" {
		signature = own
	}
	return &genai.Part{FunctionCall: f, ThoughtSignature: signatureOf(signature)}
}

func signatureOf(s string) []byte {
	b, err := base64.StdEncoding.DecodeString(s)
	if err != nil || len(b) == 0 {
		return nil
	}
	return b
}

// functionName returns the name of a call as the API takes it: it begins with a letter or
// "_", and has dots and colons too.
func functionName(c sessionstore.ToolCall) string {
	name := c.Name
	if name == "" && c.Type != "function" {
		name = c.Type
	}
	clean := []byte(wire.ToolName(name, max(len(name), maxName)))
	if len(clean) == len(name) {
		for i, r := range []byte(name) {
			if r == '.' || r == ':' {
				clean[i] = r
			}
		}
	}
	if r := clean[0]; r != '_' && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') {
		clean = append([]byte{'_'}, clean...)
	}
	return string(clean[:min(len(clean), maxName)])
}

// result adds the response of a function: its text under "output", or "error" if the call
// failed. Attachments follow all responses in a turn of their own.
func (b *builder) result(m sessionstore.Message) error {
	call := b.sent[m.ToolCallID]
	texts, all, err := inputParts(m)
	if err != nil {
		return err
	}
	var text strings.Builder
	for _, p := range texts {
		text.WriteString(p.Text)
	}
	var media []*genai.Part
	for _, p := range all {
		if p.Text == "" {
			media = append(media, p)
		}
	}
	if len(media) > 0 {
		b.media = append(append(b.media, &genai.Part{Text: "From the output of the function " + call.Name + ":"}), media...)
		if text.Len() == 0 {
			text.WriteString(elsewhere)
		}
	}
	key := "output"
	if wire.Failed(m) {
		key = "error"
	}
	b.results = append(b.results, &genai.Part{FunctionResponse: &genai.FunctionResponse{
		ID: call.ID, Name: call.Name, Response: map[string]any{key: text.String()},
	}})
	return nil
}

// inputParts returns the texts of a message that is no answer, and all its parts with
// them. A note for what the API has no part for is a text.
func inputParts(m sessionstore.Message) (texts, all []*genai.Part, err error) {
	text := func(s string) {
		if !wire.Blank(s) {
			p := &genai.Part{Text: s}
			texts, all = append(texts, p), append(all, p)
		}
	}
	if m.Content.IsText() {
		text(m.Content.String())
	}
	for _, p := range m.Content.All() {
		if wire.IsText(p) {
			text(p.Text())
			continue
		}
		if !wire.IsTurn(m) {
			continue
		}
		media, err := wire.ParseMedia(p)
		if err != nil {
			return nil, nil, err
		}
		part, err := mediaPart(media)
		if err != nil {
			return nil, nil, err
		}
		if part == nil {
			if media.Text != "" {
				text(media.Document())
			} else {
				text(media.Note())
			}
			continue
		}
		all = append(all, part)
	}
	return texts, all, nil
}

// mediaPart returns an attachment as a part, or nil for one that the API has none for.
func mediaPart(m wire.Media) (*genai.Part, error) {
	switch {
	case m.Data != "":
		data, err := base64.StdEncoding.DecodeString(m.Data)
		if err != nil {
			return nil, wire.Invalid("content", "has data that is not base64")
		}
		return &genai.Part{InlineData: &genai.Blob{Data: data, MIMEType: m.MIME}}, nil
	case m.URL != "":
		return &genai.Part{FileData: &genai.FileData{FileURI: m.URL, MIMEType: typeOf(m)}}, nil
	}
	return nil, nil
}

// typeOf guesses the media type of a URL by its ending.
func typeOf(m wire.Media) string {
	location, _, _ := strings.Cut(m.URL, "?")
	kind, _, _ := strings.Cut(mime.TypeByExtension(path.Ext(location)), ";")
	switch {
	case m.MIME != "":
		return m.MIME
	case kind != "":
		return kind
	case m.Kind == wire.Image:
		return "image/jpeg"
	case m.Kind == wire.Audio:
		return "audio/wav"
	}
	return "application/pdf"
}
