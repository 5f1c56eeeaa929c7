package bench

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"time"
)

// version returns the last part of a module's path and its version, as they were built
// into this program; "" for no module.
func version(module string) string {
	info, ok := debug.ReadBuildInfo()
	if !ok || module == "" {
		return ""
	}
	for _, dep := range info.Deps {
		if dep.Path == module {
			return strings.TrimPrefix(module, "github.com/") + " " + dep.Version
		}
	}
	return module
}

// Machine describes where and when a measurement was made, in one line.
func Machine() string {
	return fmt.Sprintf("%s, %s, %s/%s on %d CPUs (%s)", time.Now().Format(time.DateOnly), runtime.Version(),
		runtime.GOOS, runtime.GOARCH, runtime.GOMAXPROCS(0), cpu())
}

// Load is the machine's load average of the last minute, where the system tells.
func Load() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	one, _, _ := strings.Cut(string(text), " ")
	return one
}

func cpu() string {
	text, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(text)) {
		if name, model, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(model)
		}
	}
	return "unknown"
}
