// Package crash kills what keeps sessions, at random moments and without warning, and
// checks after each restart that nothing acknowledged is lost and nothing is half done:
// the process that writes, and the servers under the stores.
//
// A [Writer] runs in a process of its own and says on a pipe which call it begins, and
// which has been acknowledged. The pipe outlives it. From that a [Ledger] knows what the
// store must hold: the calls are made again on a store in memory, and of a call that was
// begun and not acknowledged, either all of it is there or nothing.
//
// A SIGKILL loses nothing that was written to a file, synced or not: what a power cut
// does is not tested here.
package crash
