package sessionstore

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"sync"
)

// Opener opens a store from a URL whose scheme it was registered for. The store owns
// the client that it makes, and migrates unless the URL says migrate=off. The error must
// not show the URL's user information or query values; see [RedactURL].
type Opener func(ctx context.Context, rawURL string) (SessionStore, error)

var openers = struct {
	sync.RWMutex
	m map[string]Opener
}{m: map[string]Opener{}}

// Register makes a backend known to Open under a URL scheme. Backends call it from init,
// so that importing one is enough. It panics if the scheme is taken.
func Register(scheme string, open Opener) {
	openers.Lock()
	defer openers.Unlock()
	if _, ok := openers.m[scheme]; ok || open == nil || scheme == "" {
		panic(fmt.Sprintf("sessionstore: Register of scheme %q: taken, empty or nil", scheme))
	}
	openers.m[scheme] = open
}

// Schemes returns the registered schemes, sorted.
func Schemes() []string {
	openers.RLock()
	defer openers.RUnlock()
	return slices.Sorted(maps.Keys(openers.m))
}

// known says which import registers a scheme, for the error of one that is missing.
var known = map[string]string{
	"memory": "memory", "bolt": "bolt",
	"postgres": "postgres", "postgresql": "postgres",
	"redis": "redis", "rediss": "redis", "redis+cluster": "redis",
	"mongodb": "mongo", "mongodb+srv": "mongo",
}

// Open opens the store that the URL names:
//
//	memory:                     lost with the process
//	bolt:PATH                   one file (mode 0600), made if it is missing
//	postgres://… postgresql://…
//	redis://… rediss://… redis+cluster://…
//	mongodb://… mongodb+srv://…
//
// The query takes namespace=NAME (several applications in one place), timeout=DURATION
// (the wait for bolt's lock) and migrate=off (for database roles that may not change the
// schema: one that is not up to date is then [ErrSchemaTooOld]). Each backend's package documents what else it takes, and must be imported,
// for example with import _ "github.com/sessionstore/sessionstore/bolt".
//
// Closing the store closes the client that Open made. No error shows a password.
func Open(ctx context.Context, rawURL string) (SessionStore, error) {
	scheme, _, ok := strings.Cut(rawURL, ":")
	scheme = strings.ToLower(scheme)
	if !ok || !validScheme(scheme) {
		// The text is not repeated: who forgot the scheme may have left a password in it.
		return nil, invalid("url", "has no scheme such as %s", "memory: or bolt:PATH")
	}
	openers.RLock()
	open := openers.m[scheme]
	openers.RUnlock()
	if open == nil {
		if pkg, ok := known[scheme]; ok && pkg != "" {
			return nil, invalid("url", "the scheme %q is not registered: import _ %q", scheme,
				"github.com/sessionstore/sessionstore/"+pkg)
		}
		return nil, invalid("url", "the scheme %q is not registered; known here: %s", clip(scheme),
			strings.Join(Schemes(), ", "))
	}
	s, err := open(ctx, rawURL)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", RedactURL(rawURL), err)
	}
	return s, nil
}

func validScheme(s string) bool {
	for i, c := range []byte(s) {
		switch {
		case 'a' <= c && c <= 'z':
		case i > 0 && ('0' <= c && c <= '9' || c == '+' || c == '-' || c == '.'):
		default:
			return false
		}
	}
	return s != ""
}

// RedactURL returns what may be shown of a store's URL: scheme, host and path, without
// user information, query and fragment. Of one that does not parse, or has no "//" and is
// no bolt or memory URL, only the scheme; nothing of what is no URL.
func RedactURL(rawURL string) string {
	scheme, rest, ok := strings.Cut(rawURL, ":")
	lower := strings.ToLower(scheme)
	if !ok || !validScheme(lower) {
		return "…" // such as a list of key=value settings, a password among them
	}
	if !strings.HasPrefix(rest, "//") {
		path, _, _ := strings.Cut(rest, "?")
		if path != "" && lower != "bolt" && lower != "memory" || strings.Contains(path, "@") {
			return scheme + ":…"
		}
		return scheme + ":" + path
	}
	u, err := url.Parse(rawURL)
	if err != nil || u.Host == "" && (lower != "bolt" || u.User != nil) || strings.Contains(u.Host+u.Path, "@") {
		return scheme + ":…"
	}
	return scheme + "://" + u.Host + u.EscapedPath()
}

// ParseURL is url.Parse with an error that does not quote the URL, which may hold a
// password.
func ParseURL(rawURL string) (*url.URL, error) {
	u, err := url.Parse(rawURL)
	if err != nil {
		var ue *url.Error
		if errors.As(err, &ue) {
			var esc url.EscapeError
			var host url.InvalidHostError
			if errors.As(ue.Err, &esc) || errors.As(ue.Err, &host) || strings.Contains(ue.Err.Error(), "port") {
				return nil, invalid("url", "does not parse: a bad escape, host or port")
			}
		}
		return nil, invalid("url", "does not parse")
	}
	return u, nil
}
