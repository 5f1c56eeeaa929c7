package sessionstore_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/internal/chatcheck"
	"github.com/sessionstore/sessionstore/memory"
	"pgregory.net/rapid"
)

// smallPages makes the pages of a store small, so that short histories have many.
type smallPages struct {
	sessionstore.SessionStore
	limit int
}

func (s smallPages) ListMessages(ctx context.Context, id string, q sessionstore.MessageQuery) (sessionstore.MessagePage, error) {
	if q.Limit == 0 || q.Limit > s.limit {
		q.Limit = s.limit
	}
	return s.SessionStore.ListMessages(ctx, id, q)
}

// reading counts the messages that are read from a store.
type reading struct {
	sessionstore.SessionStore
	calls, messages int
}

func (r *reading) ListMessages(ctx context.Context, id string, q sessionstore.MessageQuery) (sessionstore.MessagePage, error) {
	page, err := r.SessionStore.ListMessages(ctx, id, q)
	r.calls++
	r.messages += len(page.Messages)
	return page, err
}

func part(raw string) sessionstore.Part {
	p, err := sessionstore.ParsePart([]byte(raw))
	if err != nil {
		panic(err)
	}
	return p
}

// story is a history as agents leave them behind, and what became of its calls.
type story struct {
	messages []sessionstore.Message
	answers  map[string]string // by the call's place "message id/index": the latest result's text
}

// stories generates histories: turns of a user message and several model steps with up
// to five parallel calls each; results in any order, several for a call, late or never;
// instructions anywhere; reasoning before an answer; results of calls nobody made.
func stories() *rapid.Generator[story] {
	return rapid.Custom(func(t *rapid.T) story {
		s := story{answers: map[string]string{}}
		add := func(m sessionstore.Message) string {
			m.ID = fmt.Sprintf("m%d", len(s.messages))
			s.messages = append(s.messages, m)
			return m.ID
		}
		chance := func(name string, percent int) bool {
			return rapid.IntRange(1, 100).Draw(t, name) <= percent
		}
		type call struct{ place, id string }
		results := 0
		answer := func(c call) {
			results++
			text := fmt.Sprintf("result %d", results)
			m := sessionstore.ToolMessage(c.id, text)
			if chance("media", 10) {
				m.Content = sessionstore.Parts(sessionstore.TextPart(text), sessionstore.ImagePart("https://example.com/a.png"))
			}
			add(m)
			s.answers[c.place] = text
		}
		instruct := func() {
			if chance("instruction", 10) {
				role := rapid.SampledFrom([]sessionstore.Role{sessionstore.RoleSystem, sessionstore.RoleDeveloper}).Draw(t, "role")
				add(sessionstore.Message{Role: role, Content: sessionstore.Text("be brief")})
			}
		}
		sameIDs := rapid.Bool().Draw(t, "ids repeat in each step") // then no result is late
		var late []call
		for range rapid.IntRange(0, 3).Draw(t, "leading instructions") {
			add(sessionstore.Message{Role: sessionstore.RoleSystem, Content: sessionstore.Text("be kind")})
		}
		if chance("greeting", 20) {
			add(sessionstore.AssistantMessage("hello"))
		}
		for range rapid.IntRange(0, 5).Draw(t, "turns") {
			instruct()
			add(sessionstore.UserMessage("question"))
			for range rapid.IntRange(0, 3).Draw(t, "steps") {
				instruct()
				for len(late) > 0 && chance("late result", 50) {
					answer(late[0])
					late = late[1:]
				}
				if chance("reasoning", 25) {
					add(sessionstore.Message{Role: sessionstore.RoleAssistant,
						Content: sessionstore.Parts(part(`{"type":"reasoning","text":"hm"}`))})
				}
				if chance("orphan", 5) {
					add(sessionstore.ToolMessage("nobody", "an answer to nothing"))
				}
				text := rapid.SampledFrom([]string{"", "let me see"}).Draw(t, "text")
				var made []sessionstore.ToolCall
				for i := range rapid.IntRange(0, 5).Draw(t, "calls") {
					id := fmt.Sprintf("call_%d", i)
					if !sameIDs {
						id = fmt.Sprintf("call_%d_%d", len(s.messages), i)
					}
					made = append(made, sessionstore.ToolCall{ID: id, Name: "f", Arguments: "{}"})
				}
				id := add(sessionstore.AssistantMessage(text, made...))
				var open []call
				for i, c := range made {
					open = append(open, call{fmt.Sprintf("%s/%d", id, i), c.ID})
				}
				for _, c := range rapid.Permutation(open).Draw(t, "order") {
					switch {
					case chance("answered", 80):
						answer(c)
						if chance("answered again", 10) {
							for range rapid.SampledFrom([]int{1, 2, 40}).Draw(t, "times") {
								answer(c)
							}
						}
					case !sameIDs:
						late = append(late, c)
					}
				}
			}
		}
		return s
	})
}

func storyManager(t *rapid.T, s story, system string) *sessionstore.Manager {
	store, err := memory.New(nil)
	if err != nil {
		t.Fatalf("memory.New() = %v", err)
	}
	m := sessionstore.NewManager(smallPages{store, rapid.IntRange(1, 20).Draw(t, "page")}, nil)
	if _, err := m.Start(t.Context(), sessionstore.Session{ID: "s", System: system}); err != nil {
		t.Fatalf("Start() = %v", err)
	}
	if _, err := m.Append(t.Context(), "s", s.messages...); err != nil {
		t.Fatalf("Append() = %v", err)
	}
	return m
}

func checkChat(t interface{ Fatalf(string, ...any) }, chat []sessionstore.ChatMessage) {
	b := []byte{'['}
	for i, c := range chat {
		if i > 0 {
			b = append(b, ',')
		}
		var err error
		if b, err = c.AppendJSON(b); err != nil {
			t.Fatalf("AppendJSON(%v) = %v", c, err)
		}
	}
	b = append(b, ']')
	if err := chatcheck.List(b); err != nil {
		t.Fatalf("an API would refuse the chat messages: %v\n%s", err, b)
	}
}

func reasons(m sessionstore.Message) bool {
	if len(m.ToolCalls) > 0 {
		return false
	}
	for _, p := range m.Content.All() {
		return p.Type() == "reasoning"
	}
	return false
}

// leads counts the instructions at the head of a list.
func leads(ms []sessionstore.Message) int {
	for i, m := range ms {
		if m.Role != sessionstore.RoleSystem && m.Role != sessionstore.RoleDeveloper {
			return i
		}
	}
	return len(ms)
}

// weight is what messages count against Window.Last: one each, and one more for each
// run of results with media.
func weight(ms []sessionstore.Message) int {
	n, media := len(ms), false
	for i, m := range ms {
		if m.Role == sessionstore.RoleTool && m.Content.IsParts() {
			media = true
		}
		if media && (i+1 == len(ms) || ms[i+1].Role != sessionstore.RoleTool) {
			n++
			media = false
		}
	}
	return n
}

// wantWindow finds the window in what an unbounded prompt holds, by trying all cuts.
func wantWindow(all []sessionstore.Message, fits func([]sessionstore.Message) bool) (want []sessionstore.Message, ok bool) {
	lead := leads(all)
	rest := all[lead:]
	var cuts []int
	for i, m := range rest {
		if m.Role != sessionstore.RoleTool && (i == 0 || !reasons(rest[i-1])) {
			cuts = append(cuts, i)
		}
	}
	cuts = append(cuts, len(rest))
	first := slices.IndexFunc(cuts, func(c int) bool { return fits(rest[c:]) })
	if len(cuts) > 1 && first == len(cuts)-1 {
		return nil, false
	}
	from := cuts[first]
	if first > 0 {
		for _, c := range cuts[first : len(cuts)-1] {
			at := c
			for at < len(rest)-1 && reasons(rest[at]) {
				at++
			}
			if rest[at].Role == sessionstore.RoleUser {
				from = c
				break
			}
		}
	}
	return append(slices.Clone(all[:lead]), rest[from:]...), true
}

// Field reports C01, C16 and C31: windows that part a call from its result, lose the
// instructions, or part reasoning from what it led to.
func TestWindowOfAnyHistory(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := stories().Draw(t, "story")
		m := storyManager(t, s, "")
		all, err := m.Prompt(t.Context(), "s", nil)
		if err != nil {
			t.Fatalf("Prompt() = %v", err)
		}
		checkAnswers(t, s, all.Messages)
		history, err := m.History(t.Context(), "s", 0)
		if err != nil {
			t.Fatalf("History() = %v", err)
		}
		tokens := func(m sessionstore.Message) int { return len(m.Content.String()) }
		sum := func(ms []sessionstore.Message) (n int) {
			for _, m := range ms {
				n += tokens(m)
			}
			return n
		}
		for n := 1; n <= len(s.messages)+1; n += 1 + n/16 {
			for _, w := range []sessionstore.Window{{Last: n}, {Tokens: 7 * n, Count: tokens}, {Last: n, Tokens: 14 * n, Count: tokens}} {
				name := fmt.Sprintf("window of %d messages, %d tokens", w.Last, w.Tokens)
				fits := func(ms []sessionstore.Message) bool {
					return (w.Last == 0 || weight(ms) <= w.Last) && (w.Tokens == 0 || sum(ms) <= w.Tokens)
				}
				want, ok := wantWindow(all.Messages, fits)
				got, err := m.Prompt(t.Context(), "s", &w)
				if !ok {
					if !errors.Is(err, sessionstore.ErrTooLarge) {
						t.Fatalf("%s: got %v, %v, want ErrTooLarge", name, got.Messages, err)
					}
					continue
				}
				if err != nil {
					t.Fatalf("%s: got %v, want %v", name, err, want)
				}
				if !reflect.DeepEqual(got.Messages, want) {
					t.Fatalf("%s:\n got %v\nwant %v", name, got.Messages, want)
				}
				chat := got.ChatMessages()
				checkChat(t, chat)
				if sent := len(chat) - leads(got.Messages); w.Last > 0 && sent > w.Last {
					t.Fatalf("%s: sends %d messages: %v", name, sent, chat)
				}
				same, err := sessionstore.NewPrompt(got.Session, history, &w)
				if err != nil || !reflect.DeepEqual(same, got) {
					t.Fatalf("%s: NewPrompt of the history = %v, %v, want %v", name, same, err, got)
				}
			}
		}
		if after, err := m.History(t.Context(), "s", 0); err != nil || !reflect.DeepEqual(after, history) {
			t.Fatalf("reading it changed the history: %v, %v, want %v", after, err, history)
		}
	})
}

// checkAnswers holds the results in an unbounded prompt against the story (field reports
// C02 and C12: unanswered calls, late results, several results of a call), and looks for
// messages that were lost.
func checkAnswers(t *rapid.T, s story, got []sessionstore.Message) {
	seen := map[string]bool{}
	for i, m := range got {
		seen[m.ID] = true
		for j := range m.ToolCalls {
			want, ok := s.answers[fmt.Sprintf("%s/%d", m.ID, j)]
			if !ok {
				want = sessionstore.NoToolResult
			}
			if i+1+j >= len(got) || got[i+1+j].Role != sessionstore.RoleTool || got[i+1+j].Content.String() != want {
				t.Fatalf("call %d of %s: want the result %q at %d of %v", j, m.ID, want, i+1+j, got)
			}
		}
	}
	for _, m := range s.messages {
		empty := m.Role == sessionstore.RoleAssistant && len(m.ToolCalls) == 0 && !m.Content.IsParts() && m.Content.String() == ""
		if m.Role != sessionstore.RoleTool && !empty && !seen[m.ID] {
			t.Fatalf("%s is missing in %v", m.ID, got)
		}
	}
}

func TestDropUnanswered(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := stories().Draw(t, "story")
		m := storyManager(t, s, "")
		p, err := m.Prompt(t.Context(), "s", &sessionstore.Window{DropUnanswered: true})
		if err != nil {
			t.Fatalf("Prompt() = %v", err)
		}
		checkChat(t, p.ChatMessages())
		results := 0
		for _, m := range p.Messages {
			if m.ID == "" {
				t.Fatalf("a message was made up: %v", m)
			}
			if m.Role == sessionstore.RoleTool {
				results++
			}
		}
		if results != len(s.answers) {
			t.Fatalf("%d results are sent, want %d: %v", results, len(s.answers), p.Messages)
		}
	})
}

// Field report C02: PendingToolCalls lists exactly the unanswered ones.
func TestPendingToolCallsOfAnyHistory(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := stories().Draw(t, "story")
		m := storyManager(t, s, "")
		var want []string
		for _, msg := range s.messages {
			for j, c := range msg.ToolCalls {
				if _, ok := s.answers[fmt.Sprintf("%s/%d", msg.ID, j)]; !ok {
					want = append(want, c.ID)
				}
			}
		}
		calls, err := m.PendingToolCalls(t.Context(), "s")
		if err != nil {
			t.Fatalf("PendingToolCalls() = %v", err)
		}
		var got []string
		for _, c := range calls {
			got = append(got, c.ID)
		}
		if !slices.Equal(got, want) {
			t.Fatalf("PendingToolCalls() = %q, want %q", got, want)
		}
	})
}

// ids returns the ids of messages, "+" for one that was made up.
func ids(ms []sessionstore.Message) []string {
	out := []string{}
	for _, m := range ms {
		if m.ID == "" {
			m.ID = "+" + m.ToolCallID
		}
		out = append(out, m.ID)
	}
	return out
}

func named(id string, m sessionstore.Message) sessionstore.Message {
	m.ID = id
	return m
}

func calls(ids ...string) sessionstore.Message {
	m := sessionstore.Message{Role: sessionstore.RoleAssistant}
	for _, id := range ids {
		m.ToolCalls = append(m.ToolCalls, sessionstore.ToolCall{ID: id, Name: "f"})
	}
	return m
}

func TestWindow(t *testing.T) {
	t.Parallel()
	system := sessionstore.Message{Role: sessionstore.RoleSystem, Content: sessionstore.Text("be kind")}
	developer := sessionstore.Message{Role: sessionstore.RoleDeveloper, Content: sessionstore.Text("be brief")}
	user, answer := sessionstore.UserMessage("u"), sessionstore.AssistantMessage("a")
	result := func(id string) sessionstore.Message { return sessionstore.ToolMessage(id, "r") }
	thinking := sessionstore.Message{Role: sessionstore.RoleAssistant, Content: sessionstore.Parts(part(`{"type":"thinking","thinking":"hm","signature":"x"}`))}
	one := func(sessionstore.Message) int { return 1 }

	for _, c := range []struct {
		name    string
		system  string
		history []sessionstore.Message
		window  sessionstore.Window
		want    []string // nil: ErrTooLarge
	}{
		{"field report C19: a greeting stays while nothing is cut", "",
			[]sessionstore.Message{named("hello", answer), named("u", user)}, sessionstore.Window{Last: 2}, []string{"hello", "u"}},
		{"field report C19: a cut begins at a user message", "",
			[]sessionstore.Message{named("u1", user), named("a1", answer), named("u2", user), named("a2", answer)}, sessionstore.Window{Last: 3}, []string{"u2", "a2"}},
		{"no user message in reach", "",
			[]sessionstore.Message{named("u", user), named("a1", answer), named("a2", answer)}, sessionstore.Window{Last: 2}, []string{"a1", "a2"}},
		{"field report C16: one message, and the instructions", "",
			[]sessionstore.Message{named("s", system), named("d", developer), named("u1", user), named("a1", answer), named("u2", user)}, sessionstore.Window{Last: 1}, []string{"s", "d", "u2"}},
		{"field report C16: instructions alone", "",
			[]sessionstore.Message{named("s", system), named("d", developer)}, sessionstore.Window{Last: 1}, []string{"s", "d"}},
		{"later instructions count", "",
			[]sessionstore.Message{named("s", system), named("u1", user), named("d", developer), named("a", answer)}, sessionstore.Window{Last: 2}, []string{"s", "d", "a"}},
		{"field report C17: the same instructions only once", "be kind",
			[]sessionstore.Message{named("s", system), named("d", developer), named("s2", system), named("u", user), named("s3", system)}, sessionstore.Window{}, []string{"d", "u", "s3"}},
		{"field report C17: other instructions stay", "be quick",
			[]sessionstore.Message{named("s", system), named("u", user)}, sessionstore.Window{}, []string{"s", "u"}},
		{"field report C01: a result goes with its call", "",
			[]sessionstore.Message{named("u", user), named("c", calls("x")), named("r", result("x")), named("a", answer)}, sessionstore.Window{Last: 2}, []string{"a"}},
		{"field report C01: a call goes with its results", "",
			[]sessionstore.Message{named("u", user), named("c", calls("x", "y")), named("ry", result("y")), named("rx", result("x"))}, sessionstore.Window{Last: 3}, []string{"c", "rx", "ry"}},
		{"a last unit that is too large", "",
			[]sessionstore.Message{named("u", user), named("c", calls("x", "y")), named("ry", result("y")), named("rx", result("x"))}, sessionstore.Window{Last: 2}, nil},
		{"a last unit of too many tokens", "",
			[]sessionstore.Message{named("u", user), named("c", calls("x")), named("r", result("x"))}, sessionstore.Window{Tokens: 1, Count: one}, nil},
		{"the stricter bound counts", "",
			[]sessionstore.Message{named("u1", user), named("u2", user), named("u3", user)}, sessionstore.Window{Last: 3, Tokens: 2, Count: one}, []string{"u2", "u3"}},
		{"field report C02: an unanswered call", "",
			[]sessionstore.Message{named("u", user), named("c", calls("x", "y")), named("rx", result("x")), named("u2", user)}, sessionstore.Window{}, []string{"u", "c", "rx", "+y", "u2"}},
		{"field report C02: an unanswered call dropped", "",
			[]sessionstore.Message{named("u", user), named("c", calls("y")), named("u2", user)}, sessionstore.Window{DropUnanswered: true}, []string{"u", "u2"}},
		{"a made-up result counts", "",
			[]sessionstore.Message{named("u", user), named("c", calls("x"))}, sessionstore.Window{Last: 1}, nil},
		{"field report C12: a late result, and a later one", "",
			[]sessionstore.Message{named("u", user), named("c", calls("x", "y")), named("x1", result("x")), named("u2", user), named("y", result("y")), named("x2", result("x")), named("a", answer)},
			sessionstore.Window{}, []string{"u", "c", "x2", "y", "u2", "a"}},
		{"field report C12: a late result of a call outside", "",
			[]sessionstore.Message{named("c", calls("x")), named("u2", user), named("x", result("x")), named("a", answer)},
			sessionstore.Window{Last: 2}, []string{"u2", "a"}},
		{"a result before its call", "",
			[]sessionstore.Message{named("r", result("x")), named("s", system), named("c", calls("x"))}, sessionstore.Window{}, []string{"s", "c", "+x"}},
		{"a result before the instructions that lead", "",
			[]sessionstore.Message{named("r", result("x")), named("s", system), named("u1", user), named("u2", user)}, sessionstore.Window{Last: 1}, []string{"s", "u2"}},
		{"an id that returns", "",
			[]sessionstore.Message{named("c1", calls("x")), named("u", user), named("c2", calls("x")), named("r", result("x"))},
			sessionstore.Window{}, []string{"c1", "+x", "u", "c2", "r"}},
		{"an id twice in a message, and empty ids", "",
			[]sessionstore.Message{named("c", calls("x", "x", "", "")), named("r1", result("x")), named("r2", result("x")), named("r3", result("")), named("r4", result("x"))},
			sessionstore.Window{}, []string{"c", "r1", "r4", "r3", "+call_1_3"}},
		{"field report C31: reasoning is not parted from its answer", "",
			[]sessionstore.Message{named("u", user), named("a1", answer), named("t", thinking), named("a2", answer)}, sessionstore.Window{Last: 1}, nil},
		{"field report C31: nor from its calls", "",
			[]sessionstore.Message{named("u", user), named("t1", thinking), named("t2", thinking), named("c", calls("x")), named("r", result("x"))}, sessionstore.Window{Last: 4}, []string{"t1", "t2", "c", "r"}},
		{"reasoning that led nowhere", "",
			[]sessionstore.Message{named("u", user), named("t", thinking)}, sessionstore.Window{Last: 1}, []string{"t"}},
		{"an assistant that says nothing", "",
			[]sessionstore.Message{named("u", user), named("n", sessionstore.AssistantMessage("")), named("t", thinking), named("n2", calls()), named("a", answer)},
			sessionstore.Window{}, []string{"u", "t", "a"}},
		{"calls that a user cannot make", "",
			[]sessionstore.Message{named("u", sessionstore.Message{Role: sessionstore.RoleUser, Content: sessionstore.Text("u"), ToolCalls: calls("x").ToolCalls}), named("r", result("x"))},
			sessionstore.Window{}, []string{"u"}},
		{"an empty history", "s", nil, sessionstore.Window{Last: 1}, []string{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			m := sessionstore.NewManager(smallPages{newMemory(t), 2}, nil)
			if _, err := m.Start(t.Context(), sessionstore.Session{ID: "s", System: c.system}); err != nil {
				t.Fatalf("Start() = %v", err)
			}
			if _, err := m.Append(t.Context(), "s", c.history...); err != nil {
				t.Fatalf("Append() = %v", err)
			}
			p, err := m.Prompt(t.Context(), "s", &c.window)
			if c.want == nil {
				if !errors.Is(err, sessionstore.ErrTooLarge) {
					t.Fatalf("Prompt() = %q, %v, want ErrTooLarge", ids(p.Messages), err)
				}
				return
			}
			if err != nil || !slices.Equal(ids(p.Messages), c.want) {
				t.Fatalf("Prompt() = %q, %v, want %q", ids(p.Messages), err, c.want)
			}
			checkChat(t, p.ChatMessages())
		})
	}
}

func TestWindowArguments(t *testing.T) {
	t.Parallel()
	m := sessionstore.NewManager(newMemory(t), nil)
	if _, err := m.Start(t.Context(), sessionstore.Session{ID: "s"}); err != nil {
		t.Fatal(err)
	}
	for _, w := range []sessionstore.Window{{Last: -1}, {Tokens: -1}, {Tokens: 5}} {
		_, err := m.Prompt(t.Context(), "s", &w)
		wantErr(t, fmt.Sprintf("Prompt with Last %d, Tokens %d", w.Last, w.Tokens), err, sessionstore.ErrInvalid)
		_, err = sessionstore.NewPrompt(sessionstore.Session{}, nil, &w)
		wantErr(t, fmt.Sprintf("NewPrompt with Last %d, Tokens %d", w.Last, w.Tokens), err, sessionstore.ErrInvalid)
	}
	_, err := m.Prompt(t.Context(), "other", nil)
	wantErr(t, "Prompt of a missing session", err, sessionstore.ErrSessionNotFound)
}

// A count below zero, or sums beyond an int, do not open the bound.
func TestWindowExtremeCounts(t *testing.T) {
	t.Parallel()
	history := []sessionstore.Message{named("a", sessionstore.UserMessage("a")), named("b", sessionstore.UserMessage("b"))}
	for count, want := range map[int][]string{-5: {"a", "b"}, 1: {"b"}, int(^uint(0) >> 1): nil} {
		w := &sessionstore.Window{Tokens: 1, Count: func(sessionstore.Message) int { return count }}
		p, err := sessionstore.NewPrompt(sessionstore.Session{}, history, w)
		if want == nil {
			wantErr(t, "NewPrompt of huge counts", err, sessionstore.ErrTooLarge)
		} else if err != nil || !slices.Equal(ids(p.Messages), want) {
			t.Errorf("NewPrompt with counts of %d = %q, %v, want %q", count, ids(p.Messages), err, want)
		}
	}
}

// Where the newest messages say little, older ones are read until the window is full.
func TestWindowReadsOn(t *testing.T) {
	t.Parallel()
	history := []sessionstore.Message{sessionstore.UserMessage("one")}
	for range 200 {
		history = append(history, sessionstore.AssistantMessage("a"))
	}
	history = append(history, sessionstore.UserMessage("two"), calls("x"))
	for range 500 {
		history = append(history, sessionstore.ToolMessage("x", "not yet"))
	}
	m := sessionstore.NewManager(newMemory(t), nil)
	if _, err := m.Start(t.Context(), sessionstore.Session{ID: "s"}); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Append(t.Context(), "s", history...); err != nil {
		t.Fatal(err)
	}
	one := func(sessionstore.Message) int { return 1 }
	for _, c := range []struct {
		w    sessionstore.Window
		want int // 0: ErrTooLarge
	}{{sessionstore.Window{Last: 3}, 3}, {sessionstore.Window{Tokens: 3, Count: one}, 3}, {sessionstore.Window{Last: 1}, 0},
		{sessionstore.Window{Last: 203}, 3}, {sessionstore.Window{Last: 204}, 204}, {sessionstore.Window{Tokens: 1000, Count: one}, 204}} {
		p, err := m.Prompt(t.Context(), "s", &c.w)
		if c.want == 0 {
			wantErr(t, fmt.Sprintf("Prompt of the last %d", c.w.Last), err, sessionstore.ErrTooLarge)
		} else if err != nil || len(p.Messages) != c.want || p.Messages[0].Role != sessionstore.RoleUser {
			t.Errorf("Prompt(Last %d, Tokens %d) = %d messages, %v, want %d from a user", c.w.Last, c.w.Tokens, len(p.Messages), err, c.want)
		}
	}
}

// Instructions that reach into what is read from the other end are sent once.
func TestWindowOfManyInstructions(t *testing.T) {
	t.Parallel()
	for users := range 3 {
		var history []sessionstore.Message
		for i := range 40 {
			history = append(history, named(fmt.Sprint(i), sessionstore.Message{Role: sessionstore.RoleSystem, Content: sessionstore.Text("be kind")}))
		}
		want := ids(history)
		for i := range users {
			history = append(history, named(fmt.Sprint("u", i), sessionstore.UserMessage("u")))
			want = append(want[:40], fmt.Sprint("u", i))
		}
		m := sessionstore.NewManager(newMemory(t), nil)
		if _, err := m.Start(t.Context(), sessionstore.Session{ID: "s"}); err != nil {
			t.Fatal(err)
		}
		if _, err := m.Append(t.Context(), "s", history...); err != nil {
			t.Fatal(err)
		}
		p, err := m.Prompt(t.Context(), "s", &sessionstore.Window{Last: 1})
		if err != nil || !slices.Equal(ids(p.Messages), want) {
			t.Errorf("with %d users: Prompt() = %q, %v, want %q", users, ids(p.Messages), err, want)
		}
	}
}

// A window costs about its size: not the history, however long that is.
func TestWindowReadsLittle(t *testing.T) {
	t.Parallel()
	r := &reading{SessionStore: newMemory(t)}
	m := sessionstore.NewManager(r, nil)
	if _, err := m.Start(t.Context(), sessionstore.Session{ID: "s"}); err != nil {
		t.Fatal(err)
	}
	batch := make([]sessionstore.Message, sessionstore.MaxAppendMessages)
	batch[0] = sessionstore.Message{Role: sessionstore.RoleSystem, Content: sessionstore.Text("be kind")}
	for i := 1; i < len(batch); i++ {
		batch[i] = sessionstore.UserMessage("hi")
	}
	for range 5 {
		if _, err := m.Append(t.Context(), "s", batch...); err != nil {
			t.Fatal(err)
		}
	}
	for _, w := range []sessionstore.Window{{Last: 20}, {Tokens: 20, Count: func(sessionstore.Message) int { return 1 }}} {
		r.calls, r.messages = 0, 0
		p, err := m.Prompt(t.Context(), "s", &w)
		if err != nil || len(p.Messages) != 21 || p.Messages[0].Seq != 1 || p.Messages[20].Seq != 5000 {
			t.Fatalf("Prompt() = %d messages, %v, want the first and the last 20", len(p.Messages), err)
		}
		if r.calls != 2 || r.messages > 80 {
			t.Errorf("a window of 20 took %d calls and %d messages, want 2 and at most 80", r.calls, r.messages)
		}
	}
}
