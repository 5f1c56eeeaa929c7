package storetest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/memory"
	"github.com/sessionstore/sessionstore/storetest"
)

func memoryBackend(t *testing.T) storetest.Backend {
	db := memory.NewDB()
	return storetest.Backend{
		Open: func(tb testing.TB, c storetest.Config) sessionstore.SessionStore {
			s, err := memory.New(&memory.Options{DB: db, Namespace: c.Namespace, Now: c.Now})
			if err != nil {
				tb.Fatalf("memory.New: got error %v, want a store", err)
			}
			return s
		},
	}
}

func TestMemory(t *testing.T) {
	t.Parallel()
	storetest.Run(t, memoryBackend(t))
}

// TestEveryPower runs the suite on the example's store with all that a backend can have:
// a restart, other processes, and a connection that breaks.
func TestEveryPower(t *testing.T) {
	t.Parallel()
	db := new(mapDB)
	server := httptest.NewServer(db)
	t.Cleanup(server.Close)
	open := func(tb testing.TB, c storetest.Config) sessionstore.SessionStore {
		if addr := os.Getenv("MAPSTORE_ADDR"); addr != "" {
			return &remoteStore{url: addr, namespace: c.Namespace, now: c.Now()}
		}
		s := &breakable{}
		s.SessionStore = storetest.NewFaulty(db.open(c.Namespace, c.Now), s.decide)
		return s
	}
	storetest.Run(t, storetest.Backend{
		Open:   open,
		Reopen: open,
		Child:  []string{"MAPSTORE_ADDR=" + server.URL},
		Break:  func(_ testing.TB, s sessionstore.SessionStore) { s.(*breakable).broken.Add(1) },
	})
}

// breakable is a store whose next call fails, now before and now after its commit. Like
// the store in it, it has no optional power.
type breakable struct {
	sessionstore.SessionStore
	broken, calls atomic.Int32
}

func (s *breakable) decide(storetest.Call) storetest.Fault {
	if s.broken.Swap(0) == 0 {
		return storetest.Pass
	}
	if s.calls.Add(1)%2 == 0 {
		return storetest.FailBefore
	}
	return storetest.FailAfter
}

// remoteStore is what a child process opens: it appends to its parent's store.
type remoteStore struct {
	sessionstore.SessionStore
	url, namespace string
	now            time.Time
}

type remoteAppend struct {
	Namespace, Session string
	Now                time.Time
	Messages           []sessionstore.Message
}

func (s *remoteStore) Close() error { return nil }

func (s *remoteStore) AppendMessages(ctx context.Context, id string, a sessionstore.Append) ([]sessionstore.Message, error) {
	body, err := json.Marshal(remoteAppend{s.namespace, id, s.now, a.Messages})
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(resp.Body)
		return nil, fmt.Errorf("%s: %s", resp.Status, text)
	}
	return nil, nil // nobody looks at it
}

// ServeHTTP appends for a child process.
func (db *mapDB) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var in remoteAppend
	err := json.NewDecoder(r.Body).Decode(&in)
	if err == nil {
		s := db.open(in.Namespace, func() time.Time { return in.Now })
		_, err = s.AppendMessages(r.Context(), in.Session, sessionstore.Append{Messages: in.Messages})
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
	}
}

// again runs this test binary again, one test of it, with the environment added, and
// returns what it printed and whether it passed.
func again(t *testing.T, run string, env ...string) (string, bool) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatalf("os.Executable: got error %v, want the test binary", err)
	}
	cmd := exec.CommandContext(t.Context(), exe, "-test.run="+run, "-test.v", "-test.count=1")
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	return string(out), err == nil
}

// TestTimeZone is field report S07: times that come back in the zone of the process.
func TestTimeZone(t *testing.T) {
	t.Parallel()
	for _, zone := range []string{"Asia/Kolkata", "America/New_York"} {
		if out, ok := again(t, "^TestMemory$/^(same|create|expire|list.order)$", "TZ="+zone); !ok {
			t.Errorf("the suite over memory with TZ=%s: got a failure, want a pass\n%s", zone, out)
		}
	}
}

// broken is a store with faults that the suite must report well.
type broken struct {
	sessionstore.SessionStore
	mode string
}

func (s *broken) ListSessions(ctx context.Context, q sessionstore.SessionQuery) (sessionstore.SessionPage, error) {
	if s.mode == "nothing" {
		return sessionstore.SessionPage{}, errors.New("no such table")
	}
	return s.SessionStore.ListSessions(ctx, q)
}

func (s *broken) UpdateSession(ctx context.Context, id string, u sessionstore.SessionUpdate) (sessionstore.Session, error) {
	if s.mode == "goexit" {
		runtime.Goexit()
	}
	out, err := s.SessionStore.UpdateSession(ctx, id, u)
	out.Version++
	return out, err
}

func (s *broken) TruncateMessages(context.Context, string, sessionstore.Truncate) (sessionstore.Session, error) {
	panic("not written yet")
}

func (s *broken) DeleteSession(ctx context.Context, id string) error {
	if s.mode == "hang" {
		select {}
	}
	return s.SessionStore.DeleteSession(ctx, id)
}

// TestFailures runs itself again, there as the conformance test of a broken store, and
// reads what its author would see.
func TestFailures(t *testing.T) {
	t.Parallel()
	const mode = "STORETEST_BROKEN"
	switch v := os.Getenv(mode); v {
	case "faults", "hang", "goexit", "nothing", "outer", "given":
		db := new(mapDB)
		b := storetest.Backend{Open: func(tb testing.TB, c storetest.Config) sessionstore.SessionStore {
			switch v {
			case "outer":
				t.Skip("no server")
			case "given":
				tb.Errorf("no %s", "server")
			}
			return &broken{db.open(c.Namespace, c.Now), v}
		}}
		if v == "faults" {
			b.Exempt = map[storetest.RuleID]string{"update.version": "known", "list.page": "not so", "nonsense": "x"}
		}
		storetest.Run(t, b)
		return
	}
	for _, test := range []struct {
		run, mode string
		env, want []string
		not       string
	}{
		{"^TestFailures$/^(update|list.page|append.expect|truncate)", "faults", nil, []string{
			`Backend.Exempt names the rule "nonsense"`,
			"--- PASS: TestFailures/update.version", "exempt: known",
			"--- FAIL: TestFailures/list.page", "the rule holds: got a pass, want a failure, because it is exempt (not so)",
			"--- FAIL: TestFailures/update.merge", `case "per top-level key"`, "rules_update.go:", "GetSession by another handle",
			"got:", "want:", "differs: Version got 2, want 3", "rule:  [update.merge] Metadata merges per top-level key",
			`again: STORETEST_SEED=77 go test -run '^TestFailures$/^update\.merge$'`,
			"--- FAIL: TestFailures/truncate", "got a panic, want none: not written yet",
			"not run (filtered)", "holds, but is exempt: not so", "Backend.Reopen is nil: durability not exercised",
		}, "case still running"},
		{"^TestFailures$/^delete$", "hang", []string{"STORETEST_WATCHDOG=300ms"}, []string{
			"--- FAIL: TestFailures/delete", "got a case still running after 300ms", "goroutine ", "(*broken).DeleteSession",
			"not run, because one before it hung",
		}, ""},
		{"^TestFailures$/^(append.active|update.merge)$", "goexit", nil, []string{
			"--- FAIL: TestFailures/append.active", "--- FAIL: TestFailures/update.merge", "runtime.Goexit before the case was done", "the tb that they are given",
		}, "case still running"},
		{"^TestFailures$", "nothing", nil, []string{"so no rule was run", "ListSessions(", "error no such table"}, "TestFailures/"},
		{"^TestFailures$", "outer", nil, []string{"so no rule was run", "runtime.Goexit before the case was done"}, "TestFailures/"},
		{"^TestFailures$", "given", nil, []string{"so no rule was run", "storetest_test.go:", "no server"}, "TestFailures/"},
	} {
		out, ok := again(t, test.run, append(test.env, mode+"="+test.mode, "STORETEST_SEED=77")...)
		if ok {
			t.Errorf("the suite on a store with %s: got a pass, want a failure\n%s", test.mode, out)
		}
		for _, want := range test.want {
			if !strings.Contains(out, want) {
				t.Errorf("the output of the suite on a store with %s: got\n%s\nwant it to contain %q", test.mode, out, want)
			}
		}
		if test.not != "" && strings.Contains(out, test.not) {
			t.Errorf("the output of the suite on a store with %s: got\n%s\nwant it without %q", test.mode, out, test.not)
		}
	}
}
