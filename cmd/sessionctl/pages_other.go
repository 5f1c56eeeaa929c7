//go:build !linux

package main

// unmapProgram does something on Linux only, where the pages of the program's file count as
// its memory.
func unmapProgram() {}
