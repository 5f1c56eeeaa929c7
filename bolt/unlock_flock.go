//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package bolt

import (
	"os"
	"syscall"
)

// unlock lets go of bbolt's lock on f. To close f is not enough when bbolt has left its
// memory map behind, which keeps the file open.
func unlock(f *os.File) error {
	return syscall.Flock(int(f.Fd()), syscall.LOCK_UN)
}
