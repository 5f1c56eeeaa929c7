// Package failures reads what a provider's server says of a request that failed, without
// what no error may show.
package failures

import (
	"net/http"
	"strconv"
	"time"
)

// RetryAfter returns how long a server asks to wait: by retry-after-ms, or by Retry-After
// in seconds or as a date. 0 where it does not say.
func RetryAfter(h http.Header, now time.Time) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil && ms > 0 && ms < 1e12 {
		return time.Duration(ms * float64(time.Millisecond))
	}
	after := h.Get("Retry-After")
	if s, err := strconv.ParseFloat(after, 64); err == nil && s > 0 && s < 1e9 {
		return time.Duration(s * float64(time.Second))
	}
	if at, err := http.ParseTime(after); err == nil {
		return max(at.Sub(now), 0)
	}
	return 0
}
