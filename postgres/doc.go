// Package postgres keeps sessions in a PostgreSQL database, version 12 or later, which
// any number of processes may share.
//
//	store, err := postgres.New(pool, nil) // a *pgxpool.Pool
//	err = store.Migrate(ctx)
//
// # URLs
//
// Importing the package registers the schemes postgres and postgresql with
// [sessionstore.Open], which makes the pool, migrates, and closes the pool with the store:
//
//	postgres://user:password@host:5432/database?schema=sessionstore&namespace=support
//
// The query takes namespace=NAME, schema=NAME, and migrate=off for a role that may not
// change the schema: then a schema of another version is an error. Everything else is
// pgx's: sslmode, connect_timeout, pool_max_conns, default_query_exec_mode=exec, and so
// on. No error shows the URL.
//
// # Consistency and durability
//
// Each method is one transaction, but for PurgeExpired and a large RestoreSession, and
// holds one connection, for as long as that takes; none while the caller's code runs or
// while an append waits for another of the same store. A
// read is one statement, so it sees one moment, and all that was acknowledged before.
// Writes to one session take their turns by the lock of its row. The store is correct
// under READ COMMITTED, and needs nothing higher; where the role's or the database's
// default isolation is, a transaction that the server turns down (SQLSTATE 40001, 40P01)
// is run again until it goes through or the context ends.
//
// The clock of expiry is Options.Now, read right before the statement is sent. A call
// that then waits for another's lock is judged by the time that it came with: of an
// append that waits while its session expires, the append may still win.
//
// What was acknowledged is as durable as the server's synchronous_commit, which is the
// user's to set, for a role or in the URL (options=-c%20synchronous_commit%3Doff). The
// default survives a crash of the server; a failover to an asynchronous replica can lose
// the last transactions. Reads are only fresh from the primary.
//
// There is no state in a server's session: no SET, no lock, no temporary table or cursor.
// So pgbouncer's transaction pooling works; before its version 1.21, or with
// max_prepared_statements=0, with default_query_exec_mode=exec (or simple_protocol) in the
// URL or the pool's configuration. These two read times as text, and need the default
// DateStyle, ISO.
//
// # Costs
//
//	create                    1 round trip; 2 where the id is in use or expired
//	get, list messages        1
//	append                    1; 2 for a refusal, 3 for a repeat
//	update                    2 (read, write); 1 if it changes nothing or is refused
//	delete, truncate          1; 2 for a refusal
//	fork                      2, the messages stay in the server
//	list sessions             1; more, bounded, where many are passed over
//	restore                   1; another for each 4 MiB of messages beyond the first
//	purge                     4 for each 64 sessions, and 3
//
// Appends to one session that come while one is under way from the same Store wait for its
// end, and then go to the server together, in one statement of at most 1,000 messages and
// about 8 MiB, so that a crowded session costs less an append, not more. Nobody waits for
// company, and one with IfLastSeq goes at once. Where such a statement is refused, each goes
// again by itself: one or two more round trips. When the context of one ends, the others
// are not touched. If one's connection hangs, those behind it wait until its context ends,
// or theirs.
//
// The first time that a connection runs a statement, pgx prepares it with a further round
// trip, unless the execution mode says otherwise; so it does after a repeat, because pgx
// closes a statement that has failed, even by a constraint. An update or a fork goes round again
// when somebody else has changed the session's own state in between; appends do not make
// it.
//
// A page of messages reads one message more than its limit, and stops at 32 MiB in the
// server. Listing goes down an index: a page costs the page, of all sessions, of a user's
// or of a parent's. It passes over at most 1,000 sessions a call that have expired or do
// not match, and does not transfer them.
//
// # Layout
//
// All tables lie in one schema, Options.Schema, and are made by numbered migrations
// under an advisory lock of the transaction:
//
//	schema_version (version, applied_at)
//	sessions       (sid, updated_at, expires_at, last_seq, message_count, version, ttl,
//	                fork_seq, format, held, status, namespace, id, user_id, agent_name,
//	                parent_id, body)
//	               key (namespace, id); indexes for lists and expiry
//	messages       (sid, seq, created_at, id, role, body)
//	               key (sid, seq), unique (sid, id)
//	restores       (sid, touched_at): restores that are not finished
//
// A sid is the number of a session's row, and never used again: messages of a deleted
// session cannot come back under a new one of its id. Where a column and the body have
// the same field, the column of sessions holds; role and created_at of messages are
// there for people. Body is of the type json, which keeps every byte as it is; jsonb
// would refuse U+0000 and change numbers. The price is that ->> fails on a row whose body
// has a \u0000 somewhere:
//
//	SELECT m.seq, m.role, m.created_at, m.body ->> 'content'
//	FROM sessionstore.messages m JOIN sessionstore.sessions s USING (sid)
//	WHERE s.namespace = '' AND s.id = '…' ORDER BY m.seq
//
// Format is the version of what the bodies of a session and its messages hold. A schema
// or a session of a later version is ErrSchemaTooNew, and never written to.
//
// The database's encoding must be UTF8.
package postgres
