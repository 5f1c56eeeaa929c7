package failures

import (
	"net/http"
	"strings"
	"unicode/utf8"
)

// maxShown is how much of a server's text is shown, in bytes.
const maxShown = 1000

// Secrets are the texts of a request that no error may show: keys, and what is in its URL.
// The zero value is ready to use, by one request at a time.
type Secrets struct{ texts []string }

// Note takes the secrets of a request that is about to be sent.
func (s *Secrets) Note(r *http.Request) {
	for _, h := range []string{"Authorization", "Api-Key", "X-Api-Key"} {
		if _, key, ok := strings.Cut(r.Header.Get(h), " "); ok {
			s.hide(key)
		} else {
			s.hide(r.Header.Get(h))
		}
	}
	if password, ok := r.URL.User.Password(); ok {
		s.hide(password)
	}
	for _, values := range r.URL.Query() {
		for _, v := range values {
			s.hide(v)
		}
	}
}

func (s *Secrets) hide(text string) {
	if len(text) >= 4 { // shorter ones would only tear holes into what is shown
		s.texts = append(s.texts, text)
	}
}

// Clean returns the first 1,000 bytes of a text, without the secrets.
func (s *Secrets) Clean(text string) string {
	for _, secret := range s.texts {
		text = strings.ReplaceAll(text, secret, "[hidden]")
	}
	return Clip(text, maxShown)
}

// In reports whether the text of err has one of them.
func (s *Secrets) In(err error) bool {
	text := err.Error()
	for _, secret := range s.texts {
		if strings.Contains(text, secret) {
			return true
		}
	}
	return false
}

// Clip returns the first so many bytes of s, or a few less, never part of a rune.
func Clip(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit] + "…"
}
