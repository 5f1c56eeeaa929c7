package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sessionstore/sessionstore/storetest"
)

func TestBetween(t *testing.T) {
	t.Parallel()
	got, err := between("a\n"+begin+"old\n"+end+"\nb\n", "new\n")
	if want := "a\n" + begin + "new\n" + end + "\nb\n"; err != nil || got != want {
		t.Errorf("between: got %q, %v, want %q", got, err, want)
	}
	for _, text := range []string{"", begin, end + begin} {
		if got, err := between(text, "new\n"); err == nil {
			t.Errorf("between(%q): got %q, want an error", text, got)
		}
	}
}

func TestRead(t *testing.T) {
	t.Parallel()
	r, err := read(strings.NewReader(`{"Action":"attr","Package":"m/inttest","Test":"T/redis","Key":"server","Value":"Redis 7"}
{"Action":"fail","Package":"m/redis","Test":"TestConformance/fork"}
{"Action":"pass","Package":"m/redis"}
`))
	if err != nil || r.attrs["T/redis"]["server"] != "Redis 7" || r.actions["redis TestConformance/fork"] != "fail" || len(r.actions) != 1 {
		t.Errorf("read: got %+v, %v", r, err)
	}
	if _, err := read(strings.NewReader("x")); err == nil {
		t.Error("read of what is not JSON: got nil, want an error")
	}
}

// TestRules: a rule that fails is counted as not kept; one that was not run is an error.
func TestRules(t *testing.T) {
	t.Parallel()
	suite := &result{actions: map[string]string{}}
	all := storetest.Rules()
	for i, rule := range all {
		suite.actions["redis TestConformance/"+string(rule.ID)] = []string{"pass", "fail"}[min(1, i/(len(all)-1))]
	}
	got, err := rules(suite, "redis")
	if want := fmt.Sprintf("%d of %d", len(all)-1, len(all)); err != nil || got != want {
		t.Errorf("rules: got %q, %v, want %q", got, err, want)
	}
	if got, err := rules(suite, "mongo"); err == nil {
		t.Errorf("rules of what did not run: got %q, want an error", got)
	}
}
