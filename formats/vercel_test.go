package formats_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/formats"
)

func TestVercelFile(t *testing.T) {
	t.Parallel()
	s, messages := importOne(t, "vercel", testdata(t, "vercel.json"))
	wantMessages(t, messages, "user: time?", "assistant:  c1=clock{}", `tool(c1): {"t":"12:00"}`, "assistant: Noon.")
	checkSendable(t, s, messages)
	if got := []string{messages[0].ID, messages[1].ID, messages[2].ID, messages[3].ID}; !slices.Equal(got, []string{"m1", "m2", "m2-2", "m2-3"}) {
		t.Errorf("ids %q", got)
	}
	if n, err := messages[1].Metadata.Int("t"); n != 1 || !err {
		t.Errorf("metadata %v, want t 1", messages[1].Metadata)
	}
	for i, want := range map[int]string{
		0: `{"parts":[{"type":"text"},{"type":"file","mediaType":"image/png","filename":"a.png"}]}`,
		1: ``, 2: ``,
		3: `{"parts":[{"type":"text"},{"type":"tool-zone","toolCallId":"c2","state":"input-streaming"}]}`,
	} {
		if got := string(messages[i].Extra["vercel"]); got != want {
			t.Errorf("message %d extra\n got %s\nwant %s", i, got, want)
		}
	}
	for i, p := range messages[0].Content.All() {
		if want := "data:image/png;base64,iVBORw0KGgo="; i == 1 && p.ImageURL() != want {
			t.Errorf("image %s, want %s", p.Raw(), want)
		}
	}
}

func TestVercel(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, messages string
		want           []string
		extra          string // of the first message
	}{
		{"states of calls", `[{"role":"assistant","parts":[
			{"type":"tool-a","toolCallId":"1","state":"output-available","input":{"n":9007199254740993},"output":"A"},
			{"type":"tool-b","toolCallId":"2","state":"output-error","errorText":"no","rawInput":"{bad"},
			{"type":"dynamic-tool","toolName":"c","toolCallId":"3","state":"output-denied","input":[],"approval":{"id":"x","approved":false,"reason":"too dear"}},
			{"type":"tool-d","toolCallId":"4","state":"input-available","input":{}},
			{"type":"tool-e","toolCallId":"5","state":"approval-requested","input":{},"approval":{"id":"y"}},
			{"type":"tool-f","toolCallId":"6","state":"approval-responded","input":{},"approval":{"id":"z","approved":true}},
			{"type":"tool-g","toolCallId":"7","state":"output-available","preliminary":true,"input":{},"output":1},
			{"type":"tool-h-i","toolCallId":"8","state":"output-available","input":{},"output":null}]}]`,
			[]string{`assistant 1=a{"n":9007199254740993} 2=b{bad 3=c[] 8=h-i{}`, "tool(1): A", "tool(2): no", "tool(3): too dear", "tool(8): null"},
			`{"parts":[{"type":"tool-a"},{"type":"tool-b"},{"type":"dynamic-tool","approval":{"id":"x","approved":false,"reason":"too dear"},"state":"output-denied"},` +
				`{"type":"tool-d","toolCallId":"4","state":"input-available","input":{}},{"type":"tool-e","toolCallId":"5","state":"approval-requested","input":{},"approval":{"id":"y"}},` +
				`{"type":"tool-f","toolCallId":"6","state":"approval-responded","input":{},"approval":{"id":"z","approved":true}},` +
				`{"type":"tool-g","toolCallId":"7","state":"output-available","preliminary":true,"input":{},"output":1},{"type":"tool-h-i"}]}`},
		{"a step without steps", `[{"role":"assistant","parts":[{"type":"text","text":"a"},{"type":"tool-f","toolCallId":"1","state":"output-available","input":{},"output":""},{"type":"text","text":"b"}]}]`,
			[]string{"assistant: ab 1=f{}", "tool(1): "}, ``},
		{"empty steps", `[{"role":"assistant","parts":[{"type":"step-start"},{"type":"step-start"},{"type":"text","text":"a"},{"type":"step-start"}]}]`, []string{"assistant: a"}, ``},
		{"no parts", `[{"role":"assistant","parts":[]},{"role":"user"}]`, []string{"assistant: ", "user: "}, ``},
		{"nothing but a call that streams", `[{"role":"assistant","parts":[{"type":"tool-a","toolCallId":"1","state":"input-streaming"}]}]`, []string{"assistant: "},
			`{"parts":[{"type":"tool-a","toolCallId":"1","state":"input-streaming"}]}`},
		{"data and sources", `[{"role":"assistant","parts":[{"type":"data-weather","id":"d","data":{"c":1.0}},{"type":"source-url","sourceId":"s","url":"https://example.com"},{"type":"text","text":"a"}]}]`, []string{"assistant: a"}, ``},
		{"metadata of providers", `[{"role":"assistant","parts":[{"type":"tool-a","toolCallId":"1","state":"output-available","input":{},"output":1,"providerExecuted":true,"callProviderMetadata":{"x":{"id":1}}}]}]`,
			[]string{"assistant 1=a{}", "tool(1): 1"}, `{"parts":[{"type":"tool-a","providerExecuted":true,"callProviderMetadata":{"x":{"id":1}}}]}`},
		{"metadata that is no object", `[{"role":"user","metadata":[1],"parts":[{"type":"text","text":"a"}]}]`, []string{"user: a"}, `{"metadata":[1]}`},
		{"files", `[{"role":"user","parts":[{"type":"file","mediaType":"application/pdf","filename":"a.pdf","url":"data:application/pdf;base64,AAAA"},{"type":"file","mediaType":"application/pdf","url":"https://example.com/b.pdf"},{"type":"file","mediaType":"image/png","url":"blob:x"}]}]`,
			[]string{"user: "}, `{"parts":[{"type":"file","mediaType":"application/pdf","filename":"a.pdf"},{"type":"file","mediaType":"application/pdf"},{"type":"file","mediaType":"image/png","url":"blob:x"}]}`},
		{"system", `[{"role":"system","parts":[{"type":"text","text":"a","state":"done"}]}]`, []string{"system: a"}, ``},
		{"a call without an id", `[{"role":"assistant","parts":[{"type":"tool-a","state":"output-available","output":2}]}]`, []string{"assistant call_1=a{}", "tool(call_1): 2"}, ``},

		{"version 4", `[{"id":"a","role":"user","content":"hi","createdAt":"2025-01-01T00:00:00.000Z","experimental_attachments":[{"name":"a.png","contentType":"image/png","url":"https://example.com/a.png"}],"annotations":[1]}]`,
			[]string{"user: hi"}, `{"annotations":[1],"parts":[{"type":"text"},{"name":"a.png","contentType":"image/png","type":"file"}]}`},
		{"version 4, one step", `[{"id":"a","role":"assistant","content":"so","toolInvocations":[{"state":"result","toolCallId":"1","toolName":"f","args":{"x":1},"result":{"y":2}},{"state":"call","toolCallId":"2","toolName":"g","args":{}}]}]`,
			[]string{`assistant: so 1=f{"x":1}`, `tool(1): {"y":2}`}, `{"parts":[{"type":"text"},{"type":"tool-invocation"},{"type":"tool-invocation","toolInvocation":{"state":"call","toolCallId":"2","toolName":"g","args":{}}}]}`},
		{"version 4, two steps", `[{"id":"a","role":"assistant","content":"so","toolInvocations":[{"state":"result","step":0,"toolCallId":"1","toolName":"f","args":{},"result":"1"},{"state":"result","step":1,"toolCallId":"2","toolName":"g","args":{},"result":"2"}]}]`,
			[]string{"assistant 1=f{}", "tool(1): 1", "assistant 2=g{}", "tool(2): 2", "assistant: so"}, ``},
		{"version 4, parts", `[{"id":"a","role":"assistant","content":"ab","parts":[{"type":"reasoning","reasoning":"hm","details":[]},{"type":"text","text":"a"},{"type":"tool-invocation","toolInvocation":{"state":"result","step":0,"toolCallId":"1","toolName":"f","args":{},"result":"1"}},{"type":"text","text":"b"},{"type":"source","source":{"url":"u"}},{"type":"file","mimeType":"image/png","data":"AAAA"}]}]`,
			[]string{"assistant: a 1=f{}", "tool(1): 1", "assistant: b"}, ``},
		{"version 4, partial call", `[{"id":"a","role":"assistant","content":"","toolInvocations":[{"state":"partial-call","toolCallId":"1","toolName":"f"}],"reasoning":"hm"}]`,
			[]string{"assistant: "}, `{"parts":[{"type":"reasoning"},{"type":"tool-invocation","toolInvocation":{"state":"partial-call","toolCallId":"1","toolName":"f"}}]}`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			for _, file := range []string{tc.messages, `{"id":"c","messages":` + tc.messages + `}`} {
				s, messages := importOne(t, "vercel", strings.ReplaceAll(file, "\n", ""))
				wantMessages(t, messages, tc.want...)
				if got := string(messages[0].Extra["vercel"]); got != tc.extra {
					t.Errorf("extra\n got %s\nwant %s", got, tc.extra)
				}
				checkSendable(t, s, messages)
			}
		})
	}
}

// A file may be lists of messages, or chats, one a line, and each is a conversation.
func TestVercelFiles(t *testing.T) {
	t.Parallel()
	one := `[{"id":"m","role":"user","parts":[{"type":"text","text":"hi"}]}]`
	chat := `{"id":"c","createdAt":1,"messages":` + one + `}`
	for _, tc := range []struct {
		file string
		want formats.Report
	}{
		{one, formats.Report{Sessions: 1, Messages: 1}},
		{one + "\r\n\r\n" + one, formats.Report{Sessions: 2, Messages: 2}},
		{chat, formats.Report{Sessions: 1, Messages: 1}},
		{"\ufeff" + chat + "\n" + strings.Replace(chat, `"c"`, `"d"`, 1), formats.Report{Sessions: 2, Messages: 2}},
		{"[" + chat + "]", formats.Report{Sessions: 1, Messages: 1}},
		{"[" + one + "," + one + "]", formats.Report{Sessions: 2, Messages: 2}},
	} {
		store := newStore(t)
		importFile(t, store, "vercel", strings.NewReader(tc.file), tc.want)
		importFile(t, store, "vercel", strings.NewReader(tc.file), formats.Report{Skipped: tc.want.Sessions})
	}
	store := newStore(t)
	importFile(t, store, "vercel", strings.NewReader(chat), formats.Report{Sessions: 1, Messages: 1})
	longer := strings.Replace(chat, "}]}]", `}]},{"id":"n","role":"assistant","parts":[]}]`, 1)
	importFile(t, store, "vercel", strings.NewReader(longer), formats.Report{Sessions: 1, Messages: 2})
}

func TestVercelTimes(t *testing.T) {
	t.Parallel()
	_, messages := importOne(t, "vercel", `[{"role":"user","content":"a","createdAt":1735689600123},{"role":"user","content":"b","createdAt":"2025-01-01T00:00:01.000Z"},{"role":"user","content":"c"}]`)
	for i, want := range []time.Time{time.UnixMilli(1735689600123), time.UnixMilli(1735689601000), time.UnixMilli(1735689601000)} {
		if !messages[i].CreatedAt.Equal(want) {
			t.Errorf("message %d at %v, want %v", i, messages[i].CreatedAt, want)
		}
	}
}

func TestVercelRefuses(t *testing.T) {
	t.Parallel()
	for record, why := range map[string]string{
		`{"role":"user","parts":[]}`:                                                                "neither a list of messages nor an object",
		`{"messages":{}}`:                                                                           "messages: is not a list",
		`{"messages":[1]}`:                                                                          "messages[0]",
		`{"messages":[{"role":"data","content":""}]}`:                                               `"data"`,
		`{"messages":[{"role":"user","parts":{}}]}`:                                                 "parts: is not a list",
		`{"messages":[{"role":"user","parts":[{}]}]}`:                                               "parts[0]",
		`{"messages":[{"role":"user","parts":[{"type":"text","text":1}]}]}`:                         "text: is not a string",
		`{"messages":[{"role":"user","content":1}]}`:                                                "content: is not a string",
		`{"messages":[{"role":"user","content":"a","createdAt":"soon"}]}`:                           "createdAt",
		`{"messages":[{"role":"assistant","parts":[{"type":"tool-","state":"output-available"}]}]}`: "no name of a tool",
		`{"messages":[{"role":"user","parts":[{"type":"text","text":"\ud83d"}]}]}`:                  "surrogate",
	} {
		store := newStore(t)
		rep, bad, err := importText(t, store, "vercel", `{"messages":[]}`+"\n"+record)
		if err != nil || rep.Sessions != 1 || len(bad) != 1 || bad[0].Line != 2 || !strings.Contains(bad[0].Err.Error(), why) || !errors.Is(bad[0].Err, sessionstore.ErrInvalid) {
			t.Errorf("%s: %+v, %v, bad %v, want one error with %q", record, rep, err, bad, why)
		}
	}
}

func TestVercelWithoutAKey(t *testing.T) {
	t.Parallel()
	everyKey(t, "vercel", `{"id":"c","messages":`+testdata(t, "vercel.json")+`}`)
}
