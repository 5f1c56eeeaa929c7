package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"

	"github.com/sessionstore/sessionstore"
)

// JSON makes a turn whose answer is to be JSON of the schema, and returns that value as the
// model wrote it. What is stored is the same as after Run: the answer's text as it came.
//
// White space around the value is allowed, and so is one Markdown code fence around it.
// Anything else is a [*DecodeError], together with the Response; the turn is stored then
// too. That the value fits the schema is not checked. Other errors: those of Run.
func (c *Conversation) JSON(ctx context.Context, input sessionstore.Message, schema Schema, opts ...Option) (json.RawMessage, Response, error) {
	r, err := c.Run(ctx, input, append(opts[:len(opts):len(opts)], WithSchema(schema))...)
	if err != nil {
		return nil, r, err
	}
	var value json.RawMessage
	return value, r, decode(r.Text, &value)
}

// RunJSON is [Conversation.JSON] with the answer decoded as encoding/json does, but for
// three things: keys that T does not have are refused, so is null unless T can be nil, and
// numbers in an any become json.Number. The schema is the one that [SchemaFor] makes of T,
// unless the options give one ([WithSchema]). Errors: those of JSON and SchemaFor. If there
// is one, the T is zero.
func RunJSON[T any](ctx context.Context, c *Conversation, input sessionstore.Message, opts ...Option) (T, Response, error) {
	var zero, value T
	if c.set.with(opts).schema == nil {
		schema, err := SchemaFor[T]("answer")
		if err != nil {
			return zero, Response{}, err
		}
		opts = append(opts[:len(opts):len(opts)], WithSchema(schema))
	}
	r, err := c.Run(ctx, input, opts...)
	if err != nil {
		return zero, r, err
	}
	if err := decode(r.Text, &value); err != nil {
		return zero, r, err
	}
	return value, r, nil
}

// decode decodes the one JSON value of an answer.
func decode(text string, into any) error {
	err := decodeValue(unfenced(text), into)
	if err != nil {
		return &DecodeError{Text: text, Err: err}
	}
	return nil
}

func decodeValue(text string, into any) error {
	d := json.NewDecoder(strings.NewReader(text))
	var raw json.RawMessage
	if err := d.Decode(&raw); err != nil {
		if errors.Is(err, io.EOF) {
			return errors.New("it is empty")
		}
		return err
	}
	if rest := strings.TrimSpace(text[d.InputOffset():]); rest != "" {
		return fmt.Errorf("something follows the value: %.20q", rest)
	}
	if string(raw) == "null" && !nullable(reflect.TypeOf(into).Elem()) {
		return errors.New("it is null")
	}
	d = json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	d.DisallowUnknownFields()
	return d.Decode(into)
}

// nullable reports whether null is a value of t of its own.
func nullable(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Pointer, reflect.Map, reflect.Slice, reflect.Interface:
		return true
	}
	return reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]())
}

// unfenced returns what a Markdown code fence around the whole text holds, or the text.
func unfenced(text string) string {
	text = strings.TrimSpace(text)
	body, ok := strings.CutPrefix(text, "```")
	if !ok {
		return text
	}
	language, body, ok := strings.Cut(body, "\n")
	if !ok || strings.ContainsAny(language, "`{[\"") {
		return text
	}
	body, ok = strings.CutSuffix(body, "```")
	if !ok {
		return text
	}
	return strings.TrimSpace(body)
}
