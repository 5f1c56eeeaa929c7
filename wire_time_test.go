package sessionstore_test

import (
	"errors"
	"testing"
	"time"

	"github.com/sessionstore/sessionstore"
)

func decodeTime(s string) (time.Time, error) {
	m, err := sessionstore.DecodeMessage([]byte(`{"created_at":"` + s + `"}`))
	return m.CreatedAt, err
}

func TestDecodeTime(t *testing.T) {
	t.Parallel()
	at := func(ns int) time.Time { return time.Date(2026, 3, 1, 9, 30, 5, ns, time.UTC) }
	minute := time.Date(2026, 3, 1, 9, 30, 0, 0, time.UTC)
	for _, tt := range []struct {
		in   string
		want time.Time
	}{
		{"2026-03-01T09:30:05.123456+00:00", at(123456000)},
		{"2026-03-01t09:30:05z", at(0)},
		{"2026-03-01 09:30:05Z", at(0)},
		{"2026-03-01T09:30:05", at(0)},
		{"2026-03-01T09:30:05.1", at(100000000)},
		{"2026-03-01T09:30:05,25", at(250000000)},
		{"2026-03-01T09:30:05.9999999999Z", at(999999000)},
		{"2026-03-01T09:30", minute},
		{"2026-03-01T09:30Z", minute},
		{"2026-03-01T09", minute.Add(-30 * time.Minute)},
		{"2026-03-01", time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)},
		{"2026-03-01T09:30:05-00:00", at(0)},
		{"2026-03-01T09:30:05+02", at(0).Add(-2 * time.Hour)},
		{"2026-03-01T09:30:05-0330", at(0).Add(3*time.Hour + 30*time.Minute)},
		{"2026-03-01T09:30:05+05:30", at(0).Add(-5*time.Hour - 30*time.Minute)},
		{"2026-03-01T09:30:05+05:30:10", at(0).Add(-5*time.Hour - 30*time.Minute - 10*time.Second)},
		{"2026-03-01T09:30:05-05:30:10.5", at(500000000).Add(5*time.Hour + 30*time.Minute + 10*time.Second)},
		{"2024-02-29T23:59:59.999999Z", time.Date(2024, 2, 29, 23, 59, 59, 999999000, time.UTC)},
		{"2000-02-29", time.Date(2000, 2, 29, 0, 0, 0, 0, time.UTC)},
		{"0001-01-01T00:00:00.000001Z", time.Date(1, 1, 1, 0, 0, 0, 1000, time.UTC)},
		{"0001-01-01T00:00:00Z", time.Time{}},
		{"9999-12-31T23:59:59.999999Z", time.Date(9999, 12, 31, 23, 59, 59, 999999000, time.UTC)},
	} {
		// ==, not only Equal: UTC, no monotonic reading.
		if got, err := decodeTime(tt.in); got != tt.want || err != nil {
			t.Errorf("%s is read as %v, %v; want %v", tt.in, got, err, tt.want)
		}
	}
}

func TestDecodeTimeErrors(t *testing.T) {
	t.Parallel()
	for _, in := range []string{
		"", "now", "2026", "2026-03", "2026-3-1", "20260301", "2026/03/01", "2026-03-01T", "2026-03-01X09:30",
		"2026-13-01", "2026-00-01", "2026-04-31", "2026-02-29", "1900-02-29", "2026-03-00", "0000-01-01",
		"2026-03-01T24:00", "2026-03-01T09:60", "2026-03-01T09:30:60", "2026-03-01T9:30", "2026-03-01T09:30:",
		"2026-03-01T09:30:05.", "2026-03-01T09:30:05.Z", "2026-03-01T09:30:05+", "2026-03-01T09:30:05+24:00",
		"2026-03-01T09:30:05+5", "2026-03-01T09:30:05+05:3", "2026-03-01T09:30:05+053015", "2026-03-01T09:30:05UTC",
		"2026-03-01T09:30:05Z ", " 2026-03-01", "+2026-03-01", "-026-03-01", "2026-03-01T-9:30",
		"0001-01-01T00:00:00+00:01", "9999-12-31T23:59:59-00:01",
	} {
		if got, err := decodeTime(in); !errors.Is(err, sessionstore.ErrInvalid) {
			t.Errorf("%q is read as %v, %v; want ErrInvalid", in, got, err)
		}
	}
}

// Field report S06: precision beyond the stored one must be cut off, never rounded, and
// before the value is returned.
func TestTimeIsTruncated(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		in   time.Time
		want string
	}{
		{time.Date(2026, 12, 31, 23, 59, 59, 999999999, time.UTC), `"2026-12-31T23:59:59.999999+00:00"`},
		{time.Date(1969, 12, 31, 23, 59, 59, 999999999, time.UTC), `"1969-12-31T23:59:59.999999+00:00"`},
		{time.Date(1, 1, 1, 0, 0, 0, 1999, time.UTC), `"0001-01-01T00:00:00.000001+00:00"`},
		{time.Date(9999, 12, 31, 23, 59, 59, 999999999, time.UTC), `"9999-12-31T23:59:59.999999+00:00"`},
		{time.Date(2026, 3, 1, 5, 0, 0, 0, time.FixedZone("", 19800)), `"2026-02-28T23:30:00.000000+00:00"`},
		{time.Time{}, `null`},
		{time.Time{}.Add(999), `null`},
	} {
		m := sessionstore.Message{Role: sessionstore.RoleUser, CreatedAt: tt.in}
		out := appendJSON(t, m)
		want := `{"message_id":"","session_id":"","role":"user","content":null,"tool_call_id":null,"agent_name":null,"created_at":` + tt.want + `,"metadata":{}}`
		if out != want {
			t.Errorf("%v is written in %s, want %s", tt.in, out, want)
		}
	}
	for _, in := range []time.Time{
		time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC),
		time.Date(0, 12, 31, 23, 59, 59, 0, time.UTC),
		time.Date(9999, 12, 31, 23, 59, 59, 0, time.FixedZone("", -3600)),
	} {
		if out, err := (sessionstore.Message{CreatedAt: in}).AppendJSON(nil); !errors.Is(err, sessionstore.ErrInvalid) {
			t.Errorf("%v is written in %s, %v; want ErrInvalid", in, out, err)
		}
	}
}

// Field report S07: times must not come back shifted by, or in, the process's zone.
func TestTimeZoneOfTheProcess(t *testing.T) {
	old := time.Local
	defer func() { time.Local = old }()
	time.Local = time.FixedZone("Asia/Kolkata", 19800)
	want := time.Date(2026, 3, 1, 9, 30, 0, 0, time.UTC)
	for _, in := range []string{"2026-03-01T09:30:00", "2026-03-01T09:30:00Z", "2026-03-01T15:00:00+05:30"} {
		if got, err := decodeTime(in); got != want || got.Location() != time.UTC || err != nil {
			t.Errorf("%s is read as %v, %v; want %v", in, got, err, want)
		}
	}
	m := sessionstore.Message{CreatedAt: want.In(time.Local)}
	if got, err := sessionstore.DecodeMessage([]byte(appendJSON(t, m))); got.CreatedAt != want || err != nil {
		t.Errorf("read %v, %v; want %v", got.CreatedAt, err, want)
	}
}

func appendJSON(t *testing.T, v interface {
	AppendJSON([]byte) ([]byte, error)
}) string {
	t.Helper()
	out, err := v.AppendJSON(nil)
	if err != nil {
		t.Fatalf("AppendJSON of %#v: %v", v, err)
	}
	return string(out)
}
