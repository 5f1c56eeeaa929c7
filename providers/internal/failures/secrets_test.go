package failures_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/sessionstore/sessionstore/providers/internal/failures"
)

func TestSecrets(t *testing.T) {
	t.Parallel()
	r := httptest.NewRequest(http.MethodPost, "https://user:pass-word@api.test/v1?key=in-the-url&n=1", nil)
	r.Header.Set("Authorization", "Bearer sk-bearer")
	r.Header.Set("X-Api-Key", "sk-plain")
	var s failures.Secrets
	s.Note(r)
	for _, secret := range []string{"sk-bearer", "sk-plain", "pass-word", "in-the-url"} {
		if got, want := s.Clean("bad "+secret+"!"), "bad [hidden]!"; got != want {
			t.Errorf("Clean of a text with %s: got %q, want %q", secret, got, want)
		}
		if !s.In(errors.New("bad " + secret)) {
			t.Errorf("In of an error with %s: got false, want true", secret)
		}
	}
	if got := s.Clean("1 Bearer"); got != "1 Bearer" {
		t.Errorf("Clean of a text with what is too short to be a secret: got %q, want it unchanged", got)
	}
	if s.In(errors.New("nothing of the kind")) {
		t.Error("In of an error without secrets: got true, want false")
	}
	if got := s.Clean(strings.Repeat("é", 1000)); len(got) > 1003 || !strings.HasSuffix(got, "é…") {
		t.Errorf("Clean of 2,000 bytes: got %d bytes that end in %q, want at most 1,003 that end in é…", len(got), got[len(got)-5:])
	}
}
