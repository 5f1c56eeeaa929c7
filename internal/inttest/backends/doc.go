// Package backends opens each backend on data of its own, with any number of handles on
// it, for the tests that put all of them through the same thing. A handle of a server's
// backend has a client of its own, whose connections the test may spoil.
package backends
