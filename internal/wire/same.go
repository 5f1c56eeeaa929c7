package wire

import (
	"bytes"
	"encoding/json"
	"reflect"
)

// Same reports whether two JSON texts say the same, in whatever order and spelling.
func Same(a, b []byte) bool {
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
