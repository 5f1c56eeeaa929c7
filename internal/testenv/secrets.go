package testenv

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sessionstore/sessionstore"
)

// OpenHides checks that a URL which cannot be opened gives an error, and that nothing in it
// shows one of the secrets, printed or marshalled.
func OpenHides(t *testing.T, rawURL string, secrets ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	store, err := sessionstore.Open(ctx, rawURL)
	if err == nil {
		_ = store.Close()
		t.Errorf("Open(%q): got nil, want an error", rawURL)
	}
	for _, e := range chain(err) {
		marshalled, _ := json.Marshal(e)
		for _, text := range []string{e.Error(), fmt.Sprintf("%v %+v %#v", e, e, e), string(marshalled)} {
			for _, secret := range secrets {
				if strings.Contains(text, secret) {
					t.Errorf("Open(%q): got the error %T that shows the password: %s", rawURL, e, text)
				}
			}
		}
	}
}

// chain returns err and all that it wraps.
func chain(err error) []error {
	if err == nil {
		return nil
	}
	all := []error{err}
	switch u := err.(type) { //nolint:errorlint // it walks the chain itself
	case interface{ Unwrap() error }:
		all = append(all, chain(u.Unwrap())...)
	case interface{ Unwrap() []error }:
		for _, e := range u.Unwrap() {
			all = append(all, chain(e)...)
		}
	}
	return all
}
