package main

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/memory"
)

// faulty are stores that break the rules in one way each, opened by a scheme of that name.
func init() {
	register := func(name string, wrap func(sessionstore.SessionStore) sessionstore.SessionStore) {
		sessionstore.Register(name, func(ctx context.Context, _ string) (sessionstore.SessionStore, error) {
			store, err := memory.New(nil)
			if err != nil {
				return nil, err
			}
			_, err = store.CreateSession(ctx, sessionstore.Session{ID: "first"})
			return wrap(store), err
		})
	}
	register("miscounting", func(s sessionstore.SessionStore) sessionstore.SessionStore { return miscounting{s} })
	register("obliging", func(s sessionstore.SessionStore) sessionstore.SessionStore { return obliging{s} })
	register("forgetful", func(s sessionstore.SessionStore) sessionstore.SessionStore { return s })
	register("unclosable", func(s sessionstore.SessionStore) sessionstore.SessionStore { return unclosable{s} })
}

// obliging never pauses a session.
type obliging struct{ sessionstore.SessionStore }

func (s obliging) UpdateSession(ctx context.Context, id string, u sessionstore.SessionUpdate) (sessionstore.Session, error) {
	u.Status, u.Touch = nil, true
	return s.SessionStore.UpdateSession(ctx, id, u)
}

// miscounting finds a message more in each session than there is.
type miscounting struct{ sessionstore.SessionStore }

func (s miscounting) GetSession(ctx context.Context, id string) (sessionstore.Session, error) {
	out, err := s.SessionStore.GetSession(ctx, id)
	out.MessageCount++
	return out, err
}

// unclosable cannot be closed: what was written may be lost.
type unclosable struct{ sessionstore.SessionStore }

func (s unclosable) Close() error {
	return errors.Join(s.SessionStore.Close(), errors.New("disk is gone"))
}

// The demo says so if the store does not do what it shows, and a command if the store
// could not be closed.
func TestFaultyStores(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ store, command, want string }{
		{"obliging:", "demo", "step 3: a message was taken that should have been refused"},
		{"forgetful:", "demo", "step 8: "},
		{"unclosable:", "ls", "close unclosable:: disk is gone"},
		{"unclosable:", "new", "close unclosable:: disk is gone"},
	} {
		r := call(t, "", tt.command, "--store", tt.store)
		if r.code != exitFailed || !strings.Contains(r.err, tt.want) || lineCount(r.err) != 1 {
			t.Errorf("sessionctl %s --store %s: exit status %d, standard error %q; want 1 and %q", tt.command, tt.store, r.code, r.err, tt.want)
		}
	}
}

func TestVerifyFindsAFault(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	c.url = "miscounting:"
	r := call(t, "", "verify", "--store", c.url)
	c.complains(r, exitFailed, []string{"verify: ", "problem"}, []string{"verify"})
	if !strings.Contains(r.out, `session "first": [`) || !strings.Contains(r.out, "verified 1 session, 0 messages: ") {
		t.Errorf("verify printed %q, want the session's fault and the counts", r.out)
	}
	r = call(t, "", "verify", "--json", "--store", c.url)
	var report struct {
		Sessions int
		Total    int `json:"total_problems"`
		Problems []struct {
			SessionID string `json:"session_id"`
			Rule      string
		}
	}
	err := json.Unmarshal([]byte(r.out), &report)
	if err != nil || r.code != exitFailed || report.Sessions != 1 || report.Total == 0 || len(report.Problems) == 0 || report.Problems[0].SessionID != "first" || report.Problems[0].Rule == "" {
		t.Errorf("verify --json: exit status %d, output %q, %v; want 1 and the problem", r.code, r.out, err)
	}
}
