package main

import (
	"context"

	"github.com/firebase/genkit/go/core/x/session"
)

const genkitModule = "github.com/firebase/genkit/go"

// conversation is the state of a session: it has no messages of its own.
type conversation struct {
	Messages []string `json:"messages"`
}

func openGenkit(context.Context, string) (*store, error) {
	kept := session.NewInMemoryStore[conversation]()
	return &store{
		create: func(ctx context.Context, _, id string) error {
			_, err := session.New(ctx, session.WithID[conversation](id), session.WithStore[conversation](kept))
			return err
		},
		open: func(ctx context.Context, _, id string) (*handle, error) {
			s, err := session.Load[conversation](ctx, kept, id)
			if err != nil {
				return nil, err
			}
			add := func(ctx context.Context, texts ...string) error {
				state := s.State()
				state.Messages = append(state.Messages, texts...)
				return s.UpdateState(ctx, state)
			}
			all := func(ctx context.Context) ([]string, error) {
				loaded, err := session.Load[conversation](ctx, kept, id)
				if err != nil {
					return nil, err
				}
				return loaded.State().Messages, nil
			}
			return &handle{
				append: func(ctx context.Context, text string) error { return add(ctx, text) },
				fill:   func(ctx context.Context, texts []string) error { return add(ctx, texts...) },
				newest: func(ctx context.Context, n int) ([]string, error) {
					out, err := all(ctx)
					return out[max(len(out)-n, 0):], err
				},
				all: all,
			}, nil
		},
		close: func() error { return nil },
	}, nil
}
