package sessionstore_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/sessionstore/sessionstore"
)

var t0 = time.Date(2026, 3, 1, 9, 30, 0, 123_456_000, time.UTC)

func ptr[T any](v T) *T { return &v }

// wantErr fails unless err matches want (nil: no error).
func wantErr(t *testing.T, what string, err, want error) {
	t.Helper()
	if want == nil && err != nil {
		t.Fatalf("%s: got error %v, want none", what, err)
	}
	if want != nil && !errors.Is(err, want) {
		t.Fatalf("%s: got error %v, want one that is %q", what, err, want)
	}
}

// newSession returns the record that Create makes of s.
func newSession(t *testing.T, s sessionstore.Session) sessionstore.Session {
	t.Helper()
	out, err := s.Create(t0)
	wantErr(t, "Create", err, nil)
	return out
}

func TestCreateNormalForm(t *testing.T) {
	t.Parallel()
	zone := time.FixedZone("", 5*3600+1800)
	in := sessionstore.Session{
		ID: "s", AgentName: "a", UserID: "u", System: "sys\x00", TTL: time.Hour + 999, ParentID: "p", ForkSeq: 3,
		Metadata:  sessionstore.Metadata{"n": 1},
		CreatedAt: time.Date(2026, 1, 1, 23, 59, 59, 999_999_999, zone),
		UpdatedAt: t0.Add(-time.Hour), ExpiresAt: t0, LastSeq: 9, MessageCount: 9, Version: 9,
		Extra: map[string]json.RawMessage{"x": json.RawMessage(` { "a" : 1 } `)},
	}
	got := newSession(t, in)
	want := sessionstore.Session{
		ID: "s", AgentName: "a", UserID: "u", Status: sessionstore.StatusActive, System: "sys\x00", TTL: time.Hour, ParentID: "p", ForkSeq: 3,
		Metadata:  sessionstore.Metadata{"n": int64(1)},
		CreatedAt: time.Date(2026, 1, 1, 18, 29, 59, 999_999_000, time.UTC),
		UpdatedAt: t0, ExpiresAt: t0.Add(time.Hour), Version: 1,
		Extra: map[string]json.RawMessage{"x": json.RawMessage(`{"a":1}`)},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("Create\n got %+v\nwant %+v", got, want)
	}
	got.Metadata["n"], got.Extra["x"][0] = "changed", '!'
	if in.Metadata["n"] != 1 || in.Extra["x"][0] != ' ' {
		t.Errorf("Create shares maps with its input: %v", in)
	}
}

func TestCreateDefaults(t *testing.T) {
	t.Parallel()
	a, b := newSession(t, sessionstore.Session{}), newSession(t, sessionstore.Session{})
	if a.ID == b.ID || len(a.ID) != 36 || a.ID[14] != '7' {
		t.Errorf("ids of two new sessions: got %q and %q, want two UUIDv7", a.ID, b.ID)
	}
	if a.Metadata == nil || a.Extra != nil || !a.CreatedAt.Equal(t0) || !a.ExpiresAt.IsZero() {
		t.Errorf("empty session is not in normal form: %+v", a)
	}
}

func TestCreateRefuses(t *testing.T) {
	t.Parallel()
	type S = sessionstore.Session
	for name, tc := range map[string]struct {
		in   S
		want error
	}{
		"id with control":      {S{ID: "a\x00"}, sessionstore.ErrInvalid},
		"id with C1 control":   {S{ID: "a\u0085"}, sessionstore.ErrInvalid},
		"id not UTF-8":         {S{ID: "a\xff"}, sessionstore.ErrInvalid},
		"id of 256 bytes":      {S{ID: strings.Repeat("x", 256)}, sessionstore.ErrInvalid},
		"id of 255 bytes":      {S{ID: strings.Repeat("x", 255)}, nil},
		"id that looks odd":    {S{ID: "../a:{b}*?[c]%_$ '\"\\ é🙂 \u202e"}, nil},
		"agent with newline":   {S{AgentName: "a\n"}, sessionstore.ErrInvalid},
		"user of 256 bytes":    {S{UserID: strings.Repeat("x", 256)}, sessionstore.ErrInvalid},
		"status":               {S{Status: "open"}, sessionstore.ErrInvalid},
		"closed":               {S{Status: sessionstore.StatusClosed}, nil},
		"system not UTF-8":     {S{System: "\xff"}, sessionstore.ErrInvalid},
		"negative TTL":         {S{TTL: -1}, sessionstore.ErrInvalid},
		"TTL below 1 µs":       {S{TTL: 999}, sessionstore.ErrInvalid},
		"TTL of 1 µs":          {S{TTL: 1000}, nil},
		"TTL of 100 years":     {S{TTL: sessionstore.MaxTTL}, nil},
		"TTL above":            {S{TTL: sessionstore.MaxTTL + 1}, sessionstore.ErrInvalid},
		"fork without parent":  {S{ForkSeq: 1}, sessionstore.ErrInvalid},
		"negative fork":        {S{ParentID: "p", ForkSeq: -1}, sessionstore.ErrInvalid},
		"parent with control":  {S{ParentID: "p\t"}, sessionstore.ErrInvalid},
		"year 0":               {S{CreatedAt: time.Date(0, 12, 31, 0, 0, 0, 0, time.UTC)}, sessionstore.ErrInvalid},
		"year 10000":           {S{CreatedAt: time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)}, sessionstore.ErrInvalid},
		"year 9999":            {S{CreatedAt: time.Date(9999, 12, 31, 23, 59, 59, 999_999_999, time.UTC)}, nil},
		"extra names a key":    {S{Extra: map[string]json.RawMessage{"status": json.RawMessage("1")}}, sessionstore.ErrInvalid},
		"extra is no JSON":     {S{Extra: map[string]json.RawMessage{"x": json.RawMessage("{")}}, sessionstore.ErrInvalid},
		"metadata not UTF-8":   {S{Metadata: sessionstore.Metadata{"k": "\xff"}}, sessionstore.ErrInvalid},
		"state above 1 MiB":    {S{System: strings.Repeat("x", sessionstore.MaxStateBytes)}, sessionstore.ErrTooLarge},
		"state in three parts": {S{System: strings.Repeat("x", 400<<10), Metadata: sessionstore.Metadata{"k": strings.Repeat("x", 400<<10)}, Extra: map[string]json.RawMessage{"x": json.RawMessage(`"` + strings.Repeat("x", 400<<10) + `"`)}}, sessionstore.ErrTooLarge},
		"state below 1 MiB":    {S{System: strings.Repeat("x", sessionstore.MaxStateBytes-100)}, nil},
	} {
		_, err := tc.in.Create(t0)
		if tc.want == nil && err != nil || !errors.Is(err, tc.want) {
			t.Errorf("%s: got error %v, want %v", name, err, tc.want)
		}
	}
}

func TestExpired(t *testing.T) {
	t.Parallel()
	s := newSession(t, sessionstore.Session{TTL: time.Hour})
	for _, tc := range []struct {
		at   time.Time
		want bool
	}{{t0, false}, {t0.Add(time.Hour - 1), false}, {t0.Add(time.Hour), true}, {t0.Add(2 * time.Hour), true}} {
		if got := s.Expired(tc.at); got != tc.want {
			t.Errorf("Expired at %v: got %v, want %v (expires at %v)", tc.at, got, tc.want, s.ExpiresAt)
		}
	}
	if s = newSession(t, sessionstore.Session{}); s.Expired(t0.AddDate(1000, 0, 0)) {
		t.Errorf("a session without TTL expired")
	}
}

// A clock out of range, or a TTL past year 9999, must not make a record that no backend
// can hold.
func TestClockOutOfRange(t *testing.T) {
	t.Parallel()
	last := time.Date(9999, 12, 31, 23, 59, 59, 999_999_000, time.UTC)
	for _, tc := range []struct{ now, updated, expires time.Time }{
		{time.Time{}, time.Date(1, 1, 1, 0, 0, 0, 1000, time.UTC), time.Date(1, 1, 1, 1, 0, 0, 1000, time.UTC)},
		{time.Date(12000, 1, 1, 0, 0, 0, 0, time.UTC), last, last},
		{last.Add(-time.Minute), last.Add(-time.Minute), last},
	} {
		s, err := sessionstore.Session{TTL: time.Hour}.Create(tc.now)
		wantErr(t, "Create", err, nil)
		if !s.UpdatedAt.Equal(tc.updated) || !s.ExpiresAt.Equal(tc.expires) {
			t.Errorf("now %v: got updated %v, expires %v, want %v, %v", tc.now, s.UpdatedAt, s.ExpiresAt, tc.updated, tc.expires)
		}
	}
}

func TestUpdateApply(t *testing.T) {
	t.Parallel()
	type U = sessionstore.SessionUpdate
	active, paused, closed := sessionstore.StatusActive, sessionstore.StatusPaused, sessionstore.StatusClosed
	big := strings.Repeat("x", 600<<10)
	for name, tc := range map[string]struct {
		from   sessionstore.Status
		u      U
		want   error
		change bool // Version grows
		moves  bool // UpdatedAt moves
	}{
		"nothing":                     {active, U{}, nil, false, false},
		"to itself":                   {active, U{Status: &active}, nil, false, false},
		"pause":                       {active, U{Status: &paused}, nil, true, true},
		"resume":                      {paused, U{Status: &active}, nil, true, true},
		"close active":                {active, U{Status: &closed}, nil, true, true},
		"close paused":                {paused, U{Status: &closed}, nil, true, true},
		"close closed":                {closed, U{Status: &closed}, nil, false, false},
		"reopen":                      {closed, U{Status: &active}, sessionstore.ErrInvalidTransition, false, false},
		"pause closed":                {closed, U{Status: &paused}, sessionstore.ErrInvalidTransition, false, false},
		"transition before closed":    {closed, U{Status: &paused, AgentName: ptr("b")}, sessionstore.ErrInvalidTransition, false, false},
		"conflict before transition":  {closed, U{IfVersion: 9, Status: &paused}, sessionstore.ErrConflict, false, false},
		"unknown status":              {active, U{Status: ptr(sessionstore.Status("x"))}, sessionstore.ErrInvalid, false, false},
		"version":                     {active, U{IfVersion: 1, Status: &paused}, nil, true, true},
		"version without a change":    {active, U{IfVersion: 2}, sessionstore.ErrConflict, false, false},
		"negative version":            {active, U{IfVersion: -1}, sessionstore.ErrInvalid, false, false},
		"agent":                       {paused, U{AgentName: ptr("b")}, nil, true, true},
		"agent of closed":             {closed, U{AgentName: ptr("b")}, sessionstore.ErrSessionClosed, false, false},
		"same agent of closed":        {closed, U{AgentName: ptr("a")}, nil, false, false},
		"agent with newline":          {active, U{AgentName: ptr("b\n")}, sessionstore.ErrInvalid, false, false},
		"system of closed":            {closed, U{System: ptr("new")}, sessionstore.ErrSessionClosed, false, false},
		"same system of closed":       {closed, U{System: ptr("sys")}, nil, false, false},
		"system":                      {active, U{System: ptr("")}, nil, true, true},
		"system not UTF-8":            {active, U{System: ptr("\xff")}, sessionstore.ErrInvalid, false, false},
		"metadata of closed":          {closed, U{SetMetadata: sessionstore.Metadata{"k": nil}}, nil, true, true},
		"same metadata":               {active, U{SetMetadata: sessionstore.Metadata{"old": 1}}, nil, false, false},
		"metadata of another type":    {active, U{SetMetadata: sessionstore.Metadata{"old": 1.0}}, nil, true, true},
		"delete":                      {closed, U{DeleteMetadata: []string{"old", "old"}}, nil, true, true},
		"delete nothing":              {active, U{DeleteMetadata: []string{"none"}}, nil, false, false},
		"set and delete":              {active, U{SetMetadata: sessionstore.Metadata{"k": 1}, DeleteMetadata: []string{"k"}}, sessionstore.ErrInvalid, false, false},
		"delete not UTF-8":            {active, U{DeleteMetadata: []string{"\xff"}}, sessionstore.ErrInvalid, false, false},
		"metadata NaN":                {active, U{SetMetadata: sessionstore.Metadata{"k": nan()}}, sessionstore.ErrInvalid, false, false},
		"ttl":                         {closed, U{TTL: ptr(time.Minute)}, nil, true, true},
		"same ttl":                    {active, U{TTL: ptr(time.Hour + 999)}, nil, false, false},
		"no ttl":                      {active, U{TTL: ptr(time.Duration(0))}, nil, true, true},
		"negative ttl":                {active, U{TTL: ptr(time.Duration(-1))}, sessionstore.ErrInvalid, false, false},
		"touch":                       {active, U{Touch: true}, nil, false, true},
		"touch closed":                {closed, U{Touch: true}, nil, false, true},
		"touch and change":            {active, U{Touch: true, Status: &paused}, nil, true, true},
		"too large by itself":         {active, U{System: ptr(big + big)}, sessionstore.ErrTooLarge, false, false},
		"too large after the merge":   {active, U{System: ptr(big), SetMetadata: sessionstore.Metadata{"k": big}}, sessionstore.ErrTooLarge, false, false},
		"closed before too large":     {closed, U{System: ptr(big), SetMetadata: sessionstore.Metadata{"big2": big[:300<<10]}}, sessionstore.ErrSessionClosed, false, false},
		"too large with what is here": {active, U{System: ptr(big)}, sessionstore.ErrTooLarge, false, false},
	} {
		s := newSession(t, sessionstore.Session{ID: "s", AgentName: "a", System: "sys", Status: tc.from, TTL: time.Hour,
			Metadata: sessionstore.Metadata{"old": 1, "big": big}})
		before := s.Clone()
		now := t0.Add(time.Minute)
		got, err := tc.u.Apply(s, now)
		if tc.want != nil {
			if !errors.Is(err, tc.want) {
				t.Errorf("%s: got error %v, want %v", name, err, tc.want)
			}
		} else if err != nil {
			t.Errorf("%s: got error %v, want none", name, err)
		} else {
			if grew := got.Version == 2; grew != tc.change || got.Version > 2 {
				t.Errorf("%s: got Version %d, want a change: %v", name, got.Version, tc.change)
			}
			if moved := got.UpdatedAt.Equal(now); moved != tc.moves {
				t.Errorf("%s: got UpdatedAt %v, want it moved: %v", name, got.UpdatedAt, tc.moves)
			}
			if !tc.change && !tc.moves && !reflect.DeepEqual(got, before) {
				t.Errorf("%s: changed\n from %+v\n to   %+v", name, before, got)
			}
			if got.TTL == 0 != got.ExpiresAt.IsZero() || got.TTL != 0 && !got.ExpiresAt.Equal(got.UpdatedAt.Add(got.TTL)) {
				t.Errorf("%s: got ExpiresAt %v for UpdatedAt %v and TTL %v", name, got.ExpiresAt, got.UpdatedAt, got.TTL)
			}
		}
		if !reflect.DeepEqual(s, before) {
			t.Errorf("%s: Apply changed its input", name)
		}
	}
}

func TestUpdateOfExpired(t *testing.T) {
	t.Parallel()
	s := newSession(t, sessionstore.Session{TTL: time.Hour})
	_, err := sessionstore.SessionUpdate{IfVersion: 9, Touch: true}.Apply(s, t0.Add(time.Hour))
	wantErr(t, "update of an expired session", err, sessionstore.ErrSessionNotFound)
}

func TestUpdateNeverMovesBack(t *testing.T) {
	t.Parallel()
	s := newSession(t, sessionstore.Session{TTL: time.Hour})
	got, err := sessionstore.SessionUpdate{TTL: ptr(2 * time.Hour), SetMetadata: sessionstore.Metadata{"k": 1}}.Apply(s, t0.Add(-time.Hour))
	wantErr(t, "update", err, nil)
	if !got.UpdatedAt.Equal(t0) || !got.ExpiresAt.Equal(t0.Add(2*time.Hour)) || got.Version != 2 {
		t.Errorf("clock behind: got UpdatedAt %v, ExpiresAt %v, Version %d", got.UpdatedAt, got.ExpiresAt, got.Version)
	}
}

func TestUpdatePrepareCopies(t *testing.T) {
	t.Parallel()
	status, name, sys, ttl := sessionstore.StatusPaused, "a", "s", time.Hour
	inner := map[string]any{"x": 1}
	in := sessionstore.SessionUpdate{Status: &status, AgentName: &name, System: &sys, TTL: &ttl,
		SetMetadata: sessionstore.Metadata{"k": inner}, DeleteMetadata: []string{"d"}}
	got, err := in.Prepare()
	wantErr(t, "Prepare", err, nil)
	status, name, sys, ttl = "x", "x", "x", 0
	inner["x"], in.DeleteMetadata[0] = "changed", "x"
	want := sessionstore.SessionUpdate{Status: ptr(sessionstore.StatusPaused), AgentName: ptr("a"), System: ptr("s"), TTL: ptr(time.Hour),
		SetMetadata: sessionstore.Metadata{"k": map[string]any{"x": int64(1)}}, DeleteMetadata: []string{"d"}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("Prepare\n got %+v\nwant %+v", got, want)
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	for _, e := range []error{sessionstore.ErrSessionPaused, sessionstore.ErrSessionClosed} {
		if !errors.Is(e, sessionstore.ErrSessionNotActive) {
			t.Errorf("%v does not match ErrSessionNotActive", e)
		}
	}
	if errors.Is(sessionstore.ErrSessionPaused, sessionstore.ErrSessionClosed) {
		t.Errorf("paused matches closed")
	}
	for _, tc := range []struct {
		err  error
		is   error
		text string
	}{
		{&sessionstore.InvalidError{Field: "f", Reason: "r"}, sessionstore.ErrInvalid, "invalid f: r"},
		{&sessionstore.ConflictError{Field: "version", Expected: 1, Actual: 2}, sessionstore.ErrConflict, "conflict: version is 2, expected 1"},
		{&sessionstore.LimitError{What: "things", Limit: 1, Got: 2}, sessionstore.ErrTooLarge, "too large: 2 things, at most 1 are allowed"},
	} {
		if !errors.Is(tc.err, tc.is) || tc.err.Error() != tc.text {
			t.Errorf("got %q (is %v: %v), want %q", tc.err, tc.is, errors.Is(tc.err, tc.is), tc.text)
		}
	}
}
