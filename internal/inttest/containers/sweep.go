package containers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/client"
)

// ownerLabel is on each container: the machine and the process that is to stop it.
const ownerLabel = "sessionstore.test.owner"

func owner() string {
	host, _ := os.Hostname()
	return fmt.Sprintf("%s %d", host, os.Getpid())
}

// sweep removes the containers of processes of this machine that are gone.
func (e *Engine) sweep(ctx context.Context) error {
	list, err := e.client.ContainerList(ctx, client.ContainerListOptions{
		All:     true,
		Filters: make(client.Filters).Add("label", ownerLabel),
	})
	if err != nil {
		return err
	}
	self, _, _ := strings.Cut(owner(), " ")
	for _, c := range list.Items {
		var host string
		var pid int
		if _, err := fmt.Sscan(c.Labels[ownerLabel], &host, &pid); err != nil || host != self || running(pid) {
			continue
		}
		_, err := e.client.ContainerRemove(ctx, c.ID, client.ContainerRemoveOptions{Force: true, RemoveVolumes: true})
		if err != nil && !errdefs.IsNotFound(err) && !errdefs.IsConflict(err) { // another does it
			return err
		}
	}
	return nil
}

// running says whether there is a process of that number: yes, in case of doubt.
func running(pid int) bool {
	p, err := os.FindProcess(pid)
	if err != nil {
		return true
	}
	err = p.Signal(syscall.Signal(0))
	return !errors.Is(err, os.ErrProcessDone) && !errors.Is(err, syscall.ESRCH)
}
