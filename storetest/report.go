package storetest

import (
	"fmt"
	"slices"
	"strings"
	"sync"
)

// report collects what came of each rule, for the table at the end of a run.
type report struct {
	backend Backend

	mu  sync.Mutex
	got map[RuleID]outcome
}

func (r *report) add(id RuleID, o outcome) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.got == nil {
		r.got = make(map[RuleID]outcome)
	}
	r.got[id] = o
}

// String is the table: a rule a line, and under it what was not exercised. What all of
// the rules lack for the same reason is said once, at the end.
func (r *report) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var b strings.Builder
	fmt.Fprintf(&b, "report (%s=%d)\n", seedVar, runSeed())
	for _, rule := range rules {
		o, ran := r.got[rule.id]
		fmt.Fprintf(&b, "  %-18s %s\n", rule.id, r.verdict(rule.id, o, ran))
		for _, n := range slices.Compact(o.notes) {
			fmt.Fprintf(&b, "  %-18s   not exercised: %s\n", "", n)
		}
	}
	for _, p := range []struct {
		absent    bool
		name, why string
	}{
		{r.backend.Reopen == nil, "Reopen", "durability"},
		{r.backend.Child == nil, "Child", "writers in two processes"},
		{r.backend.Break == nil, "Break", "a connection that breaks"},
	} {
		if p.absent {
			fmt.Fprintf(&b, "  Backend.%s is nil: %s not exercised\n", p.name, p.why)
		}
	}
	b.WriteString("  speed is judged by storetest.Bench, not here: list.cost, append.flat and messages check what a test can see of it")
	return b.String()
}

func (r *report) verdict(id RuleID, o outcome, ran bool) string {
	why, exempt := r.backend.Exempt[id]
	switch {
	case !ran:
		return "not run (filtered)"
	case exempt && o.failed:
		return "exempt: " + why
	case exempt:
		return "holds, but is exempt: " + why
	case o.failed:
		return "FAILED"
	case o.skipped != "":
		return "skipped: " + o.skipped
	}
	return "holds"
}
