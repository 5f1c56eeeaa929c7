package formats_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/formats"
)

// chatGPTNode is a node of a mapping: its id, its parent, and what it says.
func chatGPTNode(id, parent, message string) string {
	if parent != "null" {
		parent = `"` + parent + `"`
	}
	return fmt.Sprintf(`"%s":{"id":"%s","parent":%s,"message":%s}`, id, id, parent, message)
}

// chatGPTSays is a message of a role and a text, at a time.
func chatGPTSays(role, text string, at int) string {
	return fmt.Sprintf(`{"author":{"role":"%s"},"create_time":%d,"content":{"content_type":"text","parts":["%s"]}}`, role, at, text)
}

// chatGPT is a conversation of such nodes.
func chatGPT(id, current string, nodes ...string) string {
	return fmt.Sprintf(`{"conversation_id":"%s","create_time":1,"current_node":%s,"mapping":{%s}}`, id, current, strings.Join(nodes, ","))
}

// importBranches imports text with its branches. It returns the sessions, the trunk of each
// conversation before its branches, and what was reported.
func importBranches(t *testing.T, format, text string) ([]sessionstore.Session, [][]sessionstore.Message, []formats.RecordError) {
	t.Helper()
	store := newStore(t)
	var bad []formats.RecordError
	_, err := formats.Import(t.Context(), store, format, strings.NewReader(text), &formats.Options{
		Branches: true,
		Now:      func() time.Time { return importTime },
		OnError:  func(e formats.RecordError) { bad = append(bad, e) },
	})
	if err != nil {
		t.Fatalf("Import(%s): %v", format, err)
	}
	all := allSessions(t, store)
	slices.SortFunc(all, func(a, b sessionstore.Session) int {
		return strings.Compare(a.ParentID+a.ID, b.ParentID+b.ID)
	})
	var messages [][]sessionstore.Message
	for _, s := range all {
		messages = append(messages, history(t, store, s.ID))
	}
	return all, messages, bad
}

func TestChatGPTFile(t *testing.T) {
	t.Parallel()
	store := newStore(t)
	file := testdata(t, "chatgpt.json")
	importFile(t, store, "chatgpt", strings.NewReader(file), formats.Report{Sessions: 2, Messages: 10, Branches: 1})
	importFile(t, store, "chatgpt", strings.NewReader(file), formats.Report{Skipped: 2, Branches: 1})
	all := allSessions(t, store)
	slices.SortFunc(all, func(a, b sessionstore.Session) int { return a.CreatedAt.Compare(b.CreatedAt) })

	s, messages := all[0], history(t, store, all[0].ID)
	wantMessages(t, messages, "user: what?", "assistant: new answer")
	if got, want := string(s.Extra["chatgpt"]), `{"id":"c1","conversation_id":"c1","title":"Demo","default_model_slug":"m-x","safe_urls":[]}`; got != want {
		t.Errorf("session extra\n got %s\nwant %s", got, want)
	}
	if want := time.Unix(1700000000, 500e6).UTC(); !s.CreatedAt.Equal(want) || !s.UpdatedAt.Equal(want) {
		t.Errorf("created at %v, updated at %v, want %v for both", s.CreatedAt, s.UpdatedAt, want)
	}
	if m := messages[0]; m.ID != "n2" || !m.CreatedAt.Equal(time.Unix(1700000001, 250e6)) || !messages[1].CreatedAt.Equal(m.CreatedAt) {
		t.Errorf("message %q at %v, then one at %v; want n2, its time, and the same", m.ID, m.CreatedAt, messages[1].CreatedAt)
	}
	for i, p := range messages[0].Content.All() {
		if want := `{"type":"image_asset_pointer","content_type":"image_asset_pointer","asset_pointer":"file-service://x","width":1,"height":1,"size_bytes":3}`; i == 0 && string(p.Raw()) != want {
			t.Errorf("image\n got %s\nwant %s", p.Raw(), want)
		}
	}

	messages = history(t, store, all[1].ID)
	wantMessages(t, messages, "user: mean of 1 and 2?", "assistant: ", "assistant: ",
		"assistant call_1=pythonprint((1+2)/2)", "tool(call_1): 1.5",
		`assistant call_2=web.search{"q":"mean"}`, "tool(call_2): The average.", "assistant: 1.5 🙂")
	if a, b := messages[3].ToolCalls[0].Type, messages[5].ToolCalls[0].Type; a != "custom" || b != "function" {
		t.Errorf("types of the calls %s and %s, want custom for code and function for an object", a, b)
	}
	for i, want := range map[int]string{
		3: `{"author":{},"recipient":"python","content":{"content_type":"code","language":"python"}}`,
		4: `{"author":{"name":"python"},"content":{"content_type":"execution_output"},"metadata":{"aggregate_result":{"code":9007199254740993}}}`,
		6: `{"author":{"name":"web.search"},"content":{"content_type":"tether_quote","url":"https://example.com","domain":"example.com","title":"Mean"}}`,
		7: `{"end_turn":true,"weight":1}`,
	} {
		if got := string(messages[i].Extra["chatgpt"]); got != strings.Replace(want, `"author":{},`, "", 1) {
			t.Errorf("message %d extra\n got %s\nwant %s", i, got, want)
		}
	}
	for i, want := range map[int]string{
		1: `{"type":"reasoning","content_type":"thoughts","thoughts":[{"summary":"Adding","content":"Use Python."}],"source_analysis_msg_id":"x"}`,
		2: `{"type":"reasoning","content_type":"reasoning_recap","content":"Thought for 2 seconds"}`,
	} {
		for _, p := range messages[i].Content.All() {
			if string(p.Raw()) != want {
				t.Errorf("message %d\n got %s\nwant %s", i, p.Raw(), want)
			}
		}
	}
}

// Field report I02: what ChatGPT does not show, the user's profile above all, is no message;
// what comes after it takes its place.
func TestChatGPTHidden(t *testing.T) {
	t.Parallel()
	hidden := `{"author":{"role":"user"},"content":{"content_type":"text","parts":["SECRET"]},"metadata":{"is_visually_hidden_from_conversation":true}}`
	_, messages := importOne(t, "chatgpt", chatGPT("c", `"h3"`,
		chatGPTNode("h1", "null", `{"author":{"role":"user"},"content":{"content_type":"user_editable_context","user_profile":"SECRET"}}`),
		chatGPTNode("h2", "h1", `{"author":{"role":"assistant"},"content":{"content_type":"model_editable_context","model_set_context":"SECRET"}}`),
		chatGPTNode("s", "h2", chatGPTSays("system", "", 2)),
		chatGPTNode("a", "s", chatGPTSays("user", "hi", 3)),
		chatGPTNode("h", "a", hidden),
		chatGPTNode("b", "h", chatGPTSays("assistant", "hello", 4)),
		chatGPTNode("h3", "b", hidden)))
	wantMessages(t, messages, "user: hi", "assistant: hello")
	for _, m := range messages {
		if raw, err := m.AppendJSON(nil); err != nil || strings.Contains(string(raw), "SECRET") {
			t.Errorf("message %s, %v has what was hidden", raw, err)
		}
	}
}

// Field report I03: branches are not mixed; without a current node the newest counts, and
// the others are forks.
func TestChatGPTBranches(t *testing.T) {
	t.Parallel()
	nodes := []string{
		chatGPTNode("root", "null", "null"),
		chatGPTNode("a", "root", chatGPTSays("user", "a", 10)),
		chatGPTNode("b1", "a", chatGPTSays("assistant", "b1", 20)),
		chatGPTNode("b2", "a", chatGPTSays("assistant", "b2", 40)),
		chatGPTNode("c1", "b1", chatGPTSays("user", "c1", 30)),
		chatGPTNode("c1h", "c1", `{"author":{"role":"tool"},"create_time":35,"content":{"content_type":"text","parts":["x"]},"metadata":{"is_visually_hidden_from_conversation":true}}`),
		chatGPTNode("z", "root", chatGPTSays("user", "z", 5)),
	}
	for _, tc := range []struct{ name, current, trunk, others string }{
		{"current", `"c1"`, "a b1 c1", "1: a b2|0: z"},
		{"hidden end", `"c1h"`, "a b1 c1", "1: a b2|0: z"},
		{"not an end", `"b1"`, "a b1", "2: a b1 c1|1: a b2|0: z"},
		{"not an end of any", `"root"`, "", "0: a b1 c1|0: a b2|0: z"},
		{"null", `null`, "a b2", "1: a b1 c1|0: z"},
		{"dangling", `"gone"`, "a b2", "1: a b1 c1|0: z"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			all, messages, bad := importBranches(t, "chatgpt", chatGPT("c", tc.current, nodes...))
			if len(bad) > 0 {
				t.Errorf("reported %v, want nothing", bad)
			}
			trunk, others := "", []string{}
			for i, s := range all {
				var says []string
				for j, m := range messages[i] {
					says = append(says, m.Content.String())
					if s.ParentID != "" && int64(j) < s.ForkSeq && (m.ID != messages[0][j].ID || m.Seq != messages[0][j].Seq || !m.CreatedAt.Equal(messages[0][j].CreatedAt)) {
						t.Errorf("message %d of a fork is %+v, want that of the trunk, %+v", j, m, messages[0][j])
					}
				}
				line := strings.Join(says, " ")
				if s.ParentID == "" {
					trunk = line
					continue
				}
				if s.ParentID != all[0].ID {
					t.Errorf("a fork of %q, want of %q", s.ParentID, all[0].ID)
				}
				others = append(others, fmt.Sprintf("%d: %s", s.ForkSeq, line))
			}
			want := strings.Split(tc.others, "|")
			slices.Sort(others)
			slices.Sort(want)
			if trunk != tc.trunk || !slices.Equal(others, want) {
				t.Errorf("got %q and forks %q\nwant %q and %q", trunk, others, tc.trunk, want)
			}
		})
	}
}

// Field report I03: cycles and lost parents are reported, and nothing hangs.
func TestChatGPTOddTrees(t *testing.T) {
	t.Parallel()
	good := chatGPTNode("a", "null", chatGPTSays("user", "a", 1))
	for _, tc := range []struct {
		name, file string
		want       []string // messages; nil: not imported
		report     string   // "": nothing
	}{
		{"no nodes", chatGPT("c", "null"), []string{}, ""},
		{"message of the root only", chatGPT("c", `"a"`, good), []string{"user: a"}, ""},
		{"a circle beside it", chatGPT("c", `"a"`, good, chatGPTNode("x", "y", chatGPTSays("user", "x", 9)), chatGPTNode("y", "x", "null"), chatGPTNode("z", "y", "null")), []string{"user: a"}, `3 nodes, "`},
		{"its own parent", chatGPT("c", `null`, good, chatGPTNode("x", "x", chatGPTSays("user", "x", 9))), []string{"user: a"}, "circle"},
		{"the current node in a circle", chatGPT("c", `"x"`, good, chatGPTNode("x", "y", "null"), chatGPTNode("y", "x", "null")), nil, "circle"},
		{"nothing but a circle", chatGPT("c", `null`, chatGPTNode("x", "y", "null"), chatGPTNode("y", "x", "null")), nil, "circle"},
		{"a lost parent", chatGPT("c", `"b"`, good, chatGPTNode("b", "gone", chatGPTSays("user", "b", 2))), []string{"user: b"}, `"b" among them, are missing`},
		{"a parent that only lists its child", `{"current_node":"b","mapping":{"a":{"children":["b",7],"message":` + chatGPTSays("user", "a", 1) + `},"b":{"message":` + chatGPTSays("user", "b", 2) + `}}}`, []string{"user: a", "user: b"}, ""},
		{"a key twice", `{"mapping":{"a":{"message":null},"a":{"message":` + chatGPTSays("user", "a", 1) + `}}}`, []string{"user: a"}, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			store := newStore(t)
			_, bad, err := importText(t, store, "chatgpt", tc.file)
			if err != nil {
				t.Fatal(err)
			}
			all := allSessions(t, store)
			switch {
			case tc.want == nil && len(all) > 0:
				t.Errorf("imported %d sessions, want none", len(all))
			case tc.want != nil && len(all) != 1:
				t.Errorf("imported %d sessions, want one", len(all))
			case tc.want != nil:
				wantMessages(t, history(t, store, all[0].ID), tc.want...)
			}
			switch {
			case tc.report == "" && len(bad) > 0, tc.report != "" && len(bad) != 1:
				t.Errorf("reported %v, want %q", bad, tc.report)
			case tc.report != "" && !strings.Contains(bad[0].Error(), tc.report):
				t.Errorf("reported %v, want %q", bad, tc.report)
			}
		})
	}
}

// A tree of many branches costs what it has, not more, and of a wide one 1,000 are taken.
func TestChatGPTManyBranches(t *testing.T) {
	t.Parallel()
	nodes := []string{chatGPTNode("a", "null", chatGPTSays("user", "a", 1))}
	for i := range 1500 {
		nodes = append(nodes, chatGPTNode(fmt.Sprintf("b%d", i), "a", chatGPTSays("assistant", fmt.Sprint(i), 2)))
	}
	file := chatGPT("c", `"b0"`, nodes...)
	all, _, bad := importBranches(t, "chatgpt", file)
	if len(all) != 1001 || len(bad) != 1 || !strings.Contains(bad[0].Error(), "branches of a conversation") {
		t.Errorf("imported %d sessions, reported %v; want 1001, and the limit", len(all), bad)
	}
}

// Field report I01: every key of an export may be missing, null, or of another type.
func TestChatGPTWithoutAKey(t *testing.T) {
	t.Parallel()
	everyKey(t, "chatgpt", testdata(t, "chatgpt.json"))
}

// everyKey imports a file less each of its keys, with each null, and with each of another
// type. An import then ends well, or with a report; a key more or less is no reason for
// another result than its record's.
func everyKey(t *testing.T, format, file string) {
	t.Helper()
	var value any
	if err := json.Unmarshal([]byte(file), &value); err != nil {
		t.Fatal(err)
	}
	n := 0
	var visit func(v any)
	try := func(change string) {
		n++
		raw, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		store := newStore(t)
		rep, bad, err := importText(t, store, format, string(raw))
		if err != nil || rep.Sessions+rep.Failed == 0 {
			t.Errorf("%s: %+v, %v, %v; want what is good imported and the rest reported", change, rep, bad, err)
		}
		for _, e := range bad {
			if !strings.HasPrefix(e.Error(), "line ") {
				t.Errorf("%s: reported %v, without its line", change, e)
			}
		}
	}
	visit = func(v any) {
		switch v := v.(type) {
		case []any:
			for _, e := range v {
				visit(e)
			}
		case map[string]any:
			for k, old := range v {
				delete(v, k)
				try("without " + k)
				for _, other := range []any{nil, "", "x", 1.5, true, []any{}, []any{1}, map[string]any{}, map[string]any{"x": "y"}} {
					v[k] = other
					try(fmt.Sprintf("%s as %v", k, other))
				}
				v[k] = old
				visit(old)
			}
		}
	}
	visit(value)
	if n < 100 {
		t.Errorf("%d changes, want each key of the file changed", n)
	}
}

func TestChatGPTContent(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, content, want, extra string }{
		{"text", `{"content_type":"text","parts":["a"]}`, `"a"`, ``},
		{"texts", `{"content_type":"text","parts":["a","b"]}`, `[{"type":"text","text":"a"},{"type":"text","text":"b"}]`, ``},
		{"no parts", `{"content_type":"text","parts":[]}`, `""`, ``},
		{"null parts", `{"content_type":"text","parts":null}`, `null`, `{"content":{"content_type":"text","parts":null}}`},
		{"a null part", `{"content_type":"text","parts":[null,"a"]}`, `"a"`, `{"content":{"content_type":"text","parts":[null,"a"]}}`},
		{"no content", `null`, `null`, ``},
		{"recording", `{"content_type":"multimodal_text","parts":[{"content_type":"audio_transcription","text":"spoken","direction":"in"},{"content_type":"audio_asset_pointer","asset_pointer":"sediment://x"}]}`,
			`[{"type":"text","text":"spoken"},{"type":"audio_asset_pointer","content_type":"audio_asset_pointer","asset_pointer":"sediment://x"}]`,
			`{"content":{"content_type":"multimodal_text","parts":[{"content_type":"audio_transcription","text":"spoken","direction":"in"},{"content_type":"audio_asset_pointer","asset_pointer":"sediment://x"}]}}`},
		{"code", `{"content_type":"code","language":"unknown","response_format_name":null,"text":"x = 1"}`, `"x = 1"`, `{"content":{"content_type":"code","language":"unknown","response_format_name":null}}`},
		{"output", `{"content_type":"execution_output","text":"1"}`, `"1"`, `{"content":{"content_type":"execution_output"}}`},
		{"quote", `{"content_type":"tether_quote","url":"u","domain":"d","text":"q"}`, `"q"`, `{"content":{"content_type":"tether_quote","url":"u","domain":"d"}}`},
		{"browsing", `{"content_type":"tether_browsing_display","result":"r","summary":"s"}`, `"r"`, `{"content":{"content_type":"tether_browsing_display","summary":"s"}}`},
		{"thoughts", `{"content_type":"thoughts","thoughts":[]}`, `[{"type":"reasoning","content_type":"thoughts","thoughts":[]}]`, ``},
		{"recap", `{"content_type":"reasoning_recap","content":"2 s"}`, `[{"type":"reasoning","content_type":"reasoning_recap","content":"2 s"}]`, ``},
		{"error", `{"content_type":"system_error","name":"Timeout","text":"late"}`, `"late"`, `{"content":{"content_type":"system_error","name":"Timeout"}}`},
		{"unknown", `{"content_type":"new","n": 9007199254740993}`, `[{"type":"new","content_type":"new","n":9007199254740993}]`, ``},
		{"unknown with a text", `{"content_type":"sonic_webpage","url":"u","text":"t"}`, `"t"`, `{"content":{"content_type":"sonic_webpage","url":"u"}}`},
		{"a zero character", `{"content_type":"text","parts":["a\u0000b"]}`, `"a\u0000b"`, ``},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			_, messages := importOne(t, "chatgpt", chatGPT("c", `"a"`, chatGPTNode("a", "null", `{"author":{"role":"assistant"},"content":`+tc.content+`}`)))
			if len(messages) != 1 {
				t.Fatalf("%d messages, want 1", len(messages))
			}
			raw, err := messages[0].Content.MarshalJSON()
			if err != nil || string(raw) != tc.want {
				t.Errorf("content %s, %v\nwant %s", raw, err, tc.want)
			}
			if got := string(messages[0].Extra["chatgpt"]); got != tc.extra {
				t.Errorf("extra %s\nwant %s", got, tc.extra)
			}
		})
	}
}

func TestChatGPTCalls(t *testing.T) {
	t.Parallel()
	call := func(tool, text string) string {
		return fmt.Sprintf(`{"author":{"role":"assistant"},"recipient":"%s","content":{"content_type":"code","text":"%s"}}`, tool, text)
	}
	result := func(tool, text string) string {
		return fmt.Sprintf(`{"author":{"role":"tool","name":"%s"},"content":{"content_type":"execution_output","text":"%s"}}`, tool, text)
	}
	for _, tc := range []struct {
		name     string
		messages []string
		want     []string
	}{
		{"by name", []string{call("a", "1"), call("b", "2"), result("b", "B"), result("a", "A")},
			[]string{"assistant call_1=a1", "assistant call_2=b2", "tool(call_2): B", "tool(call_1): A"}},
		{"by position", []string{call("a", "1"), call("b", "2"), result("x", "A"), result("y", "B")},
			[]string{"assistant call_1=a1", "assistant call_2=b2", "tool(call_1): A", "tool(call_2): B"}},
		{"two results", []string{call("a", "1"), result("a", "A"), result("a", "A2")},
			[]string{"assistant call_1=a1", "tool(call_1): A", "tool: A2"}},
		{"after the user", []string{call("a", "1"), chatGPTSays("user", "well?", 3), result("a", "A")},
			[]string{"assistant call_1=a1", "user: well?", "tool: A"}},
		{"another call first", []string{call("a", "1"), chatGPTSays("assistant", "hm", 3), call("a", "2"), result("a", "A")},
			[]string{"assistant call_1=a1", "assistant: hm", "assistant call_2=a2", "tool(call_2): A"}},
		{"without a call", []string{result("a", "A")}, []string{"tool: A"}},
		{"to everyone", []string{call("all", "1")}, []string{"assistant: 1"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			nodes, parent := []string{}, "null"
			for i, m := range tc.messages {
				id := fmt.Sprintf("n%d", i)
				nodes = append(nodes, chatGPTNode(id, parent, m))
				parent = id
			}
			s, messages := importOne(t, "chatgpt", chatGPT("c", `"`+parent+`"`, nodes...))
			wantMessages(t, messages, tc.want...)
			checkSendable(t, s, messages)
		})
	}
}

// A conversation that went on since it was exported is completed, also if what ChatGPT says
// of it has changed, and two users can have the same one.
func TestChatGPTGrows(t *testing.T) {
	t.Parallel()
	store := newStore(t)
	first := chatGPT("c", `"b"`, chatGPTNode("a", "null", chatGPTSays("user", "a", 1)), chatGPTNode("b", "a", chatGPTSays("assistant", "b", 2)))
	later := strings.Replace(chatGPT("c", `"c"`, chatGPTNode("a", "null", chatGPTSays("user", "a", 1)), chatGPTNode("b", "a", chatGPTSays("assistant", "b", 2)),
		chatGPTNode("c", "b", chatGPTSays("user", "c", 3))), "{", `{"title":"renamed",`, 1)
	importFile(t, store, "chatgpt", strings.NewReader(first), formats.Report{Sessions: 1, Messages: 2})
	importFile(t, store, "chatgpt", strings.NewReader(later), formats.Report{Sessions: 1, Messages: 3})
	importFile(t, store, "chatgpt", strings.NewReader(later), formats.Report{Skipped: 1})
	importFile(t, store, "chatgpt", strings.NewReader(first), formats.Report{Skipped: 1})
	if s := allSessions(t, store)[0]; string(s.Extra["chatgpt"]) != `{"title":"renamed","conversation_id":"c"}` {
		t.Errorf("extra %s, want that of the later export", s.Extra["chatgpt"])
	}
	for _, user := range []string{"ada", "bob", "ada"} {
		if _, err := formats.Import(t.Context(), store, "chatgpt", strings.NewReader(later), &formats.Options{UserID: user}); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(allSessions(t, store)); n != 3 {
		t.Errorf("%d sessions, want one of nobody, of ada, and of bob", n)
	}
	bad := strings.Replace(first, `["b"]`, `["other"]`, 1)
	if rep, reported, err := importText(t, store, "chatgpt", bad); err != nil || rep.Failed != 1 || !strings.Contains(reported[0].Error(), "other content") {
		t.Errorf("import of another conversation under the same id: %+v, %v, %v; want it reported", rep, reported, err)
	}
}

// A conversation that is in a file twice is imported in the order of the file.
func TestChatGPTTwice(t *testing.T) {
	t.Parallel()
	short := chatGPT("c", `"a"`, chatGPTNode("a", "null", chatGPTSays("user", "a", 1)))
	long := chatGPT("c", `"b"`, chatGPTNode("a", "null", chatGPTSays("user", "a", 1)), chatGPTNode("b", "a", chatGPTSays("assistant", "b", 2)))
	other := strings.Replace(short, `["a"]`, `["x"]`, 1)
	for range 20 {
		for _, tc := range []struct {
			file string
			want formats.Report
		}{
			{short + "\n" + short, formats.Report{Sessions: 1, Messages: 1, Skipped: 1}},
			{short + "\n" + long, formats.Report{Sessions: 2, Messages: 3}},
			{long + "\n" + short, formats.Report{Sessions: 1, Messages: 2, Skipped: 1}},
			{short + "\n" + other, formats.Report{Sessions: 1, Messages: 1, Failed: 1}},
		} {
			store := newStore(t)
			got, bad, err := importText(t, store, "chatgpt", tc.file)
			if got != tc.want || err != nil {
				t.Errorf("%s:\n got %+v, %v, %v\nwant %+v", tc.file, got, err, bad, tc.want)
			}
			if m := history(t, store, allSessions(t, store)[0].ID)[0]; m.Content.String() != "a" {
				t.Errorf("%s: the first message is %q, want that of the first record", tc.file, m.Content.String())
			}
		}
	}
}

// An answer that was regenerated between two exports makes the open branch another one. What
// is stored stays, the conversation is refused, and its branches, one of which is what is
// stored, are not written a second time.
func TestChatGPTRegenerated(t *testing.T) {
	t.Parallel()
	store := newStore(t)
	question, first := chatGPTNode("q", "null", chatGPTSays("user", "q", 1)), chatGPTNode("a", "q", chatGPTSays("assistant", "first", 2))
	second := chatGPTNode("b", "q", chatGPTSays("assistant", "second", 3))
	if rep, _, err := importText(t, store, "chatgpt", chatGPT("c", `"a"`, question, first)); err != nil || rep.Sessions != 1 {
		t.Fatalf("%+v, %v, want one session", rep, err)
	}
	var bad []formats.RecordError
	rep, err := formats.Import(t.Context(), store, "chatgpt", strings.NewReader(chatGPT("c", `"b"`, question, first, second)),
		&formats.Options{Branches: true, OnError: func(e formats.RecordError) { bad = append(bad, e) }})
	if err != nil || rep.Sessions != 0 || rep.Failed != 2 || len(bad) != 2 || !strings.Contains(bad[1].Error(), "stays out") {
		t.Errorf("%+v, %v, bad %v, want the trunk and its branch refused", rep, err, bad)
	}
	page, err := store.ListSessions(t.Context(), sessionstore.SessionQuery{})
	if err != nil || len(page.Sessions) != 1 {
		t.Errorf("%d sessions, %v, want the one that was there", len(page.Sessions), err)
	}
}
