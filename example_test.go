package sessionstore_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/memory"
)

// A conversation is kept, and handed to a model as chat messages. With a URL such as
// bolt:sessions.db it outlives the program.
func Example() {
	ctx := context.Background()
	store, err := sessionstore.Open(ctx, "memory:")
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	m := sessionstore.NewManager(store, nil)

	s, err := m.Start(ctx, sessionstore.Session{UserID: "ada", AgentName: "support", System: "Be brief."})
	if err != nil {
		log.Fatal(err)
	}
	if _, err := m.Append(ctx, s.ID, sessionstore.UserMessage("Where is my order?")); err != nil {
		log.Fatal(err)
	}
	messages, err := m.ChatMessages(ctx, s.ID, &sessionstore.Window{Last: 20})
	if err != nil {
		log.Fatal(err)
	}
	for _, msg := range messages {
		fmt.Printf("%s: %s\n", msg.Role, msg.Content)
	}
	// Output:
	// system: Be brief.
	// user: Where is my order?
}

// open returns an empty store, for the examples below.
func open() sessionstore.SessionStore {
	store, err := memory.New(nil)
	if err != nil {
		log.Fatal(err)
	}
	return store
}

// An append that may or may not have happened is repeated with the same ids: it is stored
// once.
func ExampleAppend() {
	ctx, store := context.Background(), open()
	if _, err := store.CreateSession(ctx, sessionstore.Session{ID: "s"}); err != nil {
		log.Fatal(err)
	}
	question := sessionstore.UserMessage("Hello?")
	question.ID = "request-1"
	for range 2 {
		stored, err := store.AppendMessages(ctx, "s", sessionstore.Append{Messages: []sessionstore.Message{question}})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(stored[0].ID, "is message", stored[0].Seq)
	}
	// Output:
	// request-1 is message 1
	// request-1 is message 1
}

// Two writers that both have seen message 0 cannot both go on from there.
func ExampleAppend_ifLastSeq() {
	ctx, store := context.Background(), open()
	if _, err := store.CreateSession(ctx, sessionstore.Session{ID: "s"}); err != nil {
		log.Fatal(err)
	}
	seen := int64(0)
	for _, text := range []string{"first", "second"} {
		_, err := store.AppendMessages(ctx, "s", sessionstore.Append{
			Messages:  []sessionstore.Message{sessionstore.UserMessage(text)},
			IfLastSeq: &seen,
		})
		var conflict *sessionstore.ConflictError
		if errors.As(err, &conflict) {
			fmt.Printf("%s: somebody else is at %d\n", text, conflict.Actual)
		} else {
			fmt.Printf("%s: stored\n", text)
		}
	}
	// Output:
	// first: stored
	// second: somebody else is at 1
}

func ExampleSessionUpdate() {
	ctx, store := context.Background(), open()
	if _, err := store.CreateSession(ctx, sessionstore.Session{ID: "s", Metadata: sessionstore.Metadata{"channel": "web"}}); err != nil {
		log.Fatal(err)
	}
	ttl := 24 * time.Hour
	s, err := store.UpdateSession(ctx, "s", sessionstore.SessionUpdate{
		SetMetadata: sessionstore.Metadata{"tokens": 1200},
		TTL:         &ttl,
	})
	if err != nil {
		log.Fatal(err)
	}
	tokens, _ := s.Metadata.Int("tokens")
	fmt.Println(tokens, s.Metadata["channel"], s.ExpiresAt.Sub(s.UpdatedAt), "version", s.Version)
	// Output: 1200 web 24h0m0s version 2
}

func ExampleForkSession() {
	ctx, store := context.Background(), open()
	m := sessionstore.NewManager(store, nil)
	if _, err := m.Start(ctx, sessionstore.Session{ID: "s", UserID: "ada"}); err != nil {
		log.Fatal(err)
	}
	if _, err := m.Append(ctx, "s", sessionstore.UserMessage("Tea or coffee?"), sessionstore.AssistantMessage("Tea.")); err != nil {
		log.Fatal(err)
	}
	at := int64(1) // try another answer
	child, err := sessionstore.ForkSession(ctx, store, "s", sessionstore.Fork{ID: "s-2", AtSeq: &at})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(child.ID, "comes from", child.ParentID, "and holds", child.MessageCount, "message")
	// Output: s-2 comes from s and holds 1 message
}

// Code that serves one user gets a store in which there is nothing else.
func ExampleForUser() {
	ctx, store := context.Background(), open()
	if _, err := store.CreateSession(ctx, sessionstore.Session{ID: "s", UserID: "bob"}); err != nil {
		log.Fatal(err)
	}
	_, err := sessionstore.ForUser(store, "ada").GetSession(ctx, "s")
	fmt.Println(errors.Is(err, sessionstore.ErrSessionNotFound))
	// Output: true
}

// A session moves to another store, exactly: ids, numbers, times and versions.
func ExampleExport() {
	ctx, from, to := context.Background(), open(), open()
	m := sessionstore.NewManager(from, nil)
	if _, err := m.Start(ctx, sessionstore.Session{ID: "s"}); err != nil {
		log.Fatal(err)
	}
	if _, err := m.Append(ctx, "s", sessionstore.UserMessage("Hello")); err != nil {
		log.Fatal(err)
	}
	var file bytes.Buffer
	if _, err := sessionstore.Export(ctx, from, &file, nil); err != nil {
		log.Fatal(err)
	}
	report, err := sessionstore.Import(ctx, to, &file, nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(report.Sessions, "session,", report.Messages, "message")
	// Output: 1 session, 1 message
}
