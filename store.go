package sessionstore

import "context"

// SessionStore keeps conversations: sessions and, in each, an ordered history of
// messages. It is safe for use by any number of goroutines. Every backend in this
// module implements it alike, and package storetest proves that of any other.
//
// The interface never grows. What only some stores can do is a small optional
// interface with a root function that uses it or falls back: [Forker], [Purger],
// [Restorer], [OwnerScoper].
//
// Rules that hold for every method:
//
// [precedence] ErrStoreClosed; the context's error; ErrInvalid and ErrTooLarge of
// the arguments; ErrSessionNotFound (expired is not found); an empty batch
// (success); then the ids decide: all stored and equal is a repeat (success), some
// or unequal is ErrMessageExists; then ErrSessionPaused or ErrSessionClosed; then
// ErrConflict. For an update: not found, ErrConflict, ErrInvalidTransition,
// ErrSessionClosed, ErrTooLarge.
//
// [own] What goes in and what comes out is the caller's: no aliasing, in either
// direction.
//
// [same] What a write returned, a later read returns, equal in normal form and byte
// for byte, on every backend: U+0000, keys with ".", "$" or empty, tool arguments,
// unknown keys; invalid UTF-8 is ErrInvalid.
//
// [cancel] A context already done gives its error, no effect and no call to the
// backend; one that ends while waiting returns promptly; one that ends during a
// write leaves the outcome unknown (a bbolt commit already running is waited for).
//
// [durable] What was acknowledged is there after reopening (memory excepted), as far
// as the server keeps what it acknowledged.
//
// A write that fails with neither a sentinel of this package nor a context that was
// done before it began has an unknown outcome. An append whose messages carry ids is
// safe to repeat. After another write, GetSession tells as far as it has come: what has
// reached the server may still be carried out a moment later. Repeating settles it: a
// repeated create says ErrSessionExists, a delete ErrSessionNotFound, a conditional update
// ErrConflict.
type SessionStore interface {
	// CreateSession stores a new session and returns it; see [Session.Create].
	//
	// [create] It returns the record as a later Get returns it: an empty ID becomes a
	// new UUIDv7; the status is any of the three, empty becomes active; Version is 1,
	// LastSeq 0, UpdatedAt now; ParentID need not exist, ForkSeq needs a ParentID.
	//
	// [create.exists] An id in use is ErrSessionExists, the other untouched. An expired
	// session's remains are removed in the same step.
	CreateSession(ctx context.Context, s Session) (Session, error)

	// GetSession returns the session as it is now. It does not keep it alive.
	//
	// [get.missing] ErrSessionNotFound comes from every method that takes an id; none
	// of them ever creates.
	GetSession(ctx context.Context, id string) (Session, error)

	// UpdateSession changes the session's own state, atomically, and returns the result;
	// see [SessionUpdate] for what may be changed and when.
	UpdateSession(ctx context.Context, id string, u SessionUpdate) (Session, error)

	// DeleteSession removes the session and all its messages.
	//
	// [delete] When it returned nil nothing of the session is left: no row, key, index
	// entry, bucket or document. After a failed one, leftovers are invisible, also to a
	// new session of that id (which starts at Seq 1), and PurgeExpired removes them. An
	// append racing a delete never brings a session back.
	DeleteSession(ctx context.Context, id string) error

	// ListSessions returns one page of the sessions that match q, and never any of
	// their messages; see [SessionQuery].
	ListSessions(ctx context.Context, q SessionQuery) (SessionPage, error)

	// AppendMessages adds a batch at the end of the history and returns it as stored,
	// with ids, Seqs and times; see [Append]. An empty batch returns an empty slice.
	AppendMessages(ctx context.Context, id string, a Append) ([]Message, error)

	// ListMessages returns one page of the history, and the session as it was at the
	// same moment; see [MessageQuery].
	ListMessages(ctx context.Context, id string, q MessageQuery) (MessagePage, error)

	// TruncateMessages removes the newest messages and returns the session; see
	// [Truncate].
	TruncateMessages(ctx context.Context, id string, t Truncate) (Session, error)

	// Close makes later calls fail with ErrStoreClosed and waits for those in flight.
	// It closes the client underneath only if Open made it.
	//
	// [closed] Close twice is fine, no goroutine is left.
	Close() error
}
