package redis

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"strings"

	goredis "github.com/redis/go-redis/v9"

	"github.com/sessionstore/sessionstore"
)

//go:embed scripts/*.lua scripts/parts/*.lua
var sources embed.FS

// Each script is an atomic step of the server. It runs whole with each call, so that it
// has only those parts that it uses.
var (
	openScript     = load("open")
	appendScript   = load("append", "session", "moved", "index")
	messagesScript = load("messages")
	truncateScript = load("truncate", "session", "record", "moved", "index", "id_of", "tokens")
	updateScript   = load("update", "session", "record", "moved", "expiry", "index", "tokens")
	deleteScript   = load("delete", "session", "index", "remove")
	putScript      = load("put", "session", "expiry", "index", "remove", "room", "put")
	forkScript     = load("fork", "session", "record", "moved", "expiry", "index", "remove", "room", "id_of")
	stageScript    = load("stage", "session", "put")
	unstageScript  = load("unstage")
	purgeScript    = load("purge", "session", "expiry", "index", "remove")
)

func load(name string, parts ...string) *goredis.Script {
	var text strings.Builder
	for _, part := range parts {
		text.Write(source("parts/" + part))
		text.WriteByte('\n')
	}
	text.Write(source(name))
	return goredis.NewScript(text.String())
}

func source(name string) []byte {
	b, err := sources.ReadFile("scripts/" + name + ".lua")
	if err != nil {
		panic(err) // not embedded: no build of this package has that
	}
	return b
}

// Answers of scripts that are no errors by themselves.
var (
	errChanged = errors.New("the session has changed meanwhile")
	errDone    = errors.New("the call was carried out already")
	errRefused = errors.New("refused") // by the status or a condition
	errRepeat  = errors.New("all ids are stored")
	errKept    = errors.New("nothing to remove")
	errGone    = errors.New("only leftovers were there")
)

var answers = map[string]error{
	"ok":      nil,
	"missing": sessionstore.ErrSessionNotFound,
	"format":  fmt.Errorf("%w: another format, this one knows %s", sessionstore.ErrSchemaTooNew, format),
	"exists":  sessionstore.ErrSessionExists,
	"taken":   sessionstore.ErrMessageExists,
	"lost":    errors.New("the staged messages were purged: more than an hour without one"),
	"twice":   invalid("message_id", "is in the history twice"),
	"changed": errChanged,
	"done":    errDone,
	"refused": errRefused,
	"repeat":  errRepeat,
	"kept":    errKept,
	"gone":    errGone,
}

// run runs a script and returns its answer's values. The answer's error is wrapped by
// nothing.
func (s *Store) run(ctx context.Context, script *goredis.Script, keys []string, args ...any) ([]any, error) {
	v, err := script.Run(ctx, s.client, keys, args...).Slice()
	if err != nil {
		return nil, s.failed(ctx, err)
	}
	if len(v) == 0 {
		return nil, errDamaged
	}
	word, ok := v[0].(string)
	if !ok {
		return nil, errDamaged
	}
	answer, ok := answers[word]
	if !ok {
		return nil, fmt.Errorf("a script answered %.20q", word)
	}
	return v[1:], answer
}
