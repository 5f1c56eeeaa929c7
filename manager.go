package sessionstore

import (
	"context"
	"errors"
	"io"
	"iter"
)

// Manager is the everyday interface to a store: lifecycle, histories, and what of them
// is sent to a model. It is policy only and keeps no state, so any number of managers
// may share a store, and be mixed with direct calls to it. It does not close the store.
//
// Errors are those of the store. What reads a history in several steps does so again if
// it was truncated meanwhile, and gives up with ErrConflict if that goes on.
type Manager struct {
	store  SessionStore
	window *Window
	newID  func() string
}

// ManagerOptions are the options of a Manager; the zero value and nil are the defaults.
type ManagerOptions struct {
	// Window is used where a call gives none; nil: the whole history.
	Window *Window

	// NewID makes the ids of messages that have none; nil: UUIDv7. Ids must be unique in
	// their session.
	NewID func() string
}

// NewManager returns a manager of the store's sessions.
func NewManager(store SessionStore, o *ManagerOptions) *Manager {
	m := &Manager{store: store, newID: newID}
	if o == nil {
		return m
	}
	if o.Window != nil {
		w := *o.Window
		m.window = &w
	}
	if o.NewID != nil {
		m.newID = o.NewID
	}
	return m
}

// Store returns the store.
func (m *Manager) Store() SessionStore { return m.store }

// Start creates a session; see [SessionStore].CreateSession.
func (m *Manager) Start(ctx context.Context, s Session) (Session, error) {
	return m.store.CreateSession(ctx, s)
}

// Get returns a session.
func (m *Manager) Get(ctx context.Context, id string) (Session, error) {
	return m.store.GetSession(ctx, id)
}

// List returns one page of sessions; see [SessionQuery].
func (m *Manager) List(ctx context.Context, q SessionQuery) (SessionPage, error) {
	return m.store.ListSessions(ctx, q)
}

// Sessions walks all sessions that match q, newest first, holding a page of them at a
// time; q.Limit is the size of a page. One that is written to during the walk may be seen
// twice or not at all. An error is yielded once and last.
func (m *Manager) Sessions(ctx context.Context, q SessionQuery) iter.Seq2[Session, error] {
	return func(yield func(Session, error) bool) {
		for {
			page, err := m.store.ListSessions(ctx, q)
			if err != nil {
				yield(Session{}, err)
				return
			}
			for _, s := range page.Sessions {
				if !yield(s, nil) {
					return
				}
			}
			if q.Cursor = page.Next; q.Cursor == "" {
				return
			}
		}
	}
}

// Update changes a session's own state; see [SessionUpdate].
func (m *Manager) Update(ctx context.Context, id string, u SessionUpdate) (Session, error) {
	return m.store.UpdateSession(ctx, id, u)
}

// Delete removes a session and its messages.
func (m *Manager) Delete(ctx context.Context, id string) error {
	return m.store.DeleteSession(ctx, id)
}

// Pause makes a session refuse messages until Resume. Of a closed one it is
// ErrInvalidTransition.
func (m *Manager) Pause(ctx context.Context, id string) (Session, error) {
	return m.setStatus(ctx, id, StatusPaused)
}

// Resume makes a paused session active. Of a closed one it is ErrInvalidTransition.
// [Manager.PendingToolCalls] tells what an interrupted turn has left to do.
func (m *Manager) Resume(ctx context.Context, id string) (Session, error) {
	return m.setStatus(ctx, id, StatusActive)
}

// End closes a session for good. It can still be read, forked and deleted.
func (m *Manager) End(ctx context.Context, id string) (Session, error) {
	return m.setStatus(ctx, id, StatusClosed)
}

func (m *Manager) setStatus(ctx context.Context, id string, to Status) (Session, error) {
	return m.store.UpdateSession(ctx, id, SessionUpdate{Status: &to})
}

// Append adds messages at the end of a session's history, all or none of them, and
// returns them as stored. Messages without an id are given one first. If it fails it
// returns the messages with their ids: passing those back is a safe retry whatever
// became of the first attempt. The caller's messages are not changed.
func (m *Manager) Append(ctx context.Context, id string, messages ...Message) ([]Message, error) {
	batch := make([]Message, len(messages))
	for i, msg := range messages {
		if msg.ID == "" {
			msg.ID = m.newID()
		}
		batch[i] = msg
	}
	stored, err := m.store.AppendMessages(ctx, id, Append{Messages: batch})
	if err != nil {
		return batch, err
	}
	return stored, nil
}

// History returns the newest last messages as they are stored, oldest first; all of
// them if last is 0. A negative last is ErrInvalid.
func (m *Manager) History(ctx context.Context, id string, last int) ([]Message, error) {
	return lastMessages(ctx, m.store, id, last)
}

// Messages walks the history as it was at the start, oldest first, holding a page of it
// at a time and nothing open while it yields. Messages appended meanwhile are left out.
// An error is yielded once and last: that of the store, or ErrConflict if the history was
// truncated, or the session replaced by another of its id, after the walk began.
func (m *Manager) Messages(ctx context.Context, id string) iter.Seq2[Message, error] {
	return func(yield func(Message, error) bool) {
		for page, err := range snapshot(ctx, m.store, id, MessageQuery{}) {
			if err != nil {
				if errors.Is(err, errMoved) {
					err = moved(1)
				}
				yield(Message{}, err)
				return
			}
			for _, msg := range page.Messages {
				if !yield(msg, nil) {
					return
				}
			}
		}
	}
}

// Prompt returns what a model is sent of a session: the window w of its history, made
// valid; see [Window]. With w nil it is the manager's. It is read as of one moment, and
// a window with a bound costs about its size, not that of the history. Errors: those of
// the store; ErrInvalid (the window); ErrTooLarge if the last unit alone is larger than
// a bound.
func (m *Manager) Prompt(ctx context.Context, id string, w *Window) (Prompt, error) {
	if w == nil {
		w = m.window
	}
	return readPrompt(ctx, m.store, id, w)
}

// ChatMessages returns the list of messages of a chat-completions request: the
// session's Prompt as [Prompt.ChatMessages] gives it, Session.System first.
func (m *Manager) ChatMessages(ctx context.Context, id string, w *Window) ([]ChatMessage, error) {
	p, err := m.Prompt(ctx, id, w)
	if err != nil {
		return nil, err
	}
	return p.ChatMessages(), nil
}

// Clear removes all messages of an active session. Seq goes on where it was.
func (m *Manager) Clear(ctx context.Context, id string) (Session, error) {
	return m.store.TruncateMessages(ctx, id, Truncate{})
}

// Rewind removes the messages after the one with Seq throughSeq from an active session.
// That may part a tool call from its result; a Prompt is valid all the same.
func (m *Manager) Rewind(ctx context.Context, id string, throughSeq int64) (Session, error) {
	return m.store.TruncateMessages(ctx, id, Truncate{ThroughSeq: throughSeq})
}

// Fork makes a new session that starts with the history of another; see [ForkSession].
func (m *Manager) Fork(ctx context.Context, id string, f Fork) (Session, error) {
	return ForkSession(ctx, m.store, id, f)
}

// PendingToolCalls returns the tool calls without a result, in the order they were made:
// what a turn that was interrupted has left to do. It reads the whole history.
func (m *Manager) PendingToolCalls(ctx context.Context, id string) ([]ToolCall, error) {
	return pendingCalls(ctx, m.store, id)
}

// Export writes sessions with their messages to w; see the function [Export].
func (m *Manager) Export(ctx context.Context, w io.Writer, o *ExportOptions) (ExportReport, error) {
	return Export(ctx, m.store, w, o)
}

// Import restores what Export wrote; see the function [Import].
func (m *Manager) Import(ctx context.Context, r io.Reader, o *ImportOptions) (ImportReport, error) {
	return Import(ctx, m.store, r, o)
}
