package postgres_test

import (
	"errors"
	"fmt"
	"iter"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/postgres"
)

func say(ids ...string) sessionstore.Append {
	var a sessionstore.Append
	for _, id := range ids {
		m := sessionstore.UserMessage("text of " + id)
		m.ID = id
		a.Messages = append(a.Messages, m)
	}
	return a
}

// must returns v, or ends the test.
func must[T any](t *testing.T) func(v T, err error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatalf("got the error %v, want none", err)
		}
		return v
	}
}

// count runs a query for a number. @ stands for the schema.
func (d *database) count(t *testing.T, sql string, args ...any) (n int) {
	t.Helper()
	sql = strings.ReplaceAll(sql, "@", pgx.Identifier{d.schema}.Sanitize()+".")
	if err := d.pool(t).QueryRow(t.Context(), sql, args...).Scan(&n); err != nil {
		t.Fatalf("%s: got %v, want nil", sql, err)
	}
	return n
}

// rows returns how many rows of all tables contain the text.
func (d *database) rows(t *testing.T, text string) (n int) {
	t.Helper()
	for _, table := range []string{"sessions", "messages", "restores"} {
		n += d.count(t, "SELECT count(*) FROM @"+table+" AS t WHERE position($1 IN t::text) > 0", text)
	}
	return n
}

// TestNothingIsLeft is field report S24: a deleted session that leaves rows behind.
func TestNothingIsLeft(t *testing.T) {
	t.Parallel()
	d := newDatabase(t, nil)
	now := time.Date(2040, 1, 1, 0, 0, 0, 0, time.UTC)
	s := d.store(t, &postgres.Options{Now: func() time.Time { return now }})
	ctx := t.Context()
	for _, id := range []string{"deleted-x", "expired-x", "replaced-x"} {
		ttl := time.Hour
		must[sessionstore.Session](t)(s.CreateSession(ctx, sessionstore.Session{ID: id, UserID: "ann", TTL: ttl}))
		must[[]sessionstore.Message](t)(s.AppendMessages(ctx, id, say(id+"-1", id+"-2")))
	}
	must[sessionstore.Session](t)(s.ForkSession(ctx, "deleted-x", sessionstore.Fork{ID: "fork-x"}))
	if got, want := d.rows(t, "-x"), 4+4*2; got != want {
		t.Fatalf("rows before: got %d, want %d", got, want)
	}
	for _, id := range []string{"deleted-x", "fork-x"} {
		if err := s.DeleteSession(ctx, id); err != nil {
			t.Fatalf("DeleteSession(%q): got %v, want nil", id, err)
		}
	}
	if got, want := d.rows(t, "-x"), 2*3; got != want {
		t.Errorf("rows after two deletes: got %d, want %d of the other sessions", got, want)
	}
	now = now.Add(2 * time.Hour)
	must[sessionstore.Session](t)(s.CreateSession(ctx, sessionstore.Session{ID: "replaced-x"}))
	if got, want := d.rows(t, "replaced-x"), 1; got != want {
		t.Errorf("rows of a session that took an expired one's id: got %d, want %d", got, want)
	}
	if n, err := s.PurgeExpired(ctx, 0); n != 1 || err != nil {
		t.Errorf("PurgeExpired: got %d, %v, want 1, nil", n, err)
	}
	if got := d.count(t, "SELECT count(*) FROM @messages"); got != 0 {
		t.Errorf("messages at the end: got %d, want 0", got)
	}
	if got := d.count(t, "SELECT count(*) FROM @sessions WHERE held"); got != 0 {
		t.Errorf("sessions that are held outside of a transaction: got %d, want 0", got)
	}
}

// TestRoundTrips counts what the package's documentation promises.
func TestRoundTrips(t *testing.T) {
	t.Parallel()
	w := &wire{}
	d := newDatabase(t, func(c *pgxpool.Config) { c.MaxConns = 1; w.tune(c) })
	s := d.store(t, nil)
	ctx := t.Context()
	n := 0
	session := func() string {
		n++
		id := fmt.Sprint("s", n)
		must[sessionstore.Session](t)(s.CreateSession(ctx, sessionstore.Session{ID: id, UserID: "ann"}))
		must[[]sessionstore.Message](t)(s.AppendMessages(ctx, id, say("1", "2", "3")))
		return id
	}
	system, closed := "other", sessionstore.StatusClosed
	tests := []struct {
		call string
		want int64
		run  func(id string) error
		fail error
	}{
		{"CreateSession", 1, func(id string) error {
			_, err := s.CreateSession(ctx, sessionstore.Session{ID: id + " new"})
			return err
		}, nil},
		{"CreateSession of an id in use", 2, func(id string) error {
			_, err := s.CreateSession(ctx, sessionstore.Session{ID: id})
			return err
		}, sessionstore.ErrSessionExists},
		{"GetSession", 1, func(id string) error { _, err := s.GetSession(ctx, id); return err }, nil},
		{"UpdateSession", 2, func(id string) error {
			_, err := s.UpdateSession(ctx, id, sessionstore.SessionUpdate{System: &system})
			return err
		}, nil},
		{"UpdateSession that changes nothing", 1, func(id string) error {
			_, err := s.UpdateSession(ctx, id, sessionstore.SessionUpdate{DeleteMetadata: []string{"none"}})
			return err
		}, nil},
		{"AppendMessages of 1", 1, func(id string) error { _, err := s.AppendMessages(ctx, id, say("4")); return err }, nil},
		{"AppendMessages of 2", 1, func(id string) error { _, err := s.AppendMessages(ctx, id, say("4", "5")); return err }, nil},
		{"AppendMessages of 0", 1, func(id string) error { _, err := s.AppendMessages(ctx, id, say()); return err }, nil},
		{"AppendMessages again", 3, func(id string) error {
			if _, err := s.AppendMessages(ctx, id, say("4")); err != nil {
				return err
			}
			w.trips.Store(0)
			_, err := s.AppendMessages(ctx, id, say("3"))
			return err
		}, nil},
		{"ListMessages", 1, func(id string) error {
			_, err := s.ListMessages(ctx, id, sessionstore.MessageQuery{Newest: true, Limit: 2})
			return err
		}, nil},
		{"TruncateMessages", 1, func(id string) error {
			_, err := s.TruncateMessages(ctx, id, sessionstore.Truncate{ThroughSeq: 1})
			return err
		}, nil},
		{"ListSessions", 1, func(string) error {
			_, err := s.ListSessions(ctx, sessionstore.SessionQuery{UserID: "ann", Limit: 2})
			return err
		}, nil},
		{"ForkSession", 2, func(id string) error {
			_, err := s.ForkSession(ctx, id, sessionstore.Fork{ID: id + " fork"})
			return err
		}, nil},
		{"RestoreSession", 1, func(id string) error {
			_, err := s.RestoreSession(ctx, sessionstore.Session{ID: id + " restored", Version: 1, CreatedAt: time.Now(), UpdatedAt: time.Now()},
				func(func(sessionstore.Message, error) bool) {})
			return err
		}, nil},
		{"DeleteSession", 1, func(id string) error { return s.DeleteSession(ctx, id) }, nil},
		{"DeleteSession of none", 2, func(string) error { return s.DeleteSession(ctx, "none") }, sessionstore.ErrSessionNotFound},
		{"AppendMessages to a closed session", 2, func(id string) error {
			if _, err := s.UpdateSession(ctx, id, sessionstore.SessionUpdate{Status: &closed}); err != nil {
				return err
			}
			w.trips.Store(0)
			_, err := s.AppendMessages(ctx, id, say("4"))
			return err
		}, sessionstore.ErrSessionClosed},
	}
	for _, tt := range tests {
		// The first time the statements are prepared.
		for round := range 2 {
			id := session()
			w.trips.Store(0)
			err := tt.run(id)
			got := w.trips.Load()
			if !errors.Is(err, tt.fail) {
				t.Errorf("%s: got %v, want %v", tt.call, err, tt.fail)
			}
			if round == 1 && got != tt.want {
				t.Errorf("%s: got %d round trips, want %d", tt.call, got, tt.want)
			}
		}
	}
}

// TestSwallowedReply is field report S16: the server has done its work, and the answer
// is lost. Repeating the append finds what is there.
func TestSwallowedReply(t *testing.T) {
	t.Parallel()
	w := &wire{}
	d := newDatabase(t, w.tune)
	s := d.store(t, nil)
	ctx := t.Context()
	must[sessionstore.Session](t)(s.CreateSession(ctx, sessionstore.Session{ID: "s"}))
	must[[]sessionstore.Message](t)(s.AppendMessages(ctx, "s", say("0"))) // the statement is prepared
	for _, a := range []sessionstore.Append{say("1"), say("2", "3")} {
		must[[]sessionstore.Message](t)(s.AppendMessages(ctx, "s", say("warm"+a.Messages[0].ID, "also"+a.Messages[0].ID)))
		w.swallow.Store(true)
		if got, err := s.AppendMessages(ctx, "s", a); err == nil {
			t.Fatalf("AppendMessages whose answer is lost: got %d messages, want an error", len(got))
		}
		got := must[[]sessionstore.Message](t)(s.AppendMessages(ctx, "s", a))
		if len(got) != len(a.Messages) || got[0].ID != a.Messages[0].ID {
			t.Errorf("AppendMessages again: got %v, want the batch", got)
		}
	}
	page := must[sessionstore.MessagePage](t)(s.ListMessages(ctx, "s", sessionstore.MessageQuery{}))
	if got, want := len(page.Messages), 1+2+1+2+2; got != want || page.Session.LastSeq != int64(want) {
		t.Errorf("messages: got %d, LastSeq %d, want %d: each once", got, page.Session.LastSeq, want)
	}
}

// TestLargeRestore stages, with an iterator that reads from the same store, over the one
// connection that there is: field report S39.
func TestLargeRestore(t *testing.T) {
	t.Parallel()
	d := newDatabase(t, func(c *pgxpool.Config) { c.MaxConns = 1 })
	s := d.store(t, nil)
	ctx := t.Context()
	must[sessionstore.Session](t)(s.CreateSession(ctx, sessionstore.Session{ID: "source"}))
	big := strings.Repeat("x", 1<<20)
	for i := range 11 {
		a := say(fmt.Sprint("a", i), fmt.Sprint("b", i))
		a.Messages[0].Content = sessionstore.Text(big)
		must[[]sessionstore.Message](t)(s.AppendMessages(ctx, "source", a))
	}
	from := must[sessionstore.MessagePage](t)(s.ListMessages(ctx, "source", sessionstore.MessageQuery{}))
	history := func(stop int, twist func(*sessionstore.Message)) iter.Seq2[sessionstore.Message, error] {
		return func(yield func(sessionstore.Message, error) bool) {
			for i := range from.Messages {
				page, err := s.ListMessages(ctx, "source", sessionstore.MessageQuery{AfterSeq: int64(i), Limit: 1})
				if i == stop {
					err = errors.New("stopped")
				}
				if err != nil {
					yield(sessionstore.Message{}, err)
					return
				}
				m := page.Messages[0]
				m.SessionID = ""
				if twist != nil {
					twist(&m)
				}
				if !yield(m, nil) {
					return
				}
			}
		}
	}
	as := func(id string) sessionstore.Session { c := from.Session; c.ID = id; return c }

	must[sessionstore.Session](t)(s.RestoreSession(ctx, as("copy"), history(-1, nil)))
	got := must[sessionstore.MessagePage](t)(s.ListMessages(ctx, "copy", sessionstore.MessageQuery{}))
	for i := range got.Messages {
		got.Messages[i].SessionID = "source"
	}
	if !reflect.DeepEqual(got.Messages, from.Messages) || !reflect.DeepEqual(got.Session, as("copy")) {
		t.Errorf("the restored session differs from its source")
	}
	repeat := func(m *sessionstore.Message) {
		if m.Seq == 21 {
			m.ID = "b0"
		}
	}
	for _, tt := range []struct {
		name     string
		id       string
		messages iter.Seq2[sessionstore.Message, error]
		want     error
	}{
		{"onto an id in use", "copy", history(-1, nil), sessionstore.ErrSessionExists},
		{"with an id twice", "twice", history(-1, repeat), sessionstore.ErrInvalid},
		{"that stops", "stopped", history(20, nil), nil},
	} {
		_, err := s.RestoreSession(ctx, as(tt.id), tt.messages)
		if err == nil || tt.want != nil && !errors.Is(err, tt.want) {
			t.Errorf("RestoreSession %s: got %v, want %v", tt.name, err, tt.want)
		}
	}
	if got, want := d.count(t, "SELECT count(*) FROM @messages"), 2*22; got != want {
		t.Errorf("messages: got %d, want %d: failed restores leave none", got, want)
	}
	if got := d.count(t, "SELECT count(*) FROM @restores"); got != 0 {
		t.Errorf("restores under way: got %d, want 0", got)
	}

	// What a crash leaves goes with a purge, but not while it may be in use.
	sid := d.count(t, "WITH r AS (INSERT INTO @restores DEFAULT VALUES RETURNING sid), "+
		"m AS (INSERT INTO @messages SELECT sid, 1, now(), 'left', 'user', '{}' FROM r) SELECT sid FROM r")
	for _, tt := range []struct {
		age  string
		want int
	}{{"59 minutes", 1}, {"61 minutes", 0}} {
		d.count(t, "WITH u AS (UPDATE @restores SET touched_at = now() - $1::text::interval RETURNING 1) SELECT count(*) FROM u", tt.age)
		if n, err := s.PurgeExpired(ctx, 0); n != 0 || err != nil {
			t.Errorf("PurgeExpired: got %d, %v, want 0, nil", n, err)
		}
		if got := d.count(t, "SELECT count(*) FROM @messages WHERE sid = $1", sid); got != tt.want {
			t.Errorf("messages of a restore that wrote %s ago, after a purge: got %d, want %d", tt.age, got, tt.want)
		}
	}
}
