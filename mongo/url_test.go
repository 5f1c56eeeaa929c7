package mongo_test

import (
	"errors"
	"net/url"
	"strings"
	"testing"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/internal/testenv"
)

func TestOpen(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "", nil)
	u, err := url.Parse(testenv.Mongo(t))
	if err != nil {
		t.Fatalf("Parse: got %v, want nil", err)
	}
	q := u.Query()
	q.Set("namespace", "a {name/space}*&=")
	q.Set("maxPoolSize", "3")
	q.Set("timeoutMS", "60000")
	u.Path, u.RawQuery = "/"+f.db.Name(), q.Encode()
	store, err := sessionstore.Open(t.Context(), u.String())
	if err != nil {
		t.Fatalf("Open: got %v, want nil", err)
	}
	s, err := store.CreateSession(t.Context(), sessionstore.Session{})
	if err != nil {
		t.Fatalf("CreateSession: got %v, want nil", err)
	}
	again, err := sessionstore.Open(t.Context(), u.String()+"&migrate=off")
	if err != nil {
		t.Fatalf("Open again: got %v, want nil", err)
	}
	if _, err := again.GetSession(t.Context(), s.ID); err != nil {
		t.Errorf("GetSession of a session that another store made: got %v, want nil", err)
	}
	if got := f.all(t, "sessions"); len(got) != 1 || got[0]["ns"] != "a {name/space}*&=" {
		t.Errorf("the sessions of the database that the URL names: got %v, want one of its namespace", got)
	}
	for _, s := range []sessionstore.SessionStore{store, again} {
		if err := errors.Join(s.Close(), s.Close()); err != nil {
			t.Errorf("Close, twice: got %v, want nil", err)
		}
	}
}

// TestOpenWithoutMigrating makes nothing in the database.
func TestOpenWithoutMigrating(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "", nil)
	if err := f.db.Drop(t.Context()); err != nil {
		t.Fatalf("Drop: got %v, want nil", err)
	}
	u, err := url.Parse(testenv.Mongo(t))
	if err != nil {
		t.Fatalf("Parse: got %v, want nil", err)
	}
	u.Path, u.RawQuery = "/"+f.db.Name(), "migrate=off"
	store, err := sessionstore.Open(t.Context(), u.String())
	if err != nil {
		t.Fatalf("Open: got %v, want nil", err)
	}
	defer store.Close()
	if got, err := f.db.ListCollectionNames(t.Context(), map[string]any{}); err != nil || len(got) > 0 {
		t.Errorf("collections after Open with migrate=off: got %q, %v; want none", got, err)
	}
}

// TestCredentials is field report O06: a password in an error, a log or a dump.
func TestCredentials(t *testing.T) {
	t.Parallel()
	const secret = "S3cret"
	for _, raw := range []string{
		"mongodb://user:S3cret@127.0.0.1:1/?serverSelectionTimeoutMS=50",
		"mongodb://user:S3cret@127.0.0.1:1,127.0.0.1:2/db?serverSelectionTimeoutMS=50",
		"mongodb://:S3cret@127.0.0.1:1/?serverSelectionTimeoutMS=50",
		"mongodb://user:S3cret@bad host:27017/?serverSelectionTimeoutMS=50",
		"mongodb://user:S3cret@127.0.0.1:port/",
		"mongodb://user:S3cret@[::1/",
		"mongodb://user:S3cret%zz@127.0.0.1:1/",
		"mongodb://user:S3cret@127.0.0.1:1/d b",
		"mongodb://user:S3cret@/",
		"mongodb://user:S3cret/@127.0.0.1:1/",
		"mongodb://127.0.0.1:1/?maxPoolSize=S3cret",
		"mongodb://127.0.0.1:1/?authMechanism=S3cret",
		"mongodb://127.0.0.1:1/?authMechanismProperties=S3cret&migrate=S3cret",
		"mongodb://127.0.0.1:1/?migrate=off&namespace=%zzS3cret",
		"mongodb://127.0.0.1:1/?tlsCAFile=/S3cret",
		"mongodb+srv://user:S3cret@a.example.org:27017/",
		"mongodb+srv://user:S3cret@/",
		"mongodb:S3cret@127.0.0.1",
		strings.Replace(testenv.Mongo(t), "mongodb://", "mongodb://user:S3cret@", 1), // refused by the server
	} {
		testenv.OpenHides(t, raw, secret)
	}
}

func TestURLErrors(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		"mongodb://h/?maxPoolSize=many":          "option",
		"mongodb://h/one/two":                    "database",
		"mongodb://h/" + strings.Repeat("d", 64): "database",
		"mongodb://h/?migrate=on":                "migrate",
		"mongodb://h/?timeout=1s":                "timeoutMS",
		"mongodb://h/?namespace=%00":             "namespace",
		"mongodb:h":                              "host",
		"mongodb://":                             "host",
	} {
		_, err := sessionstore.Open(t.Context(), raw)
		if !errors.Is(err, sessionstore.ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("Open(%q): got %v, want ErrInvalid that names %s", raw, err, want)
		}
	}
}
