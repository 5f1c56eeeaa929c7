-- The tables of sessions and messages. @schema stands for the name of the schema, @sequence
-- for that of the sequence as a string; both are quoted.

CREATE SEQUENCE @schema.session_sid;

-- A session. Columns come before what body says of the same field.
CREATE TABLE @schema.sessions (
	sid           bigint NOT NULL DEFAULT nextval(@sequence), -- never used again
	updated_at    timestamptz NOT NULL,
	expires_at    timestamptz,                 -- null: never
	last_seq      bigint NOT NULL,
	message_count bigint NOT NULL,
	version       bigint NOT NULL,
	ttl           bigint NOT NULL,             -- microseconds; 0: none
	fork_seq      bigint NOT NULL,
	format        smallint NOT NULL,           -- of this record and its messages
	held          boolean NOT NULL DEFAULT false, -- within a transaction only; see the package's hold.go
	status        text COLLATE "C" NOT NULL,
	namespace     text COLLATE "C" NOT NULL,
	id            text COLLATE "C" NOT NULL,
	user_id       text COLLATE "C" NOT NULL,
	agent_name    text COLLATE "C" NOT NULL,
	parent_id     text COLLATE "C" NOT NULL,
	body          json NOT NULL,               -- the session as JSON, without what changes with its messages
	CONSTRAINT sessions_pkey PRIMARY KEY (namespace, id)
) WITH (fillfactor = 70);

-- The condition always holds. Only a list states it: were it not there, the planner could
-- take this index for a look-up by namespace and id, which it believes to cost the same as
-- the primary key while the table is small, and read all of the namespace.
CREATE INDEX sessions_by_time ON @schema.sessions (namespace, updated_at, id) WHERE updated_at > '-infinity';
CREATE INDEX sessions_by_user ON @schema.sessions (namespace, user_id, updated_at, id) WHERE user_id <> '';
CREATE INDEX sessions_by_parent ON @schema.sessions (namespace, parent_id, updated_at, id) WHERE parent_id <> '';
CREATE INDEX sessions_by_expiry ON @schema.sessions (namespace, expires_at) WHERE expires_at IS NOT NULL;

-- A message. There is no foreign key: the lock of the session's row does its work.
CREATE TABLE @schema.messages (
	sid        bigint NOT NULL,
	seq        bigint NOT NULL,
	created_at timestamptz NOT NULL,           -- for people; body has it too
	id         text COLLATE "C" NOT NULL,
	role       text COLLATE "C" NOT NULL,      -- for people; body has it too
	body       json NOT NULL,                  -- the message as JSON, without session_id and seq
	CONSTRAINT messages_pkey PRIMARY KEY (sid, seq),
	CONSTRAINT messages_sid_id_key UNIQUE (sid, id)
);

-- A restore that is not finished, whose messages lie under a sid that no session has.
CREATE TABLE @schema.restores (
	sid        bigint NOT NULL DEFAULT nextval(@sequence),
	touched_at timestamptz NOT NULL DEFAULT now(),
	CONSTRAINT restores_pkey PRIMARY KEY (sid)
);
