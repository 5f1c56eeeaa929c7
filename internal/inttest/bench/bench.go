package bench

import (
	"context"
	"fmt"
	"io"
	"regexp"
	"runtime/pprof"
	"slices"
	"strings"
	"time"

	"github.com/sessionstore/sessionstore/internal/testenv"
)

// Config says what is measured. The zero value is everything, thoroughly.
type Config struct {
	Backends  []string       // names; none: all that can be reached
	Workloads *regexp.Regexp // that the name matches; nil: all

	Rounds int           // of each workload; 0: 5
	Budget time.Duration // of a round, about; 0: 1.5 s
	Scale  float64       // below 1: less of everything, see [Workloads]; 0: 1

	Progress io.Writer // is told what is being done; nil: nobody
}

// Names are the backends that there are.
func Names() []string {
	names := make([]string, len(backends))
	for i, be := range backends {
		names[i] = be.name
	}
	return names
}

// Result is what was measured on one backend.
type Result struct {
	Backend string
	Server  string // and its version; "" for none
	Driver  string // and its version; "" for none
	Missing error  // why nothing was measured

	// Slow says that the server is one whose speed says nothing: only its round trips
	// are worth reading.
	Slow bool

	Races []Race
}

// Run measures. A backend whose server is neither named nor installed is in the results
// all the same, and says so. What was measured before an error is returned with it.
func Run(ctx context.Context, cfg Config) ([]Result, error) {
	if cfg.Rounds == 0 {
		cfg.Rounds = 5
	}
	if cfg.Budget == 0 {
		cfg.Budget = 1500 * time.Millisecond
	}
	if cfg.Scale == 0 {
		cfg.Scale = 1
	}
	if cfg.Progress == nil {
		cfg.Progress = io.Discard
	}
	for _, name := range cfg.Backends {
		if !slices.Contains(Names(), name) {
			return nil, fmt.Errorf("no backend %q: there are %s", name, strings.Join(Names(), ", "))
		}
	}
	var out []Result
	for _, be := range backends {
		if len(cfg.Backends) > 0 && !slices.Contains(cfg.Backends, be.name) {
			continue
		}
		r, err := be.run(ctx, cfg)
		out = append(out, r)
		if err != nil {
			return out, fmt.Errorf("%s: %w", be.name, err)
		}
	}
	return out, nil
}

func (be backend) run(ctx context.Context, cfg Config) (Result, error) {
	r := Result{Backend: be.name, Driver: version(be.module)}
	dsn := ""
	if be.server != nil {
		var err error
		if dsn, r.Missing, err = testenv.Find(be.server); r.Missing != nil || err != nil {
			return r, err
		}
	}
	scale := 1.0
	if be.scale != nil {
		var err error
		if scale, err = be.scale(ctx, dsn); err != nil {
			return r, err
		}
	}
	r.Slow = scale < 1
	for _, w := range Workloads(min(scale, cfg.Scale)) {
		if cfg.Workloads != nil && !cfg.Workloads.MatchString(w.Name) {
			continue
		}
		start := time.Now()
		race, err := be.measure(ctx, cfg, dsn, w, &r)
		if err != nil {
			return r, err
		}
		fmt.Fprintf(cfg.Progress, "%s %s: %v\n", be.name, w.Name, time.Since(start).Round(time.Second/10))
		r.Races = append(r.Races, race)
	}
	return r, nil
}

// measure runs one workload on a database of its own.
func (be backend) measure(ctx context.Context, cfg Config, dsn string, w Workload, r *Result) (_ Race, err error) {
	d, err := be.open(ctx, dsn)
	if d != nil {
		defer func() {
			if closing := d.close(); err == nil {
				err = closing
			}
		}()
	}
	if err != nil {
		return Race{}, err
	}
	r.Server = d.server
	var lanes []*Lane
	pprof.Do(ctx, pprof.Labels("backend", be.name), func(ctx context.Context) {
		lanes, err = race(ctx, w, d, cfg.Rounds, cfg.Budget)
	})
	return Race{w, lanes}, err
}
