package hostile

import (
	"context"
	"errors"
	"fmt"

	"github.com/sessionstore/sessionstore"
)

// Dump is all that a store holds, as lines of JSON: each session of a whole walk, and its
// messages.
func Dump(ctx context.Context, s sessionstore.SessionStore) (string, error) {
	var out []byte
	for q := (sessionstore.SessionQuery{Limit: sessionstore.MaxSessions}); ; {
		page, err := s.ListSessions(ctx, q)
		if err != nil {
			return "", err
		}
		for _, session := range page.Sessions {
			if out, err = session.AppendJSON(out); err != nil {
				return "", err
			}
			out = append(out, '\n')
			if out, err = dumpMessages(ctx, s, session.ID, out); err != nil {
				return "", err
			}
		}
		if page.Next == "" {
			return string(out), nil
		}
		q.Cursor = page.Next
	}
}

func dumpMessages(ctx context.Context, s sessionstore.SessionStore, id string, out []byte) ([]byte, error) {
	for q := (sessionstore.MessageQuery{}); ; {
		page, err := s.ListMessages(ctx, id, q)
		if err != nil {
			return out, fmt.Errorf("a session that the list shows: %w", err)
		}
		for _, m := range page.Messages {
			if out, err = m.AppendJSON(out); err != nil {
				return out, err
			}
			out = append(out, '\n')
			q.AfterSeq = m.Seq
		}
		if !page.HasMore {
			return out, nil
		}
	}
}

// Refused reports whether err is one of those that say that an argument is wrong.
func Refused(err error) bool {
	return errors.Is(err, sessionstore.ErrInvalid) || errors.Is(err, sessionstore.ErrTooLarge)
}
