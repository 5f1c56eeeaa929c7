package storetest

import (
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"strings"

	"github.com/sessionstore/sessionstore"
)

// packageOf returns the path of the package that the type of s is from, or "".
func packageOf(s sessionstore.SessionStore) string {
	t := reflect.TypeOf(s)
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t.PkgPath()
}

// stacks returns the stacks of all goroutines: first those that are in the packages, then
// those of the suite, then the others. It is cut where there are too many to be read.
func stacks(packages []string) string {
	buf := make([]byte, 4<<20)
	buf = buf[:runtime.Stack(buf, true)]
	all := strings.Split(strings.TrimSpace(string(buf)), "\n\n")
	rank := func(stack string) int {
		if slices.ContainsFunc(packages, func(pkg string) bool { return strings.Contains(stack, "\n"+pkg+".") }) {
			return 0
		}
		if strings.Contains(stack, "/storetest.") {
			return 1
		}
		return 2
	}
	slices.SortStableFunc(all, func(a, b string) int { return rank(a) - rank(b) })
	const most = 32 << 10 // bytes
	var out strings.Builder
	for i, stack := range all {
		if i > 0 && out.Len()+len(stack) > most {
			fmt.Fprintf(&out, "… and %d more goroutines", len(all)-i)
			break
		}
		out.WriteString(stack + "\n\n")
	}
	return strings.TrimSpace(out.String())
}
