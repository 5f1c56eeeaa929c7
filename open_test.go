package sessionstore_test

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/sessionstore/sessionstore"
)

func TestOpenUnknown(t *testing.T) {
	t.Parallel()
	for rawURL, want := range map[string]string{
		"":                               "no scheme",
		"/path/s3cret":                   "no scheme",
		"s3cret@host":                    "no scheme",
		"u:s3cret@host":                  `scheme "u" is not registered`,
		"1x:y":                           "no scheme",
		"postgres://u:s3cret@host/db":    `import _ "github.com/sessionstore/sessionstore/postgres"`,
		"postgresql://u:s3cret@host/db":  `import _ "github.com/sessionstore/sessionstore/postgres"`,
		"MONGODB+SRV://u:s3cret@host/db": `import _ "github.com/sessionstore/sessionstore/mongo"`,
		"redis+cluster://:s3cret@h:1":    `import _ "github.com/sessionstore/sessionstore/redis"`,
		"mysql://u:s3cret@host/db":       `scheme "mysql" is not registered`,
	} {
		_, err := sessionstore.Open(t.Context(), rawURL)
		if !errors.Is(err, sessionstore.ErrInvalid) || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("Open(%q): got %v, want ErrInvalid with %q and without the password", rawURL, err, want)
		}
	}
}

func TestRegister(t *testing.T) {
	t.Parallel()
	boom := errors.New("boom")
	var got string
	sessionstore.Register("test-open", func(_ context.Context, rawURL string) (sessionstore.SessionStore, error) {
		got = rawURL
		if strings.Contains(rawURL, "fail") {
			return nil, boom
		}
		return sessionstore.Unusable(boom), nil
	})
	if !slices.Contains(sessionstore.Schemes(), "test-open") {
		t.Errorf("Schemes: got %v, want test-open among them", sessionstore.Schemes())
	}
	if s, err := sessionstore.Open(t.Context(), "Test-Open://u:s3cret@h/p?x=s3cret"); err != nil || s == nil {
		t.Errorf("Open: got %v, %v", s, err)
	}
	if want := "Test-Open://u:s3cret@h/p?x=s3cret"; got != want {
		t.Errorf("the opener got %q, want %q", got, want)
	}
	_, err := sessionstore.Open(t.Context(), "test-open://u:s3cret@h/fail?x=s3cret")
	if !errors.Is(err, boom) || err.Error() != "open test-open://h/fail: boom" {
		t.Errorf("Open: got %v, want the opener's error under scheme, host and path", err)
	}
	for name, f := range map[string]func(){
		"taken": func() {
			sessionstore.Register("test-open", func(context.Context, string) (sessionstore.SessionStore, error) { return nil, nil })
		},
		"nil": func() { sessionstore.Register("test-nil", nil) },
		"empty": func() {
			sessionstore.Register("", func(context.Context, string) (sessionstore.SessionStore, error) { return nil, nil })
		},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("Register of a scheme that is %s did not panic", name)
				}
			}()
			f()
		}()
	}
}

// Field report O06: no password in what is shown of a URL, whatever its form.
func TestURLsKeepSecrets(t *testing.T) {
	t.Parallel()
	for rawURL, want := range map[string]string{
		"bolt:sessions.db?timeout=1s":                 "bolt:sessions.db",
		"bolt:///var/lib/s.db?mode=ro":                "bolt:///var/lib/s.db",
		"bolt://u:s3cret@/s.db":                       "bolt:…",
		"bolt:a@s3cret":                               "bolt:…",
		"memory:":                                     "memory:",
		"redis://:s3cret@h:6379/0":                    "redis://h:6379/0",
		"postgres://u:s3cret@bad host:port/db":        "postgres:…",
		"postgres://u:s3cret@h1:1,h2:2/db":            "postgres://h1:1,h2:2/db",
		"postgres://u:s3%zzcret@h/db":                 "postgres:…",
		"mongodb://u:s3cret@h/db?token=s3cret#s3cret": "mongodb://h/db",
		"postgres://u:s3cret@/db":                     "postgres:…",
		"s3cret":                                      "…",
		"host=/cloudsql/p:r:i password=s3cret":        "…",
		"host=h password=s3cret:x":                    "…",
		"1x://s3cret":                                 "…",
		":s3cret":                                     "…",
		"u:s3cret":                                    "u:…",
		"redis:s3cret":                                "redis:…",
		"BOLT:a/b.db":                                 "BOLT:a/b.db",
		"sqlite:":                                     "sqlite:",
		"sqlite:?key=s3cret":                          "sqlite:",
	} {
		if got := sessionstore.RedactURL(rawURL); got != want {
			t.Errorf("RedactURL(%q): got %q, want %q", rawURL, got, want)
		}
		if _, err := sessionstore.ParseURL(rawURL); err != nil {
			for e := err; e != nil; e = errors.Unwrap(e) {
				if s := fmt.Sprintf("%v %+v %#v", e, e, e); strings.Contains(s, "s3cret") || strings.Contains(s, "s3%zz") {
					t.Errorf("ParseURL(%q): the error shows the password: %s", rawURL, s)
				}
			}
			if _, perr := url.Parse(rawURL); perr == nil {
				t.Errorf("ParseURL(%q): got %v, url.Parse reads it", rawURL, err)
			}
		}
	}
}
