package anthropic

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"

	sdk "github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/option"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/agent"
	"github.com/sessionstore/sessionstore/internal/wire"
	"github.com/sessionstore/sessionstore/internal/wire/claude"
)

// DefaultMaxTokens bounds an answer where neither the request nor the agent does: the API
// wants a bound.
const DefaultMaxTokens = 8192

// Agent asks a model over the Messages API. It is safe for concurrent use.
type Agent struct {
	client sdk.Client
	model  string
	o      Options
}

// Options are those of an Agent. Zero values are defaults.
type Options struct {
	Provider    string   // that answers name; "" is "anthropic"
	Temperature *float64 // of requests that set none; nil: the model's own; newer models take none
	MaxTokens   int      // of answers to requests that set none; 0: DefaultMaxTokens

	// Params is called with each request's parameters before they are sent, to set what
	// this package does not: thinking, server tools, cache breakpoints on the system.
	Params func(*sdk.MessageNewParams)

	// Request is given to the SDK with each request.
	Request []option.RequestOption
}

var _ agent.Agent = (*Agent)(nil)

// New returns an agent of the model. The client says where the server is, with which key,
// and how often a request that was limited (429) or failed on the server is tried again.
// A nil o is the zero Options. New does no I/O.
func New(client sdk.Client, model string, o *Options) *Agent {
	a := &Agent{client: client, model: model}
	if o != nil {
		a.o = *o
	}
	if a.o.Provider == "" {
		a.o.Provider = "anthropic"
	}
	return a
}

// Run implements [agent.Agent]. Errors: *Error for what the server said, ErrInvalid for a
// prompt that cannot be sent, and what the transport says.
func (a *Agent) Run(ctx context.Context, req agent.Request) (agent.Response, error) {
	params, err := a.params(req)
	if err != nil {
		return agent.Response{}, err
	}
	c := newCall(a.options(req))
	answer, err := a.client.Messages.New(ctx, params, c.options...)
	if err != nil {
		return agent.Response{}, c.fail(ctx, err)
	}
	return a.response(*answer, c)
}

// Stream implements [agent.Agent]. An answer that ends before the server has said why it
// ends is an error that matches [io.ErrUnexpectedEOF]. Errors are otherwise those of Run.
func (a *Agent) Stream(ctx context.Context, req agent.Request) iter.Seq2[agent.Event, error] {
	return func(yield func(agent.Event, error) bool) {
		params, err := a.params(req)
		if err != nil {
			yield(nil, err)
			return
		}
		c := newCall(a.options(req))
		stream := a.client.Messages.NewStreaming(ctx, params, c.options...)
		defer func() { _ = stream.Close() }() // what it could say, Err has said
		s := streamed{calls: make(map[int64]int)}
		for stream.Next() {
			events, err := s.add(stream.Current())
			if err != nil {
				yield(nil, fmt.Errorf("anthropic: %w", err))
				return
			}
			for _, e := range events {
				if !yield(e, nil) {
					return
				}
			}
		}
		// What came whole is whole, even if the connection then failed.
		if s.answer.StopReason == "" {
			err := stream.Err()
			if err == nil {
				err = fmt.Errorf("the stream ended before the answer: %w", io.ErrUnexpectedEOF)
			}
			yield(nil, c.fail(ctx, err))
			return
		}
		r, err := a.response(s.answer, c)
		if err != nil {
			yield(nil, err)
			return
		}
		for i, text := range s.inputs {
			r.ToolCalls[i].Arguments = arguments(r.ToolCalls[i], text) // of r.Message too
		}
		yield(agent.Finish{Response: r}, nil)
	}
}

// streamed is what came of an answer.
type streamed struct {
	answer sdk.Message
	calls  map[int64]int // by a block's index: the index of its tool call
	inputs []string      // of the tool calls, as streamed
}

// arguments returns those of a call that were streamed as text. If a bound on tokens has
// cut them they are no JSON, and stay so: the SDK would have an empty input, with which
// the tool could be run.
func arguments(c sessionstore.ToolCall, text string) string {
	if text != "" && !json.Valid([]byte(text)) {
		return text
	}
	return c.Arguments
}

// add takes an event of the server and returns those that it makes.
func (s *streamed) add(e sdk.MessageStreamEventUnion) ([]agent.Event, error) {
	if err := s.answer.Accumulate(e); err != nil {
		return nil, err
	}
	switch e.Type {
	case "content_block_start":
		block := s.answer.Content[e.Index]
		switch {
		case block.Type == "tool_use":
			s.calls[e.Index] = len(s.calls)
			s.inputs = append(s.inputs, "")
			return []agent.Event{agent.ToolCallStart{Index: s.calls[e.Index], ID: block.ID, Name: block.Name}}, nil
		case block.Type == "text" && block.Text != "":
			return []agent.Event{agent.TextDelta{Text: block.Text}}, nil
		}
	case "content_block_delta":
		index, isCall := s.calls[e.Index]
		switch d := e.Delta; {
		case d.Type == "text_delta" && d.Text != "":
			return []agent.Event{agent.TextDelta{Text: d.Text}}, nil
		case d.Type == "thinking_delta" && d.Thinking != "":
			return []agent.Event{agent.ReasoningDelta{Text: d.Thinking}}, nil
		case d.Type == "input_json_delta" && isCall && d.PartialJSON != "":
			s.inputs[index] += d.PartialJSON
			return []agent.Event{agent.ToolCallDelta{Index: index, Arguments: d.PartialJSON}}, nil
		}
	case "content_block_stop":
		o := wire.Parse([]byte(s.answer.Content[e.Index].RawJSON()))
		if index, ok := s.calls[e.Index]; ok {
			call := claude.BlockCall(o)
			call.Arguments = arguments(call, s.inputs[index])
			return []agent.Event{agent.ToolCallDone{Index: index, Call: call}}, nil
		}
		if o.String("type") == "text" {
			return nil, nil // streamed as text; its citations come with Finish
		}
		part, err := claude.BlockPart(o)
		if err != nil {
			return nil, err
		}
		return []agent.Event{agent.PartDone{Part: part}}, nil
	}
	return nil, nil
}

func (a *Agent) response(answer sdk.Message, c *call) (agent.Response, error) {
	m, err := Message(answer)
	if err != nil {
		return agent.Response{}, err
	}
	u := answer.Usage
	r := agent.Response{
		Message: m, Text: m.Content.String(), ToolCalls: m.ToolCalls,
		Provider: a.o.Provider, Model: answer.Model, FinishReason: finishReason(answer.StopReason),
		Usage: agent.Usage{
			InputTokens:     u.InputTokens + u.CacheReadInputTokens + u.CacheCreationInputTokens,
			OutputTokens:    u.OutputTokens,
			CachedTokens:    u.CacheReadInputTokens,
			ReasoningTokens: u.OutputTokensDetails.ThinkingTokens,
		},
		Metadata: sessionstore.Metadata{"id": answer.ID, "stop_reason": string(answer.StopReason)},
	}
	if r.Model == "" {
		r.Model = a.model
	}
	if s := c.requestID(); s != "" {
		r.Metadata["request_id"] = s
	}
	return r, nil
}

func finishReason(s sdk.StopReason) agent.FinishReason {
	switch s {
	case sdk.StopReasonEndTurn, sdk.StopReasonStopSequence:
		return agent.FinishStop
	case sdk.StopReasonMaxTokens, sdk.StopReasonModelContextWindowExceeded:
		return agent.FinishLength
	case sdk.StopReasonToolUse:
		return agent.FinishToolCalls
	case sdk.StopReasonRefusal:
		return agent.FinishRefusal
	}
	return agent.FinishReason(s)
}

// params returns the parameters of a request.
func (a *Agent) params(req agent.Request) (sdk.MessageNewParams, error) {
	system, messages, err := Messages(req.Prompt())
	if err != nil {
		return sdk.MessageNewParams{}, err
	}
	p := sdk.MessageNewParams{Model: a.model, System: system, Messages: messages, MaxTokens: DefaultMaxTokens}
	switch {
	case req.MaxTokens > 0:
		p.MaxTokens = int64(req.MaxTokens)
	case a.o.MaxTokens > 0:
		p.MaxTokens = int64(a.o.MaxTokens)
	}
	if user, ok := req.Metadata.String("user_id"); ok && user != "" {
		p.Metadata.UserID = sdk.String(user)
	}
	for _, t := range req.Tools {
		p.Tools = append(p.Tools, tool(t))
	}
	if s := req.Schema; s != nil {
		raw := wire.Object{}.SetString("type", "json_schema").Set("schema", s.JSON).Raw()
		p.OutputConfig.Format = typed[sdk.JSONOutputFormatParam](raw)
	}
	if a.o.Params != nil {
		a.o.Params(&p)
	}
	return p, nil
}

func tool(t agent.Tool) sdk.ToolUnionParam {
	parameters := t.Parameters
	if len(parameters) == 0 {
		parameters = json.RawMessage(`{"type":"object","properties":{},"additionalProperties":false}`)
	}
	o := wire.Object{}.SetString("name", t.Name).Set("input_schema", parameters)
	if t.Description != "" {
		o = o.SetString("description", t.Description)
	}
	if t.Strict {
		o = o.Set("strict", json.RawMessage("true"))
	}
	p := typed[sdk.ToolParam](o.Raw())
	return sdk.ToolUnionParam{OfTool: &p}
}

// options returns what a request sets that the SDK has no parameter for.
func (a *Agent) options(req agent.Request) []option.RequestOption {
	t := a.o.Temperature
	if req.Temperature != nil {
		t = req.Temperature
	}
	if t == nil {
		return a.o.Request
	}
	return append([]option.RequestOption{option.WithJSONSet("temperature", *t)}, a.o.Request...)
}
