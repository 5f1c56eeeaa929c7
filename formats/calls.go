package formats

import (
	"encoding/json"
	"slices"
	"strconv"

	"github.com/sessionstore/sessionstore"
)

// calls gives ids to tool calls of a format that has none, and pairs results with them
// by position. The ids are call_1, call_2 and so on, in the order of the conversation,
// so that a second import makes the same ones.
type calls struct {
	n       int
	pending []string // of the last group of calls, those without a result yet
}

// group begins the calls of another assistant message. Calls of the one before that have
// no result by now will not get one.
func (c *calls) group() { c.pending = nil }

// call returns the id of the next call of the group.
func (c *calls) call() string {
	c.n++
	id := "call_" + strconv.Itoa(c.n)
	c.pending = append(c.pending, id)
	return id
}

// named adds a call of the group that has an id of its own.
func (c *calls) named(id string) { c.pending = append(c.pending, id) }

// answered says that a call has its result.
func (c *calls) answered(id string) {
	c.pending = slices.DeleteFunc(c.pending, func(p string) bool { return p == id })
}

// result returns the id of the call that the next result answers: the first one of the
// group without a result; "" if there is none.
func (c *calls) result() string {
	if len(c.pending) == 0 {
		return ""
	}
	id := c.pending[0]
	c.pending = c.pending[1:]
	return id
}

// parseCall reads {"name","arguments"}, with the arguments as a string or as any other
// value, whose spelling is then kept.
func parseCall(field, text string) (sessionstore.ToolCall, error) {
	o, ok := parseObject(text)
	if !ok {
		return sessionstore.ToolCall{}, invalid(field, "is not an object with a name and arguments")
	}
	name, ok := o.text("name")
	if !ok || name == "" {
		return sessionstore.ToolCall{}, invalid(field, "has no name")
	}
	call := sessionstore.ToolCall{Type: "function", Name: name}
	if call.Arguments, ok = o.text("arguments"); !ok {
		call.Arguments = o.get("arguments")
	}
	if rest := o.without("name", "arguments"); rest != nil {
		call.Extra = map[string]json.RawMessage{"function": rest}
	}
	return call, nil
}
