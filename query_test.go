package sessionstore_test

import (
	"cmp"
	"encoding/base64"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/sessionstore/sessionstore"
	"pgregory.net/rapid"
)

func TestSessionQueryPrepare(t *testing.T) {
	t.Parallel()
	type Q = sessionstore.SessionQuery
	for name, tc := range map[string]struct {
		q     Q
		limit int
		want  error
	}{
		"zero":           {Q{}, 100, nil},
		"one":            {Q{Limit: 1}, 1, nil},
		"most":           {Q{Limit: 1000}, 1000, nil},
		"above":          {Q{Limit: 1001}, 0, sessionstore.ErrInvalid},
		"negative":       {Q{Limit: -1}, 0, sessionstore.ErrInvalid},
		"status":         {Q{Statuses: []sessionstore.Status{"x"}}, 0, sessionstore.ErrInvalid},
		"empty status":   {Q{Statuses: []sessionstore.Status{""}}, 0, sessionstore.ErrInvalid},
		"statuses":       {Q{Statuses: []sessionstore.Status{"active", "active"}}, 100, nil},
		"user":           {Q{UserID: "a\n"}, 0, sessionstore.ErrInvalid},
		"agent":          {Q{AgentName: "\xff"}, 0, sessionstore.ErrInvalid},
		"parent":         {Q{ParentID: strings.Repeat("x", 256)}, 0, sessionstore.ErrInvalid},
		"garbage cursor": {Q{Cursor: "garbage!"}, 0, sessionstore.ErrInvalid},
	} {
		got, err := tc.q.Prepare()
		if tc.want == nil && err != nil || !errors.Is(err, tc.want) || got.Limit != tc.limit {
			t.Errorf("%s: got limit %d and error %v, want %d and %v", name, got.Limit, err, tc.limit, tc.want)
		}
	}
}

func TestMatches(t *testing.T) {
	t.Parallel()
	type Q = sessionstore.SessionQuery
	s := newSession(t, sessionstore.Session{ID: "s", UserID: "u", AgentName: "a", ParentID: "p", TTL: time.Hour})
	for name, tc := range map[string]struct {
		q    Q
		at   time.Time
		want bool
	}{
		"all":            {Q{}, t0, true},
		"expired":        {Q{}, t0.Add(time.Hour), false},
		"every filter":   {Q{UserID: "u", AgentName: "a", ParentID: "p", Statuses: []sessionstore.Status{"closed", "active"}}, t0, true},
		"other user":     {Q{UserID: "U"}, t0, false},
		"other agent":    {Q{UserID: "u", AgentName: "b"}, t0, false},
		"other parent":   {Q{ParentID: "s"}, t0, false},
		"other status":   {Q{Statuses: []sessionstore.Status{"closed"}}, t0, false},
		"empty statuses": {Q{Statuses: []sessionstore.Status{}}, t0, true},
	} {
		if got := tc.q.Matches(s, tc.at); got != tc.want {
			t.Errorf("%s: got %v, want %v", name, got, tc.want)
		}
	}
}

func TestMessageQueryPrepare(t *testing.T) {
	t.Parallel()
	type Q = sessionstore.MessageQuery
	for name, tc := range map[string]struct {
		q     Q
		limit int
		want  error
	}{
		"zero":            {Q{}, 1000, nil},
		"one":             {Q{Limit: 1}, 1, nil},
		"above":           {Q{Limit: 1001}, 0, sessionstore.ErrInvalid},
		"negative":        {Q{Limit: -1}, 0, sessionstore.ErrInvalid},
		"negative after":  {Q{AfterSeq: -1}, 0, sessionstore.ErrInvalid},
		"negative before": {Q{BeforeSeq: -1}, 0, sessionstore.ErrInvalid},
		"crossed":         {Q{AfterSeq: 9, BeforeSeq: 3}, 1000, nil},
	} {
		got, err := tc.q.Prepare()
		if tc.want == nil && err != nil || !errors.Is(err, tc.want) || got.Limit != tc.limit {
			t.Errorf("%s: got limit %d and error %v, want %d and %v", name, got.Limit, err, tc.limit, tc.want)
		}
	}
}

// keys generates places in a list, from a few times and ids so that ties are common.
func keys() *rapid.Generator[sessionstore.SessionKey] {
	return rapid.Custom(func(t *rapid.T) sessionstore.SessionKey {
		at := rapid.SampledFrom([]time.Time{t0, t0.Add(time.Microsecond), time.Date(1, 1, 1, 0, 0, 0, 1000, time.UTC),
			time.Date(9999, 12, 31, 23, 59, 59, 999_999_000, time.UTC), time.Date(1969, 12, 31, 23, 59, 59, 0, time.UTC)}).Draw(t, "at")
		id := rapid.OneOf(rapid.SampledFrom([]string{"a", "ab", "b", "é", "🙂", "~", "A"}), rapid.StringMatching(`[a-z:/{}*é🙂]{1,20}`)).Draw(t, "id")
		return sessionstore.SessionKey{UpdatedAt: at, ID: id}
	})
}

func TestSessionKey(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a, b := keys().Draw(t, "a"), keys().Draw(t, "b")
		if got, want := cmp.Compare(a.String(), b.String()), a.Compare(b); got != want {
			t.Fatalf("String orders %v and %v as %d, Compare as %d", a, b, got, want)
		}
		got, err := sessionstore.ParseCursor(a.Cursor())
		if err != nil || got != a {
			t.Fatalf("cursor of %v reads as %v, %v", a, got, err)
		}
		q, err := sessionstore.SessionQuery{Cursor: a.Cursor()}.Prepare()
		if err != nil {
			t.Fatalf("Prepare: %v", err)
		}
		if k, ok, err := q.After(); k != a || !ok || err != nil {
			t.Fatalf("After: got %v, %v, %v", k, ok, err)
		}
	})
	if _, ok, err := (sessionstore.SessionQuery{}).After(); ok || err != nil {
		t.Errorf("After without a cursor: got %v, %v", ok, err)
	}
}

func TestParseCursorRefuses(t *testing.T) {
	t.Parallel()
	enc := base64.RawURLEncoding.EncodeToString
	good := sessionstore.SessionKey{UpdatedAt: t0, ID: "s"}.Cursor()
	for name, cursor := range map[string]string{
		"garbage":       "!!!",
		"padding":       good + "=",
		"line break":    good[:4] + "\n" + good[4:],
		"cut":           good[:5],
		"no bytes":      enc(nil)[:0] + "A",
		"version":       enc([]byte("\x02\x00\x00\x00\x00\x00\x00\x00\x01s")),
		"no id":         enc([]byte("\x01\x00\x00\x00\x00\x00\x00\x00\x01")),
		"bad id":        enc([]byte("\x01\x00\x00\x00\x00\x00\x00\x00\x01\n")),
		"time too late": enc([]byte("\x01\xff\xff\xff\xff\xff\xff\xff\xffs")),
		"too long":      strings.Repeat("A", 10_000),
		"loose bits":    good[:len(good)-1] + string(good[len(good)-1]+1),
	} {
		if k, err := sessionstore.ParseCursor(cursor); !errors.Is(err, sessionstore.ErrInvalid) {
			t.Errorf("%s: got %v, %v, want ErrInvalid", name, k, err)
		}
	}
}

func FuzzParseCursor(f *testing.F) {
	f.Add(sessionstore.SessionKey{UpdatedAt: t0, ID: "s"}.Cursor())
	f.Add("")
	f.Add("AQ")
	f.Fuzz(func(t *testing.T, cursor string) {
		k, err := sessionstore.ParseCursor(cursor)
		if err != nil {
			if !errors.Is(err, sessionstore.ErrInvalid) {
				t.Fatalf("%q: got %v, want ErrInvalid", cursor, err)
			}
			return
		}
		if got := k.Cursor(); got != cursor {
			t.Fatalf("%q reads as %v, which writes %q", cursor, k, got)
		}
	})
}
