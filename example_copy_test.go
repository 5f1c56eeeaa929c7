package sessionstore_test

import (
	"context"
	"fmt"
	"log"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/memory"
)

// A second copy catches up with what the source has stored since the first.
func ExampleCopy() {
	ctx := context.Background()
	from, err := memory.New(nil) // such as the file of a bolt store
	if err != nil {
		log.Fatal(err)
	}
	defer from.Close()
	to, err := memory.New(nil) // such as a PostgreSQL database
	if err != nil {
		log.Fatal(err)
	}
	defer to.Close()
	m := sessionstore.NewManager(from, nil)
	for _, id := range []string{"a", "b"} {
		if _, err := m.Start(ctx, sessionstore.Session{ID: id}); err != nil {
			log.Fatal(err)
		}
	}
	for range 2 {
		report, err := sessionstore.Copy(ctx, to, from, &sessionstore.CopyOptions{
			OnError: func(e sessionstore.SessionError) { fmt.Println(e) },
		})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%d copied, %d brought up to date, %d there already\n", report.Copied, report.Updated, report.Same)
		if _, err := m.Append(ctx, "a", sessionstore.UserMessage("Hello!")); err != nil {
			log.Fatal(err)
		}
	}
	// A session that was continued at the target is left alone.
	if _, err := sessionstore.NewManager(to, nil).Append(ctx, "b", sessionstore.UserMessage("Hello?")); err != nil {
		log.Fatal(err)
	}
	if _, err := sessionstore.Copy(ctx, to, from, &sessionstore.CopyOptions{
		IDs:     []string{"b"},
		OnError: func(e sessionstore.SessionError) { fmt.Println(e) },
	}); err != nil {
		log.Fatal(err)
	}
	// Output:
	// 2 copied, 0 brought up to date, 0 there already
	// 0 copied, 1 brought up to date, 1 there already
	// session "b": session exists with other content: the target's has moved on
}
