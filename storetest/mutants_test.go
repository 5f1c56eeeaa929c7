package storetest

import (
	"flag"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

var (
	matrix = flag.Bool("matrix", false, "run every mutant against every rule, not only the one meant for it, and compare with testdata/kills.golden")
	golden = flag.Bool("update", false, "as -matrix, and write testdata/kills.golden")
)

// TestMain keeps rapid from leaving files behind and from shrinking for long: here the
// model fails on purpose.
func TestMain(m *testing.M) {
	flag.Parse()
	for name, value := range map[string]string{"rapid.nofailfile": "true", "rapid.shrinktime": "1ms"} {
		if err := flag.Set(name, value); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}

const goldenFile = "testdata/kills.golden"

// racy are the rules with cases that depend on the order in which goroutines run: what
// they kill by the way may differ from run to run, so the golden table has them only where
// they are meant.
var racy = []RuleID{
	"append.concurrent", "append.atomic", "append.flat", "cancel", "closed", "delete", "fork", "lifecycle",
	"list.cost", "list.order", "list.page", "owner", "restore", "same", "truncate", "update.merge",
}

// TestSuiteHasTeeth runs the suite's rules against mutants, stores with one fault each.
// The rule meant for a mutant must kill it by its own cases: the invariants that are
// checked behind every case, and the random model, do not count.
func TestSuiteHasTeeth(t *testing.T) {
	t.Parallel()
	table := &killTable{killers: map[string][]RuleID{}}
	t.Run("mutants", func(t *testing.T) {
		for _, m := range mutants {
			t.Run(m.name, func(t *testing.T) {
				t.Parallel()
				for _, r := range rules {
					if r.id != m.meant && !*matrix && !*golden {
						continue
					}
					if !kills(t, m, r) {
						if r.id == m.meant {
							t.Errorf("the mutant %q: got a pass of the rule %s, want it killed by the rule that is meant for it", m.name, m.meant)
						}
					} else if r.id == m.meant || !slices.Contains(racy, r.id) {
						table.add(m, r.id)
					}
				}
			})
		}
	})
	if *golden {
		if err := os.WriteFile(goldenFile, []byte(table.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	b, err := os.ReadFile(goldenFile)
	if err != nil {
		t.Fatalf("%v; write it with: go test -run %s -update", err, t.Name())
	}
	if *matrix && string(b) != table.String() {
		t.Errorf("%s: got\n%s\nwant\n%s", goldenFile, table, b)
	}
	checkKills(t, string(b))
}

// kills reports whether a case of the rule fails for the mutant.
func kills(t *testing.T, m mutant, r rule) bool {
	for _, k := range r.cases {
		if reflect.ValueOf(k.run).Pointer() == reflect.ValueOf(modelCase).Pointer() {
			continue
		}
		if caseFails(t, mutated(m.make()), r, k) {
			return true
		}
	}
	return false
}

// caseFails runs a case without the invariants behind it.
func caseFails(t *testing.T, b Backend, r rule, k kase) bool {
	rec := newRecorder(t)
	e := newEnv(rec, b, r, k)
	done := make(chan struct{})
	go func() {
		defer close(done)
		rec.contain(func() { k.run(e) })
		rec.cleanup()
	}()
	select {
	case <-done:
	case <-time.After(watchdog()):
		return true // a hang is caught by the watchdog of Run
	}
	return e.outcome().failed
}

// killTable says which rules kill which mutant.
type killTable struct {
	mu      sync.Mutex
	killers map[string][]RuleID
}

func (k *killTable) add(m mutant, id RuleID) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.killers[m.name] = append(k.killers[m.name], id)
}

// String is the table in the order of mutants: mutant, the rule meant, all killers.
func (k *killTable) String() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	var b strings.Builder
	for _, m := range mutants {
		fmt.Fprintf(&b, "%s\t%s\t", m.name, m.meant)
		for i, id := range k.killers[m.name] {
			if i > 0 {
				b.WriteByte(' ')
			}
			b.WriteString(string(id))
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// checkKills checks the golden table: it knows every mutant, the rule meant is among the
// killers, and every rule kills something.
func checkKills(t *testing.T, table string) {
	rows := map[string][]string{}
	needed := map[RuleID]bool{}
	for line := range strings.Lines(table) {
		if f := strings.Split(strings.TrimSuffix(line, "\n"), "\t"); len(f) == 3 {
			rows[f[0]] = f[1:]
			for _, id := range strings.Fields(f[2]) {
				needed[RuleID(id)] = true
			}
		}
	}
	for _, m := range mutants {
		row, ok := rows[m.name]
		if !ok || row[0] != string(m.meant) || !slices.Contains(strings.Fields(row[1]), string(m.meant)) {
			t.Errorf("%s: got the row %q for the mutant %q, want one whose killers have %s", goldenFile, row, m.name, m.meant)
		}
		delete(rows, m.name)
	}
	for name := range rows {
		t.Errorf("%s: got a row for %q, want none: there is no such mutant", goldenFile, name)
	}
	for _, r := range rules {
		if !needed[r.id] {
			t.Errorf("the rule %s: got no mutant that it kills, want at least one", r.id)
		}
	}
}

// TestModelFindsFaults shows that the random model alone is no weak judge: it finds faults
// of many kinds. It may take several tries for one, because it is random; so many that a
// fault which it can find is not missed by chance.
func TestModelFindsFaults(t *testing.T) {
	t.Parallel()
	names := []string{
		"missing session told before invalid argument", "status told before repeat", "empty metadata is nil",
		"fork_seq without a parent accepted", "create replaces", "delete of nothing succeeds", "metadata replaced", "nil removes the key",
		"IfVersion ignored", "paused session not settable", "ties by id ascending", "list shows what was", "cursor skips ties", "alive at the moment of expiry",
		"batch backwards", "seq used again after a truncate", "UpdatedAt moves back", "other content under a known id accepted", "IfLastSeq ignored",
		"newest page from the oldest end", "ThroughSeq removed too", "truncate moves version", "fork keeps the status", "view confines nothing",
	}
	for _, m := range mutants {
		if !slices.Contains(names, m.name) {
			continue
		}
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			for range 40 {
				if caseFails(t, mutated(m.make()), rule{id: "model"}, kase{"model", modelCase}) {
					return
				}
			}
			t.Errorf("40 runs of the model on the mutant %q: got none that failed, want one", m.name)
		})
	}
}

// proofs are the cases that test the whole store at once.
var proofs = []kase{{"model", modelCase}, {"history", historyCase}, {"transitions", transitionRaceCase}, {"corpus", corpusCase}}

func TestProofsHoldForMemory(t *testing.T) {
	t.Parallel()
	for _, k := range proofs {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			judge(t, runCase(t, mutated(twist{}), rule{id: "proof"}, k), "")
		})
	}
}
