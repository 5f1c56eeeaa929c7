package agent

import (
	"context"
	"encoding/json"
	"iter"

	"github.com/sessionstore/sessionstore"
)

// Agent answers requests: a model behind an API, or anything that behaves like one. It
// keeps nothing of a conversation; a [Conversation] does. It is safe for concurrent use
// and returns soon after the context is done.
type Agent interface {
	// Run returns the whole answer. An error means that there is none.
	Run(ctx context.Context, req Request) (Response, error)

	// Stream yields the answer in pieces as they come, and [Finish] once and last if it is
	// complete. An error is yielded once and last; without Finish and error the answer was
	// cut. The answer begins with the iteration. However that ends, nothing of it goes on:
	// no goroutine, no connection.
	//
	// The pieces of a complete answer add up to what Run would have returned for it; see
	// [Accumulator].
	Stream(ctx context.Context, req Request) iter.Seq2[Event, error]
}

// Request is what an agent is asked. An agent does not change it.
type Request struct {
	SessionID string
	System    string // instructions; go first; "" is none

	// History is what was said before, valid for a model's API as [sessionstore.Prompt] is:
	// each tool call is followed at once by its one result.
	History []sessionstore.Message

	// Input is what is said now. Its Role is "" where the history is to be gone on from: it
	// ends with what is to be answered then, such as the results of tools.
	Input sessionstore.Message

	Temperature *float64              // nil: the agent's own
	MaxTokens   int                   // of the answer; 0: the agent's own
	Metadata    sessionstore.Metadata // for the provider, such as an end user's id; never stored
	Schema      *Schema               // the answer is to be JSON of this schema; nil: any text
	Tools       []Tool                // that the answer may call
}

// Prompt returns system, history and input as one prompt, for what makes a provider's
// request of it. Its Session has the fields ID and System.
func (r Request) Prompt() sessionstore.Prompt {
	p := sessionstore.Prompt{
		Session:  sessionstore.Session{ID: r.SessionID, System: r.System},
		Messages: make([]sessionstore.Message, 0, len(r.History)+1),
	}
	p.Messages = append(p.Messages, r.History...)
	if r.Input.Role != "" {
		p.Messages = append(p.Messages, r.Input)
	}
	return p
}

// Schema is the form of an answer.
type Schema struct {
	Name        string          // for the provider; letters, digits, _ and -, at most 64
	Description string          // for the model
	JSON        json.RawMessage // the JSON schema

	// Strict asks the provider to hold the model to the schema where it can. Providers
	// then want every property required and additionalProperties false.
	Strict bool
}

// Response is an answer.
type Response struct {
	// Message is the assistant's message to store: with the parts and keys that only its
	// provider understands, exactly as those are to be sent back. An agent without such may
	// leave it zero (its Role is "") and set Text and ToolCalls alone; otherwise it is
	// Message that counts. What a [Conversation] returns has all three; Message is then
	// as stored.
	Message   sessionstore.Message
	Text      string // the text of Message
	ToolCalls []sessionstore.ToolCall

	Provider     string // such as "anthropic"
	Model        string // that answered, as the provider names it
	Usage        Usage
	FinishReason FinishReason
	Metadata     sessionstore.Metadata // what else the provider said, such as the request's id; not stored

	// The rest is set by a Conversation alone.

	// Turn holds the messages that the turn has stored, as stored, in order: the input,
	// then answers and the results of tools. Usage is then the sum over its answers.
	Turn []sessionstore.Message

	// Repeated says that the turn had been stored before, by another attempt with the same
	// id, and the model was not asked again. Usage is then unknown.
	Repeated bool
}

// complete returns r with its Message, Text and ToolCalls in agreement, and a reason.
func (r Response) complete() Response {
	if r.Message.Role == "" {
		r.Message = sessionstore.AssistantMessage(r.Text, r.ToolCalls...)
	}
	r.Text = r.Message.Content.String()
	r.ToolCalls = r.Message.ToolCalls
	if r.FinishReason == "" {
		r.FinishReason = FinishStop
		if len(r.ToolCalls) > 0 {
			r.FinishReason = FinishToolCalls
		}
	}
	return r
}

// FinishReason says why an answer ended. Agents translate their provider's word for it;
// one that fits none of these is kept as it is.
type FinishReason string

// The reasons that every provider has a word for, and one of a [Conversation]'s own.
const (
	FinishStop      FinishReason = "stop"           // it is complete
	FinishLength    FinishReason = "length"         // a bound on tokens cut it
	FinishToolCalls FinishReason = "tool_calls"     // it waits for the results of its calls
	FinishFiltered  FinishReason = "content_filter" // the provider withheld the rest
	FinishRefusal   FinishReason = "refusal"        // the model declined

	FinishInterrupted FinishReason = "interrupted" // it is incomplete; see Interrupted
)

// Usage counts tokens; 0 where the provider did not say.
type Usage struct {
	InputTokens     int64 // of the request, cached ones included
	OutputTokens    int64 // of the answer, reasoning included
	CachedTokens    int64 // of InputTokens, read from the provider's cache
	ReasoningTokens int64 // of OutputTokens
}

func (u Usage) plus(o Usage) Usage {
	return Usage{
		InputTokens:     u.InputTokens + o.InputTokens,
		OutputTokens:    u.OutputTokens + o.OutputTokens,
		CachedTokens:    u.CachedTokens + o.CachedTokens,
		ReasoningTokens: u.ReasoningTokens + o.ReasoningTokens,
	}
}

// Tool is something that a model may call.
type Tool struct {
	Name        string          // letters, digits, _ and -, at most 64
	Description string          // for the model
	Parameters  json.RawMessage // JSON schema of the arguments, of type object; nil: none
	Strict      bool            // see Schema.Strict

	// Run runs a call of the tool and returns its result: a text, or parts. The arguments
	// are as the model wrote them, perhaps no valid JSON; "" is what some models send for
	// none. An error becomes the result, for the model to see and react to, unless the
	// context is done: then the call stays unanswered. The context is that of the turn;
	// the conversation itself must not be used with it (ErrBusy).
	//
	// A call is run at least once: one that took effect just before the process ended, or
	// before its result could be stored, is still open when the turn is taken up again. A
	// tool that must not act twice has to remember what it did, by the session and the
	// call's ID where the provider makes those unique.
	//
	// A nil Run leaves the call to the caller: the turn ends with it. Its result is added
	// by [Conversation.AddMessage], and [Conversation.Continue] goes on.
	Run func(ctx context.Context, call sessionstore.ToolCall) (sessionstore.Content, error)
}
