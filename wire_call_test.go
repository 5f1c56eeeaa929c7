package sessionstore_test

import (
	"cmp"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/sessionstore/sessionstore"
)

type rawMap = map[string]json.RawMessage

func rawOf(text string) json.RawMessage { return json.RawMessage(text) }

func TestDecodeToolCall(t *testing.T) {
	t.Parallel()
	type call = sessionstore.ToolCall
	for _, tt := range []struct {
		in   string
		want call
		out  string // "" if it is in
	}{
		{`{"id":"1","type":"function","function":{"name":"f","arguments":"{}"}}`, call{ID: "1", Type: "function", Name: "f", Arguments: "{}"}, ""},
		{`{"id":"1","type":"custom","custom":{"name":"f","input":"i"}}`, call{ID: "1", Type: "custom", Name: "f", Arguments: "i"}, ""},
		{`{"id":"1","type":"web_search"}`, call{ID: "1", Type: "web_search"}, ""},
		{`{"id":"1","type":"web_search","query":"q"}`, call{ID: "1", Type: "web_search", Extra: rawMap{"query": rawOf(`"q"`)}}, ""},
		{
			`{"id":"1","type":"mcp","function":{"name":"f","arguments":""}}`,
			call{ID: "1", Type: "mcp", Name: "f"}, "",
		},
		{
			`{"id":"1","name":"f","arguments":"a"}`, call{ID: "1", Type: "function", Name: "f", Arguments: "a"},
			`{"id":"1","type":"function","function":{"name":"f","arguments":"a"}}`,
		},
		{
			`{"id":null,"type":null,"function":null,"name":null,"arguments":null}`, call{Type: "function"},
			`{"id":"","type":"function","function":{"name":"","arguments":""}}`,
		},
		{`{}`, call{Type: "function"}, `{"id":"","type":"function","function":{"name":"","arguments":""}}`},
		{
			`{"type":"custom","name":"f","input":"i","arguments":"x"}`,
			call{Type: "custom", Name: "f", Arguments: "i", Extra: rawMap{"arguments": rawOf(`"x"`)}},
			`{"id":"","type":"custom","custom":{"name":"f","input":"i"},"arguments":"x"}`,
		},
		{
			`{"type":"custom","function":{"name":"f"}}`,
			call{Type: "custom", Extra: rawMap{"function": rawOf(`{"name":"f"}`)}},
			`{"id":"","type":"custom","custom":{"name":"","input":""},"function":{"name":"f"}}`,
		},
		{
			`{"function":{"name":"f","arguments":"a"},"name":"other","arguments":[ ],"input":1,"custom":{ }}`,
			call{Type: "function", Name: "f", Arguments: "a", Extra: rawMap{
				"name": rawOf(`"other"`), "arguments": rawOf(`[]`), "input": rawOf(`1`), "custom": rawOf(`{}`),
			}},
			`{"id":"","type":"function","function":{"name":"f","arguments":"a"},"arguments":[],"custom":{},"input":1,"name":"other"}`,
		},
		{
			`{"function":{"custom":1,"name":"first","arguments":"first"},"function":{"name":"last"},"id":"1","id":"2"}`,
			call{ID: "2", Type: "function", Name: "last"},
			`{"id":"2","type":"function","function":{"name":"last","arguments":""}}`,
		},
		{
			`{"function":{"strict" : true,"name":"f","str\u0069ct":[ 1 ],"arguments":""}}`,
			call{Type: "function", Name: "f", Extra: rawMap{"function": rawOf(`{"strict":true,"str\u0069ct":[1]}`)}},
			`{"id":"","type":"function","function":{"name":"f","arguments":"","strict":true,"str\u0069ct":[1]}}`,
		},
		{
			`{"type":"custom","custom":{"name":"f","input":"","arguments":1},"cache":{ "a" : 1.0 }}`,
			call{Type: "custom", Name: "f", Extra: rawMap{"custom": rawOf(`{"arguments":1}`), "cache": rawOf(`{"a":1.0}`)}},
			`{"id":"","type":"custom","custom":{"name":"f","input":"","arguments":1},"cache":{"a":1.0}}`,
		},
		{
			`{"type":"x","function":{"name":"","k":1}}`, call{Type: "x", Extra: rawMap{"function": rawOf(`{"k":1}`)}},
			`{"id":"","type":"x","function":{"name":"","arguments":"","k":1}}`,
		},
	} {
		var got call
		if err := got.UnmarshalJSON([]byte(tt.in)); err != nil || !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s is read as %#v, %v; want %#v", tt.in, got, err, tt.want)
			continue
		}
		out, err := got.MarshalJSON()
		if want := cmp.Or(tt.out, tt.in); string(out) != want || err != nil {
			t.Errorf("%s is written %s, %v; want %s", tt.in, out, err, want)
		}
	}
}

// Field report C07: arguments that are empty, blank or absent must be stored as they
// were received. Field report S04: keys, duplicates and spaces in them are not changed.
// Field report S03: nor are numbers.
func TestArgumentsAreKept(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ in, want string }{
		{`""`, ""},
		{`" "`, " "},
		{`"{}"`, "{}"},
		{`"null"`, "null"},
		{`null`, ""},
		{`"{\"b\":1, \"a\":2,\"a\":3}"`, `{"b":1, "a":2,"a":3}`},
		{`{"b":1, "a":2,"a":3}`, `{"b":1, "a":2,"a":3}`},
		{"{ \"id\" : 9223372036854775807 ,\n\"x\":1e400, \"f\":1.0 }", "{ \"id\" : 9223372036854775807 ,\n\"x\":1e400, \"f\":1.0 }"},
		{`[ 1 ]`, `[ 1 ]`},
		{`true`, `true`},
		{`1.0`, `1.0`},
		{`"{\"cut\": \"o"`, `{"cut": "o`},
	} {
		for _, form := range []string{
			`{"id":"1","type":"function","function":{"name":"f","arguments":` + tt.in + `}}`,
			`{"type":"custom","custom":{"name":"f","input":` + tt.in + `}}`,
			`{"id":"1","name":"f","arguments": ` + tt.in + ` }`,
		} {
			m, err := sessionstore.DecodeMessage([]byte(`{"tool_calls":[` + form + `]}`))
			if err != nil || len(m.ToolCalls) != 1 || m.ToolCalls[0].Arguments != tt.want {
				t.Errorf("%s is read as %#v, %v; want the arguments %q", form, m.ToolCalls, err, tt.want)
				continue
			}
			back, err := sessionstore.DecodeMessage([]byte(appendJSON(t, m)))
			if err != nil || !reflect.DeepEqual(back, m) {
				t.Errorf("%s is read again as %#v, %v; want %#v", form, back, err, m)
			}
		}
	}
	for _, absent := range []string{`{"name":"f"}`, `{"function":{"name":"f"}}`} {
		m, err := sessionstore.DecodeMessage([]byte(`{"tool_calls":[` + absent + `]}`))
		if err != nil || m.ToolCalls[0].Name != "f" || m.ToolCalls[0].Arguments != "" {
			t.Errorf("%s is read as %#v, %v", absent, m.ToolCalls, err)
		}
	}
}

func TestToolCallErrors(t *testing.T) {
	t.Parallel()
	for _, in := range []string{
		`[]`, `"x"`, `1`, `{`, `{"id":1}`, `{"type":[]}`, `{"name":1}`, `{"function":"f"}`, `{"function":[]}`, `{"function":true}`,
		`{"function":{"name":1}}`, `{"function":{"name":"f"`, `{"function":{"name":"f",}}`, `{"type":"custom","custom":"x"}`, `{"arguments":"\ud83d"}`,
		`{"function":{"arguments":{"a":"\ud83d"}}}`, `{"x":tru}`, `{} {}`, `{"function":{"k":` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + `}}`,
		`{"arguments":` + strings.Repeat("[", 101) + strings.Repeat("]", 101) + `}`, `{"x":"` + "\xff" + `"}`,
	} {
		var c sessionstore.ToolCall
		if err := c.UnmarshalJSON([]byte(in)); !errors.Is(err, sessionstore.ErrInvalid) {
			t.Errorf("%s is read as %#v, %v; want ErrInvalid", in, c, err)
		}
		if _, err := sessionstore.DecodeMessage([]byte(`{"tool_calls":[` + in + `]}`)); !errors.Is(err, sessionstore.ErrInvalid) {
			t.Errorf("in a message, %s: %v, want ErrInvalid", in, err)
		}
	}
	for _, c := range []sessionstore.ToolCall{
		{ID: "\xff"}, {Type: "\xff"}, {Name: "\xff"}, {Arguments: "\xff"},
		{Extra: rawMap{"id": rawOf(`1`)}}, {Extra: rawMap{"type": rawOf(`1`)}}, {Extra: rawMap{"\xff": rawOf(`1`)}},
		{Extra: rawMap{"x": rawOf(``)}}, {Extra: rawMap{"x": rawOf(`{`)}}, {Extra: rawMap{"x": rawOf(`"\ud83d"`)}},
		{Extra: rawMap{"function": nil}}, {Extra: rawMap{"function": rawOf(`[]`)}},
		{Extra: rawMap{"function": rawOf(`{"name":"x"}`)}}, {Extra: rawMap{"function": rawOf(`{"a":1,"\u0061rguments":"x"}`)}},
		{Type: "custom", Extra: rawMap{"custom": rawOf(`{"input":"x"}`)}}, {Type: "custom", Extra: rawMap{"custom": rawOf(`1`)}},
		{Type: "x", Extra: rawMap{"function": rawOf(`{"name":1}`)}},
	} {
		m := sessionstore.Message{Role: sessionstore.RoleAssistant, ToolCalls: []sessionstore.ToolCall{c}}
		if _, err := (sessionstore.Append{Messages: []sessionstore.Message{m}}).Prepare("s"); !errors.Is(err, sessionstore.ErrInvalid) {
			t.Errorf("Prepare of %#v: %v, want ErrInvalid", c, err)
		}
		if out, err := m.AppendJSON(nil); !errors.Is(err, sessionstore.ErrInvalid) {
			t.Errorf("%#v is written %q, %v; want ErrInvalid", c, out, err)
		}
	}
}

// An empty object of unknown keys says nothing: in normal form it is gone, so that what
// is read back equals what was stored.
func TestEmptyInnerExtra(t *testing.T) {
	t.Parallel()
	for _, callType := range []string{"", "function", "custom", "web_search"} {
		key := "function"
		if callType == "custom" {
			key = "custom"
		}
		with := sessionstore.ToolCall{ID: "1", Type: callType, Extra: rawMap{key: rawOf(` { } `)}}
		without := sessionstore.ToolCall{ID: "1", Type: callType}
		got, err := with.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		want, err := without.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != string(want) {
			t.Errorf("type %q: written %s, want %s", callType, got, want)
		}
	}
}
