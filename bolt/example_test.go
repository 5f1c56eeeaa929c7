package bolt_test

import (
	"bytes"
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/bolt"
)

// A copy of a live database is a database.
func ExampleStore_Backup() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "sessionstore")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	store, err := bolt.Open(ctx, filepath.Join(dir, "sessions.db"), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	if _, err := store.CreateSession(ctx, sessionstore.Session{ID: "s"}); err != nil {
		log.Fatal(err)
	}
	var b bytes.Buffer
	if _, err := store.Backup(ctx, &b); err != nil {
		log.Fatal(err)
	}
	path := filepath.Join(dir, "copy.db")
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		log.Fatal(err)
	}
	backup, err := bolt.Open(ctx, path, &bolt.OpenOptions{Mode: bolt.ReadOnly})
	if err != nil {
		log.Fatal(err)
	}
	defer backup.Close()
	s, err := backup.GetSession(ctx, "s")
	fmt.Println(s.ID, err)
	// Output: s <nil>
}
