//go:build !unix

package bench

import "time"

// cpuTime is the time that passes, where the system is not asked for better.
func cpuTime() time.Duration { return wallTime() }
