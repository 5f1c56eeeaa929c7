//go:build unix

package bench

import (
	"syscall"
	"time"
)

// cpuTime is the processor time that this process has used.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err) // it has no error for these arguments
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
