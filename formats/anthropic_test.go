package formats_test

import (
	"strings"
	"testing"

	"github.com/sessionstore/sessionstore"
)

func TestAnthropic(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, record, system string
		want                 []string
	}{
		{"request", `{"system":"Be brief.","messages":[{"role":"user","content":"time?"},{"role":"assistant","content":[{"type":"text","text":"Noon."}]}]}`, "Be brief.",
			[]string{"user: time?", "assistant: Noon."}},
		{"list of messages", `[{"role":"user","content":"hi"},{"role":"assistant","content":"hello"}]`, "",
			[]string{"user: hi", "assistant: hello"}},
		{"an answer alone", `{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"hello"}],"stop_reason":"end_turn","usage":{"input_tokens":1}}`, "",
			[]string{"assistant: hello"}},
		{"system of one block", `{"system":[{"type":"text","text":"Be brief."}],"messages":[{"role":"user","content":"hi"}]}`, "Be brief.",
			[]string{"user: hi"}},
		{"system of blocks", `{"system":[{"type":"text","text":"Be brief."},{"type":"text","text":"Be kind."}],"messages":[]}`, "",
			[]string{"system: Be brief.Be kind."}},
		{"no system", `{"system":null,"messages":[{"role":"user","content":[]},{"role":"assistant","content":[]},{"role":"user","content":null}]}`, "",
			[]string{"user: ", "assistant: ", "user"}},
		{"parallel calls", `{"messages":[{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"clock","input":{"n":9007199254740993}},{"type":"tool_use","id":"b","name":"zone","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":[{"type":"text","text":"12:00"}]},{"type":"tool_result","tool_use_id":"b","is_error":true,"content":"n/a"},{"type":"text","text":"thanks"}]}]}`, "",
			[]string{`assistant a=clock{"n":9007199254740993} b=zone{}`, "tool(a): 12:00", "tool(b): n/a", "user: thanks"}},
		{"results alone", `{"messages":[{"role":"assistant","content":[{"type":"text","text":"let me see"},{"type":"tool_use","id":"a","name":"clock"}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"a"}]}]}`, "",
			[]string{"assistant: let me see a=clock", "tool(a)"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s, messages := importOne(t, "anthropic", tc.record)
			if s.System != tc.system {
				t.Errorf("system %q, want %q", s.System, tc.system)
			}
			wantMessages(t, messages, tc.want...)
		})
	}
}

// What providers/anthropic reads is where it reads it, byte for byte.
func TestAnthropicKeepsBlocks(t *testing.T) {
	t.Parallel()
	s, messages := importOne(t, "anthropic", `{"model":"m","tools":[ {"name":"clock"} ],"messages":[
		{"role":"user","id":"u1","content":[{"type":"image","source":{"type":"file","file_id":"f"},"cache_control":{"type":"ephemeral"}}]},
		{"role":"assistant","content":[
			{"type":"thinking","thinking":"hm","signature":"c2ln"},
			{"type":"redacted_thinking","data":"ZGF0YQ=="},
			{"type":"tool_use","id":"a","name":"clock","input":{ "x": 1.50 },"cache_control":{"type":"ephemeral"}},
			{"type":"text","text":"after","citations":null},
			{"type":"server_tool_use","id":"s","name":"web_search","input":{"query":"q"}}]},
		{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"1","is_error":false,"cache_control":{"type":"ephemeral"},"x":1}]}]}`)
	wantJSON(t, "session extra", string(s.Extra["anthropic"]), `{"model":"m","tools":[{"name":"clock"}]}`)
	wantJSON(t, "parts of the user", parts(messages[0]), `{"type":"image","source":{"type":"file","file_id":"f"},"cache_control":{"type":"ephemeral"}}`)
	wantJSON(t, "extra of the user", extra(messages[0]), `anthropic={"id":"u1"}`)
	wantJSON(t, "parts of the answer", parts(messages[1]), `{"type":"thinking","thinking":"hm","signature":"c2ln"}
{"type":"redacted_thinking","data":"ZGF0YQ=="}
{"type":"text","text":"after"}
{"type":"server_tool_use","id":"s","name":"web_search","input":{"query":"q"}}`)
	call := messages[1].ToolCalls[0]
	if want := `{"x":1.50}`; call.Arguments != want || string(call.Extra["cache_control"]) != `{"type":"ephemeral"}` {
		t.Errorf("call %+v, want the arguments %s and its cache_control", call, want)
	}
	wantJSON(t, "extra of the answer", extra(messages[1]), `call_positions=[2]`)
	wantJSON(t, "extra of the result", extra(messages[2]), "anthropic={\"x\":1}\ncache_control={\"type\":\"ephemeral\"}\nis_error=false")
}

func TestAnthropicRefuses(t *testing.T) {
	t.Parallel()
	for record, want := range map[string]string{
		`{}`:                             "neither messages nor a role",
		`1`:                              "neither an object nor a list",
		`{"messages":{}}`:                "is not a list",
		`{"messages":["a"]}`:             "messages[0]",
		`{"messages":[{"role":"tool"}]}`: `unknown role "tool"`,
		`{"messages":[{"content":"a"}]}`: `unknown role ""`,
		`{"messages":[{"role":"user","content":1}]}`:                                                            "neither a string nor a list",
		`{"messages":[{"role":"user","content":[1]}]}`:                                                          "content[0]",
		`{"messages":[{"role":"assistant","content":["a"]}]}`:                                                   "content[0]",
		`{"messages":[{"role":"assistant","content":[{"type":"tool_use","id":1,"name":"a"}]}]}`:                 "id: is not a string",
		`{"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":1}]}]}`:                     "tool_use_id",
		`{"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":{"a":1}}]}]}`: "neither a string nor a list",
		`{"system":1,"messages":[]}`:                                                                            "system",
		`{"system":[1],"messages":[]}`:                                                                          "system[0]",
		`{"messages":[{"role":"user","content":"\ud83d"}]}`:                                                     "surrogate",
	} {
		refused(t, "anthropic", record, want)
	}
}

// refused checks that a record is reported, with a reason that has want in it.
func refused(t *testing.T, format, record, want string) {
	t.Helper()
	store := newStore(t)
	rep, bad, err := importText(t, store, format, record)
	if err != nil || len(bad) != 1 || !strings.Contains(bad[0].Error(), want) {
		t.Errorf("Import(%s) of %s = %+v, %v, bad records %v; want one because of %q", format, record, rep, err, bad, want)
	}
	if n := len(allSessions(t, store)); n != 0 {
		t.Errorf("Import(%s) of %s wrote %d sessions", format, record, n)
	}
}

func wantJSON(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s\n got %s\nwant %s", what, got, want)
	}
}

// parts returns the parts of a message, one a line.
func parts(m sessionstore.Message) string {
	var lines []string
	for _, p := range m.Content.All() {
		lines = append(lines, string(p.Raw()))
	}
	return strings.Join(lines, "\n")
}
