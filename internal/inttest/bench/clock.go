package bench

import "time"

var started = time.Now()

// wallTime is the time since the program started.
func wallTime() time.Duration { return time.Since(started) }
