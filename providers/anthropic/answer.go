package anthropic

import (
	"bytes"
	"encoding/json"
	"fmt"

	sdk "github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/providers/internal/wire"
)

// Message returns an answer of the Messages API as the message to store. A tool_use
// becomes a tool call; any other block a part, exactly as it was received but for keys
// that are null.
//
// m must be decoded from JSON, as what the SDK's client returns is, or accumulated from a
// stream that has ended. Errors: ErrInvalid.
func Message(m sdk.Message) (sessionstore.Message, error) {
	var a wire.Answer
	for i, block := range m.Content {
		if err := addBlock(&a, wire.Parse([]byte(block.RawJSON()))); err != nil {
			return sessionstore.Message{}, fmt.Errorf("anthropic: block %d of the answer: %w", i, err)
		}
	}
	return a.Message(), nil
}

func addBlock(a *wire.Answer, o wire.Object) error {
	if o == nil {
		return wire.Invalid("content", "was not decoded from JSON")
	}
	if o.String("type") == "tool_use" {
		a.Call(blockCall(o))
		return nil
	}
	p, err := blockPart(o)
	if err == nil {
		a.Part(p)
	}
	return err
}

// blockPart returns a block as a part, the keys that this package knows first and in one
// order, so that a stream and a whole answer give equal bytes.
func blockPart(o wire.Object) (sessionstore.Part, error) {
	o = o.Without()
	var out wire.Object
	for _, k := range []string{"type", "text", "thinking", "signature"} {
		if v := o.Get(k); v != nil {
			out = out.Set(k, v)
		}
	}
	return append(out, o.Without("type", "text", "thinking", "signature")...).Part()
}

func blockCall(o wire.Object) sessionstore.ToolCall {
	c := sessionstore.ToolCall{ID: o.String("id"), Type: "function", Name: o.String("name")}
	var input bytes.Buffer // without the white space that only a whole answer or only a stream has
	if err := json.Compact(&input, o.Get("input")); err == nil {
		c.Arguments = input.String()
	}
	for _, m := range o.Without("type", "id", "name", "input") {
		if c.Extra == nil {
			c.Extra = make(map[string]json.RawMessage)
		}
		c.Extra[m.Key] = m.Value
	}
	return c
}
