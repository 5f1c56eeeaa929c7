package agent

import (
	"context"
	"errors"
	"strings"

	"github.com/sessionstore/sessionstore"
)

// InterruptedKey is the key in the metadata of an assistant's message whose answer is not
// complete. Its value is an object, an [Interruption].
const InterruptedKey = "interrupted"

// Reason says what interrupted an answer.
type Reason string

// The reasons.
const (
	ReasonStopped   Reason = "stopped"   // the consumer left the loop over the stream
	ReasonCancelled Reason = "cancelled" // the context was
	ReasonTimeout   Reason = "timeout"   // the context's deadline passed
	ReasonFailed    Reason = "failed"    // the agent failed, or its stream was cut
	ReasonPanicked  Reason = "panicked"  // the consumer or the agent did
)

// Interruption is what is known of an answer that is not complete, beside its text, which
// is the content of the message. It is for people to look at: what is unfinished cannot be
// sent to a model.
type Interruption struct {
	Reason    Reason        `json:"reason"`
	Reasoning string        `json:"reasoning,omitempty"`
	Parts     []string      `json:"parts,omitempty"` // JSON of the parts that are no text
	ToolCalls []PartialCall `json:"tool_calls,omitempty"`
}

// PartialCall is a tool call of an answer that is not complete. It was never run; its
// arguments may end anywhere.
type PartialCall struct {
	ID        string `json:"id,omitempty"`
	Name      string `json:"name,omitempty"`
	Arguments string `json:"arguments,omitempty"`
}

// Interrupted reports whether m is an answer that is not complete, and what is known of
// it.
func Interrupted(m sessionstore.Message) (Interruption, bool) {
	var i Interruption
	if _, ok := m.Metadata[InterruptedKey]; !ok || m.Role != sessionstore.RoleAssistant {
		return Interruption{}, false
	}
	return i, m.Metadata.Decode(InterruptedKey, &i) == nil
}

// reasonOf returns the reason for an error of an agent.
func reasonOf(err error) Reason {
	switch {
	case errors.Is(err, errStopped):
		return ReasonStopped
	case errors.Is(err, errPanicked):
		return ReasonPanicked
	case errors.Is(err, context.Canceled):
		return ReasonCancelled
	case errors.Is(err, context.DeadlineExceeded):
		return ReasonTimeout
	}
	return ReasonFailed
}

// interrupted returns the message of an answer that is not complete. Only its text is
// content. Reasoning without what it was about, and calls that no result will follow, are
// what providers refuse in the next request; they are kept beside it. So text is cut to
// what is valid: a stream may end within a character.
func (a *Accumulator) interrupted(why Reason) sessionstore.Message {
	var text strings.Builder
	i := Interruption{Reason: why, Reasoning: valid(a.reasoning.String())}
	for _, p := range a.parts {
		if p.Type() == "text" {
			text.WriteString(p.Text())
		} else {
			i.Parts = append(i.Parts, valid(string(p.Raw())))
		}
	}
	text.WriteString(a.text.String())
	for _, c := range a.toolCalls() {
		i.ToolCalls = append(i.ToolCalls, PartialCall{ID: valid(c.ID), Name: valid(c.Name), Arguments: valid(c.Arguments)})
	}
	m := sessionstore.AssistantMessage(valid(text.String()))
	m.Metadata = sessionstore.Metadata{InterruptedKey: i}
	return m
}

func valid(s string) string { return strings.ToValidUTF8(s, "") }
