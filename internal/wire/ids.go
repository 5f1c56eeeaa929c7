package wire

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
)

// IDs gives the tool calls of one request the ids that they go by there. An id that the
// API takes stays as it is; any other is replaced by one made from its hash. The same
// history gives the same ids, also when it has grown since, and no two calls that Take
// was called for get the same.
type IDs struct {
	Valid func(id string) bool
	used  map[string]bool
}

// Take returns the id for a call that goes by id in the history.
func (m *IDs) Take(id string) string {
	if m.used == nil {
		m.used = make(map[string]bool)
	}
	wire := id
	for n := 0; !m.Valid(wire) || m.used[wire]; n++ {
		sum := sha256.Sum256([]byte(strconv.Itoa(n) + " " + id))
		wire = "call_" + hex.EncodeToString(sum[:16])
	}
	m.used[wire] = true
	return wire
}

// Plain reports whether id is one of 1 to limit ASCII letters, digits, "_" and "-".
func Plain(id string, limit int) bool {
	return id != "" && len(id) <= limit && id == ToolName(id, limit)
}
