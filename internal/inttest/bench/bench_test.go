package bench_test

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sessionstore/sessionstore/internal/inttest/bench"
)

// TestRun runs every workload on every backend, in small, and looks at what does not depend
// on the machine: that all candidates did their work, and in how many round trips.
func TestRun(t *testing.T) {
	cfg := bench.Config{Rounds: 1, Budget: 1, Scale: 0.02}
	if testing.Short() {
		t.Log("-short: memory and bolt only; leave it out to run the servers' too")
		cfg.Backends = []string{"memory", "bolt"}
	}
	results, err := bench.Run(t.Context(), cfg)
	if err != nil {
		t.Fatalf("Run: got %v, want nil", err)
	}
	for _, r := range results {
		t.Run(r.Backend, func(t *testing.T) {
			if r.Missing != nil {
				t.Skip(r.Missing)
			}
			if got, want := len(r.Races), len(bench.Workloads(1)); got != want {
				t.Fatalf("got %d workloads, want %d", got, want)
			}
			if got := bench.Unmeasured(r); len(got) > 0 {
				t.Errorf("goals: got %q, which nothing measures", got)
			}
			for _, race := range r.Races {
				name := race.Workload.Name
				if len(race.Lanes) < 2 {
					t.Errorf("%s: got %d candidates, want a store and a floor", name, len(race.Lanes))
				}
				for _, l := range race.Lanes {
					if len(l.Rounds) != 1 || len(l.Rounds[0]) == 0 || l.Rounds[0][0].Calls == 0 || l.Rounds[0][0].Elapsed <= 0 {
						t.Errorf("%s %s: got rounds %+v, want one with a heat", name, l.Name, l.Rounds)
						continue
					}
					// In the parallel workloads a new connection may prepare its statements.
					if r.Server != "" && strings.HasPrefix(name, "W1") && bench.Trips(l) != 1 {
						t.Errorf("%s %s: got %v round trips an append, want 1", name, l.Name, bench.Trips(l))
					}
				}
			}
			var out bytes.Buffer
			if err := bench.WriteBenchmarks(&out, []bench.Result{r}); err != nil {
				t.Fatalf("WriteBenchmarks: got %v, want nil", err)
			}
			line := regexp.MustCompile(`^Benchmark[A-Z]?\S+-\d+\s+\d+\s+\d+ ns/op\s+\d+ B/op\s+[\d.]+ allocs/op\s+[\d.]+ trips/op$`)
			for _, got := range strings.Split(strings.TrimSpace(out.String()), "\n")[4:] {
				if !line.MatchString(got) {
					t.Errorf("got %q, want a benchmark's line", got)
				}
			}
		})
	}
}

func TestRunUnknownBackend(t *testing.T) {
	_, err := bench.Run(t.Context(), bench.Config{Backends: []string{"mermory"}})
	if err == nil || !strings.Contains(err.Error(), `"mermory"`) {
		t.Errorf("Run: got %v, want an error that names the backend", err)
	}
}

// lane has rounds of 10 calls that take so many nanoseconds each.
func lane(name string, nanos ...int) *bench.Lane {
	l := &bench.Lane{Name: name}
	for _, n := range nanos {
		heat := bench.Sample{Calls: 10, Elapsed: time.Duration(10 * n), Allocs: 80, Bytes: 1280, Trips: 10}
		slow := heat
		slow.Elapsed *= 100
		l.Rounds = append(l.Rounds, bench.Round{heat, slow, heat})
	}
	return l
}

func TestTable(t *testing.T) {
	t.Parallel()
	results := []bench.Result{
		{Backend: "redis", Server: "Redis 7", Driver: "go-redis 9", Races: []bench.Race{{Workload: bench.Workloads(1)[0], Lanes: []*bench.Lane{
			lane("store", 300, 240, 200, 900, 280), lane("bare", 100, 120, 200, 100, 140), lane("equal", 250, 250, 250, 250, 250),
		}}}},
		{Backend: "memory", Missing: fmt.Errorf("no memory")},
	}
	var out bytes.Buffer
	bench.WriteTable(&out, results)
	want := `### redis (Redis 7, go-redis 9)

| workload | floor | ratio | in the rounds | goal | allocations a call | round trips a call |
|---|---|--:|---|---|---|---|
| W1/history=0 | bare | 2.33 | 1.00–9.00 | ≤ 1.7, **missed by 37 %** | 8 (8) | 1.00 (1.00); ≤ 1, ok |
| W1/history=0 | equal | 1.12 | 0.80–3.60 | ≤ 1.25, ok | 8 (8) | 1.00 (1.00) |

### memory

Not measured: no memory.

### Goals that were missed

- redis W1/history=0, bare: 2.33, ≤ 1.7, **missed by 37 %**
`
	if got := out.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestTableSlow has a server whose speed is not judged.
func TestTableSlow(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	bench.WriteTable(&out, []bench.Result{{Backend: "mongo", Server: "FerretDB", Slow: true, Races: []bench.Race{{
		Workload: bench.Workloads(1)[0], Lanes: []*bench.Lane{lane("store", 300), lane("bare", 100)},
	}}}})
	if got := out.String(); strings.Contains(got, "missed") || !strings.Contains(got, "1.00 (1.00); ≤ 1, ok") {
		t.Errorf("got\n%s\nwant a verdict about round trips only", got)
	}
}

// TestInTurn: nobody is always first, and nobody always comes after the same.
func TestInTurn(t *testing.T) {
	t.Parallel()
	all := []*bench.Lane{lane("a"), lane("b"), lane("c"), lane("d")}
	first, after := map[string]int{}, map[string]map[string]bool{}
	for turn := range 2 * len(all) {
		order := bench.InTurn(all, turn)
		first[order[0].Name]++
		for i, l := range order[1:] {
			if after[l.Name] == nil {
				after[l.Name] = map[string]bool{}
			}
			after[l.Name][order[i].Name] = true
		}
	}
	for _, l := range all {
		if first[l.Name] != 2 || len(after[l.Name]) != 2 {
			t.Errorf("%s: got first %d times and after %v, want 2 times and after 2 others", l.Name, first[l.Name], after[l.Name])
		}
	}
	if got := bench.InTurn(all, 0); !slices.Equal(got, all) {
		t.Errorf("got another order in the first turn")
	}
}
