package sessionstore

import (
	"errors"
	"fmt"
)

// The errors of every store. errors.Is finds them under what a backend wraps around
// them, and the driver's own error stays reachable beside them.
var (
	ErrSessionNotFound   = errors.New("session not found")               // no such session, or it has expired
	ErrSessionExists     = errors.New("session exists")                  // its id is in use
	ErrSessionNotActive  = errors.New("session is not active")           // paused or closed; matched by both of the next two
	ErrSessionPaused     = error(&statusError{"session is paused"})      // takes messages again when active
	ErrSessionClosed     = error(&statusError{"session is closed"})      // for good
	ErrInvalidTransition = errors.New("invalid status transition")       // see SessionUpdate
	ErrConflict          = errors.New("conflict")                        // of a write: a *ConflictError; of a Manager: a history that changed while it was read
	ErrMessageExists     = errors.New("message id exists")               // with other content, or only part of a batch
	ErrInvalid           = errors.New("invalid argument")                // an *InvalidError
	ErrTooLarge          = errors.New("too large")                       // a *LimitError
	ErrStoreClosed       = errors.New("store is closed")                 // after Close
	ErrSchemaTooNew      = errors.New("data written by a newer version") // of this library; nothing was written
	ErrLocked            = errors.New("database file is locked")         // by another process (bolt)
)

// statusError is a refusal because of the session's status.
type statusError struct{ text string }

func (e *statusError) Error() string        { return e.text }
func (e *statusError) Is(target error) bool { return target == ErrSessionNotActive }

// InvalidError says which argument is wrong and why. It matches ErrInvalid.
type InvalidError struct {
	Field  string // as in JSON, or the argument's name
	Reason string
}

func (e *InvalidError) Error() string { return "invalid " + e.Field + ": " + e.Reason }

// Is makes errors.Is(err, ErrInvalid) true.
func (e *InvalidError) Is(target error) bool { return target == ErrInvalid }

func invalid(field, format string, args ...any) error {
	return &InvalidError{Field: field, Reason: fmt.Sprintf(format, args...)}
}

// ConflictError says that a condition of a write did not hold. It matches ErrConflict.
type ConflictError struct {
	Field            string // "version" or "last_seq"
	Expected, Actual int64
}

func (e *ConflictError) Error() string {
	return fmt.Sprintf("conflict: %s is %d, expected %d", e.Field, e.Actual, e.Expected)
}

// Is makes errors.Is(err, ErrConflict) true.
func (e *ConflictError) Is(target error) bool { return target == ErrConflict }

// LimitError says which limit was passed. It matches ErrTooLarge. Got may be the size
// at which counting stopped.
type LimitError struct {
	What       string
	Limit, Got int64
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("too large: %d %s, at most %d are allowed", e.Got, e.What, e.Limit)
}

// Is makes errors.Is(err, ErrTooLarge) true.
func (e *LimitError) Is(target error) bool { return target == ErrTooLarge }

// atMessage says which message of a batch an error is about.
func atMessage(i int, err error) error {
	return fmt.Errorf("message %d of the batch: %w", i, err)
}
