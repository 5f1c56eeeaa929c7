package sessionstore_test

import (
	"context"
	"fmt"
	"log"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/memory"
)

// A turn with a tool call is stored, and a window of the history made into the messages
// of a chat-completions request. The second call was interrupted.
func ExampleManager() {
	ctx := context.Background()
	store, err := memory.New(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	m := sessionstore.NewManager(store, nil)

	s, err := m.Start(ctx, sessionstore.Session{AgentName: "support", UserID: "ada", System: "You are kind."})
	if err != nil {
		log.Fatal(err)
	}
	_, err = m.Append(ctx, s.ID,
		sessionstore.UserMessage("Where is my order?"),
		sessionstore.AssistantMessage("", sessionstore.ToolCall{ID: "call_1", Name: "lookup", Arguments: `{"order":7}`}),
		sessionstore.ToolMessage("call_1", "shipped"),
		sessionstore.AssistantMessage("On its way."),
		sessionstore.UserMessage("Cancel it."),
		sessionstore.AssistantMessage("", sessionstore.ToolCall{ID: "call_2", Name: "cancel", Arguments: `{"order":7}`}),
	)
	if err != nil {
		log.Fatal(err)
	}

	chat, err := m.ChatMessages(ctx, s.ID, &sessionstore.Window{Last: 4})
	if err != nil {
		log.Fatal(err)
	}
	for _, c := range chat {
		line, err := c.AppendJSON(nil)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s\n", line)
	}
	pending, err := m.PendingToolCalls(ctx, s.ID)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("pending:", pending[0].Name, pending[0].Arguments)
	// Output:
	// {"role":"system","content":"You are kind."}
	// {"role":"user","content":"Cancel it."}
	// {"role":"assistant","content":null,"tool_calls":[{"id":"call_2","type":"function","function":{"name":"cancel","arguments":"{\"order\":7}"}}]}
	// {"role":"tool","content":"Error: no result of this tool call was recorded. It may have been interrupted; its effects are unknown.","tool_call_id":"call_2"}
	// pending: cancel {"order":7}
}

// A failed Append returns the messages with their ids, and takes them again.
func ExampleManager_Append() {
	ctx := context.Background()
	store, err := memory.New(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	m := sessionstore.NewManager(store, nil)
	s, err := m.Start(ctx, sessionstore.Session{})
	if err != nil {
		log.Fatal(err)
	}

	messages, err := m.Append(ctx, s.ID, sessionstore.UserMessage("hello"))
	for tries := 1; err != nil && tries < 3; tries++ {
		messages, err = m.Append(ctx, s.ID, messages...)
	}
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(messages[0].Seq, messages[0].Content)
	// Output: 1 hello
}

// What is held in memory can be cut like what is stored.
func ExampleNewPrompt() {
	history := []sessionstore.Message{
		sessionstore.UserMessage("one"), sessionstore.AssistantMessage("1"),
		sessionstore.UserMessage("two"), sessionstore.AssistantMessage("2"),
	}
	p, err := sessionstore.NewPrompt(sessionstore.Session{}, history, &sessionstore.Window{Last: 3})
	if err != nil {
		log.Fatal(err)
	}
	for _, m := range p.Messages {
		fmt.Println(m.Role, m.Content)
	}
	// Output:
	// user two
	// assistant 2
}
