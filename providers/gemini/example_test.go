package gemini_test

import (
	"encoding/json"
	"fmt"
	"log"

	"google.golang.org/genai"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/providers/gemini"
)

// A stored conversation as the contents of a request, and the answer as a message.
func Example() {
	history := []sessionstore.Message{
		sessionstore.UserMessage("What time is it?"),
		sessionstore.AssistantMessage("", sessionstore.ToolCall{ID: "call_1", Name: "clock"}),
		sessionstore.ToolMessage("call_1", "12:00"),
	}
	p, err := sessionstore.NewPrompt(sessionstore.Session{System: "Be brief."}, history, nil)
	if err != nil {
		log.Fatal(err)
	}
	system, contents, err := gemini.Contents(p)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("system:", system.Parts[0].Text)
	for _, c := range contents {
		b, err := json.Marshal(c)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(string(b))
	}

	response := &genai.GenerateContentResponse{Candidates: []*genai.Candidate{{Content: genai.NewContentFromText("It is noon.", genai.RoleModel)}}}
	answer, err := gemini.Message(response)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(answer.Role, answer.Content)
	// Output:
	// system: Be brief.
	// {"parts":[{"text":"What time is it?"}],"role":"user"}
	// {"parts":[{"functionCall":{"id":"call_1","name":"clock"}}],"role":"model"}
	// {"parts":[{"functionResponse":{"id":"call_1","name":"clock","response":{"output":"12:00"}}}],"role":"user"}
	// assistant It is noon.
}
