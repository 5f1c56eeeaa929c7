package postgres

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
)

// statements are the texts of all statements for one schema, each beside its parameters
// in the file of the method that runs it. They are the same for every call, so that the
// driver prepares each once for a connection.
type statements struct {
	getSession, insertSession, updateSession string
	hold, holdExpired, removeHeld            string
	appendOne, appendMany, findMessages      string
	oldest, newest                           string
	holdActive, truncateHeld                 string
	list, listUser, listParent               string
	fork                                     string
	stage, stageMessages, unstage            string
	restore                                  string
	lockExpired, lockStale                   string
	removeSessions, removeMessages           string
	removeRestores                           string
}

func newStatements(schema string) *statements {
	s := func(params, text string) string { return write(text, schema, params) }
	return &statements{
		getSession:     s("namespace id owner", getSession),
		insertSession:  s(newSessionParams+" fork_seq", insertSession),
		updateSession:  s("namespace id sid old_version now agent_name status ttl version body", updateSession),
		hold:           s("namespace id now owner", hold),
		holdExpired:    s("namespace id now", holdExpired),
		removeHeld:     s("namespace id", removeHeld),
		appendOne:      s("namespace id now owner last_seq message_id role created_at body", appendOne),
		appendMany:     s("namespace id now owner last_seq message_ids roles times bodies", appendMany),
		findMessages:   s("namespace id owner message_ids", findMessages),
		oldest:         s("namespace id owner after before limit bytes", oldest),
		newest:         s("namespace id owner after before limit bytes", newest),
		holdActive:     s("namespace id now owner last_seq", holdActive),
		truncateHeld:   s("namespace id now through", truncateHeld),
		list:           s(listParams, list),
		listUser:       s(listParams, listUser),
		listParent:     s(listParams, listParent),
		fork:           s(newSessionParams+" source sid old_version now owner at", fork),
		stage:          s("", stage),
		stageMessages:  s("sid seqs message_ids roles times bodies", stageMessages),
		unstage:        s("sid", unstage),
		restore:        s(restoreParams, restore),
		lockExpired:    s("namespace now limit", lockExpired),
		lockStale:      s("limit", lockStale),
		removeSessions: s("namespace ids", removeSessions),
		removeMessages: s("sids", removeMessages),
		removeRestores: s("sids", removeRestores),
	}
}

// Conditions that several statements share.
const (
	// named is the session's row, by its key.
	named = `namespace = @namespace AND id = @id`

	// readable leaves alone what a newer version has written.
	readable = `format <= ` + recordFormatText

	// alive is a session that exists by the rules: [sessionstore.Session.Expired], and
	// the owner of a view.
	alive = `(expires_at IS NULL OR expires_at > @now) AND ` + owned + ` AND ` + readable

	owned = `(@owner = '' OR user_id = @owner)`

	// touched is what a session's time becomes when it is touched now; untilThen is when
	// it then expires, and null for never.
	touched   = `GREATEST(updated_at, @now)`
	untilThen = `CASE WHEN ttl > 0 THEN LEAST(` + touched + ` + ttl * interval '1 microsecond', ` + lastTime + `) END`
	lastTime  = `timestamptz '9999-12-31 23:59:59.999999+00'`
)

// types are those of the parameters. They are named in the statements because with some
// query execution modes neither the driver nor the server could know them.
var types = map[string]string{
	"namespace": "text", "id": "text", "owner": "text", "now": "timestamptz",
	"format": "smallint", "user_id": "text", "agent_name": "text", "parent_id": "text",
	"fork_seq": "bigint", "status": "text", "ttl": "bigint", "updated_at": "timestamptz",
	"expires_at": "timestamptz", "last_seq": "bigint", "message_count": "bigint",
	"version": "bigint", "body": "json", "sid": "bigint", "old_version": "bigint",
	"message_id": "text", "role": "text", "created_at": "timestamptz",
	"seqs": "bigint[]", "message_ids": "text[]", "roles": "text[]", "times": "timestamptz[]", "bodies": "text[]",
	"after": "bigint", "before": "bigint", "limit": "bigint", "bytes": "bigint", "through": "bigint",
	"parent": "text", "user": "text", "agent": "text", "statuses": "text[]", "cursor_time": "timestamptz", "cursor_id": "text",
	"source": "text", "at": "bigint", "ids": "text[]", "sids": "bigint[]",
}

var placeholder = regexp.MustCompile(`@[a-z_]+`)

// write gives a statement, or a migration, the names of the schema, and its parameters,
// which stand in it as @name, their numbers in the given order.
func write(text, schema, params string) string {
	order := strings.Fields(params)
	ident := pgx.Identifier{schema}.Sanitize()
	return placeholder.ReplaceAllStringFunc(text, func(p string) string {
		switch name := p[1:]; name {
		case "schema":
			return ident
		case "sessions", "messages", "restores":
			return ident + "." + name
		case "sequence":
			return "'" + strings.ReplaceAll(ident+".session_sid", "'", "''") + "'"
		default:
			i := slices.Index(order, name)
			if i < 0 || types[name] == "" {
				panic(fmt.Sprintf("postgres: the parameter %s has no number or type in: %s", p, text))
			}
			return "$" + strconv.Itoa(i+1) + "::" + types[name]
		}
	})
}
