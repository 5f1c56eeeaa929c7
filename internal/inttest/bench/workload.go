package bench

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/sessionstore/sessionstore"
)

// writers is how many goroutines the parallel workloads have.
const writers = 32

// kind is what the calls of a workload do.
type kind int

const (
	appending kind = iota
	reading
	listing
)

// Workload is one kind of call on data of one size.
type Workload struct {
	Name string // as a benchmark's, such as W1/history=0
	base string // the part of the name that the goals are stated for

	kind     kind
	sessions int // that are appended to in turns
	history  int // messages that each session has beforehand
	writers  int // goroutines
	stored   int // messages, or sessions, that are read from
	read     int // of them
	newest   bool

	// flat asks for a race with appends to an empty session too.
	flat bool

	// heat is how many calls are made at a stretch before it is another candidate's turn.
	heat int
	// passes is the least number of heats that make a round.
	passes int
}

// Workloads are all of them. With a scale below 1 they are smaller, for a server whose
// speed says nothing, and say so in their names.
func Workloads(scale float64) []Workload {
	scaled := func(n int) int { return max(int(float64(n)*scale), 1) }
	var out []Workload
	for _, n := range []int{0, 1000, 10_000} {
		n = int(float64(n) * scale)
		out = append(out, Workload{Name: fmt.Sprintf("W1/history=%d", n), base: "W1", kind: appending, sessions: 1,
			history: n, writers: 1, heat: scaled(128)})
	}
	out[len(out)-1].flat = true
	out = append(out,
		Workload{Name: "W2", base: "W2", kind: appending, sessions: 64, writers: writers, heat: writers * scaled(64)},
		Workload{Name: "hot", base: "hot", kind: appending, sessions: 1, writers: writers, heat: writers * scaled(64)},
		Workload{Name: "W3", base: "W3", kind: reading, writers: 1, stored: scaled(10_000), read: min(20, scaled(10_000)), newest: true, heat: scaled(64)},
		Workload{Name: "W4", base: "W4", kind: reading, writers: 1, stored: scaled(1000), read: scaled(1000), heat: scaled(8)},
		Workload{Name: "W5", base: "W5", kind: listing, writers: 1, stored: scaled(10_000), read: min(50, scaled(10_000)), heat: scaled(32)},
	)
	for i := range out {
		out[i].passes = scaled(2)
	}
	return out
}

// renewed reports whether the sessions of an append have grown so much, by so many calls,
// that another heat should have new ones: history is what the name says.
func (w Workload) renewed(calls int) bool {
	return w.kind == appending && calls > 0 && calls+w.heat > max(w.heat, w.sessions*w.history/4)
}

// entry is one append: what a store is given, and what a floor is.
type entry struct {
	session int
	batch   []sessionstore.Message // of one
	record  []byte                 // its JSON
}

var text = strings.Repeat("The quick brown fox jumps over the lazy dog, twice. ", 8)[:400]

// message has a role, 400 bytes of text and two metadata keys.
func message() sessionstore.Message {
	m := sessionstore.UserMessage(text)
	m.ID = uuid.Must(uuid.NewV7()).String()
	m.Metadata = sessionstore.Metadata{"model": "gpt-4.1-mini", "tokens": int64(97)}
	return m
}

// record is the message as the stores that keep JSON write it.
func record(m sessionstore.Message) ([]byte, error) {
	m.CreatedAt = time.Now().UTC().Truncate(time.Microsecond)
	return m.AppendJSON(nil)
}

// messages returns n new messages, and their records.
func messages(n int) (msgs []sessionstore.Message, records [][]byte, err error) {
	msgs, records = make([]sessionstore.Message, n), make([][]byte, n)
	for i := range msgs {
		msgs[i] = message()
		if records[i], err = record(msgs[i]); err != nil {
			return nil, nil, err
		}
	}
	return msgs, records, nil
}

// session is one of the user whom all belong to.
func session(n int) sessionstore.Session {
	return sessionstore.Session{UserID: "user", AgentName: "agent", Metadata: sessionstore.Metadata{"title": "A conversation", "n": int64(n)}}
}

// entries are what a heat of the workload appends, spread evenly over the sessions in an
// order without a pattern. A heat that reads has as many that are empty.
func (w Workload) entries() ([]entry, error) {
	out := make([]entry, w.heat)
	if w.kind != appending {
		return out, nil
	}
	msgs, records, err := messages(w.heat)
	if err != nil {
		return nil, err
	}
	for i, to := range rand.New(rand.NewPCG(1, 2)).Perm(w.heat) {
		out[i] = entry{to % w.sessions, msgs[i : i+1 : i+1], records[i]}
	}
	return out, nil
}
