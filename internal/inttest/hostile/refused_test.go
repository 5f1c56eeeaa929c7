package hostile_test

import (
	"context"
	"strings"
	"testing"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/internal/inttest/backends"
	"github.com/sessionstore/sessionstore/internal/inttest/hostile"
)

// each runs a test on every backend that there is, with two handles on data of its own in
// which there is a session nobody may touch.
func each(t *testing.T, run func(t *testing.T, kind backends.Backend, a, b sessionstore.SessionStore)) {
	for _, kind := range backends.All() {
		t.Run(kind.Name, func(t *testing.T) {
			d := kind.New(t)
			a, b := d.Open(t, backends.Options{}), d.Open(t, backends.Options{})
			canary(t, a)
			before := dump(t, b)
			run(t, kind, a, b)
			if after := dump(t, b); after != before {
				t.Errorf("what the store holds after the test: %s", difference(after, before))
			}
		})
	}
}

func canary(t *testing.T, s sessionstore.SessionStore) {
	t.Helper()
	_, err := s.CreateSession(t.Context(), sessionstore.Session{ID: hostile.Canary, UserID: "owner", Metadata: sessionstore.Metadata{"k": "v"}})
	if err == nil {
		_, err = s.AppendMessages(t.Context(), hostile.Canary, sessionstore.Append{Messages: []sessionstore.Message{
			sessionstore.UserMessage("is all well?"), sessionstore.AssistantMessage("it is"),
		}})
	}
	if err != nil {
		t.Fatalf("the session that is not to be touched: got %v, want nil", err)
	}
}

func dump(t testing.TB, s sessionstore.SessionStore) string {
	t.Helper()
	out, err := hostile.Dump(context.WithoutCancel(t.Context()), s)
	if err != nil {
		t.Fatalf("reading all that the store holds: got %v, want nil", err)
	}
	return out
}

// difference shows the first line that differs.
func difference(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(g), len(w)) {
		if g[i] != w[i] {
			return "got " + short(g[i]) + ", want " + short(w[i])
		}
	}
	if len(g) > len(w) {
		return "got besides " + short(g[len(w)])
	}
	return "got nothing for " + short(w[len(g)])
}

func short(s string) string {
	if len(s) > 400 {
		return s[:400] + "…"
	}
	return s
}

// TestRefused gives every field what its rule forbids.
func TestRefused(t *testing.T) {
	each(t, func(t *testing.T, _ backends.Backend, a, b sessionstore.SessionStore) {
		before := dump(t, b)
		n := 0
		for _, f := range hostile.Fields {
			for _, s := range hostile.Texts {
				if f.Rule(s) {
					continue
				}
				n++
				if err := f.Call(t.Context(), a, s); !hostile.Refused(err) {
					t.Errorf("%s %q: got %v, want ErrInvalid or ErrTooLarge", f.Name, short(s), err)
				}
			}
			if after := dump(t, b); after != before {
				t.Errorf("after all that %s must not be: %s", f.Name, difference(after, before))
				before = after
			}
		}
		t.Logf("%d strings refused in %d fields", n, len(hostile.Fields))
	})
}
