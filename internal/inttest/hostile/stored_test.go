package hostile_test

import (
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"testing"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/internal/inttest/backends"
	"github.com/sessionstore/sessionstore/internal/inttest/hostile"
)

// kept is a session that has one string everywhere where that is allowed.
type kept struct {
	text     string
	session  sessionstore.Session
	messages []sessionstore.Message
}

func (k kept) String() string {
	return fmt.Sprintf("session %q with %q everywhere", short(k.session.ID), short(k.text))
}

func fits(rule hostile.Rule, s, otherwise string) string {
	if rule(s) {
		return s
	}
	return otherwise
}

// everywhere makes the session of the text number n.
func everywhere(n int, s string) kept {
	id := fits(hostile.ID, s, fmt.Sprint("of text ", n))
	quoted, _ := json.Marshal(s)
	extra := map[string]json.RawMessage{"x" + s: quoted}
	meta := sessionstore.Metadata{s: s, "nested\x00" + s: map[string]any{s: []any{s, int64(n)}}}
	k := kept{text: s}
	k.session = sessionstore.Session{
		ID: id, UserID: fits(hostile.Name, s, id), AgentName: fits(hostile.Name, s, id), ParentID: fits(hostile.ID, s, ""),
		System: s, Metadata: meta, Extra: extra,
	}
	k.messages = []sessionstore.Message{
		{
			ID: id, Role: sessionstore.RoleAssistant, Content: sessionstore.Parts(sessionstore.TextPart(s), sessionstore.ImagePart(s)),
			Name: fits(hostile.LongName, s, ""), AgentName: k.session.AgentName, Metadata: meta, Extra: extra,
			ToolCalls: []sessionstore.ToolCall{{
				ID: fits(hostile.LongName, s, "c"), Type: "function", Name: fits(hostile.LongName, s, "f"), Arguments: s, Extra: extra,
			}},
		},
		{ID: id + "2", Role: sessionstore.RoleTool, Content: sessionstore.Text(s), ToolCallID: fits(hostile.LongName, s, "c")},
	}
	if !hostile.ID(k.messages[1].ID) {
		k.messages[1].ID = "the second"
	}
	return k
}

// TestStored keeps a session for every text at the same time: each is read back as it was
// written, found by its own keys only, and deleted alone.
func TestStored(t *testing.T) {
	each(t, func(t *testing.T, kind backends.Backend, a, b sessionstore.SessionStore) {
		var all []kept
		for n, s := range texts(kind) {
			if !hostile.Text(s) {
				continue
			}
			k := everywhere(n, s)
			var err error
			if k.session, err = a.CreateSession(t.Context(), k.session); err != nil {
				t.Fatalf("CreateSession of %v: got %v, want nil", k, err)
			}
			given := sessionstore.Append{Messages: k.messages}
			if k.messages, err = a.AppendMessages(t.Context(), k.session.ID, given); err != nil {
				t.Fatalf("AppendMessages of %v: got %v, want nil", k, err)
			}
			k.session.LastSeq, k.session.MessageCount = 2, 2
			if again, err := b.AppendMessages(t.Context(), k.session.ID, given); err != nil || !same(again, k.messages) {
				t.Errorf("AppendMessages of %v again: got %+v, %v, want what is stored", k, again, err)
			}
			all = append(all, k)
		}
		for _, k := range all {
			wantKept(t, b, k)
		}
		for i, k := range all {
			view := sessionstore.ForUser(b, k.session.UserID)
			if i%2 == 0 && k.session.UserID != "" {
				if err := view.DeleteSession(t.Context(), k.session.ID); err != nil {
					t.Errorf("DeleteSession of %v by its owner: got %v, want nil", k, err)
				}
				if err := view.DeleteSession(t.Context(), hostile.Canary); err == nil {
					t.Errorf("DeleteSession of another's session by %q: got nil, want ErrSessionNotFound", short(k.session.UserID))
				}
			}
		}
		left := map[string]bool{hostile.Canary: true}
		for i, k := range all {
			if i%2 == 0 && k.session.UserID != "" {
				continue
			}
			left[k.session.ID] = true
			wantKept(t, b, k)
		}
		page, err := b.ListSessions(t.Context(), sessionstore.SessionQuery{Limit: sessionstore.MaxSessions})
		if err != nil || len(page.Sessions) != len(left) {
			t.Errorf("ListSessions after every other delete: got %d sessions, %v, want %d", len(page.Sessions), err, len(left))
		}
		for i, k := range all {
			if left[k.session.ID] {
				if err := a.DeleteSession(t.Context(), k.session.ID); err != nil {
					t.Errorf("DeleteSession of %v, number %d: got %v, want nil", k, i, err)
				}
			}
		}
		t.Logf("%d sessions side by side", len(all))
	})
}

// wantKept checks one session by all its keys.
func wantKept(t *testing.T, s sessionstore.SessionStore, k kept) {
	t.Helper()
	page, err := s.ListMessages(t.Context(), k.session.ID, sessionstore.MessageQuery{})
	if err != nil || !same(page.Messages, k.messages) {
		t.Errorf("ListMessages of %v: got %+v, %v, want %+v", k, page.Messages, err, k.messages)
	}
	got := page.Session
	got.UpdatedAt = k.session.UpdatedAt
	if !same([]sessionstore.Session{got}, []sessionstore.Session{k.session}) {
		t.Errorf("%v: got %+v, want %+v", k, got, k.session)
	}
	for name, q := range map[string]sessionstore.SessionQuery{
		"user":   {UserID: k.session.UserID},
		"agent":  {AgentName: k.session.AgentName},
		"parent": {ParentID: k.session.ParentID},
	} {
		if q.UserID+q.AgentName+q.ParentID == "" {
			continue
		}
		var found []string
		for q.Limit = sessionstore.MaxSessions; ; {
			page, err := s.ListSessions(t.Context(), q)
			if err != nil {
				t.Errorf("ListSessions by %s of %v: got %v, want nil", name, k, err)
				return
			}
			for _, f := range page.Sessions {
				found = append(found, f.ID)
			}
			if q.Cursor = page.Next; q.Cursor == "" {
				break
			}
		}
		if len(found) != 1 || found[0] != k.session.ID {
			t.Errorf("ListSessions by %s of %v: got %q, want it alone", name, k, found)
		}
	}
}

// same compares as values, and the JSON byte for byte.
func same[T interface{ AppendJSON([]byte) ([]byte, error) }](got, want []T) bool {
	if !reflect.DeepEqual(got, want) {
		return false
	}
	for i := range got {
		g, gerr := got[i].AppendJSON(nil)
		w, werr := want[i].AppendJSON(nil)
		if gerr != nil || werr != nil || string(g) != string(w) {
			return false
		}
	}
	return true
}

// TestNamespaces opens stores whose namespaces are the texts: none sees another's session.
func TestNamespaces(t *testing.T) {
	for _, kind := range backends.All() {
		t.Run(kind.Name, func(t *testing.T) {
			d := kind.New(t)
			open := map[string]sessionstore.SessionStore{}
			for _, s := range texts(kind) {
				// Of what is longer a test may not find room for its own name before it.
				if !hostile.ID(s) || len(s) > 200 {
					continue
				}
				open[s] = d.Open(t, backends.Options{Namespace: s})
				if _, err := open[s].CreateSession(t.Context(), sessionstore.Session{ID: "same", UserID: "u", System: s}); err != nil {
					t.Fatalf("CreateSession in the namespace %q: got %v, want nil", s, err)
				}
			}
			for s, store := range open {
				page, err := store.ListSessions(t.Context(), sessionstore.SessionQuery{UserID: "u"})
				if err != nil || len(page.Sessions) != 1 || page.Sessions[0].System != s {
					t.Errorf("ListSessions in the namespace %q: got %+v, %v, want the session that was made there", s, page.Sessions, err)
				}
			}
		})
	}
}

// allVar asks for all texts also where that takes minutes.
const allVar = "HOSTILE_ALL"

// texts are those that a test has the time for: on the stand-in for MongoDB a fifth.
func texts(kind backends.Backend) []string {
	if kind.Name != "mongo" || os.Getenv(allVar) != "" {
		return hostile.Texts
	}
	var some []string
	for i, s := range hostile.Texts {
		if i%5 == 0 {
			some = append(some, s)
		}
	}
	return some
}
