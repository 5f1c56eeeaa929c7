package sessionstore

import (
	"context"
	"fmt"
	"math"
	"slices"
)

// Window says which part of a history is sent to a model. The zero value, like a nil
// *Window, is all of it.
//
// Tool calls are paired with their results first, wherever those lie: a result stands
// next to its call, the latest result of a call is the one that counts, and results
// without a call are left out. What remains is cut into units that are never parted: an
// assistant message with the results of its calls, a message of nothing but reasoning
// with what follows it, any other message alone. The window is then the system and
// developer messages that lead the history, which neither bound counts, and as many of
// the last units as both bounds allow. If older units had to go, and there is a user
// message at the head of one that may stay, then the window begins at the first such.
type Window struct {
	// Last is the greatest number of messages; 0: no bound. An error result made up for
	// an unanswered call counts like a stored message. So does the user message that
	// carries the images of tool results in a chat-completions list, for every target.
	Last int

	// Tokens is the greatest sum of Count over those messages; 0: no bound.
	Tokens int

	// Count returns the tokens of one message. It is the caller's, because each model
	// counts differently; Tokens without it is ErrInvalid. It may be called again for the
	// same message. A negative count is taken as 0.
	Count func(Message) int

	// DropUnanswered leaves out tool calls that have no result. Otherwise each is
	// answered with NoToolResult, so that the model learns what became of it.
	DropUnanswered bool
}

// NoToolResult is the text that is sent as the result of a tool call that has none. It
// is never stored.
const NoToolResult = "Error: no result of this tool call was recorded. It may have been interrupted; its effects are unknown."

// Prompt is what a model is sent of a session. Unlike the stored history it is valid for
// a model's API: each tool call is followed at once by exactly one result.
type Prompt struct {
	// Session is the session at the moment of the messages; Session.System goes first.
	Session Session

	// Messages are those of the window. A leading system message that repeats
	// Session.System, and assistant messages without any content, are left out. A result
	// made up for an unanswered call has no ID, and Seq 0; a tool call whose own id is
	// empty, or twice in its message, goes by a made-up one.
	Messages []Message
}

// NewPrompt returns what the window w (nil: all) holds of a complete history, which is
// not changed. The messages share their maps with it. Errors: ErrInvalid; ErrTooLarge if
// the last unit alone is larger than a bound. [Manager.Prompt] does the same on a stored
// session without reading more than it needs.
func NewPrompt(s Session, history []Message, w *Window) (Prompt, error) {
	win, err := w.prepare()
	if err != nil {
		return Prompt{}, err
	}
	lead, rest := splitLead(history)
	tail, _, err := win.tail(cutUnits(rest, win.DropUnanswered))
	if err != nil {
		return Prompt{}, err
	}
	return newPrompt(s, lead, tail), nil
}

// readPrompt is NewPrompt on a stored session. A result is always newer than its call,
// so that the newest messages show which units they end in; older ones are read until
// one is found that does not fit.
func readPrompt(ctx context.Context, store SessionStore, id string, w *Window) (Prompt, error) {
	win, err := w.prepare()
	if err != nil {
		return Prompt{}, err
	}
	return reread(func() (Prompt, error) {
		b := backward{store: store, id: id}
		if err := b.read(ctx, win.firstRead()); err != nil {
			return Prompt{}, err
		}
		var lead []Message
		if b.more {
			if lead, err = b.lead(ctx); err != nil {
				return Prompt{}, err
			}
		} else {
			lead, b.messages = splitLead(b.messages)
		}
		for {
			// While there is more, the first unit may be the rest of a larger one. It is
			// only a prompt's first if there is nothing that did not fit.
			tail, cut, err := win.tail(cutUnits(b.messages, win.DropUnanswered))
			if err != nil {
				return Prompt{}, err
			}
			if cut || !b.more {
				return newPrompt(b.session, lead, tail), nil
			}
			if err := b.read(ctx, max(len(b.messages), spareRead)); err != nil {
				return Prompt{}, err
			}
		}
	})
}

func newPrompt(s Session, lead []Message, tail []unit) Prompt {
	p := Prompt{Session: s, Messages: make([]Message, 0, len(lead)+len(tail))}
	add := func(m Message) {
		if m.Role != RoleSystem || s.System == "" || m.Content.String() != s.System || m.hasMedia() {
			p.Messages = append(p.Messages, m)
		}
	}
	for _, m := range lead {
		add(m)
	}
	// What was cut may have left more of them at the head.
	head := true
	for _, u := range tail {
		head = head && (u.messages[0].Role == RoleSystem || u.messages[0].Role == RoleDeveloper)
		if head {
			add(u.messages[0])
		} else {
			p.Messages = append(p.Messages, u.messages...)
		}
	}
	return p
}

func (w *Window) prepare() (Window, error) {
	switch {
	case w == nil:
		return Window{}, nil
	case w.Last < 0:
		return Window{}, invalid("last", "must not be negative")
	case w.Tokens < 0:
		return Window{}, invalid("tokens", "must not be negative")
	case w.Tokens > 0 && w.Count == nil:
		return Window{}, invalid("count", "is needed to bound tokens")
	}
	return *w, nil
}

// spareRead is how many messages are read beyond a bound at first, to find a unit that
// does not fit, or the place of results that are sent elsewhere or not at all.
const spareRead = 16

func (w Window) firstRead() int {
	switch {
	case w.Last > 0:
		return min(w.Last, math.MaxInt-spareRead) + spareRead
	case w.Tokens > 0:
		return 4 * spareRead
	}
	return math.MaxInt
}

// tail returns the units of the window, and whether there is one before them that did
// not fit.
func (w Window) tail(units []unit) (tail []unit, cut bool, err error) {
	messages, tokens := 0, 0
	from := len(units)
	for ; from > 0; from-- {
		u := units[from-1]
		messages += u.size
		if w.Last > 0 && messages > w.Last {
			if from == len(units) {
				return nil, false, &LimitError{What: "messages in the last unit of the window", Limit: int64(w.Last), Got: int64(messages)}
			}
			break
		}
		if w.Tokens > 0 {
			for _, m := range u.messages {
				tokens += min(max(w.Count(m), 0), math.MaxInt-tokens)
			}
			if tokens > w.Tokens {
				if from == len(units) {
					return nil, false, &LimitError{What: "tokens in the last unit of the window", Limit: int64(w.Tokens), Got: int64(tokens)}
				}
				break
			}
		}
	}
	tail = units[from:]
	if from > 0 {
		if i := slices.IndexFunc(tail, func(u unit) bool { return u.user }); i > 0 {
			tail = tail[i:]
		}
	}
	return tail, from > 0, nil
}

// splitLead cuts a history after the system and developer messages that lead it.
// Results there have no call, and are left out.
func splitLead(history []Message) (lead, rest []Message) {
	for i, m := range history {
		switch m.Role {
		case RoleSystem, RoleDeveloper:
			lead = append(lead, m)
		case RoleTool:
		default:
			return lead, history[i:]
		}
	}
	return lead, nil
}

// unit is a part of what is sent that is never parted.
type unit struct {
	messages []Message
	size     int  // messages that it counts for
	user     bool // it begins at a user message, reasoning aside
}

// cutUnits pairs calls with results and cuts what is then to be sent into units. Messages
// are not changed but copied where what is sent differs.
func cutUnits(messages []Message, dropUnanswered bool) []unit {
	var pairs pairing
	for _, m := range messages {
		pairs.add(m)
	}
	units := make([]unit, 0, len(messages))
	var u unit
	calls := pairs.calls
	for _, m := range messages {
		var results []Message
		switch m.Role {
		case RoleTool:
			continue // sent with its call or not at all
		case RoleAssistant:
			n := len(m.ToolCalls)
			m, results = withResults(m, calls[:n], messages, dropUnanswered)
			calls = calls[n:]
			if m.saysNothing() {
				if n > 0 {
					u = unit{} // reasoning about calls that are dropped
				}
				continue
			}
		default:
			m.ToolCalls = nil
		}
		u.messages = append(append(u.messages, m), results...)
		if m.reasonsOnly() {
			continue
		}
		u.user = m.Role == RoleUser
		units = append(units, u.sized())
		u = unit{}
	}
	if len(u.messages) > 0 {
		units = append(units, u.sized())
	}
	return units
}

func (u unit) sized() unit {
	u.size = len(u.messages)
	if slices.ContainsFunc(u.messages, func(m Message) bool { return m.Role == RoleTool && m.hasMedia() }) {
		u.size++
	}
	return u
}

// withResults returns an assistant message as it is sent, and the results of its calls
// in the order of the calls.
func withResults(m Message, calls []pairedCall, history []Message, dropUnanswered bool) (Message, []Message) {
	if len(calls) == 0 {
		return m, nil
	}
	sent := make([]ToolCall, 0, len(calls))
	results := make([]Message, 0, len(calls))
	used := make(map[string]bool, len(calls))
	for i, c := range calls {
		if c.result < 0 && dropUnanswered {
			continue
		}
		call := c.call
		for n := i; call.ID == "" || used[call.ID]; n++ {
			call.ID = fmt.Sprintf("call_%d_%d", m.Seq, n)
		}
		used[call.ID] = true
		result := ToolMessage(call.ID, NoToolResult)
		if c.result >= 0 {
			result = history[c.result]
			result.ToolCallID, result.ToolCalls = call.ID, nil
		} else {
			result.SessionID, result.Metadata = m.SessionID, Metadata{}
		}
		sent = append(sent, call)
		results = append(results, result)
	}
	m.ToolCalls = sent
	if len(sent) == 0 {
		m.ToolCalls = nil
	}
	return m, results
}

// saysNothing reports whether an assistant message has neither content nor calls nor
// anything that might stand for them.
func (m Message) saysNothing() bool {
	return len(m.ToolCalls) == 0 && len(m.Extra) == 0 && m.Content.isEmpty()
}

// isEmpty reports whether the content is null, an empty text or an empty list.
func (c Content) isEmpty() bool {
	if c.IsNull() || c.IsText() {
		return c.String() == ""
	}
	for range c.All() {
		return false
	}
	return true
}
