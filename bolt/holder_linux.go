package bolt

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// lockHolder says which process has the file locked, as well as that can be found out:
// "" if not, as with a process of another container.
func lockHolder(path string) string {
	info, err := os.Stat(path)
	if err != nil {
		return ""
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return ""
	}
	f, err := os.Open("/proc/locks")
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if pid := flockPID(lines.Text(), st.Ino); pid > 0 {
			return processName(pid)
		}
	}
	return ""
}

// flockPID returns the process of a line of /proc/locks that is about the inode, else 0.
// Devices are not compared: some file systems show another one there than to stat.
//
//	1: FLOCK  ADVISORY  WRITE 4242 fe:00:917513 0 EOF
func flockPID(line string, inode uint64) int {
	fields := strings.Fields(line)
	if len(fields) < 6 || fields[1] != "FLOCK" ||
		!strings.HasSuffix(fields[5], ":"+strconv.FormatUint(inode, 10)) {
		return 0
	}
	pid, err := strconv.Atoi(fields[4])
	if err != nil {
		return 0
	}
	return pid
}

func processName(pid int) string {
	args, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	// Only the program: what follows may hold a password.
	name, _, _ := bytes.Cut(args, []byte{0})
	if err != nil || len(name) == 0 {
		return fmt.Sprintf("process %d", pid)
	}
	return fmt.Sprintf("process %d (%s)", pid, name)
}
