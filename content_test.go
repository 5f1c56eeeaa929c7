package sessionstore_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/sessionstore/sessionstore"
)

// Field report C04: null, "" and the empty list were mixed up, with and without tool
// calls. In storage each of them keeps its form, and the key is always written.
func TestContentFormsAreKept(t *testing.T) {
	t.Parallel()
	for in, content := range map[string]sessionstore.Content{
		`null`:                        {},
		`""`:                          sessionstore.Text(""),
		`"  "`:                        sessionstore.Text("  "),
		`"text"`:                      sessionstore.Text("text"),
		`[]`:                          sessionstore.Parts(),
		`[{"type":"text","text":""}]`: sessionstore.Parts(sessionstore.TextPart("")),
		`[{"type":"text","text":"a"},{"type":"image_url","image_url":{"url":"u"}}]`: sessionstore.Parts(sessionstore.TextPart("a"), sessionstore.ImagePart("u")),
	} {
		for _, calls := range []string{``, `"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}],`} {
			text := `{"message_id":"m","session_id":"s","role":"assistant","content":` + in + `,"tool_call_id":null,` + calls +
				`"agent_name":null,"created_at":null,"metadata":{}}`
			m, err := sessionstore.DecodeMessage([]byte(text))
			if err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			if !reflect.DeepEqual(m.Content, content) || !m.Content.Equal(content) {
				t.Errorf("content %s is read as %#v, want %#v", in, m.Content, content)
			}
			if out := appendJSON(t, m); out != text {
				t.Errorf("written\n%s, want\n%s", out, text)
			}
		}
		if content.IsNull() != (in == "null") {
			t.Errorf("IsNull of %s is %t", in, content.IsNull())
		}
	}
	absent, err := sessionstore.DecodeMessage([]byte(`{}`))
	if err != nil || !absent.Content.IsNull() {
		t.Errorf("absent content is read as %#v, %v; want null", absent.Content, err)
	}
}

func TestContent(t *testing.T) {
	t.Parallel()
	parts := sessionstore.Parts(sessionstore.TextPart("a"), sessionstore.ImagePart("u"), sessionstore.TextPart("b"))
	for _, tt := range []struct {
		content           sessionstore.Content
		null, text, parts bool
		str               string
		types             []string
	}{
		{sessionstore.Content{}, true, false, false, "", nil},
		{sessionstore.Text("a\x00"), false, true, false, "a\x00", nil},
		{sessionstore.Parts(), false, false, true, "", nil},
		{parts, false, false, true, "ab", []string{"text", "image_url", "text"}},
	} {
		c := tt.content
		if c.IsNull() != tt.null || c.IsText() != tt.text || c.IsParts() != tt.parts || c.String() != tt.str {
			t.Errorf("%#v: null %t, text %t, parts %t, %q; want %t, %t, %t, %q",
				c, c.IsNull(), c.IsText(), c.IsParts(), c.String(), tt.null, tt.text, tt.parts, tt.str)
		}
		var types []string
		for i, p := range c.All() {
			if i != len(types) {
				t.Errorf("index %d, want %d", i, len(types))
			}
			types = append(types, p.Type())
		}
		if !reflect.DeepEqual(types, tt.types) {
			t.Errorf("parts of types %q, want %q", types, tt.types)
		}
		b, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		var back sessionstore.Content
		if err := json.Unmarshal(b, &back); err != nil || !reflect.DeepEqual(back, c) {
			t.Errorf("%s is read as %#v, %v; want %#v", b, back, err, c)
		}
	}
	for _, p := range parts.All() {
		if p.Type() != "text" {
			t.Errorf("first part %s", p.Raw())
		}
		break
	}
}

func TestContentEqual(t *testing.T) {
	t.Parallel()
	all := []sessionstore.Content{
		{}, sessionstore.Text(""), sessionstore.Text("a"), sessionstore.Parts(),
		sessionstore.Parts(sessionstore.TextPart("a")), sessionstore.Parts(sessionstore.TextPart("b")),
		sessionstore.Parts(sessionstore.TextPart("a"), sessionstore.TextPart("b")),
	}
	for i, a := range all {
		for j, b := range all {
			if a.Equal(b) != (i == j) {
				t.Errorf("%#v.Equal(%#v) is %t", a, b, i != j)
			}
		}
	}
}

func TestContentIsImmutable(t *testing.T) {
	t.Parallel()
	list := []sessionstore.Part{sessionstore.TextPart("a")}
	c := sessionstore.Parts(list...)
	list[0] = sessionstore.TextPart("b")
	for _, p := range c.All() {
		p.Raw()[2] = 'X'
	}
	if c.String() != "a" {
		t.Errorf("the content became %s", appendJSON(t, sessionstore.Message{Content: c}))
	}
	raw := []byte(`{"type":"text","text":"a"}`)
	p, err := sessionstore.ParsePart(raw)
	if err != nil {
		t.Fatal(err)
	}
	clear(raw)
	if p.Text() != "a" {
		t.Errorf("the part became %s", p.Raw())
	}
}

func TestContentErrors(t *testing.T) {
	t.Parallel()
	for _, in := range []string{
		`1`, `true`, `{}`, `nul`, `"a`, `[1]`, `["a"]`, `[null]`, `[[]]`, `[{}`, `[{} {}]`, `[{"a":}]`, `[`,
		`"\ud83d"`, `[{"text":"\ud83d"}]`, `[{"\ud83d":1}]`, "\"\xff\"", "[{\"text\":\"\xff\"}]",
		`[{"a":` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + `}]`,
	} {
		var c sessionstore.Content
		if err := c.UnmarshalJSON([]byte(in)); !errors.Is(err, sessionstore.ErrInvalid) {
			t.Errorf("%s is read as %#v, %v; want ErrInvalid", in, c, err)
		}
	}
	var c sessionstore.Content
	if err := c.UnmarshalJSON([]byte(`null null`)); !errors.Is(err, sessionstore.ErrInvalid) {
		t.Errorf("trailing data: %v, want ErrInvalid", err)
	}
	for name, c := range map[string]sessionstore.Content{
		"text":      sessionstore.Text("a\xff"),
		"text part": sessionstore.Parts(sessionstore.TextPart("a\xff")),
		"image":     sessionstore.Parts(sessionstore.ImagePart("a\xff")),
		"zero part": sessionstore.Parts(sessionstore.Part{}),
	} {
		m := sessionstore.Message{Role: sessionstore.RoleUser, Content: c}
		if _, err := (sessionstore.Append{Messages: []sessionstore.Message{m}}).Prepare("s"); !errors.Is(err, sessionstore.ErrInvalid) {
			t.Errorf("%s: Prepare: %v, want ErrInvalid", name, err)
		}
		if out, err := m.AppendJSON(nil); !errors.Is(err, sessionstore.ErrInvalid) {
			t.Errorf("%s: written %q, %v; want ErrInvalid", name, out, err)
		}
		if out, err := json.Marshal(c); !errors.Is(err, sessionstore.ErrInvalid) {
			t.Errorf("%s: marshalled %q, %v; want ErrInvalid", name, out, err)
		}
	}
}

func TestPart(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ in, raw, typ, text, url string }{
		{`{}`, `{}`, "", "", ""},
		{` { "type" : "text" , "text" : "a b" } `, `{"type":"text","text":"a b"}`, "text", "a b", ""},
		{`{"type":"text","text":"\u0061\ud83d\ude42"}`, `{"type":"text","text":"\u0061\ud83d\ude42"}`, "text", "a\U0001F642", ""},
		{`{"t\u0079pe":"x","type":"y"}`, `{"t\u0079pe":"x","type":"y"}`, "y", "", ""},
		{`{"type":"y","t\u0079pe":"x"}`, `{"type":"y","t\u0079pe":"x"}`, "x", "", ""},
		{`{"type":null,"text":null,"image_url":null}`, `{"type":null,"text":null,"image_url":null}`, "", "", ""},
		{`{"type":1,"text":[],"image_url":2}`, `{"type":1,"text":[],"image_url":2}`, "", "", ""},
		{`{"image_url":"u"}`, `{"image_url":"u"}`, "", "", "u"},
		{`{"image_url":{"detail":"low","url":"u"}}`, `{"image_url":{"detail":"low","url":"u"}}`, "", "", "u"},
		{`{"image_url":{"detail":"low"}}`, `{"image_url":{"detail":"low"}}`, "", "", ""},
		{`{"image_url":{"url":null}}`, `{"image_url":{"url":null}}`, "", "", ""},
		{`{"b":1.0,"a":1e400,"a":2}`, `{"b":1.0,"a":1e400,"a":2}`, "", "", ""},
	} {
		p, err := sessionstore.ParsePart([]byte(tt.in))
		if err != nil {
			t.Errorf("ParsePart(%s): %v", tt.in, err)
			continue
		}
		if string(p.Raw()) != tt.raw || p.Type() != tt.typ || p.Text() != tt.text || p.ImageURL() != tt.url {
			t.Errorf("ParsePart(%s): %s, type %q, text %q, url %q; want %s, %q, %q, %q",
				tt.in, p.Raw(), p.Type(), p.Text(), p.ImageURL(), tt.raw, tt.typ, tt.text, tt.url)
		}
		var back sessionstore.Part
		b, err := p.MarshalJSON()
		if err == nil {
			err = json.Unmarshal(b, &back)
		}
		if err != nil || back != p {
			t.Errorf("%s is read as %#v, %v", b, back, err)
		}
	}
	if got := string(sessionstore.TextPart("a\"<\u2028").Raw()); got != "{\"type\":\"text\",\"text\":\"a\\\"<\u2028\"}" {
		t.Errorf("TextPart gives %s", got)
	}
	if p := sessionstore.ImagePart("https://x/?a&b"); p.ImageURL() != "https://x/?a&b" || p.Type() != "image_url" {
		t.Errorf("ImagePart gives %s", p.Raw())
	}
}

func TestPartErrors(t *testing.T) {
	t.Parallel()
	for _, in := range []string{``, `"a"`, `[]`, `{`, `{} {}`, `{"a"}`, "{\"a\":\"\xff\"}", `{"a":"\ude00"}`} {
		p, err := sessionstore.ParsePart([]byte(in))
		if !errors.Is(err, sessionstore.ErrInvalid) {
			t.Errorf("ParsePart(%s) = %s, %v; want ErrInvalid", in, p.Raw(), err)
		}
		if err := p.UnmarshalJSON([]byte(in)); !errors.Is(err, sessionstore.ErrInvalid) {
			t.Errorf("UnmarshalJSON(%s) = %s, %v; want ErrInvalid", in, p.Raw(), err)
		}
	}
	var zero sessionstore.Part
	if zero.Type() != "" || zero.Text() != "" || zero.ImageURL() != "" || zero.Raw() != nil {
		t.Errorf("the zero part has type %q, text %q, url %q, raw %s", zero.Type(), zero.Text(), zero.ImageURL(), zero.Raw())
	}
	if _, err := zero.MarshalJSON(); !errors.Is(err, sessionstore.ErrInvalid) {
		t.Errorf("the zero part is marshalled: %v, want ErrInvalid", err)
	}
}
