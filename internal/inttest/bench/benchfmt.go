package bench

import (
	"fmt"
	"io"
	"runtime"
)

// WriteBenchmarks writes the results in the format of Go's benchmarks, a line for each
// round of each candidate. To compare two releases, or the candidates of one:
//
//	benchstat -filter '/candidate:store' old.txt new.txt
//	benchstat -col /candidate bench.txt
func WriteBenchmarks(out io.Writer, results []Result) error {
	_, err := fmt.Fprintf(out, "goos: %s\ngoarch: %s\npkg: github.com/sessionstore/sessionstore\ncpu: %s\n", runtime.GOOS, runtime.GOARCH, cpu())
	for _, r := range results {
		for _, race := range r.Races {
			for _, l := range race.Lanes {
				for _, round := range l.Rounds {
					if err != nil {
						return err
					}
					_, err = fmt.Fprintf(out, "Benchmark%s/backend=%s/candidate=%s-%d\t%8d\t%10.0f ns/op\t%8.0f B/op\t%6.1f allocs/op\t%6.3f trips/op\n",
						race.Workload.Name, r.Backend, benchName(l.Name), runtime.GOMAXPROCS(0), round.calls(), l.nanos(round), round.bytes(), round.allocs(), round.trips())
				}
			}
		}
	}
	return err
}

// benchName is a lane's name as the value of a key in a benchmark's name.
func benchName(lane string) string {
	if lane == emptySession {
		return "store-empty"
	}
	return lane
}
