package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/internal/testenv"
	"github.com/sessionstore/sessionstore/verify"
)

// backend makes stores of one kind, each of them empty.
type backend struct {
	name string
	url  func(t *testing.T) string
}

// backends are all that --store can name.
func backends() []backend {
	server := func(name string, dsn func(testing.TB) string) backend {
		return backend{name, func(t *testing.T) string {
			raw := dsn(t)
			separator := "?"
			if strings.Contains(raw, "?") {
				separator = "&"
			}
			// Each namespace is one of its own, with a name that wants escaping.
			return raw + separator + "namespace=" + url.QueryEscape("copy {"+rand.Text()+"}:*")
		}}
	}
	return []backend{
		{"memory", func(*testing.T) string { return "memory:" }},
		{"bolt", func(t *testing.T) string { return "bolt:" + filepath.ToSlash(filepath.Join(t.TempDir(), "s.db")) }},
		server("postgres", testenv.Postgres),
		server("redis", testenv.Redis),
		server("mongodb", testenv.Mongo),
	}
}

// open opens a new store.
func (b backend) open(t *testing.T) sessionstore.SessionStore {
	t.Helper()
	store, err := sessionstore.Open(t.Context(), b.url(t))
	if err != nil {
		t.Fatalf("open %s: %v", b.name, err)
	}
	t.Cleanup(func() { store.Close() })
	return store
}

// must fails the test for an error.
func must[T any](t *testing.T) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// appendMany appends n messages of the given text, in batches.
func appendMany(t *testing.T, store sessionstore.SessionStore, id, text string, n int) {
	t.Helper()
	for done := 0; done < n; {
		batch := make([]sessionstore.Message, min(n-done, sessionstore.MaxAppendMessages))
		for i := range batch {
			batch[i] = sessionstore.UserMessage(fmt.Sprint(text, done+i+1))
		}
		must[[]sessionstore.Message](t)(store.AppendMessages(t.Context(), id, sessionstore.Append{Messages: batch}))
		done += len(batch)
	}
}

// unusual are sessions that a copy may damage.
//
// Field report S01: U+0000, and what looks like its escape. Field report C38: messages of
// megabytes.
func unusual(t *testing.T, store sessionstore.SessionStore) {
	t.Helper()
	ctx := t.Context()
	create := func(s sessionstore.Session) { t.Helper(); must[sessionstore.Session](t)(store.CreateSession(ctx, s)) }
	for i, id := range []string{
		strings.Repeat("x", 255), strings.Repeat("\U0010FFFF", 63), strings.Repeat("é", 127), "a{b}:*?[c]", "%s/../$x", " ", "שלום", `"'\`,
	} {
		create(sessionstore.Session{ID: id, UserID: id, AgentName: id, ParentID: id, ForkSeq: int64(i), TTL: time.Duration(i) * time.Hour})
		m := sessionstore.UserMessage("a\x00b \\u0000 \u2028 \U0001F600")
		m.ID, m.Name, m.AgentName = id, "n {}*", id
		m.Metadata = sessionstore.Metadata{"a.b": int64(1), "$x": 1.0, "": nil, "big": json.Number("123456789012345678901234567890"), "\x00": []any{map[string]any{}}}
		m.Extra = map[string]json.RawMessage{"later": json.RawMessage(`{"x":[1e2,"\u0000"]}`)}
		call := sessionstore.AssistantMessage("", sessionstore.ToolCall{ID: id, Name: "f {}*", Arguments: `{"a": "\u0000" }` + "\x00"})
		call.CreatedAt = time.Date(1, 1, 1, 0, 0, 0, 1000, time.UTC)
		must[[]sessionstore.Message](t)(store.AppendMessages(ctx, id, sessionstore.Append{Messages: []sessionstore.Message{m, call, sessionstore.ToolMessage(id, "")}}))
	}
	create(sessionstore.Session{ID: "gap", System: "s\x00", Metadata: sessionstore.Metadata{"k": 1.0}, Extra: map[string]json.RawMessage{"x": json.RawMessage(`{"y":1.0}`)}})
	appendMany(t, store, "gap", "", 10)
	must[sessionstore.Session](t)(store.TruncateMessages(ctx, "gap", sessionstore.Truncate{ThroughSeq: 4}))
	appendMany(t, store, "gap", "again ", 2)
	fork := int64(3)
	must[sessionstore.Session](t)(sessionstore.ForkSession(ctx, store, "gap", sessionstore.Fork{ID: "child", AtSeq: &fork}))
	create(sessionstore.Session{ID: "cleared"})
	appendMany(t, store, "cleared", "", 3)
	must[sessionstore.Session](t)(store.TruncateMessages(ctx, "cleared", sessionstore.Truncate{}))
	for id, status := range map[string]sessionstore.Status{"paused": sessionstore.StatusPaused, "closed": sessionstore.StatusClosed} {
		create(sessionstore.Session{ID: id})
		appendMany(t, store, id, "", 2)
		must[sessionstore.Session](t)(store.UpdateSession(ctx, id, sessionstore.SessionUpdate{Status: &status, SetMetadata: sessionstore.Metadata{"n": int64(1)}}))
	}
	create(sessionstore.Session{ID: "images"})
	appendMany(t, store, "images", "data:image/png;base64,"+strings.Repeat("iVBORw0K", 2<<17), 3) // 2 MiB each
	create(sessionstore.Session{ID: "deleted"})
	if err := store.DeleteSession(ctx, "deleted"); err != nil {
		t.Fatal(err)
	}
	create(sessionstore.Session{ID: "expired", TTL: time.Microsecond})
}

// content is all that a store holds, by session.
func content(t *testing.T, store sessionstore.SessionStore) map[string]string {
	t.Helper()
	all := map[string]string{}
	for q := (sessionstore.SessionQuery{}); ; {
		page := must[sessionstore.SessionPage](t)(store.ListSessions(t.Context(), q))
		for _, s := range page.Sessions {
			text := must[[]byte](t)(s.AppendJSON(nil))
			for m, err := range sessionstore.NewManager(store, nil).Messages(t.Context(), s.ID) {
				if err != nil {
					t.Fatal(err)
				}
				text = must[[]byte](t)(m.AppendJSON(append(text, '\n')))
			}
			all[s.ID] = string(text)
		}
		if q.Cursor = page.Next; q.Cursor == "" {
			return all
		}
	}
}

func wantContent(t *testing.T, what string, got, want map[string]string) {
	t.Helper()
	for id, text := range want {
		if got[id] != text {
			t.Errorf("%s: session %.40q is\n%.1000s\nwant\n%.1000s", what, id, got[id], text)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%s: %d sessions, want %d", what, len(got), len(want))
	}
}

func wantSound(t *testing.T, store sessionstore.SessionStore) {
	t.Helper()
	if r := must[verify.Report](t)(verify.Store(t.Context(), store, nil)); r.Total > 0 {
		t.Errorf("verify finds %d problems, the first of them %v", r.Total, r.Problems)
	}
}

// mustCopy copies without a session that differs or fails, and returns the report.
func mustCopy(t *testing.T, to, from sessionstore.SessionStore, o sessionstore.CopyOptions) sessionstore.CopyReport {
	t.Helper()
	o.OnError = func(e sessionstore.SessionError) { t.Errorf("copy: %v", e) }
	return must[sessionstore.CopyReport](t)(sessionstore.Copy(t.Context(), to, from, &o))
}

// Between any two backends a copy is exact, a second one writes nothing, and a later one
// catches up.
func TestCopyBetweenBackends(t *testing.T) {
	t.Parallel()
	for i, source := range backends() {
		t.Run("from "+source.name, func(t *testing.T) {
			t.Parallel()
			from := source.open(t)
			unusual(t, from)
			want := content(t, from)
			for j, target := range backends() {
				if testing.Short() && j != (i+1)%len(backends()) {
					continue // each is a source once, and a target once
				}
				t.Run("to "+target.name, func(t *testing.T) {
					to := target.open(t)
					must[sessionstore.Session](t)(to.CreateSession(t.Context(), sessionstore.Session{ID: "gap", TTL: time.Microsecond}))
					must[sessionstore.Session](t)(to.CreateSession(t.Context(), sessionstore.Session{ID: "child"}))
					appendMany(t, to, "child", "of a deleted one ", 5)
					if err := to.DeleteSession(t.Context(), "child"); err != nil {
						t.Fatal(err)
					}
					if rep := mustCopy(t, to, from, sessionstore.CopyOptions{}); rep.Copied != int64(len(want)) {
						t.Errorf("copy: got the report %+v, want %d copied", rep, len(want))
					}
					wantContent(t, "copy", content(t, to), want)
					if rep := mustCopy(t, to, from, sessionstore.CopyOptions{Recheck: true}); rep.Same != int64(len(want)) {
						t.Errorf("copy again: got the report %+v, want %d that are the same", rep, len(want))
					}
					appendMany(t, from, "gap", "more ", 1)
					want = content(t, from)
					if rep := mustCopy(t, to, from, sessionstore.CopyOptions{}); rep.Updated != 1 || rep.Same != int64(len(want))-1 {
						t.Errorf("copy after an append: got the report %+v, want one session brought up to date", rep)
					}
					wantContent(t, "copy after an append", content(t, to), want)
					wantSound(t, to)
					if n := must[int](t)(sessionstore.PurgeExpired(t.Context(), to, 0)); n != 0 {
						t.Errorf("purge: %d sessions had expired at the target, want none", n)
					}
				})
			}
		})
	}
}

// A session of 10,000 messages goes to any backend, and what is there already costs
// next to nothing.
func TestCopyOfALongSession(t *testing.T) {
	t.Parallel()
	const n = 10_000
	from := backends()[1].open(t)
	must[sessionstore.Session](t)(from.CreateSession(t.Context(), sessionstore.Session{ID: "long"}))
	appendMany(t, from, "long", "", n)
	want := content(t, from)
	for _, b := range backends() {
		t.Run("to "+b.name, func(t *testing.T) {
			to := b.open(t)
			if rep := mustCopy(t, to, from, sessionstore.CopyOptions{}); rep.Copied != 1 || rep.Messages != n {
				t.Errorf("copy: got the report %+v, want one session of %d messages", rep, n)
			}
			if rep := mustCopy(t, to, from, sessionstore.CopyOptions{}); rep.Same != 1 || rep.Messages != 0 {
				t.Errorf("copy again: got the report %+v, want nothing written", rep)
			}
			wantContent(t, "copy", content(t, to), want)
		})
	}
}

// stopping is a store that fails from a call on; that call may still take place, its answer
// lost.
type stopping struct {
	sessionstore.SessionStore
	left  atomic.Int64 // calls that succeed
	after bool         // the first that fails takes place
}

var errStopped = errors.New("stopped")

func stopped[T any](s *stopping, call func() (T, error)) (out T, err error) {
	left := s.left.Add(-1)
	if left >= 0 {
		return call()
	}
	if left == -1 && s.after {
		if _, err := call(); err != nil {
			return out, err
		}
	}
	return out, errStopped
}

func (s *stopping) GetSession(ctx context.Context, id string) (sessionstore.Session, error) {
	return stopped(s, func() (sessionstore.Session, error) { return s.SessionStore.GetSession(ctx, id) })
}

func (s *stopping) DeleteSession(ctx context.Context, id string) error {
	_, err := stopped(s, func() (struct{}, error) { return struct{}{}, s.SessionStore.DeleteSession(ctx, id) })
	return err
}

func (s *stopping) ListMessages(ctx context.Context, id string, q sessionstore.MessageQuery) (sessionstore.MessagePage, error) {
	return stopped(s, func() (sessionstore.MessagePage, error) { return s.SessionStore.ListMessages(ctx, id, q) })
}

func (s *stopping) RestoreSession(ctx context.Context, in sessionstore.Session, messages iter.Seq2[sessionstore.Message, error]) (sessionstore.Session, error) {
	return stopped(s, func() (sessionstore.Session, error) {
		return s.SessionStore.(sessionstore.Restorer).RestoreSession(ctx, in, messages)
	})
}

// A copy whose target fails at any call leaves each session as it was, absent or complete,
// and the next copy completes it.
func TestCopyToABackendThatStops(t *testing.T) {
	t.Parallel()
	for _, b := range backends() {
		t.Run(b.name, func(t *testing.T) {
			if b.name == "mongodb" && testing.Short() {
				t.Skip("the many stores that this makes take FerretDB minutes; run it without -short")
			}
			t.Parallel()
			from, before := backends()[0].open(t), backends()[0].open(t)
			for i, id := range []string{"older", "new", "large"} {
				must[sessionstore.Session](t)(from.CreateSession(t.Context(), sessionstore.Session{ID: id}))
				appendMany(t, from, id, strings.Repeat("x", i<<16), 3) // up to 384 KiB: not one of those copied together
			}
			mustCopy(t, before, from, sessionstore.CopyOptions{IDs: []string{"older"}})
			appendMany(t, from, "older", "more ", 1)
			was, want := content(t, before), content(t, from)
			for _, after := range []bool{false, true} {
				for n, failed := int64(0), true; failed; n++ {
					inner := b.open(t)
					mustCopy(t, inner, before, sessionstore.CopyOptions{})
					to := &stopping{SessionStore: inner, after: after}
					to.left.Store(n)
					_, err := sessionstore.Copy(t.Context(), to, from, nil)
					if failed = err != nil; failed && !errors.Is(err, errStopped) {
						t.Fatalf("a copy that stops after %d calls: got %v, want %v", n, err, errStopped)
					}
					for id, text := range content(t, inner) {
						if text != want[id] && text != was[id] {
							t.Errorf("a copy that stops after %d calls: session %q is\n%.500s\nwant\n%.500s", n, id, text, want[id])
						}
					}
					mustCopy(t, inner, from, sessionstore.CopyOptions{})
					wantContent(t, fmt.Sprintf("the copy after one that stopped after %d calls", n), content(t, inner), want)
					if !failed {
						wantSound(t, inner)
					}
					if err := inner.Close(); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
}

// A source that is written to all the time gives each session as it was at one moment, and
// a last copy, once it rests, is equal.
func TestCopyOfABusySource(t *testing.T) {
	t.Parallel()
	for _, b := range backends() {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			from, to := b.open(t), backends()[0].open(t)
			const sessions = 20
			id := func(i int) string { return fmt.Sprint("s", i%sessions) }
			for i := range sessions {
				must[sessionstore.Session](t)(from.CreateSession(t.Context(), sessionstore.Session{ID: id(i)}))
			}
			var writers sync.WaitGroup
			for w := range 2 {
				writers.Go(func() {
					for i := range 300 {
						// Two at once: a copy with one of them would show.
						_, err := from.AppendMessages(t.Context(), id(w+7*i), sessionstore.Append{Messages: []sessionstore.Message{
							sessionstore.UserMessage("q"), sessionstore.AssistantMessage("a"),
						}})
						if err != nil {
							t.Errorf("append: %v", err)
							return
						}
					}
				})
			}
			done := make(chan struct{})
			go func() {
				writers.Wait()
				close(done)
			}()
			for resting := false; !resting; {
				select {
				case <-done:
					resting = true
				default:
				}
				rep := mustCopy(t, to, from, sessionstore.CopyOptions{})
				if got := rep.Copied + rep.Updated + rep.Same; got != sessions {
					t.Errorf("copy of a busy source: got the report %+v, want %d sessions", rep, sessions)
				}
				for id, text := range content(t, to) {
					if strings.Count(text, "\n")%2 != 0 {
						t.Errorf("session %q was copied in the middle of a batch:\n%.1000s", id, text)
					}
				}
				wantSound(t, to)
			}
			wantContent(t, "the last copy", content(t, to), content(t, from))
		})
	}
}
