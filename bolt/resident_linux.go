package bolt

import "syscall"

// dropResident takes the mapped bytes from the process's resident memory. They are read
// again from the file when they are next used. Where it is refused, as for memory that
// was locked, nothing is lost.
func dropResident(data, size uintptr) {
	_, _, _ = syscall.Syscall(syscall.SYS_MADVISE, data, size, syscall.MADV_DONTNEED)
}
