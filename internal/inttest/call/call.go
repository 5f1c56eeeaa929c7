// Package call is for tests that break something while a store is called: its calls can
// be written down on a line, made on any store, and made again on a model to know what
// they should have left.
package call

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/sessionstore/sessionstore"
)

// Kind is which call it is.
type Kind string

// The kinds are the methods of a store and its powers.
const (
	Create   Kind = "create"
	Get      Kind = "get"
	Update   Kind = "update" // sets the key Tag of the metadata to N
	Status   Kind = "status"
	Touch    Kind = "touch"
	Delete   Kind = "delete"
	List     Kind = "list" // of the user of the session ID
	Append   Kind = "append"
	Messages Kind = "messages" // the newest N
	Truncate Kind = "truncate"
	Fork     Kind = "fork"
	Restore  Kind = "restore"
	Purge    Kind = "purge"
)

// Call is a call on a store.
type Call struct {
	Kind Kind   `json:"kind"`
	ID   string `json:"id"`
	To   string `json:"to,omitempty"`  // the child of a fork
	Tag  string `json:"tag,omitempty"` // begins the ids of the messages
	N    int    `json:"n,omitempty"`
	Size int    `json:"size,omitempty"` // of each message, in bytes

	Status    sessionstore.Status `json:"status,omitempty"`
	TTL       time.Duration       `json:"ttl,omitempty"`         // of a create
	Seq       *int64              `json:"seq,omitempty"`         // where a truncate or a fork cuts
	IfLastSeq *int64              `json:"if_last_seq,omitempty"` // of an append or a truncate
	IfVersion int64               `json:"if_version,omitempty"`
}

// String is the call as a failure names it.
func (c Call) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %q", c.Kind, c.ID)
	if c.To != "" {
		fmt.Fprintf(&b, " to %q", c.To)
	}
	if c.Tag != "" {
		fmt.Fprintf(&b, " tag %s", c.Tag)
	}
	if c.N > 0 {
		fmt.Fprintf(&b, " n %d", c.N)
	}
	if c.Size > 0 {
		fmt.Fprintf(&b, " of %d bytes", c.Size)
	}
	if c.Status != "" {
		fmt.Fprintf(&b, " %s", c.Status)
	}
	if c.Seq != nil {
		fmt.Fprintf(&b, " at %d", *c.Seq)
	}
	if c.IfLastSeq != nil {
		fmt.Fprintf(&b, " if last_seq is %d", *c.IfLastSeq)
	}
	if c.IfVersion != 0 {
		fmt.Fprintf(&b, " if version is %d", c.IfVersion)
	}
	return b.String()
}

// Outcome is what a call returned, without the times that differ from store to store.
type Outcome struct {
	Sessions []sessionstore.Session
	Messages []sessionstore.Message
	HasMore  bool
	Removed  int
}

// made is when everything was: CreatedAt is the caller's to give.
var made = time.Date(2026, 1, 2, 3, 4, 5, 678000, time.UTC)

// Do makes the call.
func (c Call) Do(ctx context.Context, store sessionstore.SessionStore) (Outcome, error) {
	switch c.Kind {
	case Create:
		return one(store.CreateSession(ctx, c.session()))
	case Get:
		return one(store.GetSession(ctx, c.ID))
	case Update:
		return one(store.UpdateSession(ctx, c.ID, sessionstore.SessionUpdate{
			IfVersion: c.IfVersion, SetMetadata: sessionstore.Metadata{c.Tag: int64(c.N)},
		}))
	case Status:
		return one(store.UpdateSession(ctx, c.ID, sessionstore.SessionUpdate{IfVersion: c.IfVersion, Status: &c.Status}))
	case Touch:
		return one(store.UpdateSession(ctx, c.ID, sessionstore.SessionUpdate{Touch: true}))
	case Delete:
		return Outcome{}, store.DeleteSession(ctx, c.ID)
	case List:
		page, err := store.ListSessions(ctx, sessionstore.SessionQuery{UserID: user(c.ID)})
		return Outcome{Sessions: timeless(page.Sessions...)}, err
	case Append:
		msgs, err := store.AppendMessages(ctx, c.ID, sessionstore.Append{Messages: c.messages(), IfLastSeq: c.IfLastSeq})
		return Outcome{Messages: msgs}, err
	case Messages:
		page, err := store.ListMessages(ctx, c.ID, sessionstore.MessageQuery{Newest: true, Limit: c.N})
		if err != nil {
			return Outcome{}, err
		}
		return Outcome{Sessions: timeless(page.Session), Messages: page.Messages, HasMore: page.HasMore}, nil
	case Truncate:
		return one(store.TruncateMessages(ctx, c.ID, sessionstore.Truncate{ThroughSeq: *c.Seq, IfLastSeq: c.IfLastSeq}))
	case Fork:
		out, err := one(sessionstore.ForkSession(ctx, store, c.ID, sessionstore.Fork{ID: c.To, AtSeq: c.Seq}))
		for i := range out.Sessions {
			out.Sessions[i].CreatedAt = time.Time{} // by the store's clock
		}
		return out, err
	case Restore:
		return one(sessionstore.RestoreSession(ctx, store, c.archived(), c.archive()))
	case Purge:
		n, err := sessionstore.PurgeExpired(ctx, store, 0)
		return Outcome{Removed: n}, err
	}
	return Outcome{}, fmt.Errorf("a call of the kind %q", c.Kind)
}

// IDs are the sessions that the call may change.
func (c Call) IDs() []string {
	if c.Kind == Fork {
		return []string{c.ID, c.To}
	}
	return []string{c.ID}
}

// Reads reports whether it changes nothing.
func (c Call) Reads() bool {
	return c.Kind == Get || c.Kind == List || c.Kind == Messages
}

func user(id string) string { return "user of " + id }

func (c Call) session() sessionstore.Session {
	return sessionstore.Session{
		ID: c.ID, UserID: user(c.ID), AgentName: "agent", System: "Be brief.", TTL: c.TTL,
		Metadata: sessionstore.Metadata{"by": c.Tag}, CreatedAt: made,
	}
}

// messages has texts that name the message, so that none can stand for another.
func (c Call) messages() []sessionstore.Message {
	out := make([]sessionstore.Message, c.N)
	for i := range out {
		id := fmt.Sprintf("%s-%04d", c.Tag, i)
		text := id + " "
		if n := c.Size - len(text); n > 0 {
			text += strings.Repeat("x", n)
		}
		out[i] = sessionstore.UserMessage(text)
		out[i].ID, out[i].CreatedAt = id, made
	}
	return out
}

func (c Call) archived() sessionstore.Session {
	s := c.session()
	s.Status, s.Version = sessionstore.StatusActive, 3
	s.LastSeq, s.MessageCount, s.UpdatedAt = int64(c.N), int64(c.N), made
	return s
}

func (c Call) archive() iter.Seq2[sessionstore.Message, error] {
	return func(yield func(sessionstore.Message, error) bool) {
		for i, m := range c.messages() {
			m.Seq = int64(i + 1)
			if !yield(m, nil) {
				return
			}
		}
	}
}

func one(s sessionstore.Session, err error) (Outcome, error) {
	if err != nil {
		return Outcome{}, err
	}
	return Outcome{Sessions: timeless(s)}, nil
}

// timeless returns the sessions without what the store's clock says.
func timeless(sessions ...sessionstore.Session) []sessionstore.Session {
	out := make([]sessionstore.Session, len(sessions))
	for i, s := range sessions {
		s.UpdatedAt, s.ExpiresAt = time.Time{}, time.Time{}
		out[i] = s
	}
	return out
}
