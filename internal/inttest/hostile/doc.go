// Package hostile gives every string, number and value that a caller passes to a store, on
// every backend, what is known to have broken stores: what other languages take for syntax,
// what encodings cannot hold, what is too long, too deep or too many. It is either stored
// and read back byte for byte, and found under no other key, or a typed error after which
// the store holds what it held before.
//
// What is allowed is judged anew here, and not by the rules of package sessionstore.
package hostile
