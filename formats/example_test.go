package formats_test

import (
	"context"
	"fmt"
	"log"
	"strings"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/formats"
	"github.com/sessionstore/sessionstore/memory"
)

func ExampleImport() {
	ctx := context.Background()
	store, err := memory.New(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()

	file := strings.NewReader(`{"messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"hi"},{"role":"assistant","content":"hello"}]}
{"messages":[{"role":"user","content":
{"messages":[{"role":"user","content":"bye"}]}
`)
	report, err := formats.Import(ctx, store, "openai", file, &formats.Options{
		UserID:  "ada",
		OnError: func(e formats.RecordError) { fmt.Println("skipped line", e.Line) },
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("imported %d sessions, %d messages\n", report.Sessions, report.Messages)

	page, err := store.ListSessions(ctx, sessionstore.SessionQuery{UserID: "ada"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(page.Sessions), "sessions of ada")
	// Output:
	// skipped line 2
	// imported 2 sessions, 3 messages
	// 2 sessions of ada
}
