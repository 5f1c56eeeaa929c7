package formats_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/formats"
)

// detectFormat imports file with Auto and returns which format was found.
func detectFormat(t *testing.T, file string) (string, error) {
	t.Helper()
	found := ""
	_, err := formats.Import(t.Context(), newStore(t), formats.Auto, strings.NewReader(file), &formats.Options{OnFormat: func(f string) { found = f }})
	if found != "" {
		err = nil // what is wrong with the rest is not Auto's
	}
	return found, err
}

// heads are beginnings of files, and the format they are of: a name, or of what cannot be told
// the names that are meant, each with a question mark.
var heads = []struct{ name, file, want string }{
	{"our export", `{"sessionstore":"export","version":1}` + "\n" + `{"session":{"session_id":"s"}}`, "native"},
	{"chatgpt", `[{"title":"x","create_time":1.5,"mapping":{"a":{"message":null}}}]`, "chatgpt"},
	{"chatgpt, one conversation", `{"title":"x","mapping":{}}`, "chatgpt"},
	{"claudeai", `[{"uuid":"u","name":"","chat_messages":[]}]`, "claudeai"},
	{"sharegpt", `[{"conversations":[{"from":"human","value":"hi"}]}]`, "sharegpt"},
	{"sharegpt, exchanges", `{"conversation":[{"human":"a","assistant":"b"}]}`, "sharegpt"},
	{"python session", `{"session_id":"s","agent_name":"a","user_id":null,"status":"active"}`, "python"},
	{"python message", `{"message_id":"m","session_id":"s","role":"user","content":"hi"}`, "python"},
	{"python agent", `{"session_id":null,"system":"x","messages":[{"role":"user","content":"hi"}]}`, "python"},
	{"langchain", `[{"type":"human","data":{"content":"hi"}}]`, "langchain"},
	{"langchain, dumped", `[{"lc":1,"type":"constructor","id":["langchain","schema","messages","HumanMessage"],"kwargs":{"content":"hi"}}]`, "langchain"},
	{"langchain, fields alone", `[{"type":"human","content":"hi"},{"type":"ai","content":"ho"}]`, "langchain"},
	{"langchain in Mongo", `{"SessionId":"s","History":"{\"type\":\"human\",\"data\":{\"content\":\"hi\"}}"}`, "langchain"},
	{"langchain in SQL", `{"id":1,"session_id":"s","message":"{\"type\":\"human\",\"data\":{\"content\":\"hi\"}}"}`, "langchain"},
	{"langchain in Redis", `{"key":"message_store:s","value":["{\"type\":\"human\",\"data\":{\"content\":\"hi\"}}"]}`, "langchain"},
	{"vercel", `[{"id":"m","role":"user","parts":[{"type":"text","text":"hi"}]}]`, "vercel"},
	{"vercel, a chat", `{"id":"c","messages":[{"id":"m","role":"user","parts":[]}]}`, "vercel"},
	{"vercel 4", `[{"id":"m","role":"user","content":"hi","createdAt":"2025-01-01T00:00:00Z"}]`, "vercel"},
	{"vercel 4, calls", `[{"id":"a","role":"user","content":"hi"},{"id":"m","role":"assistant","content":"","toolInvocations":[]}]`, "vercel"},
	{"responses", `[{"role":"user","content":"2+2?"},{"type":"reasoning","id":"rs_1","summary":[]},{"type":"function_call","call_id":"c1","name":"add","arguments":"{}"}]`, "responses"},
	{"responses, parts", `[{"role":"user","content":[{"type":"input_text","text":"hi"}]}]`, "responses"},
	{"responses, a response", `{"id":"resp_1","object":"response","output":[{"type":"message","role":"assistant","content":[{"type":"output_text","text":"hi"}]}]}`, "responses"},
	{"responses, a request", `{"model":"m","input":[{"role":"user","content":"hi"}]}`, "responses"},
	{"anthropic, system", `{"system":"Be brief.","messages":[{"role":"user","content":"hi"}]}`, "anthropic"},
	{"anthropic, tools", `{"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"n","input":{}}]}]}`, "anthropic"},
	{"anthropic, an answer", `{"type":"message","role":"assistant","content":[{"type":"text","text":"hi"}],"stop_reason":"end_turn"}`, "anthropic"},
	{"openai", `{"messages":[{"role":"user","content":"hi"}]}`, "openai"},
	{"openai, calls", `{"messages":[{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":""}}]}]}`, "openai"},
	{"openai, fine-tuning", `{"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":"ho","weight":0}]}`, "openai"},
	{"openai, preference", `{"input":{"messages":[]},"preferred_output":[],"non_preferred_output":[]}`, "openai"},
	{"openai, an image", `[{"role":"user","content":[{"type":"image_url","image_url":{"url":"https://example.com/a.png"}}]}]`, "openai"},
	{"a message alone", `{"role":"user","content":"hi"}`, "openai"},
	{"a list of messages", `[{"role":"user","content":"hi"},{"role":"assistant","content":"ho"}]`, "openai"},
	{"lists of messages", `[[{"role":"user","content":"hi"}],[{"role":"user","content":"ho"}]]`, "openai"},
	{"printed over lines", "{\n  \"messages\": [\n    {\"role\": \"user\", \"content\": \"hi\"}\n  ]\n}", "openai"},
	{"byte order mark, CRLF", "\ufeff\r\n{\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}]}\r\n", "openai"},
	{"a bad record first", "{\"mess\n" + `{"conversations":[]}`, "sharegpt"},
	{"cut in a string", `{"title":"x","mapping":{"a":{"message":{"content":{"parts":["` + strings.Repeat("x", 100_000) + `"]}}}}}`, "chatgpt"},

	{"a message with an id", `[{"id":"m","role":"user","content":"hi"}]`, "vercel?"},
	{"calls of two formats", `{"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"t"}]},{"role":"tool","tool_call_id":"t","content":""}]}`, "anthropic? openai?"},
	{"two files put together", `{"conversations":[]}` + "\n" + `{"mapping":{}}`, "chatgpt? sharegpt?"},
	{"mapping that is none", `[{"mapping":1}]`, "?"},
	{"chat_messages that are none", `{"chat_messages":{}}`, "?"},
	{"session_id alone", `{"session_id":"s","x":1}`, "?"},
	{"another export", `{"sessionstore":"x"}`, "?"},
	{"a later line of ours", `{"x":1}` + "\n" + `{"sessionstore":"export"}`, "?"},
	{"an unknown type", `[{"type":"event","data":{}}]`, "?"},
	{"numbers", `[1,2,3]`, "?"},
	{"a string", `"messages"`, "?"},
	{"an empty object", `{}`, "?"},
	{"empty lists", `[[],[]]`, "?"},
	{"nothing", ``, "?"},
	{"white space", " \n\t ", "?"},
	{"no JSON", `<html>`, "?"},
	{"csv", "role,content\nuser,hi\n", "?"},
	{"brackets", strings.Repeat("[", 100_000), "?"},
	{"commas", "[" + strings.Repeat(",", 100_000), "?"},
	{"many numbers", "[" + strings.Repeat("1,", 100_000), "?"},
	{"a key of nothing", `{"":`, "?"},
	{"quotes", strings.Repeat(`"`, 1001), "?"},
}

func TestDetect(t *testing.T) {
	t.Parallel()
	found := map[string]bool{}
	for _, tc := range heads {
		if tc.want != "" && !strings.Contains(tc.want, "?") {
			found[tc.want] = true
		}
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got, err := detectFormat(t, tc.file)
			if !strings.Contains(tc.want, "?") {
				if got != tc.want || err != nil {
					t.Errorf("found %q, %v, want %q", got, err, tc.want)
				}
				return
			}
			if got != "" || !errors.Is(err, sessionstore.ErrInvalid) {
				t.Errorf("found %q, %v, want ErrInvalid", got, err)
			}
			for meant := range strings.SplitSeq(tc.want, " ") {
				if !strings.Contains(fmt.Sprint(err), strings.TrimSuffix(meant, "?")) {
					t.Errorf("error %v does not name %s", err, meant)
				}
			}
			if len(fmt.Sprint(err)) > 600 {
				t.Errorf("error of %d bytes: %v", len(fmt.Sprint(err)), err)
			}
		})
	}
	for _, name := range formats.Names() {
		if !found[name] {
			t.Errorf("no head of a file of %s above", name)
		}
	}
}

// Each sign that a format is known by is one that the format's importer takes.
func TestDetectedIsImported(t *testing.T) {
	t.Parallel()
	for file, want := range map[string]string{
		"openai.jsonl": "openai", "python.jsonl": "python", "sharegpt.json": "sharegpt",
		"chatgpt.json": "chatgpt", "claudeai.json": "claudeai", "vercel.json": "vercel",
	} {
		if got, err := detectFormat(t, testdata(t, file)); got != want || err != nil {
			t.Errorf("%s: found %q, %v, want %q", file, got, err, want)
		}
	}
}

// Auto and the format's name give the same sessions.
func TestAutoIsTheFormat(t *testing.T) {
	t.Parallel()
	store := newStore(t)
	file := testdata(t, "sharegpt.json")
	first, _, err := importText(t, store, formats.Auto, file)
	if err != nil || first.Sessions == 0 {
		t.Fatalf("%+v, %v, want sessions", first, err)
	}
	importFile(t, store, "sharegpt", strings.NewReader(file), formats.Report{Skipped: first.Sessions})
	if slices.Contains(formats.Names(), formats.Auto) {
		t.Errorf("Names() has %q, which is no format", formats.Auto)
	}
}

func TestUTF16IsRefused(t *testing.T) {
	t.Parallel()
	for _, file := range []string{"\xff\xfe{\x00}\x00", "\xfe\xff\x00{\x00}", "\xff\xfe\x00\x00{\x00\x00\x00"} {
		for _, format := range append(formats.Names(), formats.Auto) {
			_, _, err := importText(t, newStore(t), format, file)
			if !errors.Is(err, sessionstore.ErrInvalid) || !strings.Contains(err.Error(), "UTF-16") {
				t.Errorf("Import(%s) of %q: %v, want ErrInvalid about UTF-16", format, file, err)
			}
		}
	}
}
