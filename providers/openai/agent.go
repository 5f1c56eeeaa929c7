package openai

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"net/http"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/shared"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/agent"
	"github.com/sessionstore/sessionstore/internal/wire"
)

// Agent asks a model over the Chat Completions API, of OpenAI or of any server that is
// compatible with it. It is safe for concurrent use.
type Agent struct {
	client sdk.Client
	model  string
	o      Options
}

// Options are those of an Agent. Zero values are defaults.
type Options struct {
	Provider    string   // that answers name; "" is "openai"
	Temperature *float64 // of requests that set none; nil: the model's own
	MaxTokens   int      // of answers to requests that set none; 0: no bound

	// LegacyMaxTokens sends the bound as max_tokens, which older servers want, instead of
	// max_completion_tokens.
	LegacyMaxTokens bool

	// Params is called with each request's parameters before they are sent, to set what
	// this package does not, or to clear what a server refuses (StreamOptions, User).
	Params func(*sdk.ChatCompletionNewParams)

	// Request is given to the SDK with each request.
	Request []option.RequestOption
}

var _ agent.Agent = (*Agent)(nil)

// New returns an agent of the model. The client says where the server is, with which key,
// and how often a request that was limited (429) or failed on the server is tried again:
//
//	client := sdk.NewClient(option.WithBaseURL("http://localhost:11434/v1/"), option.WithAPIKey("unused"))
//	a := openai.New(client, "llama3.2", nil)
//
// A nil o is the zero Options. New does no I/O.
func New(client sdk.Client, model string, o *Options) *Agent {
	a := &Agent{client: client, model: model}
	if o != nil {
		a.o = *o
	}
	if a.o.Provider == "" {
		a.o.Provider = "openai"
	}
	return a
}

// Run implements [agent.Agent]. Errors: *Error for what the server said, ErrInvalid for a
// prompt that cannot be sent, and what the transport says.
func (a *Agent) Run(ctx context.Context, req agent.Request) (agent.Response, error) {
	params, err := a.params(req, false)
	if err != nil {
		return agent.Response{}, err
	}
	c := newCall(a.o.Request)
	completion, err := a.client.Chat.Completions.New(ctx, params, c.options...)
	if err != nil {
		return agent.Response{}, c.fail(ctx, err)
	}
	if len(completion.Choices) == 0 {
		return agent.Response{}, fmt.Errorf("openai: %w", &Error{Status: http.StatusOK, Message: "the answer has no choices", RequestID: c.requestID()})
	}
	choice := completion.Choices[0]
	m, err := ChatMessage(choice.Message)
	if err != nil {
		return agent.Response{}, err
	}
	return a.response(m, choice.FinishReason, completion.Model, completion.ID, completion.Usage, c), nil
}

// Stream implements [agent.Agent]. An answer that ends before the server has said why it
// ends is an error that matches [io.ErrUnexpectedEOF]. Errors are otherwise those of Run.
func (a *Agent) Stream(ctx context.Context, req agent.Request) iter.Seq2[agent.Event, error] {
	return func(yield func(agent.Event, error) bool) {
		params, err := a.params(req, true)
		if err != nil {
			yield(nil, err)
			return
		}
		c := newCall(a.o.Request)
		stream := a.client.Chat.Completions.NewStreaming(ctx, params, c.options...)
		defer func() { _ = stream.Close() }() // what it could say, Err has said
		var s streamed
		for stream.Next() {
			for _, e := range s.add(stream.Current()) {
				if !yield(e, nil) {
					return
				}
			}
		}
		// What came whole is whole, even if the connection then failed.
		if s.reason == "" {
			err := stream.Err()
			if err == nil {
				err = fmt.Errorf("the stream ended before the answer: %w", io.ErrUnexpectedEOF)
			}
			yield(nil, c.fail(ctx, err))
			return
		}
		m, err := chatMessage(s.pieces.object())
		if err != nil {
			yield(nil, err)
			return
		}
		for i, call := range m.ToolCalls {
			if !yield(agent.ToolCallDone{Index: i, Call: call}, nil) {
				return
			}
		}
		yield(agent.Finish{Response: a.response(m, s.reason, s.model, s.id, s.usage, c)}, nil)
	}
}

// streamed is what came of an answer.
type streamed struct {
	pieces            chatPieces
	id, model, reason string
	usage             sdk.CompletionUsage
}

// add takes a chunk and returns the events that it makes.
func (s *streamed) add(chunk sdk.ChatCompletionChunk) []agent.Event {
	if chunk.ID != "" {
		s.id = chunk.ID
	}
	if chunk.Model != "" {
		s.model = chunk.Model
	}
	if chunk.JSON.Usage.Valid() {
		s.usage = chunk.Usage
	}
	if len(chunk.Choices) == 0 || chunk.Choices[0].Index != 0 {
		return nil
	}
	choice := chunk.Choices[0]
	if choice.FinishReason != "" {
		s.reason = choice.FinishReason
	}
	delta := wire.Parse([]byte(choice.Delta.RawJSON()))
	known := len(s.pieces.calls)
	s.pieces.add(delta)
	var events []agent.Event
	for _, k := range []string{"reasoning_content", "reasoning"} {
		if text := delta.String(k); text != "" {
			events = append(events, agent.ReasoningDelta{Text: text})
			break // some servers send the same under both
		}
	}
	if text := delta.String("content"); text != "" {
		events = append(events, agent.TextDelta{Text: text})
	}
	for _, d := range s.pieces.touched {
		call := s.pieces.calls[d.at]
		if d.at >= known {
			name := call.Object("function").String("name") + call.Object("custom").String("name")
			events = append(events, agent.ToolCallStart{Index: d.at, ID: call.String("id"), Name: name})
			known++
		}
		if d.arguments != "" {
			events = append(events, agent.ToolCallDelta{Index: d.at, Arguments: d.arguments})
		}
	}
	return events
}

func (a *Agent) response(m sessionstore.Message, reason, model, id string, u sdk.CompletionUsage, c *call) agent.Response {
	if model == "" {
		model = a.model
	}
	r := agent.Response{
		Message: m, Text: m.Content.String(), ToolCalls: m.ToolCalls,
		Provider: a.o.Provider, Model: model, FinishReason: finishReason(reason),
		Usage: agent.Usage{
			InputTokens:     u.PromptTokens,
			OutputTokens:    u.CompletionTokens,
			CachedTokens:    u.PromptTokensDetails.CachedTokens,
			ReasoningTokens: u.CompletionTokensDetails.ReasoningTokens,
		},
		Metadata: sessionstore.Metadata{"id": id},
	}
	if _, refused := m.Extra["refusal"]; refused && r.FinishReason == agent.FinishStop {
		r.FinishReason = agent.FinishRefusal
	}
	if s := c.requestID(); s != "" {
		r.Metadata["request_id"] = s
	}
	return r
}

func finishReason(s string) agent.FinishReason {
	if s == "function_call" {
		return agent.FinishToolCalls
	}
	return agent.FinishReason(s) // stop, length, tool_calls and content_filter are OpenAI's words
}

// params returns the parameters of a request.
func (a *Agent) params(req agent.Request, stream bool) (sdk.ChatCompletionNewParams, error) {
	messages, err := ChatMessages(req.Prompt())
	if err != nil {
		return sdk.ChatCompletionNewParams{}, err
	}
	p := sdk.ChatCompletionNewParams{Model: a.model, Messages: messages}
	if t := a.o.Temperature; t != nil {
		p.Temperature = sdk.Float(*t)
	}
	if req.Temperature != nil {
		p.Temperature = sdk.Float(*req.Temperature)
	}
	bound := a.o.MaxTokens
	if req.MaxTokens > 0 {
		bound = req.MaxTokens
	}
	switch {
	case bound > 0 && a.o.LegacyMaxTokens:
		p.MaxTokens = sdk.Int(int64(bound))
	case bound > 0:
		p.MaxCompletionTokens = sdk.Int(int64(bound))
	}
	if user, ok := req.Metadata.String("user_id"); ok && user != "" {
		p.User = sdk.String(user)
	}
	for _, t := range req.Tools {
		p.Tools = append(p.Tools, tool(t))
	}
	if s := req.Schema; s != nil {
		p.ResponseFormat = sdk.ChatCompletionNewParamsResponseFormatUnion{
			OfJSONSchema: &shared.ResponseFormatJSONSchemaParam{JSONSchema: schema(*s)},
		}
	}
	if stream {
		p.StreamOptions.IncludeUsage = sdk.Bool(true)
	}
	if a.o.Params != nil {
		a.o.Params(&p)
	}
	return p, nil
}

func tool(t agent.Tool) sdk.ChatCompletionToolUnionParam {
	f := wire.Object{}.SetString("name", t.Name)
	if t.Description != "" {
		f = f.SetString("description", t.Description)
	}
	parameters := t.Parameters
	if len(parameters) == 0 {
		parameters = json.RawMessage(`{"type":"object","properties":{},"additionalProperties":false}`)
	}
	f = f.Set("parameters", parameters)
	if t.Strict {
		f = f.Set("strict", json.RawMessage("true"))
	}
	raw := wire.Object{}.SetString("type", "function").Set("function", f.Raw()).Raw()
	return typed[sdk.ChatCompletionToolUnionParam](raw)
}

func schema(s agent.Schema) shared.ResponseFormatJSONSchemaJSONSchemaParam {
	p := shared.ResponseFormatJSONSchemaJSONSchemaParam{Name: s.Name, Schema: s.JSON}
	if p.Name == "" {
		p.Name = "answer"
	}
	if s.Description != "" {
		p.Description = sdk.String(s.Description)
	}
	if s.Strict {
		p.Strict = param.NewOpt(true)
	}
	return p
}
