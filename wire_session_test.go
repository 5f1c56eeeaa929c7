package sessionstore_test

import (
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/sessionstore/sessionstore"
)

func TestSessionJSON(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 1, 9, 30, 0, 0, time.UTC)
	for _, tt := range []struct {
		s    sessionstore.Session
		want string
	}{
		{
			sessionstore.Session{Status: sessionstore.StatusActive, Metadata: sessionstore.Metadata{}},
			`{"session_id":"","agent_name":"","status":"active","metadata":{},"created_at":null,"updated_at":null}`,
		},
		{
			sessionstore.Session{
				ID: "s", AgentName: "a", UserID: "u", Status: sessionstore.StatusClosed, System: "<be brief>", Metadata: sessionstore.Metadata{"k": int64(1)},
				TTL: 90*time.Minute + 1500*time.Microsecond, ParentID: "p", ForkSeq: 2, CreatedAt: at, UpdatedAt: at.Add(time.Microsecond),
				ExpiresAt: at.Add(time.Hour), LastSeq: 9, MessageCount: 7, Version: 3, Extra: rawMap{"next": rawOf(`{"b":1.0,"a":[]}`), "": rawOf(`1`)},
			},
			`{"session_id":"s","agent_name":"a","user_id":"u","status":"closed","system":"<be brief>","metadata":{"k":1},"ttl_seconds":5400.0015,` +
				`"parent_id":"p","fork_seq":2,"created_at":"2026-03-01T09:30:00.000000+00:00","updated_at":"2026-03-01T09:30:00.000001+00:00",` +
				`"expires_at":"2026-03-01T10:30:00.000000+00:00","last_seq":9,"message_count":7,"version":3,"":1,"next":{"b":1.0,"a":[]}}`,
		},
	} {
		if out := appendJSON(t, tt.s); out != tt.want {
			t.Errorf("written\n%s, want\n%s", out, tt.want)
		}
		got, err := sessionstore.DecodeSession([]byte(tt.want))
		if err != nil || !reflect.DeepEqual(got, tt.s) {
			t.Errorf("%s is read as\n%#v, %v; want\n%#v", tt.want, got, err, tt.s)
		}
		var std sessionstore.Session
		b, err := json.Marshal(tt.s)
		if err == nil {
			err = json.Unmarshal(b, &std)
		}
		if err != nil || !reflect.DeepEqual(std, tt.s) {
			t.Errorf("encoding/json: %s is read as %#v, %v", b, std, err)
		}
	}
}

func TestDecodeSessionLeniently(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]sessionstore.Session{
		`{}`: {},
		`{"session_id":null,"agent_name":null,"user_id":null,"status":null,"system":null,"metadata":null,"ttl_seconds":null,"parent_id":null,` +
			`"fork_seq":null,"created_at":null,"updated_at":null,"expires_at":null,"last_seq":null,"message_count":null,"version":null}`: {},
		`{"status":""}`:                            {},
		`{"status":"paused"}`:                      {Status: sessionstore.StatusPaused},
		`{"status":"archived"}`:                    {Status: "archived"},
		`{"ttl_seconds":3600}`:                     {TTL: time.Hour},
		`{"ttl_seconds":36e2}`:                     {TTL: time.Hour},
		`{"ttl_seconds":0.1}`:                      {TTL: 100 * time.Millisecond},
		`{"ttl_seconds":0.0000000019}`:             {TTL: 1},
		`{"ttl_seconds":-1.5}`:                     {TTL: -1500 * time.Millisecond},
		`{"ttl_seconds":9223372036.854775807}`:     {TTL: math.MaxInt64},
		`{"ttl_seconds":-9223372036.854775808}`:    {TTL: math.MinInt64},
		`{"session_id":"a","session\u005fid":"b"}`: {ID: "b"},
		`{"Status":"closed"}`:                      {Extra: rawMap{"Status": rawOf(`"closed"`)}},
	} {
		if want.Status == "" {
			want.Status = sessionstore.StatusActive
		}
		want.Metadata = sessionstore.Metadata{}
		got, err := sessionstore.DecodeSession([]byte(in))
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s is read as %#v, %v; want %#v", in, got, err, want)
			continue
		}
		back, err := sessionstore.DecodeSession([]byte(appendJSON(t, got)))
		if err != nil || !reflect.DeepEqual(back, got) {
			t.Errorf("%s is read again as %#v, %v; want %#v", in, back, err, got)
		}
	}
}

// As encoding/json has it, null changes nothing, whatever it is read into.
func TestUnmarshalNull(t *testing.T) {
	t.Parallel()
	type all struct {
		S sessionstore.Session
		M sessionstore.Message
		C sessionstore.ToolCall
		P sessionstore.Part
	}
	got := all{
		S: sessionstore.Session{ID: "s"}, M: sessionstore.UserMessage("hi"),
		C: sessionstore.ToolCall{ID: "c"}, P: sessionstore.TextPart("p"),
	}
	want := got
	if err := json.Unmarshal([]byte(`{"S":null,"M":null,"C":null,"P":null}`), &got); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v; want %+v", got, err, want)
	}
}

func TestDecodeSessionErrors(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ in, field string }{
		{``, "session"},
		{`null`, "session"},
		{`[]`, "session"},
		{`{`, "session"},
		{`{} 1`, "session"},
		{`{"session_id":1}`, "session_id"},
		{`{"agent_name":1}`, "agent_name"},
		{`{"user_id":1}`, "user_id"},
		{`{"status":1}`, "status"},
		{`{"system":1}`, "system"},
		{`{"metadata":1}`, "metadata"},
		{`{"ttl_seconds":"1"}`, "ttl_seconds"},
		{`{"ttl_seconds":1e10}`, "ttl_seconds"},
		{`{"ttl_seconds":1e999999999999}`, "ttl_seconds"},
		{`{"ttl_seconds":9223372036.854775808}`, "ttl_seconds"},
		{`{"parent_id":1}`, "parent_id"},
		{`{"fork_seq":1.5}`, "fork_seq"},
		{`{"created_at":"x"}`, "created_at"},
		{`{"updated_at":0}`, "updated_at"},
		{`{"expires_at":"2026-02-30"}`, "expires_at"},
		{`{"last_seq":"1"}`, "last_seq"},
		{`{"message_count":[]}`, "message_count"},
		{`{"version":1e0}`, "version"},
		{`{"x":[}`, "x"},
	} {
		s, err := sessionstore.DecodeSession([]byte(tt.in))
		var e *sessionstore.InvalidError
		if !errors.As(err, &e) || e.Field != tt.field {
			t.Errorf("%s is read as %#v, %v; want an *InvalidError of %s", tt.in, s, err, tt.field)
		}
		var into sessionstore.Session
		if err := into.UnmarshalJSON([]byte(tt.in)); tt.in != "null" && !errors.Is(err, sessionstore.ErrInvalid) || !reflect.DeepEqual(into, sessionstore.Session{}) {
			t.Errorf("UnmarshalJSON of %s: %#v, %v; want ErrInvalid and no change", tt.in, into, err)
		}
	}
}

func TestSessionJSONErrors(t *testing.T) {
	t.Parallel()
	far := time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)
	for field, s := range map[string]sessionstore.Session{
		"session_id": {ID: "\xff"},
		"agent_name": {AgentName: "\xff"},
		"user_id":    {UserID: "\xff"},
		"status":     {Status: "\xff"},
		"system":     {System: "\xff"},
		"metadata":   {Metadata: sessionstore.Metadata{"k": math.NaN()}},
		"parent_id":  {ParentID: "\xff"},
		"created_at": {CreatedAt: far},
		"updated_at": {UpdatedAt: far},
		"expires_at": {ExpiresAt: far},
		"extra":      {Extra: rawMap{"version": rawOf(`1`)}},
		"x":          {Extra: rawMap{"x": rawOf(`{`)}},
	} {
		out, err := s.AppendJSON(nil)
		var e *sessionstore.InvalidError
		if !errors.As(err, &e) || e.Field != field {
			t.Errorf("%s: written %q, %v; want an *InvalidError of it", field, out, err)
		}
	}
	for _, k := range []string{
		"session_id", "agent_name", "user_id", "status", "system", "metadata", "ttl_seconds", "parent_id", "fork_seq",
		"created_at", "updated_at", "expires_at", "last_seq", "message_count", "version",
	} {
		s := sessionstore.Session{ID: "s", Extra: rawMap{k: rawOf(`1`)}}
		if _, err := s.Create(time.Unix(0, 0)); !errors.Is(err, sessionstore.ErrInvalid) {
			t.Errorf("Create with the extra key %q: %v, want ErrInvalid", k, err)
		}
	}
}

func TestStateSize(t *testing.T) {
	t.Parallel()
	s := sessionstore.Session{
		ID: "not counted", System: "é\n", Metadata: sessionstore.Metadata{"k": "<", "f": 1.0}, Extra: rawMap{"x": rawOf(`[1]`)},
	}
	want := len(`{"f":1.0,"k":"<"}`) + len(`"é\n"`) + len(`,"x":[1]`)
	if got := sessionstore.StateSize(s); got != want {
		t.Errorf("the state has %d bytes, want %d", got, want)
	}
	if got := sessionstore.StateSize(sessionstore.Session{System: strings.Repeat("x", 10)}); got != len(`{}`)+12 {
		t.Errorf("the state has %d bytes, want %d", got, len(`{}`)+12)
	}
}
