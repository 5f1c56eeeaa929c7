package main

import (
	"context"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/memory"
	_ "github.com/sessionstore/sessionstore/mongo"
	"github.com/sessionstore/sessionstore/postgres"
)

const library = "github.com/sessionstore/sessionstore"

func openMemory(context.Context, string) (*store, error) {
	s, err := memory.New(nil)
	if err != nil {
		return nil, err
	}
	return ours(s, s.Close), nil
}

func openPostgres(ctx context.Context, dsn string) (*store, error) {
	pool, err := newPool(ctx, dsn)
	if err != nil {
		return nil, err
	}
	s, err := postgres.New(pool, &postgres.Options{Schema: "peers_sessionstore"})
	if err == nil {
		err = s.Migrate(ctx)
	}
	if err != nil {
		pool.Close()
		return nil, err
	}
	return ours(s, func() error {
		defer pool.Close()
		return s.Close()
	}), nil
}

// newPool has as many connections as every other system on PostgreSQL.
func newPool(ctx context.Context, dsn string) (*pgxpool.Pool, error) {
	config, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return nil, err
	}
	config.MaxConns = connections
	return pgxpool.NewWithConfig(ctx, config)
}

func openMongo(ctx context.Context, dsn string) (*store, error) {
	separator := "?"
	if strings.Contains(dsn, "?") {
		separator = "&"
	}
	s, err := sessionstore.Open(ctx, dsn+separator+"namespace=peers")
	if err != nil {
		return nil, err
	}
	return ours(s, s.Close), nil
}

func ours(s sessionstore.SessionStore, closing func() error) *store {
	return &store{
		create: func(ctx context.Context, user, id string) error {
			_, err := s.CreateSession(ctx, sessionstore.Session{ID: id, UserID: user})
			return err
		},
		open: func(_ context.Context, _, id string) (*handle, error) {
			add := func(ctx context.Context, texts []string) error {
				batch := make([]sessionstore.Message, len(texts))
				for i, text := range texts {
					batch[i] = sessionstore.UserMessage(text)
				}
				_, err := s.AppendMessages(ctx, id, sessionstore.Append{Messages: batch})
				return err
			}
			return &handle{
				append: func(ctx context.Context, text string) error { return add(ctx, []string{text}) },
				fill: func(ctx context.Context, texts []string) error {
					for batch := range slices.Chunk(texts, sessionstore.MaxAppendMessages) {
						if err := add(ctx, batch); err != nil {
							return err
						}
					}
					return nil
				},
				newest: func(ctx context.Context, n int) ([]string, error) {
					page, err := s.ListMessages(ctx, id, sessionstore.MessageQuery{Newest: true, Limit: n})
					out := make([]string, len(page.Messages))
					for i, m := range page.Messages {
						out[i] = m.Content.String()
					}
					return out, err
				},
				all: func(ctx context.Context) ([]string, error) {
					var out []string
					for q := (sessionstore.MessageQuery{}); ; {
						page, err := s.ListMessages(ctx, id, q)
						if err != nil {
							return nil, err
						}
						for _, m := range page.Messages {
							out = append(out, m.Content.String())
						}
						if !page.HasMore {
							return out, nil
						}
						q.AfterSeq = page.Messages[len(page.Messages)-1].Seq
					}
				},
			}, nil
		},
		list: func(ctx context.Context, user string, n int) (int, error) {
			page, err := s.ListSessions(ctx, sessionstore.SessionQuery{UserID: user, Limit: n})
			return len(page.Sessions), err
		},
		close: closing,
	}
}
