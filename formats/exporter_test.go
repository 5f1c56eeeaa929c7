package formats_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/formats"
)

// storeOf returns a store with what text says in a format.
func storeOf(t *testing.T, format, text string) sessionstore.SessionStore {
	t.Helper()
	store := newStore(t)
	if rep, bad, err := importText(t, store, format, text); err != nil || len(bad) > 0 {
		t.Fatalf("Import(%s) = %+v, %v, bad records %v", format, rep, err, bad)
	}
	return store
}

// TestExportNormalises shows what an export writes differently than it was read, by
// format.
func TestExportNormalises(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, format, in, out string }{
		{"results follow their calls", "openai",
			`{"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"","tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":""}}]},{"role":"user","content":"b"},{"role":"tool","tool_call_id":"1","content":[]}]}`,
			`{"messages":[{"role":"user","content":"a"},{"role":"assistant","content":null,"tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","content":"","tool_call_id":"1"},{"role":"user","content":"b"}]}`},
		{"the legacy forms become the present ones", "openai",
			`{"messages":[{"role":"user","content":"a"},{"role":"assistant","content":null,"function_call":{"name":"f","arguments":"{}"}},{"role":"function","name":"f","content":"1"}]}`,
			`{"messages":[{"role":"user","content":"a"},{"role":"assistant","content":null,"tool_calls":[{"id":"call_1","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","content":"1","name":"f","tool_call_id":"call_1"}]}`},
		{"what requests do not take", "openai",
			`{"messages":[{"role":"user","content":[{"type":"image_url","image_url":"https://example.com/a.png"},{"type":"text","text":null}]},{"role":"assistant","content":"a","weight":1,"reasoning_content":"x","tool_calls":[]}]}`,
			`{"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"https://example.com/a.png"}}]},{"role":"assistant","content":"a"}]}`},
		{"a plain text is a string", "anthropic",
			`{"system":[{"type":"text","text":"s"}],"messages":[{"role":"user","content":[{"type":"text","text":"a"}]}]}`,
			`{"system":"s","messages":[{"role":"user","content":"a"}]}`},
		{"sides alternate, and the user begins", "anthropic",
			`[{"role":"assistant","content":"a"},{"role":"user","content":"b"},{"role":"user","content":[{"type":"text","text":" "},{"type":"text","text":"c"}]}]`,
			`{"messages":[{"role":"user","content":"(The assistant begins the conversation.)"},{"role":"assistant","content":"a"},{"role":"user","content":[{"type":"text","text":"b"},{"type":"text","text":"c"}]}]}`},
		{"thinking must be signed, and followed", "anthropic",
			`[{"role":"user","content":"a"},{"role":"assistant","content":[{"type":"thinking","thinking":"x"},{"type":"text","text":"b"},{"type":"thinking","thinking":"y","signature":"z"}]}]`,
			`{"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b"}]}`},
		{"results of a string are a list, and false errors nothing", "anthropic",
			`[{"role":"user","content":"a"},{"role":"assistant","content":[{"type":"tool_use","id":"1","name":"f"}]},{"role":"user","content":[{"type":"text","text":"late"},{"type":"tool_result","tool_use_id":"1","content":"r","is_error":false}]}]`,
			`{"messages":[{"role":"user","content":"a"},{"role":"assistant","content":[{"type":"tool_use","id":"1","name":"f","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":[{"type":"text","text":"r"}]},{"type":"text","text":"late"}]}]}`},
		{"items without ids and statuses, and with types", "responses",
			`[{"role":"user","content":[{"type":"input_text","text":"a"}],"id":"m1"},{"type":"reasoning","id":"rs_1","summary":[],"status":"completed"},{"id":"m2","role":"assistant","status":"completed","content":"b"},{"type":"item_reference","id":"x"}]`,
			`{"input":[{"type":"message","role":"user","content":"a"},{"type":"reasoning","id":"rs_1","summary":[]},{"type":"message","role":"assistant","content":[{"type":"output_text","text":"b","annotations":[]}]}]}`},
		{"reasoning must be followed", "responses",
			`[{"role":"user","content":"a"},{"type":"reasoning","id":"rs_1","summary":[]},{"role":"user","content":"b"}]`,
			`{"input":[{"type":"message","role":"user","content":"a"},{"type":"message","role":"user","content":"b"}]}`},
		{"the present names, and arguments as an object", "sharegpt",
			`{"conversations":[{"role":"system","content":"s"},{"from":"user","value":"a"},{"from":"function_call","value":"[{\"name\":\"f\",\"arguments\":\"{ }\"},{\"name\":\"g\"}]"},{"from":"tool","value":"1"},{"from":"function_response","value":"2"},{"from":"assistant","value":"b"}]}`,
			`{"system":"s","conversations":[{"from":"human","value":"a"},{"from":"function_call","value":"{\"name\":\"f\",\"arguments\":{ }}"},{"from":"function_call","value":"{\"name\":\"g\",\"arguments\":{}}"},{"from":"observation","value":"1"},{"from":"observation","value":"2"},{"from":"gpt","value":"b"}]}`},
		{"old dictionaries become new ones", "langchain",
			`[{"type":"AIMessageChunk","content":[ "a" ]},{"lc":1,"type":"constructor","id":["HumanMessage"],"kwargs":{"content":"b"}}]`,
			`{"messages":[{"type":"ai","data":{"content":[{"type":"text","text":"a"}],"additional_kwargs":{},"response_metadata":{},"type":"ai","name":null,"id":null,"tool_calls":[],"invalid_tool_calls":[]}},{"type":"human","data":{"content":"b","additional_kwargs":{},"response_metadata":{},"type":"human","name":null,"id":null}}]}`},
		{"version 4 becomes version 5", "vercel",
			`{"id":"c","messages":[{"id":"1","role":"user","content":"a"},{"id":"2","role":"assistant","content":"c","toolInvocations":[{"state":"result","toolCallId":"x","toolName":"f","args":{},"result":[1]}]}]}`,
			`{"id":"c","messages":[{"id":"1","role":"user","parts":[{"type":"text","text":"a"}]},{"id":"2","role":"assistant","parts":[{"type":"step-start"},{"type":"text","text":"c"},{"type":"tool-f","toolCallId":"x","state":"output-available","input":{},"output":[1]}]}]}`},
	} {
		t.Run(tc.format+"/"+tc.name, func(t *testing.T) {
			t.Parallel()
			store := storeOf(t, tc.format, tc.in)
			got, _ := exportText(t, store, tc.format, nil)
			if !reflect.DeepEqual(parsed(t, got), parsed(t, tc.out)) {
				t.Errorf("got\n%s\nwant\n%s", got, tc.out)
			}
			if check := checkers[tc.format]; check != nil {
				if err := check([]byte(got)); err != nil {
					t.Error(err)
				}
			}
			// What was written is as it would be written.
			again, _ := exportText(t, storeOf(t, tc.format, got), tc.format, nil)
			if !reflect.DeepEqual(parsed(t, again), parsed(t, got)) {
				t.Errorf("a second time\n got %s\nwant %s", again, got)
			}
		})
	}
}

// Lines of a fine-tuning file come back as they were: calls at the end have no results,
// and preference data is preference data.
func TestFinetuneRoundTrip(t *testing.T) {
	t.Parallel()
	for i, line := range strings.Split(strings.TrimSpace(testdata(t, "finetune.jsonl")), "\n") {
		got, report := exportText(t, storeOf(t, "openai", line), "finetune", nil)
		if !reflect.DeepEqual(parsed(t, got), parsed(t, line)) || len(report.Left) > 0 {
			t.Errorf("line %d\n got %s\nwant %s\nleft out: %v", i+1, got, line, report.Left)
		}
	}
}

func TestExportChoice(t *testing.T) {
	t.Parallel()
	store := storeOf(t, "sharegpt", `{"conversations":[{"from":"human","value":"a"}]}`+"\n"+`{"conversations":[{"from":"human","value":"b"}]}`+"\n"+`{"conversations":[]}`)
	var ids []string
	for _, s := range allSessions(t, store) {
		ids = append(ids, s.ID)
	}
	text, report := exportText(t, store, "openai", nil)
	if strings.Count(text, "\n") != 2 || report.Sessions != 2 || report.Messages != 2 || report.Empty != 1 || len(report.Left) > 0 {
		t.Errorf("got %+v and\n%s\nwant two conversations of a message, and one that is empty", report, text)
	}
	text, report = exportText(t, store, "openai", &formats.ExportOptions{IDs: []string{ids[0], "none", ids[0], ids[1], ids[2]}, Array: true})
	if list, ok := parsed(t, text).([]any); !ok || len(list) != 2 || !slices.Equal(report.Missing, []string{"none"}) {
		t.Errorf("got %+v and\n%s\nwant a list of two, and none missing", report, text)
	}
	text, report = exportText(t, store, "openai", &formats.ExportOptions{Query: sessionstore.SessionQuery{UserID: "nobody"}, Array: true})
	if text != "[]\n" || report.Sessions != 0 {
		t.Errorf("got %+v and %q, want an empty list", report, text)
	}
	text, _ = exportText(t, store, "openai", &formats.ExportOptions{Query: sessionstore.SessionQuery{UserID: "nobody"}})
	if text != "" {
		t.Errorf("got %q, want nothing", text)
	}
}

func TestExportRefuses(t *testing.T) {
	t.Parallel()
	store := storeOf(t, "openai", `{"messages":[{"role":"user","content":"a"}]}`)
	for _, tc := range []struct {
		format string
		o      formats.ExportOptions
	}{
		{"xml", formats.ExportOptions{}},
		{"chatgpt", formats.ExportOptions{}},
		{"native", formats.ExportOptions{Array: true}},
		{"native", formats.ExportOptions{DropUnanswered: true}},
		{"openai", formats.ExportOptions{Query: sessionstore.SessionQuery{Cursor: "x"}}},
		{"openai", formats.ExportOptions{Query: sessionstore.SessionQuery{Limit: -1}}},
		{"openai", formats.ExportOptions{IDs: []string{"a"}, Query: sessionstore.SessionQuery{UserID: "u"}}},
		{"openai", formats.ExportOptions{IDs: []string{""}}},
	} {
		var out strings.Builder
		if _, err := formats.Export(t.Context(), store, tc.format, &out, &tc.o); !errors.Is(err, sessionstore.ErrInvalid) {
			t.Errorf("Export(%s, %+v) = %v, want ErrInvalid", tc.format, tc.o, err)
		}
		if out.Len() > 0 {
			t.Errorf("Export(%s, %+v) wrote %q", tc.format, tc.o, &out)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, format := range formats.ExportNames() {
		if _, err := formats.Export(ctx, store, format, &strings.Builder{}, nil); !errors.Is(err, context.Canceled) {
			t.Errorf("Export(%s) with a done context = %v", format, err)
		}
		if _, err := formats.Export(t.Context(), store, format, full{}, nil); !errors.Is(err, errFull) {
			t.Errorf("Export(%s) to a full disk = %v", format, err)
		}
	}
}

var errFull = errors.New("disk full")

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errFull }

// What is left out is counted, and what would be refused is not sent.
func TestExportCountsWhatIsLeft(t *testing.T) {
	t.Parallel()
	store := newStore(t)
	m := sessionstore.NewManager(store, nil)
	s, err := m.Start(t.Context(), sessionstore.Session{Metadata: sessionstore.Metadata{"a": 1}, Extra: map[string]json.RawMessage{"x": json.RawMessage("1")}})
	if err != nil {
		t.Fatal(err)
	}
	part := func(raw string) sessionstore.Part {
		p, err := sessionstore.ParsePart([]byte(raw))
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	user := sessionstore.Message{Role: sessionstore.RoleUser, Name: "Ada", Metadata: sessionstore.Metadata{"b": 2}, Content: sessionstore.Parts(
		sessionstore.TextPart("look"),
		part(`{"type":"image_url","image_url":{"url":"data:image/png;base64,!"}}`),
		part(`{"type":"input_audio","input_audio":{"data":"UklGRg==","format":"flac"}}`),
		part(`{"type":"image","source":{"type":"file","file_id":"f"}}`))}
	answer := sessionstore.AssistantMessage("", sessionstore.ToolCall{ID: "a", Name: "f", Arguments: "{}", Extra: map[string]json.RawMessage{"y": json.RawMessage("1")}})
	answer.Content = sessionstore.Parts(part(`{"type":"hologram"}`), part(`{"type":"thinking","thinking":"x","signature":"y"}`))
	answer.Extra = map[string]json.RawMessage{"reasoning_content": json.RawMessage(`"x"`)}
	if _, err := m.Append(t.Context(), s.ID, user, sessionstore.ToolMessage("none", "stray"), answer, sessionstore.UserMessage("and?")); err != nil {
		t.Fatal(err)
	}
	for format, want := range map[string]string{
		"openai":    "audio 1, call without a result 1, hologram part 1, image 1, key of a call 1, key of a message 1, key of a session 1, malformed attachment 1, metadata of a message 1, metadata of a session 1, thinking part 1, unpaired, repeated or empty message 1",
		"anthropic": "audio 1, call without a result 1, hologram part 1, key of a call 1, key of a message 1, key of a session 1, malformed attachment 1, metadata of a message 1, metadata of a session 1, name of a speaker 1, unpaired, repeated or empty message 1",
		"responses": "audio 1, call without a result 1, hologram part 1, image 1, key of a call 1, key of a message 1, key of a session 1, malformed attachment 1, metadata of a message 1, metadata of a session 1, name of a speaker 1, thinking part 1, unpaired, repeated or empty message 1",
		"sharegpt":  "call without a result 1, hologram part 1, image part 1, image_url part 1, input_audio part 1, key of a call 1, key of a message 1, key of a session 1, metadata of a message 1, metadata of a session 1, name of a speaker 1, thinking part 1, unpaired, repeated or empty message 1",
		"langchain": "call without a result 1, key of a call 1, key of a session 1, metadata of a message 1, metadata of a session 1, unpaired, repeated or empty message 1",
		"vercel":    "call without a result 1, hologram part 1, image part 1, key of a call 1, key of a message 1, key of a session 1, malformed attachment 1, metadata of a session 1, name of a speaker 1, unpaired, repeated or empty message 1",
		"native":    "",
	} {
		text, report := exportText(t, store, format, nil)
		var got []string
		for kind, n := range report.Left {
			got = append(got, fmt.Sprintf("%s %d", kind, n))
		}
		slices.Sort(got)
		if g := strings.Join(got, ", "); g != want {
			t.Errorf("Export(%s) left out\n got %s\nwant %s", format, g, want)
		}
		if check := checkers[format]; check != nil {
			if err := check([]byte(text)); err != nil {
				t.Errorf("%v\nin %s", err, text)
			}
		}
		if report.Messages != 3 && format != "native" {
			t.Errorf("Export(%s) counts %d messages, want 3", format, report.Messages)
		}
	}
}

// Field report C02: a call without a result gets one, or is left out by option.
func TestExportOfUnansweredCalls(t *testing.T) {
	t.Parallel()
	store := storeOf(t, "openai", `{"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b","tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"user","content":"d"}]}`)
	for _, format := range formats.ExportNames() {
		if format == "native" {
			continue
		}
		answered, report := exportText(t, store, format, nil)
		if !strings.Contains(answered, sessionstore.NoToolResult) || report.Left["call without a result"] != 1 {
			t.Errorf("Export(%s) left out %v; want an answered call in\n%s", format, report.Left, answered)
		}
		dropped, _ := exportText(t, store, format, &formats.ExportOptions{DropUnanswered: true})
		if strings.Contains(dropped, `"f"`) || strings.Contains(dropped, "tool-f") || strings.Contains(dropped, sessionstore.NoToolResult) {
			t.Errorf("Export(%s) has a call that was to be left out:\n%s", format, dropped)
		}
	}
}
