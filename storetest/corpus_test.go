package storetest

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/sessionstore/sessionstore"
)

// TestCorpusCoversEveryField fails when a field is added to a record and no entry of the
// corpus sets it. Field report C06: a field that no store test knows is dropped on the way.
func TestCorpusCoversEveryField(t *testing.T) {
	t.Parallel()
	messages, sessions := corpusMessages(), corpusSessions()
	var calls []sessionstore.ToolCall
	for _, m := range messages {
		calls = append(calls, m.ToolCalls...)
	}
	byStore := []string{"SessionID", "Seq", "UpdatedAt", "ExpiresAt", "LastSeq", "MessageCount", "Version"}
	for _, missing := range slices.Concat(neverSet(messages, byStore), neverSet(sessions, byStore), neverSet(calls, nil)) {
		t.Errorf("the corpus never sets %s: got only zero values, want at least one other", missing)
	}
	if got := neverSet([]sessionstore.Session{{ID: "x"}}, nil); !slices.Contains(got, "Session.System") || slices.Contains(got, "Session.ID") {
		t.Errorf("neverSet of a session with only an ID: got %q, want all but Session.ID", got)
	}
}

// neverSet returns the fields of T that are zero in all of records, without those named.
func neverSet[T any](records []T, but []string) []string {
	var out []string
	typ := reflect.TypeFor[T]()
	for i := range typ.NumField() {
		f := typ.Field(i)
		if !slices.Contains(but, f.Name) && !slices.ContainsFunc(records, func(r T) bool { return !reflect.ValueOf(r).Field(i).IsZero() }) {
			out = append(out, typ.Name()+"."+f.Name)
		}
	}
	return out
}

func TestCorpusIsValidAndLarge(t *testing.T) {
	t.Parallel()
	messages, sessions := corpusMessages(), corpusSessions()
	if len(messages) < 60 || len(sessions) < 30 || len(corpusIDs) < 30 {
		t.Errorf("got %d messages, %d sessions, %d ids, want at least 60, 30, 30", len(messages), len(sessions), len(corpusIDs))
	}
	for _, m := range messages {
		prepared, err := sessionstore.Append{Messages: []sessionstore.Message{m}}.Prepare("s")
		if err != nil {
			t.Errorf("Prepare of the corpus message %q: got %v, want nil", m.ID, err)
			continue
		}
		b, err := prepared.Messages[0].AppendJSON(nil)
		if err != nil {
			t.Errorf("AppendJSON of the corpus message %q: got %v, want nil", m.ID, err)
			continue
		}
		back, err := sessionstore.DecodeMessage(b)
		if d := diff(back, prepared.Messages[0]); err != nil || d != "" {
			t.Errorf("DecodeMessage of the corpus message %q: got %v, %s, want what was encoded", m.ID, err, d)
		}
	}
	for _, s := range sessions {
		if _, err := s.Create(epoch); err != nil {
			t.Errorf("Create of the corpus session %q: got %v, want nil", s.ID, err)
		}
	}
	ids := slices.Sorted(slices.Values(corpusIDs))
	if again := slices.Compact(slices.Clone(ids)); len(again) != len(ids) {
		t.Errorf("corpusIDs: got %d different of %d, want all different", len(again), len(ids))
	}
	folded := map[string]bool{}
	for _, id := range ids {
		folded[strings.ToLower(strings.TrimSpace(id))] = true
	}
	if len(folded) == len(ids) {
		t.Errorf("corpusIDs: got no two that folding and trimming makes equal, want some")
	}
}
