package responses

import (
	"encoding/json"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/internal/wire"
)

// AddItem adds an item that a model gave to the message to store. Texts and refusals become
// parts, and calls tool calls by their call_id. Any other item (reasoning with its
// encrypted content, a web search) becomes a part exactly as it was received. Errors:
// ErrInvalid.
func AddItem(a *wire.Answer, o wire.Object) error {
	switch o.String("type") {
	case "message":
		var content []json.RawMessage
		if err := json.Unmarshal(o.Get("content"), &content); err != nil {
			return wire.Invalid("content", "is no list")
		}
		for _, raw := range content {
			p, err := answerPart(wire.Parse(raw), o.String("phase")).Part()
			if err != nil {
				return err
			}
			a.Part(p)
		}
		return nil
	case "function_call":
		a.Call(itemCall(o, "function", "arguments"))
		return nil
	case "custom_tool_call":
		a.Call(itemCall(o, "custom", "input"))
		return nil
	}
	p, err := sessionstore.ParsePart(o.Raw())
	if err == nil {
		a.Part(p)
	}
	return err
}

// answerPart returns a text of an answer as a text part, with its annotations if there
// are any and with the phase of its message. Anything else is kept as it is.
func answerPart(c wire.Object, phase string) wire.Object {
	if c.String("type") == "output_text" {
		c = c.Without().SetString("type", "text")
		for _, k := range []string{"annotations", "logprobs"} {
			if string(c.Get(k)) == "[]" {
				c = c.Without(k)
			}
		}
	}
	if phase != "" {
		c = c.SetString("phase", phase)
	}
	return c
}

func itemCall(o wire.Object, kind, text string) sessionstore.ToolCall {
	c := sessionstore.ToolCall{ID: o.String("call_id"), Type: kind, Name: o.String("name"), Arguments: o.String(text)}
	for _, m := range o.Without("type", "call_id", "name", text, "id", "status") {
		if c.Extra == nil {
			c.Extra = make(map[string]json.RawMessage)
		}
		c.Extra[m.Key] = m.Value
	}
	return c
}
