package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/sessionstore/sessionstore"
)

// maxRestarts bounds how often a turn that waits asks the model again because others have
// written to the session meanwhile.
const maxRestarts = 10

// turn is one call of Run, Stream, JSON or Continue.
type turn struct {
	c     *Conversation
	set   settings
	ask   func(context.Context, *turn, Request) (Response, error)
	yield func(Event) bool // once it returned false it is not called again

	input    *sessionstore.Message // prepared, not stored yet; nil if there is none
	seq      int64                 // LastSeq of the history that the turn goes on from; -1: any
	agent    string                // the session's AgentName
	steps    int                   // answers so far
	restarts int                   // answers that were dropped
	stored   []sessionstore.Message
	usage    Usage
}

func everyEvent(Event) bool { return true }

func (c *Conversation) turn(opts []Option, ask func(context.Context, *turn, Request) (Response, error), yield func(Event) bool) *turn {
	return &turn{c: c, set: c.set.with(opts), ask: ask, yield: yield}
}

// run makes the turn. The input is nil to go on from the history; named says that another
// attempt may have stored it.
func (t *turn) run(ctx context.Context, input *sessionstore.Message, named bool) (Response, error) {
	r, err := t.alone(ctx, input, named)
	if err != nil {
		err = fmt.Errorf("agent: turn in %q: %w", t.c.id, err)
	}
	return r, err
}

func (t *turn) alone(ctx context.Context, input *sessionstore.Message, named bool) (Response, error) {
	if err := t.prepare(input); err != nil {
		return Response{}, err
	}
	if err := t.c.enter(ctx, t.set.wait); err != nil {
		return Response{}, err
	}
	defer t.c.leave()
	// Whatever an agent or a tool has left running with it ends with the turn.
	ctx, cancel := context.WithCancel(context.WithValue(ctx, inTurn{t.c}, true))
	defer cancel()

	switch {
	case t.input == nil:
		return t.resume(ctx)
	case named:
		return t.repeat(ctx)
	}
	return t.loop(ctx)
}

// prepare judges the input before the model is asked and paid.
func (t *turn) prepare(input *sessionstore.Message) error {
	t.seq = -1
	if input == nil {
		return nil
	}
	m := *input
	switch m.Role {
	case "":
		m.Role = sessionstore.RoleUser
	case sessionstore.RoleUser, sessionstore.RoleDeveloper:
	default:
		return &sessionstore.InvalidError{Field: "role", Reason: fmt.Sprintf("of an input must be user or developer, not %q", m.Role)}
	}
	if m.ID == "" {
		m.ID = t.set.newID()
	}
	a, err := sessionstore.Append{Messages: []sessionstore.Message{m}}.Prepare(t.c.id)
	if err != nil {
		return err
	}
	t.input = &a.Messages[0]
	return nil
}

// loop asks for answers and runs the tools that they call, until one calls none.
func (t *turn) loop(ctx context.Context) (Response, error) {
	for {
		req, err := t.request(ctx)
		if err != nil {
			return Response{}, err
		}
		answer, err := t.ask(ctx, t, req)
		if err != nil {
			return answer, err
		}
		first := t.input != nil
		r, err := t.keepAnswer(ctx, answer)
		if first && t.again(err) {
			return t.restart(ctx, err)
		}
		if err != nil {
			return r, err
		}
		t.steps++
		if !t.runsAny(r.ToolCalls) {
			return r, nil
		}
		step := r
		step.Usage = answer.Usage
		if !t.yield(Step{step}) {
			return r, errStopped
		}
		if t.steps >= t.set.maxSteps {
			return r, ErrMaxSteps
		}
		left, err := t.runTools(ctx, r.ToolCalls)
		if left > 0 || err != nil {
			r.Turn = t.turnSoFar()
			return r, err
		}
	}
}

// again reports whether a turn of which nothing is stored yet is to be made again after
// the append of its first answer failed: because others have written meanwhile, or another
// attempt of the same turn has come first.
func (t *turn) again(err error) bool {
	return t.restarts < maxRestarts &&
		(errors.Is(err, sessionstore.ErrMessageExists) || t.set.wait && errors.Is(err, sessionstore.ErrConflict))
}

// restart drops an answer that could not be stored.
func (t *turn) restart(ctx context.Context, err error) (Response, error) {
	t.restarts++
	t.seq = -1
	if !t.yield(Restart{}) {
		return Response{}, errStopped
	}
	if errors.Is(err, sessionstore.ErrMessageExists) {
		return t.repeat(ctx)
	}
	return t.loop(ctx)
}

// request reads what the model is to be asked.
func (t *turn) request(ctx context.Context) (Request, error) {
	p, err := t.c.manager.Prompt(ctx, t.c.id, t.set.window)
	if err != nil {
		return Request{}, err
	}
	if err := t.at(p.Session); err != nil {
		return Request{}, err
	}
	req := Request{
		SessionID:   t.c.id,
		System:      p.Session.System,
		History:     p.Messages,
		Temperature: t.set.temperature,
		MaxTokens:   t.set.maxTokens,
		Metadata:    t.set.metadata,
		Schema:      t.set.schema,
		Tools:       t.set.tools,
	}
	if t.set.system != nil {
		req.System = *t.set.system
	}
	if t.input != nil {
		req.Input = *t.input
	}
	return req, nil
}

// at checks that the session takes messages and is where the turn has left it. What it
// refuses, an append would refuse later, when a model or a tool has been run in vain.
func (t *turn) at(s sessionstore.Session) error {
	switch s.Status {
	case sessionstore.StatusPaused:
		return sessionstore.ErrSessionPaused
	case sessionstore.StatusClosed:
		return sessionstore.ErrSessionClosed
	}
	if t.seq >= 0 && t.seq != s.LastSeq {
		return &sessionstore.ConflictError{Field: "last_seq", Expected: t.seq, Actual: s.LastSeq}
	}
	t.seq, t.agent = s.LastSeq, s.AgentName
	return nil
}

// ask gets an answer at once.
func ask(ctx context.Context, t *turn, req Request) (Response, error) {
	r, err := t.c.agent.Run(ctx, req)
	if err == nil {
		r = r.complete()
		err = r.check()
	}
	if err != nil {
		return t.cut(ctx, &Accumulator{}, err)
	}
	return r, nil
}

// askStream gets an answer piece by piece, and yields those.
func askStream(ctx context.Context, t *turn, req Request) (Response, error) {
	var acc Accumulator
	returned := false
	defer func() {
		if !returned { // the agent or the consumer panics, or ends its goroutine
			_, err := t.cut(ctx, &acc, errPanicked)
			t.report(err)
		}
	}()
	err := t.read(ctx, req, &acc)
	returned = true
	r, _ := acc.Response()
	if err == nil {
		err = r.check()
	}
	if err != nil {
		return t.cut(ctx, &acc, err)
	}
	return r, nil
}

// check says whether a complete answer is one.
func (r Response) check() error {
	if r.Message.Role != sessionstore.RoleAssistant {
		return fmt.Errorf("the agent answers with a message of role %q", r.Message.Role)
	}
	m := r.Message
	m.ID, m.SessionID, m.Seq = "", "", 0 // it gets its own
	if _, err := (sessionstore.Append{Messages: []sessionstore.Message{m}}).Prepare("answer"); err != nil {
		return fmt.Errorf("the answer cannot be stored: %w", err)
	}
	return nil
}

// errPanicked is the cause of a turn that a panic ends. The panic goes on.
var errPanicked = errors.New("panic during the stream")

// read adds up a stream until it finishes. An error means that it is not complete; then
// acc has what was yielded and nothing else.
func (t *turn) read(ctx context.Context, req Request, acc *Accumulator) error {
	received := 0
	for e, err := range t.c.agent.Stream(ctx, req) {
		if err != nil {
			return err
		}
		if _, ok := e.(Finish); ok {
			acc.Add(e)
			return nil
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if received += size(e); received > MaxAnswerBytes {
			return &sessionstore.LimitError{What: "bytes of a streamed answer", Limit: MaxAnswerBytes, Got: int64(received)}
		}
		acc.Add(e)
		if !t.yield(e) {
			return errStopped
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return io.ErrUnexpectedEOF
}

// MaxAnswerBytes bounds the text, reasoning and arguments of one streamed answer together:
// beyond that it is interrupted. With its question and with escapes it still fits into an
// append; and a model that does not stop fills no memory.
const MaxAnswerBytes = sessionstore.MaxAppendBytes / 4

// size is what an event adds to an answer.
func size(e Event) int {
	switch e := e.(type) {
	case TextDelta:
		return len(e.Text)
	case ReasoningDelta:
		return len(e.Text)
	case ToolCallDelta:
		return len(e.Arguments)
	case PartDone:
		return len(e.Part.Raw())
	}
	return 0
}

// keepAnswer stores a complete answer, after the input if that is not stored yet.
func (t *turn) keepAnswer(ctx context.Context, r Response) (Response, error) {
	t.usage = t.usage.plus(r.Usage)
	err := t.keep(ctx, t.authored(r.Message))
	return t.response(r, err), err
}

// cut ends a turn whose answer is not complete, and keeps of it what is to be kept.
func (t *turn) cut(ctx context.Context, acc *Accumulator, cause error) (Response, error) {
	if !errors.Is(cause, errStopped) && !errors.Is(cause, errPanicked) {
		cause = because(ctx, cause)
	}
	var messages []sessionstore.Message
	switch {
	case t.set.unfinished == KeepNothing:
		return Response{}, cause
	case acc.output:
		messages = append(messages, t.authored(acc.interrupted(reasonOf(cause))))
	case t.set.unfinished != KeepInput || t.input == nil:
		return Response{}, cause
	}
	err := t.keep(ctx, messages...)
	var unsaved *UnsavedError
	if errors.As(err, &unsaved) {
		unsaved.Cause = cause
		cause = err
	}
	if len(messages) == 0 {
		return Response{}, cause
	}
	return t.response(Response{Message: messages[0], FinishReason: FinishInterrupted}.complete(), err), cause
}

// because returns err as one that matches the context's error if that is done: what else
// fails then fails for that reason.
func because(ctx context.Context, err error) error {
	if done := ctx.Err(); done != nil && !errors.Is(err, done) {
		return fmt.Errorf("%w: %w", done, err)
	}
	return err
}

// authored returns an answer as it is stored. Its id is made here: a provider's may come
// twice.
func (t *turn) authored(m sessionstore.Message) sessionstore.Message {
	m.ID, m.SessionID, m.Seq = t.set.newID(), "", 0
	if m.AgentName == "" {
		m.AgentName = t.agent
	}
	return m
}

// keep stores messages of the turn, after the input if that is not stored yet, provided
// that nobody else has written since. Errors: an UnsavedError.
func (t *turn) keep(ctx context.Context, messages ...sessionstore.Message) error {
	if t.input != nil {
		messages = append([]sessionstore.Message{*t.input}, messages...)
	}
	seq := t.seq
	a := sessionstore.Append{Messages: messages, IfLastSeq: &seq}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), t.set.storeTimeout)
	defer cancel()
	stored, err := t.c.manager.Store().AppendMessages(ctx, t.c.id, a)
	if err != nil {
		return &UnsavedError{SessionID: t.c.id, Append: a, Err: err}
	}
	t.input = nil
	t.stored = append(t.stored, stored...)
	t.seq = stored[len(stored)-1].Seq
	return nil
}

// response returns what the caller gets of an answer, whose message was stored last if
// err is nil.
func (t *turn) response(r Response, err error) Response {
	if n := len(t.stored); err == nil && n > 0 {
		r.Message = t.stored[n-1]
		r = r.complete()
	}
	r.Usage, r.Turn = t.usage, t.turnSoFar()
	return r
}

// turnSoFar returns what is stored of the turn, for the caller to keep.
func (t *turn) turnSoFar() []sessionstore.Message { return slices.Clone(t.stored) }
