package testenv

import (
	"context"

	"github.com/sessionstore/sessionstore"
)

// Calls are calls on the session "s", by the name of the method.
func Calls(s interface {
	sessionstore.SessionStore
	sessionstore.Forker
}) map[string]func(ctx context.Context) error {
	return map[string]func(ctx context.Context) error{
		"CreateSession": func(ctx context.Context) error {
			_, err := s.CreateSession(ctx, sessionstore.Session{ID: "s"})
			return err
		},
		"GetSession": func(ctx context.Context) error {
			_, err := s.GetSession(ctx, "s")
			return err
		},
		"UpdateSession": func(ctx context.Context) error {
			_, err := s.UpdateSession(ctx, "s", sessionstore.SessionUpdate{SetMetadata: sessionstore.Metadata{"a": "b"}})
			return err
		},
		"ListSessions": func(ctx context.Context) error {
			_, err := s.ListSessions(ctx, sessionstore.SessionQuery{})
			return err
		},
		"AppendMessages": func(ctx context.Context) error {
			_, err := s.AppendMessages(ctx, "s", sessionstore.Append{Messages: []sessionstore.Message{sessionstore.UserMessage("x")}})
			return err
		},
		"ListMessages": func(ctx context.Context) error {
			_, err := s.ListMessages(ctx, "s", sessionstore.MessageQuery{})
			return err
		},
		"TruncateMessages": func(ctx context.Context) error {
			_, err := s.TruncateMessages(ctx, "s", sessionstore.Truncate{ThroughSeq: 1})
			return err
		},
		"ForkSession": func(ctx context.Context) error {
			_, err := s.ForkSession(ctx, "s", sessionstore.Fork{})
			return err
		},
		"DeleteSession": func(ctx context.Context) error { return s.DeleteSession(ctx, "s") },
	}
}
