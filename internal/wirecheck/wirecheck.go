// Package wirecheck says whether a request is one that a provider's API takes, by the
// rules that the provider publishes. It looks at the JSON alone and shares no code with
// what makes requests, so that tests can hold one against the other. It knows no model:
// what only some models refuse is not a rule here.
package wirecheck

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Rule is one that an API checks, with the public page that states it. Unverified rules
// are known from the API's error messages, as users quote them.
type Rule struct {
	ID         string
	Source     string
	Unverified bool
}

const (
	claudeMessages = "https://platform.claude.com/docs/en/api/messages/create"
	claudeTools    = "https://platform.claude.com/docs/en/agents-and-tools/tool-use/handle-tool-calls"
	claudeDefine   = "https://platform.claude.com/docs/en/agents-and-tools/tool-use/define-tools"
	claudeThinking = "https://platform.claude.com/docs/en/build-with-claude/extended-thinking"
	claudeCaching  = "https://platform.claude.com/docs/en/build-with-claude/prompt-caching"
	claudeVision   = "https://platform.claude.com/docs/en/build-with-claude/vision"
	claudePDF      = "https://platform.claude.com/docs/en/build-with-claude/pdf-support"

	openaiChat      = "https://developers.openai.com/api/reference/resources/chat/subresources/completions/methods/create"
	openaiResponses = "https://developers.openai.com/api/reference/resources/responses/methods/create"
	openaiVision    = "https://developers.openai.com/api/docs/guides/images-vision"
	openaiFunctions = "https://developers.openai.com/api/docs/guides/function-calling"
	openaiAudio     = "https://developers.openai.com/api/docs/guides/audio"

	geminiContent   = "https://ai.google.dev/api/caching#Content"
	geminiFunctions = "https://ai.google.dev/gemini-api/docs/function-calling"
	geminiThoughts  = "https://ai.google.dev/gemini-api/docs/thought-signatures"
)

// Rules returns every rule, by API.
func Rules() []Rule {
	return slices.Concat(anthropicRules, chatRules, responsesRules, geminiRules)
}

// Violation is the first rule that a request breaks.
type Violation struct {
	Rule   string // its ID
	At     string // where, such as messages[2].content[0]
	Reason string
}

func (v *Violation) Error() string {
	return fmt.Sprintf("%s: rule %s: %s", v.At, v.Rule, v.Reason)
}

func broken(rule, at, format string, args ...any) error {
	return &Violation{rule, at, fmt.Sprintf(format, args...)}
}

type object = map[string]any

// parse reads a JSON value, numbers as json.Number.
func parse(rule string, b []byte) (any, error) {
	if !utf8.Valid(b) {
		return nil, broken(rule, "request", "is not valid UTF-8")
	}
	d := json.NewDecoder(strings.NewReader(string(b)))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, broken(rule, "request", "is no JSON: %v", err)
	}
	return v, nil
}

func str(o object, key string) string {
	s, _ := o[key].(string)
	return s
}

func has(o object, key string) bool {
	_, ok := o[key]
	return ok
}

// onlyKeys returns a key of o that is not among the allowed ones, or "".
func onlyKeys(o object, allowed ...string) string {
	for _, k := range slices.Sorted(mapKeys(o)) {
		if !slices.Contains(allowed, k) {
			return k
		}
	}
	return ""
}

func mapKeys(o object) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range o {
			if !yield(k) {
				return
			}
		}
	}
}

// plain reports whether s is of 1 to limit ASCII letters, digits, "_" and "-".
func plain(s string, limit int) bool {
	if s == "" || len(s) > limit {
		return false
	}
	for _, c := range []byte(s) {
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '_' && c != '-' {
			return false
		}
	}
	return true
}

func blank(s string) bool { return strings.TrimSpace(s) == "" }

// dataURL splits a data: URL of base64 into its media type and data.
func dataURL(s string) (mime, data string, ok bool) {
	rest, ok := strings.CutPrefix(s, "data:")
	if !ok {
		return "", "", false
	}
	mime, data, ok = strings.Cut(rest, ";base64,")
	return mime, data, ok
}

var imageTypes = []string{"image/jpeg", "image/png", "image/gif", "image/webp"}
