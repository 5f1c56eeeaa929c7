package verify_test

import (
	"context"
	"fmt"
	"log"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/memory"
	"github.com/sessionstore/sessionstore/verify"
)

func ExampleStore() {
	ctx := context.Background()
	store, err := memory.New(nil)
	if err != nil {
		log.Fatal(err)
	}
	m := sessionstore.NewManager(store, nil)
	s, err := m.Start(ctx, sessionstore.Session{})
	if err != nil {
		log.Fatal(err)
	}
	if _, err := m.Append(ctx, s.ID, sessionstore.UserMessage("Hello")); err != nil {
		log.Fatal(err)
	}
	report, err := verify.Store(ctx, store, nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(report.Sessions, "session,", report.Messages, "message,", len(report.Problems), "problems")
	// Output: 1 session, 1 message, 0 problems
}
