package bench

// InTurn is the order of the lanes in a pass.
var InTurn = inTurn

// Unmeasured returns the goals for a figure that no race of the results has.
func Unmeasured(r Result) (out []string) {
	for base, all := range goals[r.Backend] {
		for _, g := range all {
			found := false
			for _, race := range r.Races {
				_, ok := race.figures()[g.figure]
				found = found || ok && race.Workload.base == base
			}
			if !found {
				out = append(out, base+" "+g.figure)
			}
		}
	}
	return out
}

// Trips is what a lane's calls took in the mean of its rounds.
func Trips(l *Lane) float64 { return l.median(Round.trips) }
