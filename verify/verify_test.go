package verify_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/memory"
	"github.com/sessionstore/sessionstore/verify"
)

var now = time.Date(2040, 1, 2, 3, 4, 5, 0, time.UTC)

// filled returns a store with sessions of many kinds.
func filled(t *testing.T) sessionstore.SessionStore {
	t.Helper()
	ctx := t.Context()
	var mu sync.Mutex
	clock := now
	store, err := memory.New(&memory.Options{Now: func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		clock = clock.Add(time.Millisecond)
		return clock
	}})
	if err != nil {
		t.Fatalf("memory.New: got %v, want nil", err)
	}
	t.Cleanup(func() { _ = store.Close() })
	for i := range 30 {
		id := fmt.Sprintf("s%02d", i)
		if i == 7 {
			id = strings.Repeat("x", sessionstore.MaxIDBytes)
		}
		s := sessionstore.Session{
			ID: id, UserID: fmt.Sprint("u", i%3), AgentName: "agent", Metadata: sessionstore.Metadata{"n": i},
			Extra: map[string]json.RawMessage{"x": json.RawMessage(`1.0`)},
		}
		if i%2 == 0 {
			s.TTL = time.Hour
		}
		if i%5 == 0 {
			s.ParentID, s.ForkSeq = "gone", 3
		}
		must(t)(store.CreateSession(ctx, s))
		for j := range i {
			must(t)(store.AppendMessages(ctx, id, sessionstore.Append{Messages: []sessionstore.Message{
				sessionstore.UserMessage(fmt.Sprint(j)), sessionstore.AssistantMessage("", sessionstore.ToolCall{ID: "c", Name: "f"}),
			}}))
		}
		if i%4 == 1 {
			must(t)(store.TruncateMessages(ctx, id, sessionstore.Truncate{ThroughSeq: int64(i)}))
			must(t)(store.AppendMessages(ctx, id, sessionstore.Append{Messages: []sessionstore.Message{sessionstore.UserMessage("after a gap")}}))
		}
	}
	must(t)(sessionstore.ForkSession(ctx, store, "s29", sessionstore.Fork{ID: "child"}))
	return store
}

// must returns a function that ends the test for an error.
func must(t *testing.T) func(_ any, err error) {
	return func(_ any, err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("got %v, want nil", err)
		}
	}
}

func TestSoundStore(t *testing.T) {
	t.Parallel()
	store := filled(t)
	for _, o := range []*verify.Options{nil, {}, {PageSize: 1}, {PageSize: 7}, {PageSize: 1000}} {
		r, err := verify.Store(t.Context(), store, o)
		if err != nil || r.Err() != nil || r.Sessions != 31 || r.Messages < 400 || r.Unsettled != 0 {
			t.Errorf("Store with %+v: got %+v, %v, want 31 sessions, more than 400 messages and no problem", o, r, err)
		}
	}
	r, err := verify.Store(t.Context(), store, &verify.Options{UserID: "u1"})
	if err != nil || r.Err() != nil || r.Sessions != 10 {
		t.Errorf("Store of one user: got %+v, %v, want 10 sessions and no problem", r, err)
	}
}

// broken passes on what a sound store says, changed.
type broken struct {
	sessionstore.SessionStore
	get      func(sessionstore.Session) (sessionstore.Session, error)
	list     func(sessionstore.SessionQuery, sessionstore.SessionPage) sessionstore.SessionPage
	messages func(string, sessionstore.MessageQuery, sessionstore.MessagePage) (sessionstore.MessagePage, error)
}

func (b broken) GetSession(ctx context.Context, id string) (sessionstore.Session, error) {
	s, err := b.SessionStore.GetSession(ctx, id)
	if err == nil && b.get != nil {
		return b.get(s)
	}
	return s, err
}

func (b broken) ListSessions(ctx context.Context, q sessionstore.SessionQuery) (sessionstore.SessionPage, error) {
	p, err := b.SessionStore.ListSessions(ctx, q)
	if err == nil && b.list != nil {
		p = b.list(q, p)
	}
	return p, err
}

func (b broken) ListMessages(ctx context.Context, id string, q sessionstore.MessageQuery) (sessionstore.MessagePage, error) {
	p, err := b.SessionStore.ListMessages(ctx, id, q)
	if err == nil && b.messages != nil {
		return b.messages(id, q, p)
	}
	return p, err
}

// everywhere changes what Get, List and ListMessages say of sessions, alike.
func everywhere(change func(s sessionstore.Session) sessionstore.Session) broken {
	return broken{
		get: func(s sessionstore.Session) (sessionstore.Session, error) { return change(s), nil },
		list: func(_ sessionstore.SessionQuery, p sessionstore.SessionPage) sessionstore.SessionPage {
			for i := range p.Sessions {
				p.Sessions[i] = change(p.Sessions[i])
			}
			return p
		},
		messages: func(_ string, _ sessionstore.MessageQuery, p sessionstore.MessagePage) (sessionstore.MessagePage, error) {
			p.Session = change(p.Session)
			return p, nil
		},
	}
}

// inMessages changes the messages of one session.
func inMessages(change func(m *sessionstore.Message)) broken {
	return broken{messages: func(id string, _ sessionstore.MessageQuery, p sessionstore.MessagePage) (sessionstore.MessagePage, error) {
		if id == "s20" {
			for i := range p.Messages {
				change(&p.Messages[i])
			}
		}
		return p, nil
	}}
}

// one changes only the session s20.
func one(change func(s *sessionstore.Session)) broken {
	return everywhere(func(s sessionstore.Session) sessionstore.Session {
		if s.ID == "s20" {
			change(&s)
		}
		return s
	})
}

func TestBrokenStore(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, rule, detail string
		b                  broken
	}{
		{"version 0", "update.version", "version is 0", one(func(s *sessionstore.Session) { s.Version = 0 })},
		{"count above last_seq", "append.atomic", "message_count is", one(func(s *sessionstore.Session) { s.MessageCount = s.LastSeq + 1 })},
		{"a message beyond the end", "append.atomic", "whose last_seq is", one(func(s *sessionstore.Session) { s.MessageCount--; s.LastSeq-- })},
		{"a message too many", "append.atomic", "and there are", one(func(s *sessionstore.Session) { s.MessageCount-- })},
		{"expiry of another time", "expire", "expires_at is", one(func(s *sessionstore.Session) { s.ExpiresAt = s.ExpiresAt.Add(time.Second) })},
		{"nil metadata", "same", "normal form", one(func(s *sessionstore.Session) { s.Metadata = nil })},
		{"nanoseconds", "same", "normal form", one(func(s *sessionstore.Session) { s.CreatedAt = s.CreatedAt.Add(1) })},
		{"another zone", "same", "normal form", one(func(s *sessionstore.Session) { s.CreatedAt = s.CreatedAt.In(time.FixedZone("", 60)) })},
		{"unknown status", "create", "status", one(func(s *sessionstore.Session) { s.Status = "archived" })},
		{"fork_seq without parent", "fork", "fork_seq", one(func(s *sessionstore.Session) { s.ParentID = "" })},
		{"negative ttl", "expire", "ttl_seconds", one(func(s *sessionstore.Session) { s.TTL = -1 })},
		{"control character", "id.any", "user_id", one(func(s *sessionstore.Session) { s.UserID = "a\n" })},
		{"too much state", "limits", "too large", one(func(s *sessionstore.Session) { s.System = strings.Repeat("x", sessionstore.MaxStateBytes+1) })},
		{"an unreadable session", "same", "cannot be read", broken{get: func(s sessionstore.Session) (sessionstore.Session, error) {
			if s.ID == "s20" {
				return sessionstore.Session{}, &sessionstore.InvalidError{Field: "session", Reason: "bad record"}
			}
			return s, nil
		}}},
		{"a newer record", "same", "cannot be read", broken{get: func(s sessionstore.Session) (sessionstore.Session, error) {
			if s.ID == "s20" {
				return sessionstore.Session{}, sessionstore.ErrSchemaTooNew
			}
			return s, nil
		}}},
		{"a ghost in the list", "list.order", "Get says", broken{get: func(s sessionstore.Session) (sessionstore.Session, error) {
			if s.ID == "s20" {
				return sessionstore.Session{}, sessionstore.ErrSessionNotFound
			}
			return s, nil
		}}},
		{"a stale list", "list.order", "the list shows", broken{list: func(_ sessionstore.SessionQuery, p sessionstore.SessionPage) sessionstore.SessionPage {
			for i := range p.Sessions {
				if p.Sessions[i].ID == "s20" {
					p.Sessions[i].MessageCount = 1
				}
			}
			return p
		}}},
		{"a list out of order", "list.order", "is listed after", broken{list: func(_ sessionstore.SessionQuery, p sessionstore.SessionPage) sessionstore.SessionPage {
			slices.Reverse(p.Sessions)
			return p
		}}},
		{"not in the list of its parent", "list.order", "not at its place", broken{list: func(q sessionstore.SessionQuery, p sessionstore.SessionPage) sessionstore.SessionPage {
			if q.ParentID != "" {
				p.Sessions = slices.DeleteFunc(p.Sessions, func(s sessionstore.Session) bool { return s.ID == "s20" })
			}
			return p
		}}},
		{"not in the list of its user", "list.order", "not at its place", broken{list: func(q sessionstore.SessionQuery, p sessionstore.SessionPage) sessionstore.SessionPage {
			if q.UserID != "" {
				p.Sessions, p.Next = []sessionstore.Session{}, ""
			}
			return p
		}}},
		{"a nil page", "same", "nil", broken{list: func(q sessionstore.SessionQuery, p sessionstore.SessionPage) sessionstore.SessionPage {
			if len(p.Sessions) == 0 || q.Cursor == "" {
				p.Sessions = nil
			}
			return p
		}}},
		{"a cursor that leads to itself", "list.page", "leads to itself", broken{list: func(q sessionstore.SessionQuery, p sessionstore.SessionPage) sessionstore.SessionPage {
			if q.Cursor != "" {
				p.Next = q.Cursor
			}
			return p
		}}},
		{"a page beyond its limit", "list.page", "for the limit", broken{list: func(_ sessionstore.SessionQuery, p sessionstore.SessionPage) sessionstore.SessionPage {
			if n := len(p.Sessions); n > 3 {
				for range 10 {
					p.Sessions = append(p.Sessions, p.Sessions[n-1])
				}
			}
			return p
		}}},
		{"messages out of order", "messages", "belongs", broken{messages: func(_ string, q sessionstore.MessageQuery, p sessionstore.MessagePage) (sessionstore.MessagePage, error) {
			slices.Reverse(p.Messages)
			return p, nil
		}}},
		{"the newest page is another", "messages", "newest page", broken{messages: func(_ string, q sessionstore.MessageQuery, p sessionstore.MessagePage) (sessionstore.MessagePage, error) {
			if q.Newest && len(p.Messages) > 1 {
				p.Messages = p.Messages[1:]
			}
			return p, nil
		}}},
		{"the newest page has more, always", "messages", "HasMore", broken{messages: func(_ string, q sessionstore.MessageQuery, p sessionstore.MessagePage) (sessionstore.MessagePage, error) {
			p.HasMore = p.HasMore || q.Newest
			return p, nil
		}}},
		{"an empty page with more", "messages", "is empty and has more", broken{messages: func(_ string, q sessionstore.MessageQuery, p sessionstore.MessagePage) (sessionstore.MessagePage, error) {
			p.Messages, p.HasMore = p.Messages[:0], true
			return p, nil
		}}},
		{"unreadable messages", "same", "cannot be read", broken{messages: func(_ string, q sessionstore.MessageQuery, p sessionstore.MessagePage) (sessionstore.MessagePage, error) {
			return p, &sessionstore.InvalidError{Field: "content", Reason: "bad record"}
		}}},
		{"ids twice", "append.idempotent", "the same id", inMessages(func(m *sessionstore.Message) { m.ID = "same" })},
		{"another session's message", "same", "has the session_id", inMessages(func(m *sessionstore.Message) { m.SessionID = "other" })},
		{"seq beyond last_seq", "append.atomic", "whose last_seq is", inMessages(func(m *sessionstore.Message) { m.Seq += 1000 })},
		{"no time", "append.order", "lacks", inMessages(func(m *sessionstore.Message) { m.CreatedAt = time.Time{} })},
		{"empty calls", "same", "normal form", inMessages(func(m *sessionstore.Message) { m.ToolCalls = []sessionstore.ToolCall{} })},
		{"an unknown role", "same", "role", inMessages(func(m *sessionstore.Message) { m.Role = "function" })},
		{"a message too large", "limits", "too large", inMessages(func(m *sessionstore.Message) {
			m.Content = sessionstore.Text(strings.Repeat("x", sessionstore.MaxAppendBytes))
		})},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.b.SessionStore = filled(t)
			r, err := verify.Store(t.Context(), tt.b, &verify.Options{PageSize: 9})
			if err != nil {
				t.Fatalf("Store: got the error %v, want a report", err)
			}
			if !slices.ContainsFunc(r.Problems, func(p verify.Problem) bool {
				return p.Rule == tt.rule && strings.Contains(p.Detail, tt.detail)
			}) {
				t.Errorf("Store: got %v, want a problem of rule %s that says %q", r.Err(), tt.rule, tt.detail)
			}
		})
	}
}

// flicker is right with every second look: as if a write fell into the first.
func TestPassingFaultIsNoProblem(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	n := 0
	b := broken{SessionStore: filled(t), get: func(s sessionstore.Session) (sessionstore.Session, error) {
		mu.Lock()
		defer mu.Unlock()
		if n++; n%2 == 1 {
			s.Version = 0
		}
		return s, nil
	}}
	r, err := verify.Store(t.Context(), b, nil)
	if err != nil || r.Err() != nil {
		t.Errorf("Store: got %v, %v, want no problem", r.Err(), err)
	}
}

func TestReportIsBounded(t *testing.T) {
	t.Parallel()
	b := everywhere(func(s sessionstore.Session) sessionstore.Session { s.Version = 0; return s })
	b.SessionStore = filled(t)
	r, err := verify.Store(t.Context(), b, &verify.Options{MaxProblems: 3})
	if err != nil || len(r.Problems) != 3 || r.Total != 31 {
		t.Errorf("Store: got %d problems of %d, %v, want 3 of 31, nil", len(r.Problems), r.Total, err)
	}
	if got := fmt.Sprint(r.Err()); !strings.Contains(got, "31 problems") || !strings.Contains(got, "and 28 more") {
		t.Errorf("Err: got %q, want it to say 31 problems, and 28 more", got)
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	store := filled(t)
	for _, o := range []verify.Options{{PageSize: -1}, {PageSize: 1001}, {MaxProblems: -1}} {
		if _, err := verify.Store(t.Context(), store, &o); !errors.Is(err, sessionstore.ErrInvalid) {
			t.Errorf("Store with %+v: got %v, want ErrInvalid", o, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := verify.Store(ctx, store, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("Store with a done context: got %v, want %v", err, context.Canceled)
	}
	down := errors.New("the network is down")
	b := broken{SessionStore: store, get: func(s sessionstore.Session) (sessionstore.Session, error) { return s, down }}
	if _, err := verify.Store(t.Context(), b, nil); !errors.Is(err, down) {
		t.Errorf("Store of a broken connection: got %v, want %v", err, down)
	}
}

// TestUnderWrites checks a sound store while others write: whatever moves must not be
// taken for a fault.
func TestUnderWrites(t *testing.T) {
	t.Parallel()
	store := filled(t)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			id := fmt.Sprintf("s%02d", 20+w)
			for i := 0; ctx.Err() == nil; i++ {
				// Errors are those of the end, or of a session that another writer deleted.
				_, _ = store.AppendMessages(ctx, id, sessionstore.Append{Messages: []sessionstore.Message{sessionstore.UserMessage("x"), sessionstore.UserMessage("y")}})
				switch i % 7 {
				case 3:
					_, _ = store.TruncateMessages(ctx, id, sessionstore.Truncate{ThroughSeq: int64(i)})
				case 5:
					_ = store.DeleteSession(ctx, id)
					_, _ = store.CreateSession(ctx, sessionstore.Session{ID: id, UserID: fmt.Sprint("u", i%3), ParentID: "p"})
				case 6:
					_, _ = store.UpdateSession(ctx, id, sessionstore.SessionUpdate{SetMetadata: sessionstore.Metadata{"i": i}})
				}
			}
		})
	}
	for range 3 {
		r, err := verify.Store(t.Context(), store, &verify.Options{PageSize: 5})
		if err != nil || r.Err() != nil {
			t.Errorf("Store under writes: got %v, %v, want no problem", r.Err(), err)
		}
	}
	stop()
	wg.Wait()
}
