// Command ensure looks whether the servers that the tests start are installed. On Debian
// and its kin, as root, it installs what is missing; elsewhere it says what is. It
// reports no failure: without a server, its tests are skipped, and say so.
package main

import (
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
	install := exec.Command(apt, append([]string{"install", "-y", "--no-install-recommends"}, missing...)...)
	install.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
	install.Stdout, install.Stderr = os.Stdout, os.Stderr
	if err := install.Run(); err != nil {
		fmt.Println("apt-get failed, so they are not tested:", err)
	}
}
