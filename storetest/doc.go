// Package storetest holds a [sessionstore.SessionStore] to the contract: every rule that
// stands in the documentation of package sessionstore under an id such as
// [append.atomic] is a subtest here. The test of a store is three lines:
//
//	func TestConformance(t *testing.T) {
//		storetest.Run(t, storetest.Backend{
//			// The same c.Namespace is the same data, another is isolated; c.Now is the store's clock.
//			Open: func(tb testing.TB, c storetest.Config) sessionstore.SessionStore { … },
//		})
//	}
//
// The example shows a whole store of some 300 lines that passes.
//
// # What is run
//
// Each rule is a parallel subtest with the rule's id as its name, so that
// go test -run 'TestConformance/^append.atomic$' runs one. Each case of it works in a
// namespace of its own, with a random name, and deletes nothing outside of it: the tests
// can share a server with others, and with themselves. Many cases open two handles on
// the same data and let them race; some play random histories against a model, or record
// what concurrent calls returned and check that one order explains it. Behind every case
// that passed, package verify checks each invariant of what it left. What a namespace
// leaves in a database is for Open to remove, with tb.Cleanup, if it is worth it.
//
// The clock of the store stands still until a case moves it. It starts in the year 2040,
// so that whatever a server does by its own clock comes too late to help.
//
// # Powers of a backend
//
// Only Open is needed. With more, more is proved; what was not exercised, and why, is
// logged in a report at the end of the run (go test -v shows it), so nothing is skipped
// in silence:
//
//   - Reopen opens the data again as after a restart. Without it [durable] is not
//     exercised.
//   - Child lets the suite start the test binary again, as another process on the same
//     data. Some of those are killed while they write.
//   - Break breaks the connection of a store: writes must be all or nothing, and a
//     repeated append must not write twice.
//   - The optional interfaces Forker, Purger, Restorer and OwnerScoper are used where a
//     store has them; else the functions of package sessionstore fall back, and what
//     they refuse with errors.ErrUnsupported is in the report.
//
// A rule that a backend cannot keep goes into Exempt with the reason. It is run all the
// same, and the run fails once it passes, so that no exemption outlives its cause.
//
// # How to read a failure
//
// A failure names the case, the line in the suite that found it, the call with its
// arguments, what it got and what it wanted, where the two differ, the rule as a
// sentence, and the command that runs it again with the same random numbers:
//
//	case "readers never see part of a batch"
//	  rules_append.go:215: ListMessages while batches of 7 are appended
//	    got:  10 messages with LastSeq 14 and MessageCount 14
//	    want: whole batches, and a Session of the same moment
//	rule:  [append.atomic] All of a batch or nothing, visible at once, …
//	again: STORETEST_SEED=42 go test -run '^TestConformance$/^append\.atomic$'
//
// In a call, fields that are zero are left out, nil is told from empty, and long values
// are shortened. The random model shrinks what it found to a short list of calls; the
// flag -rapid.seed that it prints repeats it.
//
// A case that hangs is given up after four minutes, or what the environment variable
// STORETEST_WATCHDOG says (such as 20m), and in any case shortly before the test's own
// -timeout; the stacks of the goroutines are shown, those in the store first, and the
// rule's other cases are not run. Nothing else is judged by time but that an operation is
// not slower by magnitudes than the same one on less data, both measured in turns.
// [Bench] measures.
//
// While goroutines of a case race, Config.Now yields to the others before it returns. A
// store that asks for the time between a check and the act which relies on it is caught so.
package storetest
