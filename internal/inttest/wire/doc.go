// Package wire breaks the connection between a store and its server at each point where
// the two speak, and checks what the caller is told, what is stored, and that the store
// recovers.
//
// A [Proxy] stands before a real server and knows no protocol: it counts turns. A turn
// begins when the client sends after the server has; on a connection with one call at a
// time it is a round trip. A [Fault] is armed for one of the next turns.
package wire
