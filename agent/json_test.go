package agent_test

import (
	"encoding/json"
	"errors"
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/agent"
)

type order struct {
	ID   int64 `json:"id"`
	Note any   `json:"note,omitempty"`
}

// Field report C51: what is decoded of replies around JSON, and that the history is that
// of Run whatever becomes of it.
func TestRunJSON(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, reply string
		want        order
		ok          bool
	}{
		{"plain", `{"id":7}`, order{ID: 7}, true},
		{"white space", " \n{\"id\":7}\n", order{ID: 7}, true},
		{"fence", "```\n{\"id\":7}\n```", order{ID: 7}, true},
		{"fence with a language", "```json\n{\"id\":7}\n```\n", order{ID: 7}, true},
		{"big integer", `{"id":9007199254740993,"note":9007199254740993}`, order{ID: 9007199254740993, Note: json.Number("9007199254740993")}, true},
		{"text before", `Here it is: {"id":7}`, order{}, false},
		{"text after", `{"id":7} trailing`, order{}, false},
		{"two values", `{"id":7}{"id":8}`, order{}, false},
		{"text around a fence", "Here:\n```json\n{\"id\":7}\n```", order{}, false},
		{"open fence", "```json\n{\"id\":7}", order{}, false},
		{"fence on one line", "```{\"id\":7}```", order{}, false},
		{"list", `[]`, order{}, false},
		{"null", `null`, order{}, false},
		{"string for a number", `{"id":"7"}`, order{}, false},
		{"fraction for an integer", `{"id":7.5}`, order{}, false},
		{"unknown key", `{"id":7,"ids":8}`, order{}, false},
		{"cut", `{"id":7`, order{}, false},
		{"empty", ``, order{}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			store := newStore(t)
			m := newModel(t, says(tc.reply))
			c := start(t, store, m)
			got, r, err := agent.RunJSON[order](t.Context(), c, user("Which?"))
			var decode *agent.DecodeError
			if (err == nil) != tc.ok || err != nil && (!errors.As(err, &decode) || decode.Text != tc.reply) {
				t.Errorf("got %v, want ok %t, or a DecodeError with the reply", err, tc.ok)
			}
			if !reflect.DeepEqual(got, tc.want) {
				t.Errorf("got %+v, want %+v", got, tc.want)
			}
			if r.Text != tc.reply || r.Message.Seq != 2 {
				t.Errorf("Response: got %q, seq %d, want the reply as it is stored", r.Text, r.Message.Seq)
			}
			wantHistory(t, c, "user: Which?", "assistant: "+tc.reply)
			if s := m.requests[0].Schema; s == nil || s.Name != "answer" || !json.Valid(s.JSON) {
				t.Errorf("schema of the request: got %+v, want that of the type", s)
			}
		})
	}
}

// JSON returns the value as it is spelled.
func TestJSON(t *testing.T) {
	t.Parallel()
	schema := agent.Schema{Name: "order", JSON: json.RawMessage(`{"type":"object"}`)}
	m := newModel(t, says("```json\n{\"id\": 7.10}\n```"), says("null"), says("no"), answer{err: errModel})
	c := start(t, newStore(t), m)
	for _, want := range []string{`{"id": 7.10}`, "null", ""} {
		got, r, err := c.JSON(t.Context(), user("Which?"), schema)
		if string(got) != want || (err == nil) != (want != "") || r.Message.Role != sessionstore.RoleAssistant {
			t.Errorf("got %s, %v, want %q", got, err, want)
		}
	}
	if _, _, err := c.JSON(t.Context(), user("Which?"), schema); !errors.Is(err, errModel) {
		t.Errorf("got %v, want %v", err, errModel)
	}
	if s := m.requests[0].Schema; s == nil || s.Name != "order" {
		t.Errorf("schema of the request: got %+v, want order", s)
	}

	// A schema of the caller's goes before that of the type.
	c = start(t, newStore(t), newModel(t, says(`{"id":1}`)))
	if _, _, err := agent.RunJSON[map[string]int](t.Context(), c, user("Which?"), agent.WithSchema(schema)); err != nil {
		t.Errorf("RunJSON: got %v, want nil", err)
	}
	// For what can be nil, null is a value.
	c = start(t, newStore(t), newModel(t, says(`null`)))
	if got, _, err := agent.RunJSON[*order](t.Context(), c, user("Which?")); err != nil || got != nil {
		t.Errorf("RunJSON of a pointer: got %v, %v, want nil, nil", got, err)
	}
	// A type without a schema is refused before the model is asked.
	m = newModel(t)
	c = start(t, newStore(t), m)
	if _, _, err := agent.RunJSON[func()](t.Context(), c, user("Which?")); err == nil || m.asked() != 0 {
		t.Errorf("RunJSON of a func: got %v, %d requests, want an error, 0", err, m.asked())
	}
}

type base struct {
	Kind string `json:"kind"`
	Name string `json:"hidden"`
}

type node struct{ Next *node }

func TestSchemaFor(t *testing.T) {
	t.Parallel()
	type inner struct {
		A []string           `json:"a"`
		M map[string]float64 `json:"m,omitempty"`
	}
	type all struct {
		base
		Hidden string          `json:"hidden"`
		S      string          `json:"s" description:"A \"text\"."`
		N      int             `json:",string"`
		Inner  *inner          `json:"inner"`
		Twice  inner           `json:"twice"`
		T      time.Time       `json:"t"`
		IP     netip.Addr      `json:"ip"`
		Raw    json.RawMessage `json:"raw" description:"Anything."`
		Bytes  []byte          `json:"bytes"`
		Any    any             `json:"any"`
		Num    json.Number     `json:"num"`
		F      *bool           `json:"f,omitzero"`
		Skip   int             `json:"-"`
		lower  int
	}
	_ = all{}.lower
	s, err := agent.SchemaFor[all]("all")
	if err != nil {
		t.Fatalf("got %v, want nil", err)
	}
	in := `{"type":"object","properties":{"a":{"type":"array","items":{"type":"string"}},"m":{"type":"object","additionalProperties":{"type":"number"}}},"required":["a"],"additionalProperties":false}`
	want := `{"type":"object","properties":{` + strings.Join([]string{
		`"hidden":{"type":"string"}`,
		`"s":{"type":"string","description":"A \"text\"."}`,
		`"N":{"type":"string"}`,
		`"inner":` + in, `"twice":` + in,
		`"t":{"type":"string","format":"date-time"}`,
		`"ip":{"type":"string"}`,
		`"raw":{"description":"Anything."}`,
		`"bytes":{"type":"string","contentEncoding":"base64"}`,
		`"any":{}`, `"num":{"type":"number"}`, `"f":{"type":"boolean"}`,
		`"kind":{"type":"string"}`,
	}, ",") + `},"required":["hidden","s","N","inner","twice","t","ip","raw","bytes","any","num","kind"],"additionalProperties":false}`
	if string(s.JSON) != want || s.Strict || s.Name != "all" {
		t.Errorf("got %s, strict %t\nwant %s, false", s.JSON, s.Strict, want)
	}

	strict, err := agent.SchemaFor[[]struct{ A, B int }]("pairs")
	if err != nil || !strict.Strict {
		t.Errorf("a list of structs: got strict %t, %v, want true, nil", strict.Strict, err)
	}
	for name, schema := range map[string]func(string) (agent.Schema, error){
		"recursive": agent.SchemaFor[node], "chan": agent.SchemaFor[struct{ C chan int }],
		"interface": agent.SchemaFor[[]error], "map key": agent.SchemaFor[map[float64]int],
	} {
		if s, err := schema(name); err == nil {
			t.Errorf("%s: got %s, want an error", name, s.JSON)
		}
	}
}
