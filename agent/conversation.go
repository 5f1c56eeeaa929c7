package agent

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync/atomic"

	"github.com/sessionstore/sessionstore"
)

// Conversation is a handle on one session and the agent that answers in it. It keeps no
// history of its own: each turn reads the store, so that handles may be made at will, in
// any number of processes. It is safe for concurrent use, has nothing to close, and makes
// no goroutine.
//
// # Turns
//
// A turn is the user's message and the answer to it. It is stored by one append once the
// answer is complete, on the condition that the history is still the one that the model
// has seen. So turns never interleave: of two at once, the second fails with an error that
// matches [sessionstore.ErrConflict], unless it waits; see [WithWait]. Within a handle that
// is found out before the model is asked ([ErrBusy]); between handles and processes, when
// the answer is to be stored.
//
// With tools a turn has several steps. Each answer is stored as it comes, the first with
// the user's message, before its calls are run; each result as its tool returns. So a crash
// loses no more than the answer or the result that was in the making, and
// [Conversation.Continue] takes the turn up again.
//
// Run, Stream and JSON leave equal histories, ids and times apart.
//
// # Failures
//
// A model that fails without any output leaves no trace. If output has come, then however
// the turn ends (an error, a context that is cancelled or times out, a consumer that breaks
// out of the loop or panics) the user's message is stored and after it the text so far,
// marked as [Interrupted]; see [WithUnfinished]. That is written whether or not the context
// is done. A streamed answer that cannot be stored as it is (the name of a call has a
// control character, say), or has more than [MaxAnswerBytes], is one that fails at its end.
//
// What could not be stored is returned in an [UnsavedError]. The handle is free for the
// next turn in any case.
//
// # Ids
//
// The id of the user's message is that of the turn; without one it is made. A turn may be
// tried again with its id: if it is stored already its answer is returned and the model is
// not asked again; if it was left unfinished by a crash it is taken up where it stands. An
// id whose message has another content is [sessionstore.ErrMessageExists].
type Conversation struct {
	manager *sessionstore.Manager
	id      string
	agent   Agent
	set     settings
	turns   gate
}

// New returns a handle on the session with the given id. It does not look whether there
// is one.
func New(m *sessionstore.Manager, sessionID string, a Agent, opts ...Option) *Conversation {
	return newConversation(m, sessionID, a, defaults().with(opts))
}

func newConversation(m *sessionstore.Manager, id string, a Agent, s settings) *Conversation {
	return &Conversation{manager: m, id: id, agent: a, set: s, turns: make(gate, 1)}
}

// Open returns a handle on a session that exists. Errors: those of GetSession.
func Open(ctx context.Context, m *sessionstore.Manager, sessionID string, a Agent, opts ...Option) (*Conversation, error) {
	s, err := m.Get(ctx, sessionID)
	if err != nil {
		return nil, fmt.Errorf("agent: open %q: %w", sessionID, err)
	}
	return New(m, s.ID, a, opts...), nil
}

// Start creates a session and returns a handle on it. Errors: those of CreateSession.
func Start(ctx context.Context, m *sessionstore.Manager, s sessionstore.Session, a Agent, opts ...Option) (*Conversation, error) {
	s, err := m.Start(ctx, s)
	if err != nil {
		return nil, fmt.Errorf("agent: start: %w", err)
	}
	return New(m, s.ID, a, opts...), nil
}

// SessionID returns the session's id.
func (c *Conversation) SessionID() string { return c.id }

// Session returns the session as it is now.
func (c *Conversation) Session(ctx context.Context) (sessionstore.Session, error) {
	s, err := c.manager.Get(ctx, c.id)
	return s, c.wrap("session", err)
}

// System returns the session's instructions as they are now. The next turn sends these,
// first and once, unless [WithSystem] says otherwise.
func (c *Conversation) System(ctx context.Context) (string, error) {
	s, err := c.Session(ctx)
	return s.System, err
}

// SetSystem changes the session's instructions. They are no part of the history.
func (c *Conversation) SetSystem(ctx context.Context, text string) error {
	_, err := c.manager.Update(ctx, c.id, sessionstore.SessionUpdate{System: &text})
	return c.wrap("set system", err)
}

// Run makes a turn and returns its answer, once it is stored. The input is a message of
// role user (or "") or developer.
//
// Errors: the agent's; [ErrBusy]; an [*UnsavedError], together with the answer;
// [ErrMaxSteps], together with the last answer; those of the store, such as
// [sessionstore.ErrSessionPaused], before the model is asked.
func (c *Conversation) Run(ctx context.Context, input sessionstore.Message, opts ...Option) (Response, error) {
	t := c.turn(opts, ask, everyEvent)
	return t.run(ctx, &input, input.ID != "")
}

// Stream makes a turn and yields what happens: the pieces of its answers, then [Finish],
// once it is stored. An error is yielded once and last; see Run.
//
// The turn begins with the iteration. To range over the result again is to try the turn
// again, with the same id. The turn is under way, and the handle busy, until the iteration
// ends; who uses [iter.Pull2] must call stop. A stream is complete with the agent's last
// event: to break out of the loop before Finish interrupts the answer or, between the
// steps of a tool loop, ends the turn there.
func (c *Conversation) Stream(ctx context.Context, input sessionstore.Message, opts ...Option) iter.Seq2[Event, error] {
	set := c.set.with(opts)
	named := atomic.Bool{}
	named.Store(input.ID != "")
	if input.ID == "" {
		input.ID = set.newID()
	}
	return c.stream(set, func(t *turn) (Response, error) {
		return t.run(ctx, &input, named.Swap(true))
	})
}

// Continue goes on from where the history stands: it runs the tool calls that the last
// answer left unanswered, and asks for an answer to what comes last. It is for a turn that
// a crash, an error or [ErrMaxSteps] has ended before its time, and for results and
// messages that were added by [Conversation.AddMessage].
//
// If the last answer is final, or calls only tools that are not there to be run, it is
// returned as Repeated, and nothing is asked or stored. That includes an answer that was
// [Interrupted]: it was never acted upon, and is not completed. Calls that other messages
// than results follow are not run any more. Two handles that continue at once may run the
// same call; one of them then gets a conflict.
//
// Errors: those of Run; [ErrNothingToContinue].
func (c *Conversation) Continue(ctx context.Context, opts ...Option) (Response, error) {
	t := c.turn(opts, ask, everyEvent)
	return t.run(ctx, nil, false)
}

// ContinueStream is Continue as a stream; see Stream.
func (c *Conversation) ContinueStream(ctx context.Context, opts ...Option) iter.Seq2[Event, error] {
	return c.stream(c.set.with(opts), func(t *turn) (Response, error) {
		return t.run(ctx, nil, false)
	})
}

// stream makes an iterator of a turn.
func (c *Conversation) stream(set settings, run func(*turn) (Response, error)) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		left := false
		t := &turn{c: c, set: set, ask: askStream, yield: func(e Event) bool {
			left = !yield(e, nil)
			return !left
		}}
		r, err := run(t)
		switch {
		case left:
			t.report(err)
		case err != nil:
			yield(nil, err)
		default:
			yield(Finish{r}, nil)
		}
	}
}

// History returns the newest last messages as stored, oldest first; 0 is all.
func (c *Conversation) History(ctx context.Context, last int) ([]sessionstore.Message, error) {
	h, err := c.manager.History(ctx, c.id, last)
	return h, c.wrap("history", err)
}

// PendingToolCalls returns the tool calls without a result, in the whole history.
func (c *Conversation) PendingToolCalls(ctx context.Context) ([]sessionstore.ToolCall, error) {
	p, err := c.manager.PendingToolCalls(ctx, c.id)
	return p, c.wrap("pending tool calls", err)
}

// AddMessage appends messages without asking the model, all or none of them, and returns
// them as stored. If it fails it returns them with their ids, to be passed in again. While
// a turn of this handle is under way it is ErrBusy, or waits; see [WithWait].
func (c *Conversation) AddMessage(ctx context.Context, messages ...sessionstore.Message) ([]sessionstore.Message, error) {
	batch := append([]sessionstore.Message(nil), messages...)
	for i := range batch {
		if batch[i].ID == "" {
			batch[i].ID = c.set.newID()
		}
	}
	err := c.alone(ctx, func() error {
		stored, err := c.manager.Append(ctx, c.id, batch...)
		batch = stored
		return err
	})
	return batch, c.wrap("add message", err)
}

// Clear removes all messages. While a turn of this handle is under way it is ErrBusy, or
// waits. One of another handle is not kept from storing its answer afterwards.
func (c *Conversation) Clear(ctx context.Context) error {
	return c.wrap("clear", c.alone(ctx, func() error {
		_, err := c.manager.Clear(ctx, c.id)
		return err
	}))
}

// Fork returns a handle, with the same agent and options, on a new session that starts
// with this history; see [sessionstore.Fork]. The two share nothing.
func (c *Conversation) Fork(ctx context.Context, f sessionstore.Fork) (*Conversation, error) {
	s, err := c.manager.Fork(ctx, c.id, f)
	if err != nil {
		return nil, c.wrap("fork", err)
	}
	return newConversation(c.manager, s.ID, c.agent, c.set), nil
}

func (c *Conversation) wrap(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("agent: %s of %q: %w", what, c.id, err)
}

// gate lets one turn of a handle in at a time. It holds a token while one is under way.
type gate chan struct{}

// inTurn is the key of a context that a turn of the handle gives to its agent and tools:
// to wait for that turn would be to wait for oneself.
type inTurn struct{ c *Conversation }

// enter begins a turn. If it returns nil, leave must follow.
func (c *Conversation) enter(ctx context.Context, wait bool) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case c.turns <- struct{}{}:
		return nil
	default:
	}
	if !wait || ctx.Value(inTurn{c}) != nil {
		return ErrBusy
	}
	select {
	case c.turns <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (c *Conversation) leave() { <-c.turns }

// alone does something between turns.
func (c *Conversation) alone(ctx context.Context, do func() error) error {
	if err := c.enter(ctx, c.set.wait); err != nil {
		return err
	}
	defer c.leave()
	return do()
}

// report tells of what could not be stored when no error can reach the caller.
func (t *turn) report(err error) {
	var unsaved *UnsavedError
	if t.set.onUnsaved != nil && errors.As(err, &unsaved) {
		t.set.onUnsaved(unsaved)
	}
}
