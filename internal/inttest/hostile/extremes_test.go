package hostile_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/internal/inttest/backends"
	"github.com/sessionstore/sessionstore/internal/inttest/hostile"
)

// nested is a value of n lists and objects within each other.
func nested(n int) any {
	var v any = "bottom"
	for i := range n {
		if i%2 == 0 {
			v = []any{v}
		} else {
			v = map[string]any{"k": v}
		}
	}
	return v
}

// within is metadata that holds itself.
func within() sessionstore.Metadata {
	m := map[string]any{}
	m["self"] = m
	return m
}

type written string

func (w written) MarshalJSON() ([]byte, error) { return []byte(w), nil }

// TestValues gives metadata and unknown keys values that are no values, or too much of them.
func TestValues(t *testing.T) {
	deepText := strings.Repeat(`[`, 10_000) + strings.Repeat(`]`, 10_000)
	selfish := []any{nil}
	selfish[0] = selfish
	type loop struct{ Next *loop }
	ring := &loop{}
	ring.Next = ring
	bad := map[string]any{
		"101 levels": nested(sessionstore.MaxDepth), "10,000 levels": nested(10_000), "itself": within(), "a list in itself": selfish, "a struct in itself": ring,
		"raw of 10,000 levels": json.RawMessage(deepText), "marshalled to 10,000 levels": written(deepText),
		"NaN": math.NaN(), "infinity": math.Inf(1), "float32 infinity": float32(math.Inf(-1)), "a channel": make(chan int), "a function": func() {}, "complex": 1i,
		"no JSON": written(`{"a":`), "two values": written(`1 2`), "nothing": written(``), "an unpaired surrogate": written(`"\ud800"`), "invalid UTF-8": written("\"\xff\""),
		"raw, broken": json.RawMessage(`{]`), "raw, more than one": json.RawMessage(`1,"x":2`),
	}
	for _, n := range []string{"", "01", "+1", "1.", ".5", "0x10", "1e", "NaN", "Infinity", " 1", "1 ", "1,2", "--1", `1,"injected":2`, `1}`, "1\n", "0b1", "1_000", "\u0661"} {
		bad["the number "+n] = json.Number(n)
	}
	good := map[string]any{
		"100 levels": nested(sessionstore.MaxDepth - 1), "uint64": uint64(math.MaxUint64), "struct": struct {
			A string `json:"a.b"`
		}{"\x00"}, "marshalled": written(` { "b" : 1.0 , "a" : [ ] } `), "raw": json.RawMessage(` 1e400 `), "nil list": []string(nil), "bytes": []byte{0, 255}, "time": time.Unix(0, 0).UTC(),
	}
	for _, n := range []string{"1e400", "-0", "-0.0", "18446744073709551616", "1e-400", "9223372036854775807", "9223372036854775808", "0.1000000000000000055511151231257827", "1E+2", strings.Repeat("9", 5000), "0." + strings.Repeat("1", 5000)} {
		good["the number "+n] = json.Number(n)
	}
	each(t, func(t *testing.T, _ backends.Backend, a, b sessionstore.SessionStore) {
		before := dump(t, b)
		for name, v := range bad {
			m := sessionstore.Metadata{"v": v}
			_, created := a.CreateSession(t.Context(), sessionstore.Session{Metadata: m})
			_, updated := a.UpdateSession(t.Context(), hostile.Canary, sessionstore.SessionUpdate{SetMetadata: m})
			_, appended := a.AppendMessages(t.Context(), hostile.Canary, sessionstore.Append{Messages: []sessionstore.Message{{Role: sessionstore.RoleUser, Metadata: m}}})
			_, forked := sessionstore.ForkSession(t.Context(), a, hostile.Canary, sessionstore.Fork{Metadata: m})
			for call, err := range map[string]error{"CreateSession": created, "UpdateSession": updated, "AppendMessages": appended, "ForkSession": forked} {
				if !errors.Is(err, sessionstore.ErrInvalid) {
					t.Errorf("%s with %s in the metadata: got %v, want ErrInvalid", call, short(name), err)
				}
			}
		}
		if after := dump(t, b); after != before {
			t.Errorf("after values that are none: %s", difference(after, before))
		}
		m := sessionstore.Metadata{}
		for name, v := range good {
			m[name] = v
		}
		made, err := a.CreateSession(t.Context(), sessionstore.Session{Metadata: m})
		if err != nil {
			t.Fatalf("CreateSession with odd values: got %v, want nil", err)
		}
		added, err := a.AppendMessages(t.Context(), made.ID, sessionstore.Append{Messages: []sessionstore.Message{{Role: sessionstore.RoleUser, Metadata: m}}})
		if err != nil {
			t.Fatalf("AppendMessages with odd values: got %v, want nil", err)
		}
		page, err := b.ListMessages(t.Context(), made.ID, sessionstore.MessageQuery{})
		made.LastSeq, made.MessageCount, made.UpdatedAt = 1, 1, page.Session.UpdatedAt
		if err != nil || !same(page.Messages, added) || !same([]sessionstore.Session{page.Session}, []sessionstore.Session{made}) {
			t.Errorf("ListMessages after odd values: got %+v, %v, want %+v, %+v", page, err, made, added)
		}
		remove(t, a, made.ID)
	})
}

func remove(t testing.TB, s sessionstore.SessionStore, id string) {
	t.Helper()
	if err := s.DeleteSession(t.Context(), id); err != nil {
		t.Errorf("DeleteSession(%q): got %v, want nil", short(id), err)
	}
}

// many returns an object of n keys.
func many(n int) sessionstore.Metadata {
	m := make(sessionstore.Metadata, n)
	for i := range n {
		m[fmt.Sprintf("k%05d", i)] = int64(i)
	}
	return m
}

// TestManyKeys is 100,000 keys: a message may have them, a session not.
func TestManyKeys(t *testing.T) {
	each(t, func(t *testing.T, _ backends.Backend, a, b sessionstore.SessionStore) {
		before, keys := dump(t, b), many(100_000)
		var names []string
		for k := range keys {
			names = append(names, k)
		}
		_, created := a.CreateSession(t.Context(), sessionstore.Session{Metadata: keys})
		_, updated := a.UpdateSession(t.Context(), hostile.Canary, sessionstore.SessionUpdate{SetMetadata: keys})
		_, forked := sessionstore.ForkSession(t.Context(), a, hostile.Canary, sessionstore.Fork{Metadata: keys})
		for call, err := range map[string]error{"CreateSession": created, "UpdateSession": updated, "ForkSession": forked} {
			if !errors.Is(err, sessionstore.ErrTooLarge) {
				t.Errorf("%s with 100,000 keys: got %v, want ErrTooLarge", call, err)
			}
		}
		if _, err := a.UpdateSession(t.Context(), hostile.Canary, sessionstore.SessionUpdate{DeleteMetadata: names}); err != nil {
			t.Errorf("UpdateSession without 100,000 keys that it has not: got %v, want nil", err)
		}
		if after := dump(t, b); after != before {
			t.Errorf("after 100,000 keys: %s", difference(after, before))
		}
		s, err := a.CreateSession(t.Context(), sessionstore.Session{})
		if err != nil {
			t.Fatalf("CreateSession: got %v, want nil", err)
		}
		made, err := a.AppendMessages(t.Context(), s.ID, sessionstore.Append{Messages: []sessionstore.Message{{Role: sessionstore.RoleUser, Metadata: keys}}})
		if err != nil {
			t.Fatalf("AppendMessages with 100,000 keys: got %v, want nil", err)
		}
		page, err := b.ListMessages(t.Context(), s.ID, sessionstore.MessageQuery{})
		if err != nil || !same(page.Messages, made) {
			t.Errorf("ListMessages of a message with 100,000 keys: got %d messages, %v, want it as it was", len(page.Messages), err)
		}
		remove(t, a, s.ID)
	})
}

// TestNumbers gives every number its ends.
func TestNumbers(t *testing.T) {
	const least, most = math.MinInt64, math.MaxInt64
	ctx := t.Context()
	type call func(s sessionstore.SessionStore) error
	query := func(q sessionstore.MessageQuery) call {
		return func(s sessionstore.SessionStore) error { _, err := s.ListMessages(ctx, hostile.Canary, q); return err }
	}
	list := func(q sessionstore.SessionQuery) call {
		return func(s sessionstore.SessionStore) error { _, err := s.ListSessions(ctx, q); return err }
	}
	truncate := func(tr sessionstore.Truncate) call {
		return func(s sessionstore.SessionStore) error {
			_, err := s.TruncateMessages(ctx, hostile.Canary, tr)
			return err
		}
	}
	say := func(last int64) call {
		return func(s sessionstore.SessionStore) error {
			_, err := s.AppendMessages(ctx, hostile.Canary, sessionstore.Append{Messages: []sessionstore.Message{sessionstore.UserMessage("x")}, IfLastSeq: &last})
			return err
		}
	}
	change := func(u sessionstore.SessionUpdate) call {
		return func(s sessionstore.SessionStore) error { _, err := s.UpdateSession(ctx, hostile.Canary, u); return err }
	}
	create := func(in sessionstore.Session) call {
		return func(s sessionstore.SessionStore) error { _, err := s.CreateSession(ctx, in); return err }
	}
	fork := func(at int64) call {
		return func(s sessionstore.SessionStore) error {
			_, err := sessionstore.ForkSession(ctx, s, hostile.Canary, sessionstore.Fork{AtSeq: &at})
			return err
		}
	}
	purge := func(limit int) call {
		return func(s sessionstore.SessionStore) error {
			_, err := sessionstore.PurgeExpired(ctx, s, limit)
			return err
		}
	}
	restore := func(in sessionstore.Session) call {
		return func(s sessionstore.SessionStore) error {
			in.ID, in.CreatedAt, in.UpdatedAt = "r", time.Unix(1, 0), time.Unix(1, 0)
			_, err := sessionstore.RestoreSession(ctx, s, in, func(func(sessionstore.Message, error) bool) {})
			return err
		}
	}
	invalid, conflict := sessionstore.ErrInvalid, sessionstore.ErrConflict
	tests := []struct {
		name string
		call call
		want error
	}{
		{"after, most", query(sessionstore.MessageQuery{AfterSeq: most}), nil},
		{"after, least", query(sessionstore.MessageQuery{AfterSeq: least}), invalid},
		{"before, most", query(sessionstore.MessageQuery{BeforeSeq: most}), nil},
		{"before, most, newest", query(sessionstore.MessageQuery{BeforeSeq: most, Newest: true}), nil},
		{"before, least", query(sessionstore.MessageQuery{BeforeSeq: least}), invalid},
		{"after most, before 1", query(sessionstore.MessageQuery{AfterSeq: most, BeforeSeq: 1, Newest: true}), nil},
		{"limit, most", query(sessionstore.MessageQuery{Limit: math.MaxInt}), invalid},
		{"limit, least", query(sessionstore.MessageQuery{Limit: math.MinInt}), invalid},
		{"list limit, most", list(sessionstore.SessionQuery{Limit: math.MaxInt}), invalid},
		{"list limit, least", list(sessionstore.SessionQuery{Limit: math.MinInt}), invalid},
		{"list of 100,000 statuses", list(sessionstore.SessionQuery{Statuses: make([]sessionstore.Status, 100_000)}), invalid},
		{"truncate, most", truncate(sessionstore.Truncate{ThroughSeq: most}), nil},
		{"truncate, least", truncate(sessionstore.Truncate{ThroughSeq: least}), invalid},
		{"truncate if most", truncate(sessionstore.Truncate{IfLastSeq: new(int64(most))}), conflict},
		{"truncate if least", truncate(sessionstore.Truncate{IfLastSeq: new(int64(least))}), invalid},
		{"append if most", say(most), conflict},
		{"append if 2^53+2", say(1<<53 + 2), conflict},
		{"append if least", say(least), invalid},
		{"update if most", change(sessionstore.SessionUpdate{IfVersion: most, Touch: true}), conflict},
		{"update if least", change(sessionstore.SessionUpdate{IfVersion: least, Touch: true}), invalid},
		{"update TTL, most", change(sessionstore.SessionUpdate{TTL: new(time.Duration(most))}), invalid},
		{"update TTL, least", change(sessionstore.SessionUpdate{TTL: new(time.Duration(least))}), invalid},
		{"update TTL, a nanosecond", change(sessionstore.SessionUpdate{TTL: new(time.Duration(1))}), invalid},
		{"create TTL, a nanosecond more than 100 years", create(sessionstore.Session{TTL: sessionstore.MaxTTL + 1}), invalid},
		{"create, fork of most without a parent", create(sessionstore.Session{ForkSeq: most}), invalid},
		{"create, fork of least", create(sessionstore.Session{ParentID: "p", ForkSeq: least}), invalid},
		{"create in the year 10000", create(sessionstore.Session{CreatedAt: time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)}), invalid},
		{"create in the year -1", create(sessionstore.Session{CreatedAt: time.Date(-1, 1, 1, 0, 0, 0, 0, time.UTC)}), invalid},
		{"create at the end of time", create(sessionstore.Session{CreatedAt: time.Unix(1<<62, 0)}), invalid},
		{"fork at most", fork(most), invalid},
		{"fork at least", fork(least), invalid},
		{"purge of most", purge(math.MaxInt), nil},
		{"purge of least", purge(math.MinInt), invalid},
		{"restore with last_seq most", restore(sessionstore.Session{Version: 1, LastSeq: most}), invalid},
		{"restore with last_seq -1", restore(sessionstore.Session{Version: 1, LastSeq: -1}), invalid},
		{"restore with version most", restore(sessionstore.Session{Version: most}), invalid},
		{"restore with version 0", restore(sessionstore.Session{}), invalid},
		{"restore with a count of most", restore(sessionstore.Session{Version: 1, MessageCount: most}), invalid},
	}
	each(t, func(t *testing.T, _ backends.Backend, a, b sessionstore.SessionStore) {
		before := dump(t, b)
		for _, tt := range tests {
			if err := tt.call(a); !errors.Is(err, tt.want) {
				t.Errorf("%s: got %v, want %v", tt.name, err, tt.want)
			}
			if after := dump(t, b); after != before {
				t.Errorf("after %s: %s", tt.name, difference(after, before))
				before = after
			}
		}
	})
}

// TestGreatestSeq restores a session with the greatest LastSeq and Version there may be, and
// goes on from there: no number is rounded.
func TestGreatestSeq(t *testing.T) {
	none := func(func(sessionstore.Message, error) bool) {}
	each(t, func(t *testing.T, _ backends.Backend, a, b sessionstore.SessionStore) {
		ctx := t.Context()
		in := sessionstore.Session{
			ID: "great", CreatedAt: time.Unix(1, 0).UTC(), UpdatedAt: time.Unix(1, 0).UTC(), Status: sessionstore.StatusActive,
			Version: sessionstore.MaxSeq, LastSeq: sessionstore.MaxSeq, ParentID: "p", ForkSeq: math.MaxInt64,
		}
		got, err := sessionstore.RestoreSession(ctx, a, in, iter.Seq2[sessionstore.Message, error](none))
		if err != nil || got.LastSeq != in.LastSeq || got.Version != in.Version || got.ForkSeq != in.ForkSeq {
			t.Fatalf("RestoreSession: got %+v, %v, want last_seq and version %d, fork_seq %d", got, err, in.LastSeq, in.ForkSeq)
		}
		seen := map[int64]bool{}
		for i := range int64(4) {
			last := in.LastSeq + i
			if _, err := a.AppendMessages(ctx, in.ID, sessionstore.Append{Messages: []sessionstore.Message{sessionstore.UserMessage("x")}, IfLastSeq: new(last + 1)}); !errors.Is(err, sessionstore.ErrConflict) {
				t.Errorf("AppendMessages if last_seq is %d where it is %d: got %v, want ErrConflict", last+1, last, err)
			}
			made, err := a.AppendMessages(ctx, in.ID, sessionstore.Append{Messages: []sessionstore.Message{sessionstore.UserMessage("x")}, IfLastSeq: &last})
			if err != nil || made[0].Seq != last+1 {
				t.Fatalf("AppendMessages if last_seq is %d: got %+v, %v, want seq %d", last, made, err, last+1)
			}
			up, err := b.UpdateSession(ctx, in.ID, sessionstore.SessionUpdate{IfVersion: in.Version + i, SetMetadata: sessionstore.Metadata{"i": i}})
			if err != nil || up.Version != in.Version+i+1 || up.LastSeq != last+1 {
				t.Fatalf("UpdateSession if version is %d: got version %d, last_seq %d, %v, want %d and %d", in.Version+i, up.Version, up.LastSeq, err, in.Version+i+1, last+1)
			}
		}
		page, err := b.ListMessages(ctx, in.ID, sessionstore.MessageQuery{AfterSeq: in.LastSeq + 1, BeforeSeq: in.LastSeq + 4})
		for _, m := range page.Messages {
			seen[m.Seq] = true
		}
		if err != nil || len(page.Messages) != 2 || !seen[in.LastSeq+2] || !seen[in.LastSeq+3] {
			t.Errorf("ListMessages from %d to %d: got %+v, %v, want the two between", in.LastSeq+1, in.LastSeq+4, page.Messages, err)
		}
		cut, err := a.TruncateMessages(ctx, in.ID, sessionstore.Truncate{ThroughSeq: in.LastSeq + 2})
		if err != nil || cut.MessageCount != 2 || cut.LastSeq != in.LastSeq+4 {
			t.Errorf("TruncateMessages through %d: got count %d, last_seq %d, %v, want 2 and %d", in.LastSeq+2, cut.MessageCount, cut.LastSeq, err, in.LastSeq+4)
		}
		remove(t, a, in.ID)
	})
}
