package anthropic_test

import (
	"encoding/json"
	"errors"
	"testing"

	sdk "github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/internal/stories"
	"github.com/sessionstore/sessionstore/providers/anthropic"
)

// Field reports C32 and C34: the blocks of an answer go back as they came, in their order
// and byte for byte where only this API understands them.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	const content = `[{"type":"thinking","thinking":"hm <&> \u00e9","signature":"c2ln+/=="},{"type":"redacted_thinking","data":"ZGF0YQ=="},` +
		`{"type":"text","text":"a","citations":[{"type":"page_location","cited_text":"c","document_index":0,"document_title":"t","start_page_number":1,"end_page_number":2,"file_id":null}]},` +
		`{"type":"tool_use","id":"toolu_1","name":"f","input":{"n":1.50,"big":9007199254740993},"caller":{"type":"direct"}},` +
		`{"type":"thinking","thinking":"more","signature":"c2ln"},{"type":"tool_use","id":"toolu_2","name":"g","input":{}}]`
	var answer sdk.Message
	if err := json.Unmarshal([]byte(`{"id":"msg_1","type":"message","role":"assistant","content":`+content+`}`), &answer); err != nil {
		t.Fatal(err)
	}
	m, err := anthropic.Message(answer)
	if err != nil {
		t.Fatalf("Message() = %v", err)
	}
	raw, err := m.AppendJSON(nil)
	if err != nil {
		t.Fatalf("AppendJSON() = %v", err)
	}
	if m, err = sessionstore.DecodeMessage(raw); err != nil {
		t.Fatalf("DecodeMessage() = %v", err)
	}
	_, messages, err := anthropic.Messages(stories.Prompt(t, "", []sessionstore.Message{
		sessionstore.UserMessage("hi"), m, sessionstore.ToolMessage("toolu_1", "1"), sessionstore.ToolMessage("toolu_2", "2")}))
	if err != nil || len(messages) != 3 {
		t.Fatalf("Messages() = %v, %v, want 3 messages", messages, err)
	}
	var got struct{ Content []json.RawMessage }
	if err := json.Unmarshal(stories.JSON(t, messages[1]), &got); err != nil {
		t.Fatal(err)
	}
	var want []json.RawMessage
	if err := json.Unmarshal([]byte(content), &want); err != nil {
		t.Fatal(err)
	}
	if len(got.Content) != len(want) {
		t.Fatalf("%d blocks go back, want %d: %s", len(got.Content), len(want), stories.JSON(t, messages[1]))
	}
	for i := range want {
		if a, b := normal(t, got.Content[i]), normal(t, want[i]); a != b {
			t.Errorf("block %d goes back as\n%s, want\n%s", i, a, b)
		}
	}
}

// normal returns JSON with its keys sorted and its numbers as they are spelled.
func normal(t *testing.T, raw []byte) string {
	t.Helper()
	var v map[string]json.RawMessage
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatal(err)
	}
	for k, inner := range v {
		if len(inner) > 0 && inner[0] == '"' { // however its characters are escaped
			var s string
			if err := json.Unmarshal(inner, &s); err != nil {
				t.Fatal(err)
			}
			v[k] = stories.JSON(t, s)
		}
	}
	return string(stories.JSON(t, v))
}

func TestAnswersMustBeDecoded(t *testing.T) {
	t.Parallel()
	if _, err := anthropic.Message(sdk.Message{Content: []sdk.ContentBlockUnion{{Type: "text", Text: "x"}}}); !errors.Is(err, sessionstore.ErrInvalid) {
		t.Errorf("Message() = %v, want ErrInvalid", err)
	}
}

// The SDK's fields are set where they can be, for programs that look at them.
func TestParametersAreTyped(t *testing.T) {
	t.Parallel()
	system, messages, err := anthropic.Messages(stories.Prompt(t, "be kind", []sessionstore.Message{
		{Role: sessionstore.RoleUser, Content: sessionstore.Parts(sessionstore.TextPart("hi"), sessionstore.ImagePart("https://example.com/a.png"))},
		sessionstore.AssistantMessage("", sessionstore.ToolCall{ID: "a", Name: "f"}),
		sessionstore.ToolMessage("a", "1"),
	}))
	if err != nil || len(system) != 1 || len(messages) != 3 {
		t.Fatalf("Messages() = %v, %v, %v, want a system and 3 messages", system, messages, err)
	}
	if system[0].Text != "be kind" {
		t.Errorf("the system is %+v, want be kind", system[0])
	}
	user, assistant, results := messages[0].OfUser, messages[1].OfAssistant, messages[2].OfUser
	if user == nil || user.Content[0].OfText == nil || user.Content[1].OfImage == nil ||
		assistant == nil || assistant.Content[0].OfToolUse == nil || results == nil || results.Content[0].OfToolResult == nil {
		t.Errorf("Messages() = %+v, want the SDK's variants set", messages)
	}
}

func TestMalformedAttachment(t *testing.T) {
	t.Parallel()
	m := sessionstore.Message{ID: "m1", Role: sessionstore.RoleUser, Content: sessionstore.Parts(sessionstore.ImagePart("data:;base64,"))}
	_, err := wireJSON(stories.Prompt(t, "", []sessionstore.Message{m}))
	var invalid *sessionstore.InvalidError
	if !errors.As(err, &invalid) {
		t.Errorf("got %v, want an *InvalidError", err)
	}
}

// Field report C18: instructions alone are nothing to answer.
func TestNothingToAnswer(t *testing.T) {
	t.Parallel()
	for _, history := range [][]sessionstore.Message{
		nil,
		{{Role: sessionstore.RoleSystem, Content: sessionstore.Text("x")}},
		{sessionstore.UserMessage(" \n")},
	} {
		if got, err := wireJSON(stories.Prompt(t, "be kind", history)); !errors.Is(err, sessionstore.ErrInvalid) {
			t.Errorf("Messages(%v) = %s, %v, want ErrInvalid", history, got, err)
		}
	}
}
