package linear

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Tally counts calls by what they were told, for a report.
type Tally struct {
	calls    int
	outcomes map[Outcome]int
}

// Add counts the calls of a history.
func (t *Tally) Add(calls []Call) {
	if t.outcomes == nil {
		t.outcomes = map[Outcome]int{}
	}
	t.calls += len(calls)
	for _, c := range calls {
		t.outcomes[c.Outcome]++
	}
}

// String is such as "120 calls (80 ok, 30 unknown, 10 conflict)".
func (t *Tally) String() string {
	names := slices.SortedFunc(maps.Keys(t.outcomes), func(a, b Outcome) int { return t.outcomes[b] - t.outcomes[a] })
	parts := make([]string, len(names))
	for i, o := range names {
		parts[i] = fmt.Sprintf("%d %s", t.outcomes[o], o)
	}
	return fmt.Sprintf("%d calls (%s)", t.calls, strings.Join(parts, ", "))
}
