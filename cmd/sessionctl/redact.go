package main

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/sessionstore/sessionstore"
)

// aURL begins where a URL does. Of one in the middle of a text it ends at white space or
// quotes, which is not sure to be its end.
var aURL = regexp.MustCompile(`[A-Za-z][A-Za-z0-9+.-]*://[^\s"'` + "`" + `]*`)

// redacted returns the text of an error as it may be shown. A URL with a password may have
// gone to any flag or argument by mistake, and from there into any error, so each is
// replaced by sessionstore.RedactURL: first those of the command line, whose ends are
// known, as they are and as quoted; then what looks like one.
func redacted(text string, args []string) string {
	if !strings.Contains(text, "://") {
		return text
	}
	for _, arg := range args {
		at := aURL.FindStringIndex(arg)
		if at == nil {
			continue
		}
		url := arg[at[0]:]
		quoted := strconv.Quote(url)
		shown := sessionstore.RedactURL(url)
		text = strings.ReplaceAll(text, url, shown)
		text = strings.ReplaceAll(text, quoted[1:len(quoted)-1], shown)
	}
	return aURL.ReplaceAllStringFunc(text, func(url string) string {
		end := strings.TrimRight(url, ":,;.)") // of the sentence
		return sessionstore.RedactURL(end) + url[len(end):]
	})
}
