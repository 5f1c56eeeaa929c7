package agent

import "github.com/sessionstore/sessionstore"

// Event is a piece of an answer, or what happens around it. Agents yield TextDelta,
// ReasoningDelta, ToolCallStart, ToolCallDelta, ToolCallDone, PartDone and Finish; a
// [Conversation] passes those on and yields the others. A switch over events ignores
// those that it does not know.
type Event interface{ event() }

// TextDelta is more text.
type TextDelta struct{ Text string }

// ReasoningDelta is more of the model's reasoning, to be shown. It is not part of the
// message: what has to be sent back of it comes as a PartDone, or in Finish.
type ReasoningDelta struct{ Text string }

// ToolCallStart begins a tool call. Index tells the calls of an answer apart, in their
// order, from 0; the pieces of parallel calls may alternate.
type ToolCallStart struct {
	Index    int
	ID, Name string
}

// ToolCallDelta is more of a call's arguments.
type ToolCallDelta struct {
	Index     int
	Arguments string
}

// ToolCallDone ends a tool call and has it whole. The pieces before it are optional.
type ToolCallDone struct {
	Index int
	Call  sessionstore.ToolCall
}

// PartDone is a part of the message that is not plain text, whole: reasoning with its
// signature, an image. It stands in the message where it comes among the text.
type PartDone struct{ Part sessionstore.Part }

// Finish ends a complete answer.
//
// That of an agent has everything in Response that Run would have returned; but a Message
// without a Role, together with no Text and no ToolCalls, stands for what the events
// before it add up to.
//
// That of a Conversation comes after the turn is stored, and its Response is what
// [Conversation.Run] would have returned.
type Finish struct{ Response Response }

// Step is yielded by a Conversation after an answer with tool calls is stored, and before
// they are run. Usage is that of this answer alone.
type Step struct{ Response Response }

// ToolResult is yielded by a Conversation after a tool was run and its result stored.
type ToolResult struct{ Message sessionstore.Message }

// Restart is yielded by a Conversation when its first answer could not be stored because
// others have come first, and it does not give up: another attempt of the same turn has
// stored one, or it waits (see [WithWait]). What was streamed is void, and the answer
// begins anew.
type Restart struct{}

func (TextDelta) event()      {}
func (ReasoningDelta) event() {}
func (ToolCallStart) event()  {}
func (ToolCallDelta) event()  {}
func (ToolCallDone) event()   {}
func (PartDone) event()       {}
func (Finish) event()         {}
func (Step) event()           {}
func (ToolResult) event()     {}
func (Restart) event()        {}
