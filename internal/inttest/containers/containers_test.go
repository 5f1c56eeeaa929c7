package containers_test

import (
	"errors"
	"os"
	"os/exec"
	"slices"
	"testing"

	"github.com/sessionstore/sessionstore/internal/inttest/containers"
	"github.com/sessionstore/sessionstore/internal/testenv"
)

// TestBackends runs the tests of each backend, the conformance suite in them, against each
// version of its server. It is skipped where there is no Docker engine, in CI too: there,
// as on every machine, the backends' own tests run against what is installed.
func TestBackends(t *testing.T) {
	engine, err := containers.Connect()
	if err != nil {
		t.Skipf("start a Docker engine, and perhaps set DOCKER_HOST: %v", err)
	}
	for _, image := range containers.Images {
		t.Run(image.Ref, func(t *testing.T) {
			if testing.Short() && image != containers.Newest(image.Kind) {
				t.Skip("-short: the suite only, against the newest version of each server")
			}
			goTest(t, "./"+image.Kind.Package, image.Kind.Variable+"="+start(t, engine, image))
		})
	}
}

// start runs a container as long as the test.
func start(t *testing.T, engine *containers.Engine, image containers.Image) (url string) {
	t.Helper()
	url, stop, err := engine.Start(t.Context(), image, func(what string) { t.Log(what) })
	var none *containers.NoImageError
	switch {
	case errors.As(err, &none):
		t.Skipf("pull or build the image: %v", err)
	case err != nil:
		t.Fatalf("Start: got %v, want a server", err)
	}
	t.Cleanup(func() {
		if err := stop(); err != nil {
			t.Errorf("stopping the container: got %v, want nil", err)
		}
	})
	return url
}

// goTest runs the tests of a package of the library, with a variable set.
func goTest(t *testing.T, pkg, variable string) {
	t.Helper()
	args := []string{"test", "-count=1", "-timeout=30m"}
	if testing.Short() {
		args = append(args, "-short", "-run=^TestConformance$")
	}
	cmd := exec.CommandContext(t.Context(), "go", append(args, pkg)...)
	cmd.Dir = testenv.Root()
	cmd.Env = append(os.Environ(), "GOWORK=off", variable)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("go test %s: got %v, want nil\n%s", pkg, err, out)
	}
	t.Logf("%s", out)
}

// TestImages: each server has its newest version first, and no image stands there twice.
func TestImages(t *testing.T) {
	var refs []string
	for _, image := range containers.Images {
		refs = append(refs, image.Ref)
	}
	slices.Sort(refs)
	if got := slices.Compact(slices.Clone(refs)); len(got) != len(refs) {
		t.Errorf("images: got %d, %d of them different", len(refs), len(got))
	}
	for _, kind := range containers.Kinds {
		if got := containers.Newest(kind); got.Kind != kind {
			t.Errorf("Newest(%s): got an image of %s", kind.Name, got.Kind.Name)
		}
	}
}
