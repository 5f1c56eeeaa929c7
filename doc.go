// Package sessionstore keeps the conversations of LLM agents and chat back ends: create
// a session, append messages, read the newest ones, pause, resume, close, fork, and hand
// the history to a model's chat API.
//
// One interface, [SessionStore], has interchangeable backends, each in a package of its
// own and chosen by import: memory; bolt, for one file without a server; postgres; redis,
// also for a cluster; and mongo. [Open] picks one by URL; each has a constructor that takes the caller's own client. Package
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
// # Wire form and normal form
//
// [Session] and [Message] marshal to JSON objects whose keys are named at their fields,
// and read those of the original Python models. A key of those models is always written,
// null where it is empty; the others only when not zero. Times are written as
// 2006-01-02T15:04:05.000000+00:00 and read in the forms of ISO 8601, UTC where no zone is
// given. Of duplicate keys the last wins. JSON that is not modelled (parts, unknown keys)
// keeps every byte but the white space outside strings; an unpaired surrogate, invalid
// UTF-8, or more than [MaxDepth] levels of nesting is ErrInvalid.
//
// What a store returns is in normal form, so that reflect.DeepEqual compares it on any
// backend: Metadata is not nil and holds the types listed there; empty ToolCalls and Extra
// are nil; the slices of a page are not nil; times are UTC, cut to microseconds, within the
// years 1 to 9999.
//
// # Writing a store
//
// A store keeps records; the decisions are made here, once, and every backend calls
// them inside its own atomic step: [Session.Create], [SessionUpdate.Apply],
// [Append.Prepare], [Append.Apply] and [Append.Repeat], [Truncate.Apply], [Fork.Apply],
// [SessionQuery.Matches], [Restoration], [FitPage] and [Guard]. Records are written by
// [Session.AppendJSON] and [Message.AppendJSON] and read by [DecodeSession] and
// [DecodeMessage]; a message's JSON names its session, so a store that copies messages
// within itself clears SessionID before it writes and sets it when it reads. Then
//
//	storetest.Run(t, storetest.Backend{Open: …})
//
// says what is still missing.
package sessionstore
