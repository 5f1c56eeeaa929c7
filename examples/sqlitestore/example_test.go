package sqlitestore_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/examples/sqlitestore"
)

// A store of one's own is used like those of the library.
func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "sqlitestore")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	store, err := sqlitestore.Open(ctx, filepath.Join(dir, "sessions.db"), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()

	m := sessionstore.NewManager(store, nil)
	s, err := m.Start(ctx, sessionstore.Session{UserID: "ada", AgentName: "support"})
	if err != nil {
		log.Fatal(err)
	}
	if _, err := m.Append(ctx, s.ID, sessionstore.UserMessage("Where is my order?")); err != nil {
		log.Fatal(err)
	}
	page, err := store.ListMessages(ctx, s.ID, sessionstore.MessageQuery{Newest: true, Limit: 20})
	if err != nil {
		log.Fatal(err)
	}
	for _, m := range page.Messages {
		fmt.Println(m.Seq, m.Role, m.Content)
	}
	// Output: 1 user Where is my order?
}
