package redis

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	goredis "github.com/redis/go-redis/v9"

	"github.com/sessionstore/sessionstore"
)

func init() {
	for _, scheme := range []string{"redis", "rediss", clusterScheme, clusterTLSScheme} {
		sessionstore.Register(scheme, open)
	}
}

const (
	clusterScheme    = "redis+cluster"
	clusterTLSScheme = "rediss+cluster"
)

// open is the opener of this package's schemes. It asks the server for the namespace's
// format, so that a wrong address or password shows at once.
func open(ctx context.Context, rawURL string) (sessionstore.SessionStore, error) {
	client, opts, err := fromURL(rawURL)
	if err != nil {
		return nil, err
	}
	s, err := New(client, opts)
	if err != nil {
		return nil, errors.Join(err, client.Close())
	}
	s.owned = true
	if _, err := s.open(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("redis: open: %w", err), s.Close())
	}
	return s, nil
}

// fromURL makes the client and takes this package's parameters out of the URL. What the
// driver says of a URL is not passed on: it quotes values.
func fromURL(rawURL string) (goredis.UniversalClient, *Options, error) {
	u, err := sessionstore.ParseURL(rawURL)
	if err != nil {
		return nil, nil, err
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return nil, nil, invalid("url", "has a query that does not parse")
	}
	opts := &Options{Namespace: query.Get("namespace")}
	if query.Has("shards") {
		if n, err := fmt.Sscanf(query.Get("shards")+"\n", "%d\n", &opts.Shards); n != 1 || err != nil || opts.Shards < 1 {
			return nil, nil, invalid("shards", "is not a number above 0")
		}
	}
	if v := query.Get("migrate"); query.Has("migrate") && v != "off" {
		return nil, nil, invalid("migrate", "takes off and nothing else")
	}
	// The wait for a lock, and migrations, are for other backends' URLs.
	for _, own := range []string{"namespace", "shards", "timeout", "migrate"} {
		query.Del(own)
	}
	scheme, isCluster := strings.CutSuffix(u.Scheme, "+cluster")
	u.Scheme = scheme
	u.Fragment, u.RawFragment = "", ""
	if u.Host == "" || u.Opaque != "" {
		return nil, nil, invalid("url", "has no host: write %s://HOST:PORT", scheme)
	}
	if isCluster && strings.Trim(u.Path, "/") != "" {
		return nil, nil, invalid("url", "names a database, which a cluster does not have")
	}
	client, err := newClient(u, query, isCluster)
	if err == nil {
		return client, opts, nil
	}
	// Which one is it? The database, or a parameter by itself.
	var bad []string
	for key, values := range query {
		if _, err := parse(u, url.Values{key: values}, isCluster); err != nil {
			bad = append(bad, fmt.Sprintf("%.40q", key))
		}
	}
	slices.Sort(bad)
	if len(bad) == 0 {
		return nil, nil, invalid("url", "has a path that is no number of a database")
	}
	return nil, nil, invalid("url", "has a parameter that is unknown or has a bad value: %s", strings.Join(bad, ", "))
}

// parsed is what the driver made of a URL: one of the two.
type parsed struct {
	single  *goredis.Options
	cluster *goredis.ClusterOptions
}

func parse(u *url.URL, query url.Values, isCluster bool) (p parsed, err error) {
	at := *u
	at.RawQuery = query.Encode()
	if isCluster {
		p.cluster, err = goredis.ParseClusterURL(at.String())
	} else {
		p.single, err = goredis.ParseURL(at.String())
	}
	return p, err
}

func newClient(u *url.URL, query url.Values, isCluster bool) (goredis.UniversalClient, error) {
	p, err := parse(u, query, isCluster)
	if err != nil {
		return nil, err
	}
	// Contexts end calls, whatever the timeouts are.
	if isCluster {
		p.cluster.ContextTimeoutEnabled = true
		return goredis.NewClusterClient(p.cluster), nil
	}
	p.single.ContextTimeoutEnabled = true
	return goredis.NewClient(p.single), nil
}
