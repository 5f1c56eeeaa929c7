package formats_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/formats"
)

func TestClaudeAIFile(t *testing.T) {
	t.Parallel()
	store := newStore(t)
	file := testdata(t, "claudeai.json")
	importFile(t, store, "claudeai", strings.NewReader(file), formats.Report{Sessions: 2, Messages: 8, Branches: 1})
	importFile(t, store, "claudeai", strings.NewReader(file), formats.Report{Skipped: 2, Branches: 1})
	all := allSessions(t, store)
	slices.SortFunc(all, func(a, b sessionstore.Session) int { return a.CreatedAt.Compare(b.CreatedAt) })

	s, messages := all[0], history(t, store, all[0].ID)
	wantMessages(t, messages, "user: hia.txt:\nabc",
		`assistant: Let me look. toolu_1=clock{"zone": "UTC"} call_1=clock{"n":9007199254740993}`,
		"tool(toolu_1): 12:00", "tool(call_1): no such zone", "assistant: Noon.", "user: thanks")
	checkSendable(t, s, messages)
	var ids []string
	for _, m := range messages {
		ids = append(ids, m.ID)
	}
	if want := []string{"m1", "m3", "m3-2", "m3-3", "m3-4", "m4"}; !slices.Equal(ids, want) {
		t.Errorf("ids %q, want %q", ids, want)
	}
	if got, want := string(s.Extra["claudeai"]), `{"uuid":"u1","name":"Demo","account":{"uuid":"acc"}}`; got != want {
		t.Errorf("session extra\n got %s\nwant %s", got, want)
	}
	if want := time.Date(2025, 1, 1, 0, 0, 0, 123456000, time.UTC); !s.CreatedAt.Equal(want) {
		t.Errorf("created at %v, want %v", s.CreatedAt, want)
	}
	for i, want := range map[int]string{
		0: `{"content":[{"type":"text","start_timestamp":"2025-01-01T00:00:00Z","citations":[]}],"updated_at":"2025-01-01T00:00:00Z","attachments":[{"file_name":"a.txt","file_size":3,"file_type":"txt"}],"files":[{"file_name":"b.png"}]}`,
		1: `{"text":"hello twice","content":[{"type":"thinking"},{"type":"text"},{"type":"tool_use"},{"type":"tool_use"},{"type":"tool_result","name":"clock"},{"type":"tool_result","name":"clock"},{"type":"text"}],"attachments":[],"files":[]}`,
		2: ``, 3: ``, 4: ``, 5: `{"attachments":[],"files":[]}`,
	} {
		if got := string(messages[i].Extra["claudeai"]); got != want {
			t.Errorf("message %d extra\n got %s\nwant %s", i, got, want)
		}
	}
	if a, b := string(messages[2].Extra["is_error"]), string(messages[3].Extra["is_error"]); a != "" || b != "true" {
		t.Errorf("is_error of the results %q and %q, want none and true", a, b)
	}
	for _, p := range messages[1].Content.All() {
		if want := `{"type":"thinking","thinking":"two clocks","cut_off":false}`; p.Type() == "thinking" && string(p.Raw()) != want {
			t.Errorf("thinking\n got %s\nwant %s", p.Raw(), want)
		}
	}
	wantMessages(t, history(t, store, all[1].ID), "user: old export", "assistant: has no content")
}

func TestClaudeAIBranches(t *testing.T) {
	t.Parallel()
	message := func(id, parent, text string) string {
		return fmt.Sprintf(`{"uuid":"%s","sender":"human","text":"%s","parent_message_uuid":%s}`, id, text, parent)
	}
	const root = `"00000000-0000-4000-8000-000000000000"`
	for _, tc := range []struct {
		name, leaf string
		messages   []string
		want       []string // the trunk, then the others
		bad        string
	}{
		{"a list", `null`, []string{message("a", "null", "a"), message("b", "null", "b")}, []string{"0: a b"}, ""},
		{"a tree", `null`, []string{message("a", root, "a"), message("b", `"a"`, "b"), message("c", `"a"`, "c")}, []string{"0: a c", "1: a b"}, ""},
		{"the leaf is named", `"b"`, []string{message("a", root, "a"), message("b", `"a"`, "b"), message("c", `"a"`, "c")}, []string{"0: a b", "1: a c"}, ""},
		{"two roots", `null`, []string{message("a", root, "a"), message("b", root, "b")}, []string{"0: b", "0: a"}, ""},
		{"a lost parent", `null`, []string{message("a", root, "a"), message("b", `"gone"`, "b")}, []string{"0: b", "0: a"}, "missing"},
		{"a circle", `"a"`, []string{message("a", root, "a"), message("b", `"c"`, "b"), message("c", `"b"`, "c")}, []string{"0: a"}, "circle"},
		{"without ids", `null`, []string{`{"sender":"human","text":"a"}`, `{"sender":"assistant","text":"b"}`}, []string{"0: a b"}, ""},
		{"nothing", `null`, nil, []string{"0: "}, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			file := fmt.Sprintf(`{"uuid":"u","current_leaf_message_uuid":%s,"chat_messages":[%s]}`, tc.leaf, strings.Join(tc.messages, ","))
			all, messages, bad := importBranches(t, "claudeai", file)
			var got []string
			for i, s := range all {
				var says []string
				for _, m := range messages[i] {
					says = append(says, m.Content.String())
				}
				got = append(got, fmt.Sprintf("%d: %s", s.ForkSeq, strings.Join(says, " ")))
			}
			if !slices.Equal(got, tc.want) {
				t.Errorf("sessions\n got %q\nwant %q", got, tc.want)
			}
			if (tc.bad == "") != (len(bad) == 0) || len(bad) > 0 && !strings.Contains(bad[0].Error(), tc.bad) {
				t.Errorf("reported %v, want %q", bad, tc.bad)
			}
		})
	}
}

func TestClaudeAIContent(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, message string
		want          []string
		extra         string // of the first message
	}{
		{"the text where the content is empty", `"text":"hi","content":[]`, []string{"user: hi"}, ``},
		{"the text where the content has an empty one", `"text":"hi","content":[{"type":"text","text":""}]`, []string{"user: hi"}, ``},
		{"the content where they differ", `"text":"long","content":[{"type":"text","text":"hi"}]`, []string{"user: hi"}, `{"text":"long"}`},
		{"the content where the text is empty", `"text":"","content":[{"type":"text","text":"hi"}]`, []string{"user: hi"}, `{"text":""}`},
		{"neither", `"files":[{"file_name":"a.png"}]`, []string{"user: "}, `{"files":[{"file_name":"a.png"}]}`},
		{"two texts", `"text":"ab","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]`, []string{"user: ab"}, ``},
		{"an attachment alone", `"text":"","attachments":[{"extracted_content":"x"},{"file_name":"b"}]`, []string{"user: x"}, `{"attachments":[{},{"file_name":"b"}]}`},
		{"a result without a call", `"content":[{"type":"tool_result","tool_use_id":"t","content":null}]`, []string{"tool: "}, ``},
		{"a call without a result", `"content":[{"type":"tool_use","id":null,"name":"f"}]`, []string{"user call_1=f{}"}, ``},
		{"what is not known", `"content":[{"type":"token_budget"},{"type":"text","text":"a"}]`, []string{"user: a"}, ``},
		{"results of blocks", `"content":[{"type":"tool_use","id":"t","name":"f"},{"type":"tool_result","tool_use_id":"t","content":[{"type":"text","text":"a","uuid":"x"},{"type":"knowledge","url":"u"},{"type":"text","text":"b"}]}]`, []string{"user t=f{}", "tool(t): ab"}, ``},
		{"the same id twice", `"content":[{"type":"tool_use","id":"t","name":"f"},{"type":"tool_use","id":"t","name":"g"},{"type":"tool_result","tool_use_id":"t","content":"1"},{"type":"tool_result","tool_use_id":"x","content":"2"}]`, []string{"user t=f{} call_1=g{}", "tool(t): 1", "tool(call_1): 2"}, ``},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s, messages := importOne(t, "claudeai", `{"chat_messages":[{"sender":"human",`+tc.message+`}]}`)
			wantMessages(t, messages, tc.want...)
			if got := string(messages[0].Extra["claudeai"]); got != tc.extra {
				t.Errorf("extra %s, want %s", got, tc.extra)
			}
			checkSendable(t, s, messages)
		})
	}
}

func TestClaudeAIWithoutAKey(t *testing.T) {
	t.Parallel()
	everyKey(t, "claudeai", testdata(t, "claudeai.json"))
}
