package gemini

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"google.golang.org/genai"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/internal/wire"
)

// partType is the type of a stored part that only this API understands; its key "part"
// has the API's own.
const partType = "gemini"

// Message returns an answer, the first candidate of a response or of all the responses of
// a stream in order, as the message to store. Texts that follow each other are joined,
// unless one carries a thought signature, so that a stream and a single response give
// equal messages. A call that came without an id gets one of its place.
//
// Errors: ErrInvalid.
func Message(rs ...*genai.GenerateContentResponse) (sessionstore.Message, error) {
	var a wire.Answer
	calls := 0
	for _, p := range joined(rs) {
		if f := p.FunctionCall; f != nil {
			c := sessionstore.ToolCall{ID: f.ID, Type: "function", Name: f.Name, Arguments: "{}"}
			calls++
			if c.ID == "" {
				c.ID = "call_" + strconv.Itoa(calls)
			}
			if len(f.Args) > 0 {
				raw, err := encode(f.Args)
				if err != nil {
					return sessionstore.Message{}, fmt.Errorf("gemini: arguments of %q: %w", f.Name, err)
				}
				c.Arguments = string(raw)
			}
			if len(p.ThoughtSignature) > 0 {
				c.Extra = map[string]json.RawMessage{"thought_signature": wire.Quote(base64.StdEncoding.EncodeToString(p.ThoughtSignature))}
			}
			a.Call(c)
			continue
		}
		part, err := storedPart(p)
		if err != nil {
			return sessionstore.Message{}, fmt.Errorf("gemini: answer: %w", err)
		}
		a.Part(part)
	}
	return a.Message(), nil
}

// joined returns the parts of the first candidates, texts joined.
func joined(rs []*genai.GenerateContentResponse) []*genai.Part {
	var out []*genai.Part
	for _, r := range rs {
		if r == nil || len(r.Candidates) == 0 || r.Candidates[0].Content == nil {
			continue
		}
		for _, p := range r.Candidates[0].Content.Parts {
			if p == nil || isText(p) && p.Text == "" && len(p.ThoughtSignature) == 0 {
				continue
			}
			if n := len(out); n > 0 && isText(p) && isText(out[n-1]) && p.Thought == out[n-1].Thought &&
				len(p.ThoughtSignature) == 0 && len(out[n-1].ThoughtSignature) == 0 {
				out[n-1] = &genai.Part{Text: out[n-1].Text + p.Text, Thought: p.Thought}
				continue
			}
			out = append(out, p)
		}
	}
	return out
}

// isText reports whether p has no data but a text.
func isText(p *genai.Part) bool {
	q := *p
	q.Text, q.Thought, q.ThoughtSignature = "", false, nil
	b, err := json.Marshal(q)
	return err == nil && string(b) == "{}"
}

func storedPart(p *genai.Part) (sessionstore.Part, error) {
	var o wire.Object
	switch {
	case isText(p) && p.Thought:
		o = wire.Object{}.SetString("type", "reasoning").SetString("text", p.Text)
	case isText(p):
		o = wire.Object{}.SetString("type", "text").SetString("text", p.Text)
	case p.InlineData != nil && strings.HasPrefix(p.InlineData.MIMEType, "image/"):
		url := "data:" + p.InlineData.MIMEType + ";base64," + base64.StdEncoding.EncodeToString(p.InlineData.Data)
		o = wire.Object{}.SetString("type", "image_url").Set("image_url", wire.Object{}.SetString("url", url).Raw())
	default:
		raw, err := encode(p)
		if err != nil {
			return sessionstore.Part{}, err
		}
		return wire.Object{}.SetString("type", partType).Set("part", raw).Part()
	}
	if len(p.ThoughtSignature) > 0 {
		o = o.SetString("thought_signature", base64.StdEncoding.EncodeToString(p.ThoughtSignature))
	}
	return o.Part()
}

func encode(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimRight(b.Bytes(), "\n"), err
}
