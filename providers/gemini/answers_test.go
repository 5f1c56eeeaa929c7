package gemini_test

import (
	"encoding/json"
	"errors"
	"testing"

	"google.golang.org/genai"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/internal/stories"
	"github.com/sessionstore/sessionstore/internal/wirecheck"
	"github.com/sessionstore/sessionstore/providers/gemini"
)

func response(t *testing.T, parts string) *genai.GenerateContentResponse {
	t.Helper()
	var r genai.GenerateContentResponse
	if err := json.Unmarshal([]byte(`{"candidates":[{"content":{"role":"model","parts":`+parts+`}}]}`), &r); err != nil {
		t.Fatal(err)
	}
	return &r
}

// Field report C34: what a model gave goes back as it came, thought signatures too.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	const parts = `[{"text":"thinking","thought":true},{"text":"Let me see.","thoughtSignature":"c2ln"},
		{"functionCall":{"name":"f","args":{"b":"<&>","a":1}},"thoughtSignature":"c2ln"},{"functionCall":{"id":"x","name":"g"}},
		{"executableCode":{"language":"PYTHON","code":"1"}},{"inlineData":{"mimeType":"image/png","data":"` + stories.PNG + `"}}]`
	m, err := gemini.Message(response(t, parts))
	if err != nil {
		t.Fatalf("Message() = %v", err)
	}
	const want = `{"role":"assistant","content":[{"type":"reasoning","text":"thinking"},{"type":"text","text":"Let me see.","thought_signature":"c2ln"},` +
		`{"type":"gemini","part":{"executableCode":{"code":"1","language":"PYTHON"}}},{"type":"image_url","image_url":{"url":"data:image/png;base64,` + stories.PNG + `"}}],` +
		`"tool_calls":[{"id":"call_1","type":"function","function":{"name":"f","arguments":"{\"a\":1,\"b\":\"<&>\"}"},"thought_signature":"c2ln"},{"id":"x","type":"function","function":{"name":"g","arguments":"{}"}}],"call_positions":[2,2]}`
	wanted, err := sessionstore.DecodeMessage([]byte(want))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(stories.JSON(t, m)), string(stories.JSON(t, wanted)); got != want {
		t.Errorf("the message is\n%s, want\n%s", got, want)
	}
	got, err := wireJSON(stories.Prompt(t, "", []sessionstore.Message{sessionstore.UserMessage("hi"), m, sessionstore.ToolMessage("call_1", "1"), sessionstore.ToolMessage("x", "2")}))
	if err != nil {
		t.Fatalf("Contents() = %v", err)
	}
	if err := wirecheck.Gemini(got); err != nil {
		t.Error(err)
	}
	const wantContents = `{"contents":[{"parts":[{"text":"hi"}],"role":"user"},` +
		`{"parts":[{"text":"Let me see.","thoughtSignature":"c2ln"},{"functionCall":{"id":"call_1","args":{"a":1,"b":"\u003c\u0026\u003e"},"name":"f"},"thoughtSignature":"c2ln"},{"functionCall":{"id":"x","name":"g"}},` +
		`{"executableCode":{"code":"1","language":"PYTHON"}},{"inlineData":{"data":"` + stories.PNG + `","mimeType":"image/png"}}],"role":"model"},` +
		`{"parts":[{"functionResponse":{"id":"call_1","name":"f","response":{"output":"1"}}},{"functionResponse":{"id":"x","name":"g","response":{"output":"2"}}}],"role":"user"}]}`
	if string(got) != wantContents {
		t.Errorf("the contents are\n%s, want\n%s", got, wantContents)
	}
}

// Field report C24: a stream and a single response give equal messages.
func TestStreamAndWholeAreEqual(t *testing.T) {
	t.Parallel()
	whole, err := gemini.Message(response(t, `[{"text":"ab","thought":true},{"text":"cde"},{"text":"f","thoughtSignature":"c2ln"},{"functionCall":{"name":"f"}}]`))
	if err != nil {
		t.Fatalf("Message() = %v", err)
	}
	stream, err := gemini.Message(
		response(t, `[{"text":"a","thought":true}]`), response(t, `[{"text":"b","thought":true},{"text":"c"}]`), response(t, `[{"text":"de"}]`),
		&genai.GenerateContentResponse{}, response(t, `[{"text":"f","thoughtSignature":"c2ln"}]`), response(t, `[{"text":""},{"functionCall":{"name":"f"}}]`))
	if err != nil {
		t.Fatalf("Message() = %v", err)
	}
	if got, want := string(stories.JSON(t, stream)), string(stories.JSON(t, whole)); got != want {
		t.Errorf("the stream gives\n%s, want\n%s", got, want)
	}
}

func TestPlainAnswers(t *testing.T) {
	t.Parallel()
	for parts, want := range map[string]string{
		`[{"text":"Hello"}]`:              `"Hello"`,
		`[]`:                              `""`,
		`[{"functionCall":{"name":"f"}}]`: `null`,
		`[{"text":"","thoughtSignature":"c2ln"}]`: `[{"type":"text","text":"","thought_signature":"c2ln"}]`,
	} {
		m, err := gemini.Message(response(t, parts))
		if err != nil {
			t.Fatalf("Message(%s) = %v", parts, err)
		}
		if got := string(stories.JSON(t, m.Content)); got != want {
			t.Errorf("Message(%s) has the content %s, want %s", parts, got, want)
		}
	}
	if m, err := gemini.Message(nil); err != nil || m.Content.String() != "" {
		t.Errorf("Message(nil) = %+v, %v, want an empty answer", m, err)
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
