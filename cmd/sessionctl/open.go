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

// open opens the command's store; see openURL.
func (a *app) open(ctx context.Context, want access) (sessionstore.SessionStore, error) {
	return openURL(ctx, a.storeURL(), want)
}

// openURL opens a store for the given access. The caller closes it as soon as it can:
// others may wait for its lock.
func openURL(ctx context.Context, raw string, want access) (sessionstore.SessionStore, error) {
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
		return fmt.Errorf("%s does not exist; new, import, copy and demo make it, but not with mode=%s in its URL", shown, o.Mode)
	}
	return fmt.Errorf("%s does not exist; new, import, copy and demo make it", shown)
}

// with opens the store, does the work and closes it again.
func (a *app) with(ctx context.Context, want access, work func(sessionstore.SessionStore) error) error {
	return withURL(ctx, a.storeURL(), want, work)
}

// withURL is with for the store of a URL.
func withURL(ctx context.Context, raw string, want access, work func(sessionstore.SessionStore) error) error {
	store, err := openURL(ctx, raw, want)
	if err != nil {
		return err
	}
	err = work(store)
	if cerr := store.Close(); err == nil && cerr != nil {
		err = fmt.Errorf("close %s: %w", sessionstore.RedactURL(raw), cerr)
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
	_, query, _ := strings.Cut(rawURL, "?")
	values, err := url.ParseQuery(query)
	if err != nil || values.Has("mode") {
		return rawURL // Open says what is wrong
	}
	return withOption(rawURL, "mode", string(want))
}

// withOption adds an option to a URL, in place of one of that name.
func withOption(rawURL, name, value string) string {
	rawURL = withoutOption(rawURL, name)
	switch {
	case strings.HasSuffix(rawURL, "?"):
		return rawURL + name + "=" + value
	case strings.Contains(rawURL, "?"):
		return rawURL + "&" + name + "=" + value
	}
	return rawURL + "?" + name + "=" + value
}

// withoutOption returns a URL without the option of that name, and otherwise as it was.
func withoutOption(rawURL, name string) string {
	path, query, found := strings.Cut(rawURL, "?")
	if !found {
		return rawURL
	}
	kept := slices.DeleteFunc(strings.Split(query, "&"), func(option string) bool {
		key, _, _ := strings.Cut(option, "=")
		key, err := url.QueryUnescape(key)
		return err == nil && key == name
	})
	return path + "?" + strings.Join(kept, "&")
}

// onlyBolt refuses a command that works on the file of a bolt store for any other one.
func (a *app) onlyBolt(command string) error {
	if raw := a.storeURL(); !isBolt(raw) {
		return usagef("%s works on bolt stores only, not on %s", command, sessionstore.RedactURL(raw))
	}
	return nil
}
