package sessionstore_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/sessionstore/sessionstore"
)

func nan() float64 { return math.NaN() }

func prepare(t *testing.T, id string, ms ...sessionstore.Message) sessionstore.Append {
	t.Helper()
	a, err := sessionstore.Append{Messages: ms}.Prepare(id)
	wantErr(t, "Prepare", err, nil)
	return a
}

func TestAppendPrepare(t *testing.T) {
	t.Parallel()
	in := sessionstore.AssistantMessage("", sessionstore.ToolCall{ID: "c", Name: "f", Arguments: "",
		Extra: map[string]json.RawMessage{"x": json.RawMessage(" 1 ")}})
	in.Seq, in.Metadata = 7, sessionstore.Metadata{"n": map[string]any{"k": 1}}
	in.CreatedAt = t0.Add(999)
	a := prepare(t, "s", in, sessionstore.UserMessage("hi"))
	want := sessionstore.Message{ID: a.Messages[0].ID, SessionID: "s", Role: sessionstore.RoleAssistant, CreatedAt: t0,
		ToolCalls: []sessionstore.ToolCall{{ID: "c", Type: "function", Name: "f", Extra: map[string]json.RawMessage{"x": json.RawMessage("1")}}},
		Metadata:  sessionstore.Metadata{"n": map[string]any{"k": int64(1)}}}
	if !reflect.DeepEqual(a.Messages[0], want) {
		t.Errorf("Prepare\n got %+v\nwant %+v", a.Messages[0], want)
	}
	if id := a.Messages[1].ID; len(id) != 36 || id[14] != '7' || id <= a.Messages[0].ID {
		t.Errorf("minted ids %q, %q: want ascending UUIDv7", a.Messages[0].ID, id)
	}
	a.Messages[0].Metadata["n"].(map[string]any)["k"] = "changed"
	a.Messages[0].ToolCalls[0].Extra["x"][0] = '2'
	if in.Metadata["n"].(map[string]any)["k"] != 1 || in.ToolCalls[0].Extra["x"][1] != '1' || in.ToolCalls[0].Type != "" {
		t.Errorf("Prepare shares memory with its input: %+v", in)
	}
	again, err := a.Prepare("s")
	wantErr(t, "Prepare of a prepared batch", err, nil)
	if !reflect.DeepEqual(again.Messages[1], a.Messages[1]) {
		t.Errorf("Prepare twice\n got %+v\nwant %+v", again, a)
	}
}

func TestAppendPrepareRefuses(t *testing.T) {
	t.Parallel()
	type M = sessionstore.Message
	user := sessionstore.UserMessage("x")
	with := func(f func(*M)) []M { m := user; f(&m); return []M{m} }
	huge := sessionstore.UserMessage(strings.Repeat("x", sessionstore.MaxAppendBytes))
	escaped := sessionstore.UserMessage(strings.Repeat("\x01", sessionstore.MaxAppendBytes/6))
	fits := sessionstore.UserMessage(strings.Repeat("x", sessionstore.MaxAppendBytes-500))
	many := func(n int) []M {
		ms := make([]M, n)
		for i := range ms {
			ms[i] = user
		}
		return ms
	}
	for name, tc := range map[string]struct {
		id   string
		ms   []M
		want error
	}{
		"no id":                 {"", []M{user}, sessionstore.ErrInvalid},
		"no role":               {"s", []M{{}}, sessionstore.ErrInvalid},
		"legacy role":           {"s", with(func(m *M) { m.Role = "function" }), sessionstore.ErrInvalid},
		"bad message id":        {"s", with(func(m *M) { m.ID = "a\n" }), sessionstore.ErrInvalid},
		"foreign session":       {"s", with(func(m *M) { m.SessionID = "other" }), sessionstore.ErrInvalid},
		"own session":           {"s", with(func(m *M) { m.SessionID = "s" }), nil},
		"text not UTF-8":        {"s", with(func(m *M) { m.Content = sessionstore.Text("\xff") }), sessionstore.ErrInvalid},
		"part not UTF-8":        {"s", with(func(m *M) { m.Content = sessionstore.Parts(sessionstore.TextPart("\xff")) }), sessionstore.ErrInvalid},
		"zero part":             {"s", with(func(m *M) { m.Content = sessionstore.Parts(sessionstore.Part{}) }), sessionstore.ErrInvalid},
		"name too long":         {"s", with(func(m *M) { m.Name = strings.Repeat("x", 4097) }), sessionstore.ErrInvalid},
		"name of 4 KiB":         {"s", with(func(m *M) { m.Name = strings.Repeat("x", 4096) }), nil},
		"call id with control":  {"s", with(func(m *M) { m.ToolCallID = "\x00" }), sessionstore.ErrInvalid},
		"agent too long":        {"s", with(func(m *M) { m.AgentName = strings.Repeat("x", 256) }), sessionstore.ErrInvalid},
		"tool name with break":  {"s", []M{sessionstore.AssistantMessage("", sessionstore.ToolCall{Name: "a\nb"})}, sessionstore.ErrInvalid},
		"tool id too long":      {"s", []M{sessionstore.AssistantMessage("", sessionstore.ToolCall{ID: strings.Repeat("x", 4097)})}, sessionstore.ErrInvalid},
		"tool type control":     {"s", []M{sessionstore.AssistantMessage("", sessionstore.ToolCall{Type: "\x01"})}, sessionstore.ErrInvalid},
		"arguments not UTF-8":   {"s", []M{sessionstore.AssistantMessage("", sessionstore.ToolCall{Arguments: "\xff"})}, sessionstore.ErrInvalid},
		"call extra":            {"s", []M{sessionstore.AssistantMessage("", sessionstore.ToolCall{Extra: map[string]json.RawMessage{"id": json.RawMessage("1")}})}, sessionstore.ErrInvalid},
		"extra names a key":     {"s", with(func(m *M) { m.Extra = map[string]json.RawMessage{"seq": json.RawMessage("1")} }), sessionstore.ErrInvalid},
		"metadata NaN":          {"s", with(func(m *M) { m.Metadata = sessionstore.Metadata{"k": nan()} }), sessionstore.ErrInvalid},
		"year 10000":            {"s", with(func(m *M) { m.CreatedAt = time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC) }), sessionstore.ErrInvalid},
		"an id twice":           {"s", []M{{ID: "m", Role: "user"}, {ID: "m", Role: "user"}}, sessionstore.ErrInvalid},
		"1,000 messages":        {"s", many(1000), nil},
		"1,001 messages":        {"s", many(1001), sessionstore.ErrTooLarge},
		"8 MiB":                 {"s", []M{huge}, sessionstore.ErrTooLarge},
		"8 MiB once escaped":    {"s", []M{escaped}, sessionstore.ErrTooLarge},
		"just below 8 MiB":      {"s", []M{fits}, nil},
		"8 MiB in two messages": {"s", []M{fits, sessionstore.UserMessage(strings.Repeat("x", 1000))}, sessionstore.ErrTooLarge},
	} {
		_, err := sessionstore.Append{Messages: tc.ms}.Prepare(tc.id)
		if tc.want == nil && err != nil || tc.want != nil && !errors.Is(err, tc.want) {
			t.Errorf("%s: got error %v, want %v", name, err, tc.want)
		}
	}
	ms := make([]M, 20)
	for i := range ms {
		ms[i] = M{ID: fmt.Sprint(i % 19), Role: "user"}
	}
	_, err := sessionstore.Append{Messages: ms}.Prepare("s")
	wantErr(t, "an id twice among 20", err, sessionstore.ErrInvalid)
	_, err = sessionstore.Append{IfLastSeq: ptr(int64(-1))}.Prepare("s")
	wantErr(t, "negative IfLastSeq", err, sessionstore.ErrInvalid)
	// The text that an error quotes is cut, and never within a rune.
	err = sessionstore.CheckID(strings.Repeat("é", 200))
	wantErr(t, "long id", err, sessionstore.ErrInvalid)
	_, err = sessionstore.Append{Messages: with(func(m *M) { m.Role = sessionstore.Role("x" + strings.Repeat("é", 5000)) })}.Prepare("s")
	if len(err.Error()) > 300 || strings.ContainsRune(err.Error(), '\uFFFD') {
		t.Errorf("error quotes %d bytes: %.400q", len(err.Error()), err)
	}
}

// Exactly 8 MiB as prepared fits, one byte more does not.
func TestAppendLimitIsExact(t *testing.T) {
	t.Parallel()
	m := sessionstore.UserMessage("")
	m.ID = "m"
	a := prepare(t, "s", m)
	b, err := a.Messages[0].AppendJSON(nil)
	wantErr(t, "AppendJSON", err, nil)
	room := sessionstore.MaxAppendBytes - len(b)
	m.Content = sessionstore.Text(strings.Repeat("x", room))
	prepare(t, "s", m)
	m.Content = sessionstore.Text(strings.Repeat("x", room+1))
	_, err = sessionstore.Append{Messages: []sessionstore.Message{m}}.Prepare("s")
	var le *sessionstore.LimitError
	if !errors.As(err, &le) || le.Got != sessionstore.MaxAppendBytes+1 || le.Limit != sessionstore.MaxAppendBytes {
		t.Errorf("one byte above: got %v, want a *LimitError of 8 MiB + 1", err)
	}
}

func TestAppendApply(t *testing.T) {
	t.Parallel()
	s := newSession(t, sessionstore.Session{ID: "s", TTL: time.Hour})
	s.LastSeq, s.MessageCount = 10, 4 // as after a truncate
	a := prepare(t, "s", sessionstore.UserMessage("a"), sessionstore.Message{Role: "user", CreatedAt: t0.Add(-time.Hour)})
	before := s.Clone()
	now := t0.Add(30 * time.Minute)
	got, ms, err := a.Apply(s, now)
	wantErr(t, "Apply", err, nil)
	if ms[0].Seq != 11 || ms[1].Seq != 12 || ms[0].SessionID != "s" || !ms[0].CreatedAt.Equal(now) || !ms[1].CreatedAt.Equal(t0.Add(-time.Hour)) {
		t.Errorf("messages: got %+v", ms)
	}
	if got.LastSeq != 12 || got.MessageCount != 6 || !got.UpdatedAt.Equal(now) || !got.ExpiresAt.Equal(now.Add(time.Hour)) || got.Version != 1 {
		t.Errorf("session: got %+v", got)
	}
	if !reflect.DeepEqual(s, before) || a.Messages[0].Seq != 0 || !a.Messages[0].CreatedAt.IsZero() {
		t.Errorf("Apply changed its inputs: %+v, %+v", s, a)
	}
	back, _, err := a.Apply(got, t0)
	wantErr(t, "Apply with the clock behind", err, nil)
	if !back.UpdatedAt.Equal(now) || back.LastSeq != 14 {
		t.Errorf("clock behind: got UpdatedAt %v, LastSeq %d", back.UpdatedAt, back.LastSeq)
	}
}

func TestAppendApplyRefuses(t *testing.T) {
	t.Parallel()
	s := newSession(t, sessionstore.Session{ID: "s", TTL: time.Hour})
	one := prepare(t, "s", sessionstore.UserMessage("a"))
	wrong := one
	wrong.IfLastSeq = ptr(int64(5))
	for name, tc := range map[string]struct {
		status sessionstore.Status
		after  time.Duration
		a      sessionstore.Append
		want   error
	}{
		"expired before empty": {sessionstore.StatusActive, time.Hour, prepare(t, "s"), sessionstore.ErrSessionNotFound},
		"empty before closed":  {sessionstore.StatusClosed, 0, sessionstore.Append{IfLastSeq: ptr(int64(9))}, nil},
		"paused":               {sessionstore.StatusPaused, 0, wrong, sessionstore.ErrSessionPaused},
		"closed":               {sessionstore.StatusClosed, 0, wrong, sessionstore.ErrSessionClosed},
		"conflict":             {sessionstore.StatusActive, 0, wrong, sessionstore.ErrConflict},
		"fine":                 {sessionstore.StatusActive, 0, one, nil},
	} {
		s.Status = tc.status
		got, ms, err := tc.a.Apply(s, t0.Add(tc.after))
		if tc.want == nil && err != nil || !errors.Is(err, tc.want) {
			t.Errorf("%s: got error %v, want %v", name, err, tc.want)
		}
		if err == nil && len(tc.a.Messages) == 0 && (ms == nil || !reflect.DeepEqual(got, s)) {
			t.Errorf("%s: got %v and %+v, want an empty slice and no change", name, ms, got)
		}
	}
}

func TestAppendRepeat(t *testing.T) {
	t.Parallel()
	m1, m2 := sessionstore.UserMessage("a"), sessionstore.AssistantMessage("b", sessionstore.ToolCall{ID: "c", Name: "f"})
	m1.ID, m2.ID = "m1", "m2"
	m2.Metadata = sessionstore.Metadata{"n": 1}
	a := prepare(t, "s", m1, m2)
	_, stored, err := a.Apply(newSession(t, sessionstore.Session{ID: "s"}), t0)
	wantErr(t, "Apply", err, nil)
	reversed := []sessionstore.Message{stored[1], stored[0]}

	got, err := a.Repeat(reversed)
	wantErr(t, "Repeat", err, nil)
	if !reflect.DeepEqual(got, stored) {
		t.Errorf("Repeat\n got %+v\nwant %+v", got, stored)
	}
	if got, err := a.Repeat(nil); got != nil || err != nil {
		t.Errorf("Repeat of nothing stored: got %v, %v, want nil, nil", got, err)
	}
	_, err = a.Repeat(stored[:1])
	wantErr(t, "part of the batch is stored", err, sessionstore.ErrMessageExists)
	for name, change := range map[string]func(*sessionstore.Message){
		"role":         func(m *sessionstore.Message) { m.Role = sessionstore.RoleUser },
		"content":      func(m *sessionstore.Message) { m.Content = sessionstore.Content{} },
		"content form": func(m *sessionstore.Message) { m.Content = sessionstore.Parts(sessionstore.TextPart("b")) },
		"name":         func(m *sessionstore.Message) { m.Name = "x" },
		"tool call id": func(m *sessionstore.Message) { m.ToolCallID = "x" },
		"no calls":     func(m *sessionstore.Message) { m.ToolCalls = nil },
		"arguments": func(m *sessionstore.Message) {
			m.ToolCalls = []sessionstore.ToolCall{{ID: "c", Name: "f", Arguments: " "}}
		},
		"agent":    func(m *sessionstore.Message) { m.AgentName = "x" },
		"metadata": func(m *sessionstore.Message) { m.Metadata = sessionstore.Metadata{"n": 1.0} },
		"extra":    func(m *sessionstore.Message) { m.Extra = map[string]json.RawMessage{"x": json.RawMessage("1")} },
		"id":       func(m *sessionstore.Message) { m.ID = "m3" },
	} {
		m := m2.Clone()
		change(&m)
		_, err := prepare(t, "s", m1, m).Repeat(stored)
		if !errors.Is(err, sessionstore.ErrMessageExists) {
			t.Errorf("another %s: got error %v, want ErrMessageExists", name, err)
		}
	}
	later := m2.Clone()
	later.CreatedAt, later.ToolCalls[0].Type = t0.Add(time.Hour), "function"
	if _, err := prepare(t, "s", m1, later).Repeat(stored); err != nil {
		t.Errorf("another CreatedAt: got error %v, want a repeat", err)
	}
}

func TestTruncateApply(t *testing.T) {
	t.Parallel()
	s := newSession(t, sessionstore.Session{ID: "s", TTL: time.Hour})
	s.LastSeq, s.MessageCount = 10, 10
	now := t0.Add(time.Minute)
	got, err := sessionstore.Truncate{ThroughSeq: 4}.Apply(s, 4, now)
	wantErr(t, "truncate", err, nil)
	if got.LastSeq != 10 || got.MessageCount != 4 || got.Version != 1 || !got.UpdatedAt.Equal(now) || !got.ExpiresAt.Equal(now.Add(time.Hour)) {
		t.Errorf("truncate: got %+v", got)
	}
	got, err = sessionstore.Truncate{ThroughSeq: 99}.Apply(s, 10, now)
	if err != nil || !reflect.DeepEqual(got, s) {
		t.Errorf("truncate that removes nothing: got %+v, %v, want no change", got, err)
	}
	paused, closed := s, s
	paused.Status, closed.Status = sessionstore.StatusPaused, sessionstore.StatusClosed
	for name, tc := range map[string]struct {
		s    sessionstore.Session
		t    sessionstore.Truncate
		now  time.Time
		want error
	}{
		"negative":          {s, sessionstore.Truncate{ThroughSeq: -1}, now, sessionstore.ErrInvalid},
		"negative expected": {s, sessionstore.Truncate{IfLastSeq: ptr(int64(-1))}, now, sessionstore.ErrInvalid},
		"expired":           {s, sessionstore.Truncate{}, t0.Add(time.Hour), sessionstore.ErrSessionNotFound},
		"paused":            {paused, sessionstore.Truncate{IfLastSeq: ptr(int64(1))}, now, sessionstore.ErrSessionPaused},
		"closed, nothing":   {closed, sessionstore.Truncate{ThroughSeq: 10}, now, sessionstore.ErrSessionClosed},
		"conflict":          {s, sessionstore.Truncate{ThroughSeq: 10, IfLastSeq: ptr(int64(1))}, now, sessionstore.ErrConflict},
		"as expected":       {s, sessionstore.Truncate{IfLastSeq: ptr(int64(10))}, now, nil},
	} {
		_, err := tc.t.Apply(tc.s, 0, tc.now)
		if tc.want == nil && err != nil || !errors.Is(err, tc.want) {
			t.Errorf("%s: got error %v, want %v", name, err, tc.want)
		}
	}
}

func TestForkApply(t *testing.T) {
	t.Parallel()
	src := newSession(t, sessionstore.Session{ID: "s", AgentName: "a", UserID: "u", System: "sys", TTL: time.Hour, Status: sessionstore.StatusClosed,
		Metadata: sessionstore.Metadata{"a": 1, "b": map[string]any{"c": 1}}, Extra: map[string]json.RawMessage{"x": json.RawMessage("1")}})
	src.LastSeq, src.MessageCount, src.Version = 10, 4, 7
	before := src.Clone()
	now := t0.Add(time.Minute)
	got, err := sessionstore.Fork{ID: "c", AtSeq: ptr(int64(3)), Metadata: sessionstore.Metadata{"a": nil, "d": 2}, UserID: ptr("v")}.Apply(src, 2, now)
	wantErr(t, "fork", err, nil)
	want := sessionstore.Session{ID: "c", AgentName: "a", UserID: "v", Status: sessionstore.StatusActive, System: "sys", TTL: time.Hour,
		Metadata: sessionstore.Metadata{"a": nil, "b": map[string]any{"c": int64(1)}, "d": int64(2)},
		ParentID: "s", ForkSeq: 3, CreatedAt: now, UpdatedAt: now, ExpiresAt: now.Add(time.Hour), LastSeq: 3, MessageCount: 2, Version: 1,
		Extra: map[string]json.RawMessage{"x": json.RawMessage("1")}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("fork\n got %+v\nwant %+v", got, want)
	}
	got.Metadata["b"].(map[string]any)["c"], got.Extra["x"][0] = 9, '9'
	if !reflect.DeepEqual(src, before) {
		t.Errorf("the fork shares memory with its source: %+v", src)
	}
	whole, err := sessionstore.Fork{}.Apply(src, 4, now)
	if err != nil || whole.ForkSeq != 10 || whole.LastSeq != 10 || whole.MessageCount != 4 || len(whole.ID) != 36 || whole.UserID != "u" {
		t.Errorf("fork of all: got %+v, %v", whole, err)
	}
	for name, tc := range map[string]struct {
		f    sessionstore.Fork
		now  time.Time
		want error
	}{
		"bad id":         {sessionstore.Fork{ID: "\n"}, now, sessionstore.ErrInvalid},
		"negative":       {sessionstore.Fork{AtSeq: ptr(int64(-1))}, now, sessionstore.ErrInvalid},
		"above LastSeq":  {sessionstore.Fork{AtSeq: ptr(int64(11))}, now, sessionstore.ErrInvalid},
		"bad user":       {sessionstore.Fork{UserID: ptr("\n")}, now, sessionstore.ErrInvalid},
		"bad metadata":   {sessionstore.Fork{Metadata: sessionstore.Metadata{"k": "\xff"}}, now, sessionstore.ErrInvalid},
		"expired":        {sessionstore.Fork{AtSeq: ptr(int64(11))}, t0.Add(time.Hour), sessionstore.ErrSessionNotFound},
		"large metadata": {sessionstore.Fork{Metadata: sessionstore.Metadata{"k": strings.Repeat("x", sessionstore.MaxStateBytes)}}, now, sessionstore.ErrTooLarge},
		"large merge":    {sessionstore.Fork{Metadata: sessionstore.Metadata{"k": strings.Repeat("x", sessionstore.MaxStateBytes-20)}}, now, sessionstore.ErrTooLarge},
		"nobody":         {sessionstore.Fork{UserID: ptr("")}, now, nil},
	} {
		_, err := tc.f.Apply(src, 0, tc.now)
		if tc.want == nil && err != nil || !errors.Is(err, tc.want) {
			t.Errorf("%s: got error %v, want %v", name, err, tc.want)
		}
	}
}

func TestFitPage(t *testing.T) {
	t.Parallel()
	small := sessionstore.UserMessage("x")
	large := sessionstore.UserMessage(strings.Repeat("x", 8<<20-500))
	quoted := sessionstore.UserMessage(strings.Repeat("\x01", 1<<20)) // six bytes each in JSON
	enormous := sessionstore.UserMessage(strings.Repeat("x", 40<<20))
	for name, tc := range map[string]struct {
		ms     []sessionstore.Message
		newest bool
		want   int
	}{
		"none":              {nil, false, 0},
		"small":             {[]sessionstore.Message{small, small}, false, 2},
		"four of 8 MiB":     {[]sessionstore.Message{large, large, large, large}, false, 4},
		"five of 8 MiB":     {[]sessionstore.Message{large, large, large, large, large}, true, 4},
		"escapes count":     {[]sessionstore.Message{quoted, quoted, quoted, quoted, quoted, quoted}, false, 5},
		"one always fits":   {[]sessionstore.Message{enormous, small}, false, 1},
		"from the old end":  {[]sessionstore.Message{small, enormous, small, small}, false, 1},
		"from the new end":  {[]sessionstore.Message{small, enormous, small, small}, true, 2},
		"large but all fit": {[]sessionstore.Message{large, small, large}, true, 3},
	} {
		if got := sessionstore.FitPage(tc.ms, tc.newest); got != tc.want {
			t.Errorf("%s: got %d, want %d", name, got, tc.want)
		}
	}
}

func TestRestoration(t *testing.T) {
	t.Parallel()
	good := sessionstore.Session{ID: "s", Status: sessionstore.StatusClosed, CreatedAt: t0, UpdatedAt: t0.Add(time.Minute + 1), TTL: time.Hour,
		LastSeq: 9, MessageCount: 2, Version: 4, ExpiresAt: t0}
	msg := func(id string, seq int64) sessionstore.Message {
		return sessionstore.Message{ID: id, Seq: seq, Role: "user", CreatedAt: t0}
	}
	run := func(s sessionstore.Session, now time.Time, ms ...sessionstore.Message) (sessionstore.Session, error) {
		r, err := sessionstore.NewRestoration(s)
		if err != nil {
			return sessionstore.Session{}, err
		}
		for _, m := range ms {
			if m, err = r.Next(m); err != nil {
				return sessionstore.Session{}, err
			}
			if m.SessionID != s.ID || m.Metadata == nil {
				return sessionstore.Session{}, fmt.Errorf("not in normal form: %+v", m)
			}
		}
		return r.Finish(now)
	}
	got, err := run(good, t0, msg("a", 2), msg("b", 7))
	want := good
	want.UpdatedAt, want.ExpiresAt, want.Metadata = t0.Add(time.Minute), t0.Add(time.Minute+time.Hour), sessionstore.Metadata{}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("restore\n got %+v, %v\nwant %+v", got, err, want)
	}
	change := func(f func(*sessionstore.Session)) sessionstore.Session { s := good; f(&s); return s }
	large := msg("a", 2)
	large.Content = sessionstore.Text(strings.Repeat("x", sessionstore.MaxAppendBytes))
	foreign, noTime, noRole := msg("a", 2), msg("a", 2), msg("a", 2)
	foreign.SessionID, noTime.CreatedAt, noRole.Role = "other", time.Time{}, ""
	for name, tc := range map[string]struct {
		s    sessionstore.Session
		now  time.Time
		ms   []sessionstore.Message
		want error
	}{
		"no id":            {change(func(s *sessionstore.Session) { s.ID = "" }), t0, nil, sessionstore.ErrInvalid},
		"bad status":       {change(func(s *sessionstore.Session) { s.Status = "x" }), t0, nil, sessionstore.ErrInvalid},
		"no created":       {change(func(s *sessionstore.Session) { s.CreatedAt = time.Time{} }), t0, nil, sessionstore.ErrInvalid},
		"no updated":       {change(func(s *sessionstore.Session) { s.UpdatedAt = time.Time{} }), t0, nil, sessionstore.ErrInvalid},
		"updated too late": {change(func(s *sessionstore.Session) { s.UpdatedAt = time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC) }), t0, nil, sessionstore.ErrInvalid},
		"no version":       {change(func(s *sessionstore.Session) { s.Version = 0 }), t0, nil, sessionstore.ErrInvalid},
		"negative count":   {change(func(s *sessionstore.Session) { s.MessageCount = -1 }), t0, nil, sessionstore.ErrInvalid},
		"count above seq":  {change(func(s *sessionstore.Session) { s.MessageCount = 10 }), t0, nil, sessionstore.ErrInvalid},
		"too few":          {good, t0, []sessionstore.Message{msg("a", 1)}, sessionstore.ErrInvalid},
		"too many":         {good, t0, []sessionstore.Message{msg("a", 1), msg("b", 2), msg("c", 3)}, sessionstore.ErrInvalid},
		"seq 0":            {good, t0, []sessionstore.Message{msg("a", 0)}, sessionstore.ErrInvalid},
		"seq not rising":   {good, t0, []sessionstore.Message{msg("a", 2), msg("b", 2)}, sessionstore.ErrInvalid},
		"seq above last":   {good, t0, []sessionstore.Message{msg("a", 10)}, sessionstore.ErrInvalid},
		"no message id":    {good, t0, []sessionstore.Message{msg("", 1)}, sessionstore.ErrInvalid},
		"no message time":  {good, t0, []sessionstore.Message{noTime}, sessionstore.ErrInvalid},
		"no role":          {good, t0, []sessionstore.Message{noRole}, sessionstore.ErrInvalid},
		"foreign":          {good, t0, []sessionstore.Message{foreign}, sessionstore.ErrInvalid},
		"too large":        {good, t0, []sessionstore.Message{large}, sessionstore.ErrTooLarge},
		"expired":          {good, t0.Add(2 * time.Hour), []sessionstore.Message{msg("a", 2), msg("b", 7)}, sessionstore.ErrInvalid},
	} {
		if _, err := run(tc.s, tc.now, tc.ms...); !errors.Is(err, tc.want) {
			t.Errorf("%s: got error %v, want %v", name, err, tc.want)
		}
	}
}
