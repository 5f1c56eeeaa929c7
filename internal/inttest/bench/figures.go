package bench

import "slices"

// Race is one workload, done by all candidates in turns.
type Race struct {
	Workload Workload
	Lanes    []*Lane
}

// lane returns the lane of a candidate; there is always one of the store.
func (r Race) lane(name string) *Lane {
	return r.Lanes[slices.IndexFunc(r.Lanes, func(l *Lane) bool { return l.Name == name })]
}

// others are those that the store is compared with.
func (r Race) others() (out []*Lane) {
	for _, l := range r.Lanes {
		if l.Name != storeName {
			out = append(out, l)
		}
	}
	return out
}

// figures are what goals are set for, by their names.
func (r Race) figures() map[string]float64 {
	store := r.lane(storeName)
	out := map[string]float64{allocs: store.median(Round.allocs), trips: store.median(Round.trips)}
	for _, l := range r.others() {
		out[l.Name], _, _ = store.over(l)
	}
	return out
}

// over is how many times as long as another's a lane's calls take, by the medians of the
// rounds, and the least and the most that it was in a round.
func (l *Lane) over(other *Lane) (ratio, low, high float64) {
	each := make([]float64, len(l.Rounds))
	for i := range each {
		each[i] = l.nanos(l.Rounds[i]) / other.nanos(other.Rounds[i])
	}
	return l.median(l.nanos) / other.median(other.nanos), slices.Min(each), slices.Max(each)
}

// nanos is the time of a call in a round.
func (l *Lane) nanos(r Round) float64 {
	if l.CPU {
		return r.meanNanos()
	}
	return r.medianNanos()
}

// median returns the middle one of the rounds' values.
func (l *Lane) median(of func(Round) float64) float64 {
	values := make([]float64, len(l.Rounds))
	for i, r := range l.Rounds {
		values[i] = of(r)
	}
	return median(values)
}
