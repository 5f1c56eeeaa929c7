package anthropic_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"

	sdk "github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/option"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/agent"
	"github.com/sessionstore/sessionstore/memory"
	"github.com/sessionstore/sessionstore/providers/anthropic"
)

// An agent in a conversation. The server stands for the provider's.
func Example() {
	ctx := context.Background()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"id":"msg_1","type":"message","role":"assistant","model":"claude","content":[{"type":"text","text":"Hello, Ada."}],"stop_reason":"end_turn","usage":{"input_tokens":9,"output_tokens":4}}`)
	}))
	defer server.Close()
	store, err := memory.New(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()

	client := sdk.NewClient(option.WithBaseURL(server.URL), option.WithAPIKey("unused"))
	c, err := agent.Start(ctx, sessionstore.NewManager(store, nil), sessionstore.Session{System: "Be kind."}, anthropic.New(client, "claude", nil))
	if err != nil {
		log.Fatal(err)
	}
	r, err := c.Run(ctx, sessionstore.UserMessage("I am Ada."))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(r.Text, r.Usage.InputTokens, r.Usage.OutputTokens)
	// Output: Hello, Ada. 9 4
}

// The parameters of a request of one's own.
func ExampleMessages() {
	history := []sessionstore.Message{
		sessionstore.UserMessage("What time is it?"),
		sessionstore.AssistantMessage("", sessionstore.ToolCall{ID: "call:1", Name: "clock"}),
		sessionstore.ToolMessage("call:1", "12:00"),
		sessionstore.UserMessage("And in Rome?"),
	}
	p, err := sessionstore.NewPrompt(sessionstore.Session{System: "Be brief."}, history, nil)
	if err != nil {
		log.Fatal(err)
	}
	system, messages, err := anthropic.Messages(p)
	if err != nil {
		log.Fatal(err)
	}
	params := sdk.MessageNewParams{Model: "claude-sonnet-4-5", MaxTokens: 1000, System: system, Messages: messages}
	for _, m := range params.Messages {
		b, err := json.Marshal(m)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(string(b))
	}
	// Output:
	// {"content":[{"text":"What time is it?","type":"text"}],"role":"user"}
	// {"content":[{"id":"call_2654afcb66e2e197aa874d52a9733d8d","input":{},"name":"clock","type":"tool_use"}],"role":"assistant"}
	// {"content":[{"tool_use_id":"call_2654afcb66e2e197aa874d52a9733d8d","content":[{"text":"12:00","type":"text"}],"type":"tool_result"},{"text":"And in Rome?","type":"text"}],"role":"user"}
}
