package openai_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/agent"
	"github.com/sessionstore/sessionstore/memory"
	"github.com/sessionstore/sessionstore/providers/openai"
)

// An agent of a server on this machine, in a conversation.
func Example() {
	ctx := context.Background()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"id":"1","model":"llama3.2","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"Hello, Ada."}}]}`)
	}))
	defer server.Close()
	store, err := memory.New(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()

	client := sdk.NewClient(option.WithBaseURL(server.URL+"/v1/"), option.WithAPIKey("unused"))
	llama := openai.New(client, "llama3.2", &openai.Options{Provider: "local", LegacyMaxTokens: true})
	c, err := agent.Start(ctx, sessionstore.NewManager(store, nil), sessionstore.Session{System: "Be kind."}, llama)
	if err != nil {
		log.Fatal(err)
	}
	r, err := c.Run(ctx, sessionstore.UserMessage("I am Ada."))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(r.Provider, r.Model, r.FinishReason)
	fmt.Println(r.Text)
	// Output:
	// local llama3.2 stop
	// Hello, Ada.
}

// The parameters of a request of one's own.
func ExampleChatMessages() {
	history := []sessionstore.Message{
		sessionstore.UserMessage("What time is it?"),
		sessionstore.AssistantMessage("", sessionstore.ToolCall{ID: "call_1", Name: "clock"}),
		sessionstore.ToolMessage("call_1", "12:00"),
	}
	p, err := sessionstore.NewPrompt(sessionstore.Session{System: "Be brief."}, history, nil)
	if err != nil {
		log.Fatal(err)
	}
	messages, err := openai.ChatMessages(p)
	if err != nil {
		log.Fatal(err)
	}
	params := sdk.ChatCompletionNewParams{Model: "gpt-5.2", Messages: messages}
	for _, m := range params.Messages {
		b, err := json.Marshal(m)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(string(b))
	}
	// Output:
	// {"content":"Be brief.","role":"system"}
	// {"content":"What time is it?","role":"user"}
	// {"content":null,"tool_calls":[{"id":"call_1","function":{"arguments":"{}","name":"clock"},"type":"function"}],"role":"assistant"}
	// {"content":"12:00","tool_call_id":"call_1","role":"tool"}
}

// Reasoning goes back to OpenAI as it came, and nowhere else.
func ExampleResponseItems() {
	reasoning, err := sessionstore.ParsePart([]byte(`{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"gAAA"}`))
	if err != nil {
		log.Fatal(err)
	}
	history := []sessionstore.Message{
		sessionstore.UserMessage("2+2?"),
		{Role: sessionstore.RoleAssistant, Content: sessionstore.Parts(reasoning, sessionstore.TextPart("4"))},
		sessionstore.UserMessage("Sure?"),
	}
	p, err := sessionstore.NewPrompt(sessionstore.Session{}, history, nil)
	if err != nil {
		log.Fatal(err)
	}
	items, err := openai.ResponseItems(p)
	if err != nil {
		log.Fatal(err)
	}
	for _, item := range items {
		fmt.Println(item.OfReasoning != nil, item.OfMessage != nil || item.OfOutputMessage != nil)
	}
	// Output:
	// false true
	// true false
	// false true
	// false true
}
