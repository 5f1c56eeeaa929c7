package agent

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/sessionstore/sessionstore"
)

// resume goes on from what comes last in the history.
func (t *turn) resume(ctx context.Context) (Response, error) {
	tail, s, err := t.tail(ctx)
	if err != nil {
		return Response{}, err
	}
	if len(tail) == 0 {
		return Response{}, ErrNothingToContinue
	}
	return t.takeUp(ctx, tail, s)
}

// tail returns the last message that is no result of a tool, and the results after it.
func (t *turn) tail(ctx context.Context) ([]sessionstore.Message, sessionstore.Session, error) {
	const few = 16 // an answer rarely has more calls than that
	var tail []sessionstore.Message
	var s sessionstore.Session
	for q := (sessionstore.MessageQuery{Newest: true, Limit: few}); ; q.Limit = sessionstore.MaxMessages {
		page, err := t.c.manager.Store().ListMessages(ctx, t.c.id, q)
		if err != nil {
			return nil, s, err
		}
		if q.BeforeSeq == 0 {
			s = page.Session
		} else if page.Session.LastSeq != s.LastSeq {
			return nil, s, &sessionstore.ConflictError{Field: "last_seq", Expected: s.LastSeq, Actual: page.Session.LastSeq}
		}
		tail = slices.Concat(page.Messages, tail)
		for i := len(page.Messages) - 1; i >= 0; i-- {
			if page.Messages[i].Role != sessionstore.RoleTool {
				return tail[i:], s, nil
			}
		}
		if !page.HasMore || len(page.Messages) == 0 {
			return nil, s, nil
		}
		q.BeforeSeq = page.Messages[0].Seq
	}
}

// repeat makes a turn that may have been stored before, in whole or in part.
func (t *turn) repeat(ctx context.Context) (Response, error) {
	// An append is repeated whatever it expects of LastSeq, and no session's is ever this:
	// so it finds the message by its id, or changes nothing.
	never := int64(math.MaxInt64)
	stored, err := t.c.manager.Store().AppendMessages(ctx, t.c.id, sessionstore.Append{
		Messages:  []sessionstore.Message{*t.input},
		IfLastSeq: &never,
	})
	if errors.Is(err, sessionstore.ErrConflict) {
		return t.loop(ctx)
	}
	if err != nil {
		return Response{}, err
	}
	t.input = nil
	turn, s, followed, err := t.since(ctx, stored[0])
	if err != nil {
		return Response{}, err
	}
	if followed && !t.ended(turn) {
		return Response{}, fmt.Errorf("%w: the turn was left unfinished, and the conversation has gone on", sessionstore.ErrConflict)
	}
	return t.takeUp(ctx, turn, s)
}

// since returns a turn from its first message on, which is the input, and whether other
// messages follow it.
func (t *turn) since(ctx context.Context, input sessionstore.Message) (turn []sessionstore.Message, s sessionstore.Session, followed bool, err error) {
	turn = []sessionstore.Message{input}
	for q := (sessionstore.MessageQuery{AfterSeq: input.Seq}); ; q.AfterSeq = turn[len(turn)-1].Seq {
		page, err := t.c.manager.Store().ListMessages(ctx, t.c.id, q)
		if err != nil {
			return nil, s, false, err
		}
		s = page.Session
		for _, m := range page.Messages {
			if m.Role != sessionstore.RoleAssistant && m.Role != sessionstore.RoleTool {
				return turn, s, true, nil
			}
			turn = append(turn, m)
		}
		if !page.HasMore || len(page.Messages) == 0 {
			return turn, s, false, nil
		}
	}
}

// takeUp goes on with a turn, or the end of one, that lies at the end of the history of s.
func (t *turn) takeUp(ctx context.Context, turn []sessionstore.Message, s sessionstore.Session) (Response, error) {
	t.stored = turn
	if t.ended(turn) {
		return t.repeated(turn)
	}
	if err := t.at(s); err != nil {
		return Response{}, err
	}
	if answer, calls := unanswered(turn); len(calls) > 0 {
		left, err := t.runTools(ctx, calls)
		if left > 0 || err != nil {
			r := Response{Message: answer}.complete()
			r.Turn = t.turnSoFar()
			return r, err
		}
	}
	return t.loop(ctx)
}

// ended reports whether nothing is left to do of a turn: it has a final answer (one that
// was interrupted has no calls, either), or one whose open calls are not for us to run.
func (t *turn) ended(turn []sessionstore.Message) bool {
	_, calls := unanswered(turn)
	if len(calls) > 0 {
		return !t.runsAny(calls)
	}
	return turn[len(turn)-1].Role == sessionstore.RoleAssistant
}

// unanswered returns the last answer of a turn and those of its calls that have no result
// yet. Of calls with the same id the first ones are answered first.
func unanswered(turn []sessionstore.Message) (answer sessionstore.Message, calls []sessionstore.ToolCall) {
	results := make(map[string]int)
	for _, m := range slices.Backward(turn) {
		switch m.Role {
		case sessionstore.RoleTool:
			results[m.ToolCallID]++
		case sessionstore.RoleAssistant:
			for _, c := range m.ToolCalls {
				if results[c.ID]--; results[c.ID] < 0 {
					calls = append(calls, c)
				}
			}
			return m, calls
		}
	}
	return sessionstore.Message{}, nil
}

// repeated returns the answer of a turn that was stored before.
func (t *turn) repeated(turn []sessionstore.Message) (Response, error) {
	answer, _ := unanswered(turn)
	r := Response{Message: answer, Repeated: true}
	if _, ok := Interrupted(answer); ok {
		r.FinishReason = FinishInterrupted
	}
	r = r.complete()
	r.Turn = turn
	for _, e := range pieces(r.Message) {
		if !t.yield(e) {
			return r, errStopped
		}
	}
	return r, nil
}

// pieces returns the events that add up to an answer.
func pieces(m sessionstore.Message) []Event {
	var events []Event
	if m.Content.IsText() && m.Content.String() != "" {
		events = append(events, TextDelta{m.Content.String()})
	}
	for _, p := range m.Content.All() {
		if p.Type() == "text" {
			events = append(events, TextDelta{p.Text()})
		} else {
			events = append(events, PartDone{p})
		}
	}
	for i, c := range m.ToolCalls {
		events = append(events, ToolCallDone{Index: i, Call: c})
	}
	return events
}
