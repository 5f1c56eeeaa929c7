//go:build !linux

package bolt

// dropResident does nothing here: elsewhere the advice has other meanings.
func dropResident(_, _ uintptr) {}
