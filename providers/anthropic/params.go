package anthropic

import (
	"encoding/json"

	"github.com/anthropics/anthropic-sdk-go/v2/packages/param"

	"github.com/sessionstore/sessionstore/internal/wire"
)

// typed returns the SDK's value for raw: with its fields set where they can say all that
// raw says, else as raw JSON that is sent as it is.
func typed[T param.ParamStruct, P interface {
	param.InferPtr[T]
	json.Unmarshaler
}](raw json.RawMessage) T {
	var v T
	if P(&v).UnmarshalJSON(raw) == nil {
		if b, err := json.Marshal(v); err == nil && wire.Same(b, raw) {
			return v
		}
	}
	return param.Override[T, P](raw)
}
