package chatcheck_test

import (
	"strings"
	"testing"

	"github.com/sessionstore/sessionstore/internal/chatcheck"
)

const (
	user   = `{"role":"user","content":"hi"}`
	callA  = `{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}`
	callB  = `{"id":"b","type":"custom","custom":{"name":"g","input":"x"}}`
	askA   = `{"role":"assistant","content":null,"tool_calls":[` + callA + `]}`
	askAB  = `{"role":"assistant","content":"wait","tool_calls":[` + callA + `,` + callB + `]}`
	tellA  = `{"role":"tool","content":"1","tool_call_id":"a"}`
	tellB  = `{"role":"tool","content":[{"type":"text","text":"2"}],"tool_call_id":"b"}`
	answer = `{"role":"assistant","content":"done"}`
)

func list(messages ...string) string { return "[" + strings.Join(messages, ",") + "]" }

func TestValid(t *testing.T) {
	t.Parallel()
	for name, in := range map[string]string{
		"nothing":     list(),
		"a turn":      list(`{"role":"system","content":"s"}`, `{"role":"developer","content":"d"}`, user, answer),
		"a tool loop": list(user, askA, tellA, askAB, tellB, tellA, answer, user),
		"an image":    list(`{"role":"user","name":"ada","content":[{"type":"text","text":"see"},{"type":"image_url","image_url":{"url":"https://example.com/a.png","detail":"low"}}]}`),
		"a refusal":   list(user, `{"role":"assistant","content":null,"refusal":"no"}`),
	} {
		if err := chatcheck.List([]byte(in)); err != nil {
			t.Errorf("%s: List(%s) = %v, want nil", name, in, err)
		}
	}
}

func TestInvalid(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, in, want string }{
		{"no list", `{}`, "no array"},
		{"null message", list(user, `null`), "message 1 is null"},
		{"invalid UTF-8", "[{\"role\":\"user\",\"content\":\"\xff\"}]", "UTF-8"},
		{"no role", list(`{"content":"x"}`), "no role"},
		{"legacy role", list(`{"role":"function","name":"f","content":"x"}`), "unknown role"},
		{"our own key", list(`{"role":"user","content":"x","metadata":{}}`), `no key "metadata"`},
		{"calls of a user", list(`{"role":"user","content":"x","tool_calls":[` + callA + `]}`), `no key "tool_calls"`},
		{"null name", list(`{"role":"user","content":"x","name":null}`), "name is null"},
		{"empty name", list(`{"role":"user","content":"x","name":""}`), "name is empty"},
		{"content missing", list(`{"role":"assistant","tool_calls":[`+callA+`]}`, tellA), "no content"},
		{"null of a user", list(`{"role":"user","content":null}`), "content is null"},
		{"null of an assistant", list(`{"role":"assistant","content":null}`), "content is null"},
		{"assistant without a word", list(`{"role":"assistant","content":""}`), "says nothing"},
		{"content a number", list(`{"role":"user","content":1}`), "neither null, text nor list"},
		{"content an empty list", list(`{"role":"user","content":[]}`), "empty list"},
		{"content a list of texts", list(`{"role":"user","content":["x"]}`), "content:"},
		{"reasoning", list(`{"role":"assistant","content":[{"type":"reasoning","text":"x"}]}`), `no part of type "reasoning"`},
		{"image of a tool", list(askA, `{"role":"tool","tool_call_id":"a","content":[{"type":"image_url","image_url":{"url":"u"}}]}`), `role tool takes no part of type "image_url"`},
		{"part without type", list(`{"role":"user","content":[{"text":"x"}]}`), "no type"},
		{"empty text", list(`{"role":"user","content":[{"type":"text","text":""}]}`), "text is empty"},
		{"null in a part", list(`{"role":"user","content":[{"type":"text","text":"x","image_url":null}]}`), "image_url is null"},
		{"image as a string", list(`{"role":"user","content":[{"type":"image_url","image_url":"u"}]}`), "no object with a url"},
		{"image without a url", list(`{"role":"user","content":[{"type":"image_url","image_url":{}}]}`), "no object with a url"},
		{"empty calls", list(`{"role":"assistant","content":"x","tool_calls":[]}`), "tool_calls is empty"},
		{"null calls", list(`{"role":"assistant","content":"x","tool_calls":null}`), "tool_calls is null"},
		{"call without id", list(`{"role":"assistant","content":"x","tool_calls":[{"type":"function","function":{"name":"f","arguments":""}}]}`), "no id"},
		{"call with an empty id", list(`{"role":"assistant","content":"x","tool_calls":[{"id":"","type":"function","function":{"name":"f","arguments":""}}]}`), "is empty or there twice"},
		{"two calls of one id", list(`{"role":"assistant","content":"x","tool_calls":[`+callA+`,`+callA+`]}`, tellA, tellA), "is empty or there twice"},
		{"flat call", list(`{"role":"assistant","content":"x","tool_calls":[{"id":"a","type":"function","name":"f","arguments":"{}"}]}`), "function"},
		{"call of unknown type", list(`{"role":"assistant","content":"x","tool_calls":[{"id":"a","type":"magic","magic":{}}]}`), "unknown type"},
		{"call without name", list(`{"role":"assistant","content":"x","tool_calls":[{"id":"a","type":"function","function":{"arguments":"{}"}}]}`), "name is empty"},
		{"arguments an object", list(`{"role":"assistant","content":"x","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":{}}}]}`), "arguments is no text"},
		{"result without id", list(askA, `{"role":"tool","content":"1"}`), "no tool_call_id"},
		{"result with an empty id", list(askA, `{"role":"tool","content":"1","tool_call_id":""}`), "tool_call_id is empty"},
		{"result without a call", list(user, tellA), "message 1 answers"},
		{"result of another id", list(askA, tellB), "message 1 answers"},
		{"result twice", list(askA, tellA, tellA), "message 2 answers"},
		{"late result", list(askA, user, tellA), "before the calls"},
		{"one of two results", list(askAB, tellA, answer), "before the calls"},
		{"no result at the end", list(user, askAB, tellB), "the list ends before"},
	} {
		err := chatcheck.List([]byte(c.in))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: List(%s) = %v, want an error with %q", c.name, c.in, err, c.want)
		}
	}
}
