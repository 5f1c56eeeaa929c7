package openai

import (
	"bytes"
	"encoding/json"
	"reflect"

	"github.com/openai/openai-go/v3/packages/param"
)

// typed returns the SDK's value for raw: with its fields set where they can say all that
// raw says, else as raw JSON that is sent as it is.
func typed[T param.ParamStruct, P interface {
	param.InferPtr[T]
	json.Unmarshaler
}](raw json.RawMessage) T {
	var v T
	if P(&v).UnmarshalJSON(raw) == nil {
		if b, err := json.Marshal(v); err == nil && sameJSON(b, raw) {
			return v
		}
	}
	return param.Override[T, P](raw)
}

func sameJSON(a, b []byte) bool {
	x, errX := decode(a)
	y, errY := decode(b)
	return errX == nil && errY == nil && reflect.DeepEqual(x, y)
}

func decode(b []byte) (v any, err error) {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	err = d.Decode(&v)
	return v, err
}
