package main

import (
	"context"
	"fmt"

	"github.com/sessionstore/sessionstore"
)

// withBrief is with for a command that waits for people or models in between: a bolt store,
// whose file no two processes can have open for writing, is open only during each call.
func (a *app) withBrief(ctx context.Context, work func(sessionstore.SessionStore) error) error {
	if !isBolt(a.storeURL()) {
		return a.with(ctx, toCreate, work)
	}
	// What is wrong with it is better said before anybody has typed a line.
	if err := a.with(ctx, toCreate, func(sessionstore.SessionStore) error { return nil }); err != nil {
		return err
	}
	return work(&brief{a})
}

// brief is a store that opens and closes another one for each call.
type brief struct{ app *app }

// briefly makes one call. What it has done stands, even if the store then fails to close:
// each call of a bolt store is on disk when it returns.
func briefly[T any](ctx context.Context, b *brief, call func(sessionstore.SessionStore) (T, error)) (result T, err error) {
	store, err := b.app.open(ctx, toChange)
	if err != nil {
		return result, err
	}
	result, err = call(store)
	if cerr := store.Close(); cerr != nil {
		fmt.Fprintf(b.app.err, "sessionctl: %s\n", oneLine(redacted("close "+b.app.storeURL()+": "+cerr.Error(), nil)))
	}
	return result, err
}

func (b *brief) CreateSession(ctx context.Context, s sessionstore.Session) (sessionstore.Session, error) {
	return briefly(ctx, b, func(store sessionstore.SessionStore) (sessionstore.Session, error) {
		return store.CreateSession(ctx, s)
	})
}

func (b *brief) GetSession(ctx context.Context, id string) (sessionstore.Session, error) {
	return briefly(ctx, b, func(store sessionstore.SessionStore) (sessionstore.Session, error) {
		return store.GetSession(ctx, id)
	})
}

func (b *brief) UpdateSession(ctx context.Context, id string, u sessionstore.SessionUpdate) (sessionstore.Session, error) {
	return briefly(ctx, b, func(store sessionstore.SessionStore) (sessionstore.Session, error) {
		return store.UpdateSession(ctx, id, u)
	})
}

func (b *brief) DeleteSession(ctx context.Context, id string) error {
	_, err := briefly(ctx, b, func(store sessionstore.SessionStore) (struct{}, error) {
		return struct{}{}, store.DeleteSession(ctx, id)
	})
	return err
}

func (b *brief) ListSessions(ctx context.Context, q sessionstore.SessionQuery) (sessionstore.SessionPage, error) {
	return briefly(ctx, b, func(store sessionstore.SessionStore) (sessionstore.SessionPage, error) {
		return store.ListSessions(ctx, q)
	})
}

func (b *brief) AppendMessages(ctx context.Context, id string, batch sessionstore.Append) ([]sessionstore.Message, error) {
	return briefly(ctx, b, func(store sessionstore.SessionStore) ([]sessionstore.Message, error) {
		return store.AppendMessages(ctx, id, batch)
	})
}

func (b *brief) ListMessages(ctx context.Context, id string, q sessionstore.MessageQuery) (sessionstore.MessagePage, error) {
	return briefly(ctx, b, func(store sessionstore.SessionStore) (sessionstore.MessagePage, error) {
		return store.ListMessages(ctx, id, q)
	})
}

func (b *brief) TruncateMessages(ctx context.Context, id string, t sessionstore.Truncate) (sessionstore.Session, error) {
	return briefly(ctx, b, func(store sessionstore.SessionStore) (sessionstore.Session, error) {
		return store.TruncateMessages(ctx, id, t)
	})
}

func (b *brief) Close() error { return nil }
