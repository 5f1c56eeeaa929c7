// Package linear records what concurrent callers of a store ask and are told, and checks
// that there is one order of their calls in which each answer is what the contract says.
//
// A history has calls of every kind on a few sessions by several callers over several
// handles, while contexts end, connections break, answers are lost and the clock jumps. A
// write whose outcome its caller cannot know may have happened at any moment since, or
// never. The order is looked for session by session by porcupine, with a model written
// from the contract and not from the rules of package sessionstore. It knows the times as
// well: the clock stands still between its jumps, so that a call can only have read one of
// a few values.
//
// A history without an order is written to a folder, as JSON and as a drawing of the calls
// for a browser. The JSON can be checked again: see testdata.
package linear
