package openai_test

import (
	"encoding/json"
	"errors"
	"testing"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/responses"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/internal/stories"
	"github.com/sessionstore/sessionstore/internal/wirecheck"
	"github.com/sessionstore/sessionstore/providers/openai"
)

// stored returns m as it comes back from a store.
func stored(t *testing.T, m sessionstore.Message) sessionstore.Message {
	t.Helper()
	raw, err := m.AppendJSON(nil)
	if err != nil {
		t.Fatalf("AppendJSON() = %v", err)
	}
	m, err = sessionstore.DecodeMessage(raw)
	if err != nil {
		t.Fatalf("DecodeMessage(%s) = %v", raw, err)
	}
	return m
}

// Field reports C31 and C34: the items of an answer, reasoning with its encrypted content
// among them, go back as they came and in their order; ids and states aside.
func TestResponseRoundTrip(t *testing.T) {
	t.Parallel()
	const body = `{"id":"resp_1","object":"response","created_at":1,"model":"m","output":[
		{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"think <&> \u00e9"}],"encrypted_content":"gAAA+/==","status":null},
		{"type":"web_search_call","id":"ws_1","status":"completed","action":{"type":"search","query":"q"}},
		{"type":"message","id":"msg_1","status":"completed","role":"assistant","phase":"commentary","content":[
			{"type":"output_text","text":"Let me see.","annotations":[{"type":"url_citation","url":"https://example.com","title":"t","start_index":0,"end_index":3}],"logprobs":[]}]},
		{"type":"function_call","id":"fc_1","call_id":"call_1","name":"f","arguments":"{\"n\":1.50}","status":"completed","namespace":"n"},
		{"type":"reasoning","id":"rs_2","summary":[],"encrypted_content":"gBBB"},
		{"type":"custom_tool_call","id":"ctc_1","call_id":"call_2","name":"sh","input":"ls"},
		{"type":"computer_call","id":"cu_1","call_id":"call_3","action":{"type":"screenshot"},"pending_safety_checks":[],"status":"completed"}
	]}`
	var r responses.Response
	if err := json.Unmarshal([]byte(body), &r); err != nil {
		t.Fatal(err)
	}
	m, err := openai.ResponseMessage(r)
	if err != nil {
		t.Fatalf("ResponseMessage() = %v", err)
	}
	m = stored(t, m)
	const wantMessage = `{"role":"assistant","content":[{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"think <&> \u00e9"}],"encrypted_content":"gAAA+/==","status":null},` +
		`{"type":"web_search_call","id":"ws_1","status":"completed","action":{"type":"search","query":"q"}},` +
		`{"type":"text","text":"Let me see.","annotations":[{"type":"url_citation","url":"https://example.com","title":"t","start_index":0,"end_index":3}],"phase":"commentary"},` +
		`{"type":"reasoning","id":"rs_2","summary":[],"encrypted_content":"gBBB"},` +
		`{"type":"computer_call","id":"cu_1","call_id":"call_3","action":{"type":"screenshot"},"pending_safety_checks":[],"status":"completed"}],` +
		`"tool_calls":[{"id":"call_1","type":"function","function":{"name":"f","arguments":"{\"n\":1.50}"},"namespace":"n"},{"id":"call_2","type":"custom","custom":{"name":"sh","input":"ls"}}],"call_positions":[3,4]}`
	want, err := sessionstore.DecodeMessage([]byte(wantMessage))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(stories.JSON(t, m)), string(stories.JSON(t, want)); got != want {
		t.Errorf("the message is\n%s, want\n%s", got, want)
	}
	got, err := itemsWire(stories.Prompt(t, "", []sessionstore.Message{sessionstore.UserMessage("hi"), m, sessionstore.ToolMessage("call_1", "1"), sessionstore.ToolMessage("call_2", "2")}))
	if err != nil {
		t.Fatalf("ResponseItems() = %v", err)
	}
	const wantItems = `[{"type":"message","role":"user","content":"hi"},
		{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"think <&> é"}],"encrypted_content":"gAAA+/=="},
		{"type":"web_search_call","id":"ws_1","action":{"type":"search","query":"q"}},
		{"type":"message","role":"assistant","phase":"commentary","content":[{"type":"output_text","text":"Let me see.","annotations":[{"type":"url_citation","url":"https://example.com","title":"t","start_index":0,"end_index":3}]}]},
		{"type":"function_call","call_id":"call_1","name":"f","arguments":"{\"n\":1.50}","namespace":"n"},
		{"type":"reasoning","id":"rs_2","summary":[],"encrypted_content":"gBBB"},
		{"type":"custom_tool_call","call_id":"call_2","name":"sh","input":"ls"},
		{"type":"function_call_output","call_id":"call_1","output":"1"},
		{"type":"custom_tool_call_output","call_id":"call_2","output":"2"}]`
	sameJSON(t, "the input", got, wantItems)
	if err := wirecheck.Responses(got); err != nil {
		t.Error(err)
	}
}

func sameJSON(t *testing.T, what string, got []byte, want string) {
	t.Helper()
	var x, y any
	if err := json.Unmarshal(got, &x); err != nil {
		t.Fatalf("%s is no JSON: %v", what, err)
	}
	if err := json.Unmarshal([]byte(want), &y); err != nil {
		t.Fatal(err)
	}
	if a, b := string(stories.JSON(t, x)), string(stories.JSON(t, y)); a != b {
		t.Errorf("%s is\n%s, want\n%s", what, a, b)
	}
}

func TestPlainResponseIsAText(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		`{"output":[{"type":"message","id":"msg_1","status":"completed","role":"assistant","content":[{"type":"output_text","text":"Hello","annotations":[],"logprobs":[]}]}]}`: `"Hello"`,
		`{"output":[{"type":"message","id":"msg_1","role":"assistant","content":[{"type":"refusal","refusal":"No."}]}]}`:                                                        `[{"type":"refusal","refusal":"No."}]`,
		`{"output":[{"type":"function_call","id":"fc_1","call_id":"a","name":"f","arguments":""}]}`:                                                                             `null`,
		`{"output":[]}`: `""`,
	} {
		var r responses.Response
		if err := json.Unmarshal([]byte(body), &r); err != nil {
			t.Fatal(err)
		}
		m, err := openai.ResponseMessage(r)
		if err != nil {
			t.Fatalf("ResponseMessage(%s) = %v", body, err)
		}
		if got := string(stories.JSON(t, m.Content)); got != want || m.Extra != nil {
			t.Errorf("ResponseMessage(%s) has the content %s and Extra %v, want %s and none", body, got, m.Extra, want)
		}
	}
}

// What was built by hand has no JSON to keep.
func TestAnswersMustBeDecoded(t *testing.T) {
	t.Parallel()
	if _, err := openai.ChatMessage(sdk.ChatCompletionMessage{Content: "x"}); !errors.Is(err, sessionstore.ErrInvalid) {
		t.Errorf("ChatMessage() = %v, want ErrInvalid", err)
	}
	if _, err := openai.ResponseMessage(responses.Response{Output: []responses.ResponseOutputItemUnion{{Type: "message"}}}); !errors.Is(err, sessionstore.ErrInvalid) {
		t.Errorf("ResponseMessage() = %v, want ErrInvalid", err)
	}
}

// The SDK's fields are set where they can be, for programs that look at them.
func TestParametersAreTyped(t *testing.T) {
	t.Parallel()
	p := stories.Prompt(t, "be kind", []sessionstore.Message{
		{Role: sessionstore.RoleUser, Content: sessionstore.Parts(sessionstore.TextPart("hi"), sessionstore.ImagePart("https://example.com/a.png"))},
		sessionstore.AssistantMessage("", sessionstore.ToolCall{ID: "a", Name: "f"}),
		sessionstore.ToolMessage("a", "1"),
	})
	chat, err := openai.ChatMessages(p)
	if err != nil || len(chat) != 4 {
		t.Fatalf("ChatMessages() = %v, %v, want 4 messages", chat, err)
	}
	if chat[0].OfSystem == nil || chat[1].OfUser == nil || chat[2].OfAssistant == nil || chat[3].OfTool == nil {
		t.Errorf("ChatMessages() = %+v, want the SDK's variants set", chat)
	}
	items, err := openai.ResponseItems(p)
	if err != nil || len(items) != 4 {
		t.Fatalf("ResponseItems() = %v, %v, want 4 items", items, err)
	}
	if items[0].OfMessage == nil || items[1].OfMessage == nil || items[2].OfFunctionCall == nil || items[3].OfFunctionCallOutput == nil {
		t.Errorf("ResponseItems() = %+v, want the SDK's variants set", items)
	}
}

// A malformed attachment is an error that says where it is, for every format.
func TestMalformedAttachment(t *testing.T) {
	t.Parallel()
	m := sessionstore.Message{ID: "m1", Role: sessionstore.RoleUser, Content: sessionstore.Parts(sessionstore.ImagePart("data:;base64,"))}
	_, chatErr := chatWire(stories.Prompt(t, "", []sessionstore.Message{m}))
	_, itemsErr := itemsWire(stories.Prompt(t, "", []sessionstore.Message{m}))
	for _, err := range []error{chatErr, itemsErr} {
		var invalid *sessionstore.InvalidError
		if !errors.As(err, &invalid) {
			t.Errorf("got %v, want an *InvalidError", err)
		}
	}
}
