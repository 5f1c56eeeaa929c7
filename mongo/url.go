package mongo

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"

	driver "go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/sessionstore/sessionstore"
)

func init() {
	sessionstore.Register("mongodb", open)
	sessionstore.Register("mongodb+srv", open)
}

// DefaultDatabase is the database of a URL whose path names none.
const DefaultDatabase = "sessionstore"

// appName is what the server's log calls the client, unless the URL has an appName.
const appName = "sessionstore"

// open is the opener of this package's schemes.
func open(ctx context.Context, rawURL string) (sessionstore.SessionStore, error) {
	t, err := parseURL(rawURL)
	if err != nil {
		return nil, err
	}
	client, err := driver.Connect(t.client)
	if err != nil {
		return nil, errors.New("mongo: open: the driver refuses the URL's options")
	}
	s, err := New(client.Database(t.database), &t.store)
	if err != nil {
		return nil, errors.Join(err, client.Disconnect(ctx))
	}
	s.owned = true
	if t.migrate {
		err = s.Migrate(ctx)
	} else if err = s.checkFormat(ctx); err != nil {
		err = fmt.Errorf("mongo: open: %w", err)
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// target is what a URL names.
type target struct {
	client   *options.ClientOptions
	database string
	store    Options
	migrate  bool
}

// parseURL takes this package's parameters out of the URL and leaves the rest to the
// driver, as it is. The driver's errors quote it, and so are not passed on.
func parseURL(rawURL string) (target, error) {
	scheme, rest, _ := strings.Cut(rawURL, ":")
	rest, query, _ := strings.Cut(rest, "?")
	query, _, _ = strings.Cut(query, "#")
	t := target{migrate: true, database: DefaultDatabase}
	var others []string
	for _, pair := range strings.Split(query, "&") {
		key, value, _ := strings.Cut(pair, "=")
		if pair == "" {
			continue
		}
		value, err := url.QueryUnescape(value)
		if err != nil {
			return target{}, invalid("url", "has a query that does not parse")
		}
		switch key {
		case "namespace":
			t.store.Namespace = value
		case "migrate":
			if value != "off" {
				return target{}, invalid("migrate", "has a value other than off")
			}
			t.migrate = false
		case "timeout":
			return target{}, invalid("timeout", "is for a file's lock; a server's options are timeoutMS, connectTimeoutMS and serverSelectionTimeoutMS")
		default:
			others = append(others, pair)
		}
	}
	hosts, ok := strings.CutPrefix(rest, "//")
	if !ok || hosts == "" {
		return target{}, invalid("url", "has no host: write %s://HOST:PORT/DATABASE", strings.ToLower(scheme))
	}
	hosts, path, _ := strings.Cut(hosts, "/")
	uri := strings.ToLower(scheme) + "://" + hosts + "/" + path
	if len(others) > 0 {
		uri += "?" + strings.Join(others, "&")
	}
	if path != "" {
		name, err := url.PathUnescape(path)
		if err != nil || strings.ContainsAny(name, "/\\. \"$*<>:|?\x00") || len(name) > maxDatabase {
			return target{}, invalid("url", "has a path that is no database's name")
		}
		t.database = name
	}
	t.client = options.Client().SetAppName(appName).ApplyURI(uri)
	if err := t.client.Validate(); err != nil {
		var dns *net.DNSError
		if errors.As(err, &dns) {
			return target{}, fmt.Errorf("mongo: looking up the servers of %.80q: %s", dns.Name, dns.Err)
		}
		return target{}, invalid("url", "does not parse: a bad escape, host, port or value of an option")
	}
	return t, nil
}

// maxDatabase is how long a database's name may be, in bytes.
const maxDatabase = 63
