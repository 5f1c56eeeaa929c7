package hostile_test

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"go.etcd.io/bbolt"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/bolt"
	"github.com/sessionstore/sessionstore/internal/inttest/hostile"
	"github.com/sessionstore/sessionstore/memory"
	_ "github.com/sessionstore/sessionstore/mongo"
	_ "github.com/sessionstore/sessionstore/postgres"
	_ "github.com/sessionstore/sessionstore/redis"
)

// fuzzed are the stores that need no server. Each must do alike.
func fuzzed(f *testing.F) []sessionstore.SessionStore {
	f.Helper()
	inMemory, err := memory.New(nil)
	if err != nil {
		f.Fatal(err)
	}
	db, err := bbolt.Open(filepath.Join(f.TempDir(), "bolt"), 0o600, &bbolt.Options{NoSync: true})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = db.Close() })
	inFile, err := bolt.New(db, nil)
	if err != nil {
		f.Fatal(err)
	}
	stores := []sessionstore.SessionStore{inMemory, inFile}
	for _, s := range stores {
		if _, err := s.CreateSession(context.Background(), sessionstore.Session{ID: hostile.Canary, UserID: "owner"}); err != nil {
			f.Fatal(err)
		}
	}
	return stores
}

// decoded is metadata as a caller might have got it from JSON; what is none is a string.
func decoded(text string) sessionstore.Metadata {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		v = text
	}
	return sessionstore.Metadata{text: v}
}

// FuzzSession creates sessions whose strings are anything.
func FuzzSession(f *testing.F) {
	for _, s := range hostile.Texts {
		f.Add(s, s, s, s, s, `{"`+s+`":1e400}`)
	}
	stores := fuzzed(f)
	f.Fuzz(func(t *testing.T, id, user, agent, parent, system, metadata string) {
		in := sessionstore.Session{
			ID: id, UserID: user, AgentName: agent, ParentID: parent, System: system, Metadata: decoded(metadata),
			Extra: map[string]json.RawMessage{"x" + id: json.RawMessage(metadata)},
		}
		for _, s := range stores {
			before := dump(t, s)
			made, err := s.CreateSession(t.Context(), in)
			allowed := hostile.Name(id) && hostile.Name(user) && hostile.Name(agent) && hostile.Name(parent) && hostile.Text(system) && hostile.Text(metadata)
			switch {
			case errors.Is(err, sessionstore.ErrSessionExists) && id == hostile.Canary:
			case err != nil && !hostile.Refused(err):
				t.Fatalf("CreateSession(%+v): got %v, want nil, ErrInvalid or ErrTooLarge", in, err)
			case err == nil && !allowed:
				t.Fatalf("CreateSession(%+v): got nil, want ErrInvalid", in)
			case err == nil:
				got, err := s.GetSession(t.Context(), made.ID)
				if err != nil || !same([]sessionstore.Session{got}, []sessionstore.Session{made}) || got.System != system || id != "" && got.ID != id {
					t.Fatalf("GetSession(%q): got %+v, %v, want %+v", made.ID, got, err, made)
				}
				remove(t, s, made.ID)
			case allowed && json.Valid([]byte(metadata)) && len(metadata) < 1<<10 && len(system) < 1<<10 && !odd(metadata):
				t.Fatalf("CreateSession(%+v): got %v, want nil", in, err)
			}
			if after := dump(t, s); after != before {
				t.Fatalf("after CreateSession(%+v): %s", in, difference(after, before))
			}
		}
	})
}

// odd reports what valid JSON may have that a store refuses: depth and surrogates.
func odd(text string) bool {
	return strings.Count(text, "[")+strings.Count(text, "{") >= sessionstore.MaxDepth-1 || strings.Contains(strings.ToLower(text), `\ud`)
}

// FuzzMessage appends messages whose strings are anything.
func FuzzMessage(f *testing.F) {
	for _, s := range hostile.Texts {
		f.Add(s, "user", s, s, s, s, `{"type":"text","text":"`+s+`"}`, `{"`+s+`":-0}`)
	}
	stores := fuzzed(f)
	f.Fuzz(func(t *testing.T, id, role, name, call, arguments, text, part, metadata string) {
		content := sessionstore.Text(text)
		if p, err := sessionstore.ParsePart([]byte(part)); err == nil {
			content = sessionstore.Parts(p, sessionstore.TextPart(text))
		} else if !errors.Is(err, sessionstore.ErrInvalid) {
			t.Fatalf("ParsePart(%q): got %v, want nil or ErrInvalid", part, err)
		}
		m := sessionstore.Message{
			ID: id, Role: sessionstore.Role(role), Content: content, Name: name, ToolCallID: call, Metadata: decoded(metadata),
			ToolCalls: []sessionstore.ToolCall{{ID: call, Name: name, Arguments: arguments}},
		}
		for _, s := range stores {
			before := dump(t, s)
			made, err := s.AppendMessages(t.Context(), hostile.Canary, sessionstore.Append{Messages: []sessionstore.Message{m}})
			allowed := hostile.Name(id) && m.Role.Valid() && hostile.LongName(name) && hostile.LongName(call) && hostile.Text(arguments) && hostile.Text(text) && hostile.Text(metadata)
			switch {
			case err != nil && !hostile.Refused(err):
				t.Fatalf("AppendMessages(%+v): got %v, want nil, ErrInvalid or ErrTooLarge", m, err)
			case err != nil:
				if after := dump(t, s); after != before {
					t.Fatalf("after AppendMessages(%+v), which was refused: %s", m, difference(after, before))
				}
				continue
			case !allowed:
				t.Fatalf("AppendMessages(%+v): got nil, want ErrInvalid", m)
			}
			page, err := s.ListMessages(t.Context(), hostile.Canary, sessionstore.MessageQuery{})
			if err != nil || !same(page.Messages, made) || made[0].ToolCalls[0].Arguments != arguments {
				t.Fatalf("ListMessages: got %+v, %v, want %+v", page.Messages, err, made)
			}
			m.ID = made[0].ID // the other store is asked for the same
			again, err := s.AppendMessages(t.Context(), hostile.Canary, sessionstore.Append{Messages: []sessionstore.Message{m}})
			if err != nil || !same(again, made) {
				t.Fatalf("AppendMessages(%+v) again: got %+v, %v, want %+v", m, again, err, made)
			}
			if _, err := s.TruncateMessages(t.Context(), hostile.Canary, sessionstore.Truncate{}); err != nil {
				t.Fatalf("TruncateMessages: got %v, want nil", err)
			}
		}
	})
}

// FuzzQuery lists with any cursor and any filter.
func FuzzQuery(f *testing.F) {
	for _, s := range hostile.Texts {
		f.Add(s, s, s, s, 1)
	}
	stores := fuzzed(f)
	for _, s := range stores {
		page, err := s.ListSessions(context.Background(), sessionstore.SessionQuery{})
		if err != nil || len(page.Sessions) != 1 {
			f.Fatalf("ListSessions: got %+v, %v, want one", page, err)
		}
		f.Add(page.Sessions[0].Key().Cursor(), "", "", "", 0)
	}
	f.Fuzz(func(t *testing.T, cursor, user, agent, parent string, limit int) {
		q := sessionstore.SessionQuery{UserID: user, AgentName: agent, ParentID: parent, Cursor: cursor, Limit: limit}
		for _, s := range stores {
			page, err := s.ListSessions(t.Context(), q)
			switch {
			case err != nil && !errors.Is(err, sessionstore.ErrInvalid):
				t.Fatalf("ListSessions(%+v): got %v, want nil or ErrInvalid", q, err)
			case err == nil && (!hostile.Name(user) || !hostile.Name(agent) || !hostile.Name(parent) || limit < 0 || limit > sessionstore.MaxSessions):
				t.Fatalf("ListSessions(%+v): got nil, want ErrInvalid", q)
			case len(page.Sessions) > 0 && (user != "" && user != "owner" || agent != "" || parent != ""):
				t.Fatalf("ListSessions(%+v): got %q, want none", q, ids(page.Sessions))
			}
		}
	})
}

// FuzzURL opens URLs of every scheme that have the secret in them, by a context that is
// done: nothing is connected to, and no file but one made.
func FuzzURL(f *testing.F) {
	for _, rest := range []string{"@127.0.0.1:1/db?x=y", "@[::1", "%zz@h/", "@h:port/?namespace=%00", "\x00@h", "/@h?password=", "@h/?read_timeout=", "?authSource=", "#@h", "@h,h2/?sslmode="} {
		for i := range byte(16) {
			f.Add(i, "//user:", rest, "?a=")
		}
	}
	schemes := append(sessionstore.Schemes(), "mysql", "")
	f.Fuzz(func(t *testing.T, scheme byte, before, rest, query string) {
		if strings.Contains(before+rest+query, secret) {
			t.Skip("the secret is where the fuzzer put it")
		}
		name := schemes[int(scheme)%len(schemes)]
		urls := []string{name + ":" + before + secret + rest, name + ":" + before + rest + query + secret}
		if name == "bolt" || name == "memory" {
			urls = nil // a path may be shown, and would be made
			if name == "memory" {
				urls = []string{"memory:?" + query + "=" + secret + rest}
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		for _, u := range urls {
			if hidesNothing(u) {
				continue
			}
			s, err := sessionstore.Open(ctx, u)
			if err == nil {
				_ = s.Close()
			}
			wantAllHidden(t, "Open("+u+")", err)
			wantAllHidden(t, "ParseURL("+u+")", second(sessionstore.ParseURL(u)))
		}
	})
}

func second[T any](_ T, err error) error { return err }

// hidesNothing reports that the secret is where errors may show it: in the host, the path
// or the name of a parameter.
func hidesNothing(u string) bool {
	at := strings.Index(u, secret)
	before := u[:at]
	if q := strings.IndexByte(before, '?'); q >= 0 {
		name := before[q+1:]
		name = name[strings.LastIndexAny(name, "&;")+1:]
		return !strings.Contains(name, "=")
	}
	if strings.Contains(before, "#") {
		return false
	}
	authority, _, _ := strings.Cut(u[at:], "/")
	authority, _, _ = strings.Cut(authority, "?")
	return !strings.Contains(authority, "@")
}
