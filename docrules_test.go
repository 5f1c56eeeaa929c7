package sessionstore_test

import (
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/sessionstore/sessionstore/storetest"
)

var ruleParagraph = regexp.MustCompile(`(?s)^\[([a-z]+(?:\.[a-z]+)?)\] (.+)$`)

// docRules returns the rules that the package's comments state: paragraphs that begin
// with an id in brackets.
func docRules(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob("*.go")
	wantErr(t, "Glob", err, nil)
	rules := map[string]string{}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments|parser.SkipObjectResolution)
		wantErr(t, "parse "+name, err, nil)
		for _, group := range f.Comments {
			for _, p := range strings.Split(group.Text(), "\n\n") {
				m := ruleParagraph.FindStringSubmatch(strings.TrimSpace(p))
				if m == nil {
					continue
				}
				if _, ok := rules[m[1]]; ok {
					t.Errorf("rule [%s] is stated twice", m[1])
				}
				rules[m[1]] = strings.Join(strings.Fields(m[2]), " ")
			}
		}
	}
	return rules
}

// The sentence that a user reads in the documentation is the one that the suite tests.
func TestRulesOfTheDocsAreThoseOfTheSuite(t *testing.T) {
	t.Parallel()
	docs := docRules(t)
	for _, r := range storetest.Rules() {
		id := string(r.ID)
		want, ok := docs[id]
		delete(docs, id)
		if !ok {
			t.Errorf("rule [%s] of the suite stands in no doc comment", id)
		} else if got := strings.Join(strings.Fields(r.Sentence), " "); got != want {
			t.Errorf("rule [%s]\n in the docs:  %s\n in the suite: %s", id, want, got)
		}
	}
	for id := range docs {
		t.Errorf("rule [%s] of the docs is not in the suite", id)
	}
}
