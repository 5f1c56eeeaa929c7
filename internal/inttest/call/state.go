package call

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/sessionstore/sessionstore"
)

// State is what a store holds of some sessions, by id, without the times that differ from
// store to store. A session that is not there is not in it.
type State map[string]Held

// Held is a session with its whole history.
type Held struct {
	Session  sessionstore.Session
	Messages []sessionstore.Message
}

// Look reads sessions and their histories.
func Look(ctx context.Context, store sessionstore.SessionStore, ids ...string) (State, error) {
	out := State{}
	for _, id := range ids {
		h, err := look(ctx, store, id)
		switch {
		case errors.Is(err, sessionstore.ErrSessionNotFound):
		case err != nil:
			return nil, err
		default:
			out[id] = h
		}
	}
	return out, nil
}

func look(ctx context.Context, store sessionstore.SessionStore, id string) (Held, error) {
	var h Held
	for q := (sessionstore.MessageQuery{}); ; {
		page, err := store.ListMessages(ctx, id, q)
		if err != nil {
			return Held{}, err
		}
		h.Session = timeless(page.Session)[0]
		if h.Session.ParentID != "" {
			h.Session.CreatedAt = time.Time{} // of a fork: by the store's clock
		}
		h.Messages = append(h.Messages, page.Messages...)
		if !page.HasMore {
			return h, nil
		}
		q.AfterSeq = h.Messages[len(h.Messages)-1].Seq
	}
}

// Equal reports whether two states are the same.
func (s State) Equal(o State) bool { return reflect.DeepEqual(s, o) }

// String is short: the counters of each session, and the runs of its messages.
func (s State) String() string {
	if len(s) == 0 {
		return "nothing"
	}
	out := ""
	for _, id := range slices.Sorted(maps.Keys(s)) {
		h := s[id]
		out += fmt.Sprintf("[%q %s version %d last_seq %d count %d metadata %v, messages %s]",
			id, h.Session.Status, h.Session.Version, h.Session.LastSeq, h.Session.MessageCount, h.Session.Metadata, runs(h.Messages))
	}
	return out
}

// runs tells messages by their first and last of each row whose seqs follow one another.
func runs(msgs []sessionstore.Message) string {
	out := ""
	for i := 0; i < len(msgs); {
		j := i
		for j+1 < len(msgs) && msgs[j+1].Seq == msgs[j].Seq+1 {
			j++
		}
		out += fmt.Sprintf("(%d %s … %d %s)", msgs[i].Seq, msgs[i].ID, msgs[j].Seq, msgs[j].ID)
		i = j + 1
	}
	if out == "" {
		return "none"
	}
	return out
}

// classes are the errors that say for sure that a call changed nothing.
var classes = []struct {
	name string
	err  error
}{
	{"ErrStoreClosed", sessionstore.ErrStoreClosed},
	{"ErrInvalid", sessionstore.ErrInvalid},
	{"ErrTooLarge", sessionstore.ErrTooLarge},
	{"ErrSessionNotFound", sessionstore.ErrSessionNotFound},
	{"ErrSessionExists", sessionstore.ErrSessionExists},
	{"ErrMessageExists", sessionstore.ErrMessageExists},
	{"ErrSessionPaused", sessionstore.ErrSessionPaused},
	{"ErrSessionClosed", sessionstore.ErrSessionClosed},
	{"ErrInvalidTransition", sessionstore.ErrInvalidTransition},
	{"ErrConflict", sessionstore.ErrConflict},
	{"ErrSchemaTooNew", sessionstore.ErrSchemaTooNew},
	{"ErrLocked", sessionstore.ErrLocked},
}

// What Class says of errors that are none of package sessionstore's.
const (
	None    = ""        // there is none
	Unknown = "unknown" // the outcome is unknown: the context's error, or the driver's
)

// Class names the sentinel that an error matches.
func Class(err error) string {
	if err == nil {
		return None
	}
	for _, c := range classes {
		if errors.Is(err, c.err) {
			return c.name
		}
	}
	return Unknown
}
