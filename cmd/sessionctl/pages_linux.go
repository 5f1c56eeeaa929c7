package main

import (
	"bufio"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// unmapProgram gives back the pages of the program's own file that its start has touched.
// The SDKs of the chat make it 70 MB, of which their initialisation leaves 28 MB mapped
// that no other command needs. Pages that are needed again are mapped again, from the
// kernel's cache. What cannot be given back stays: it only counts as memory.
func unmapProgram() {
	program, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return
	}
	f, err := os.Open("/proc/self/smaps")
	if err != nil {
		return
	}
	defer func() { _ = f.Close() }() // only read
	var start, end uint64
	for lines := bufio.NewScanner(f); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		switch {
		case len(fields) >= 6 && strings.Contains(fields[0], "-"):
			// start-end permissions offset device inode path
			start, end = 0, 0
			if strings.Join(fields[5:], " ") == program && !strings.Contains(fields[1], "w") {
				from, to, _ := strings.Cut(fields[0], "-")
				start, _ = strconv.ParseUint(from, 16, 64)
				end, _ = strconv.ParseUint(to, 16, 64)
			}
		case len(fields) == 3 && fields[0] == "Anonymous:" && fields[1] == "0" && end > start:
			// None of its pages differs from the file: a linker may have changed some before it
			// made them read-only.
			_, _, _ = syscall.Syscall(syscall.SYS_MADVISE, uintptr(start), uintptr(end-start), syscall.MADV_DONTNEED)
		}
	}
}
