package redis_test

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/internal/testenv"
	"github.com/sessionstore/sessionstore/redis"
)

func TestOpen(t *testing.T) {
	t.Parallel()
	for name, dsn := range map[string]func(testing.TB) string{"single": testenv.Redis, "cluster": testenv.RedisCluster} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u, err := url.Parse(dsn(t))
			if err != nil {
				t.Fatalf("Parse: got %v, want nil", err)
			}
			q := u.Query()
			q.Set("namespace", fmt.Sprint("a {namespace}* ", time.Now().UnixNano()))
			q.Set("pool_size", "3")
			q.Set("timeout", "1s")
			q.Set("migrate", "off")
			u.RawQuery = q.Encode()
			store, err := sessionstore.Open(t.Context(), u.String())
			if err != nil {
				t.Fatalf("Open: got %v, want nil", err)
			}
			s, err := store.CreateSession(t.Context(), sessionstore.Session{})
			if err != nil {
				t.Fatalf("CreateSession: got %v, want nil", err)
			}
			again, err := sessionstore.Open(t.Context(), u.String())
			if err != nil {
				t.Fatalf("Open again: got %v, want nil", err)
			}
			if _, err := again.GetSession(t.Context(), s.ID); err != nil {
				t.Errorf("GetSession of a session that another store made: got %v, want nil", err)
			}
			if err := again.DeleteSession(t.Context(), s.ID); err != nil {
				t.Errorf("DeleteSession: got %v, want nil", err)
			}
			for _, s := range []sessionstore.SessionStore{store, again} {
				if err := errors.Join(s.Close(), s.Close()); err != nil {
					t.Errorf("Close, twice: got %v, want nil", err)
				}
			}
		})
	}
}

// TestCredentials is field report O06: a password in an error, a log or a dump.
func TestCredentials(t *testing.T) {
	t.Parallel()
	const secret = "S3cret"
	for _, raw := range []string{
		"redis://user:S3cret@127.0.0.1:1",
		"redis://:S3cret@127.0.0.1:1/0",
		"rediss://user:S3cret@127.0.0.1:1",
		"redis://user:S3cret@bad host:6379",
		"redis://user:S3cret@127.0.0.1:port",
		"redis://user:S3cret@[::1",
		"redis://user:S3cret%zz@127.0.0.1:1",
		"redis://user@127.0.0.1:1?password=S3cret",
		"redis://127.0.0.1:1?db=S3cret&pool_size=S3cret",
		"redis://127.0.0.1:1?read_timeout=S3cret",
		"redis://127.0.0.1:1?migrate=off&shards=S3cret",
		"redis://127.0.0.1:1?migrate=S3cret",
		"redis://user:S3cret@",
		"redis:S3cret@127.0.0.1",
		"redis+cluster://user:S3cret@127.0.0.1:1",
		"redis+cluster://user:S3cret@127.0.0.1:1?addr=S3cret",
		"redis+cluster://user:S3cret@127.0.0.1:1/0",
		strings.Replace(testenv.Redis(t), "redis://", "redis://user:S3cret@", 1), // refused by the server
	} {
		testenv.OpenHides(t, raw, secret)
	}
}

func TestStoreShowsNoClient(t *testing.T) {
	t.Parallel()
	f := newFixture(t, redis.Options{Namespace: "shown"})
	for _, verb := range []string{"%v", "%+v", "%#v", "%s"} {
		if got := fmt.Sprintf(verb, f.Store); got != `redis store "shown"` {
			t.Errorf("a store with %s: got %s, want its namespace only", verb, got)
		}
	}
}

func TestURLErrors(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		"redis://h?unknown=1&pool_size=3":  `"unknown"`,
		"redis://h?pool_size=many":         `"pool_size"`,
		"redis://h/one":                    "database",
		"redis+cluster://h/1":              "database",
		"redis://h?shards=0":               "shards",
		"redis://h?shards=1001":            "shards",
		"redis://h?migrate=on":             "migrate",
		"redis://h?namespace=%00":          "namespace",
		"redis:h":                          "host",
		"rediss+cluster://h?addr=nothing":  `"addr"`,
		"redis://h?pool_size=1&db=seven&x": `"db", "x"`,
	} {
		_, err := sessionstore.Open(t.Context(), raw)
		if !errors.Is(err, sessionstore.ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("Open(%q): got %v, want ErrInvalid that names %s", raw, err, want)
		}
	}
}
