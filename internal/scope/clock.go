package scope

import "time"

// The range of times in normal form, see sessionstore.Session.
var (
	MinTime = time.Date(1, 1, 1, 0, 0, 0, 1000, time.UTC)
	MaxTime = time.Date(9999, 12, 31, 23, 59, 59, 999_999_000, time.UTC)
)

// Clock returns a store's clock, or time.Now for nil.
func Clock(now func() time.Time) func() time.Time {
	if now == nil {
		return time.Now
	}
	return now
}

// Read reads a clock in normal form: UTC, microseconds. One out of range stands still at
// the range's end, because a broken clock must not make a store unusable.
func Read(now func() time.Time) time.Time {
	t := now().UTC().Truncate(time.Microsecond)
	switch {
	case t.Before(MinTime):
		return MinTime
	case t.After(MaxTime):
		return MaxTime
	}
	return t
}
