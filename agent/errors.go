package agent

import (
	"errors"
	"fmt"

	"github.com/sessionstore/sessionstore"
)

// ErrBusy says that another turn of the same handle is under way. It matches
// [sessionstore.ErrConflict]. Nothing was asked and nothing stored.
var ErrBusy error = busyError{}

type busyError struct{}

func (busyError) Error() string        { return "another turn of the conversation is under way" }
func (busyError) Is(target error) bool { return target == sessionstore.ErrConflict }

// ErrMaxSteps says that the model called tools in as many answers as [WithMaxSteps]
// allows. All that was answered is stored; the last calls have not been run.
var ErrMaxSteps = errors.New("the model still calls tools after the last step allowed")

// ErrNothingToContinue says that a history is empty.
var ErrNothingToContinue = errors.New("the conversation has no messages to continue from")

// errStopped says that the consumer of a stream has left it.
var errStopped = errors.New("the stream was not read to its end")

// UnsavedError says that messages of a turn could not be stored, or that it is not known
// whether they were. They are not lost: Append has them with their ids. To give it to
// [sessionstore.SessionStore].AppendMessages again is safe whatever became of the first
// attempt; without IfLastSeq it appends them to what the history is by then. To forget it
// is safe too: the conversation goes on without them.
//
// It matches the store's error, such as [sessionstore.ErrConflict] where the history has
// moved on since the turn began.
type UnsavedError struct {
	SessionID string
	Append    sessionstore.Append
	Err       error // the store's
	Cause     error // why the turn had ended before, if it is not complete, such as context.Canceled; else nil
}

func (e *UnsavedError) Error() string {
	s := fmt.Sprintf("%d messages are not stored: %v", len(e.Append.Messages), e.Err)
	if e.Cause != nil {
		s += " (after: " + e.Cause.Error() + ")"
	}
	return s
}

// Unwrap returns Err, and Cause if there is one.
func (e *UnsavedError) Unwrap() []error {
	if e.Cause == nil {
		return []error{e.Err}
	}
	return []error{e.Err, e.Cause}
}

// DecodeError says that an answer is not the JSON that was asked for. The turn is stored
// as it is.
type DecodeError struct {
	Text string // the answer
	Err  error
}

func (e *DecodeError) Error() string { return "the answer is not the JSON asked for: " + e.Err.Error() }

// Unwrap returns Err.
func (e *DecodeError) Unwrap() error { return e.Err }
