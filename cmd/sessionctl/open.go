package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/bolt"
)

const (
	storeVariable = "SESSIONSTORE_URL"
	defaultStore  = "bolt:sessions.db"
)

// access is what a command does with the store, as the mode of a bolt URL: a command
// that reads shares the file with others that read, and only some make a missing one.
type access string

const (
	toRead   access = "ro"
	toChange access = "rw"  // what is there already
	toCreate access = "rwc" // the file too, if it is missing
)

// storeURL is the store that the command line or the environment names.
func (a *app) storeURL() string {
	switch {
	case a.storeFlag != "":
		return a.storeFlag
	case os.Getenv(storeVariable) != "":
		return os.Getenv(storeVariable)
	}
	return defaultStore
}

// open opens the store for the given access. The caller closes it as soon as it can:
// others may wait for its lock.
func (a *app) open(ctx context.Context, want access) (sessionstore.SessionStore, error) {
	raw := a.storeURL()
	if known := sessionstore.Schemes(); strings.Contains(raw, ":") && !slices.Contains(known, scheme(raw)) {
		return nil, usagef("%s: no store of that kind is built in; there are %s", sessionstore.RedactURL(raw), strings.Join(known, ", "))
	}
	store, err := sessionstore.Open(ctx, withMode(raw, want))
	switch {
	case err == nil:
		return store, nil
	case errors.Is(err, sessionstore.ErrInvalid):
		return nil, &usageError{err}
	case errors.Is(err, fs.ErrNotExist) && isBolt(raw):
		if missing := missingFile(raw); missing != nil {
			return nil, missing
		}
	}
	return nil, err
}

// missingFile says what of the path of a bolt URL is missing.
func missingFile(raw string) error {
	path, o, err := bolt.ParseURL(raw)
	if err != nil {
		return nil
	}
	shown := sessionstore.RedactURL(raw)
	if _, err := os.Stat(filepath.Dir(path)); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("the directory of %s does not exist", shown)
	}
	if o.Mode == bolt.ReadWrite || o.Mode == bolt.ReadOnly {
		return fmt.Errorf("%s does not exist; new, import and demo make it, but not with mode=%s in its URL", shown, o.Mode)
	}
	return fmt.Errorf("%s does not exist; new, import and demo make it", shown)
}

// with opens the store, does the work and closes it again.
func (a *app) with(ctx context.Context, want access, work func(sessionstore.SessionStore) error) error {
	store, err := a.open(ctx, want)
	if err != nil {
		return err
	}
	err = work(store)
	if cerr := store.Close(); err == nil && cerr != nil {
		err = fmt.Errorf("close %s: %w", sessionstore.RedactURL(a.storeURL()), cerr)
	}
	return err
}

func scheme(rawURL string) string {
	s, _, _ := strings.Cut(rawURL, ":")
	return strings.ToLower(s)
}

func isBolt(rawURL string) bool { return scheme(rawURL) == "bolt" }

// withMode adds the mode to a bolt URL that has none.
func withMode(rawURL string, want access) string {
	if !isBolt(rawURL) {
		return rawURL
	}
	path, query, found := strings.Cut(rawURL, "?")
	values, err := url.ParseQuery(query)
	if err != nil || values.Has("mode") {
		return rawURL // Open says what is wrong
	}
	if !found || query == "" {
		return path + "?mode=" + string(want)
	}
	return rawURL + "&mode=" + string(want)
}

// onlyBolt refuses a command that works on the file of a bolt store for any other one.
func (a *app) onlyBolt(command string) error {
	if raw := a.storeURL(); !isBolt(raw) {
		return usagef("%s works on bolt stores only, not on %s", command, sessionstore.RedactURL(raw))
	}
	return nil
}
