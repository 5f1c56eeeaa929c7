package agent

import (
	"slices"
	"strings"

	"github.com/sessionstore/sessionstore"
)

// Accumulator adds the events of a stream up to an answer. The zero value is ready to
// use.
//
// Text deltas are joined. Without other parts they are the content as one text; otherwise
// the content is a list, in which the text between two parts is one text part. Without
// any text or part it is null if there are calls, and else "". Tool calls are in the
// order of their index.
type Accumulator struct {
	parts     []sessionstore.Part // before text
	text      strings.Builder     // since the last part
	reasoning strings.Builder
	calls     []*partialCall // by index
	output    bool
	finish    *Response
}

type partialCall struct {
	index     int
	call      sessionstore.ToolCall
	arguments strings.Builder
	done      bool
}

// Add adds an event. Those that are no piece of an answer are ignored; [Restart] takes
// back all that was added.
func (a *Accumulator) Add(e Event) {
	switch e := e.(type) {
	case TextDelta:
		a.text.WriteString(e.Text)
		a.output = a.output || e.Text != ""
	case ReasoningDelta:
		a.reasoning.WriteString(e.Text)
		a.output = a.output || e.Text != ""
	case ToolCallStart:
		c := a.call(e.Index)
		c.call.ID, c.call.Name = e.ID, e.Name
	case ToolCallDelta:
		a.call(e.Index).arguments.WriteString(e.Arguments)
	case ToolCallDone:
		c := a.call(e.Index)
		c.call, c.done = e.Call, true
	case PartDone:
		a.flush()
		a.parts = append(a.parts, e.Part)
		a.output = true
	case Finish:
		r := e.Response
		a.finish = &r
	case Restart:
		*a = Accumulator{}
	}
}

// call returns the call of an index, a new one if there is none yet.
func (a *Accumulator) call(index int) *partialCall {
	a.output = true
	i, ok := slices.BinarySearchFunc(a.calls, index, func(c *partialCall, index int) int { return c.index - index })
	if !ok {
		a.calls = slices.Insert(a.calls, i, &partialCall{index: index})
	}
	return a.calls[i]
}

// flush makes a part of the text since the last one.
func (a *Accumulator) flush() {
	if a.text.Len() > 0 {
		a.parts = append(a.parts, sessionstore.TextPart(a.text.String()))
		a.text.Reset()
	}
}

// Response returns the answer as it is so far, and whether it is complete: whether
// [Finish] was added.
func (a *Accumulator) Response() (r Response, complete bool) {
	if a.finish != nil {
		r = *a.finish
		if r.Message.Role != "" || r.Text != "" || len(r.ToolCalls) > 0 {
			return r.complete(), true
		}
	}
	r.Message = sessionstore.Message{Role: sessionstore.RoleAssistant, Content: a.content(), ToolCalls: a.toolCalls()}
	return r.complete(), a.finish != nil
}

func (a *Accumulator) content() sessionstore.Content {
	switch {
	case len(a.parts) == 0 && a.text.Len() == 0 && len(a.calls) > 0:
		return sessionstore.Content{}
	case len(a.parts) == 0:
		return sessionstore.Text(a.text.String())
	case a.text.Len() == 0:
		return sessionstore.Parts(a.parts...)
	}
	return sessionstore.Parts(append(slices.Clip(a.parts), sessionstore.TextPart(a.text.String()))...)
}

func (a *Accumulator) toolCalls() []sessionstore.ToolCall {
	var calls []sessionstore.ToolCall
	for _, c := range a.calls {
		call := c.call
		if !c.done {
			call.Arguments = c.arguments.String()
		}
		calls = append(calls, call)
	}
	return calls
}
