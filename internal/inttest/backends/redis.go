package backends

import (
	"context"
	"net"
	"regexp"
	"testing"

	goredis "github.com/redis/go-redis/v9"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/internal/testenv"
	"github.com/sessionstore/sessionstore/redis"
)

// onRedis is a part of the server's keys: those of namespaces that begin with its name.
type onRedis struct {
	dsn, name string
	admin     *goredis.Client
}

func redisData(tb testing.TB) Data {
	tb.Helper()
	d := &onRedis{dsn: testenv.Redis(tb), name: name()}
	d.admin = goredis.NewClient(d.options(tb))
	tb.Cleanup(func() {
		defer func() { _ = d.admin.Close() }()
		ctx := context.Background()
		keys := d.admin.Scan(ctx, 0, "*"+d.name+"*", 1000).Iterator()
		for keys.Next(ctx) {
			d.admin.Unlink(ctx, keys.Val())
		}
		if err := keys.Err(); err != nil {
			tb.Errorf("removing what the test wrote: got %v, want nil", err)
		}
	})
	return d
}

func (d *onRedis) options(tb testing.TB) *goredis.Options {
	tb.Helper()
	o, err := goredis.ParseURL(d.dsn)
	if err != nil {
		tb.Fatal("ParseURL: got an error, want the server's settings") // it may quote a password
	}
	o.ContextTimeoutEnabled = true
	return o
}

func (d *onRedis) Open(tb testing.TB, o Options) sessionstore.SessionStore {
	tb.Helper()
	c := d.options(tb)
	c.ClientName = d.name
	c.Dialer = func(ctx context.Context, network, address string) (net.Conn, error) {
		return o.dial(ctx, network, address)
	}
	if o.Once {
		c.MaxRetries = -1
	}
	client := goredis.NewClient(c)
	tb.Cleanup(func() { _ = client.Close() })
	s, err := redis.New(client, &redis.Options{Namespace: d.name + o.Namespace, Now: o.Now})
	return closing(tb, s, err)
}

func (d *onRedis) Kill(ctx context.Context) error {
	list, err := d.admin.ClientList(ctx).Result()
	if err != nil {
		return err
	}
	for _, m := range regexp.MustCompile(`(?m)^id=(\d+) .*\bname=`+d.name+`\b`).FindAllStringSubmatch(list, -1) {
		d.admin.ClientKillByFilter(ctx, "ID", m[1]) // it may have ended by itself
	}
	return nil
}
