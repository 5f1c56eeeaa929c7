package hostile_test

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/internal/inttest/backends"
	"github.com/sessionstore/sessionstore/internal/inttest/hostile"
)

// damaged are what comes of a cursor that is cut, changed bit by bit, or written another way.
func damaged(cursor string) []string {
	out := []string{
		cursor + "A", cursor + "=", cursor + "==", " " + cursor, cursor + "\n", cursor[:4] + "\r\n" + cursor[4:], strings.ToUpper(cursor), strings.ToLower(cursor),
		cursor + cursor, strings.Repeat(cursor, 1000), cursor + "\x00", "\xff" + cursor, "null", "0", "{}", "' OR 1=1 --", `{"$gt":""}`, "(1", "*", "../..",
		base64.StdEncoding.EncodeToString([]byte("?>" + cursor)),
	}
	for i := range cursor {
		out = append(out, cursor[:i], cursor[i:])
	}
	raw, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil {
		return out
	}
	for i := range raw {
		for bit := range 8 {
			b := []byte(string(raw))
			b[i] ^= 1 << bit
			out = append(out, base64.RawURLEncoding.EncodeToString(b))
		}
	}
	for _, id := range []string{"", "\x00", "\xff", "\r\n", strings.Repeat("x", 256), strings.Repeat("x", 1<<16)} {
		out = append(out, base64.RawURLEncoding.EncodeToString(append(raw[:9:9], id...)))
	}
	return out
}

// TestCursors lists with cursors that are damaged, invented, and of other stores: each is
// ErrInvalid, or a place from which a list goes on as the contract orders it.
func TestCursors(t *testing.T) {
	var foreign []string // of the stores before
	each(t, func(t *testing.T, _ backends.Backend, a, b sessionstore.SessionStore) {
		ctx := t.Context()
		for i := range 3 {
			if _, err := a.CreateSession(ctx, sessionstore.Session{ID: fmt.Sprint("cursor ", i), UserID: "owner"}); err != nil {
				t.Fatalf("CreateSession: got %v, want nil", err)
			}
		}
		first, err := b.ListSessions(ctx, sessionstore.SessionQuery{Limit: 2})
		if err != nil || first.Next == "" {
			t.Fatalf("ListSessions of 2 of 4: got %+v, %v, want a cursor", first, err)
		}
		all, err := b.ListSessions(ctx, sessionstore.SessionQuery{})
		if err != nil || len(all.Sessions) != 4 {
			t.Fatalf("ListSessions: got %d sessions, %v, want 4", len(all.Sessions), err)
		}
		try := append(damaged(first.Next), foreign...)
		for _, at := range []time.Time{{}, time.Unix(0, 0), time.Date(9999, 12, 31, 23, 59, 59, 999_999_000, time.UTC)} {
			for _, id := range []string{"x", "\U0010FFFF", strings.Repeat("'", 255), "*", "{a}", "$gt"} {
				try = append(try, sessionstore.SessionKey{UpdatedAt: at, ID: id}.Cursor())
			}
		}
		refused := 0
		for _, cursor := range try {
			for _, user := range []string{"", "owner"} {
				page, err := b.ListSessions(ctx, sessionstore.SessionQuery{Cursor: cursor, UserID: user})
				if err != nil {
					if refused++; !errors.Is(err, sessionstore.ErrInvalid) {
						t.Errorf("ListSessions from the cursor %q: got %v, want ErrInvalid", short(cursor), err)
					}
					continue
				}
				if cursor != "" && !endsWith(all.Sessions, page.Sessions) {
					t.Errorf("ListSessions from the cursor %q: got %q, want the end of %q", short(cursor), ids(page.Sessions), ids(all.Sessions))
				}
			}
		}
		foreign = append(foreign, first.Next)
		for i := range 3 {
			remove(t, a, fmt.Sprint("cursor ", i))
		}
		t.Logf("%d cursors, refused %d of %d times", len(try), refused, 2*len(try))
	})
}

func ids(sessions []sessionstore.Session) []string {
	out := []string{}
	for _, s := range sessions {
		out = append(out, s.ID)
	}
	return out
}

func endsWith(all, end []sessionstore.Session) bool {
	return len(end) <= len(all) && same(all[len(all)-len(end):], end)
}

// bomb is metadata whose marshalling panics.
type bomb struct{}

func (bomb) MarshalJSON() ([]byte, error) { panic("the caller's code") }

// TestPanics has the caller's code panic within calls: the panic is the caller's, nothing is
// stored, and the store goes on and can be closed.
func TestPanics(t *testing.T) {
	each(t, func(t *testing.T, _ backends.Backend, a, b sessionstore.SessionStore) {
		ctx, before := t.Context(), dump(t, b)
		m := sessionstore.Metadata{"v": bomb{}}
		for name, call := range map[string]func() error{
			"CreateSession": func() error { _, err := a.CreateSession(ctx, sessionstore.Session{Metadata: m}); return err },
			"UpdateSession": func() error {
				_, err := a.UpdateSession(ctx, hostile.Canary, sessionstore.SessionUpdate{SetMetadata: m})
				return err
			},
			"ForkSession": func() error {
				_, err := sessionstore.ForkSession(ctx, a, hostile.Canary, sessionstore.Fork{Metadata: m})
				return err
			},
			"AppendMessages": func() error {
				_, err := a.AppendMessages(ctx, hostile.Canary, sessionstore.Append{Messages: []sessionstore.Message{{Role: sessionstore.RoleUser, Metadata: m}}})
				return err
			},
			"RestoreSession": func() error {
				s := sessionstore.Session{ID: "r", CreatedAt: time.Unix(1, 0), UpdatedAt: time.Unix(1, 0), Version: 1, LastSeq: 1500, MessageCount: 1500}
				_, err := sessionstore.RestoreSession(ctx, a, s, func(yield func(sessionstore.Message, error) bool) {
					for i := range int64(1200) {
						if !yield(sessionstore.Message{ID: fmt.Sprint(i), Seq: i + 1, Role: sessionstore.RoleUser, CreatedAt: time.Unix(1, 0)}, nil) {
							return
						}
					}
					panic("the caller's code")
				})
				return err
			},
		} {
			func() {
				defer func() {
					if p := recover(); p == nil {
						t.Errorf("%s with code that panics: got no panic, want the caller's own", name)
					}
				}()
				err := call()
				t.Errorf("%s with code that panics: got %v, want the panic", name, err)
			}()
			if after := dump(t, b); after != before {
				t.Errorf("after a panic in %s: %s", name, difference(after, before))
			}
		}
		if _, err := a.UpdateSession(ctx, hostile.Canary, sessionstore.SessionUpdate{}); err != nil {
			t.Errorf("UpdateSession after panics: got %v, want nil", err)
		}
		closed := make(chan error, 1)
		go func() { closed <- a.Close() }()
		select {
		case err := <-closed:
			if err != nil {
				t.Errorf("Close after panics: got %v, want nil", err)
			}
		case <-time.After(time.Minute):
			t.Error("Close after panics: got no end within a minute, want it not to wait for calls that are over")
		}
	})
}
