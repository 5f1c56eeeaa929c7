// Package sessionstore keeps the conversations of LLM agents and chat back ends: create
// a session, append messages, read the newest ones, pause, resume, close, fork, and hand
// the history to a model's chat API.
//
// One interface, [SessionStore], has interchangeable backends, each in a package of its
// own and chosen by import: memory, and bolt for one file without a server. [Open] picks
// one by URL; each has a constructor that takes the caller's own client. Package
// storetest proves any implementation, and package verify checks the data of a live
// store.
//
//	import (
//		"github.com/sessionstore/sessionstore"
//		_ "github.com/sessionstore/sessionstore/bolt"
//	)
//
//	store, err := sessionstore.Open(ctx, "bolt:sessions.db")
//	// …
//	defer store.Close()
//	m := sessionstore.NewManager(store, nil)
//
// [Manager] is a thin layer of policy on any store: the lifecycle, windows that keep
// tool calls with their results, and the list of messages that a chat-completions API
// takes.
//
// # Rules
//
// What every store promises is written where it applies, as sentences with an id such as
// [append.atomic]: at [SessionStore], [Append], [SessionUpdate], [SessionQuery],
// [MessageQuery], [Truncate], [Fork], [Restorer], [Session.Expired], [CheckID], [ForUser]
// and the limits ([MaxAppendBytes] and the others). storetest has a test for each.
//
// # Writing a store
//
// A store keeps records; the decisions are made here, once, and every backend calls
// them inside its own atomic step: [Session.Create], [SessionUpdate.Apply],
// [Append.Prepare], [Append.Apply] and [Append.Repeat], [Truncate.Apply], [Fork.Apply],
// [SessionQuery.Matches], [Restoration], [FitPage] and [Guard]. Records are written by
// [Session.AppendJSON] and [Message.AppendJSON] and read by [DecodeSession] and
// [DecodeMessage]. Then
//
//	storetest.Run(t, storetest.Backend{Open: …})
//
// says what is still missing.
package sessionstore
