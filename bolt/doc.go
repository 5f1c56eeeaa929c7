// Package bolt keeps sessions in a bbolt database: one file, no server. It is the
// embedded store to begin with.
//
//	store, err := bolt.Open(ctx, "sessions.db", nil) // or bolt.New(db, nil)
//
// # URLs
//
// Importing the package registers the scheme bolt with [sessionstore.Open]:
//
//	bolt:sessions.db              in the working directory
//	bolt:/var/lib/app/sessions.db
//	bolt:///var/lib/app/sessions.db
//
// The path is percent-decoded: write %25 for % and %3F for ?. The query takes
// namespace=NAME, timeout=DURATION (the wait for the file's lock; 1s if left out, 0 for
// none), mode=rwc, rw or ro (see [Mode]), and migrate=off, which changes nothing here.
// Anything else is ErrInvalid.
//
// # Consistency and durability
//
// Each method is one transaction: reads see one snapshot, writes are serializable, and
// an acknowledged write is on disk, as far as fsync reaches. PurgeExpired, and
// RestoreSession of more than 4 MiB, take several; see there.
//
// One process at a time has a file open for writing. In it any number of goroutines and
// stores may share the database. Their writes are grouped: who comes while a commit runs
// waits in line, and the first in line takes all of it, up to 256 writes or 16 MiB of
// messages, into the next commit. Nobody waits for company: a lone write costs the one
// commit that it needs. A context that ends takes its call out of the line; once a
// commit has taken it, the call waits for the truth. An fn given to the database's own
// Update or Batch is not in that line, but in bbolt's, which heeds no context.
//
// No transaction is open while the caller's code runs: not the iterator of
// RestoreSession, not the writer of Backup, not the marshalling of metadata. The one
// exception is Options.Now.
//
// # Costs
//
//	create, update, append    one commit: two fsyncs, shared by all who wait; about 1.3
//	                          times that of a lone Put, however long the history is
//	delete, truncate, fork    the same, and the pages of the messages concerned
//	get, list                 no system call while the file is in memory; a page of n
//	                          costs n, except that ListSessions passes over at most
//	                          1,000 sessions that have expired or do not match
//	purge                     a commit for each 64 sessions
//
// A session with its messages takes at least a page of its own: about 4.2 KiB of the file
// for a small one. Reads map the file into memory, so that the resident size of a process
// counts the pages that it has read, as much as the system leaves there; they are not the
// process's to give back, and no sign of a leak.
//
// Deleted space is used again, and leaves the file only by [Compact]. Bbolt writes the
// list of free pages with each commit, so after a large delete a Compact also makes
// commits faster.
//
// # Layout
//
// Names of buckets end in "/" here. Times are microseconds since 1970 with the sign bit
// flipped, and seqs are integers, both of 8 bytes, big endian; lengths are one byte.
//
//	sessionstore.meta/
//	    format                                    "1", the version of this layout
//	sessionstore.sessions:NAMESPACE/
//	    SESSION ID/
//	        e                                     time of the session's x entry, if any
//	        i MESSAGE ID                          seq
//	        m SEQ                                 message
//	        r                                     session
//	sessionstore.index:NAMESPACE/                 (no values)
//	    a TIME SESSION ID                         all sessions, by UpdatedAt
//	    p LENGTH PARENT ID TIME SESSION ID        those with a parent
//	    u LENGTH USER ID TIME SESSION ID          those with a user
//	    x TIME SESSION ID                         those with a TTL, by a time that is not
//	                                              after ExpiresAt: appends leave it alone,
//	                                              PurgeExpired moves it on
//	sessionstore.staged:NAMESPACE/
//	    TOKEN/SESSION ID/                         i and m of a restore that goes on
//
// Session and message are a byte that is the format's version, 1, and then the JSON of
// AppendJSON, the message's without its session_id. A higher version, of the layout or of
// a record, is ErrSchemaTooNew.
//
// A session's record lies behind its messages, and all of a namespace's indexes lie in
// one bucket, because a commit costs the pages that it touches: measured against a bucket
// each for records, messages, ids and indexes (22 pages an append at 10,000 messages,
// 1.38 times a lone Put) this takes 14 pages and 1.34. A session of its own bucket is
// deleted by freeing pages, and no key repeats its id.
//
// # Broken files
//
// A file that is no database, is cut, or has pages that are not what they should be gives
// an error that names it, where bbolt panics or the memory map faults. What is not covered:
// bbolt has no checksums on pages other than the first two, so changed bytes within a
// record are noticed only if it does not decode any more; a page that leads back to itself
// can make a commit go on for ever (one of 122 files with a damaged page did); and if bbolt
// fails while it writes to a broken file, later writes may fail as well until the file is
// opened again. The command "bbolt check" looks at every page.
//
// The lock is bbolt's: flock on Unix, LockFileEx on Windows. On network file systems
// where that does not work across machines, two of them may destroy a file.
package bolt
