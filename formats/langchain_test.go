package formats_test

import (
	"strings"
	"testing"

	"github.com/sessionstore/sessionstore/formats"
)

func TestLangChain(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, record, system string
		want                 []string
	}{
		{"new", `[{"type":"system","data":{"content":"Be kind.","type":"system"}},{"type":"human","data":{"content":"hi","additional_kwargs":{},"response_metadata":{},"type":"human","name":null,"id":null}},{"type":"ai","data":{"content":"","additional_kwargs":{},"tool_calls":[{"name":"clock","args":{ "n": 9007199254740993 },"id":"c1","type":"tool_call"}],"invalid_tool_calls":[{"name":"zone","args":"{cut","id":"c2","error":"x"}],"type":"ai","id":"run-1"}},{"type":"tool","data":{"content":"12:00","tool_call_id":"c1","status":"success","type":"tool"}}]`, "Be kind.",
			[]string{"user: hi", `assistant:  c1=clock{ "n": 9007199254740993 } c2=zone{cut`, "tool(c1): 12:00"}},
		{"old", `[{"type":"ai","data":{"content":"","additional_kwargs":{"tool_calls":[{"id":"c1","type":"function","function":{"name":"clock","arguments":"{}"}}]}}},{"type":"tool","data":{"content":"1","tool_call_id":"c1"}},{"type":"ai","data":{"content":"","additional_kwargs":{"function_call":{"name":"zone","arguments":"{ }"}}}},{"type":"function","data":{"name":"zone","content":"2"}}]`, "",
			[]string{"assistant:  c1=clock{}", "tool(c1): 1", "assistant:  call_1=zone{ }", "tool(call_1): 2"}},
		{"constructors", `[{"lc":1,"type":"constructor","id":["langchain","schema","messages","HumanMessage"],"kwargs":{"content":"hi"}},{"lc":1,"type":"constructor","id":["langchain_core","messages","ai","AIMessageChunk"],"kwargs":{"content":["a",{"type":"text","text":"b"}]}},{"lc":1,"type":"constructor","id":["langchain_core","messages","tool","ToolMessage"],"kwargs":{"content":"x","tool_call_id":"c"}}]`, "",
			[]string{"user: hi", "assistant: ab", "tool(c): x"}},
		{"fields alone", `[{"type":"human","content":"hi"},{"type":"AIMessageChunk","content":"hello"}]`, "",
			[]string{"user: hi", "assistant: hello"}},
		{"chat, generic and remove", `{"messages":[{"type":"chat","data":{"role":"assistant","content":"a"}},{"type":"chat","data":{"role":"User","content":"b"}},{"type":"generic","data":{"type":"generic","content":"c"}},{"type":"remove","data":{"id":"x","content":""}}]}`, "",
			[]string{"assistant: a", "user: b", "user: c"}},
		{"langchaingo", `[{"type":"ai","data":{"type":"ai","content":"a"}},{"type":"tool","data":{"type":"tool","content":"b"}}]`, "",
			[]string{"assistant: a", "tool: b"}},
		{"strings of dictionaries", `["{\"type\":\"human\",\"data\":{\"content\":\"hi\"}}"]`, "", []string{"user: hi"}},
		{"one alone", `{"type":"human","data":{"content":"hi"}}`, "", []string{"user: hi"}},
		{"developer", `{"messages":[{"type":"system","data":{"content":"Be kind.","additional_kwargs":{"__openai_role__":"developer"}}}]}`, "", []string{"developer: Be kind."}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			record := tc.record
			if strings.HasPrefix(record, `["`) {
				record = `{"messages":` + record + `}`
			}
			s, messages := importOne(t, "langchain", record)
			if s.System != tc.system {
				t.Errorf("system %q, want %q", s.System, tc.system)
			}
			wantMessages(t, messages, tc.want...)
		})
	}
}

func TestLangChainKeepsWhatItDoesNotKnow(t *testing.T) {
	t.Parallel()
	s, messages := importOne(t, "langchain", `{"thread":"t","messages":[
		{"type":"ai","data":{"content":"a","id":"run-1","example":false,"name":"bot","additional_kwargs":{"refusal":"no"},"response_metadata":{},"usage_metadata":{"input_tokens":1},"tool_calls":[{"name":"f","args":{},"id":"c","type":"tool_call","x":1}]}},
		{"type":"tool","data":{"content":"b","tool_call_id":"c","status":"error","artifact":[ 1.0 ]}}]}`)
	wantJSON(t, "session extra", string(s.Extra["langchain"]), `{"thread":"t"}`)
	wantJSON(t, "extra of the answer", extra(messages[0]), `langchain={"id":"run-1","additional_kwargs":{"refusal":"no"},"usage_metadata":{"input_tokens":1}}`)
	wantJSON(t, "extra of the call", string(messages[0].ToolCalls[0].Extra["langchain"]), `{"x":1}`)
	wantJSON(t, "extra of the result", extra(messages[1]), "is_error=true\nlangchain={\"artifact\":[1.0]}")
	if messages[0].Name != "bot" {
		t.Errorf("name %q, want bot", messages[0].Name)
	}
}

// Rows of one session are one conversation, whatever lies between them.
func TestLangChainRows(t *testing.T) {
	t.Parallel()
	human := func(s string) string { return `{"type":"human","data":{"content":"` + s + `"}}` }
	quoted := func(s string) string { return `"` + strings.ReplaceAll(s, `"`, `\"`) + `"` }
	for name, file := range map[string]string{
		"sql":            `{"id":1,"session_id":"a","message":` + quoted(human("1")) + "}\n" + `{"id":2,"session_id":"b","message":` + human("x") + "}\n" + `{"id":3,"session_id":"a","message":` + human("2") + `}`,
		"mongo":          `[{"_id":1,"SessionId":"a","History":` + quoted(human("1")) + `},{"SessionId":"b","History":` + quoted(human("x")) + `},{"SessionId":"a","History":` + quoted(human("2")) + `}]`,
		"redis":          `{"key":"message_store:b","value":[` + human("x") + "]}\n" + `{"key":"message_store:a","value":[` + quoted(human("2")) + `,` + quoted(human("1")) + `]}`,
		"redis, by keys": `{"message_store:a":[` + quoted(human("2")) + `,` + quoted(human("1")) + `],"message_store:b":[` + human("x") + `]}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := newStore(t)
			importFile(t, store, "langchain", strings.NewReader(file), formats.Report{Sessions: 2, Messages: 3})
			wantMessages(t, history(t, store, "a"), "user: 1", "user: 2")
			wantMessages(t, history(t, store, "b"), "user: x")
			importFile(t, store, "langchain", strings.NewReader(file), formats.Report{Skipped: 2})
		})
	}
}

// Field report I05: a bad row keeps its session out, and no other.
func TestLangChainBadRow(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{
		`{"session_id":"a","message":{"type":"robot","data":{"content":"x"}}}`,
		`{"session_id":"a","message":"{cut"}`,
		`{"session_id":"a","message":"\ud83d"}`,
		`{"session_id":"a","message":null}`,
	} {
		store := newStore(t)
		rep, errs, err := importText(t, store, "langchain", `{"session_id":"a","message":{"type":"human","data":{"content":"1"}}}`+"\n"+bad+"\n"+`{"session_id":"b","message":{"type":"human","data":{"content":"2"}}}`)
		if err != nil || len(errs) != 1 || errs[0].Line != 2 || rep.Sessions != 1 {
			t.Errorf("with %s: %+v, %v, bad records %v, want one session and an error at line 2", bad, rep, err, errs)
		}
		wantMessages(t, history(t, store, "b"), "user: 2")
	}
}

// The messages of a long session are not all in memory, and stay in order.
func TestLangChainLongSession(t *testing.T) {
	t.Parallel()
	var file strings.Builder
	text := strings.Repeat("x", 10<<10)
	const n = 1000
	for range n {
		file.WriteString(`{"session_id":"a","message":{"type":"human","data":{"content":"` + text + `"}}}` + "\n")
	}
	file.WriteString(`{"session_id":"a","message":{"type":"human","data":{"content":"last"}}}`)
	store := newStore(t)
	importFile(t, store, "langchain", strings.NewReader(file.String()), formats.Report{Sessions: 1, Messages: n + 1})
	got := history(t, store, "a")
	if len(got) != n+1 || got[0].Content.String() != text || got[n].Content.String() != "last" {
		t.Errorf("%d messages came, the last one says %q; want %d in order", len(got), got[len(got)-1].Content, n+1)
	}
}

func TestLangChainRefuses(t *testing.T) {
	t.Parallel()
	for record, want := range map[string]string{
		`{}`:                         "type",
		`1`:                          "is not a list",
		`{"messages":{}}`:            "is not a list",
		`{"messages":[1]}`:           "messages[0]",
		`{"messages":["{"]}`:         "messages[0]",
		`{"type":1,"data":{}}`:       "type: is not a string",
		`{"type":"human","data":1}`:  "data: is not an object",
		`{"type":"robot","data":{}}`: `unknown type "robot"`,
		`{"type":"chat","data":{"role":"robot"}}`:                     `unknown role "robot"`,
		`{"type":"human","data":{"content":1}}`:                       "content",
		`{"type":"human","data":{"content":[1]}}`:                     "content[0]",
		`{"type":"human","data":{"name":1}}`:                          "name: is not a string",
		`{"type":"tool","data":{"tool_call_id":1}}`:                   "tool_call_id",
		`{"type":"ai","data":{"tool_calls":{}}}`:                      "tool_calls: is not a list",
		`{"type":"ai","data":{"tool_calls":[1]}}`:                     "tool_calls[0]",
		`{"type":"ai","data":{"tool_calls":[{"id":1}]}}`:              "id: is not a string",
		`{"type":"ai","data":{"invalid_tool_calls":[{"name":1}]}}`:    "name: is not a string",
		`{"type":"ai","data":{"additional_kwargs":{"tool_calls":1}}}`: "additional_kwargs",
		`{"lc":1,"type":"constructor","id":["HumanMessage"]}`:         "kwargs",
		`{"session_id":1,"message":{}}`:                               "session_id",
		`{"session_id":"a","message":[]}`:                             "is not a message",
		`{"key":"","value":[]}`:                                       "key",
		`{"key":"a","value":1}`:                                       "is not a list",
		`{"type":"human","data":{"content":"\ud83d"}}`:                "surrogate",
	} {
		refused(t, "langchain", record, want)
	}
}
