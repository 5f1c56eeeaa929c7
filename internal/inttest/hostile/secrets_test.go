package hostile_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"log"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	goredis "github.com/redis/go-redis/v9"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/internal/testenv"
)

// secret is in every URL of these tests, and in nothing that comes of them. It needs no
// escape in a URL.
const secret = "s3cr3tXyZZy"

// listener keeps what is logged, by whatever logger.
type listener struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *listener) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *listener) Printf(_ context.Context, format string, v ...any) {
	fmt.Fprintf(l, format+"\n", v...)
}

// listen replaces the loggers of the process, so that such a test runs alone. What it heard
// is searched at the end.
func listen(t *testing.T) {
	t.Helper()
	l := &listener{}
	was, wasLog := slog.Default(), log.Writer()
	slog.SetDefault(slog.New(slog.NewTextHandler(l, &slog.HandlerOptions{Level: slog.LevelDebug - 4})))
	log.SetOutput(l)
	goredis.SetLogger(l)
	t.Cleanup(func() {
		slog.SetDefault(was)
		log.SetOutput(wasLog)
		l.mu.Lock()
		defer l.mu.Unlock()
		if text := l.buf.String(); strings.Contains(text, secret) {
			t.Errorf("what was logged: got the secret: %s", text)
		}
	})
}

// wantHidden looks for the secret in all ways of showing a value, a panic with it too.
func wantHidden(t *testing.T, what string, v any) {
	t.Helper()
	marshalled, _ := json.Marshal(v)
	logged := &bytes.Buffer{}
	slog.New(slog.NewJSONHandler(logged, nil)).Info("it", "v", v)
	for _, text := range []string{fmt.Sprint(v), fmt.Sprintf("%v %+v %#v %s %q", v, v, v, v, v), string(marshalled), logged.String(), panicked(v)} {
		if strings.Contains(text, secret) {
			t.Errorf("%s, a %T: got the secret: %s", what, v, short(text))
			return
		}
	}
}

func panicked(v any) (text string) {
	defer func() { text = fmt.Sprint(recover()) }()
	panic(v)
}

// wantAllHidden does so for an error and all that it wraps.
func wantAllHidden(t *testing.T, what string, err error) {
	t.Helper()
	if err == nil {
		return
	}
	wantHidden(t, what, err)
	switch u := err.(type) { //nolint:errorlint // it walks the chain itself
	case interface{ Unwrap() error }:
		wantAllHidden(t, what, u.Unwrap())
	case interface{ Unwrap() []error }:
		for _, e := range u.Unwrap() {
			wantAllHidden(t, what, e)
		}
	}
}

// urls are wrong in every way, each with the secret where a URL may have one: not in the
// path, and not in the name of a parameter, which errors show.
func urls() []string {
	var out []string
	for _, scheme := range append(sessionstore.Schemes(), "mysql", "", "POSTGRES", "redis ", "Mongodb") {
		for _, rest := range []string{
			"//user:%s@127.0.0.1:1/db", "//:%s@127.0.0.1:1", "//%s@127.0.0.1:1/", "//user:%s@127.0.0.1:port/db", "//user:%s@127.0.0.1:99999/0", "//user:%s@[::1/db",
			"//user:%s%%zz@127.0.0.1/db", "//user:%s@/db", "//user:%s@", "//user:%s", "//user:%s\x00@127.0.0.1:1", "//user:%s@127.0.0.1:1/db\n", "//us er:%s@127.0.0.1:1/",
			"//user:a@b:%s@127.0.0.1:1/", "//user:%s/x@127.0.0.1:1/", "//user:%s?x@127.0.0.1:1/", "//user:%s#x@127.0.0.1:1/", "user:%s@127.0.0.1:1", "/user:%s@127.0.0.1:1",
			"//127.0.0.1:1/db?password=%s", "//127.0.0.1:1/db?sslpassword=%s&sslmode=what", "//127.0.0.1:1/db?namespace=a%%00&password=%s",
			"//127.0.0.1:1/db?password=%s&read_timeout=soon", "//127.0.0.1:1/db?authMechanismProperties=%s:x", "//127.0.0.1:1/?x=%%zz&password=%s", "//127.0.0.1:1/db#%s",
			"//user:%s@127.0.0.1:1,127.0.0.1:2/db?connect_timeout=x", "//user:%s@127.0.0.1:1/db?namespace=%%ff", "//user:%s@127.0.0.1:1/db?migrate=%s", "//user:%s@127.0.0.1:1/db?timeout=%s",
			"//user:%s@127.0.0.1:1/not-a-number", "//user:%s@127.0.0.1:1?addr=%s@x", "//user:%s@127.0.0.1:1/db?authSource=%s&authMechanism=%s", "//user:%s@127.0.0.1:1/db?tlsCAFile=/none/%s",
			"//user:%s@127.0.0.1:1/db?sslcert=/none&sslkey=/none/%s", "//user:%s@127.0.0.1:1/db?tls=true&tlsCertificateKeyFile=/none&tlsCertificateKeyFilePassword=%s", "//user:%s@127.0.0.1:1/db?service=none&servicefile=/none/%s",
			"//user:%s@%%31%%32.0.0.1:1/", "//user:%s@127.0.0.1:1/db?host=/none&port=x",
		} {
			out = append(out, scheme+":"+strings.ReplaceAll(strings.ReplaceAll(rest, "%s", secret), "%%", "%"))
		}
	}
	return append(out, "host=127.0.0.1 port=1 password="+secret, secret, "user:"+secret+"@127.0.0.1", "://"+secret, "postgres//u:"+secret+"@h")
}

// TestURLSecrets opens URLs that cannot be opened.
func TestURLSecrets(t *testing.T) {
	listen(t)
	t.Chdir(t.TempDir()) // for bolt: a path is not refused for having a secret in it
	n := 0
	for _, u := range urls() {
		if path, ok := strings.CutPrefix(u, "bolt:"); ok && (strings.HasPrefix(path, "/") || !strings.Contains(path, "?")) {
			continue // the path is the one part of a URL that is shown
		}
		n++
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		store, err := sessionstore.Open(ctx, u)
		cancel()
		if store != nil {
			wantHidden(t, "the store of "+u, store)
			_ = store.Close()
		}
		wantAllHidden(t, "Open("+u+")", err)
		if shown := sessionstore.RedactURL(u); strings.Contains(shown, secret) {
			t.Errorf("RedactURL(%q): got %q, want it without the secret", u, shown)
		}
		if _, err := sessionstore.ParseURL(u); err != nil {
			wantAllHidden(t, "ParseURL("+u+")", err)
		}
	}
	t.Logf("%d URLs", n)
}

// TestOpenedSecrets opens stores by a password, and spoils what they are connected to: what
// a store and its errors show is searched.
func TestOpenedSecrets(t *testing.T) {
	t.Run("redis", func(t *testing.T) {
		listen(t)
		o, err := goredis.ParseURL(testenv.Redis(t))
		if err != nil {
			t.Fatal("ParseURL: got an error, want the server's settings")
		}
		admin, user := goredis.NewClient(o), "test_"+strings.ToLower(rand.Text())
		t.Cleanup(func() { _ = admin.Close() })
		ctx := context.WithoutCancel(t.Context())
		if err := admin.Do(ctx, "ACL", "SETUSER", user, "on", ">"+secret, "~*", "+@all").Err(); err != nil {
			t.Fatalf("ACL SETUSER: got %v, want nil", err)
		}
		forget := func() { admin.Do(ctx, "ACL", "DELUSER", user) } // ends its connections, too
		t.Cleanup(forget)
		u := url.URL{Scheme: "redis", User: url.UserPassword(user, secret), Host: o.Addr, Path: "/0", RawQuery: url.Values{"namespace": {user}, "max_retries": {"-1"}}.Encode()}
		spoiled(t, u.String(), forget)
		keys := admin.Scan(ctx, 0, "*"+user+"*", 1000).Iterator()
		for keys.Next(ctx) {
			admin.Unlink(ctx, keys.Val())
		}
	})
	t.Run("postgres", func(t *testing.T) {
		listen(t)
		dsn := testenv.Postgres(t)
		ctx, role := context.WithoutCancel(t.Context()), "test_"+strings.ToLower(rand.Text())
		admin, err := pgx.Connect(ctx, dsn)
		if err != nil {
			t.Fatal("Connect: got an error, want a connection")
		}
		t.Cleanup(func() { _ = admin.Close(ctx) })
		exec := func(sql string) {
			if _, err := admin.Exec(ctx, sql); err != nil {
				t.Errorf("%s: got %v, want nil", sql, err)
			}
		}
		exec("CREATE ROLE " + role + " LOGIN SUPERUSER PASSWORD '" + secret + "'")
		t.Cleanup(func() {
			exec("DROP SCHEMA IF EXISTS " + role + " CASCADE")
			exec("DROP OWNED BY " + role)
			exec("DROP ROLE " + role)
		})
		u, err := url.Parse(dsn)
		if err != nil {
			t.Fatal("the server's URL does not parse")
		}
		u.User = url.UserPassword(role, secret)
		query := u.Query()
		query.Set("schema", role)
		u.RawQuery = query.Encode()
		spoiled(t, u.String(), func() {
			exec("ALTER ROLE " + role + " NOLOGIN")
			exec("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '" + role + "'")
		})
	})
	t.Run("bolt", func(t *testing.T) {
		listen(t)
		path := filepath.Join(t.TempDir(), "file")
		if err := os.WriteFile(path, bytes.Repeat([]byte(secret), 4096), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := sessionstore.Open(t.Context(), "bolt:"+path)
		if err == nil {
			t.Error("Open of a file that is no database: got nil, want an error")
		}
		wantAllHidden(t, "Open of a file that is no database", err)
	})
}

// spoiled opens a store, looks at it, spoils its connections and looks at the errors.
func spoiled(t *testing.T, rawURL string, spoil func()) {
	t.Helper()
	s, err := sessionstore.Open(t.Context(), rawURL)
	if err != nil {
		wantAllHidden(t, "Open", err)
		t.Fatal("Open with the right password: got an error, want a store")
	}
	defer func() { wantAllHidden(t, "Close", s.Close()) }()
	if _, err := s.CreateSession(t.Context(), sessionstore.Session{ID: "s"}); err != nil {
		t.Errorf("CreateSession: got %v, want nil", err)
	}
	view := sessionstore.ForUser(s, "u")
	wantHidden(t, "the store", s)
	wantHidden(t, "a view", view)
	spoil()
	failed := 0
	for range 5 {
		for _, st := range []sessionstore.SessionStore{s, view} {
			forks, ok := st.(interface {
				sessionstore.SessionStore
				sessionstore.Forker
			})
			if !ok {
				t.Fatalf("%T: got no Forker, want one", st)
			}
			for name, call := range testenv.Calls(forks) {
				if err := call(t.Context()); err != nil {
					failed++
					wantAllHidden(t, name, err)
				}
			}
		}
	}
	wantHidden(t, "the store after errors", s)
	if failed == 0 {
		t.Error("calls on spoiled connections: got no error, want some to look at")
	}
}
