package postgres

import (
	"context"
	"net/url"
	"strings"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/sessionstore/sessionstore"
)

func init() {
	sessionstore.Register("postgres", openURL)
	sessionstore.Register("postgresql", openURL)
}

// openURL is the opener for postgres://…; see the package's documentation.
func openURL(ctx context.Context, rawURL string) (sessionstore.SessionStore, error) {
	cfg, o, migrate, err := parseURL(rawURL)
	if err != nil {
		return nil, err
	}
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return nil, explained(err)
	}
	s, err := New(pool, o)
	if err == nil {
		s.owned = true
		if migrate {
			err = s.Migrate(ctx)
		} else {
			err = s.checkSchema(ctx)
		}
	}
	if err != nil {
		pool.Close()
		return nil, err
	}
	return s, nil
}

// parseURL takes this package's options out of the URL and leaves the rest to the
// driver. The driver's errors quote the URL, and so are not passed on.
func parseURL(rawURL string) (cfg *pgxpool.Config, o *Options, migrate bool, err error) {
	scheme, rest, _ := strings.Cut(rawURL, ":")
	rest, rawQuery, _ := strings.Cut(rest, "?")
	query, err := url.ParseQuery(rawQuery)
	if err != nil {
		return nil, nil, false, invalid("url", "has a query that does not parse")
	}
	o, migrate = &Options{}, true
	for key, values := range query {
		v := values[len(values)-1]
		switch key {
		case "namespace":
			o.Namespace = v
		case "schema":
			o.Schema = v
		case "migrate":
			if v != "off" {
				return nil, nil, false, invalid("migrate", "has a value other than off")
			}
			migrate = false
		case "timeout":
			return nil, nil, false, invalid("timeout", "is for a file's lock; a server's options are connect_timeout and statement_timeout")
		default:
			continue
		}
		delete(query, key)
	}
	rest += "?" + query.Encode()
	cfg, err = pgxpool.ParseConfig(strings.ToLower(scheme) + ":" + rest)
	if err != nil {
		return nil, nil, false, invalid("url", "does not parse: a bad escape, host, port or value of an option")
	}
	if cfg.ConnConfig.RuntimeParams["application_name"] == "" {
		cfg.ConnConfig.RuntimeParams["application_name"] = "sessionstore"
	}
	return cfg, o, migrate, nil
}
