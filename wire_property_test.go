package sessionstore_test

import (
	"bytes"
	"encoding/json"
	"math"
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sessionstore/sessionstore"
)

// Every valid message, as a caller may build it, is read back in its normal form.
func TestMessageRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := drawMessage(t)
		prepared, err := sessionstore.Append{Messages: []sessionstore.Message{m}}.Prepare("s")
		if err != nil {
			t.Fatalf("Prepare of %#v: %v", m, err)
		}
		want := prepared.Messages[0]
		out, err := want.AppendJSON(nil)
		if err != nil {
			t.Fatalf("AppendJSON of %#v: %v", want, err)
		}
		if n := sessionstore.SizeBound(want); n < len(out) {
			t.Fatalf("size bound %d of %d bytes %s", n, len(out), out)
		}
		got, err := sessionstore.DecodeMessage(out)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("%s is read as\n%#v, %v; want\n%#v", out, got, err, want)
		}
		// What is not in normal form is written as if it were.
		m.SessionID, m.Seq = want.SessionID, want.Seq
		raw, err := m.AppendJSON(nil)
		if err != nil || !bytes.Equal(raw, out) {
			t.Fatalf("written %s, %v; in normal form %s", raw, err, out)
		}
		// encoding/json only escapes what MarshalJSON returns.
		std, err := json.Marshal(m)
		var escaped bytes.Buffer
		json.HTMLEscape(&escaped, out)
		if err != nil || !bytes.Equal(std, escaped.Bytes()) {
			t.Fatalf("json.Marshal writes %s, %v; want %s", std, err, escaped.Bytes())
		}
	})
}

func TestSessionRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := sessionstore.Session{
			ID:        drawName(t, "id", 1),
			AgentName: drawName(t, "agent", 0),
			UserID:    drawName(t, "user", 0),
			Status:    rapid.SampledFrom([]sessionstore.Status{"", "active", "paused", "closed"}).Draw(t, "status"),
			System:    rapid.String().Draw(t, "system"),
			Metadata:  drawMetadata(t),
			CreatedAt: drawTime(t),
			Extra:     drawExtra(t, "next"),
		}
		if rapid.Bool().Draw(t, "expires") {
			s.TTL = time.Duration(rapid.Int64Range(1000, int64(sessionstore.MaxTTL)).Draw(t, "ttl"))
		}
		if rapid.Bool().Draw(t, "fork") {
			s.ParentID, s.ForkSeq = "p", rapid.Int64Range(0, math.MaxInt64).Draw(t, "at")
		}
		want, err := s.Create(drawTime(t))
		if err != nil {
			t.Fatalf("Create of %#v: %v", s, err)
		}
		out, err := want.AppendJSON(nil)
		if err != nil {
			t.Fatalf("AppendJSON of %#v: %v", want, err)
		}
		got, err := sessionstore.DecodeSession(out)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("%s is read as\n%#v, %v; want\n%#v", out, got, err, want)
		}
	})
}

func drawMessage(t *rapid.T) sessionstore.Message {
	m := sessionstore.Message{
		ID:         drawName(t, "id", 1),
		Role:       rapid.SampledFrom([]sessionstore.Role{"system", "developer", "user", "assistant", "tool"}).Draw(t, "role"),
		Name:       drawName(t, "name", 0),
		ToolCallID: drawName(t, "tool_call_id", 0),
		AgentName:  drawName(t, "agent", 0),
		CreatedAt:  drawTime(t),
		Metadata:   drawMetadata(t),
		Extra:      drawExtra(t, "reasoning_content", "refusal"),
	}
	switch rapid.IntRange(0, 2).Draw(t, "content") {
	case 1:
		m.Content = sessionstore.Text(rapid.String().Draw(t, "text"))
	case 2:
		m.Content = sessionstore.Parts(rapid.SliceOfN(rapid.Custom(drawPart), 0, 3).Draw(t, "parts")...)
	}
	m.ToolCalls = rapid.SliceOfN(rapid.Custom(drawCall), 0, 3).Draw(t, "calls")
	return m
}

func drawPart(t *rapid.T) sessionstore.Part {
	s := rapid.String().Draw(t, "s")
	switch rapid.IntRange(0, 2).Draw(t, "part") {
	case 0:
		return sessionstore.TextPart(s)
	case 1:
		return sessionstore.ImagePart(s)
	}
	raw, err := json.MarshalIndent(map[string]any{s: 1, "type": "x", "list": []any{1.5, nil, s}}, " ", "\t")
	if err != nil {
		t.Fatal(err)
	}
	p, err := sessionstore.ParsePart(raw)
	if err != nil {
		t.Fatalf("ParsePart(%s): %v", raw, err)
	}
	return p
}

func drawCall(t *rapid.T) sessionstore.ToolCall {
	c := sessionstore.ToolCall{
		ID:        drawName(t, "id", 0),
		Type:      rapid.SampledFrom([]string{"", "function", "custom", "web_search"}).Draw(t, "type"),
		Name:      drawName(t, "name", 0),
		Arguments: rapid.SampledFrom([]string{"", " ", "{}", "null", `{"b":1, "a":2,"a":3}`, "\x00"}).Draw(t, "arguments"),
		Extra:     drawExtra(t, "cache_control", "index"),
	}
	// The keys that mean something in one type of call and nothing in another.
	inner, outer := "function", []string{"custom", "name", "arguments", "input"}
	if c.Type == "custom" {
		inner, outer = "custom", []string{"function", "name", "arguments", "input"}
	}
	set := func(k, v string) {
		if c.Extra == nil {
			c.Extra = map[string]json.RawMessage{}
		}
		c.Extra[k] = json.RawMessage(v)
	}
	for _, k := range outer {
		if rapid.IntRange(0, 3).Draw(t, k) == 0 {
			set(k, rapid.SampledFrom([]string{`null`, `"x"`, `{ "name" : "n" }`, `[]`}).Draw(t, "value"))
		}
	}
	if rapid.IntRange(0, 2).Draw(t, inner) == 0 {
		set(inner, rapid.SampledFrom([]string{`{}`, ` { } `, `{"\u0061":1, "a" : [ ] ,"a":null}`, `{"strict":true}`}).Draw(t, "value"))
	}
	return c
}

func drawExtra(t *rapid.T, keys ...string) map[string]json.RawMessage {
	m := map[string]json.RawMessage{}
	for _, k := range append(keys, "", "\u2028\"\x00") {
		if rapid.IntRange(0, 2).Draw(t, "extra "+k) == 0 {
			m[k] = rapid.SampledFrom([]json.RawMessage{
				nil, json.RawMessage(`null`), json.RawMessage(` { "b" : 1.0 , "a" : [ ] , "a" : "\u0041 b" } `),
				json.RawMessage(`1e400`), json.RawMessage(`""`),
			}).Draw(t, "value")
		}
	}
	return m
}

// drawName draws what may be an id, when it has at least one character, or a name.
func drawName(t *rapid.T, label string, least int) string {
	runes := rapid.SampledFrom([]rune("aZ09-_ .:/%*$'\"\\<>&{}é\u2028\ufffd\U0001F642\u05d0"))
	return rapid.StringOfN(runes, least, 20, -1).Draw(t, label)
}

func drawTime(t *rapid.T) time.Time {
	if rapid.Bool().Draw(t, "no time") {
		return time.Time{}
	}
	zone := time.FixedZone("", rapid.IntRange(-12*3600, 14*3600).Draw(t, "zone"))
	return time.Unix(rapid.Int64Range(-62_135_500_000, 253_402_200_000).Draw(t, "seconds"),
		rapid.Int64Range(0, 999_999_999).Draw(t, "nanoseconds")).In(zone)
}

func drawMetadata(t *rapid.T) sessionstore.Metadata {
	if rapid.Bool().Draw(t, "no metadata") {
		return nil
	}
	return rapid.MapOfN(rapid.String(), rapid.Custom(func(t *rapid.T) any { return drawValue(t, 3) }), 0, 4).Draw(t, "metadata")
}

type pair struct {
	Left  string `json:"left"`
	Right *int64 `json:"right,omitempty"`
}

func drawValue(t *rapid.T, levels int) any {
	kinds := 12
	if levels > 0 {
		kinds = 16
	}
	nested := rapid.Custom(func(t *rapid.T) any { return drawValue(t, levels-1) })
	switch rapid.IntRange(0, kinds-1).Draw(t, "kind") {
	case 0:
		return nil
	case 1:
		return rapid.Bool().Draw(t, "bool")
	case 2:
		return rapid.String().Draw(t, "string")
	case 3:
		return rapid.Int64().Draw(t, "int64")
	case 4:
		return rapid.Int().Draw(t, "int")
	case 5:
		return rapid.Uint64().Draw(t, "uint64")
	case 6:
		return rapid.Float64().Draw(t, "float64")
	case 7:
		return rapid.Float32().Draw(t, "float32")
	case 8:
		return json.Number(rapid.StringMatching(`-?(0|[1-9][0-9]{0,30})(\.[0-9]{1,20})?([eE][+-]?[0-9]{1,4})?`).Draw(t, "number"))
	case 9:
		n := rapid.Int64().Draw(t, "right")
		return pair{rapid.String().Draw(t, "left"), &n}
	case 10:
		return rapid.SliceOfN(rapid.Float64(), 0, 3).Draw(t, "floats")
	case 11:
		return sessionstore.Role(rapid.String().Draw(t, "named"))
	case 12:
		return rapid.SliceOfN(nested, 0, 3).Draw(t, "list")
	case 13:
		return rapid.MapOfN(rapid.String(), nested, 0, 3).Draw(t, "map")
	case 14:
		return sessionstore.Metadata(rapid.MapOfN(rapid.String(), nested, 0, 3).Draw(t, "nested metadata"))
	}
	return []any(nil)
}
