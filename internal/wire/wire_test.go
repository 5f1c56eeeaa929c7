package wire_test

import (
	"encoding/json"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/internal/wire"
)

// Field report C10: whatever the ids are, those sent are valid, apart, the same each time,
// and do not change when the history grows.
func TestIDs(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		valid := func(id string) bool { return wire.Plain(id, 40) }
		id := rapid.OneOf(rapid.StringMatching(`[a-z_|:]{0,3}`), rapid.StringN(0, 60, 200), rapid.SampledFrom([]string{"", "a", "call_1"}))
		ids := rapid.SliceOfN(id, 0, 20).Draw(t, "ids")
		take := func(ids []string) []string {
			m := wire.IDs{Valid: valid}
			out := make([]string, len(ids))
			for i, id := range ids {
				out[i] = m.Take(id)
			}
			return out
		}
		// An id that is already in the history in a derived form must not meet it.
		ids = append(ids, take(ids)...)
		got := take(ids)
		seen := map[string]bool{}
		for i, id := range got {
			if !valid(id) || seen[id] {
				t.Fatalf("Take(%q) = %q, which is invalid or taken; all: %q", ids[i], id, got)
			}
			if !slices.Contains(ids[:i], ids[i]) && valid(ids[i]) && id != ids[i] && !seen[ids[i]] {
				t.Fatalf("Take(%q) = %q, want it unchanged", ids[i], id)
			}
			seen[id] = true
		}
		n := rapid.IntRange(0, len(ids)).Draw(t, "prefix")
		if before := take(ids[:n]); !slices.Equal(before, got[:n]) {
			t.Fatalf("the ids of a shorter history are %q, want %q", before, got[:n])
		}
	})
}

func TestObjectKeepsItsSpelling(t *testing.T) {
	t.Parallel()
	for _, raw := range []string{`{}`, `{"a":1.50,"b":{"c":[9007199254740993]},"é\u0000":"\u003c"}`} {
		if got := wire.Parse([]byte(raw)); string(wire.Parse(got.Raw()).Raw()) != string(got.Raw()) {
			t.Errorf("Parse(%s) changes when it is read again: %s", raw, got.Raw())
		}
	}
	o := wire.Parse([]byte(`{"a":1.50,"b":null,"a":2}`))
	if got := string(o.Without().Raw()); got != `{"a":2}` {
		t.Errorf("without nulls it is %s, want the last a alone", got)
	}
	for _, raw := range []string{``, `[]`, `{"a":}`, `null`, `"x"`} {
		if got := wire.Parse([]byte(raw)); got != nil {
			t.Errorf("Parse(%q) = %v, want nil", raw, got)
		}
	}
}

// Field report C07: the arguments of a call are an object, or a JSON text.
func TestArguments(t *testing.T) {
	t.Parallel()
	for arguments, want := range map[string][2]string{
		"":                        {`{}`, `{}`},
		" \n":                     {`{}`, `{}`},
		"null":                    {`{}`, `{}`},
		"{}":                      {`{}`, `{}`},
		` {"n":9007199254740993}`: {`{"n":9007199254740993}`, ` {"n":9007199254740993}`},
		`[1]`:                     {`{"input":[1]}`, `[1]`},
		`"x"`:                     {`{"input":"x"}`, `"x"`},
		`{cut`:                    {`{"input":"{cut"}`, `{cut`},
	} {
		if got := string(wire.Input(arguments)); got != want[0] {
			t.Errorf("Input(%q) = %s, want %s", arguments, got, want[0])
		}
		if got := wire.Arguments(arguments); got != want[1] {
			t.Errorf("Arguments(%q) = %s, want %s", arguments, got, want[1])
		}
	}
}

func TestToolName(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"f": "f", "": "unnamed", "a.Bash:0": "a_Bash_0", "é": "_", "abcdefghijk": "abcdefgh", "\x7f": "_"} {
		if got := wire.ToolName(name, 8); got != want {
			t.Errorf("ToolName(%q, 8) = %q, want %q", name, got, want)
		}
	}
}

func TestSequence(t *testing.T) {
	t.Parallel()
	text := func(s string) sessionstore.Part { return sessionstore.TextPart(s) }
	call := func(id string) sessionstore.ToolCall { return sessionstore.ToolCall{ID: id, Type: "function"} }
	var a wire.Answer
	a.Part(text("a"))
	a.Call(call("x"))
	a.Part(text("b"))
	a.Call(call("y"))
	m := a.Message()
	order := func(m sessionstore.Message) (s []string) {
		for _, it := range wire.Sequence(m) {
			if it.Call != nil {
				s = append(s, it.Call.ID)
			} else {
				s = append(s, it.Part.Text())
			}
		}
		return s
	}
	if got, want := order(m), []string{"a", "x", "b", "y"}; !reflect.DeepEqual(got, want) {
		t.Errorf("the answer is in the order %q, want %q", got, want)
	}
	for _, bad := range []string{`[2,1]`, `[0]`, `[0,3]`, `[-1,0]`, `"x"`, `null`} {
		m.Extra = map[string]json.RawMessage{wire.PositionsKey: json.RawMessage(bad)}
		if got, want := order(m), []string{"a", "b", "x", "y"}; !reflect.DeepEqual(got, want) {
			t.Errorf("with the positions %s it is in the order %q, want %q", bad, got, want)
		}
	}
	var calls wire.Answer
	calls.Call(call("x"))
	if m := calls.Message(); !m.Content.IsNull() || m.Extra != nil {
		t.Errorf("an answer of a call alone is %+v, want a null content and no Extra", m)
	}
	var one wire.Answer
	one.Part(text("a"))
	if m := one.Message(); !m.Content.Equal(sessionstore.Text("a")) {
		t.Errorf("an answer of a text is %+v, want the content as a text", m)
	}
}

func TestFailed(t *testing.T) {
	t.Parallel()
	failed := sessionstore.ToolMessage("a", "x")
	failed.Extra = map[string]json.RawMessage{"is_error": json.RawMessage("true")}
	noted := sessionstore.ToolMessage("a", "x")
	noted.Metadata = sessionstore.Metadata{"is_error": true}
	quoted := sessionstore.ToolMessage("a", sessionstore.NoToolResult)
	quoted.ID, quoted.Seq = "m", 3
	for _, c := range []struct {
		m    sessionstore.Message
		want bool
	}{
		{sessionstore.ToolMessage("a", "x"), false},
		{failed, true},
		{noted, true},
		{sessionstore.ToolMessage("a", sessionstore.NoToolResult), true},
		{quoted, false},
	} {
		if got := wire.Failed(c.m); got != c.want {
			t.Errorf("Failed(%+v) = %v, want %v", c.m, got, c.want)
		}
	}
}
