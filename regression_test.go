package sessionstore_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/memory"
)

// The bound that spares most batches from being encoded must hold for the longest
// spelling of every value.
func TestLimitOfLongFloats(t *testing.T) {
	t.Parallel()
	const f = -0.0000012345678901234567
	list := make([]any, sessionstore.MaxAppendBytes/25)
	for i := range list {
		list[i] = f
	}
	m := sessionstore.UserMessage("")
	m.Metadata = sessionstore.Metadata{"l": list}
	_, err := sessionstore.Append{Messages: []sessionstore.Message{m}}.Prepare("s")
	wantErr(t, "8 MiB of floats", err, sessionstore.ErrTooLarge)
}

// A message of exactly the limit, once appended, is larger in an export by its seq and
// time, and in a fork by a longer id: it must go through both.
func TestLargestMessageTravels(t *testing.T) {
	t.Parallel()
	mem := newMemory(t)
	fill(t, mem, sessionstore.Session{ID: "s"}, 0)
	m := sessionstore.UserMessage("")
	m.ID = "m"
	b, err := prepare(t, "s", m).Messages[0].AppendJSON(nil)
	wantErr(t, "AppendJSON", err, nil)
	m.Content = sessionstore.Text(strings.Repeat("x", sessionstore.MaxAppendBytes-len(b)))
	_, err = mem.AppendMessages(t.Context(), "s", sessionstore.Append{Messages: []sessionstore.Message{m}})
	wantErr(t, "append", err, nil)
	var file bytes.Buffer
	_, err = sessionstore.Export(t.Context(), mem, &file, nil)
	wantErr(t, "Export", err, nil)
	report, err := sessionstore.Import(t.Context(), newMemory(t), &file, &sessionstore.ImportOptions{OnError: func(e sessionstore.RecordError) { t.Error(e) }})
	if err != nil || report.Sessions != 1 || report.Messages != 1 {
		t.Errorf("Import: got %+v, %v", report, err)
	}
	_, err = sessionstore.ForkSession(t.Context(), restorer{mem, mem}, "s", sessionstore.Fork{ID: "a longer id"})
	wantErr(t, "fork through Restorer", err, nil)
}

// Whether the source of a fallback fork has expired is for the store's clock to say.
func TestForkFallbackUsesNoOtherClock(t *testing.T) {
	t.Parallel()
	for _, year := range []int{2020, 2090} {
		now := time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC)
		mem, err := memory.New(&memory.Options{Now: func() time.Time { return now }})
		wantErr(t, "memory.New", err, nil)
		fill(t, mem, sessionstore.Session{ID: "s", TTL: time.Hour}, 1)
		for name, s := range map[string]sessionstore.SessionStore{"append": plain{mem}, "restore": restorer{mem, mem}} {
			if _, err := sessionstore.ForkSession(t.Context(), s, "s", sessionstore.Fork{}); err != nil {
				t.Errorf("%d: fork by %s of a live session: %v", year, name, err)
			}
		}
	}
}

// A closed store comes before what is wrong with the arguments, through a view too.
func TestViewOfClosedStore(t *testing.T) {
	t.Parallel()
	mem := newMemory(t)
	v := sessionstore.ForUser(plain{mem}, "u")
	mem.Close()
	ctx := t.Context()
	_, update := v.UpdateSession(ctx, "x", sessionstore.SessionUpdate{IfVersion: -1})
	_, appended := v.AppendMessages(ctx, "x", sessionstore.Append{Messages: []sessionstore.Message{{}}})
	_, truncate := v.TruncateMessages(ctx, "x", sessionstore.Truncate{ThroughSeq: -1})
	_, fork := sessionstore.ForkSession(ctx, v, "x", sessionstore.Fork{UserID: ptr("other")})
	_, restore := sessionstore.RestoreSession(ctx, v, sessionstore.Session{ID: "x"}, messages())
	for name, err := range map[string]error{"update": update, "append": appended, "truncate": truncate, "fork": fork, "restore": restore} {
		if !errors.Is(err, sessionstore.ErrStoreClosed) {
			t.Errorf("%s: got %v, want ErrStoreClosed", name, err)
		}
	}
}

// Files are foreign data: numbers that the next write would overflow are refused.
func TestRestoreRefusesHugeCounters(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]sessionstore.Session{
		"last_seq": {ID: "s", CreatedAt: t0, UpdatedAt: t0, Version: 1, LastSeq: math.MaxInt64},
		"version":  {ID: "s", CreatedAt: t0, UpdatedAt: t0, Version: math.MaxInt64},
	} {
		_, err := sessionstore.RestoreSession(t.Context(), newMemory(t), s, messages())
		var invalid *sessionstore.InvalidError
		if !errors.As(err, &invalid) || invalid.Field != name {
			t.Errorf("%s: got %v, want an *InvalidError of that field", name, err)
		}
	}
}

func TestRestoreFallbackOfExpired(t *testing.T) {
	t.Parallel()
	old := time.Now().Add(-time.Hour)
	s := sessionstore.Session{ID: "s", TTL: time.Minute, CreatedAt: old, UpdatedAt: old, Version: 1}
	for name, store := range map[string]sessionstore.SessionStore{"native": newMemory(t), "fallback": plain{newMemory(t)}} {
		_, err := sessionstore.RestoreSession(t.Context(), store, s, messages())
		wantErr(t, name, err, sessionstore.ErrInvalid)
	}
}

// hooked calls after behind each list.
type hooked struct {
	sessionstore.SessionStore
	after func()
}

func (h hooked) ListSessions(ctx context.Context, q sessionstore.SessionQuery) (sessionstore.SessionPage, error) {
	page, err := h.SessionStore.ListSessions(ctx, q)
	h.after()
	return page, err
}

// Sessions that are written to all the time, or by a clock that is behind, are exported.
func TestExportMissesNothing(t *testing.T) {
	t.Parallel()
	now := t0
	mem, err := memory.New(&memory.Options{Now: func() time.Time { return now }})
	wantErr(t, "memory.New", err, nil)
	var ids []string
	for i := range 2500 { // three pages
		now = now.Add(time.Millisecond)
		ids = append(ids, fill(t, mem, sessionstore.Session{ID: fmt.Sprintf("s%04d", i)}, 0).ID)
	}
	touch := func(id string) {
		_, err := mem.UpdateSession(t.Context(), id, sessionstore.SessionUpdate{Touch: true})
		wantErr(t, "Touch", err, nil)
	}
	head := now.Add(10 * time.Second)
	lists := 0
	h := hooked{mem, func() {
		lists++
		now = head
		touch(ids[100]) // by a clock that is ahead
		now = head.Add(-5 * time.Second)
		touch(ids[lists%50]) // by one that is not
		head = head.Add(time.Second)
	}}
	var file bytes.Buffer
	report, err := sessionstore.Export(t.Context(), h, &file, nil)
	if err != nil || report.Sessions != int64(len(ids)) {
		t.Errorf("got %d sessions, %v, want %d", report.Sessions, err, len(ids))
	}
	for _, id := range ids {
		if n := strings.Count(file.String(), `"session_id":"`+id+`"`); n != 1 {
			t.Errorf("session %s is there %d times", id, n)
		}
	}
}

func TestPromptHasTheSystemTextOnce(t *testing.T) {
	t.Parallel()
	history := []sessionstore.Message{
		sessionstore.UserMessage("q"),
		{Role: sessionstore.RoleSystem, Content: sessionstore.Text("sys")},
		sessionstore.AssistantMessage("a"),
	}
	p, err := sessionstore.NewPrompt(sessionstore.Session{System: "sys"}, history, &sessionstore.Window{Last: 2})
	if err != nil || len(p.Messages) != 1 || p.Messages[0].Role != sessionstore.RoleAssistant {
		t.Errorf("got %+v, %v, want the answer alone", p.Messages, err)
	}
}

// Reasoning about calls that are dropped is dropped with them.
func TestPromptDropsReasoningWithItsCalls(t *testing.T) {
	t.Parallel()
	reasoning, err := sessionstore.ParsePart([]byte(`{"type":"reasoning","id":"rs_1"}`))
	wantErr(t, "ParsePart", err, nil)
	history := []sessionstore.Message{
		sessionstore.UserMessage("q"),
		{Role: sessionstore.RoleAssistant, Content: sessionstore.Parts(reasoning)},
		sessionstore.AssistantMessage("", sessionstore.ToolCall{ID: "c", Name: "f"}),
		sessionstore.UserMessage("next"),
	}
	p, err := sessionstore.NewPrompt(sessionstore.Session{}, history, &sessionstore.Window{DropUnanswered: true, Last: 1})
	if err != nil || len(p.Messages) != 1 || p.Messages[0].Content.String() != "next" {
		t.Errorf("got %+v, %v, want the last question alone", p.Messages, err)
	}
}

func TestChatPartDropsNullsOfMedia(t *testing.T) {
	t.Parallel()
	part, err := sessionstore.ParsePart([]byte(`{"type":"image_url","text":null,"image_url":{"url":"u","detail":null}}`))
	wantErr(t, "ParsePart", err, nil)
	b, err := sessionstore.Message{Role: "user", Content: sessionstore.Parts(part)}.ChatMessage().AppendJSON(nil)
	want := `{"role":"user","content":[{"type":"image_url","image_url":{"url":"u"}}]}`
	if err != nil || string(b) != want {
		t.Errorf("got %s, %v, want %s", b, err, want)
	}
}

func TestManagerSessions(t *testing.T) {
	t.Parallel()
	mem := newMemory(t)
	m := sessionstore.NewManager(mem, nil)
	for i := range 5 {
		fill(t, mem, sessionstore.Session{ID: fmt.Sprint(i), UserID: "u"}, 0)
	}
	seen := map[string]bool{}
	for s, err := range m.Sessions(t.Context(), sessionstore.SessionQuery{UserID: "u", Limit: 2}) {
		wantErr(t, "Sessions", err, nil)
		seen[s.ID] = true
	}
	if len(seen) != 5 {
		t.Errorf("got %v, want five", seen)
	}
	for range m.Sessions(t.Context(), sessionstore.SessionQuery{}) {
		break
	}
	for _, err := range m.Sessions(t.Context(), sessionstore.SessionQuery{Limit: -1}) {
		wantErr(t, "a bad query", err, sessionstore.ErrInvalid)
	}
	s, err := m.Update(t.Context(), "1", sessionstore.SessionUpdate{SetMetadata: sessionstore.Metadata{"k": 1}})
	if err != nil || s.Version != 2 {
		t.Errorf("Update: got %+v, %v", s, err)
	}
}

func TestCheckName(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]error{"": nil, "a/b {c}": nil, "a\n": sessionstore.ErrInvalid, strings.Repeat("x", 256): sessionstore.ErrInvalid} {
		err := sessionstore.CheckName("namespace", name)
		wantErr(t, fmt.Sprintf("CheckName(%.20q)", name), err, want)
		var invalid *sessionstore.InvalidError
		if err != nil && (!errors.As(err, &invalid) || invalid.Field != "namespace") {
			t.Errorf("CheckName(%.20q): got %v, want an *InvalidError of namespace", name, err)
		}
	}
}

func TestAppendIDs(t *testing.T) {
	t.Parallel()
	a := prepare(t, "s", sessionstore.Message{ID: "b", Role: "user"}, sessionstore.Message{ID: "a", Role: "user"})
	if got := a.IDs(); len(got) != 2 || got[0] != "b" || got[1] != "a" {
		t.Errorf("IDs: got %q, want b, a", got)
	}
}
