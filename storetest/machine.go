package storetest

import (
	"flag"
	"strings"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/verify"
	"pgregory.net/rapid"
)

// modelRuns is how many random histories are played by default, each of about
// twice -rapid.steps calls (60 by default), so that a backend which syncs to a disk is done in
// seconds. -rapid.checks, other than rapid's own default, is obeyed.
const modelRuns = 30

func runsOfModel() int {
	const rapidDefault = 100
	if f := flag.Lookup("rapid.checks"); f != nil {
		if g, ok := f.Value.(flag.Getter); ok {
			if n, ok := g.Get().(int); ok && n != rapidDefault {
				return n
			}
		}
	}
	return modelRuns
}

// modelCase plays random calls, times and users on two handles and two users' views of a
// store, and on the model, and compares every answer and what is stored afterwards. What
// fails is shrunk and printed as a list of calls; -rapid.seed, which rapid prints, repeats
// it.
func modelCase(e *env) {
	e.open() // a backend that skips does so here, and not as a failure of the model
	left := runsOfModel()
	failed := false
	rapid.Check(callsOnly{e}, func(t *rapid.T) {
		if !failed {
			if left == 0 {
				return // rapid wants to go on; enough for a suite
			}
			left--
		}
		done := false
		defer func() { failed = failed || !done }()
		play(e, t)
		done = true
	})
}

// callsOnly leaves what rapid drew out of the log: the calls say it.
type callsOnly struct{ *env }

func (c callsOnly) Logf(format string, args ...any) {
	if !strings.HasPrefix(format, "[rapid] draw") {
		c.env.Logf(format, args...)
	}
}

// play is one random history, in a namespace of its own.
func play(e *env, t *rapid.T) {
	e.clock.Set(epoch)
	resources := newRecorder(e)
	defer resources.cleanup()
	config := Config{Namespace: e.namespace + "-" + freshHex(), Now: e.clock.Now}
	var opened []sessionstore.SessionStore
	resources.contain(func() {
		for range 2 {
			s := e.backend.Open(resources, config)
			opened = append(opened, s)
			resources.Cleanup(func() { _ = s.Close() })
		}
	})
	if len(opened) < 2 {
		t.Fatalf("Backend.Open(%q) failed: %s", config.Namespace, strings.ReplaceAll(resources.text.String(), "\x00", ""))
	}
	mc := &machine{e: e, t: t, m: newModel(e.clock.Now), actors: []actor{
		{"a", "", opened[0]}, {"b", "", opened[1]},
		{`ForUser(a, "u1")`, "u1", sessionstore.ForUser(opened[0], "u1")},
		{`ForUser(b, "u2")`, "u2", sessionstore.ForUser(opened[1], "u2")},
	}}
	// A beginning, so that not every history spends its calls on an empty store.
	for range rapid.IntRange(0, 3).Draw(t, "sessions to begin with") {
		mc.create(t)
		mc.append(t)
	}
	for range 2 { // twice the number of steps
		t.Repeat(map[string]func(*rapid.T){
			"append": mc.append, "append again": mc.append, "append more": mc.append,
			"create": mc.create, "create again": mc.create,
			"delete": mc.delete, "fork": mc.fork, "get": mc.get, "list": mc.list, "messages": mc.messages, "messages again": mc.messages,
			"purge": mc.purge, "restore": mc.restore, "time": mc.time,
			"truncate": mc.truncate, "update": mc.update, "update again": mc.update,
		})
	}
	mc.whole()
	report, err := verify.Store(e.ctx, opened[0], &verify.Options{MaxProblems: 5})
	if err != nil || report.Err() != nil {
		t.Fatalf("verify.Store after these calls\n  got:  %v, %v\n  want: no problem", report.Err(), err)
	}
}

// actor is one way into the store.
type actor struct {
	name, user string
	store      sessionstore.SessionStore
}

// machine draws calls, makes them, and compares.
type machine struct {
	e      *env
	t      *rapid.T
	m      *model
	actors []actor
	kept   []held // what restore may bring back
}

// The ids are such that a store which mixes them up, or takes one for a pattern, shows it.
var (
	modelIDs   = []string{"s", "S", "s:1", "s*", "é"}
	modelUsers = []string{"u1", "u2", "u1:s"}
	modelKeys  = []string{"k", "K", "a.b", ""}
	modelVals  = []any{nil, true, "v", int64(1), 1.5}
	modelTexts = []string{"", "hello", "\x00", "é\u2028"}
)

func pick[T any](t *rapid.T, label string, from []T) T {
	return rapid.SampledFrom(from).Draw(t, label)
}

// rarely is true in one of n cases.
func rarely(t *rapid.T, label string, n int) bool {
	return rapid.IntRange(0, n-1).Draw(t, label) == n-1
}

// actor is mostly one who may see every session.
func (mc *machine) actor(t *rapid.T) actor {
	return mc.actors[pick(t, "actor", []int{0, 1, 0, 1, 0, 1, 2, 3})]
}

// id is mostly that of a session that is there.
func (mc *machine) id(t *rapid.T) string {
	if live := mc.m.list("", sessionstore.SessionQuery{}); len(live) > 0 && !rarely(t, "any id", 6) {
		return live[rapid.IntRange(0, len(live)-1).Draw(t, "session")].ID
	}
	return pick(t, "id", append([]string{""}, modelIDs...))
}

// check compares the error of a call with the model's and reports whether both succeeded.
func (mc *machine) check(t *rapid.T, call string, got, want error) bool {
	t.Logf("%s: %v", call, got)
	if kind(got) != want { //nolint:errorlint // kind returns the sentinel itself
		t.Fatalf("%s\n  got:  %v\n  want: %v", call, got, want)
	}
	return got == nil
}

func same(t *rapid.T, what string, got, want any) {
	if d := diff(got, want); d != "" {
		t.Fatalf("%s\n  got:  %s\n  want: %s\n  differs: %s", what, show(got), show(want), d)
	}
}

// look compares what is stored of one session, seen through a handle that need not be
// the one that wrote.
func (mc *machine) look(t *rapid.T, id string) {
	if id == "" {
		return
	}
	store := mc.actors[rapid.IntRange(0, 1).Draw(t, "reader")].store
	got, err := store.GetSession(mc.e.ctx, id)
	h, want := mc.m.find("", id)
	if kind(err) != want { //nolint:errorlint // kind returns the sentinel itself
		t.Fatalf("then %s\n  got:  %v\n  want: %v", called("GetSession", id), err, want)
	}
	if err != nil {
		return
	}
	same(t, "then "+called("GetSession", id), got, h.s)
	page, err := store.ListMessages(mc.e.ctx, id, sessionstore.MessageQuery{})
	if err != nil {
		t.Fatalf("then %s\n  got:  %v\n  want: no error", called("ListMessages", id), err)
	}
	wantPage, _ := mc.m.messages("", id, sessionstore.MessageQuery{})
	same(t, "then "+called("ListMessages", id), page, wantPage)
}

// whole compares everything.
func (mc *machine) whole() {
	for _, id := range modelIDs {
		mc.look(mc.t, id)
	}
	mc.walk(mc.t, mc.actors[0], sessionstore.SessionQuery{})
}
