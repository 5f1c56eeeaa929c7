package sessionstore_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/memory"
)

// plain hides the optional powers of the store in it.
type plain struct{ sessionstore.SessionStore }

// restorer has the one power to restore.
type restorer struct {
	sessionstore.SessionStore
	sessionstore.Restorer
}

// without has every power, all of which say that they are absent.
type without struct{ sessionstore.SessionStore }

func (without) ForkSession(context.Context, string, sessionstore.Fork) (sessionstore.Session, error) {
	return sessionstore.Session{}, fmt.Errorf("without: %w", errors.ErrUnsupported)
}

func (without) RestoreSession(context.Context, sessionstore.Session, iter.Seq2[sessionstore.Message, error]) (sessionstore.Session, error) {
	return sessionstore.Session{}, fmt.Errorf("without: %w", errors.ErrUnsupported)
}

func (without) PurgeExpired(context.Context, int) (int, error) {
	return 0, fmt.Errorf("without: %w", errors.ErrUnsupported)
}

func newMemory(t *testing.T) *memory.Store {
	t.Helper()
	s, err := memory.New(nil)
	wantErr(t, "memory.New", err, nil)
	t.Cleanup(func() { s.Close() })
	return s
}

// history reads everything that the session holds.
func history(t *testing.T, s sessionstore.SessionStore, id string) sessionstore.MessagePage {
	t.Helper()
	page, err := s.ListMessages(t.Context(), id, sessionstore.MessageQuery{})
	wantErr(t, "ListMessages", err, nil)
	return page
}

func fill(t *testing.T, s sessionstore.SessionStore, sess sessionstore.Session, n int) sessionstore.Session {
	t.Helper()
	created, err := s.CreateSession(t.Context(), sess)
	wantErr(t, "CreateSession", err, nil)
	for i := 0; i < n; i += sessionstore.MaxAppendMessages {
		var batch []sessionstore.Message
		for j := i; j < n && j < i+sessionstore.MaxAppendMessages; j++ {
			batch = append(batch, sessionstore.UserMessage(fmt.Sprint(j+1)))
		}
		_, err := s.AppendMessages(t.Context(), created.ID, sessionstore.Append{Messages: batch})
		wantErr(t, "AppendMessages", err, nil)
	}
	return history(t, s, created.ID).Session
}

func TestForkFallback(t *testing.T) {
	t.Parallel()
	mem := newMemory(t)
	for name, s := range map[string]sessionstore.SessionStore{
		"append": plain{mem}, "restore": restorer{mem, mem}, "unsupported": without{mem}, "native": mem,
	} {
		src := fill(t, s, sessionstore.Session{ID: "src-" + name, UserID: "u", AgentName: "a", System: "sys", TTL: time.Hour,
			Metadata: sessionstore.Metadata{"k": 1}}, 7)
		closed := sessionstore.StatusClosed
		src, err := s.UpdateSession(t.Context(), src.ID, sessionstore.SessionUpdate{Status: &closed})
		wantErr(t, "close", err, nil)
		for _, at := range []*int64{nil, ptr(int64(0)), ptr(int64(3)), ptr(int64(7))} {
			child, err := sessionstore.ForkSession(t.Context(), s, src.ID, sessionstore.Fork{AtSeq: at, Metadata: sessionstore.Metadata{"f": true}})
			wantErr(t, name+": fork", err, nil)
			n := int64(7)
			if at != nil {
				n = *at
			}
			got := history(t, s, child.ID)
			if !reflect.DeepEqual(got.Session, child) {
				t.Errorf("%s: fork returned\n %+v, later Get\n %+v", name, child, got.Session)
			}
			if child.ParentID != src.ID || child.ForkSeq != n || child.LastSeq != n || child.MessageCount != n || child.Version != 1 ||
				child.Status != sessionstore.StatusActive || child.UserID != "u" || child.AgentName != "a" || child.System != "sys" || child.TTL != time.Hour ||
				!reflect.DeepEqual(child.Metadata, sessionstore.Metadata{"k": int64(1), "f": true}) {
				t.Errorf("%s: fork at %d: got %+v", name, n, child)
			}
			want := history(t, s, src.ID).Messages[:n]
			for i := range want {
				want[i].SessionID = child.ID
			}
			if !reflect.DeepEqual(got.Messages, want) {
				t.Errorf("%s: fork at %d holds\n %+v\nwant\n %+v", name, n, got.Messages, want)
			}
		}
		if after := history(t, s, src.ID).Session; !reflect.DeepEqual(after, src) {
			t.Errorf("%s: fork changed its source\n from %+v\n to   %+v", name, src, after)
		}
		_, err = sessionstore.ForkSession(t.Context(), s, src.ID, sessionstore.Fork{AtSeq: ptr(int64(8))})
		wantErr(t, name+": fork beyond LastSeq", err, sessionstore.ErrInvalid)
		_, err = sessionstore.ForkSession(t.Context(), s, src.ID, sessionstore.Fork{ID: src.ID})
		wantErr(t, name+": fork onto its source", err, sessionstore.ErrSessionExists)
		_, err = sessionstore.ForkSession(t.Context(), s, "none", sessionstore.Fork{})
		wantErr(t, name+": fork of nothing", err, sessionstore.ErrSessionNotFound)
		_, err = sessionstore.ForkSession(t.Context(), s, src.ID, sessionstore.Fork{ID: "\n"})
		wantErr(t, name+": fork to a bad id", err, sessionstore.ErrInvalid)
	}
}

// Without Forker and Restorer, what appending cannot do right is refused and leaves nothing.
func TestForkFallbackRefuses(t *testing.T) {
	t.Parallel()
	s := plain{newMemory(t)}
	count := func() int {
		page, err := s.ListSessions(t.Context(), sessionstore.SessionQuery{})
		wantErr(t, "ListSessions", err, nil)
		return len(page.Sessions)
	}
	gap := fill(t, s, sessionstore.Session{}, 5)
	_, err := s.TruncateMessages(t.Context(), gap.ID, sessionstore.Truncate{ThroughSeq: 3})
	wantErr(t, "truncate", err, nil)
	long := fill(t, s, sessionstore.Session{}, 1001)
	before := count()
	for name, id := range map[string]string{"truncated": gap.ID, "1,001 messages": long.ID} {
		_, err := sessionstore.ForkSession(t.Context(), s, id, sessionstore.Fork{})
		if !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("%s: got %v, want ErrUnsupported", name, err)
		}
	}
	if n := count(); n != before {
		t.Errorf("%d sessions after the refusals, want %d", n, before)
	}
	for id, at := range map[string]int64{gap.ID: 3, long.ID: 1000} {
		child, err := sessionstore.ForkSession(t.Context(), s, id, sessionstore.Fork{AtSeq: &at})
		if err != nil || child.MessageCount != at {
			t.Errorf("fork at %d: got %+v, %v", at, child, err)
		}
	}
	// A source that is longer than one page, through Restorer.
	mem := newMemory(t)
	r := restorer{mem, mem}
	src := fill(t, r, sessionstore.Session{}, 2500)
	child, err := sessionstore.ForkSession(t.Context(), r, src.ID, sessionstore.Fork{AtSeq: ptr(int64(2400))})
	if err != nil || child.MessageCount != 2400 || child.LastSeq != 2400 {
		t.Errorf("fork of 2,400 messages by restore: got %+v, %v", child, err)
	}
}

// failing fails one method, to see that an unfinished copy is removed.
type failing struct {
	sessionstore.SessionStore
	appendErr, updateErr error
}

func (f failing) AppendMessages(ctx context.Context, id string, a sessionstore.Append) ([]sessionstore.Message, error) {
	if f.appendErr != nil {
		return nil, f.appendErr
	}
	return f.SessionStore.AppendMessages(ctx, id, a)
}

func (f failing) UpdateSession(ctx context.Context, id string, u sessionstore.SessionUpdate) (sessionstore.Session, error) {
	if f.updateErr != nil {
		return sessionstore.Session{}, f.updateErr
	}
	return f.SessionStore.UpdateSession(ctx, id, u)
}

func TestFallbackUndoes(t *testing.T) {
	t.Parallel()
	boom := errors.New("boom")
	mem := newMemory(t)
	src := fill(t, mem, sessionstore.Session{ID: "src"}, 3)
	f := failing{SessionStore: plain{mem}, appendErr: boom, updateErr: boom}
	_, err := sessionstore.ForkSession(t.Context(), f, src.ID, sessionstore.Fork{ID: "child"})
	wantErr(t, "fork", err, boom)
	_, err = mem.GetSession(t.Context(), "child")
	wantErr(t, "Get of the unfinished child", err, sessionstore.ErrSessionNotFound)

	r := sessionstore.Session{ID: "r", Status: sessionstore.StatusClosed, CreatedAt: t0, UpdatedAt: t0, Version: 1}
	f.appendErr = nil
	_, err = sessionstore.RestoreSession(t.Context(), f, r, messages())
	wantErr(t, "restore whose status fails", err, boom)
	_, err = sessionstore.RestoreSession(t.Context(), f, r, func(yield func(sessionstore.Message, error) bool) { yield(sessionstore.Message{}, boom) })
	wantErr(t, "restore whose messages fail", err, boom)
	r.MessageCount, r.LastSeq = 1, 1
	_, err = sessionstore.RestoreSession(t.Context(), f, r, messages())
	wantErr(t, "restore of too few messages", err, sessionstore.ErrInvalid)
	_, err = mem.GetSession(t.Context(), "r")
	wantErr(t, "Get of the unfinished restore", err, sessionstore.ErrSessionNotFound)
	_, err = sessionstore.RestoreSession(t.Context(), plain{mem}, sessionstore.Session{}, messages())
	wantErr(t, "restore without an id", err, sessionstore.ErrInvalid)
	r.ID = "src"
	_, err = sessionstore.RestoreSession(t.Context(), plain{mem}, r, messages())
	wantErr(t, "restore of an id in use", err, sessionstore.ErrSessionExists)
	if got := history(t, mem, "src"); len(got.Messages) != 3 {
		t.Errorf("the session in use holds %d messages after that, want 3", len(got.Messages))
	}
}

func messages(ms ...sessionstore.Message) iter.Seq2[sessionstore.Message, error] {
	return func(yield func(sessionstore.Message, error) bool) {
		for _, m := range ms {
			if !yield(m, nil) {
				return
			}
		}
	}
}

func TestRestoreFallback(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]sessionstore.SessionStore{"plain": plain{newMemory(t)}, "unsupported": without{newMemory(t)}} {
		in := sessionstore.Session{ID: "r", UserID: "u", Status: sessionstore.StatusPaused, Metadata: sessionstore.Metadata{"k": "v"},
			CreatedAt: t0, UpdatedAt: t0.Add(time.Minute), LastSeq: 5000, MessageCount: 2002, Version: 7}
		big := strings.Repeat("x", 5<<20)
		var ms []sessionstore.Message
		for i := range int64(2002) {
			m := sessionstore.UserMessage(fmt.Sprint(i))
			if i >= 2000 { // two that do not fit into one append
				m.Content = sessionstore.Text(big)
			}
			m.ID, m.Seq, m.CreatedAt = fmt.Sprint("m", i), 2*i+1, t0.Add(time.Duration(i)*time.Second)
			ms = append(ms, m)
		}
		got, err := sessionstore.RestoreSession(t.Context(), s, in, messages(ms...))
		wantErr(t, name+": restore", err, nil)
		if got.Status != sessionstore.StatusPaused || got.LastSeq != 2002 || got.MessageCount != 2002 || got.UserID != "u" || !got.CreatedAt.Equal(t0) {
			t.Errorf("%s: restore: got %+v", name, got)
		}
		page := history(t, s, "r")
		for i, m := range page.Messages {
			if m.ID != ms[i].ID || m.Seq != int64(i+1) || !m.CreatedAt.Equal(ms[i].CreatedAt) {
				t.Fatalf("%s: message %d: got %+v, want %+v renumbered", name, i, m, ms[i])
			}
		}
	}
}

func TestPurgeFallback(t *testing.T) {
	t.Parallel()
	mem := newMemory(t)
	for name, s := range map[string]sessionstore.SessionStore{"plain": plain{mem}, "unsupported": without{mem}} {
		if _, err := sessionstore.PurgeExpired(t.Context(), s, 0); !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("%s: got %v, want ErrUnsupported", name, err)
		}
	}
	_, err := sessionstore.PurgeExpired(t.Context(), mem, -1)
	wantErr(t, "negative limit", err, sessionstore.ErrInvalid)
	if n, err := sessionstore.PurgeExpired(t.Context(), mem, 0); n != 0 || err != nil {
		t.Errorf("purge of an empty store: got %d, %v", n, err)
	}
}
