package storetest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/sessionstore/sessionstore"
)

// RuleID names a rule of the contract, such as "append.atomic". It is also the name of
// the rule's subtest.
type RuleID string

// Rule is one rule of the contract that a store is held to.
type Rule struct {
	ID       RuleID
	Sentence string // as in the doc comment of what it governs, in one line
}

// Config is what a case wants of a store.
type Config struct {
	// Namespace separates data: stores opened with the same one share it, stores with
	// another see nothing of it. It is as free as an id: see the rule [id.any].
	Namespace string

	// Now is the store's clock. It stands still until a case moves it.
	Now func() time.Time
}

// Backend is a kind of store under test. Everything but Open may be left out; what then
// cannot be exercised is named in the report, and the zero value is the strictest.
type Backend struct {
	// Open returns a store. It is called from any goroutine, several times with the same
	// Config (two handles on the same data) and at the same time with others. Closing the
	// store is the suite's business; what lies under it (a client, a database) is to be
	// freed with tb.Cleanup. It reports what it cannot do by tb.Fatal, or tb.Skip, of this
	// tb and no other. It must not call tb.Setenv or tb.Chdir: the rules run in parallel.
	Open func(tb testing.TB, c Config) sessionstore.SessionStore

	// Exempt names the rules that this backend is known not to keep, with the reason.
	// Their cases run all the same: the run fails once they pass, or if the rule is unknown.
	Exempt map[RuleID]string

	// Reopen opens the data of a Config again as after a restart: by a new client, file
	// handle or connection. Every store of that data has been closed before. Nil:
	// durability is not exercised, which is right only for a store that has none.
	Reopen func(tb testing.TB, c Config) sessionstore.SessionStore

	// Child says that another process can open the same data. The suite starts it by
	// running the test binary again with the same test's name and these variables
	// ("KEY=value") added to its environment; there Run only calls Open, and writes. An
	// empty list that is not nil is enough where Open depends on nothing but the
	// environment. Nil: one process only.
	Child []string

	// Break breaks the connection of a store that Open returned, such that the next call
	// or calls fail or have to reconnect, and the store works again after that. Nil: there
	// is no connection, or it cannot be broken.
	Break func(tb testing.TB, s sessionstore.SessionStore)
}

// Rules returns the rules that Run checks.
func Rules() []Rule {
	out := make([]Rule, len(rules))
	for i, r := range rules {
		out[i] = Rule{ID: r.id, Sentence: r.sentence}
	}
	return out
}

// Run checks that the stores of b keep every rule of the contract: one parallel subtest
// per rule, named by its id. At the end it logs which rules hold, which are exempt, and
// what was not exercised and why. A store that cannot create a session, append to it, read
// and list it fails at once, and no rule is run.
func Run(t *testing.T, b Backend) {
	t.Helper()
	if b.Open == nil {
		t.Fatal("storetest.Run: Backend.Open is nil; got nothing to test")
	}
	if serveChild(t, b) {
		return
	}
	checkExempt(t, b)
	switch o := runCase(t, b, rule{id: "smoke"}, kase{"create, append, read, list", smoke}); {
	case o.failed:
		t.Fatalf("the store cannot do the simplest of calls, so no rule was run\n%s", o.text)
	case o.skipped != "":
		t.Skip(o.skipped)
	}
	rep := &report{backend: b}
	t.Cleanup(func() { t.Log(rep.String()) })
	for _, r := range rules {
		t.Run(string(r.id), func(t *testing.T) {
			t.Parallel()
			o := runRules(t, b, r.id)[r.id]
			rep.add(r.id, o)
			judge(t, o, b.Exempt[r.id])
		})
	}
}

// smoke makes the calls without which every rule would fail. What exactly they return is
// for the rules to say.
func smoke(e *env) {
	c := e.client()
	c.create(sessionstore.Session{ID: "s"})
	c.say("s", "hello")
	if got := c.get("s"); got.ID != "s" {
		e.Fatalf("GetSession(\"s\")\n  got:  the session %s\n  want: \"s\"", show(got.ID))
	}
	if p := c.messages("s", sessionstore.MessageQuery{}); len(p.Messages) == 0 {
		e.Fatalf("ListMessages(\"s\") after an append\n  got:  no message\n  want: the one appended")
	}
	if p := c.list(sessionstore.SessionQuery{}); len(p.Sessions) == 0 && p.Next == "" {
		e.Fatalf("ListSessions after a create\n  got:  no session\n  want: the one created")
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.opened = false // nothing to be verified: that too is for the rules
}

// checkExempt fails the test for an exemption that can never apply.
func checkExempt(t *testing.T, b Backend) {
	t.Helper()
	for id, why := range b.Exempt {
		if !slices.ContainsFunc(rules, func(r rule) bool { return r.id == id }) {
			t.Errorf("Backend.Exempt names the rule %q: got no such rule, want one of storetest.Rules()", id)
		}
		if why == "" {
			t.Errorf("Backend.Exempt[%q]: got an empty reason, want why the backend cannot keep the rule", id)
		}
	}
}

// judge turns the outcome of a rule into that of its subtest.
func judge(t *testing.T, o outcome, exempt string) {
	t.Helper()
	switch {
	case o.skipped != "" && !o.failed:
		t.Skip(o.skipped)
	case exempt == "" && o.failed:
		t.Error(o.text)
	case exempt != "" && o.failed:
		t.Logf("exempt: %s\nwhat fails:\n%s", exempt, o.text)
	case exempt != "":
		t.Errorf("the rule holds: got a pass, want a failure, because it is exempt (%s); remove it from Backend.Exempt", exempt)
	}
}

// rule is a rule with the cases that prove it.
type rule struct {
	id       RuleID
	sentence string
	cases    []kase
}

// kase is one case of a rule. Each runs in a namespace of its own.
type kase struct {
	name string
	run  func(e *env)
}

// outcome is what came of a rule's cases.
type outcome struct {
	failed  bool
	hung    bool     // and given up
	text    string   // of the failures
	skipped string   // not "": Open skipped, for this reason
	notes   []string // what was not exercised, and why
}

// runRules runs the cases of the given rules (none given: of all) one after the other
// and returns what came of them. It never fails tb: that is left to the caller, because
// an exempt rule and a mutant are meant to fail.
func runRules(tb testing.TB, b Backend, only ...RuleID) map[RuleID]outcome {
	out := make(map[RuleID]outcome)
	for _, r := range rules {
		if len(only) > 0 && !slices.Contains(only, r.id) {
			continue
		}
		var o outcome
		for _, k := range r.cases {
			if o.hung { // the next would only wait for as long
				o.text += fmt.Sprintf("\ncase %q: not run, because one before it hung\n", k.name)
				continue
			}
			c := runCase(tb, b, r, k)
			o.failed = o.failed || c.failed
			o.hung = c.hung
			o.text += c.text
			o.notes = append(o.notes, c.notes...)
			if c.skipped != "" {
				o.skipped = fmt.Sprintf("%s: %s", k.name, c.skipped)
			}
		}
		if o.failed {
			o.text += about(r, tb.Name())
		}
		out[r.id] = o
	}
	return out
}
