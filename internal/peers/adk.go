package main

import (
	"context"

	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/session/database"
	"google.golang.org/genai"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"
)

const (
	adkModule = "google.golang.org/adk/v2"
	adkApp    = "peers"
)

func openADKMemory(context.Context, string) (*store, error) {
	return adk(session.InMemoryService(), func() error { return nil }), nil
}

func openADKPostgres(_ context.Context, dsn string) (*store, error) {
	// The pool is set as the others' are; gorm's log would name each stale session.
	dialector := postgres.Open(dsn)
	s, err := database.NewSessionService(&limited{Dialector: dialector.(*postgres.Dialector)},
		&gorm.Config{Logger: logger.Discard, PrepareStmt: true})
	if err != nil {
		return nil, err
	}
	if err := database.AutoMigrate(s); err != nil {
		return nil, err
	}
	return adk(s, func() error { return nil }), nil
}

// limited bounds the pool that gorm opens, which the service does not give out.
type limited struct{ *postgres.Dialector }

func (l *limited) Initialize(db *gorm.DB) error {
	if err := l.Dialector.Initialize(db); err != nil {
		return err
	}
	pool, err := db.DB()
	if err != nil {
		return err
	}
	pool.SetMaxOpenConns(connections)
	pool.SetMaxIdleConns(connections)
	return nil
}

func adk(s session.Service, closing func() error) *store {
	return &store{
		create: func(ctx context.Context, user, id string) error {
			_, err := s.Create(ctx, &session.CreateRequest{AppName: adkApp, UserID: user, SessionID: id})
			return err
		},
		open: func(ctx context.Context, user, id string) (*handle, error) {
			get := func(ctx context.Context, newest int) (session.Session, error) {
				r, err := s.Get(ctx, &session.GetRequest{AppName: adkApp, UserID: user, SessionID: id, NumRecentEvents: newest})
				if err != nil {
					return nil, err
				}
				return r.Session, nil
			}
			// An append needs a session that was read before. One event of it is enough.
			at, err := get(ctx, 1)
			if err != nil {
				return nil, err
			}
			return &handle{
				append: func(ctx context.Context, text string) error {
					e := session.NewEvent(ctx, "invocation")
					e.Author = "user"
					e.LLMResponse = model.LLMResponse{Content: genai.NewContentFromText(text, genai.RoleUser)}
					return s.AppendEvent(ctx, at, e)
				},
				newest: func(ctx context.Context, n int) ([]string, error) {
					got, err := get(ctx, n)
					return adkTexts(got), err
				},
				all: func(ctx context.Context) ([]string, error) {
					got, err := get(ctx, 0)
					return adkTexts(got), err
				},
			}, nil
		},
		// It lists all sessions of a user; there is no page.
		list: func(ctx context.Context, user string, n int) (int, error) {
			r, err := s.List(ctx, &session.ListRequest{AppName: adkApp, UserID: user})
			if err != nil {
				return 0, err
			}
			return min(n, len(r.Sessions)), nil
		},
		close: closing,
	}
}

func adkTexts(s session.Session) []string {
	if s == nil {
		return nil
	}
	var out []string
	for e := range s.Events().All() {
		if e.Content != nil && len(e.Content.Parts) > 0 {
			out = append(out, e.Content.Parts[0].Text)
		}
	}
	return out
}
