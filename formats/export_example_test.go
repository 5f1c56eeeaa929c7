package formats_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"strings"

	"github.com/sessionstore/sessionstore/formats"
	"github.com/sessionstore/sessionstore/memory"
)

func ExampleExport() {
	ctx := context.Background()
	store, err := memory.New(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()

	file := strings.NewReader(`{"system":"Be brief.","messages":[{"role":"user","content":"2+2?"},{"role":"assistant","content":[` +
		`{"type":"thinking","thinking":"easy","signature":"c2ln"},{"type":"text","text":"4"}]}]}`)
	if _, err := formats.Import(ctx, store, "anthropic", file, nil); err != nil {
		log.Fatal(err)
	}
	report, err := formats.Export(ctx, store, "openai", os.Stdout, nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(report.Sessions, "session,", report.Messages, "messages, left out:", report.Left)
	// Output:
	// {"messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"2+2?"},{"role":"assistant","content":[{"type":"text","text":"4"}]}]}
	// 1 session, 2 messages, left out: map[thinking part:1]
}
