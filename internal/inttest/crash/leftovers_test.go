//go:build unix

package crash_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	goredis "github.com/redis/go-redis/v9"
	"go.etcd.io/bbolt"
	"go.mongodb.org/mongo-driver/v2/bson"
	driver "go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/bolt"
	"github.com/sessionstore/sessionstore/mongo"
	"github.com/sessionstore/sessionstore/postgres"
	"github.com/sessionstore/sessionstore/redis"
)

// later is the clock of a store that purges what crashes have left: no call goes on for
// so long.
func later() time.Time { return time.Now().Add(2 * time.Hour) }

// clearAll purges, deletes all sessions, and purges again.
func clearAll(ctx context.Context, store sessionstore.SessionStore) error {
	if _, err := sessionstore.PurgeExpired(ctx, store, 0); err != nil {
		return err
	}
	for {
		page, err := store.ListSessions(ctx, sessionstore.SessionQuery{})
		if err != nil {
			return err
		}
		for _, s := range page.Sessions {
			if err := store.DeleteSession(ctx, s.ID); err != nil {
				return err
			}
		}
		if page.Next == "" && len(page.Sessions) == 0 {
			break
		}
	}
	_, err := sessionstore.PurgeExpired(ctx, store, 0)
	return err
}

// wantNothing reports what is left in a store without sessions.
func wantNothing(t *testing.T, left []string, err error) {
	t.Helper()
	if err != nil || len(left) > 0 {
		t.Errorf("after a purge, without any session: got %q, %v; want nothing", left, err)
	}
}

func boltLeftovers(ctx context.Context, path string) (left []string, err error) {
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{Timeout: time.Minute})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	store, err := bolt.New(db, &bolt.Options{Now: later})
	if err != nil {
		return nil, err
	}
	defer store.Close()
	if err := clearAll(ctx, store); err != nil {
		return nil, err
	}
	return left, db.View(func(tx *bbolt.Tx) error {
		return tx.ForEach(func(name []byte, b *bbolt.Bucket) error {
			if string(name) == "sessionstore.meta" {
				return nil
			}
			return b.ForEach(func(k, _ []byte) error {
				left = append(left, fmt.Sprintf("%s: %q", name, k))
				return nil
			})
		})
	})
}

func postgresLeftovers(ctx context.Context, url string) (left []string, err error) {
	pool, err := pgxpool.New(ctx, url)
	if err != nil {
		return nil, err
	}
	defer pool.Close()
	// That clock is the server's.
	if _, err := pool.Exec(ctx, "UPDATE sessionstore.restores SET touched_at = touched_at - interval '2 hours'"); err != nil {
		return nil, err
	}
	store, err := postgres.New(pool, &postgres.Options{Now: later})
	if err != nil {
		return nil, err
	}
	defer store.Close()
	if err := clearAll(ctx, store); err != nil {
		return nil, err
	}
	for _, table := range []string{"sessions", "messages", "restores"} {
		var n int
		if err := pool.QueryRow(ctx, "SELECT count(*) FROM sessionstore."+table).Scan(&n); err != nil {
			return nil, err
		}
		if n > 0 {
			left = append(left, fmt.Sprintf("%d %s", n, table))
		}
	}
	return left, nil
}

func redisLeftovers(ctx context.Context, url string) (left []string, err error) {
	o, err := goredis.ParseURL(url)
	if err != nil {
		return nil, err
	}
	client := goredis.NewClient(o)
	defer client.Close()
	store, err := redis.New(client, &redis.Options{Now: later})
	if err != nil {
		return nil, err
	}
	defer store.Close()
	if err := clearAll(ctx, store); err != nil {
		return nil, err
	}
	keys, err := client.Keys(ctx, "*").Result()
	for _, key := range keys {
		if !strings.HasPrefix(key, "sessionstore:meta:") {
			left = append(left, key)
		}
	}
	return left, err
}

func mongoLeftovers(ctx context.Context, url string) (left []string, err error) {
	client, err := driver.Connect(options.Client().ApplyURI(url))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, client.Disconnect(ctx)) }()
	db := client.Database(mongo.DefaultDatabase)
	store, err := mongo.New(db, &mongo.Options{Now: later})
	if err != nil {
		return nil, err
	}
	defer store.Close()
	if err := clearAll(ctx, store); err != nil {
		return nil, err
	}
	for _, name := range []string{"sessionstore.sessions", "sessionstore.blocks"} {
		n, err := db.Collection(name).CountDocuments(ctx, bson.D{})
		if err != nil {
			return nil, err
		}
		if n > 0 {
			left = append(left, fmt.Sprintf("%d in %s", n, name))
		}
	}
	return left, nil
}
