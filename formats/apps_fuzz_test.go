package formats_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/formats"
)

// appSeeds are conversations of chat apps in which something is odd.
var appSeeds = []string{
	`{"mapping":{}}`, `{"mapping":{"a":{}}}`, `{"mapping":{"a":{"parent":"a"}}}`, `{"mapping":{"":{"parent":""}}}`,
	`{"id":"c","mapping":{"a":{"message":{"author":{"role":"assistant"},"recipient":"x","content":{"content_type":"code","text":"{}"}},"children":["b"]},"b":{"parent":"a","message":{"author":{"role":"tool"},"content":{"parts":[{},null,"",1]}}}},"current_node":"b"}`,
	`{"id":"c","mapping":{"a":{"message":{"author":{"role":"user"}}}}}` + "\n" + `{"id":"c","mapping":{"a":{"message":{"author":{"role":"user"}}},"b":{"parent":"a","message":{"author":{"role":"user"}}}}}`,
	`{"create_time":1e300,"mapping":{}}`, `{"create_time":-1.5,"update_time":0,"mapping":{"a":{"message":{"create_time":1e9,"author":{"role":"system"},"content":{"parts":["x"]}}}}}`,
	`{"chat_messages":[]}`, `{"uuid":"u","chat_messages":[{"sender":"human"},{"sender":"assistant","content":[{"type":"tool_use","name":"f"},{"type":"tool_result"},{"type":"tool_result","tool_use_id":"call_1","content":[{}]}]}]}`,
	`{"chat_messages":[{"uuid":"a","sender":"human","parent_message_uuid":"b"},{"uuid":"b","sender":"human","parent_message_uuid":"a"}]}`,
	`[{"role":"assistant","content":"","parts":[{"type":"tool-invocation","toolInvocation":{"state":"result","toolName":"f","result":1}}]}]`,
	`{"id":"c","messages":[{"id":"x","role":"assistant","parts":[{"type":"tool-f","state":"output-error"},{"type":"step-start"},{"type":"file","url":"data:,"}]}]}`,
}

func addAppSeeds(f *testing.F, file string) {
	addSeeds(f, file)
	for _, s := range appSeeds {
		f.Add(s)
	}
}

// fuzzApp: an import of an app's conversations ends, finds all of it the next time, and
// what it wrote can be sent to a model.
func fuzzApp(t *testing.T, format, file string) {
	store := newStore(t)
	bad := 0
	o := &formats.Options{Branches: true, OnError: func(e formats.RecordError) {
		bad++
		if e.Line < 1 || e.Err == nil {
			t.Errorf("reported %+v", e)
		}
	}}
	first, err := formats.Import(t.Context(), store, format, strings.NewReader(file), o)
	if unreadable(err) && first == (formats.Report{}) {
		return
	}
	if err != nil && !isSyntax(err) {
		t.Fatalf("error %v is no *SyntaxError", err)
	}
	if first.Failed != int64(bad) || first.Branches != 0 {
		t.Errorf("%+v, but %d errors were reported", first, bad)
	}
	before := allSessions(t, store)
	if int64(len(before)) > first.Sessions {
		t.Errorf("%+v, but %d sessions are there", first, len(before))
	}
	for _, s := range before {
		messages := history(t, store, s.ID)
		if s.MessageCount != int64(len(messages)) || s.LastSeq != s.MessageCount {
			t.Errorf("session %q counts %d messages to %d, it has %d", s.ID, s.MessageCount, s.LastSeq, len(messages))
		}
		checkSendable(t, s, messages)
	}
	second, err2 := formats.Import(t.Context(), store, format, strings.NewReader(file), o)
	want := formats.Report{Skipped: first.Sessions + first.Skipped, Failed: first.Failed}
	if second != want || (err == nil) != (err2 == nil) {
		t.Errorf("second import %+v, %v, want %+v, %v", second, err2, want, err)
	}
	if after := allSessions(t, store); !slices.EqualFunc(before, after, func(a, b sessionstore.Session) bool { return a.ID == b.ID && a.LastSeq == b.LastSeq }) {
		t.Errorf("the second import made of %v\n%v", before, after)
	}
}

// unreadable reports whether err is about a file that is none of text: an archive without
// conversations, or UTF-16.
func unreadable(err error) bool {
	return errors.Is(err, sessionstore.ErrInvalid) || errors.Is(err, sessionstore.ErrTooLarge)
}

func FuzzChatGPT(f *testing.F) {
	addAppSeeds(f, "chatgpt.json")
	f.Fuzz(func(t *testing.T, file string) { fuzzApp(t, "chatgpt", file) })
}

func FuzzClaudeAI(f *testing.F) {
	addAppSeeds(f, "claudeai.json")
	f.Fuzz(func(t *testing.T, file string) { fuzzApp(t, "claudeai", file) })
}

func FuzzVercel(f *testing.F) {
	addAppSeeds(f, "vercel.json")
	f.Fuzz(func(t *testing.T, file string) { fuzzApp(t, "vercel", file) })
}

// FuzzDetect: the format of any file is found or not, and one that is found takes it.
func FuzzDetect(f *testing.F) {
	for _, h := range heads {
		f.Add(h.file)
	}
	f.Add(string(zipped(f, "conversations.json", oneChatGPT("c"))))
	f.Fuzz(func(t *testing.T, file string) {
		found := ""
		_, err := formats.Import(t.Context(), newStore(t), formats.Auto, strings.NewReader(file), &formats.Options{OnFormat: func(f string) { found = f }})
		if found == "" && !unreadable(err) {
			t.Errorf("error %v, want ErrInvalid for a file of no format", err)
		}
		if found != "" && !slices.Contains(formats.Names(), found) {
			t.Errorf("found %q, which is no format", found)
		}
	})
}
