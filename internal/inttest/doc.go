// Package inttest holds the tests that need more than a backend's own package may bring
// to those who import it. It is a module of its own, outside of the workspace: run them
// with GOWORK=off, or with make test.
//
//	ferret, mongoproxy, cmd/mongoserver  a stand-in for MongoDB
//	containers, cmd/withservers          the servers as containers, each version of them
//	bench, cmd/bench                     the stores against the raw drivers
//	backends                             each of the five on data of its own
//	call, crash                          writers and servers that are killed
//	wire                                 connections that break, at every turn
//	linear                               concurrent histories, checked for one order
//	hostile                              what callers should not pass
//	failover                             what becomes of writes when a server's place is taken
//	load, cmd/load                       large stores, and long runs
//	cmd/backendtable                     the README's table of the backends
package inttest
