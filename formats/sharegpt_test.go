package formats_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/formats"
)

func TestShareGPT(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, record, system string
		want                 []string
	}{
		{"plain", `{"conversations":[{"from":"human","value":"hi"},{"from":"gpt","value":"hello"}]}`, "",
			[]string{"user: hi", "assistant: hello"}},
		{"starts with gpt", `{"conversations":[{"from":"gpt","value":"hello"},{"from":"human","value":"hi"}]}`, "",
			[]string{"assistant: hello", "user: hi"}},
		{"other names", `{"conversations":[{"from":"user","value":"a"},{"from":"assistant","value":"b"},{"from":"chatgpt","value":"c"},{"from":"bing","value":"d"},{"from":"bard","value":"e"},{"from":"tool","value":"f"},{"from":"function_response","value":"g"}]}`, "",
			[]string{"user: a", "assistant: b", "assistant: c", "assistant: d", "assistant: e", "tool: f", "tool: g"}},
		{"role and content", `{"conversations":[{"role":"user","content":"hi"},{"role":"assistant","content":"hello"}]}`, "",
			[]string{"user: hi", "assistant: hello"}},
		{"exchanges", `{"conversation":[{"human":"hi","assistant":"hello"},{"human":"bye","assistant":null}]}`, "",
			[]string{"user: hi", "assistant: hello", "user: bye"}},
		{"no messages", `{"conversations":[]}`, "", nil},
		{"null value", `{"conversations":[{"from":"gpt","value":null},{"from":"human","value":""}]}`, "",
			[]string{"assistant", "user: "}},

		{"system of the record", `{"system":"Be kind.","conversations":[{"from":"human","value":"hi"}]}`, "Be kind.", []string{"user: hi"}},
		{"system entry first", `{"system":null,"conversations":[{"from":"system","value":"Be kind."},{"from":"human","value":"hi"}]}`, "Be kind.", []string{"user: hi"}},
		{"both systems", `{"system":"Be kind.","conversations":[{"from":"system","value":"Be brief."},{"from":"human","value":"hi"}]}`, "Be kind.", []string{"system: Be brief.", "user: hi"}},
		{"system entry later", `{"conversations":[{"from":"human","value":"hi"},{"from":"system","value":"Be brief."}]}`, "", []string{"user: hi", "system: Be brief."}},

		{"call", `{"conversations":[{"from":"human","value":"time?"},{"from":"function_call","value":"{\"name\": \"clock\", \"arguments\": {\"zone\":  \"UTC\", \"n\": 9007199254740993}}"},{"from":"observation","value":"{\"t\":\"12:00\"}"},{"from":"gpt","value":"Noon."}]}`, "",
			[]string{"user: time?", `assistant call_1=clock{"zone":  "UTC", "n": 9007199254740993}`, `tool(call_1): {"t":"12:00"}`, "assistant: Noon."}},
		{"parallel calls", `{"conversations":[{"from":"function_call","value":"{\"name\":\"a\",\"arguments\":{}}"},{"from":"function_call","value":"{\"name\":\"b\",\"arguments\":\"{ }\"}"},{"from":"observation","value":"1"},{"from":"observation","value":"2"},{"from":"function_call","value":"{\"name\":\"c\"}"},{"from":"observation","value":"3"}]}`, "",
			[]string{"assistant call_1=a{} call_2=b{ }", "tool(call_1): 1", "tool(call_2): 2", "assistant call_3=c", "tool(call_3): 3"}},
		{"calls in a list", `{"conversations":[{"from":"function_call","value":"[{\"name\":\"a\",\"arguments\":{}},{\"name\":\"b\",\"arguments\":{}}]"},{"from":"observation","value":"1"}]}`, "",
			[]string{"assistant call_1=a{} call_2=b{}", "tool(call_1): 1"}},
		{"call as an object", `{"conversations":[{"from":"function_call","value":{"name":"a","arguments":[1]}}]}`, "",
			[]string{"assistant call_1=a[1]"}},
		{"result without a call", `{"conversations":[{"from":"observation","value":"0"},{"from":"function_call","value":"{\"name\":\"a\"}"},{"from":"observation","value":"1"},{"from":"observation","value":"2"}]}`, "",
			[]string{"tool: 0", "assistant call_1=a", "tool(call_1): 1", "tool: 2"}},
		{"call without a result", `{"conversations":[{"from":"function_call","value":"{\"name\":\"a\"}"},{"from":"gpt","value":"hm"},{"from":"function_call","value":"{\"name\":\"b\"}"},{"from":"observation","value":"2"}]}`, "",
			[]string{"assistant call_1=a", "assistant: hm", "assistant call_2=b", "tool(call_2): 2"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s, messages := importOne(t, "sharegpt", tc.record)
			if s.System != tc.system {
				t.Errorf("system %q, want %q", s.System, tc.system)
			}
			wantMessages(t, messages, tc.want...)
		})
	}
}

func TestShareGPTKeepsWhatItDoesNotKnow(t *testing.T) {
	t.Parallel()
	s, messages := importOne(t, "sharegpt", `{"id":"s1","tools":"[{\"name\": \"clock\"}]","status":"x","images":[ 1.0 ],"conversations":[
		{"from":"human","value":"hi","loss":false,"role":"x"},
		{"from":"function_call","value":"{\"name\":\"clock\",\"strict\":true}","weight":1},
		{"from":"bing","value":"yes"}]}`)
	if !strings.HasPrefix(s.ID, "sharegpt-") {
		t.Errorf("session id %q, want one of our own", s.ID)
	}
	if got, want := string(s.Extra["sharegpt"]), `{"id":"s1","tools":"[{\"name\": \"clock\"}]","status":"x","images":[1.0]}`; got != want {
		t.Errorf("session extra\n got %s\nwant %s", got, want)
	}
	if got, want := string(messages[0].Extra["sharegpt"]), `{"loss":false,"role":"x"}`; got != want {
		t.Errorf("message extra %s, want %s", got, want)
	}
	call := messages[1].ToolCalls[0]
	if got, want := string(call.Extra["sharegpt"])+string(call.Extra["function"]), `{"weight":1}{"strict":true}`; got != want {
		t.Errorf("call extra %s, want %s", got, want)
	}
	if messages[2].AgentName != "bing" {
		t.Errorf("agent name %q, want bing", messages[2].AgentName)
	}
	if s.Status != sessionstore.StatusActive || !s.CreatedAt.Equal(importTime) || !messages[2].CreatedAt.Equal(importTime) {
		t.Errorf("status %s, created %v and %v, want active and the time of the import", s.Status, s.CreatedAt, messages[2].CreatedAt)
	}
}

func TestShareGPTRefuses(t *testing.T) {
	t.Parallel()
	for record, why := range map[string]string{
		`[]`:                              "not an object",
		`{}`:                              "conversations: is not a list",
		`{"conversations":{}}`:            "conversations: is not a list",
		`{"conversations":[1]}`:           "conversations[0]: is not an object",
		`{"conversations":[{}]}`:          "conversations[0]: has no from",
		`{"system":1,"conversations":[]}`: "system: is not a string",
		`{"conversations":[{"from":"wizard","value":"x"}]}`:                              `"wizard"`,
		`{"conversations":[{"from":"human","value":1}]}`:                                 "value is not a string",
		`{"conversation":[{"human":1}]}`:                                                 "human is not a string",
		`{"conversations":[{"from":1,"value":"x"}]}`:                                     "has no from",
		`{"conversations":[{"from":"function_call","value":"f(1)"}]}`:                    "function_call",
		`{"conversations":[{"from":"function_call","value":"\"x\""}]}`:                   "is not an object",
		`{"conversations":[{"from":"function_call","value":null}]}`:                      "is not an object",
		`{"conversations":[{"from":"function_call","value":"{}"}]}`:                      "has no name",
		`{"conversations":[{"from":"function_call","value":"[]"}]}`:                      "has no call",
		`{"conversations":[{"from":"function_call","value":"{\"name\":\"a\\ud83d\"}"}]}`: "surrogate",
	} {
		store := newStore(t)
		rep, bad, err := importText(t, store, "sharegpt", `{"conversations":[]}`+"\n"+record)
		if err != nil || rep.Sessions != 1 || len(bad) != 1 || bad[0].Line != 2 || !strings.Contains(bad[0].Err.Error(), why) {
			t.Errorf("%s: %+v, %v, bad %v, want one error with %q", record, rep, err, bad, why)
		}
	}
}

func TestShareGPTFile(t *testing.T) {
	t.Parallel()
	store := newStore(t)
	file := testdata(t, "sharegpt.json")
	// 7 entries, 2 of them parallel calls; 3; and twice 2.
	importFile(t, store, "sharegpt", strings.NewReader(file), formats.Report{Sessions: 4, Messages: 13})
	var all []string
	for _, s := range allSessions(t, store) {
		messages := history(t, store, s.ID)
		checkPairs(t, s.ID, messages)
		all = append(all, strings.Join(sayAll(messages), "|"))
	}
	slices.Sort(all)
	want := []string{
		"assistant: Welcome back.|user: Thanks.|assistant: What next?",
		`user: Weather in Oslo and Rome?|assistant call_1=weather{"city": "Oslo"} call_2=weather{"city": "Rome"}|tool(call_1): {"c": -3}|tool(call_2): {"c": 15}|assistant: Oslo -3, Rome 15.|user: Danke 🙂`,
		"user: ping|assistant: pong",
		"user: ping|assistant: pong",
	}
	if !slices.Equal(all, want) {
		t.Errorf("conversations\n got %q\nwant %q", all, want)
	}
}
