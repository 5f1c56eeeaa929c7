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

// normalMetadata returns m as a store keeps it.
func normalMetadata(m sessionstore.Metadata) (sessionstore.Metadata, error) {
	s, err := sessionstore.Session{ID: "s", Metadata: m}.Create(time.Unix(0, 0))
	return s.Metadata, err
}

type (
	status    string
	count     uint8
	price     float64
	toggle    bool
	rawText   struct{ s string }
	rawJSON   struct{ s string }
	byPointer struct{ s string }
	embedded  struct{ Inner string }
	record    struct {
		embedded
		Name   string  `json:"name"`
		Price  float64 `json:"price"`
		Hidden string  `json:"-"`
		secret string
		Next   *record        `json:"next,omitempty"`
		Any    any            `json:"any,omitempty"`
		List   []string       `json:"list,omitempty"`
		Map    map[int]string `json:"map,omitempty"`
	}
)

func (r rawText) MarshalText() ([]byte, error) {
	if r.s == "fail" {
		return nil, errors.New("cannot")
	}
	return []byte(r.s), nil
}
func (r rawJSON) MarshalJSON() ([]byte, error)    { return []byte(r.s), nil }
func (r *byPointer) MarshalText() ([]byte, error) { return []byte(r.s), nil }

func TestMetadataNormalForm(t *testing.T) {
	t.Parallel()
	seven := int64(7)
	var nilPointer *int
	for _, tt := range []struct {
		in   any
		want any
		text string
	}{
		{nil, nil, `null`},
		{true, true, `true`},
		{"a\x00\u2028<", "a\x00\u2028<", "\"a\\u0000\u2028<\""},
		{int64(math.MaxInt64), int64(math.MaxInt64), `9223372036854775807`},
		{1, int64(1), `1`},
		{int8(-1), int64(-1), `-1`},
		{uint8(1), int64(1), `1`},
		{uint64(math.MaxUint64), json.Number("18446744073709551615"), `18446744073709551615`},
		{uintptr(1), int64(1), `1`},
		{1.0, 1.0, `1.0`},
		{math.Copysign(0, -1), math.Copysign(0, -1), `-0.0`},
		{1e21, 1e21, `1e+21`},
		{float32(0.1), 0.1, `0.1`},
		{float32(1), 1.0, `1.0`},
		{json.Number("5"), int64(5), `5`},
		{json.Number("1.50"), 1.5, `1.5`},
		{json.Number("1e400"), json.Number("1e400"), `1e400`},
		{json.Number("0.10000000000000000001"), json.Number("0.10000000000000000001"), `0.10000000000000000001`},
		{[]any{1, "a", nil}, []any{int64(1), "a", nil}, `[1,"a",null]`},
		{[]any(nil), []any{}, `[]`},
		{map[string]any(nil), map[string]any{}, `{}`},
		{map[string]any{"b": 1, "a": []any{}}, map[string]any{"b": int64(1), "a": []any{}}, `{"a":[],"b":1}`},
		{sessionstore.Metadata{"": 2}, map[string]any{"": int64(2)}, `{"":2}`},
		{[]string{"a"}, []any{"a"}, `["a"]`},
		{[]string(nil), []any{}, `[]`},
		{[2]float64{1, 2.5}, []any{1.0, 2.5}, `[1.0,2.5]`},
		{[]json.Number{"1", "1.0"}, []any{int64(1), 1.0}, `[1,1.0]`},
		{map[status]count{"a": 1}, map[string]any{"a": int64(1)}, `{"a":1}`},
		{map[int]string{2: "b"}, map[string]any{"2": "b"}, `{"2":"b"}`},
		{[]byte("hi"), "aGk=", `"aGk="`},
		{status("x"), "x", `"x"`},
		{price(2), 2.0, `2.0`},
		{toggle(true), true, `true`},
		{&seven, int64(7), `7`},
		{nilPointer, nil, `null`},
		{[]*int64{&seven, nil}, []any{int64(7), nil}, `[7,null]`},
		{time.Date(2026, 3, 1, 0, 0, 0, 1, time.UTC), "2026-03-01T00:00:00.000000001Z", `"2026-03-01T00:00:00.000000001Z"`},
		{json.RawMessage(` {"a" : 1.0} `), map[string]any{"a": 1.0}, `{"a":1.0}`},
		{rawText{"x"}, "x", `"x"`},
		{rawJSON{`[1.0]`}, []any{1.0}, `[1.0]`},
		{[]byPointer{{"p"}}, []any{"p"}, `["p"]`},
		{map[rawText]int{{"k"}: 1}, map[string]any{"k": int64(1)}, `{"k":1}`},
		{
			record{embedded: embedded{"i"}, Name: "n<", Price: 1.5, Hidden: "\xff", secret: "\xff", Next: &record{Any: 1, List: []string{"l"}, Map: map[int]string{1: "m"}}},
			map[string]any{"Inner": "i", "name": "n<", "price": 1.5, "next": map[string]any{
				"Inner": "", "name": "", "price": int64(0), "any": int64(1), "list": []any{"l"}, "map": map[string]any{"1": "m"},
			}},
			`{"Inner":"i","name":"n<","next":{"Inner":"","any":1,"list":["l"],"map":{"1":"m"},"name":"","price":0},"price":1.5}`,
		},
	} {
		in := sessionstore.Metadata{"k": tt.in}
		got, err := normalMetadata(in)
		if want := (sessionstore.Metadata{"k": tt.want}); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%T %[1]v becomes %#v, %v; want %#v", tt.in, got["k"], err, tt.want)
		}
		if b, err := in.MarshalJSON(); err != nil || string(b) != `{"k":`+tt.text+`}` {
			t.Errorf("%T %[1]v is written %s, %v; want %s", tt.in, b, err, tt.text)
		}
		if c := in.Clone(); !reflect.DeepEqual(c, got) {
			t.Errorf("the clone of %T %[1]v is %#v, want %#v", tt.in, c, got)
		}
		var back sessionstore.Metadata
		if err := json.Unmarshal([]byte(`{"k":`+tt.text+`}`), &back); err != nil || !reflect.DeepEqual(back, got) {
			t.Errorf("%s is read as %#v, %v; want %#v", tt.text, back, err, got)
		}
	}
}

func TestMetadataErrors(t *testing.T) {
	t.Parallel()
	type cycle struct {
		Next *cycle
		N    int
	}
	ring := &cycle{}
	ring.Next = ring
	self := map[string]any{}
	self["self"] = self
	loop := []any{nil}
	loop[0] = loop
	var pointer any
	pointer = &pointer
	bad := "a\xff"
	deep := any(1)
	for range sessionstore.MaxDepth {
		deep = []any{deep}
	}
	deepMap := any(1)
	for range sessionstore.MaxDepth {
		deepMap = map[string]any{"a": deepMap}
	}
	deepTyped := [][][]int{{{1}}}
	for name, v := range map[string]any{
		"string": bad, "named string": status(bad), "key": map[string]any{bad: 1}, "typed key": map[status]int{status(bad): 1},
		"nested": []any{map[string]any{"a": bad}}, "list": []string{bad}, "pointer": &bad,
		"struct": record{Name: bad}, "struct pointer": &record{Next: &record{Name: bad}}, "embedded": record{embedded: embedded{bad}},
		"any in struct": record{Any: []string{bad}}, "list in struct": record{List: []string{bad}}, "map in struct": record{Map: map[int]string{1: bad}},
		"text": rawText{bad}, "text fails": rawText{"fail"}, "text by pointer": []byPointer{{bad}}, "text key": map[rawText]int{{bad}: 1},
		"text in struct": struct{ T rawText }{rawText{bad}}, "text by pointer in struct": &struct{ T byPointer }{byPointer{bad}},
		"map of structs": map[int]record{1: {Name: bad}}, "string key in struct": struct{ M map[status]int }{map[status]int{status(bad): 1}},
		"json": rawJSON{"\"\xff\""}, "json surrogate": rawJSON{`"\ud83d"`}, "json syntax": rawJSON{`{`}, "raw": json.RawMessage(`"\ude42"`),
		"NaN": math.NaN(), "Inf": math.Inf(1), "float32 NaN": float32(math.NaN()), "named Inf": price(math.Inf(-1)),
		"floats": []float64{math.Inf(1)}, "float in struct": record{Price: math.NaN()},
		"number": json.Number(""), "number text": json.Number("1x"), "number space": json.Number(" 1"), "number NaN": json.Number("NaN"),
		"typed number": []json.Number{"x"}, "number in struct": struct{ N json.Number }{"x"},
		"chan": make(chan int), "func": func() {}, "complex": 1i, "chan in list": []any{make(chan int)},
		"ring": ring, "self": self, "loop": loop, "pointer to itself": pointer, "deep": deep, "deep map": deepMap,
		"too deep by a typed list": nest(sessionstore.MaxDepth-2, deepTyped),
		"too deep by a typed map":  nest(sessionstore.MaxDepth-1, map[string]int{}),
		"too deep by json":         nest(sessionstore.MaxDepth-1, rawJSON{`[]`}),
	} {
		m := sessionstore.Metadata{"k": v}
		if got, err := normalMetadata(m); !errors.Is(err, sessionstore.ErrInvalid) {
			t.Errorf("%s becomes %#v, %v; want ErrInvalid", name, got, err)
		}
		if b, err := m.MarshalJSON(); !errors.Is(err, sessionstore.ErrInvalid) {
			t.Errorf("%s is written %q, %v; want ErrInvalid", name, b, err)
		}
		if c := m.Clone(); len(c) != 1 {
			t.Errorf("the clone of %s is %#v", name, c)
		}
	}
	if _, err := (sessionstore.Metadata{bad: 1}).MarshalJSON(); !errors.Is(err, sessionstore.ErrInvalid) {
		t.Errorf("an invalid key: %v, want ErrInvalid", err)
	}
	if m, err := normalMetadata(sessionstore.Metadata{bad: 1}); !errors.Is(err, sessionstore.ErrInvalid) {
		t.Errorf("an invalid key becomes %#v, %v; want ErrInvalid", m, err)
	}
}

func nest(levels int, v any) any {
	for range levels {
		v = []any{v}
	}
	return v
}

// The Go API and the decoder agree about what is too deep: the metadata itself is the
// first of the levels.
func TestMetadataDepth(t *testing.T) {
	t.Parallel()
	for _, inner := range []struct {
		value any
		text  string
	}{{int64(1), "1"}, {map[string]any{}, "{}"}} {
		for _, lists := range []int{sessionstore.MaxDepth - 2, sessionstore.MaxDepth - 1, sessionstore.MaxDepth} {
			levels := 1 + lists
			if inner.text == "{}" {
				levels++
			}
			ok := levels <= sessionstore.MaxDepth
			m := sessionstore.Metadata{"k": nest(lists, inner.value)}
			if _, err := normalMetadata(m); (err == nil) != ok {
				t.Errorf("%d levels: Create: %v", levels, err)
			}
			if _, err := m.MarshalJSON(); (err == nil) != ok {
				t.Errorf("%d levels: MarshalJSON: %v", levels, err)
			}
			text := `{"k":` + strings.Repeat("[", lists) + inner.text + strings.Repeat("]", lists) + `}`
			if _, err := sessionstore.DecodeMessage([]byte(`{"metadata":` + text + `}`)); (err == nil) != ok {
				t.Errorf("%d levels: DecodeMessage: %v", levels, err)
			}
		}
	}
}

// Field report S03: integers beyond 2^53 were altered by way of float64, 1.0 became 1.
func TestMetadataNumbers(t *testing.T) {
	t.Parallel()
	const text = `{"id":9223372036854775807,"less":-9223372036854775808,"more":9223372036854775808,"odd":9007199254740993,` +
		`"x":1e400,"f":1.0,"z":-0.0,"p":3.14159265358979323846,"s":"9007199254740993"}`
	m, err := sessionstore.DecodeMessage([]byte(`{"metadata":` + text + `}`))
	if err != nil {
		t.Fatal(err)
	}
	want := sessionstore.Metadata{
		"id": int64(math.MaxInt64), "less": int64(math.MinInt64), "more": json.Number("9223372036854775808"), "odd": int64(9007199254740993),
		"x": json.Number("1e400"), "f": 1.0, "z": math.Copysign(0, -1), "p": json.Number("3.14159265358979323846"), "s": "9007199254740993",
	}
	if !reflect.DeepEqual(m.Metadata, want) {
		t.Errorf("read %#v, want %#v", m.Metadata, want)
	}
	b, err := m.Metadata.MarshalJSON()
	const sorted = `{"f":1.0,"id":9223372036854775807,"less":-9223372036854775808,"more":9223372036854775808,"odd":9007199254740993,` +
		`"p":3.14159265358979323846,"s":"9007199254740993","x":1e400,"z":-0.0}`
	if err != nil || string(b) != sorted {
		t.Errorf("written %s, %v; want %s", b, err, sorted)
	}
}

func TestMetadataAccessors(t *testing.T) {
	t.Parallel()
	m := sessionstore.Metadata{
		"int": 1, "int64": int64(2), "uint": uint16(3), "float": 1.5, "float32": float32(0.1), "whole": 1.0, "number": json.Number("4"),
		"huge": json.Number("1e400"), "string": "s", "named": status("n"), "bool": true, "flag": toggle(true), "null": nil, "bad": "\xff",
	}
	type result struct {
		value any
		ok    bool
	}
	get := func(v any, ok bool) result { return result{v, ok} }
	for _, tt := range []struct {
		name      string
		got, want result
	}{
		{"Int of int", get(m.Int("int")), result{int64(1), true}},
		{"Int of int64", get(m.Int("int64")), result{int64(2), true}},
		{"Int of uint", get(m.Int("uint")), result{int64(3), true}},
		{"Int of number", get(m.Int("number")), result{int64(4), true}},
		{"Int of 1.0", get(m.Int("whole")), result{int64(0), false}},
		{"Int of null", get(m.Int("null")), result{int64(0), false}},
		{"Int of nothing", get(m.Int("nothing")), result{int64(0), false}},
		{"Float of float", get(m.Float("float")), result{1.5, true}},
		{"Float of float32", get(m.Float("float32")), result{0.1, true}},
		{"Float of int", get(m.Float("int")), result{1.0, true}},
		{"Float of huge", get(m.Float("huge")), result{0.0, false}},
		{"Float of string", get(m.Float("string")), result{0.0, false}},
		{"String of string", get(m.String("string")), result{"s", true}},
		{"String of named", get(m.String("named")), result{"n", true}},
		{"String of int", get(m.String("int")), result{"", false}},
		{"String of bad", get(m.String("bad")), result{"\xff", true}},
		{"Bool of bool", get(m.Bool("bool")), result{true, true}},
		{"Bool of flag", get(m.Bool("flag")), result{true, true}},
		{"Bool of string", get(m.Bool("string")), result{false, false}},
		{"Int of nil", get(sessionstore.Metadata(nil).Int("int")), result{int64(0), false}},
	} {
		if tt.got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, tt.got, tt.want)
		}
	}
}

func TestMetadataDecode(t *testing.T) {
	t.Parallel()
	m := sessionstore.Metadata{"r": map[string]any{"name": "n", "any": int64(9007199254740993)}, "nan": math.NaN()}
	var r record
	if err := m.Decode("r", &r); err != nil || r.Name != "n" || r.Any != json.Number("9007199254740993") {
		t.Errorf("decoded %#v, %v", r, err)
	}
	if err := m.Decode("missing", &r); err == nil {
		t.Error("a missing key is no error")
	}
	if err := m.Decode("r", new(string)); err == nil {
		t.Error("an object decodes into a string")
	}
	if err := m.Decode("nan", new(float64)); !errors.Is(err, sessionstore.ErrInvalid) {
		t.Errorf("NaN: %v, want ErrInvalid", err)
	}
}

// Field report S43: nil and empty must not differ by the way a value came in.
func TestNilAndEmpty(t *testing.T) {
	t.Parallel()
	for _, in := range []sessionstore.Metadata{nil, {}} {
		if b, err := json.Marshal(in); err != nil || string(b) != "{}" {
			t.Errorf("%#v is marshalled %s, %v; want {}", in, b, err)
		}
		if got, err := normalMetadata(in); err != nil || got == nil || len(got) != 0 {
			t.Errorf("%#v becomes %#v, %v; want empty, not nil", in, got, err)
		}
		if got := in.Clone(); got == nil || len(got) != 0 {
			t.Errorf("the clone of %#v is %#v; want empty, not nil", in, got)
		}
	}
	var m sessionstore.Metadata
	if err := json.Unmarshal([]byte(`null`), &m); err != nil {
		t.Fatal(err)
	}
	if err := m.UnmarshalJSON([]byte(`null`)); err != nil || m == nil {
		t.Errorf("null is read as %#v, %v; want empty, not nil", m, err)
	}
	for _, text := range []string{
		`{}`, `{"metadata":null,"tool_calls":null}`, `{"metadata":{},"tool_calls":[]}`,
	} {
		got, err := sessionstore.DecodeMessage([]byte(text))
		want := sessionstore.Message{Metadata: sessionstore.Metadata{}}
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s is read as %#v, %v; want %#v", text, got, err, want)
		}
		if out := appendJSON(t, got); strings.Contains(out, "tool_calls") || strings.Contains(out, `"metadata":null`) {
			t.Errorf("%s is written %s", text, out)
		}
	}
	empty := sessionstore.Message{
		Role: sessionstore.RoleUser, Metadata: nil, ToolCalls: []sessionstore.ToolCall{}, Extra: map[string]json.RawMessage{},
	}
	clone := empty.Clone()
	if clone.Metadata == nil || clone.ToolCalls != nil || clone.Extra != nil {
		t.Errorf("the clone is %#v; want metadata, and neither calls nor extra", clone)
	}
}

func TestMetadataUnmarshal(t *testing.T) {
	t.Parallel()
	m := sessionstore.Metadata{"old": 1}
	if err := json.Unmarshal([]byte(`{"a" : {"\u0062":[ ]} , "a":2, "": "\n"}`), &m); err != nil {
		t.Fatal(err)
	}
	if want := (sessionstore.Metadata{"a": int64(2), "": "\n"}); !reflect.DeepEqual(m, want) {
		t.Errorf("read %#v, want %#v", m, want)
	}
	for _, in := range []string{
		`[]`, `1`, `"a"`, `{`, `{"a"}`, `{"a":}`, `{"a":1`, `{"a":[1,]}`, `{"a":[1`, `{"a":tru}`, `{"a":nul}`, `{"a":-}`, `{"a":"}`, `{} {}`,
		`{"a":"\ud83d"}`, `{"\ud83d":1}`, "{\"a\":\"\xff\"}", `{a:1}`, `{"a":[}`, `{"a":x}`,
	} {
		if err := m.UnmarshalJSON([]byte(in)); !errors.Is(err, sessionstore.ErrInvalid) {
			t.Errorf("%s is read as %#v, %v; want ErrInvalid", in, m, err)
		}
	}
}

// Any JSON object is read as encoding/json reads it, but for the types of numbers.
func FuzzMetadata(f *testing.F) {
	f.Add([]byte(`{"a":[1,2.0,"x",null,true,{"b":{}}],"a":1e400,"\u00e9":"\ud83d\ude42"}`))
	f.Fuzz(func(t *testing.T, in []byte) {
		var got sessionstore.Metadata
		if got.UnmarshalJSON(in) != nil {
			return
		}
		d := json.NewDecoder(bytes.NewReader(in))
		d.UseNumber()
		var want map[string]any
		if err := d.Decode(&want); err != nil {
			t.Fatalf("%q is read, encoding/json says %v", in, err)
		}
		if want, err := normalMetadata(want); err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("%q is read as %#v, want %#v, %v", in, got, want, err)
		}
	})
}
