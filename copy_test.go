package sessionstore_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/memory"
	"github.com/sessionstore/sessionstore/storetest"
)

// copyAll copies and returns the report, and the sessions that OnError got as text, sorted.
func copyAll(t *testing.T, to, from sessionstore.SessionStore, o sessionstore.CopyOptions) (sessionstore.CopyReport, []string, error) {
	t.Helper()
	var bad []string
	o.OnError = func(e sessionstore.SessionError) { bad = append(bad, e.Error()) }
	rep, err := sessionstore.Copy(t.Context(), to, from, &o)
	if got := rep.Different + rep.Failed; int64(len(bad)) != got {
		t.Errorf("Copy called OnError %d times, and reports %d sessions", len(bad), got)
	}
	slices.Sort(bad)
	return rep, bad, err
}

// wantCopy copies without an error that ends it.
func wantCopy(t *testing.T, what string, to, from sessionstore.SessionStore, o sessionstore.CopyOptions, want sessionstore.CopyReport, wantBad ...string) {
	t.Helper()
	rep, bad, err := copyAll(t, to, from, o)
	wantErr(t, what, err, nil)
	if !reflect.DeepEqual(rep, want) {
		t.Errorf("%s: got the report %+v, want %+v; sessions %q", what, rep, want, bad)
	}
	for i, w := range wantBad {
		if i >= len(bad) || !strings.Contains(bad[i], w) {
			t.Errorf("%s: got the sessions %q, want %q in number %d", what, bad, w, i)
		}
	}
}

func wantEqual(t *testing.T, what string, to, from sessionstore.SessionStore) {
	t.Helper()
	if got, want := dump(t, to), dump(t, from); got != want {
		t.Errorf("%s: the target differs:\n got %.2000s\nwant %.2000s", what, got, want)
	}
}

func TestCopy(t *testing.T) {
	t.Parallel()
	now := t0
	from := memoryAt(t, &now)
	sample(t, from, &now)
	later := now.Add(time.Minute)
	to := memoryAt(t, &later)
	fill(t, to, sessionstore.Session{ID: "own"}, 3)
	own := history(t, to, "own")
	wantCopy(t, "Copy", to, smallPages{from, 100}, sessionstore.CopyOptions{}, sessionstore.CopyReport{Copied: 4, Messages: 2406})
	if got := history(t, to, "own"); !reflect.DeepEqual(got, own) {
		t.Errorf("a session of the target's own: got %+v, want %+v", got, own)
	}
	wantErr(t, "DeleteSession", to.DeleteSession(t.Context(), "own"), nil)
	wantEqual(t, "Copy", to, from)
	for _, recheck := range []bool{false, true} {
		wantCopy(t, "Copy again", restorer{smallPages{to, 7}, to}, from, sessionstore.CopyOptions{Recheck: recheck, Replace: true}, sessionstore.CopyReport{Same: 4})
	}
	wantEqual(t, "Copy again", to, from)
	wantCopy(t, "Copy to itself", from, from, sessionstore.CopyOptions{Recheck: true, Replace: true}, sessionstore.CopyReport{Same: 4})
}

// What is there already costs a read of its record, whatever its history.
func TestCopyAgainCosts(t *testing.T) {
	t.Parallel()
	from, to := newMemory(t), newMemory(t)
	fill(t, from, sessionstore.Session{ID: "long"}, 10_000)
	fill(t, from, sessionstore.Session{ID: "short"}, 1)
	wantCopy(t, "Copy", to, from, sessionstore.CopyOptions{}, sessionstore.CopyReport{Copied: 2, Messages: 10_001})
	wantEqual(t, "Copy", to, from)
	calls := map[string]*atomic.Int64{}
	count := func(store sessionstore.SessionStore, name string) sessionstore.SessionStore {
		for _, method := range []string{"GetSession", "ListSessions"} {
			calls[name+method] = new(atomic.Int64)
		}
		return storetest.NewFaulty(store, func(c storetest.Call) storetest.Fault {
			if n := calls[name+c.Method]; n != nil {
				n.Add(1)
			} else {
				t.Errorf("Copy again called %s of the %s, want it not to", c.Method, name)
			}
			return storetest.Pass
		})
	}
	wantCopy(t, "Copy again", count(to, "target"), count(from, "source"), sessionstore.CopyOptions{}, sessionstore.CopyReport{Same: 2})
	if got := calls["targetGetSession"].Load(); got != 2 {
		t.Errorf("Copy again of 2 sessions called GetSession of the target %d times, want 2", got)
	}
	if got := calls["sourceGetSession"].Load(); got != 0 {
		t.Errorf("Copy again called GetSession of the source %d times, want 0", got)
	}
}

// A source that has moved on since the copy, and a target that has.
func TestCopyCatchesUp(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	closed := sessionstore.StatusClosed
	say := func(s sessionstore.SessionStore, text string) error {
		_, err := s.AppendMessages(ctx, "s", sessionstore.Append{Messages: []sessionstore.Message{sessionstore.UserMessage(text)}})
		return err
	}
	update := func(s sessionstore.SessionStore, u sessionstore.SessionUpdate) error {
		_, err := s.UpdateSession(ctx, "s", u)
		return err
	}
	rewind := func(s sessionstore.SessionStore, to int64) error {
		_, err := s.TruncateMessages(ctx, "s", sessionstore.Truncate{ThroughSeq: to})
		return err
	}
	for _, c := range []struct {
		name   string
		change func(from, to sessionstore.SessionStore) error
		why    string // "": it is brought up to date
	}{
		{"an append", func(from, _ sessionstore.SessionStore) error { return say(from, "more") }, ""},
		{"many appends", func(from, _ sessionstore.SessionStore) error {
			var errs []error
			for i := range 30 {
				errs = append(errs, say(from, fmt.Sprint("more ", i)))
			}
			return errors.Join(errs...)
		}, ""},
		{"an append, rewound", func(from, _ sessionstore.SessionStore) error {
			return errors.Join(say(from, "x"), rewind(from, 10), say(from, "y"))
		}, ""},
		{"closed", func(from, _ sessionstore.SessionStore) error {
			return update(from, sessionstore.SessionUpdate{Status: &closed})
		}, ""},
		{"touched", func(from, _ sessionstore.SessionStore) error {
			return update(from, sessionstore.SessionUpdate{Touch: true})
		}, ""},
		{"an append and new metadata", func(from, _ sessionstore.SessionStore) error {
			return errors.Join(say(from, "more"), update(from, sessionstore.SessionUpdate{SetMetadata: sessionstore.Metadata{"k": 1}}))
		}, ""},
		{"rewound", func(from, _ sessionstore.SessionStore) error { return rewind(from, 4) }, "they differ at message 5"},
		{"rewound, and an append", func(from, _ sessionstore.SessionStore) error { return errors.Join(rewind(from, 4), say(from, "more")) }, "they differ at message 5"},
		{"deleted and made again", func(from, _ sessionstore.SessionStore) error {
			fill := func() error { _, err := from.CreateSession(ctx, sessionstore.Session{ID: "s"}); return err }
			return errors.Join(from.DeleteSession(ctx, "s"), fill())
		}, "another session"},
		{"an append at the target", func(_, to sessionstore.SessionStore) error { return say(to, "mine") }, "moved on"},
		{"appends at both", func(from, to sessionstore.SessionStore) error {
			return errors.Join(say(to, "mine"), say(from, "more"), say(from, "more"))
		}, "they differ at message 11"},
		{"an update at the target", func(_, to sessionstore.SessionStore) error {
			return update(to, sessionstore.SessionUpdate{Status: &closed})
		}, "moved on"},
		{"updates at both", func(from, to sessionstore.SessionStore) error {
			return errors.Join(update(to, sessionstore.SessionUpdate{SetMetadata: sessionstore.Metadata{"k": 1}}), update(from, sessionstore.SessionUpdate{SetMetadata: sessionstore.Metadata{"k": 2}}))
		}, "own state"},
		{"rewound at the target", func(from, to sessionstore.SessionStore) error { return errors.Join(rewind(to, 9), say(from, "more")) }, "they differ at message 10"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var ticks atomic.Int64
			clock := func() time.Time { return t0.Add(time.Duration(ticks.Add(1)) * time.Second) }
			from, err := memory.New(&memory.Options{Now: clock})
			wantErr(t, "memory.New", err, nil)
			to, err := memory.New(&memory.Options{Now: clock})
			wantErr(t, "memory.New", err, nil)
			fill(t, from, sessionstore.Session{ID: "s", UserID: "u", TTL: time.Hour}, 10)
			fill(t, from, sessionstore.Session{ID: "still"}, 1)
			wantCopy(t, "Copy", to, from, sessionstore.CopyOptions{}, sessionstore.CopyReport{Copied: 2, Messages: 11})
			wantErr(t, c.name, c.change(from, to), nil)
			there := history(t, to, "s")
			messages := int64(len(history(t, from, "s").Messages))
			if c.why == "" {
				wantCopy(t, "Copy again", to, smallPages{from, 3}, sessionstore.CopyOptions{}, sessionstore.CopyReport{Updated: 1, Same: 1, Messages: messages})
			} else {
				wantCopy(t, "Copy again", restorer{smallPages{to, 3}, to}, from, sessionstore.CopyOptions{}, sessionstore.CopyReport{Different: 1, Same: 1}, c.why)
				if got := history(t, to, "s"); !reflect.DeepEqual(got, there) {
					t.Errorf("the target's session was overwritten:\n got %+v\nwant %+v", got, there)
				}
				_, err := sessionstore.Copy(ctx, to, from, &sessionstore.CopyOptions{OnError: func(e sessionstore.SessionError) {
					if e.SessionID != "s" || !errors.Is(e, sessionstore.ErrSessionExists) {
						t.Errorf("OnError got %+v, want ErrSessionExists of s", e)
					}
				}})
				wantErr(t, "Copy again", err, nil)
				wantCopy(t, "Copy with Replace", to, from, sessionstore.CopyOptions{Replace: true}, sessionstore.CopyReport{Replaced: 1, Same: 1, Messages: messages})
			}
			wantEqual(t, "the last copy", to, from)
			wantCopy(t, "Copy at last", to, from, sessionstore.CopyOptions{Recheck: true}, sessionstore.CopyReport{Same: 2})
		})
	}
}

// A copy that is interrupted at any call, of which the work may be done and the answer lost,
// leaves whole sessions, and another one completes it and writes nothing twice.
func TestCopyInterrupted(t *testing.T) {
	t.Parallel()
	now := t0
	clock := func(store *memory.Store) *memory.Store { now = now.Add(time.Second); return store }
	from, before := memoryAt(t, &now), memoryAt(t, &now)
	for id, n := range map[string]int{"long": 25, "older": 12, "other": 12, "same": 2, "new": 2, "empty": 0} {
		fill(t, clock(from), sessionstore.Session{ID: id, UserID: "u"}, n)
	}
	wantCopy(t, "Copy", before, from, sessionstore.CopyOptions{IDs: []string{"older", "same"}}, sessionstore.CopyReport{Copied: 2, Messages: 14})
	fill(t, clock(before), sessionstore.Session{ID: "other"}, 11)
	fill(t, clock(before), sessionstore.Session{ID: "own"}, 1)
	_, err := clock(from).AppendMessages(t.Context(), "older", sessionstore.Append{Messages: []sessionstore.Message{sessionstore.UserMessage("more")}})
	wantErr(t, "AppendMessages", err, nil)
	want := contents(t, from)
	for _, broken := range []string{"target", "source"} {
		for _, fault := range []storetest.Fault{storetest.FailBefore, storetest.FailAfter} {
			failed := true
			for n := int64(1); failed; n++ {
				to := memoryAt(t, &now)
				wantCopy(t, "Copy", to, before, sessionstore.CopyOptions{}, sessionstore.CopyReport{Copied: 4, Messages: 26})
				target := storetest.NewFaulty(restorer{smallPages{to, 10}, to}, nil)
				source := storetest.NewFaulty(smallPages{from, 10}, nil)
				if broken == "target" {
					target.Decide = storetest.FailCall(n, fault)
				} else {
					source.Decide = storetest.FailCall(n, fault)
				}
				_, err := sessionstore.Copy(t.Context(), target, source, &sessionstore.CopyOptions{Replace: true})
				if failed = err != nil; failed {
					wantErr(t, "Copy", err, storetest.ErrFault)
				}
				at := fmt.Sprintf("call %d of the %s fails (%d)", n, broken, fault)
				var same int64
				was := contents(t, before)
				for id, got := range contents(t, to) {
					if got == want[id] {
						same++
					} else if got != was[id] {
						t.Errorf("%s: session %q is neither the source's nor as it was:\n%s", at, id, got)
					}
				}
				if !failed && same != int64(len(want)) {
					t.Errorf("%s: %d sessions are the source's, want %d", at, same, len(want))
				}
				rep, bad, err := copyAll(t, to, from, sessionstore.CopyOptions{Replace: true})
				wantErr(t, "Copy again", err, nil)
				if rep.Same != same || rep.Same+rep.Copied+rep.Updated+rep.Replaced != int64(len(want)) {
					t.Errorf("%s: another copy reports %+v and %q, want %d that are the same and the others written", at, rep, bad, same)
				}
				for id, got := range contents(t, to) {
					if id != "own" && got != want[id] {
						t.Errorf("%s: after another copy session %q is\n%s\nwant\n%s", at, id, got, want[id])
					}
				}
				if n > 1000 {
					t.Fatal("a copy of a few sessions makes more than 1,000 calls")
				}
			}
		}
	}
}

// contents is everything that a store holds, by session.
func contents(t *testing.T, s sessionstore.SessionStore) map[string]string {
	t.Helper()
	all := map[string]string{}
	page, err := s.ListSessions(t.Context(), sessionstore.SessionQuery{})
	wantErr(t, "ListSessions", err, nil)
	for _, sess := range page.Sessions {
		text, err := sess.AppendJSON(nil)
		wantErr(t, "AppendJSON", err, nil)
		for _, m := range history(t, s, sess.ID).Messages {
			text, err = m.AppendJSON(append(text, '\n'))
			wantErr(t, "AppendJSON", err, nil)
		}
		all[sess.ID] = string(text)
	}
	return all
}

// hooks are a store whose restores can be watched and disturbed.
type hooks struct {
	*memory.Store
	restore func(ctx context.Context, s sessionstore.Session, messages iter.Seq2[sessionstore.Message, error]) (sessionstore.Session, error)
}

func (h hooks) RestoreSession(ctx context.Context, s sessionstore.Session, messages iter.Seq2[sessionstore.Message, error]) (sessionstore.Session, error) {
	return h.restore(ctx, s, messages)
}

// A store that judges the id before it takes messages is brought up to date too.
func TestCopyToAStoreThatLooksFirst(t *testing.T) {
	t.Parallel()
	from, to := newMemory(t), newMemory(t)
	fill(t, from, sessionstore.Session{ID: "s"}, 10)
	wantCopy(t, "Copy", to, from, sessionstore.CopyOptions{}, sessionstore.CopyReport{Copied: 1, Messages: 10})
	_, err := from.AppendMessages(t.Context(), "s", sessionstore.Append{Messages: []sessionstore.Message{sessionstore.UserMessage("more")}})
	wantErr(t, "AppendMessages", err, nil)
	first := hooks{to, func(ctx context.Context, s sessionstore.Session, messages iter.Seq2[sessionstore.Message, error]) (sessionstore.Session, error) {
		if _, err := to.GetSession(ctx, s.ID); err == nil {
			return sessionstore.Session{}, sessionstore.ErrSessionExists
		}
		return to.RestoreSession(ctx, s, messages)
	}}
	wantCopy(t, "Copy again", first, from, sessionstore.CopyOptions{}, sessionstore.CopyReport{Updated: 1, Messages: 11})
	wantEqual(t, "Copy again", to, from)
}

// What the target has is not touched before all of what replaces it was read.
func TestCopyReplacesLate(t *testing.T) {
	t.Parallel()
	from, to := newMemory(t), newMemory(t)
	fill(t, from, sessionstore.Session{ID: "s"}, 100)
	fill(t, to, sessionstore.Session{ID: "s"}, 5)
	before, after := dump(t, to), dump(t, from)
	for n := int64(1); ; n++ {
		broken := storetest.NewFaulty(smallPages{from, 10}, storetest.FailCall(n, storetest.FailBefore))
		if _, err := sessionstore.Copy(t.Context(), to, broken, &sessionstore.CopyOptions{Replace: true}); err == nil {
			if n < 10 {
				t.Errorf("Copy of 10 pages ended after %d calls", n)
			}
			break
		}
		if got := dump(t, to); got != before && got != after { // it fails once it was replaced
			t.Errorf("call %d of the source fails, and the target is now\n%.2000s\nwant\n%.2000s", n, got, before)
		}
	}
	wantEqual(t, "Copy", to, from)
}

// Somebody writes to the target's session after it was compared.
func TestCopyDoesNotReplaceWhatMoved(t *testing.T) {
	t.Parallel()
	from, to := newMemory(t), newMemory(t)
	fill(t, from, sessionstore.Session{ID: "s"}, 3)
	wantCopy(t, "Copy", to, from, sessionstore.CopyOptions{}, sessionstore.CopyReport{Copied: 1, Messages: 3})
	say := func(s sessionstore.SessionStore, text string) {
		_, err := s.AppendMessages(t.Context(), "s", sessionstore.Append{Messages: []sessionstore.Message{sessionstore.UserMessage(text)}})
		wantErr(t, "AppendMessages", err, nil)
	}
	say(from, "more")
	say(from, "and more")
	moving := hooks{to, func(ctx context.Context, s sessionstore.Session, messages iter.Seq2[sessionstore.Message, error]) (sessionstore.Session, error) {
		say(to, "mine")
		return to.RestoreSession(ctx, s, messages)
	}}
	wantCopy(t, "Copy again", moving, from, sessionstore.CopyOptions{}, sessionstore.CopyReport{Different: 1}, "moved on")
	if got := texts(history(t, to, "s").Messages); !slices.Equal(got, []string{"1", "2", "3", "mine"}) {
		t.Errorf("the target has %q, want its own message kept", got)
	}
}

// Field report S16: a driver sends a restore again whose answer was lost, and is told that
// the session exists.
func TestCopyOfARestoreSentTwice(t *testing.T) {
	t.Parallel()
	from, to := newMemory(t), newMemory(t)
	fill(t, from, sessionstore.Session{ID: "s"}, 3)
	twice := hooks{to, func(ctx context.Context, s sessionstore.Session, messages iter.Seq2[sessionstore.Message, error]) (sessionstore.Session, error) {
		if _, err := to.RestoreSession(ctx, s, messages); err != nil {
			return sessionstore.Session{}, err
		}
		return sessionstore.Session{}, sessionstore.ErrSessionExists
	}}
	wantCopy(t, "Copy", twice, from, sessionstore.CopyOptions{}, sessionstore.CopyReport{Same: 1})
	wantEqual(t, "Copy", to, from)
}

// forgetting loses a message, or changes one, on its way out.
type forgetting struct {
	*memory.Store
	spoil func(*sessionstore.MessagePage)
}

func (f forgetting) ListMessages(ctx context.Context, id string, q sessionstore.MessageQuery) (sessionstore.MessagePage, error) {
	page, err := f.Store.ListMessages(ctx, id, q)
	if err == nil && id == "s" {
		f.spoil(&page)
	}
	return page, err
}

func TestCopyReadsBack(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(*sessionstore.MessagePage){
		"a message lost":      func(p *sessionstore.MessagePage) { p.Messages = p.Messages[1:] },
		"a message changed":   func(p *sessionstore.MessagePage) { p.Messages[1].Content = sessionstore.Text("x") },
		"a time changed":      func(p *sessionstore.MessagePage) { p.Messages[1].CreatedAt = t0 },
		"two messages change": func(p *sessionstore.MessagePage) { p.Messages[0], p.Messages[1] = p.Messages[1], p.Messages[0] },
		"a version changed":   func(p *sessionstore.MessagePage) { p.Session.Version++ },
	} {
		from, to := newMemory(t), newMemory(t)
		fill(t, from, sessionstore.Session{ID: "s"}, 3)
		fill(t, from, sessionstore.Session{ID: "good"}, 3)
		bad := forgetting{to, spoil}
		wantCopy(t, name, bad, from, sessionstore.CopyOptions{}, sessionstore.CopyReport{Copied: 1, Failed: 1, Messages: 3}, "does not give back what was written")
		// The record is equal, so only a recheck finds it again.
		wantCopy(t, name+", again", bad, from, sessionstore.CopyOptions{}, sessionstore.CopyReport{Same: 2})
		rep, _, err := copyAll(t, bad, from, sessionstore.CopyOptions{Recheck: true})
		wantErr(t, name+", rechecked", err, nil)
		if rep.Same != 1 || rep.Different+rep.Failed != 1 {
			t.Errorf("%s, rechecked: got the report %+v, want one that is the same and one that is not", name, rep)
		}
	}
}

func TestCopyToAStoreThatCannot(t *testing.T) {
	t.Parallel()
	from := newMemory(t)
	fill(t, from, sessionstore.Session{ID: "s"}, 5)
	_, err := from.TruncateMessages(t.Context(), "s", sessionstore.Truncate{ThroughSeq: 1})
	wantErr(t, "TruncateMessages", err, nil)
	for name, wrap := range map[string]func(*memory.Store) sessionstore.SessionStore{
		"no power":     func(s *memory.Store) sessionstore.SessionStore { return plain{s} },
		"absent power": func(s *memory.Store) sessionstore.SessionStore { return without{s} },
		"a fallback": func(s *memory.Store) sessionstore.SessionStore {
			return hooks{s, func(ctx context.Context, in sessionstore.Session, messages iter.Seq2[sessionstore.Message, error]) (sessionstore.Session, error) {
				return sessionstore.RestoreSession(ctx, plain{s}, in, messages)
			}}
		},
	} {
		to := newMemory(t)
		_, err := sessionstore.Copy(t.Context(), wrap(to), from, nil)
		wantErr(t, name, err, errors.ErrUnsupported)
		if got := dump(t, to); got != "" {
			t.Errorf("%s: the target has %s, want nothing", name, got)
		}
	}
}

func TestCopyOptions(t *testing.T) {
	t.Parallel()
	now := t0
	from := memoryAt(t, &now)
	sample(t, from, &now)
	for _, c := range []struct {
		name string
		o    sessionstore.CopyOptions
		want []string
		miss []string
	}{
		{"ids", sessionstore.CopyOptions{IDs: []string{"child", "gone", "empty", "child", "gone"}}, []string{"child", "empty"}, []string{"gone"}},
		{"user", sessionstore.CopyOptions{Query: sessionstore.SessionQuery{UserID: "u"}}, []string{"child", "ended"}, nil},
		{"status", sessionstore.CopyOptions{Query: sessionstore.SessionQuery{Statuses: []sessionstore.Status{sessionstore.StatusPaused}}}, []string{"empty"}, nil},
	} {
		to := memoryAt(t, &now)
		var last sessionstore.CopyReport
		c.o.OnProgress = func(r sessionstore.CopyReport) { last = r }
		rep, err := sessionstore.Copy(t.Context(), to, from, &c.o)
		wantErr(t, "Copy", err, nil)
		page, err := to.ListSessions(t.Context(), sessionstore.SessionQuery{})
		wantErr(t, "ListSessions", err, nil)
		var got []string
		for _, s := range page.Sessions {
			got = append(got, s.ID)
		}
		slices.Sort(got)
		if !slices.Equal(got, c.want) || !slices.Equal(rep.Missing, c.miss) || rep.Copied != int64(len(c.want)) || last.Copied != rep.Copied {
			t.Errorf("%s: copied %q, report %+v, progress %+v, want %q and missing %q", c.name, got, rep, last, c.want, c.miss)
		}
	}
	for name, o := range map[string]sessionstore.CopyOptions{
		"cursor":      {Query: sessionstore.SessionQuery{Cursor: sessionstore.SessionKey{UpdatedAt: t0, ID: "s"}.Cursor()}},
		"both":        {IDs: []string{"s"}, Query: sessionstore.SessionQuery{UserID: "u"}},
		"bad query":   {Query: sessionstore.SessionQuery{Limit: -1}},
		"bad id":      {IDs: []string{"s", ""}},
		"bad user id": {Query: sessionstore.SessionQuery{UserID: "\n"}},
	} {
		_, err := sessionstore.Copy(t.Context(), memoryAt(t, &now), from, &o)
		wantErr(t, "Copy with "+name, err, sessionstore.ErrInvalid)
	}
	done, cancel := context.WithCancel(t.Context())
	cancel()
	for _, o := range []sessionstore.CopyOptions{{}, {IDs: []string{"long"}}} {
		_, err := sessionstore.Copy(done, memoryAt(t, &now), from, &o)
		wantErr(t, "Copy with a done context", err, context.Canceled)
	}
	closed := newMemory(t)
	closed.Close()
	_, err := sessionstore.Copy(t.Context(), closed, from, nil)
	wantErr(t, "Copy to a closed store", err, sessionstore.ErrStoreClosed)
	_, err = sessionstore.Copy(t.Context(), from, closed, nil)
	wantErr(t, "Copy from a closed store", err, sessionstore.ErrStoreClosed)
}

// Sessions that have expired by one of the clocks, and ids that are free again.
func TestCopyOfExpired(t *testing.T) {
	t.Parallel()
	then, now := t0, t0.Add(2*time.Hour)
	from, to := memoryAt(t, &then), memoryAt(t, &now)
	fill(t, from, sessionstore.Session{ID: "short", TTL: time.Hour}, 2)
	fill(t, from, sessionstore.Session{ID: "long", TTL: 3 * time.Hour}, 2)
	fill(t, from, sessionstore.Session{ID: "deleted"}, 2)
	fill(t, from, sessionstore.Session{ID: "gone"}, 2)
	now = t0
	fill(t, to, sessionstore.Session{ID: "gone", TTL: time.Hour}, 7)
	fill(t, to, sessionstore.Session{ID: "deleted"}, 7)
	wantErr(t, "DeleteSession", to.DeleteSession(t.Context(), "deleted"), nil)
	now = t0.Add(2 * time.Hour)
	wantCopy(t, "Copy", to, from, sessionstore.CopyOptions{}, sessionstore.CopyReport{Copied: 3, Expired: 1, Messages: 6})
	then = t0.Add(90 * time.Minute)
	wantEqual(t, "Copy", to, from)
	then = t0.Add(3 * time.Hour)
	wantCopy(t, "Copy later", newMemory(t), from, sessionstore.CopyOptions{}, sessionstore.CopyReport{Copied: 2, Messages: 4})
}

// Through a view of one owner, the sessions of others are neither seen nor touched.
func TestCopyToAView(t *testing.T) {
	t.Parallel()
	from, to := newMemory(t), newMemory(t)
	fill(t, from, sessionstore.Session{ID: "taken", UserID: "u"}, 2)
	fill(t, from, sessionstore.Session{ID: "free", UserID: "u"}, 2)
	fill(t, from, sessionstore.Session{ID: "other", UserID: "v"}, 2)
	fill(t, to, sessionstore.Session{ID: "taken", UserID: "v"}, 5)
	before := history(t, to, "taken")
	wantCopy(t, "Copy", to.ForUser("u"), from, sessionstore.CopyOptions{Replace: true},
		sessionstore.CopyReport{Copied: 1, Different: 1, Failed: 1, Messages: 2}, `"other": `, `"taken": `)
	if got := history(t, to, "taken"); !reflect.DeepEqual(got, before) {
		t.Errorf("another owner's session: got %+v, want %+v", got, before)
	}
	wantCopy(t, "Copy from a view", newMemory(t), from.ForUser("v"), sessionstore.CopyOptions{}, sessionstore.CopyReport{Copied: 1, Messages: 2})
}

// A session that changes while it is copied is copied as it was at one moment; one that
// goes is left out.
func TestCopyOfWhatChanges(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(context.Context, sessionstore.SessionStore) error{
		"append": func(ctx context.Context, s sessionstore.SessionStore) error {
			_, err := s.AppendMessages(ctx, "s", sessionstore.Append{Messages: []sessionstore.Message{sessionstore.UserMessage("new")}})
			return err
		},
		"truncate": func(ctx context.Context, s sessionstore.SessionStore) error {
			_, err := s.TruncateMessages(ctx, "s", sessionstore.Truncate{ThroughSeq: 6})
			return err
		},
		"delete": func(ctx context.Context, s sessionstore.SessionStore) error { return s.DeleteSession(ctx, "s") },
	} {
		from, to := newMemory(t), newMemory(t)
		fill(t, from, sessionstore.Session{ID: "s"}, 10)
		before := dump(t, from)
		w := &watched{SessionStore: smallPages{from, 3}, before: func(page int) {
			if page == 3 {
				wantErr(t, name, change(t.Context(), from), nil)
			}
		}}
		want := map[string]sessionstore.CopyReport{
			"append": {Copied: 1, Messages: 10}, "truncate": {Copied: 1, Messages: 6}, "delete": {},
		}[name]
		wantCopy(t, name, to, w, sessionstore.CopyOptions{}, want)
		wantDump := dump(t, from)
		if name == "append" {
			wantDump = before
		}
		if got := dump(t, to); got != wantDump {
			t.Errorf("%s: the copy differs:\n got %s\nwant %s", name, got, wantDump)
		}
	}
	from := newMemory(t)
	startWith(t, from, 1000)
	restless := &watched{SessionStore: smallPages{from, 100}, before: func(n int) {
		_, err := from.TruncateMessages(t.Context(), "s", sessionstore.Truncate{ThroughSeq: int64(1000 - n)})
		wantErr(t, "TruncateMessages", err, nil)
	}}
	wantCopy(t, "Copy of what never rests", newMemory(t), restless, sessionstore.CopyOptions{}, sessionstore.CopyReport{Failed: 1}, "conflict")
}

// A session that moves in the list during the copy is not missed.
func TestCopyOfAMovingList(t *testing.T) {
	t.Parallel()
	var ticks atomic.Int64
	from, err := memory.New(&memory.Options{Now: func() time.Time { return t0.Add(time.Duration(ticks.Load()) * time.Second) }})
	wantErr(t, "memory.New", err, nil)
	const n = 2500 // three pages
	for i := range n {
		ticks.Add(1)
		_, err := from.CreateSession(t.Context(), sessionstore.Session{ID: fmt.Sprint(i)})
		wantErr(t, "CreateSession", err, nil)
	}
	to, next := newMemory(t), 0
	moving := hooked{from, func() {
		ticks.Add(100)
		_, err := from.UpdateSession(t.Context(), fmt.Sprint(next), sessionstore.SessionUpdate{Touch: true})
		wantErr(t, "UpdateSession", err, nil)
		next++
	}}
	rep, bad, err := copyAll(t, to, moving, sessionstore.CopyOptions{})
	wantErr(t, "Copy", err, nil)
	if rep.Copied != n || len(bad) > 0 || next < 4 {
		t.Errorf("Copy of a list of %d sessions, %d of which move: %+v, %q", n, next, rep, bad)
	}
}
