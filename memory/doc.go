// Package memory keeps sessions in the memory of the process: for tests, for development,
// and for services whose conversations may end with them. It is also the reference: the
// other backends are held to what this one does.
//
//	store, err := memory.New(nil)
//
// Importing it registers the URL scheme "memory" with [sessionstore.Open].
//
// # Layout
//
//	DB
//	└── space                one a namespace
//	    ├── shards           id → entry, 64 maps with a lock each
//	    │   └── entry        one a session, with its own lock
//	    │       ├── Session  replaced as a whole, its maps are never changed
//	    │       ├── history  chunks of 64 immutable records, append only
//	    │       └── ids      a hash table, message id → position
//	    └── index            entries in list order: all, by user, by parent; and by expiry
//
// Nothing in it is shared with a caller: values are copied on the way in and on the way
// out. Strings, and with them [sessionstore.Content], are immutable and not copied.
//
// # Consistency
//
// Every method is linearizable, across all handles of one DB. A write holds the lock of
// its session and reads the clock there. A read takes the session and its history under
// that lock, which costs the same for any length, and copies its page afterwards: readers
// of a long history do not hold up its writers.
//
// The index is repaired by those who read it. A write that moves a session only marks its
// entry, once until the next repair, and a list first puts what is marked in its place: it
// reflects every write that returned before it began. A session that is written while a
// list runs is shown as it is when the list comes to it, and the page is sorted by what
// is shown.
//
// # Costs
//
//	Get, Update, Create    the session
//	Append                 the batch; 6 allocations for one message with two metadata keys
//	ListMessages           the page, and a binary search if bounded by Seq
//	Truncate, Fork         one chunk, and a look at the id table: 10 to 20 bytes a message
//	List                   the page, plus what was marked since the last list (at most about
//	                       4,000 sessions: beyond, writers help)
//	PurgeExpired           what is removed
//
// A list filtered by AgentName or Statuses, or one that comes across expired sessions, looks
// at 5,000 sessions at most and then returns what it has, with Next.
//
// Nothing is durable, and no goroutine runs in the background: expired sessions are
// invisible at once, but keep their memory until PurgeExpired is called or their id is
// taken again.
package memory
