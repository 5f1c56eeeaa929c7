// Package mongo keeps sessions in MongoDB 4.4 or later: a standalone server, a replica set
// or a sharded cluster, without transactions. It uses the driver
// go.mongodb.org/mongo-driver/v2.
//
//	client, err := driver.Connect(options.Client().ApplyURI("mongodb://localhost:27017"))
//	store, err := mongo.New(client.Database("app"), nil)
//	err = store.Migrate(ctx) // makes the indexes
//
// # URLs
//
// Importing the package registers the schemes mongodb and mongodb+srv with
// [sessionstore.Open], which connects, migrates, and disconnects with the store:
//
//	mongodb://user:password@host:27017,host2:27017/database?replicaSet=rs&namespace=support
//
// Without a database it is [DefaultDatabase]. The query takes namespace=NAME, and
// migrate=off for a role that may not create indexes. Everything else is the driver's:
// maxPoolSize, timeoutMS, serverSelectionTimeoutMS, tls, authSource, and so on; it ignores
// what it does not know. No error shows the URL.
//
// # Consistency and durability
//
// Each session has one document, its head, and every change of a session is one atomic
// change of its head. Older messages lie in documents of their own, the blocks, which never
// change and exist only as far as a head refers to them: they are written before the head
// refers to them, and removed after it does not. So a call that stops anywhere, for a crash
// of the client or of the server, has happened or not, and what is left of it no method
// finds; PurgeExpired removes it after an hour.
//
// Whatever the client's settings are, the store writes with the write concern majority,
// journalled, and reads from the primary with the read concern majority. What was
// acknowledged survives a failover; nothing is read that a failover takes back; a read
// finds all that was acknowledged before it. The exception is a primary that is cut off
// from the others: until it notices, for ten seconds or so, a client that only reaches
// this one may read what has been overtaken meanwhile; it cannot write. A standalone server
// has its journal, and that is all. The in-memory engine, which has none, does not work.
//
// A call is never part of a transaction of the driver's: a session in its context is put
// aside.
//
// ListMessages shows one moment of the session. ListSessions is one query: a session that
// is written to while it runs may be missing from the page, because it has moved to the
// front.
//
// The clock of expiry is Options.Now, read right before a command is sent. There is no TTL
// index.
//
// On a replica set or cluster the driver sends a write again whose reply was lost, and the
// server carries it out once. A standalone server cannot do that: the call fails, with an
// unknown outcome, and an append that is repeated with the same ids counts once.
//
// # Costs
//
//	create                    1 round trip; 2 where the id is in use, 6 where it has expired
//	get                       1
//	list messages             1 where the tail has what is asked for, such as the newest 20; else 2
//	append                    1; of each 64 messages or so one takes 3 more, to move them to
//	                          a block; 3 for a batch of 96 messages or 64 KiB; 2 for a
//	                          refusal or a repeat, 3 where blocks are searched for its ids,
//	                          and 4 for new ids that do not grow
//	update                    2 (read, write); 1 if it changes nothing or is refused
//	truncate                  3; up to 6 where it removes blocks; 1 if it removes nothing
//	delete                    3
//	fork                      2; with blocks 3, and 3 for each 4 MiB of them
//	list sessions             1; more, bounded, where many are passed over
//	restore                   1; with blocks 1, and 2 for each 4 MiB of them
//	purge                     2 to 4; 3 for each session, up to 4 for each that has new blocks
//
// An append must know the session's TTL before it can say when it expires, and no id of it
// may be in a block. It assumes the TTL that the store has seen last, of this session or
// else of any, and that its ids are greater than those in blocks, which is true of the
// UUIDv7s that this module makes. Both are part of the update's filter. Where they are
// wrong it costs the round trips to find out: once for the TTL, each time for the ids.
//
// A head is read as a whole for its messages: at most 96 of them and 64 KiB, as a rule,
// beside the session's own state. A page of sessions leaves the messages in the server.
//
// # Layout
//
// Three collections, here with a session of 130 messages in the namespace "support":
//
//	> db.getCollection("sessionstore.sessions").findOne({ns: "support", user: "ada"})
//	{
//	  _id: 'support\n0198c0de-…',   // with the namespace "", the id alone
//	  format: 1,
//	  ns: 'support',
//	  gen: 'K7QZJ2M5VWXB4RNT',      // names the incarnation: a new session of the id has another
//	  status: 'active',             // 'gone', 'staging': no session, see below
//	  user: 'ada', parent: '',
//	  place: '2026-11-30T21:20:57.123456Z 0198c0de-…',  // UpdatedAt and id
//	  expires: 'never',             // or a time
//	  ttl: Long('0'),               // microseconds
//	  last: Long('130'), count: Long('130'), version: Long('1'),
//	  session: '{"session_id":"0198c0de-…","agent_name":"support-bot",…}',
//	  epoch: Long('1'),             // grows when refs change
//	  hi: '0198c0df-…',             // no id of a message in a block is greater
//	  refs: [ { block: 'ZP3…', first: Long('1'), last: Long('64'), n: Long('64'), size: Long('20480') } ],
//	  n: Long('66'), size: Long('21120'),
//	  tail: [ '{"message_id":"0198c0e0-…","role":"user","content":"hello",…}', … ],
//	  ids: [ '0198c0e0-…', … ]      // of the tail's messages
//	}
//
//	> db.getCollection("sessionstore.blocks").findOne()
//	{
//	  _id: 'ZP3…', session: 'support\n0198c0de-…', gen: 'K7QZJ2M5VWXB4RNT', ns: 'support',
//	  check: '2026-11-30T21:20:57.123456Z',  // until a purge has seen that it is referred to
//	  seqs: [ Long('1'), … ], ids: [ '0198c0dd-…', … ], messages: [ '{"message_id":…}', … ]
//	}
//
//	> db.getCollection("sessionstore.meta").findOne()
//	{ _id: 'format', format: Long('1') }
//
// Sessions and messages are the JSON of AppendJSON, as text: BSON refuses some keys and has
// times of milliseconds. JSON.parse(d.tail[0]).content reads one in mongosh. Where a field
// of the head has the same, the head's holds. The messages of the tail have the seqs up to
// last, in a row.
//
// A head of status gone is one whose session was deleted while its blocks are removed; one
// of status staging is a place that restores or forks, named in stagers, have reserved
// until they are complete. Neither has a place, so no list meets it. A head or database of
// a later format is ErrSchemaTooNew, and never written to.
//
// A create over a session that has expired removes that first and then inserts its own: two
// steps. In between the id is free, which is also what everybody else sees of it, unless
// their clocks say that it has not yet expired.
//
// # Sharding
//
// Heads are found by _id and blocks by session, except by lists and purges:
//
//	sh.shardCollection("app.sessionstore.sessions", { _id: "hashed" })
//	sh.shardCollection("app.sessionstore.blocks", { session: "hashed" })
//
// The collections must not have a default collation: ids are compared by their bytes.
//
// # Limits
//
// A session has at most 25,000 blocks: some 1.5 million short messages, or 1.5 GB of longer
// ones. Then appends are ErrTooLarge. The head of such a session has 3 MiB.
//
// # What it is tested against
//
// MongoDB where one is at hand: a server that SESSIONSTORE_TEST_MONGO names, or a
// container. Elsewhere FerretDB 1.24 on SQLite, a server of the same protocol, behind a
// proxy that lets one write through at a time: FerretDB's updates of one document are not
// atomic, so it is no server for this package without that. The package does without what
// FerretDB lacks; that it returns whole documents from an update where a few fields would
// do is seen once a store, and costs one round trip.
package mongo
