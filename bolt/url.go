package bolt

import (
	"context"
	"fmt"
	"net/url"
	"runtime"
	"strings"
	"time"

	"github.com/sessionstore/sessionstore"
)

func init() {
	sessionstore.Register("bolt", openURL)
}

// openURL is the opener for bolt:PATH?namespace=&timeout=&mode=; see the package's
// documentation.
func openURL(ctx context.Context, rawURL string) (sessionstore.SessionStore, error) {
	path, o, err := ParseURL(rawURL)
	if err != nil {
		return nil, err
	}
	return Open(ctx, path, o)
}

// ParseURL returns what Open takes for a URL of the scheme bolt; see the package's
// documentation. It is not url.Parse, for which bolt:sessions.db has no path, and a file
// name with # a fragment. Errors: ErrInvalid; they do not quote the query's values.
func ParseURL(rawURL string) (path string, o *OpenOptions, err error) {
	_, rest, _ := strings.Cut(rawURL, ":")
	rest, rawQuery, _ := strings.Cut(rest, "?")
	if after, ok := strings.CutPrefix(rest, "//"); ok {
		if !strings.HasPrefix(after, "/") {
			return "", nil, invalidURL("path", "has a host: write bolt:PATH, or bolt:///PATH for one from the root")
		}
		rest = after
	}
	if path, err = url.PathUnescape(rest); err != nil {
		return "", nil, invalidURL("path", "has a bad escape: write %%25 for %%")
	}
	if runtime.GOOS == "windows" && len(path) > 2 && path[0] == '/' && path[2] == ':' {
		path = path[1:] // bolt:///C:/…
	}
	if path == "" {
		return "", nil, invalidURL("path", "is missing: write bolt:PATH")
	}
	query, err := url.ParseQuery(rawQuery)
	if err != nil {
		return "", nil, invalidURL("url", "has a query that does not parse")
	}
	o = &OpenOptions{}
	for key, values := range query {
		v := values[len(values)-1]
		switch key {
		case "namespace":
			o.Namespace = v
		case "timeout":
			d, err := time.ParseDuration(v)
			if err != nil || d < 0 {
				return "", nil, invalidURL("timeout", "is not a duration such as 1s")
			}
			if o.Timeout = d; d == 0 {
				o.Timeout = -1
			}
		case "mode":
			switch o.Mode = Mode(v); o.Mode {
			case ReadWriteCreate, ReadWrite, ReadOnly:
			default:
				return "", nil, invalidURL("mode", "is none of rwc, rw and ro")
			}
		case "migrate":
			// For every backend's URL; this one has nothing to migrate yet.
			if v != "off" {
				return "", nil, invalidURL("migrate", "takes off and nothing else")
			}
		default:
			return "", nil, invalidURL("url", "has the unknown option %.40q", key)
		}
	}
	return path, o, nil
}

func invalidURL(field, format string, args ...any) error {
	return &sessionstore.InvalidError{Field: field, Reason: fmt.Sprintf(format, args...)}
}
