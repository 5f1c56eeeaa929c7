// Package bench measures the stores against their floors: programs that do the same work
// with the raw drivers, by hand, on the same server in the same run.
//
// The workloads are those of storetest.Bench:
//
//	W1/history=N  append one message to a session of N (0, 1,000, 10,000)
//	W2            append one message, 32 goroutines over 64 sessions
//	hot           append one message, 32 goroutines on one session
//	W3            the newest 20 messages of 10,000
//	W4            all messages of 1,000
//	W5            the newest 50 sessions of a user who has 10,000
//
// A read has one floor, called bare. A write has two: bare is the fewest commands that
// store the bytes of the message; equal writes all that the store writes (message, id,
// the session's state, its place in the lists) in the fewest round trips, without reading
// or checking anything. What is measured is the quotient of the medians of a few rounds,
// in which the candidates take turns of some milliseconds in changing order, so that what
// else the machine does meets all of them. A round's time is that of its median turn; that
// of memory is the processor time of all of them, because a part of its work, the garbage
// collector's, falls into few turns. Absolute times are never compared.
//
// Every candidate is given the same messages, with ids made beforehand, and the floors
// their bytes too: their writes encode nothing. A floor's read decodes with encoding/json
// into structs. All candidates of a backend share one client with its pool and its cache
// of prepared statements, and that client counts round trips for all of them.
package bench
