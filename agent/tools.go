package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/sessionstore/sessionstore"
)

// NewTool returns a tool whose arguments are a T, with the schema that [SchemaFor] makes
// of it, and whose result is a text. Arguments that are no T are an error that the model
// sees. Errors: those of SchemaFor.
func NewTool[T any](name, description string, run func(ctx context.Context, args T) (string, error)) (Tool, error) {
	schema, err := SchemaFor[T](name)
	if err != nil {
		return Tool{}, err
	}
	return Tool{
		Name:        name,
		Description: description,
		Parameters:  schema.JSON,
		Strict:      schema.Strict,
		Run: func(ctx context.Context, call sessionstore.ToolCall) (sessionstore.Content, error) {
			var args T
			if text := strings.TrimSpace(call.Arguments); text != "" { // some models send nothing for no arguments
				if err := json.Unmarshal([]byte(text), &args); err != nil {
					return sessionstore.Content{}, fmt.Errorf("invalid arguments: %w", err)
				}
			}
			text, err := run(ctx, args)
			return sessionstore.Text(text), err
		},
	}, nil
}

// tool returns the tool of a name, nil if there is none.
func (t *turn) tool(name string) *Tool {
	for i := range t.set.tools {
		if t.set.tools[i].Name == name {
			return &t.set.tools[i]
		}
	}
	return nil
}

// leaves reports whether a call is for the caller to answer. One of a tool that does not
// exist is ours: the model is told so.
func (t *turn) leaves(call sessionstore.ToolCall) bool {
	if len(t.set.tools) == 0 {
		return true
	}
	tool := t.tool(call.Name)
	return tool != nil && tool.Run == nil
}

// runsAny reports whether any of the calls is ours to answer.
func (t *turn) runsAny(calls []sessionstore.ToolCall) bool {
	for _, c := range calls {
		if !t.leaves(c) {
			return true
		}
	}
	return false
}

// runTools runs calls one after the other, and stores each result before the next: what
// has had an effect is not run again after a crash. It returns how many calls are left to
// the caller.
func (t *turn) runTools(ctx context.Context, calls []sessionstore.ToolCall) (left int, err error) {
	for _, call := range calls {
		if t.leaves(call) {
			left++
			continue
		}
		if err := ctx.Err(); err != nil {
			return left, err
		}
		m, err := t.result(ctx, call)
		if err != nil {
			return left, err
		}
		if err := t.keep(ctx, m); err != nil {
			return left, err
		}
		if !t.yield(ToolResult{t.stored[len(t.stored)-1]}) {
			return left, errStopped
		}
	}
	return left, nil
}

// result runs a call. An error means that it is to stay unanswered.
func (t *turn) result(ctx context.Context, call sessionstore.ToolCall) (sessionstore.Message, error) {
	tool := t.tool(call.Name)
	if tool == nil {
		return t.failed(call, fmt.Errorf("there is no tool %q", call.Name)), nil
	}
	content, err := tool.Run(ctx, call)
	if err != nil {
		if ctx.Err() != nil {
			return sessionstore.Message{}, fmt.Errorf("tool %q: %w", call.Name, because(ctx, err))
		}
		return t.failed(call, err), nil
	}
	if content.IsNull() {
		content = sessionstore.Text("")
	}
	m := sessionstore.Message{ID: t.set.newID(), Role: sessionstore.RoleTool, ToolCallID: call.ID, Content: content}
	// What the store would refuse would be run again and again.
	if _, err := (sessionstore.Append{Messages: []sessionstore.Message{m}}).Prepare(t.c.id); err != nil {
		return t.failed(call, fmt.Errorf("the tool has run, but its result cannot be kept: %w", err)), nil
	}
	return m, nil
}

// failed returns the result of a call that went wrong, marked as providers have it.
func (t *turn) failed(call sessionstore.ToolCall, err error) sessionstore.Message {
	m := sessionstore.ToolMessage(call.ID, valid("Error: "+err.Error()))
	m.ID = t.set.newID()
	m.Extra = map[string]json.RawMessage{"is_error": json.RawMessage("true")}
	return m
}
