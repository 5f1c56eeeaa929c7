//go:build unix

package testenv

import (
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"syscall"
)

// account is who runs a server. The zero value is who runs the test.
type account struct{ credential *syscall.Credential }

// lookup returns the account of that name, or that of nobody, and gives it the folder.
// Only root can, and need, change.
func lookup(name, dir string) (account, error) {
	if name == "" || os.Geteuid() != 0 {
		return account{}, nil
	}
	u, err := user.Lookup(name)
	if err != nil {
		if u, err = user.Lookup("nobody"); err != nil {
			return account{}, fmt.Errorf("neither %s nor nobody can run it: %w", name, err)
		}
	}
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		return account{}, err
	}
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	if err != nil {
		return account{}, err
	}
	if err := os.Chown(dir, int(uid), int(gid)); err != nil {
		return account{}, err
	}
	return account{&syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}, nil
}

func (a account) apply(cmd *exec.Cmd) {
	if a.credential != nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: a.credential}
	}
}

// detach keeps the terminal's signals from the command: the keeper is to outlive an
// interrupted test.
func detach(cmd *exec.Cmd) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setpgid = true
}
