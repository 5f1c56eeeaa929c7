package bench

import "fmt"

// goal is what a figure of the store should not exceed.
type goal struct {
	figure string // the name of a floor, which the store's time is divided by; or one of these
	most   float64
}

const (
	allocs = "allocations a call"
	trips  = "round trips a call"
)

// goals of each backend, by the name of a workload without its size.
var goals = map[string]map[string][]goal{
	"memory": {
		"W1":  {{"bare", 1.5}, {allocs, 6}, {emptySession, 1.2}},
		"W2":  {{"bare", 1.1}},
		"hot": {{"bare", 1.5}},
		"W3":  {{"bare", 1.2}},
		"W4":  {{"bare", 1.2}},
		"W5":  {{"bare", 1.5}},
	},
	"bolt": {
		"W1":  {{"bare", 2.0}, {"equal", 1.1}, {emptySession, 1.3}},
		"W2":  {{"bare", 1.5}},
		"hot": {{"bare", 1.5}},
		"W3":  {{"bare", 0.5}},
		"W4":  {{"bare", 0.5}},
		"W5":  {{"bare", 1.0}},
	},
	"redis": {
		"W1":  {{"bare", 1.7}, {"equal", 1.25}, {trips, 1}, {emptySession, 1.2}},
		"W2":  {{"bare", 2.4}, {"equal", 1.3}},
		"hot": {{"bare", 2.4}},
		"W3":  {{"bare", 0.5}},
		"W4":  {{"bare", 0.5}},
		"W5":  {{"bare", 1.0}},
	},
	"postgres": {
		"W1":  {{"bare", 1.4}, {"equal", 1.1}, {trips, 1}, {emptySession, 1.2}},
		"W2":  {{"bare", 1.7}, {"equal", 1.1}},
		"hot": {{"bare", 1.5}},
		"W3":  {{"bare", 0.6}},
		"W4":  {{"bare", 0.6}},
		"W5":  {{"bare", 1.1}},
	},
	"mongo": {
		"W1": {{"bare", 1.3}, {trips, 1}, {emptySession, 1.5}},
		"W2": {{"bare", 1.5}},
		"W3": {{"bare", 1.0}},
		"W4": {{"bare", 1.0}},
		"W5": {{"bare", 1.1}},
	},
}

// tolerance is by how much a goal may be passed before that shows: what a client does in
// the background is counted as a call's now and then.
const tolerance = 0.005

func (g goal) passed(got float64) bool { return got/g.most-1 > tolerance }

// timed reports whether the goal is for a time.
func (g goal) timed() bool { return g.figure != allocs && g.figure != trips }

// verdict says what has become of the goal.
func (g goal) verdict(got float64) string {
	if g.passed(got) {
		return fmt.Sprintf("≤ %v, **missed by %.0f %%**", g.most, max(1, 100*(got/g.most-1)))
	}
	return fmt.Sprintf("≤ %v, ok", g.most)
}
