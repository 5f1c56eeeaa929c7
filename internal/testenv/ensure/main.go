// Command ensure looks whether the servers that the tests start are installed. On Debian
// and its kin, as root, it installs what is missing; elsewhere it says what is. It
// reports no failure: without a server, its tests are skipped, and say so.
package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"

	"github.com/sessionstore/sessionstore/internal/testenv"
)

func main() {
	missing := testenv.Missing()
	if len(missing) == 0 {
		return
	}
	apt, err := exec.LookPath("apt-get")
	if err != nil || os.Geteuid() != 0 {
		fmt.Println("not installed, and so not tested:", missing)
		return
	}
	fmt.Println("installing for the tests:", missing)
	// A list of packages that is out of date names versions that are gone. RUNLEVEL keeps
	// the packages from starting services of the system's: the tests start their own.
	for _, args := range [][]string{
		{"update", "-q"},
		append([]string{"install", "-q", "-y", "--no-install-recommends"}, missing...),
	} {
		run := exec.CommandContext(context.Background(), apt, args...)
		run.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive", "RUNLEVEL=1")
		run.Stdout, run.Stderr = os.Stdout, os.Stderr
		if err := run.Run(); err != nil {
			fmt.Printf("apt-get %s failed, so they may not be tested: %v\n", args[0], err)
		}
	}
}
