package storetest

import (
	"errors"
	"strings"
	"testing"

	"github.com/sessionstore/sessionstore"
)

func appended(start, end int64, ids string, first int64) event {
	ev := event{actor: "w", start: start, end: end, ids: strings.Fields(ids)}
	for i := range ev.ids {
		ev.seqs = append(ev.seqs, first+int64(i))
	}
	return ev
}

func saw(start, end, after, lastSeq int64, ids string) event {
	ev := event{actor: "r", read: true, start: start, end: end, after: after, lastSeq: lastSeq, count: lastSeq, ids: strings.Fields(ids)}
	for i := range ev.ids {
		ev.seqs = append(ev.seqs, after+1+int64(i))
	}
	return ev
}

func with(ev event, f func(*event)) event {
	f(&ev)
	return ev
}

func TestCheckHistory(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		history []event
		why     string // "" = linearizable
	}{
		{"nothing", nil, ""},
		{"one after the other", []event{
			appended(1, 2, "a b", 1), saw(3, 4, 0, 2, "a b"), appended(5, 6, "c", 3), saw(7, 8, 2, 3, "c"),
		}, ""},
		{"overlapping calls in any order", []event{
			appended(1, 10, "a", 2), appended(2, 9, "b", 1), saw(3, 8, 0, 0, ""), saw(4, 7, 0, 2, "b a"), saw(5, 6, 0, 1, "b"),
		}, ""},
		{"two appends with one seq", []event{appended(1, 2, "a", 1), appended(3, 4, "b", 1)}, "which message"},
		{"a gap", []event{appended(1, 2, "a", 1), appended(3, 4, "b", 3)}, "none lost"},
		{"seq 0", []event{appended(1, 2, "a", 0)}, "none lost"},
		{"a batch torn apart", []event{
			with(appended(1, 4, "a b", 1), func(ev *event) { ev.seqs[1] = 3 }), appended(2, 3, "c", 2),
		}, "torn apart"},
		{"a batch in another order", []event{
			with(appended(1, 4, "a b", 1), func(ev *event) { ev.seqs[0], ev.seqs[1] = 2, 1 }),
		}, "torn apart"},
		{"an append that returned less", []event{
			with(appended(1, 4, "a b", 1), func(ev *event) { ev.seqs = ev.seqs[:1] }),
		}, "got 1 messages, want 2"},
		{"an append that began later is ahead", []event{appended(1, 2, "a", 2), appended(3, 4, "b", 1)}, "had returned"},
		{"a read misses what had been acknowledged", []event{appended(1, 2, "a", 1), saw(3, 4, 0, 0, "")}, "had returned"},
		{"a read sees what had not begun", []event{saw(1, 2, 0, 1, "a"), appended(3, 4, "a", 1)}, "had returned"},
		{"a reader goes back", []event{appended(1, 9, "a", 1), saw(2, 3, 0, 1, "a"), saw(4, 5, 0, 0, "")}, "had returned"},
		{"a batch seen in part", []event{appended(1, 4, "a b", 1), saw(2, 3, 0, 1, "a")}, "seen in part"},
		{"another message", []event{appended(1, 2, "a", 1), saw(3, 4, 0, 1, "x")}, `got message "x"`},
		{"messages without their counter", []event{appended(1, 2, "a", 1), saw(3, 4, 0, 1, "")}, "got 0 messages, want the 1"},
		{"counters that disagree", []event{
			appended(1, 2, "a", 1), with(saw(3, 4, 0, 1, "a"), func(ev *event) { ev.count = 0 }),
		}, "message_count 0"},
		{"a hole in a read", []event{
			appended(1, 2, "a b c", 1), with(saw(3, 4, 0, 3, "a b c"), func(ev *event) { ev.seqs[1] = 3 }),
		}, "at seq 3"},
		{"a spurious error", []event{{actor: "w", start: 1, end: 2, ids: []string{"a"}, err: errors.New("try again")}}, "want none"},
	} {
		bad := strings.Join(checkHistory(tt.history), "\n")
		if (bad == "") != (tt.why == "") || !strings.Contains(bad, tt.why) {
			t.Errorf("checkHistory of %s: got %q, want it to say %q", tt.name, bad, tt.why)
		}
	}
}

func TestCheckTransitions(t *testing.T) {
	t.Parallel()
	const active, paused, closed = sessionstore.StatusActive, sessionstore.StatusPaused, sessionstore.StatusClosed
	no := sessionstore.ErrInvalidTransition
	for _, tt := range []struct {
		name  string
		calls []transition
		why   string
	}{
		{"pause, resume, close, refusal", []transition{{1, 2, paused, 2, nil}, {3, 4, active, 3, nil}, {5, 6, closed, 4, nil}, {7, 8, paused, 0, no}, {9, 10, closed, 4, nil}}, ""},
		{"racing, each changed or found it so", []transition{{1, 9, paused, 2, nil}, {2, 8, paused, 2, nil}, {3, 7, active, 1, nil}}, ""},
		{"one version for two states", []transition{{1, 9, paused, 2, nil}, {2, 8, closed, 2, nil}}, "both for"},
		{"closed twice", []transition{{1, 9, closed, 2, nil}, {2, 8, closed, 3, nil}}, "closed once"},
		{"opened again", []transition{{1, 9, closed, 2, nil}, {2, 8, active, 3, nil}}, "after version 2, closed"},
		{"a version from nowhere", []transition{{1, 9, paused, 3, nil}}, "from no call"},
		{"a change into the same", []transition{{1, 9, paused, 2, nil}, {2, 8, paused, 3, nil}}, "already"},
		{"another error", []transition{{1, 9, paused, 0, errors.New("busy")}}, "ErrInvalidTransition"},
		{"a close refused", []transition{{1, 9, closed, 0, no}}, "want success"},
		{"time runs back", []transition{{1, 2, paused, 2, nil}, {3, 4, active, 1, nil}}, "began after"},
		{"success after a refusal", []transition{{1, 9, closed, 3, nil}, {2, 3, paused, 0, no}, {4, 5, paused, 2, nil}}, "was told"},
		{"success after a close", []transition{{1, 2, closed, 3, nil}, {4, 5, paused, 2, nil}}, "began after"},
	} {
		bad := strings.Join(checkTransitions(tt.calls), "\n")
		if (bad == "") != (tt.why == "") || !strings.Contains(bad, tt.why) {
			t.Errorf("checkTransitions of %s: got %q, want it to say %q", tt.name, bad, tt.why)
		}
	}
}
