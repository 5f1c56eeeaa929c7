package formats_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/sessionstore/sessionstore/formats"
)

func TestOpenAI(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, record, system string
		want                 []string
	}{
		{"object", `{"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":"hello"}]}`, "",
			[]string{"user: hi", "assistant: hello"}},
		{"list of messages", `[{"role":"system","content":"You are Mo."},{"role":"user","content":"hi"}]`, "You are Mo.",
			[]string{"user: hi"}},
		{"list of messages over lines", "[\n {\"role\":\"user\",\"content\":\"hi\"},\n {\"role\":\"assistant\",\"content\":\"hello\"}\n]\n", "",
			[]string{"user: hi", "assistant: hello"}},
		{"no messages", `{"messages":[]}`, "", nil},
		{"two systems", `{"messages":[{"role":"system","content":"A"},{"role":"system","content":"B"},{"role":"user","content":"hi"}]}`, "A",
			[]string{"system: B", "user: hi"}},
		{"system later", `{"messages":[{"role":"user","content":"hi"},{"role":"system","content":"A"}]}`, "",
			[]string{"user: hi", "system: A"}},
		{"system with a name", `{"messages":[{"role":"system","content":"A","name":"x"}]}`, "", []string{"system: A"}},
		{"system of parts", `{"messages":[{"role":"system","content":[{"type":"text","text":"A"}]}]}`, "", []string{"system: A"}},
		{"empty system", `{"messages":[{"role":"system","content":""}]}`, "", []string{"system: "}},
		{"developer", `{"messages":[{"role":"developer","content":"A"},{"role":"user","content":"hi"}]}`, "", []string{"developer: A", "user: hi"}},
		{"tool calls", `{"messages":[{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"lookup","arguments":"{\"n\":9007199254740993}"}},{"id":"c2","type":"function","function":{"name":"ping","arguments":""}}]},{"role":"tool","tool_call_id":"c2","content":"pong"},{"role":"tool","tool_call_id":"c1","content":"x"}]}`, "",
			[]string{`assistant c1=lookup{"n":9007199254740993} c2=ping`, "tool(c2): pong", "tool(c1): x"}},
		{"legacy functions", `{"messages":[{"role":"user","content":"?","function_call":null},{"role":"assistant","content":null,"function_call":{"name":"f","arguments":"{ \"a\":1}"}},{"role":"function","name":"f","content":"1"},{"role":"assistant","content":"and","function_call":{"name":"g","arguments":"{}"}},{"role":"function","name":"g","content":"2"},{"role":"function","name":"g","content":"3"}]}`, "",
			[]string{"user: ?", `assistant call_1=f{ "a":1}`, "tool(call_1): 1", "assistant: and call_2=g{}", "tool(call_2): 2", "tool: 3"}},
		{"preference", `{"input":{"messages":[{"role":"system","content":"A"},{"role":"user","content":"hi"}],"tools":[],"parallel_tool_calls":true},"preferred_output":[{"role":"assistant","content":"good"}],"non_preferred_output":[{"role":"assistant","content":"bad"}]}`, "A",
			[]string{"user: hi", "assistant: good"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s, messages := importOne(t, "openai", tc.record)
			if s.System != tc.system {
				t.Errorf("system %q, want %q", s.System, tc.system)
			}
			wantMessages(t, messages, tc.want...)
		})
	}
}

func TestOpenAIKeepsWhatItDoesNotKnow(t *testing.T) {
	t.Parallel()
	s, messages := importOne(t, "openai", `{"tools":[{"type":"function","function":{"name":"f","parameters":{"const":1.0}}}],"parallel_tool_calls":false,"functions":[],"status":1,"messages":[
		{"role":"assistant","content":"a","weight":0,"refusal":null},
		{"role":"user","name":"ada","content":[{"type":"text","text":"b"},{"type":"image_url","image_url":{"url":"https://x.example/i.png","detail":"low"}}]}]}`)
	want := `{"tools":[{"type":"function","function":{"name":"f","parameters":{"const":1.0}}}],"parallel_tool_calls":false,"functions":[],"status":1}`
	if got := string(s.Extra["openai"]); got != want {
		t.Errorf("session extra\n got %s\nwant %s", got, want)
	}
	if got := string(messages[0].Extra["weight"]) + string(messages[0].Extra["refusal"]); got != "0null" {
		t.Errorf("weight and refusal %q, want 0 and null", got)
	}
	if m := messages[1]; m.Name != "ada" || m.Content.String() != "b" {
		t.Errorf("name %q, text %q, want ada, b", m.Name, m.Content.String())
	}
	raw, err := json.Marshal(messages[1].Content)
	if want := `[{"type":"text","text":"b"},{"type":"image_url","image_url":{"url":"https://x.example/i.png","detail":"low"}}]`; err != nil || string(raw) != want {
		t.Errorf("content\n got %s, %v\nwant %s", raw, err, want)
	}

	s, _ = importOne(t, "openai", `{"input":{"tools":[1],"messages":[]},"preferred_output":[],"non_preferred_output":[{"role":"assistant","content":"bad"}],"id":7}`)
	if got, want := string(s.Extra["openai"]), `{"non_preferred_output":[{"role":"assistant","content":"bad"}],"id":7,"input":{"tools":[1]}}`; got != want {
		t.Errorf("extra of a preference line\n got %s\nwant %s", got, want)
	}
}

func TestOpenAIFile(t *testing.T) {
	t.Parallel()
	store := newStore(t)
	importFile(t, store, "openai", strings.NewReader(testdata(t, "openai.jsonl")), formats.Report{Sessions: 4, Messages: 14})
	systems := map[string]int{}
	for _, s := range allSessions(t, store) {
		systems[s.System]++
		checkPairs(t, s.ID, history(t, store, s.ID))
	}
	if systems["You are Pip, a parrot."] != 2 || systems[""] != 2 {
		t.Errorf("systems %v, want two of Pip and two without", systems)
	}
}

func TestOpenAIRefuses(t *testing.T) {
	t.Parallel()
	for record, why := range map[string]string{
		`7`:                 "neither an object nor a list",
		`{}`:                "neither messages nor input",
		`{"messages":7}`:    "messages: is not a list",
		`{"messages":null}`: "messages: is not a list",
		`{"messages":[7]}`:  "messages[0]",
		`{"input":{}}`:      "neither messages nor input",
		`{"input":{"messages":[]},"preferred_output":7}`:                       "preferred_output: is not a list",
		`{"messages":[{"role":"user","content":7}]}`:                           "messages[0]: invalid content",
		`{"messages":[{"role":"user","content":"a"},{"role":"x"}]}`:            "messages[1]: invalid role",
		`{"messages":[{"role":"assistant","function_call":{"arguments":""}}]}`: "messages[0]: invalid function_call: has no name",
		`{"messages":[{"role":"assistant","function_call":"f"}]}`:              "function_call: is not an object",
	} {
		store := newStore(t)
		rep, bad, err := importText(t, store, "openai", "{\"messages\":[]}\n"+record+"\n")
		if err != nil || rep.Sessions != 1 || len(bad) != 1 || bad[0].Line != 2 || !strings.Contains(bad[0].Err.Error(), why) {
			t.Errorf("%s: %+v, %v, bad %v, want one error with %q", record, rep, err, bad, why)
		}
		if errs := bad; len(errs) == 1 && !strings.HasPrefix(errs[0].Error(), "line 2 (record 1): ") {
			t.Errorf("error %q does not say where", errs[0].Error())
		}
	}
}
