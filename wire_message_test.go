package sessionstore_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/sessionstore/sessionstore"
)

func TestMessageJSON(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 1, 9, 30, 0, 0, time.UTC)
	for _, tt := range []struct {
		m    sessionstore.Message
		want string
	}{
		{
			sessionstore.Message{Metadata: sessionstore.Metadata{}},
			`{"message_id":"","session_id":"","role":"","content":null,"tool_call_id":null,"agent_name":null,"created_at":null,"metadata":{}}`,
		},
		{
			sessionstore.Message{
				ID: "m", SessionID: "s", Seq: 7, Role: sessionstore.RoleDeveloper, Content: sessionstore.Text("<&>\u2028"), Name: "n", ToolCallID: "c",
				ToolCalls: []sessionstore.ToolCall{{ID: "1", Type: "function", Name: "f", Arguments: "{}"}, {ID: "2", Type: "custom", Name: "g", Arguments: "x"}},
				AgentName: "a", CreatedAt: at, Metadata: sessionstore.Metadata{"b": int64(1), "a": 1.0, "é": nil, "Z": false},
				Extra: rawMap{"z": rawOf(`1`), "a": rawOf(`{"k":1e400}`), "": rawOf(`null`)},
			},
			`{"message_id":"m","session_id":"s","seq":7,"role":"developer","content":"<&>` + "\u2028" + `","name":"n","tool_call_id":"c",` +
				`"tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{}"}},{"id":"2","type":"custom","custom":{"name":"g","input":"x"}}],` +
				`"agent_name":"a","created_at":"2026-03-01T09:30:00.000000+00:00","metadata":{"Z":false,"a":1.0,"b":1,"é":null},"":null,"a":{"k":1e400},"z":1}`,
		},
	} {
		if out := appendJSON(t, tt.m); out != tt.want {
			t.Errorf("written\n%s, want\n%s", out, tt.want)
		}
		if out, err := tt.m.AppendJSON([]byte("before")); err != nil || string(out) != "before"+tt.want {
			t.Errorf("appended %s, %v", out, err)
		}
		for _, text := range []string{tt.want, " \n" + strings.ReplaceAll(tt.want, `,"`, " ,\t\"") + " "} {
			got, err := sessionstore.DecodeMessage([]byte(text))
			if err != nil || !reflect.DeepEqual(got, tt.m) {
				t.Errorf("%s is read as\n%#v, %v; want\n%#v", text, got, err, tt.m)
			}
		}
		var std sessionstore.Message
		b, err := json.Marshal(tt.m)
		if err == nil {
			err = json.Unmarshal(b, &std)
		}
		if err != nil || !reflect.DeepEqual(std, tt.m) {
			t.Errorf("encoding/json: %s is read as %#v, %v", b, std, err)
		}
	}
}

func TestDecodeMessageLeniently(t *testing.T) {
	t.Parallel()
	empty := sessionstore.Message{Metadata: sessionstore.Metadata{}}
	with := func(change func(*sessionstore.Message)) sessionstore.Message {
		m := empty
		change(&m)
		return m
	}
	for _, tt := range []struct {
		in   string
		want sessionstore.Message
	}{
		{`{}`, empty},
		{`{"message_id":null,"session_id":null,"seq":null,"role":null,"content":null,"name":null,"tool_call_id":null,"tool_calls":null,"agent_name":null,"created_at":null,"metadata":null}`, empty},
		{`{"role":"wizard"}`, with(func(m *sessionstore.Message) { m.Role = "wizard" })},
		{`{"role":"function"}`, with(func(m *sessionstore.Message) { m.Role = "function" })},
		{`{"seq":-3}`, with(func(m *sessionstore.Message) { m.Seq = -3 })},
		{`{"name":"a","n\u0061me":"b"}`, with(func(m *sessionstore.Message) { m.Name = "b" })},
		{`{"content":"a","content":null}`, empty},
		{`{"metadata":{"a":1},"metadata":{"b":2}}`, with(func(m *sessionstore.Message) { m.Metadata = sessionstore.Metadata{"b": int64(2)} })},
		{`{"Name":"a","x":1,"\u0078":[ 2 ]}`, with(func(m *sessionstore.Message) { m.Extra = rawMap{"Name": rawOf(`"a"`), "x": rawOf(`[2]`)} })},
		{`{"message_id":"` + strings.Repeat("x", 300) + `"}`, with(func(m *sessionstore.Message) { m.ID = strings.Repeat("x", 300) })},
	} {
		got, err := sessionstore.DecodeMessage([]byte(tt.in))
		if err != nil || !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s is read as %#v, %v; want %#v", tt.in, got, err, tt.want)
		}
	}
}

func TestDecodeMessageErrors(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ in, field string }{
		{``, "message"},
		{`null`, "message"},
		{`[]`, "message"},
		{`{`, "message"},
		{`{"a"`, "message"},
		{`{} {}`, "message"},
		{`{}x`, "message"},
		{`{"role":"user",}`, "message"},
		{`{"role":"user" "x":1}`, "message"},
		{`{"message_id":1}`, "message_id"},
		{`{"message_id":nul}`, "message_id"},
		{`{"session_id":[]}`, "session_id"},
		{`{"seq":"1"}`, "seq"},
		{`{"seq":1.0}`, "seq"},
		{`{"seq":1e2}`, "seq"},
		{`{"seq":9223372036854775808}`, "seq"},
		{`{"role":{}}`, "role"},
		{`{"content":1}`, "content"},
		{`{"content":nope}`, "content"},
		{`{"name":true}`, "name"},
		{`{"tool_call_id":1}`, "tool_call_id"},
		{`{"tool_calls":{}}`, "tool_calls"},
		{`{"tool_calls":[null]}`, "tool_calls"},
		{`{"tool_calls":[{} {}]}`, "tool_calls"},
		{`{"agent_name":1}`, "agent_name"},
		{`{"created_at":1}`, "created_at"},
		{`{"created_at":"yesterday"}`, "created_at"},
		{`{"metadata":[]}`, "metadata"},
		{`{"metadata":{"a":{"b":"\ud83d"}}}`, "metadata"},
		{`{"x":1x}`, "message"},
		{`{"x":"\ud83d"}`, "x"},
		{`{"x":` + strings.Repeat("[", 101) + strings.Repeat("]", 101) + `}`, "x"},
	} {
		m, err := sessionstore.DecodeMessage([]byte(tt.in))
		var e *sessionstore.InvalidError
		if !errors.As(err, &e) || !errors.Is(err, sessionstore.ErrInvalid) || e.Field != tt.field {
			t.Errorf("%s is read as %#v, %v; want an *InvalidError of %s", tt.in, m, err, tt.field)
		}
		var into sessionstore.Message
		if err := into.UnmarshalJSON([]byte(tt.in)); tt.in != "null" && !errors.Is(err, sessionstore.ErrInvalid) || !reflect.DeepEqual(into, sessionstore.Message{}) {
			t.Errorf("UnmarshalJSON of %s: %#v, %v; want ErrInvalid and no change", tt.in, into, err)
		}
	}
}

// Field report S02: text cut inside a character was stored and made the history
// unreadable. Here it is refused wherever it stands, on the way in and out.
func TestBrokenTextIsRefused(t *testing.T) {
	t.Parallel()
	const emoji = "ok \U0001F642"
	for cut := 1; cut < len("\U0001F642"); cut++ {
		bad := emoji[:len(emoji)-cut]
		for field, m := range map[string]sessionstore.Message{
			"message_id":   {ID: bad},
			"session_id":   {SessionID: bad},
			"role":         {Role: sessionstore.Role(bad)},
			"content":      {Content: sessionstore.Text(bad)},
			"name":         {Name: bad},
			"tool_call_id": {ToolCallID: bad},
			"agent_name":   {AgentName: bad},
			"metadata":     {Metadata: sessionstore.Metadata{"k": bad}},
			"extra":        {Extra: rawMap{bad: rawOf(`1`)}},
			"x":            {Extra: rawMap{"x": rawOf(`"` + bad + `"`)}},
		} {
			out, err := m.AppendJSON(nil)
			var e *sessionstore.InvalidError
			if !errors.As(err, &e) || e.Field != field {
				t.Errorf("%s %q is written %q, %v; want ErrInvalid", field, bad, out, err)
			}
			if b, err := m.MarshalJSON(); !errors.Is(err, sessionstore.ErrInvalid) {
				t.Errorf("%s %q is marshalled %q, %v; want ErrInvalid", field, bad, b, err)
			}
		}
	}
	for _, text := range []string{`\ud83d`, `\ude42`, `\ud83d x`, `\ud83d\ud83d\ude42`, "\xf0\x9f\x99", "\xed\xa0\xbd"} {
		for _, in := range []string{
			`{"content":"` + text + `"}`, `{"content":[{"type":"text","text":"` + text + `"}]}`, `{"metadata":{"` + text + `":1}}`,
			`{"metadata":{"k":["` + text + `"]}}`, `{"` + text + `":1}`, `{"x":{"` + text + `":1}}`, `{"message_id":"` + text + `"}`,
			`{"tool_calls":[{"function":{"arguments":"` + text + `"}}]}`, `{"tool_calls":[{"arguments":{"k":"` + text + `"}}]}`,
		} {
			if m, err := sessionstore.DecodeMessage([]byte(in)); !errors.Is(err, sessionstore.ErrInvalid) {
				t.Errorf("%s is read as %#v, %v; want ErrInvalid", in, m, err)
			}
		}
	}
}

// Field report C34: keys that the library does not know disappeared on the way through.
// Field report S04: and what remained was reordered and respaced.
func TestUnknownKeysAreKept(t *testing.T) {
	t.Parallel()
	const unknown = `"cache_control":{"type":"ephemeral","b":1.0,"a":1e400,"a":"\u0041 \ud83d\ude42"},"logprobs":[null],"zeta":{"":[]}`
	text := `{"message_id":"m","session_id":"s","role":"assistant","content":[{"type":"text","text":"a",` + unknown + `}],"tool_call_id":null,` +
		`"tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"",` + unknown + `},` + unknown + `}],` +
		`"agent_name":null,"created_at":null,"metadata":{},` + unknown + `}`
	m, err := sessionstore.DecodeMessage([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if out := appendJSON(t, m); out != text {
		t.Errorf("written\n%s, want\n%s", out, text)
	}
	prepared, err := sessionstore.Append{Messages: []sessionstore.Message{m}}.Prepare("s")
	if err != nil {
		t.Fatal(err)
	}
	if out := appendJSON(t, prepared.Messages[0]); out != text {
		t.Errorf("prepared and written\n%s, want\n%s", out, text)
	}
}

func TestMessageExtraErrors(t *testing.T) {
	t.Parallel()
	keys := []string{
		"message_id", "session_id", "seq", "role", "content", "name", "tool_call_id", "tool_calls", "agent_name", "created_at", "metadata",
	}
	for _, k := range append(keys, "\xff") {
		checkExtraRefused(t, rawMap{k: rawOf(`1`)})
	}
	for _, v := range []string{``, ` `, `{`, `1 2`, `"\ud83d"`, "\"\xff\"", strings.Repeat("[", 101) + strings.Repeat("]", 101)} {
		checkExtraRefused(t, rawMap{"x": rawOf(v)})
	}
}

func checkExtraRefused(t *testing.T, extra rawMap) {
	t.Helper()
	m := sessionstore.Message{Role: sessionstore.RoleUser, Extra: extra}
	if _, err := (sessionstore.Append{Messages: []sessionstore.Message{m}}).Prepare("s"); !errors.Is(err, sessionstore.ErrInvalid) {
		t.Errorf("Prepare with %q: %v, want ErrInvalid", extra, err)
	}
	if out, err := m.AppendJSON(nil); !errors.Is(err, sessionstore.ErrInvalid) {
		t.Errorf("%q is written %q, %v; want ErrInvalid", extra, out, err)
	}
}

func TestMessageOwnership(t *testing.T) {
	t.Parallel()
	value := rawOf(`[1]`)
	list := []any{"a"}
	m := sessionstore.Message{
		Role: sessionstore.RoleUser, Extra: rawMap{"x": value}, Metadata: sessionstore.Metadata{"list": list},
		ToolCalls: []sessionstore.ToolCall{{Extra: rawMap{"y": value}}},
	}
	prepared, err := sessionstore.Append{Messages: []sessionstore.Message{m}}.Prepare("s")
	if err != nil {
		t.Fatal(err)
	}
	clone := m.Clone()
	wantPrepared, wantClone := appendJSON(t, prepared.Messages[0]), appendJSON(t, clone)
	value[1], list[0] = '2', "b"
	m.ToolCalls[0].Name = "changed"
	if got := appendJSON(t, prepared.Messages[0]); got != wantPrepared {
		t.Errorf("the prepared message became %s, was %s", got, wantPrepared)
	}
	if got := appendJSON(t, clone); got != wantClone {
		t.Errorf("the clone became %s, was %s", got, wantClone)
	}
}

func TestEqualContentDecidesRepeats(t *testing.T) {
	t.Parallel()
	base := func() sessionstore.Message {
		return sessionstore.Message{
			ID: "m", Role: sessionstore.RoleUser, Content: sessionstore.Text("a"),
			Metadata: sessionstore.Metadata{"f": 0.0, "l": []any{int64(1), map[string]any{"k": "v"}}, "n": json.Number("1e400"), "z": nil},
			Extra:    rawMap{"x": rawOf(`[1, 2]`)},
		}
	}
	prepare := func(m sessionstore.Message) sessionstore.Append {
		t.Helper()
		a, err := sessionstore.Append{Messages: []sessionstore.Message{m}}.Prepare("s")
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	stored := prepare(base()).Messages
	if _, err := prepare(base()).Repeat(stored); err != nil {
		t.Errorf("the same message: %v", err)
	}
	for name, change := range map[string]func(*sessionstore.Message){
		"content":         func(m *sessionstore.Message) { m.Content = sessionstore.Parts(sessionstore.TextPart("a")) },
		"-0.0":            func(m *sessionstore.Message) { m.Metadata["f"] = math.Copysign(0, -1) },
		"0":               func(m *sessionstore.Message) { m.Metadata["f"] = 0 },
		"list element":    func(m *sessionstore.Message) { m.Metadata["l"] = []any{int64(2), map[string]any{"k": "v"}} },
		"list length":     func(m *sessionstore.Message) { m.Metadata["l"] = []any{int64(1)} },
		"list type":       func(m *sessionstore.Message) { m.Metadata["l"] = "x" },
		"nested value":    func(m *sessionstore.Message) { m.Metadata["l"] = []any{int64(1), map[string]any{"k": "w"}} },
		"nested key":      func(m *sessionstore.Message) { m.Metadata["l"] = []any{int64(1), map[string]any{"l": "v"}} },
		"nested type":     func(m *sessionstore.Message) { m.Metadata["l"] = []any{int64(1), []any{}} },
		"number spelling": func(m *sessionstore.Message) { m.Metadata["n"] = json.Number("1E400") },
		"null":            func(m *sessionstore.Message) { m.Metadata["z"] = false },
		"other key":       func(m *sessionstore.Message) { delete(m.Metadata, "z"); m.Metadata["y"] = nil },
		"more keys":       func(m *sessionstore.Message) { m.Metadata["y"] = nil },
		"extra value":     func(m *sessionstore.Message) { m.Extra["x"] = rawOf(`[1,3]`) },
		"extra key":       func(m *sessionstore.Message) { m.Extra = rawMap{"y": rawOf(`[1,2]`)} },
		"no extra":        func(m *sessionstore.Message) { m.Extra = nil },
	} {
		m := base()
		change(&m)
		if _, err := prepare(m).Repeat(stored); !errors.Is(err, sessionstore.ErrMessageExists) {
			t.Errorf("another %s: %v, want ErrMessageExists", name, err)
		}
	}
}

// json.Marshal escapes what AppendJSON does not.
func TestMarshalEscapes(t *testing.T) {
	t.Parallel()
	m := sessionstore.UserMessage("<b>")
	b, err := json.Marshal(m)
	if err != nil || !bytes.Contains(b, []byte(`"\u003cb\u003e"`)) {
		t.Errorf("json.Marshal writes %s, %v", b, err)
	}
	if out := appendJSON(t, m); !strings.Contains(out, `"<b>"`) {
		t.Errorf("AppendJSON writes %s", out)
	}
}
