// Package redis keeps sessions in Redis 6.2 or later, or Valkey: one server, one that
// sentinels watch, or a cluster. It uses the client of github.com/redis/go-redis/v9.
//
//	client := goredis.NewClient(&goredis.Options{Addr: "localhost:6379", ContextTimeoutEnabled: true})
//	store, err := redis.New(client, nil)
//
// # URLs
//
// Importing the package registers these with [sessionstore.Open]:
//
//	redis://USER:PASSWORD@HOST:PORT/DATABASE
//	rediss://…                                       by TLS
//	redis+cluster://HOST:PORT?addr=HOST:PORT&addr=…  any of the cluster's nodes
//	rediss+cluster://…
//
// The query takes namespace=NAME, shards=NUMBER (see [Options]), and what go-redis knows,
// such as pool_size, read_timeout and max_retries. Timeout and migrate=off, which other
// backends know, change nothing here: there is nothing to migrate. Anything else is
// ErrInvalid.
//
// # What the server must be set to
//
// Redis loses what it has not written to disk. A store of record needs
//
//	appendonly yes
//	appendfsync always        or everysec, which can lose the last second
//	maxmemory-policy noeviction
//
// With one of the allkeys policies the server throws sessions, or parts of them, away when
// its memory is full; a store that finds one logs a warning. With noeviction, writes then
// fail with the server's error and change nothing.
//
// A replica that takes over may lack what was acknowledged last: replication is
// asynchronous, and this package does not WAIT for it. Min-replicas-to-write bounds how
// much that is. Reads never go to a replica, even if the client would send them there.
//
// # Consistency
//
// Each write is one script, and with it one atomic step: it refuses before its first write
// or carries out everything. ListMessages is one script too. ListSessions reads the places
// of a page and then the sessions there; shards are read one by one.
//
// A driver sends a command again when it has lost the reply. That counts once: an append
// by its messages' ids, a create, fork or restore by a name that the call gives the
// session, an update or truncate by a token that the session keeps among its last eight,
// which then returns the session as it is by that time. Only a delete may say
// ErrSessionNotFound although it was the one that removed the session. And a write that
// somebody undid before it was sent again takes place anew: an append whose messages were
// truncated, or any write whose session was deleted, and created again. With the client's
// MaxRetries at -1 nothing is sent again: then such a call returns the connection's error,
// its outcome is unknown, and every history is linearizable.
//
// Expiry is judged by Options.Now, read just before a script is sent, and never by the
// server's clock. No key has a TTL.
//
// # Costs
//
//	create, append, delete      one round trip
//	truncate, ListMessages      one
//	get                         one
//	update                      two; two more each time that another update came between
//	fork                        two; to another shard one for each 1,000 messages and three
//	ListSessions                two, for each shard; more if it has a filter that few match.
//	                            It passes over 1,000 sessions at most that have expired or
//	                            do not match
//	restore                     one, and one for each 1,000 messages or 4 MiB before the last
//	purge                       two for each shard, and one for each session
//
// The first call of a store takes two more, for the namespace's format and the server's
// policy; the first use of a script by a server one more, to send its text. No command goes
// through all keys. A script holds up its server while it runs: a fork of 20,000 messages
// for some 50 ms, a truncate of as many for some 20.
//
// # Layout
//
// NS is the namespace and ID a session's id, in which all bytes but ASCII letters, digits,
// "-", ".", "_", "~" and those beyond ASCII are written as %XX. NN is the number of the
// session's shard, FNV-1a of its id modulo the number of shards. What is in the braces is
// all that a cluster hashes, so that a shard lies in one slot, and its lists with it.
//
//	sessionstore:meta:NS              hash: format "1", shards
//	sessionstore:{NS:NN}:s:ID         hash of a session, see below
//	sessionstore:{NS:NN}:m:ID         zset of its messages, by seq
//	sessionstore:{NS:NN}:i:ID         hash: message id → seq
//	sessionstore:{NS:NN}:index        zset, all scores 0, of
//	    a \n TIME ID                  all sessions, by UpdatedAt
//	    u USER \n TIME ID             those with a user
//	    p PARENT \n TIME ID           those with a parent
//	sessionstore:{NS:NN}:expiry       zset of ids, by a time in Unix milliseconds that is not
//	                                  after ExpiresAt: appends leave it alone, PurgeExpired
//	                                  moves it on
//	sessionstore:{NS:NN}:staged       zset of tokens, by the time of the last batch
//	sessionstore:{NS:NN}:sm:TOKEN     messages of a restore, or of a fork from another
//	sessionstore:{NS:NN}:si:TOKEN     shard, that goes on
//
// A message is the JSON of AppendJSON with an empty session_id and without seq. TIME is
// microseconds since year 1 in 18 digits: less 62135596800000000 they are Unix time. The
// fields of a session's hash are
//
//	format                            "1"; any other is ErrSchemaTooNew
//	gen                               names the incarnation: a new session of the id has another
//	session                           JSON of AppendJSON; what it leaves out is in the next
//	fork_seq version last_seq message_count
//	updated expires                   TIME; expires is empty for never
//	status user parent                again, for the scripts
//	ttl                               in microseconds, for the scripts
//	bytes                             of the messages
//	ops                               tokens of the last updates and truncates
//
// One zset for all lists, rather than one a user, lets a script name each key that it
// touches beforehand, as Redis asks: it cannot know a session's user before it has read
// it. Seqs are scores, and so exact only up to 2^53, twice what a restore may begin with.
//
// In a cluster, a call on a slot that is just being moved may fail with TRYAGAIN; it has
// changed nothing then. The ring of go-redis is not supported: it moves keys to other
// servers without what is stored there.
package redis
