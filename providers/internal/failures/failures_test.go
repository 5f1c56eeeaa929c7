package failures_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/sessionstore/sessionstore/providers/internal/failures"
)

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, c := range []struct {
		key, value string
		want       time.Duration
	}{
		{"Retry-After", "7", 7 * time.Second},
		{"Retry-After", "0.5", 500 * time.Millisecond},
		{"Retry-After", "Fri, 02 Jan 2026 03:04:15 GMT", 10 * time.Second},
		{"Retry-After", "Fri, 02 Jan 2026 03:04:01 GMT", 0},
		{"Retry-After", "-1", 0},
		{"Retry-After", "1e300", 0},
		{"Retry-After", "soon", 0},
		{"Retry-After-Ms", "20", 20 * time.Millisecond},
		{"X", "1", 0},
	} {
		if got := failures.RetryAfter(http.Header{c.key: {c.value}}, now); got != c.want {
			t.Errorf("%s: %s means %v, want %v", c.key, c.value, got, c.want)
		}
	}
}

func TestClip(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{"": "", "abc": "abc", "abcd": "abc…", "abé": "ab…"} {
		if got := failures.Clip(in, 3); got != want {
			t.Errorf("Clip(%q, 3) = %q, want %q", in, got, want)
		}
	}
}
