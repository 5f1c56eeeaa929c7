package sessionstore_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/sessionstore/sessionstore"
)

func TestChatMessageJSON(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, in, want string }{
		{"a text, and nothing of ours",
			`{"message_id":"m","session_id":"s","seq":4,"role":"user","content":"a < b & \u2028","tool_call_id":null,"agent_name":"bot","created_at":"2026-03-01T09:30:00+00:00","metadata":{"k":1},"weight":1}`,
			`{"role":"user","content":"a < b & ` + "\u2028" + `"}`},
		{"a name", `{"role":"user","content":"hi","name":"ada"}`, `{"role":"user","content":"hi","name":"ada"}`},
		{"developer", `{"role":"developer","content":"hi"}`, `{"role":"developer","content":"hi"}`},
		{"null keys of parts, and an image that is a string",
			`{"role":"user","content":[{"type":"text","text":"what is this?","image_url":null},{"type":"image_url","text":null,"image_url":"https://example.com/a.png"}]}`,
			`{"role":"user","content":[{"type":"text","text":"what is this?"},{"type":"image_url","image_url":{"url":"https://example.com/a.png"}}]}`},
		{"an image that is an object, and unknown keys",
			`{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,iVBORw0KGgo=","detail":"low"},"x":1e2}]}`,
			`{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,iVBORw0KGgo=","detail":"low"},"x":1e2}]}`},
		{"texts that were null or empty", `{"role":"user","content":[{"type":"text","text":null},{"type":"text","text":""}]}`, `{"role":"user","content":""}`},
		{"null and empty list of a user", `{"role":"user","content":null}`, `{"role":"user","content":""}`},
		{"an empty list of a user", `{"role":"user","content":[]}`, `{"role":"user","content":""}`},
		{"a turn of calls only keeps null",
			`{"role":"assistant","content":null,"tool_calls":[{"id":"c","name":"f","arguments":{"order": 9007199254740993}}]}`,
			`{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{\"order\": 9007199254740993}"}}]}`},
		{"field report C39: text beside calls",
			`{"role":"assistant","content":"Let me check","tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]}`,
			`{"role":"assistant","content":"Let me check","tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]}`},
		{"field report C40: an empty list of calls", `{"role":"assistant","content":"hi","tool_calls":[]}`, `{"role":"assistant","content":"hi"}`},
		{"field report C40: null calls", `{"role":"assistant","content":"hi","tool_calls":null}`, `{"role":"assistant","content":"hi"}`},
		{"a custom call, and what a provider needs back",
			`{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"custom","custom":{"name":"f","input":"x"},"extra_content":{"signature":"abc"}}]}`,
			`{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"custom","custom":{"name":"f","input":"x"},"extra_content":{"signature":"abc"}}]}`},
		{"field reports C31 and C32: no reasoning",
			`{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"s"},{"type":"redacted_thinking","data":"d"},{"type":"reasoning","id":"r"},{"type":"text","text":"so"}],"reasoning_content":"hm"}`,
			`{"role":"assistant","content":[{"type":"text","text":"so"}]}`},
		{"nothing but reasoning before calls",
			`{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"s"}],"tool_calls":[{"id":"c","name":"f","arguments":""}]}`,
			`{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":""}}]}`},
		{"a refusal goes back, other keys do not",
			`{"role":"assistant","content":null,"refusal":"no","annotations":[],"audio":null}`,
			`{"role":"assistant","content":null,"refusal":"no"}`},
		{"the audio of an answer is sent by its id",
			`{"role":"assistant","content":null,"audio":{"id":"audio_1","data":"UklGRg==","expires_at":1,"transcript":"hi"}}`,
			`{"role":"assistant","content":null,"audio":{"id":"audio_1"}}`},
		{"audio without an id is none that a request takes",
			`{"role":"assistant","content":"hi","audio":{"id":"","data":"UklGRg=="}}`, `{"role":"assistant","content":"hi"}`},
		{"of an assistant only texts and refusals are taken",
			`{"role":"assistant","content":[{"type":"text","text":"so"},{"type":"image_url","image_url":{"url":"https://x.test/a.png"}},{"type":"server_tool_use","id":"s","name":"web_search","input":{}},{"type":"refusal","refusal":"no"}]}`,
			`{"role":"assistant","content":[{"type":"text","text":"so"},{"type":"refusal","refusal":"no"}]}`},
		{"an assistant's image alone is no content",
			`{"role":"assistant","content":[{"type":"image_url","image_url":{"url":"https://x.test/a.png"}}]}`, `{"role":"assistant","content":null}`},
		{"a result", `{"role":"tool","content":"ok","tool_call_id":"c","name":"f"}`, `{"role":"tool","content":"ok","name":"f","tool_call_id":"c"}`},
		{"a result of nothing", `{"role":"tool","content":null,"tool_call_id":"c"}`, `{"role":"tool","content":"","tool_call_id":"c"}`},
		{"a result's text without its image",
			`{"role":"tool","tool_call_id":"c","content":[{"type":"text","text":"ok","image_url":null},{"type":"image_url","image_url":"u"}]}`,
			`{"role":"tool","content":[{"type":"text","text":"ok"}],"tool_call_id":"c"}`},
	} {
		m, err := sessionstore.DecodeMessage([]byte(c.in))
		if err != nil {
			t.Errorf("%s: DecodeMessage(%s) = %v", c.name, c.in, err)
			continue
		}
		got, err := m.ChatMessage().AppendJSON([]byte("x"))
		if err != nil || string(got) != "x"+c.want {
			t.Errorf("%s:\n got %s, %v\nwant x%s", c.name, got, err, c.want)
		}
		viaMarshal, err := json.Marshal(m.ChatMessage())
		var plain bytes.Buffer
		json.HTMLEscape(&plain, []byte(c.want))
		if err != nil || string(viaMarshal) != plain.String() {
			t.Errorf("%s: json.Marshal = %s, %v, want %s", c.name, viaMarshal, err, plain.String())
		}
	}
}

func TestChatMessageJSONErrors(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]sessionstore.ChatMessage{
		"role":              {Role: "\xff"},
		"content":           {Role: "user", Content: sessionstore.Text("\xff")},
		"name":              {Role: "user", Name: "\xff"},
		"tool_call_id":      {Role: "tool", ToolCallID: "\xff"},
		"call":              {Role: "assistant", ToolCalls: []sessionstore.ToolCall{{Name: "\xff"}}},
		"extra of a field":  {Role: "user", Extra: map[string]json.RawMessage{"content": []byte(`1`)}},
		"extra not JSON":    {Role: "user", Extra: map[string]json.RawMessage{"x": []byte(`{`)}},
		"extra key invalid": {Role: "user", Extra: map[string]json.RawMessage{"\xff": []byte(`1`)}},
	} {
		b, err := c.AppendJSON(nil)
		if err == nil {
			t.Errorf("%s: AppendJSON() = %s, want an error", name, b)
			continue
		}
		wantErr(t, name, err, sessionstore.ErrInvalid)
	}
}

// What ChatMessage returns is the caller's.
func TestChatMessageSharesNothing(t *testing.T) {
	t.Parallel()
	m := calls("x")
	m.ToolCalls[0].Extra = map[string]json.RawMessage{"k": json.RawMessage(`1`)}
	m.Extra = map[string]json.RawMessage{"refusal": json.RawMessage(`"no"`)}
	m = m.Clone()
	want := m.Clone()
	c := m.ChatMessage()
	c.ToolCalls[0].Name = "changed"
	c.ToolCalls[0].Extra["k"][0] = '2'
	c.Extra["refusal"][1] = 'N'
	if !reflect.DeepEqual(m, want) {
		t.Errorf("changing the chat message changed the message: got %v, want %v", m, want)
	}
}

func chatLines(t *testing.T, p sessionstore.Prompt) []string {
	t.Helper()
	lines := []string{}
	for _, c := range p.ChatMessages() {
		b, err := c.AppendJSON(nil)
		wantErr(t, "AppendJSON", err, nil)
		lines = append(lines, string(b))
	}
	return lines
}

func wantLines(t *testing.T, what string, got, want []string) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s:\n got %s\nwant %s", what, strings.Join(got, "\n     "), strings.Join(want, "\n     "))
	}
}

// Field report C36: images in results are neither lost nor turned into text.
func TestChatMessagesMedia(t *testing.T) {
	t.Parallel()
	image := func(url string) sessionstore.Part { return sessionstore.ImagePart(url) }
	first := sessionstore.ToolMessage("a", "")
	first.Content = sessionstore.Parts(sessionstore.TextPart("two"), image("u1"), image("u2"))
	second := sessionstore.ToolMessage("b", "")
	second.Content = sessionstore.Parts(part(`{"type":"file","file":{"file_id":"f"}}`))
	p, err := sessionstore.NewPrompt(sessionstore.Session{System: "be kind"}, []sessionstore.Message{
		sessionstore.UserMessage("show"), calls("a", "b"), second, first, sessionstore.AssistantMessage("there")}, nil)
	wantErr(t, "NewPrompt", err, nil)
	checkChat(t, p.ChatMessages())
	want := []string{
		`{"role":"system","content":"be kind"}`,
		`{"role":"user","content":"show"}`,
		`{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":""}},{"id":"b","type":"function","function":{"name":"f","arguments":""}}]}`,
		`{"role":"tool","content":[{"type":"text","text":"two"}],"tool_call_id":"a"}`,
		`{"role":"tool","content":"The result is in the user message that follows.","tool_call_id":"b"}`,
		`{"role":"user","content":[{"type":"text","text":"From the result of tool call \"a\":"},{"type":"image_url","image_url":{"url":"u1"}},{"type":"image_url","image_url":{"url":"u2"}},{"type":"text","text":"From the result of tool call \"b\":"},{"type":"file","file":{"file_id":"f"}}]}`,
		`{"role":"assistant","content":"there"}`,
	}
	wantLines(t, "ChatMessages", chatLines(t, p), want)

	// At the end of a list, too, and counted by the window.
	p.Messages = p.Messages[:4]
	wantLines(t, "ChatMessages of a turn in progress", chatLines(t, p), want[:6])
	_, err = sessionstore.NewPrompt(p.Session, p.Messages, &sessionstore.Window{Last: 3})
	wantErr(t, "a window of 3 for calls, two results and their media", err, sessionstore.ErrTooLarge)
}

// Reasoning that stands alone, and what is nothing without it, is not sent.
func TestChatMessagesWithoutReasoning(t *testing.T) {
	t.Parallel()
	thinking := sessionstore.Message{Role: sessionstore.RoleAssistant, Content: sessionstore.Parts(part(`{"type":"reasoning","text":"hm"}`))}
	mixed := thinking
	mixed.Content = sessionstore.Parts(part(`{"type":"thinking","thinking":"hm"}`), sessionstore.TextPart(""))
	provider := sessionstore.AssistantMessage("")
	provider.Extra = map[string]json.RawMessage{"reasoning_content": json.RawMessage(`"hm"`)}
	p, err := sessionstore.NewPrompt(sessionstore.Session{}, []sessionstore.Message{
		sessionstore.UserMessage("hi"), thinking, mixed, provider, sessionstore.AssistantMessage("ho")}, nil)
	wantErr(t, "NewPrompt", err, nil)
	if len(p.Messages) != 5 {
		t.Errorf("the prompt has %d messages, want all 5: other providers take reasoning", len(p.Messages))
	}
	wantLines(t, "ChatMessages", chatLines(t, p), []string{`{"role":"user","content":"hi"}`, `{"role":"assistant","content":"ho"}`})
}

// Field report C02, spelled out: what a model reads of a call without a result.
func TestChatMessagesUnanswered(t *testing.T) {
	t.Parallel()
	p, err := sessionstore.NewPrompt(sessionstore.Session{}, []sessionstore.Message{sessionstore.UserMessage("go"), calls("a")}, nil)
	wantErr(t, "NewPrompt", err, nil)
	wantLines(t, "ChatMessages", chatLines(t, p)[2:], []string{
		`{"role":"tool","content":"` + sessionstore.NoToolResult + `","tool_call_id":"a"}`})
}
