package linear

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"time"

	"github.com/sessionstore/sessionstore"
)

// Kind is what a call is.
type Kind string

// Create to Purge are writes.
const (
	Create   Kind = "create"
	Append   Kind = "append"
	Truncate Kind = "truncate"
	Update   Kind = "update"
	Delete   Kind = "delete"
	Purge    Kind = "purge"
	Get      Kind = "get"
	Read     Kind = "read"   // of messages
	Fork     Kind = "fork"   // what the child has of the session
	Listed   Kind = "listed" // in a list of sessions
	Absent   Kind = "absent" // from a list of sessions
)

func (k Kind) writes() bool {
	switch k {
	case Create, Append, Truncate, Update, Delete, Purge:
		return true
	}
	return false
}

// Call is a call on one session and its answer.
type Call struct {
	Client  int    `json:"client"`
	Session string `json:"session"`
	Kind    Kind   `json:"kind"`

	// Start and End are stamps of one counter: if one call's End is less than another's
	// Start, it had returned before. The End of a write with an unknown outcome is Never.
	Start int64 `json:"start"`
	End   int64 `json:"end"`
	// Clocks are the values that the store's clock had meanwhile, as Snapshot has times.
	Clocks []int64 `json:"clocks"`

	// What was asked.
	Messages  []Message `json:"messages,omitempty"`    // to append
	Through   int64     `json:"through,omitempty"`     // of a truncate
	IfLastSeq *int64    `json:"if_last_seq,omitempty"` // of an append or a truncate
	IfVersion int64     `json:"if_version,omitempty"`  // of an update
	Set       *Change   `json:"set,omitempty"`         // of a create or an update
	After     int64     `json:"after,omitempty"`       // of a read, as are the next three
	Before    int64     `json:"before,omitempty"`
	Limit     int       `json:"limit,omitempty"`
	Newest    bool      `json:"newest,omitempty"`

	// What was answered.
	Outcome Outcome   `json:"outcome"`
	Got     *Snapshot `json:"got,omitempty"`
	Found   []Message `json:"found,omitempty"` // or appended
	More    bool      `json:"more,omitempty"`
}

// Never is the End of a call whose effect may still come.
const Never = math.MaxInt64

// Outcome is "ok", Unknown, or which error refused the call.
type Outcome string

// The outcomes that the model knows; anything else has no place in any order.
const (
	OK         Outcome = "ok"
	Unknown    Outcome = "unknown"
	NotFound   Outcome = "not found"
	Exists     Outcome = "exists"
	Paused     Outcome = "paused"
	Closed     Outcome = "closed"
	Conflict   Outcome = "conflict"
	Transition Outcome = "invalid transition"
	Duplicate  Outcome = "message exists"
)

// Change is what a create or an update sets.
type Change struct {
	Status *sessionstore.Status `json:"status,omitempty"`
	System *string              `json:"system,omitempty"`
	TTL    *int64               `json:"ttl,omitempty"` // microseconds
	Put    map[string]int64     `json:"put,omitempty"` // into the metadata
	Remove []string             `json:"remove,omitempty"`
	Touch  bool                 `json:"touch,omitempty"`
}

// Snapshot is a session as somebody was shown it. Times are microseconds since Epoch.
type Snapshot struct {
	Status   sessionstore.Status `json:"status"`
	System   string              `json:"system,omitempty"`
	Metadata map[string]int64    `json:"metadata,omitempty"`
	TTL      int64               `json:"ttl,omitempty"`
	Version  int64               `json:"version,omitempty"`
	LastSeq  int64               `json:"last_seq"`
	Count    int64               `json:"count"`
	Created  int64               `json:"created"`
	Updated  int64               `json:"updated"`
	Expires  int64               `json:"expires,omitempty"`
}

// Message is a message. Of one that is to be appended only ID and Text count.
type Message struct {
	ID      string `json:"id"`
	Text    string `json:"text"`
	Seq     int64  `json:"seq,omitempty"`
	Created int64  `json:"created,omitempty"`
}

// Epoch is where the clock of every history begins.
var Epoch = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)

func micros(t time.Time) int64 { return t.Sub(Epoch).Microseconds() }

func snapshot(s sessionstore.Session) *Snapshot {
	out := &Snapshot{
		Status: s.Status, System: s.System, TTL: s.TTL.Microseconds(), Version: s.Version,
		LastSeq: s.LastSeq, Count: s.MessageCount, Created: micros(s.CreatedAt), Updated: micros(s.UpdatedAt),
	}
	if !s.ExpiresAt.IsZero() {
		out.Expires = micros(s.ExpiresAt)
	}
	for k := range s.Metadata {
		if out.Metadata == nil {
			out.Metadata = map[string]int64{}
		}
		out.Metadata[k], _ = s.Metadata.Int(k)
	}
	return out
}

func shown(msgs []sessionstore.Message) []Message {
	out := make([]Message, len(msgs))
	for i, m := range msgs {
		out[i] = Message{ID: m.ID, Text: m.Content.String(), Seq: m.Seq, Created: micros(m.CreatedAt)}
	}
	return out
}

// String is the call on one line.
func (c Call) String() string {
	asked := c
	asked.Outcome, asked.Got, asked.Found, asked.Clocks = "", nil, nil, nil
	in, _ := json.Marshal(asked)
	out, _ := json.Marshal(struct {
		Outcome Outcome   `json:"outcome"`
		Got     *Snapshot `json:"got,omitempty"`
		Found   []Message `json:"found,omitempty"`
	}{c.Outcome, c.Got, c.Found})
	return fmt.Sprintf("%s -> %s", in, out)
}

// Load reads the calls that Save wrote.
func Load(path string) ([]Call, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var calls []Call
	if err := json.Unmarshal(b, &calls); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return calls, nil
}

// Save writes calls, one a line, in the order they began.
func Save(path string, calls []Call) error {
	calls = slices.Clone(calls)
	slices.SortFunc(calls, func(a, b Call) int { return int(a.Start - b.Start) })
	b := []byte{'['}
	for i, c := range calls {
		if i > 0 {
			b = append(b, ',')
		}
		line, err := json.Marshal(c)
		if err != nil {
			return err
		}
		b = append(append(b, '\n'), line...)
	}
	return os.WriteFile(path, append(b, "\n]\n"...), 0o600)
}
