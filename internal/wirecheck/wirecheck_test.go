package wirecheck_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/sessionstore/sessionstore/internal/wirecheck"
)

const png = "iVBORw0KGgo="

func messages(list ...string) string { return `{"messages":[` + strings.Join(list, ",") + `]}` }
func contents(list ...string) string { return `{"contents":[` + strings.Join(list, ",") + `]}` }
func array(list ...string) string    { return `[` + strings.Join(list, ",") + `]` }

func says(role, blocks string) string { return `{"role":"` + role + `","content":[` + blocks + `]}` }
func turn(role, parts string) string  { return `{"role":"` + role + `","parts":[` + parts + `]}` }

func use(id string) string {
	return `{"type":"tool_use","id":"` + id + `","name":"f","input":{}}`
}
func result(id string) string { return `{"type":"tool_result","tool_use_id":"` + id + `"}` }
func cached(n int) string {
	return strings.TrimSuffix(strings.Repeat(`{"type":"text","text":"x","cache_control":{"type":"ephemeral"}},`, n), ",")
}
func fcall(id string) string {
	return `{"type":"function_call","call_id":"` + id + `","name":"f","arguments":"{}"}`
}
func output(id string) string {
	return `{"type":"function_call_output","call_id":"` + id + `","output":"1"}`
}

const (
	hi        = `{"role":"user","content":"hi"}`
	hello     = `{"role":"assistant","content":"hello"}`
	text      = `{"type":"text","text":"x"}`
	thinking  = `{"type":"thinking","thinking":"t","signature":"s"}`
	reasoning = `{"type":"reasoning","id":"rs_1","summary":[]}`
	hey       = `{"role":"user","parts":[{"text":"hi"}]}`
	fc        = `{"functionCall":{"id":"a","name":"f","args":{}}}`
	fr        = `{"functionResponse":{"id":"a","name":"f","response":{}}}`
)

type request struct{ rule, body string }

var checks = map[string]struct {
	check  func([]byte) error
	valid  []string
	broken []request
}{
	"anthropic": {wirecheck.Anthropic, []string{
		messages(hi),
		`{"system":"be kind","messages":[` + hi + `]}`,
		`{"system":[` + cached(1) + `],"messages":[` + says("user", cached(3)) + `]}`,
		messages(hi, hello, hi),
		messages(hi, says("assistant", thinking+`,`+text+`,`+use("a")+`,`+use("b")), says("user", result("b")+`,`+result("a")+`,`+text)),
		messages(hi, says("assistant", use("a")), says("user", `{"type":"tool_result","tool_use_id":"a","is_error":true,"content":[`+text+`]}`), hello),
		messages(says("user", `{"type":"image","source":{"type":"base64","media_type":"image/png","data":"`+png+`"}},{"type":"document","source":{"type":"text","media_type":"text/plain","data":"x"}}`)),
		messages(hi, says("assistant", `{"type":"server_tool_use","id":"s","name":"web_search","input":{}},{"type":"web_search_tool_result","tool_use_id":"s","content":[]},`+text)),
	}, []request{
		{"anthropic.shape", `[]`},
		{"anthropic.shape", `{"messages":[]}`},
		{"anthropic.shape", "{\"messages\":[\"\xff\"]}"},
		{"anthropic.shape", messages(`{"role":"user","content":"x","name":"n"}`)},
		{"anthropic.shape", messages(says("user", ""))},
		{"anthropic.roles", messages(`{"role":"system","content":"x"}`)},
		{"anthropic.first", messages(hello, hi)},
		{"anthropic.alternate", messages(hi, hi)},
		{"anthropic.block", messages(says("user", use("a")))},
		{"anthropic.block", messages(says("user", `{"type":"text","text":"x","phase":"y"}`))},
		{"anthropic.block", messages(says("user", `{"type":"text","text":"x","citations":null}`))},
		{"anthropic.block", messages(hi, says("assistant", `{"type":"reasoning","text":"x"}`))},
		{"anthropic.text", messages(says("user", `{"type":"text","text":" \n"}`))},
		{"anthropic.text", messages(`{"role":"user","content":""}`)},
		{"anthropic.trailing", messages(hi, says("assistant", `{"type":"text","text":"x "}`))},
		{"anthropic.results", messages(hi, says("assistant", use("a")), hi)},
		{"anthropic.results", messages(hi, says("assistant", use("a")))},
		{"anthropic.results", messages(hi, says("assistant", use("a")+`,`+use("b")), says("user", result("a")))},
		{"anthropic.results", messages(hi, says("assistant", use("a")), says("user", text+`,`+result("a")))},
		{"anthropic.results", messages(says("user", result("a")))},
		{"anthropic.results", messages(hi, says("assistant", use("a")), says("user", result("a")+`,`+result("a")))},
		{"anthropic.id", messages(hi, says("assistant", use("a|b")), says("user", result("a|b")))},
		{"anthropic.id", messages(hi, says("assistant", use("")), says("user", result("")))},
		{"anthropic.unique", messages(hi, says("assistant", use("a")), says("user", result("a")), says("assistant", use("a")), says("user", result("a")))},
		{"anthropic.name", messages(hi, says("assistant", `{"type":"tool_use","id":"a","name":"f.g","input":{}}`))},
		{"anthropic.input", messages(hi, says("assistant", `{"type":"tool_use","id":"a","name":"f","input":"{}"}`))},
		{"anthropic.thinking", messages(hi, says("assistant", `{"type":"thinking","thinking":"t","signature":""},`+text))},
		{"anthropic.thinking", messages(hi, says("assistant", `{"type":"redacted_thinking"},`+text))},
		{"anthropic.last", messages(hi, says("assistant", text+`,`+thinking))},
		{"anthropic.image", messages(says("user", `{"type":"image","source":{"type":"base64","media_type":"image/tiff","data":"`+png+`"}}`))},
		{"anthropic.image", messages(says("user", `{"type":"image","source":{"type":"base64","media_type":"image/png","data":"*"}}`))},
		{"anthropic.image", messages(says("user", `{"type":"image","source":{"type":"url","url":"data:image/png;base64,`+png+`"}}`))},
		{"anthropic.image", messages(says("user", `{"type":"image"}`))},
		{"anthropic.document", messages(says("user", `{"type":"document","source":{"type":"base64","media_type":"text/csv","data":"`+png+`"}}`))},
		{"anthropic.cache", `{"system":[` + cached(2) + `],"messages":[` + says("user", cached(3)) + `]}`},
	}},
	"chat": {wirecheck.Chat, []string{
		array(hi),
		array(`{"role":"user","name":"Ada","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,` + png + `"}},{"type":"input_audio","input_audio":{"data":"` + png + `","format":"wav"}},{"type":"file","file":{"file_id":"f"}}]}`),
		array(`{"role":"assistant","content":null,"audio":{"id":"a"}}`),
	}, []request{
		{"chat.list", `{}`},
		{"chat.list", array(`{"role":"user","content":[{"type":"magic"}]}`)},
		{"chat.list", array(`{"role":"tool","tool_call_id":"a","content":"x"}`)},
		{"chat.empty", `[]`},
		{"chat.id", array(`{"role":"assistant","content":null,"tool_calls":[{"id":"`+strings.Repeat("a", 41)+`","type":"function","function":{"name":"f","arguments":"{}"}}]}`, `{"role":"tool","content":"x","tool_call_id":"`+strings.Repeat("a", 41)+`"}`)},
		{"chat.tool", array(`{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"f.g","arguments":"{}"}}]}`, `{"role":"tool","content":"x","tool_call_id":"a"}`)},
		{"chat.tool", array(`{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":""}}]}`, `{"role":"tool","content":"x","tool_call_id":"a"}`)},
		{"chat.tool", array(`{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"},"thought_signature":"s"}]}`, `{"role":"tool","content":"x","tool_call_id":"a"}`)},
		{"chat.name", array(`{"role":"user","name":"Ada L.","content":"x"}`)},
		{"chat.part", array(`{"role":"user","content":[{"type":"text","text":"x","cache_control":{"type":"ephemeral"}}]}`)},
		{"chat.part", array(`{"role":"user","content":[{"type":"file","file":{"file_data":"JVBERi0=","filename":"f"}}]}`)},
		{"chat.image", array(`{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/tiff;base64,` + png + `"}}]}`)},
		{"chat.image", array(`{"role":"user","content":[{"type":"image_url","image_url":{"url":"file:///x"}}]}`)},
		{"chat.audio", array(`{"role":"assistant","content":null,"audio":{"id":"a","data":"x"}}`)},
		{"chat.audio", array(`{"role":"user","content":[{"type":"input_audio","input_audio":{"data":"` + png + `","format":"ogg"}}]}`)},
	}},
	"responses": {wirecheck.Responses, []string{
		array(hi),
		array(hi, reasoning, reasoning, fcall("a"), output("a"), reasoning, `{"type":"message","role":"assistant","content":[{"type":"output_text","text":"x","annotations":[]}],"phase":"final_answer"}`),
		array(hi, `{"type":"custom_tool_call","call_id":"a","name":"f","input":""}`, `{"type":"custom_tool_call_output","call_id":"a","output":[{"type":"input_text","text":"x"}]}`),
		array(hi, reasoning, `{"type":"web_search_call","id":"ws_1"}`),
	}, []request{
		{"responses.shape", `{}`},
		{"responses.shape", `[]`},
		{"responses.shape", `[1]`},
		{"responses.roles", array(`{"role":"tool","content":"x"}`)},
		{"responses.content", array(`{"role":"user","content":[{"type":"output_text","text":"x"}]}`)},
		{"responses.content", array(`{"role":"assistant","content":[{"type":"input_text","text":"x"}]}`)},
		{"responses.content", array(`{"role":"user","content":[{"type":"input_text","text":""}]}`)},
		{"responses.content", array(`{"role":"user","content":null}`)},
		{"responses.item", array(`{"type":"computer_call","id":"x"}`)},
		{"responses.item", array(`{"type":"reasoning","summary":[]}`)},
		{"responses.item", array(`{"role":"user","content":"x","name":"n"}`)},
		{"responses.id", array(fcall(strings.Repeat("a", 65)), output(strings.Repeat("a", 65)))},
		{"responses.id", array(fcall("a"), output("a"), fcall("a"), output("a"))},
		{"responses.pairs", array(fcall("a"))},
		{"responses.pairs", array(output("a"))},
		{"responses.pairs", array(fcall("a"), `{"type":"custom_tool_call_output","call_id":"a","output":"x"}`)},
		{"responses.reasoning", array(hi, reasoning, hi)},
		{"responses.reasoning", array(hi, reasoning)},
		{"responses.image", array(`{"role":"user","content":[{"type":"input_image","image_url":"data:image/tiff;base64,` + png + `"}]}`)},
		{"responses.image", array(`{"role":"user","content":[{"type":"input_image"}]}`)},
	}},
	"gemini": {wirecheck.Gemini, []string{
		contents(hey),
		`{"systemInstruction":{"parts":[{"text":"x"}]},"contents":[` + hey + `]}`,
		contents(hey, turn("model", `{"text":"x"},`+fc), turn("user", fr), turn("user", `{"text":"y"}`), turn("model", `{"thoughtSignature":"c2ln"}`)),
		contents(turn("user", `{"inlineData":{"mimeType":"image/png","data":"`+png+`"}},{"fileData":{"mimeType":"image/png","fileUri":"https://example.com"}}`)),
	}, []request{
		{"gemini.shape", `[]`},
		{"gemini.shape", contents()},
		{"gemini.shape", contents(turn("user", ""))},
		{"gemini.shape", `{"systemInstruction":{},"contents":[` + hey + `]}`},
		{"gemini.roles", contents(turn("assistant", `{"text":"x"}`))},
		{"gemini.roles", contents(turn("model", `{"text":"x"}`))},
		{"gemini.roles", contents(hey, turn("model", `{"text":"x"}`), turn("model", `{"text":"x"}`))},
		{"gemini.part", contents(turn("user", `{}`))},
		{"gemini.part", contents(turn("user", `{"text":"x","fileData":{}}`))},
		{"gemini.part", contents(turn("user", fc))},
		{"gemini.text", contents(turn("user", `{"text":" "}`))},
		{"gemini.text", `{"systemInstruction":{"parts":[{"text":""}]},"contents":[` + hey + `]}`},
		{"gemini.calls", contents(hey, turn("model", `{"text":"x"}`), turn("model", fc), turn("user", fr))},
		{"gemini.responses", contents(hey, turn("model", fc), hey)},
		{"gemini.responses", contents(hey, turn("model", fc))},
		{"gemini.responses", contents(turn("user", fr))},
		{"gemini.responses", contents(hey, turn("model", fc), turn("user", strings.Replace(fr, `"f"`, `"g"`, 1)))},
		{"gemini.alone", contents(hey, turn("model", fc), turn("user", fr+`,{"text":"x"}`))},
		{"gemini.name", contents(hey, turn("model", strings.Replace(fc, `"f"`, `"1f"`, 1)))},
		{"gemini.object", contents(hey, turn("model", strings.Replace(fc, `{}`, `"x"`, 1)))},
		{"gemini.object", contents(hey, turn("model", fc), turn("user", strings.Replace(fr, `"response":{}`, `"response":"x"`, 1)))},
		{"gemini.signature", contents(hey, turn("model", `{"text":"x","thoughtSignature":"*"}`))},
		{"gemini.signature", contents(turn("user", `{"text":"x","thoughtSignature":"c2ln"}`))},
		{"gemini.media", contents(turn("user", `{"inlineData":{"mimeType":"image/png","data":"*"}}`))},
		{"gemini.media", contents(turn("user", `{"fileData":{"mimeType":"image/png"}}`))},
	}},
}

func TestRules(t *testing.T) {
	t.Parallel()
	known := map[string]bool{}
	for _, r := range wirecheck.Rules() {
		if known[r.ID] || r.Source == "" {
			t.Errorf("the rule %q is there twice, or has no source", r.ID)
		}
		if !r.Unverified && !strings.HasPrefix(r.Source, "https://") {
			t.Errorf("the rule %q has no public page for a source: %s", r.ID, r.Source)
		}
		known[r.ID] = true
	}
	tested := map[string]bool{}
	for name, c := range checks {
		for _, body := range c.valid {
			if err := c.check([]byte(body)); err != nil {
				t.Errorf("%s: %v, want none in %s", name, err, body)
			}
		}
		for _, r := range c.broken {
			tested[r.rule] = true
			err := c.check([]byte(r.body))
			var v *wirecheck.Violation
			if !errors.As(err, &v) || v.Rule != r.rule {
				t.Errorf("%s: got %v, want a violation of %s in %s", name, err, r.rule, r.body)
			} else if !known[v.Rule] || v.At == "" || v.Reason == "" {
				t.Errorf("%s: the violation %+v has no rule, place or reason", name, *v)
			}
		}
	}
	for id := range known {
		if !tested[id] {
			t.Errorf("no request here breaks the rule %s", id)
		}
	}
}
