//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package bolt

import "os"

// unlock does nothing: the lock belongs to the process, or to the handle that is closed.
func unlock(*os.File) error { return nil }
