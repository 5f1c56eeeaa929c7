package formats_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/sessionstore/sessionstore"
)

func TestResponses(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, record, system string
		want                 []string
	}{
		{"items", `[{"role":"user","content":"2+2?"},{"type":"reasoning","id":"rs_1","summary":[]},{"type":"function_call","call_id":"c1","name":"add","arguments":"{\"a\":2,\"b\":2}"},{"type":"function_call_output","call_id":"c1","output":"4"},{"type":"message","role":"assistant","content":[{"type":"output_text","text":"4","annotations":[]}]}]`, "",
			[]string{"user: 2+2?", `assistant:  c1=add{"a":2,"b":2}`, "tool(c1): 4", "assistant: 4"}},
		{"request", `{"instructions":"Be brief.","input":[{"role":"developer","content":"Be kind."},{"role":"user","content":[{"type":"input_text","text":"hi"}]}]}`, "Be brief.",
			[]string{"developer: Be kind.", "user: "}},
		{"input of a string", `{"input":"hi"}`, "", []string{"user: hi"}},
		{"response", `{"object":"response","id":"resp_1","instructions":null,"output":[{"type":"message","role":"assistant","content":[{"type":"output_text","text":"hi","annotations":[]}]}]}`, "",
			[]string{"assistant: hi"}},
		{"log of both", `{"input":"2+2?","output":[{"type":"message","role":"assistant","content":"4"}]}`, "",
			[]string{"user: 2+2?", "assistant: 4"}},
		{"instructions of items", `{"instructions":[{"role":"system","content":"Be brief."}],"input":"hi"}`, "",
			[]string{"system: Be brief.", "user: hi"}},
		{"parallel calls", `[{"type":"function_call","call_id":"a","name":"f","arguments":"{}"},{"type":"custom_tool_call","call_id":"b","name":"g","input":"ls"},{"type":"custom_tool_call_output","call_id":"b","output":"2"},{"type":"function_call_output","call_id":"a","output":null}]`, "",
			[]string{"assistant a=f{} b=gls", "tool(b): 2", "tool(a)"}},
		{"two answers in a row", `[{"role":"assistant","content":"a"},{"role":"assistant","content":"b"}]`, "",
			[]string{"assistant: a", "assistant: b"}},
		{"a message between calls and outputs", `[{"type":"function_call","call_id":"a","name":"f","arguments":"{}"},{"role":"assistant","content":"a"},{"role":"assistant","content":"b"},{"type":"function_call_output","call_id":"a","output":"1"}]`, "",
			[]string{"assistant: ab a=f{}", "tool(a): 1"}},
		{"no items", `[]`, "", nil},
		{"nothing in the items", `{"input":[{"role":"user"},{"role":"assistant"},{"type":"message","role":"assistant","content":[]}]}`, "",
			[]string{"user", "assistant: ", "assistant: "}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if tc.record == `[]` {
				store := newStore(t)
				if rep, bad, err := importText(t, store, "responses", tc.record); err != nil || len(bad) > 0 || rep.Sessions != 0 {
					t.Errorf("Import() = %+v, %v, %v, want nothing", rep, bad, err)
				}
				return
			}
			s, messages := importOne(t, "responses", tc.record)
			if s.System != tc.system {
				t.Errorf("system %q, want %q", s.System, tc.system)
			}
			wantMessages(t, messages, tc.want...)
		})
	}
}

// What providers/openai reads is where it reads it, byte for byte.
func TestResponsesKeepsItems(t *testing.T) {
	t.Parallel()
	s, messages := importOne(t, "responses", `{"object":"response","usage":{ "total_tokens": 1 },"output":[
		{"type":"reasoning","id":"rs_1","summary":[ ],"encrypted_content":"gAAA","status":null},
		{"type":"function_call","id":"fc_1","status":"completed","call_id":"a","name":"f","arguments":"{\"x\": 1.50}","namespace":"n"},
		{"type":"message","id":"msg_1","status":"completed","role":"assistant","phase":"final_answer","x":1,"content":[
			{"type":"output_text","text":"b","annotations":[{"type":"url_citation"}],"logprobs":[]},{"type":"refusal","refusal":"no"}]},
		{"type":"web_search_call","id":"ws_1","status":"completed"},
		{"type":"compaction","encrypted_content":"e"},
		{"type":"computer_call","id":"cu_1","call_id":"x"},
		{"type":"function_call_output","call_id":"a","id":"o","status":"completed","output":[{"type":"input_image","file_id":"f"}],"y":2}]}`)
	wantJSON(t, "session extra", string(s.Extra["responses"]), `{"object":"response","usage":{"total_tokens":1}}`)
	wantJSON(t, "parts of the answer", parts(messages[0]), `{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"gAAA","status":null}
{"type":"text","text":"b","annotations":[{"type":"url_citation"}],"phase":"final_answer"}
{"type":"refusal","refusal":"no","phase":"final_answer"}
{"type":"web_search_call","id":"ws_1","status":"completed"}
{"type":"compaction","encrypted_content":"e"}
{"type":"computer_call","id":"cu_1","call_id":"x"}`)
	wantJSON(t, "extra of the answer", extra(messages[0]), "call_positions=[1]\nresponses={\"x\":1}")
	call := messages[0].ToolCalls[0]
	if call.Arguments != `{"x": 1.50}` || len(call.Extra) != 1 || string(call.Extra["namespace"]) != `"n"` {
		t.Errorf("call %+v, want its arguments and its namespace as they came", call)
	}
	wantJSON(t, "parts of the output", parts(messages[1]), `{"type":"input_image","file_id":"f"}`)
	wantJSON(t, "extra of the output", extra(messages[1]), `responses={"y":2}`)
}

func TestResponsesRefuses(t *testing.T) {
	t.Parallel()
	for record, want := range map[string]string{
		`{}`:                             "neither input nor output",
		`1`:                              "neither an object nor a list",
		`{"input":1}`:                    "input: is not a list",
		`{"input":["a"]}`:                "input[0]",
		`{"input":[{}]}`:                 "neither a type nor a role",
		`{"input":[{"type":1}]}`:         "type: is not a string",
		`{"input":"a","instructions":1}`: "instructions",
		`{"input":[{"role":"tool"}]}`:    `unknown role "tool"`,
		`{"input":[{"role":"user","content":1}]}`:                                                     "neither a string nor a list",
		`{"input":[{"role":"assistant","content":[1]}]}`:                                              "content[0]",
		`{"input":[{"type":"function_call","call_id":1}]}`:                                            "call_id",
		`{"input":[{"type":"function_call","arguments":{}}]}`:                                         "arguments",
		`{"input":[{"type":"custom_tool_call","call_id":"a","input":{}}]}`:                            "input",
		`{"input":[{"type":"function_call_output","call_id":"a","output":{}}]}`:                       "output",
		`{"input":[{"type":"function_call_output","call_id":[]}]}`:                                    "call_id",
		`{"input":[{"role":"user","content":"\udc00"}]}`:                                              "surrogate",
		`{"input":[{"type":"message","role":"assistant","content":[{"type":"refusal"},"x"]}]}`:        "content[1]",
		`{"input":[{"type":"message","role":"assistant","phase":{},"content":[{"type":"refusal"}]}]}`: "phase",
	} {
		refused(t, "responses", record, want)
	}
}

// extra returns the keys of a message that the library has no field for, one a line.
func extra(m sessionstore.Message) string {
	var lines []string
	for _, k := range slices.Sorted(maps.Keys(m.Extra)) {
		lines = append(lines, fmt.Sprintf("%s=%s", k, m.Extra[k]))
	}
	return strings.Join(lines, "\n")
}
