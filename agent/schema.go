package agent

import (
	"bytes"
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"time"
)

// SchemaFor returns the JSON schema of what encoding/json reads into a T. A struct is an
// object without other keys than its fields; those are required unless their tag has
// omitempty or omitzero. A field's tag description is its description. What decodes
// itself may be anything. Strict is set if every object has all of its keys required and
// no others.
//
// Errors: types that contain themselves, and those that JSON does not have.
func SchemaFor[T any](name string) (Schema, error) {
	g := generator{strict: true, inside: make(map[reflect.Type]bool)}
	if err := g.schema(reflect.TypeFor[T](), ""); err != nil {
		return Schema{}, fmt.Errorf("agent: schema of %s: %w", reflect.TypeFor[T](), err)
	}
	return Schema{Name: name, JSON: g.out.Bytes(), Strict: g.strict}, nil
}

// generator writes a schema, the keys of an object in the order of its fields.
type generator struct {
	out    bytes.Buffer
	strict bool
	inside map[reflect.Type]bool // the types around the one at hand
}

var (
	timeType            = reflect.TypeFor[time.Time]()
	numberType          = reflect.TypeFor[json.Number]()
	unmarshalerType     = reflect.TypeFor[json.Unmarshaler]()
	textUnmarshalerType = reflect.TypeFor[encoding.TextUnmarshaler]()
)

func (g *generator) schema(t reflect.Type, description string) error {
	g.out.WriteByte('{')
	start := g.out.Len()
	if err := g.body(t); err != nil {
		return err
	}
	if description != "" {
		if g.out.Len() > start {
			g.out.WriteByte(',')
		}
		g.out.WriteString(`"description":` + quote(description))
	}
	g.out.WriteByte('}')
	return nil
}

// body writes the members of t's schema.
func (g *generator) body(t reflect.Type) error {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	pointer := reflect.PointerTo(t)
	switch {
	case t == timeType:
		g.out.WriteString(`"type":"string","format":"date-time"`)
		return nil
	case t == numberType:
		g.out.WriteString(`"type":"number"`)
		return nil
	case pointer.Implements(unmarshalerType):
		g.strict = false
		return nil
	case pointer.Implements(textUnmarshalerType):
		g.out.WriteString(`"type":"string"`)
		return nil
	}
	switch t.Kind() {
	case reflect.Bool:
		g.out.WriteString(`"type":"boolean"`)
	case reflect.String:
		g.out.WriteString(`"type":"string"`)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		g.out.WriteString(`"type":"integer"`)
	case reflect.Float32, reflect.Float64:
		g.out.WriteString(`"type":"number"`)
	case reflect.Interface:
		if t.NumMethod() > 0 {
			return fmt.Errorf("%s cannot be read from JSON", t)
		}
		g.strict = false
	case reflect.Slice, reflect.Array, reflect.Map, reflect.Struct:
		if g.inside[t] {
			return fmt.Errorf("%s contains itself", t)
		}
		g.inside[t] = true
		defer delete(g.inside, t)
		return g.composite(t)
	default:
		return fmt.Errorf("%s cannot be read from JSON", t)
	}
	return nil
}

func (g *generator) composite(t reflect.Type) error {
	switch t.Kind() {
	case reflect.Map:
		key := t.Key()
		switch key.Kind() {
		case reflect.String, reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
			reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		default:
			if !reflect.PointerTo(key).Implements(textUnmarshalerType) {
				return fmt.Errorf("%s cannot be read from JSON", t)
			}
		}
		g.strict = false
		g.out.WriteString(`"type":"object","additionalProperties":`)
		return g.schema(t.Elem(), "")
	case reflect.Struct:
		return g.object(t)
	}
	if t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8 {
		g.out.WriteString(`"type":"string","contentEncoding":"base64"`)
		return nil
	}
	g.out.WriteString(`"type":"array","items":`)
	return g.schema(t.Elem(), "")
}

func (g *generator) object(t reflect.Type) error {
	var required []string
	g.out.WriteString(`"type":"object","properties":{`)
	for i, f := range fields(t, nil) {
		if i > 0 {
			g.out.WriteByte(',')
		}
		g.out.WriteString(quote(f.name) + ":")
		if f.asString {
			g.out.WriteString(`{"type":"string"}`)
		} else if err := g.schema(f.kind, f.description); err != nil {
			return err
		}
		if f.optional {
			g.strict = false
		} else {
			required = append(required, quote(f.name))
		}
	}
	g.out.WriteString(`},"required":[` + strings.Join(required, ",") + `],"additionalProperties":false`)
	return nil
}

// field is what encoding/json makes of a struct's field.
type field struct {
	name, description  string
	kind               reflect.Type
	optional, asString bool
}

// fields appends the fields of t, and those of the structs embedded in it that it does not
// hide, to known.
func fields(t reflect.Type, known []field) []field {
	var embedded []reflect.Type
	for i := range t.NumField() {
		f := t.Field(i)
		tag := f.Tag.Get("json")
		name, options, _ := strings.Cut(tag, ",")
		if tag == "-" {
			continue
		}
		if f.Anonymous && name == "" {
			inner := f.Type
			if inner.Kind() == reflect.Pointer {
				inner = inner.Elem()
			}
			if inner.Kind() == reflect.Struct {
				embedded = append(embedded, inner)
				continue
			}
		}
		if !f.IsExported() {
			continue
		}
		if name == "" {
			name = f.Name
		}
		if hidden(known, name) {
			continue
		}
		options = "," + options + ","
		known = append(known, field{
			name:        name,
			description: f.Tag.Get("description"),
			kind:        f.Type,
			optional:    strings.Contains(options, ",omitempty,") || strings.Contains(options, ",omitzero,"),
			asString:    strings.Contains(options, ",string,"),
		})
	}
	for _, inner := range embedded {
		known = fields(inner, known)
	}
	return known
}

func hidden(known []field, name string) bool {
	for _, f := range known {
		if f.name == name {
			return true
		}
	}
	return false
}

func quote(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}
