// Package ferret runs FerretDB, a server that speaks MongoDB's protocol and keeps its
// data in SQLite, in this process, as a stand-in for MongoDB where none can be had.
//
// FerretDB 1.24 reports a write to one document as done and then loses it to another that
// ran at the same time, so it stands behind a [mongoproxy.Proxy]. Nothing here connects
// to anywhere: the embedded FerretDB has no telemetry, and listens on the loopback
// interface only.
package ferret

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/url"
	"path/filepath"
	"runtime/debug"
	"strings"

	"github.com/FerretDB/FerretDB/build/version"
	"github.com/FerretDB/FerretDB/ferretdb"

	"github.com/sessionstore/sessionstore/internal/inttest/mongoproxy"
)

// Version returns FerretDB's version, as this program was built with.
func Version() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range info.Deps {
			if m.Path == "github.com/FerretDB/FerretDB" {
				return m.Version
			}
		}
	}
	return "unknown"
}

// Serve serves the databases in the folder dir to the clients of l until ctx ends, and
// closes l. It calls ready once it does.
func Serve(ctx context.Context, l net.Listener, dir string, log *slog.Logger, ready func()) error {
	defer func() { _ = l.Close() }()
	version.Get().Version = Version() // that it says to clients; it does not know by itself
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	server, err := ferretdb.New(&ferretdb.Config{
		Listener:  ferretdb.ListenerConfig{TCP: "127.0.0.1:0"},
		Handler:   "sqlite",
		SQLiteURL: sqliteURL(dir),
		Logger:    slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	stopped := make(chan error, 1)
	go func() {
		defer cancel() // the proxy is of no use without it
		stopped <- server.Run(ctx)
	}()
	u, err := url.Parse(server.MongoDBURI())
	if err != nil {
		cancel()
		return errors.Join(err, <-stopped)
	}
	ready()
	err = (&mongoproxy.Proxy{Server: u.Host, Log: log}).Serve(ctx, l)
	cancel()
	return errors.Join(err, <-stopped)
}

// sqliteURL names a folder as FerretDB wants it: with a slash at the end. The data is not
// synced to the disk: it is of no use after the test.
func sqliteURL(dir string) string {
	u := url.URL{Scheme: "file", OmitHost: true, Path: strings.TrimSuffix(filepath.ToSlash(dir), "/") + "/"}
	u.RawQuery = url.Values{"_pragma": {"synchronous(off)"}}.Encode()
	return u.String()
}
