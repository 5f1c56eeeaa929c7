package claude

import (
	"bytes"
	"encoding/json"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/internal/wire"
)

// AddBlock adds a block of an answer of the API to the message to store. A tool_use becomes
// a tool call; any other block a part, exactly as it was received but for keys that are
// null. Errors: ErrInvalid.
func AddBlock(a *wire.Answer, o wire.Object) error {
	if o == nil {
		return wire.Invalid("content", "was not decoded from JSON")
	}
	if o.String("type") == "tool_use" {
		a.Call(BlockCall(o))
		return nil
	}
	p, err := BlockPart(o)
	if err == nil {
		a.Part(p)
	}
	return err
}

// BlockPart returns a block as a part, the keys that this package knows first and in one
// order, so that a stream and a whole answer give equal bytes.
func BlockPart(o wire.Object) (sessionstore.Part, error) {
	o = o.Without()
	var out wire.Object
	for _, k := range []string{"type", "text", "thinking", "signature"} {
		if v := o.Get(k); v != nil {
			out = out.Set(k, v)
		}
	}
	return append(out, o.Without("type", "text", "thinking", "signature")...).Part()
}

// BlockCall returns a tool_use as a tool call, what it has beside the modelled keys in its
// Extra.
func BlockCall(o wire.Object) sessionstore.ToolCall {
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
