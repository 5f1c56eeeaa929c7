package main

// Every backend that --store can name registers its URL schemes here.
import (
	"context"

	goredis "github.com/redis/go-redis/v9"

	_ "github.com/sessionstore/sessionstore/bolt"
	_ "github.com/sessionstore/sessionstore/memory"
	_ "github.com/sessionstore/sessionstore/mongo"
	_ "github.com/sessionstore/sessionstore/postgres"
	_ "github.com/sessionstore/sessionstore/redis"
)

// The command prints the error that it ends with; go-redis would print each attempt that
// came before it.
func init() { goredis.SetLogger(silent{}) }

type silent struct{}

func (silent) Printf(context.Context, string, ...any) {}
