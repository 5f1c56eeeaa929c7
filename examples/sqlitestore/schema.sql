-- The columns beside a record are those that something is looked up by; all else is read
-- from the record, so that nothing is stored twice that could differ.
--
-- Text compares byte by byte in SQLite (its collation BINARY): no two ids are one, and
-- list_key, which is SessionKey.String, sorts as a list is to be. Records are blobs,
-- because a text ends at U+0000 for some of SQLite's functions.

CREATE TABLE sessions (
	num        INTEGER PRIMARY KEY,
	namespace  TEXT NOT NULL,
	id         TEXT NOT NULL,
	user_id    TEXT NOT NULL,
	parent_id  TEXT NOT NULL,
	list_key   TEXT NOT NULL,
	expires_at INTEGER,       -- microseconds since 1970; NULL: never
	record     BLOB NOT NULL, -- Session.AppendJSON
	UNIQUE (namespace, id)
) STRICT;

CREATE INDEX sessions_by_key    ON sessions (namespace, list_key);
CREATE INDEX sessions_by_user   ON sessions (namespace, user_id, list_key);
CREATE INDEX sessions_by_parent ON sessions (namespace, parent_id, list_key);
CREATE INDEX sessions_by_expiry ON sessions (namespace, expires_at) WHERE expires_at IS NOT NULL;

CREATE TABLE messages (
	session INTEGER NOT NULL REFERENCES sessions ON DELETE CASCADE,
	seq     INTEGER NOT NULL,
	id      TEXT NOT NULL,
	record  BLOB NOT NULL, -- Message.AppendJSON, without its session_id: a fork copies it
	PRIMARY KEY (session, seq),
	UNIQUE (session, id)
) STRICT;

PRAGMA user_version = 1;
