// Package containers runs the servers that the tests want as containers, where a Docker
// engine answers and has their images, or can pull them.
//
// It stops what it starts and needs no reaper container for that, so Ryuk, for which an
// image would have to be pulled too, is off unless TESTCONTAINERS_RYUK_DISABLED=false
// turns it on. Of a process that was killed, the next one removes what is left.
package containers

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/network"
	"github.com/moby/moby/client"
	"github.com/testcontainers/testcontainers-go"
	tclog "github.com/testcontainers/testcontainers-go/log"
	"github.com/testcontainers/testcontainers-go/wait"
)

const (
	engineTimeout = 10 * time.Second // for the engine to answer
	pullSilence   = 20 * time.Second // for the registry to answer
	pullTimeout   = 10 * time.Minute // for the whole of an image
	startTimeout  = 2 * time.Minute
	stopTimeout   = time.Minute
)

// Engine is a Docker engine that answers.
type Engine struct {
	client client.APIClient
	local  bool // it publishes ports on this machine

	mu     sync.Mutex
	silent bool // no registry answered, so that nothing more is pulled
}

// Variables of testcontainers-go. What it makes of them it keeps for the whole process.
const (
	ryukVariable = "TESTCONTAINERS_RYUK_DISABLED"
	hostVariable = "TESTCONTAINERS_HOST_OVERRIDE"
)

var connect = sync.OnceValues(func() (*Engine, error) {
	if err := setDefault(ryukVariable, "true"); err != nil {
		return nil, err
	}
	tclog.SetDefault(tclog.NewNoopLogger())
	provider, err := testcontainers.NewDockerProvider()
	if err != nil {
		return nil, fmt.Errorf("no Docker engine answers: %w", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), engineTimeout)
	defer cancel()
	e := &Engine{client: provider.Client()}
	if e.here(ctx) {
		if err := setDefault(hostVariable, "127.0.0.1"); err != nil {
			return nil, err
		}
	}
	host, err := provider.DaemonHost(ctx)
	if err != nil {
		return nil, fmt.Errorf("where the Docker engine publishes ports is not known: %w", err)
	}
	e.local = isLoopback(host)
	return e, e.sweep(ctx)
})

func setDefault(variable, value string) error {
	if os.Getenv(variable) != "" {
		return nil
	}
	return os.Setenv(variable, value)
}

// here says whether the engine has a socket here, and its bridge is an interface of this
// machine. Testcontainers takes a machine for a container by its files, and then dials its
// gateway.
func (e *Engine) here(ctx context.Context) bool {
	if !strings.HasPrefix(e.client.DaemonHost(), "unix:") {
		return false
	}
	bridge, err := e.client.NetworkInspect(ctx, "bridge", client.NetworkInspectOptions{})
	if err != nil {
		return false
	}
	_, err = net.InterfaceByName(bridge.Network.Options["com.docker.network.bridge.name"])
	return err == nil
}

// Connect returns the Docker engine, or an error if none answers in time.
func Connect() (*Engine, error) {
	type result struct {
		e   *Engine
		err error
	}
	done := make(chan result, 1)
	go func() {
		e, err := connect()
		done <- result{e, err}
	}()
	select {
	case r := <-done:
		return r.e, r.err
	case <-time.After(engineTimeout):
		return nil, fmt.Errorf("no Docker engine answers within %v", engineTimeout)
	}
}

func isLoopback(host string) bool {
	a, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && a.IsLoopback()
}

// NoImageError says that the engine has no such image and cannot pull it.
type NoImageError struct {
	Image Image
	Err   error
}

func (e *NoImageError) Error() string {
	return fmt.Sprintf("the Docker engine does not have the image %s, and cannot pull it: %v", e.Image.Ref, e.Err)
}

func (e *NoImageError) Unwrap() error { return e.Err }

// have returns nil if the engine has the image, after pulling it if need be. Once a
// registry has not answered, no other image is asked for.
func (e *Engine) have(ctx context.Context, image Image, say func(string)) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	_, err := e.client.ImageInspect(ctx, image.Ref)
	switch {
	case err == nil:
		return nil
	case !errdefs.IsNotFound(err):
		return err
	case e.silent:
		return errors.New("no registry answered before")
	}
	say("pulling " + image.Ref)
	ctx, cancel := context.WithTimeout(ctx, pullTimeout)
	defer cancel()
	silence := time.AfterFunc(pullSilence, cancel)
	if err = e.pull(ctx, image, func() { silence.Stop() }); err == nil {
		return nil
	}
	if (silence.Stop() || ctx.Err() != nil) && !errdefs.IsNotFound(err) {
		e.silent = true // not a word from the registry
	}
	return err
}

// pull calls heard once the registry has answered.
func (e *Engine) pull(ctx context.Context, image Image, heard func()) error {
	progress, err := e.client.ImagePull(ctx, image.Ref, client.ImagePullOptions{})
	if err != nil {
		return err
	}
	defer func() { _ = progress.Close() }()
	for m, err := range progress.JSONMessages(ctx) {
		if err != nil {
			return err
		}
		if m.Error != nil {
			return errors.New(m.Error.Message)
		}
		heard()
	}
	return nil
}

// Start runs a container of the image and returns how to reach its server. Stop removes
// it, with all of its data. Say is told if the image has to be pulled first, as that takes
// a while; if that fails, the error is a [NoImageError].
func (e *Engine) Start(ctx context.Context, image Image, say func(string)) (url string, stop func() error, err error) {
	if err := e.have(ctx, image, say); err != nil {
		return "", nil, &NoImageError{image, err}
	}
	k := image.Kind
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	c, err := testcontainers.GenericContainer(ctx, testcontainers.GenericContainerRequest{
		ContainerRequest: testcontainers.ContainerRequest{
			Image:        image.Ref,
			Env:          k.env,
			Cmd:          k.args,
			ExposedPorts: []string{k.port},
			Labels:       map[string]string{ownerLabel: owner()},
			WaitingFor: wait.ForAll(
				wait.ForLog(k.ready).WithOccurrence(k.times),
				wait.ForListeningPort(k.port).SkipInternalCheck(), // no shell is needed in the image
			).WithDeadline(startTimeout),
			HostConfigModifier: func(h *container.HostConfig) {
				if e.local {
					h.PortBindings = network.PortMap{
						network.MustParsePort(k.port): {{HostIP: netip.AddrFrom4([4]byte{127, 0, 0, 1})}},
					}
				}
			},
		},
		Started: true,
	})
	stop = func() error {
		if c == nil {
			return nil
		}
		// Also after the caller's context has ended.
		ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
		defer cancel()
		return c.Terminate(ctx, testcontainers.StopTimeout(0)) // its data is thrown away
	}
	if err == nil {
		url, err = e.reach(ctx, c, k)
	}
	if err != nil {
		return "", nil, errors.Join(fmt.Errorf("starting %s: %w", image.Ref, err), stop())
	}
	return url, stop, nil
}

func (e *Engine) reach(ctx context.Context, c testcontainers.Container, k *Kind) (string, error) {
	host, err := c.Host(ctx)
	if err != nil {
		return "", err
	}
	if e.local {
		host = "127.0.0.1" // localhost may be ::1 first
	}
	port, err := c.MappedPort(ctx, k.port)
	if err != nil {
		return "", err
	}
	return k.URL(net.JoinHostPort(host, port.Port())), nil
}
