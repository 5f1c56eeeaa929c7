package main

import (
	"context"
	"fmt"
	"sync"

	"github.com/tmc/langchaingo/llms"
	"github.com/tmc/langchaingo/memory"
	"github.com/tmc/langchaingo/memory/alloydb"
	"github.com/tmc/langchaingo/memory/mongo"
	"github.com/tmc/langchaingo/schema"
	"github.com/tmc/langchaingo/util/alloydbutil"
)

const langchainModule = "github.com/tmc/langchaingo"

// openLangchainMemory has a history for each session, which all goroutines share: there is
// no other way to get at it.
func openLangchainMemory(context.Context, string) (*store, error) {
	var mu sync.Mutex
	histories := map[string]*memory.ChatMessageHistory{}
	return &store{
		create: func(_ context.Context, _, id string) error {
			mu.Lock()
			defer mu.Unlock()
			histories[id] = memory.NewChatMessageHistory()
			return nil
		},
		open: func(_ context.Context, _, id string) (*handle, error) {
			mu.Lock()
			defer mu.Unlock()
			return langchain(histories[id]), nil
		},
		close: func() error { return nil },
	}, nil
}

const langchainTable = "peers_langchaingo"

// openLangchainPostgres uses the history for AlloyDB, which is PostgreSQL to its clients.
func openLangchainPostgres(ctx context.Context, dsn string) (*store, error) {
	pool, err := newPool(ctx, dsn)
	if err != nil {
		return nil, err
	}
	engine, err := alloydbutil.NewPostgresEngine(ctx, alloydbutil.WithPool(pool))
	if err == nil {
		err = engine.InitChatHistoryTable(ctx, langchainTable)
	}
	if err != nil {
		pool.Close()
		return nil, err
	}
	return &store{
		create: func(context.Context, string, string) error { return nil }, // a session is its messages
		open: func(ctx context.Context, _, id string) (*handle, error) {
			history, err := alloydb.NewChatMessageHistory(ctx, engine, langchainTable, id)
			return langchain(&history), err
		},
		close: func() error {
			pool.Close()
			return nil
		},
	}, nil
}

func openLangchainMongo(_ context.Context, dsn string) (*store, error) {
	return &store{
		create: func(context.Context, string, string) error { return nil },
		open: func(ctx context.Context, _, id string) (*handle, error) {
			history, err := mongo.NewMongoDBChatMessageHistory(ctx, mongo.WithConnectionURL(dsn),
				mongo.WithDataBaseName("peers"), mongo.WithCollectionName("langchaingo"), mongo.WithSessionID(id))
			if err != nil {
				return nil, err
			}
			return langchain(history), nil
		},
		close: func() error { return nil },
	}, nil
}

// langchain is a history. There is no reading of a part of it.
func langchain(history schema.ChatMessageHistory) *handle {
	all := func(ctx context.Context) ([]string, error) {
		messages, err := history.Messages(ctx)
		out := make([]string, len(messages))
		for i, m := range messages {
			if m == nil { // torn by a race
				return nil, fmt.Errorf("message %d of %d is nil", i, len(messages))
			}
			out[i] = m.GetContent()
		}
		return out, err
	}
	return &handle{
		append: func(ctx context.Context, text string) error {
			return history.AddMessage(ctx, llms.HumanChatMessage{Content: text})
		},
		newest: func(ctx context.Context, n int) ([]string, error) {
			out, err := all(ctx)
			return out[max(len(out)-n, 0):], err
		},
		all: all,
	}
}
