//go:build unix

package bolt

import (
	"errors"
	"os"
	"syscall"
)

// syncDir makes the names in a directory durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	err = d.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOTSUP) {
		err = nil // some file systems cannot, and need not
	}
	return errors.Join(err, d.Close())
}

// keepOwner gives f the owner and group of the file that it replaces. Only root may
// give a file away, and only root has reason to.
func keepOwner(f *os.File, info os.FileInfo) error {
	if st, ok := info.Sys().(*syscall.Stat_t); ok && os.Geteuid() == 0 {
		return f.Chown(int(st.Uid), int(st.Gid))
	}
	return nil
}
