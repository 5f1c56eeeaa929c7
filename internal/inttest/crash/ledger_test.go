package crash_test

import (
	"context"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/internal/inttest/crash"
	"github.com/sessionstore/sessionstore/memory"
	"github.com/sessionstore/sessionstore/storetest"
)

// TestLedger spoils a store behind the back of a ledger, which notices: else the crashes
// would prove nothing.
func TestLedger(t *testing.T) {
	t.Parallel()
	const round = 1
	shared := crash.Shared(round)
	for _, tt := range []struct {
		name  string
		spoil func(ctx context.Context, s sessionstore.SessionStore) error
		want  string // in the error; "": none
	}{
		{"nothing", func(context.Context, sessionstore.SessionStore) error { return nil }, ""},
		{"a message is lost", func(ctx context.Context, s sessionstore.SessionStore) error {
			got, err := s.GetSession(ctx, shared)
			if err == nil {
				_, err = s.TruncateMessages(ctx, shared, sessionstore.Truncate{ThroughSeq: got.LastSeq - 1})
			}
			return err
		}, shared},
		{"a message is there twice", func(ctx context.Context, s sessionstore.SessionStore) error {
			page, err := s.ListMessages(ctx, shared, sessionstore.MessageQuery{Limit: 1})
			if err == nil {
				again := page.Messages[0]
				again.ID += "0"
				_, err = s.AppendMessages(ctx, shared, sessionstore.Append{Messages: []sessionstore.Message{again}})
			}
			return err
		}, shared},
		{"a session is lost", func(ctx context.Context, s sessionstore.SessionStore) error {
			id, err := owned(ctx, s)
			if err == nil {
				err = s.DeleteSession(ctx, id)
			}
			return err
		}, "got:  nothing"},
		{"a session has come back", func(ctx context.Context, s sessionstore.SessionStore) error {
			_, err := s.CreateSession(ctx, sessionstore.Session{ID: "w9-9"})
			return err
		}, "want: nothing"},
		{"an update is lost", func(ctx context.Context, s sessionstore.SessionStore) error {
			id, err := owned(ctx, s)
			if err == nil {
				_, err = s.UpdateSession(ctx, id, sessionstore.SessionUpdate{SetMetadata: sessionstore.Metadata{"by": "nobody"}})
			}
			return err
		}, "metadata map[by:nobody"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			ctx := t.Context()
			store, err := memory.New(nil)
			if err != nil {
				t.Fatalf("New: got %v, want nil", err)
			}
			ledger, err := crash.NewLedger()
			if err != nil {
				t.Fatalf("NewLedger: got %v, want nil", err)
			}
			if err := ledger.Begin(ctx, store, round); err != nil {
				t.Fatalf("Begin: got %v, want nil", err)
			}
			log, w := io.Pipe()
			go func() {
				defer w.Close()
				(&crash.Writer{Store: storetest.NewFaulty(store, dying), Log: w, Round: round, Seed: 7}).Run(ctx)
			}()
			if err := ledger.Read(ctx, log, func(crash.Record) {}); err != nil {
				t.Fatalf("Read: got %v, want nil", err)
			}
			if err := ledger.Check(ctx, store); err != nil {
				t.Fatalf("Check: got %v, want nil", err)
			}
			if err := tt.spoil(ctx, store); err != nil {
				t.Fatalf("spoiling the store: got %v, want nil", err)
			}
			err = ledger.Check(ctx, store)
			if (err != nil) != (tt.want != "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Check, with the store spoiled: got %v, want an error with %q", err, tt.want)
			}
			if ledger.Acknowledged == 0 || ledger.Open == 0 {
				t.Errorf("the log: got %+v, want calls of both kinds", ledger.Counts)
			}
		})
	}
}

// dying is a server that is killed after some calls; reads go on, so that it is a write of
// each worker that ends it.
func dying(c storetest.Call) storetest.Fault {
	switch {
	case c.N < 400 || c.Method == "GetSession":
		return storetest.Pass
	case c.N%2 == 0:
		return storetest.FailBefore
	}
	return storetest.FailAfter
}

// owned returns the id of a session that one worker writes to.
func owned(ctx context.Context, s sessionstore.SessionStore) (string, error) {
	page, err := s.ListSessions(ctx, sessionstore.SessionQuery{})
	if err != nil {
		return "", err
	}
	i := slices.IndexFunc(page.Sessions, func(s sessionstore.Session) bool { return strings.HasPrefix(s.ID, "w") })
	return page.Sessions[i].ID, nil
}
