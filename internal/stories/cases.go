package stories

import (
	"encoding/json"

	"github.com/sessionstore/sessionstore"
)

// Case is a history whose requests are kept as golden files.
type Case struct {
	Name    string // of the file
	About   string // field report, where there is one
	System  string
	History []sessionstore.Message
}

// Cases returns the histories that each format has a golden file for.
func Cases() []Case {
	return []Case{
		{"parallel", "field report C03: all results of an answer go into one message", "be kind", history(
			`{"role":"user","content":"weather?"}`,
			`{"role":"assistant","content":null,"tool_calls":[`+call("a", "{}")+`,`+call("b", `{"n":9007199254740993}`)+`,`+call("c", `{"x":1.50}`)+`]}`,
			`{"role":"tool","tool_call_id":"c","content":"3"}`,
			`{"role":"tool","tool_call_id":"a","content":"1"}`,
			`{"role":"tool","tool_call_id":"b","content":"failed","is_error":true}`,
			`{"role":"user","content":"and?"}`)},
		{"unanswered", "field report C02: a call without a result", "", history(
			`{"role":"user","content":"go"}`,
			`{"role":"assistant","content":null,"tool_calls":[`+call("a", "{}")+`]}`,
			`{"role":"user","content":"and now?"}`)},
		{"late", "field report C12: a result that comes turns later, and a second one", "", history(
			`{"role":"user","content":"go"}`,
			`{"role":"assistant","content":null,"tool_calls":[`+call("a", "{}")+`,`+call("b", "{}")+`]}`,
			`{"role":"tool","tool_call_id":"a","content":"pending"}`,
			`{"role":"user","content":"ok"}`,
			`{"role":"tool","tool_call_id":"b","content":"b"}`,
			`{"role":"tool","tool_call_id":"a","content":"final"}`)},
		{"empty", "field report C04: contents without a text", "", history(
			`{"role":"user","content":"hi"}`,
			`{"role":"assistant","content":null,"tool_calls":[`+call("a", "{}")+`]}`, `{"role":"tool","tool_call_id":"a","content":""}`,
			`{"role":"assistant","content":"","tool_calls":[`+call("b", "{}")+`]}`, `{"role":"tool","tool_call_id":"b","content":[]}`,
			`{"role":"assistant","content":[],"tool_calls":[`+call("c", "{}")+`]}`, `{"role":"tool","tool_call_id":"c","content":"  "}`,
			`{"role":"assistant","content":"  ","tool_calls":[`+call("d", "{}")+`]}`, `{"role":"tool","tool_call_id":"d","content":[{"type":"text","text":""}]}`,
			`{"role":"assistant","content":[{"type":"text","text":""}],"tool_calls":[`+call("e", "{}")+`]}`, `{"role":"tool","tool_call_id":"e","content":null}`,
			`{"role":"assistant","content":""}`,
			`{"role":"user","content":"  "}`,
			`{"role":"assistant","content":[{"type":"text","text":null}]}`,
			`{"role":"user","content":"bye"}`)},
		{"arguments", "field report C07: arguments that are no object", "", history(
			`{"role":"user","content":"hi"}`,
			`{"role":"assistant","content":null,"tool_calls":[`+call("a", "")+`,`+call("b", " ")+`,`+call("c", "{}")+`,`+call("d", "null")+`,`+call("e", "[1]")+`,`+call("f", "{not json")+
				`,{"id":"g","type":"custom","custom":{"name":"sh","input":"ls"}}]}`,
			`{"role":"tool","tool_call_id":"g","content":"x"}`)},
		{"ids", "field report C10: ids of other providers", "", history(
			`{"role":"user","content":"hi"}`,
			`{"role":"assistant","content":null,"tool_calls":[`+call("functions.Bash:0", "{}")+`,`+call("call_a|fc_1", "{}")+`,`+call("call_a|fc_2", "{}")+`,`+call("call_a_fc_1", "{}")+`,`+
				call("an-id-of-sixty-six-characters-which-is-more-than-any-provider-takes", "{}")+`,`+call("", "{}")+`]}`,
			`{"role":"tool","tool_call_id":"call_a|fc_2","content":"2"}`,
			`{"role":"tool","tool_call_id":"functions.Bash:0","content":"0"}`,
			`{"role":"assistant","content":null,"tool_calls":[`+call("call_a_fc_1", "{}")+`]}`,
			`{"role":"tool","tool_call_id":"call_a_fc_1","content":"again"}`)},
		{"instructions", "field report C18: instructions within the conversation", "be kind", history(
			`{"role":"system","content":"be kind"}`,
			`{"role":"developer","content":"be brief"}`,
			`{"role":"user","content":"hi"}`,
			`{"role":"assistant","content":"hello"}`,
			`{"role":"developer","content":"be formal"}`,
			`{"role":"user","content":"bye"}`)},
		{"greeting", "field report C19: the assistant begins", "", history(
			`{"role":"assistant","content":"How can I help?"}`,
			`{"role":"user","content":"hi"}`)},
		{"twice", "field report C20: two messages of a side in a row", "", history(
			`{"role":"user","content":"hi","name":"Ada L."}`,
			`{"role":"user","content":[{"type":"text","text":"are"},{"type":"text","text":"you there?"}]}`,
			`{"role":"assistant","content":"yes"}`,
			`{"role":"assistant","content":"I am "}`)},
		{"beside", "field report C39: text beside calls", "", history(
			`{"role":"user","content":"hi"}`,
			`{"role":"assistant","content":"Let me check.","tool_calls":[`+call("a", "{}")+`]}`,
			`{"role":"tool","tool_call_id":"a","content":"ok"}`,
			`{"role":"assistant","content":"hi","tool_calls":[]}`,
			`{"role":"user","content":"thanks"}`)},
		{"opaque", "field reports C31, C32 and C34: what one provider needs and another forbids", "", history(
			`{"role":"user","content":[{"type":"text","text":"hi","cache_control":{"type":"ephemeral"}}]}`,
			`{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"c2ln"},{"type":"redacted_thinking","data":"ZGF0YQ=="},{"type":"text","text":"a","citations":[{"type":"char_location","cited_text":"c","document_index":0,"document_title":null,"start_char_index":0,"end_char_index":1}]}],"tool_calls":[`+call("toolu_1", "{}")+`]}`,
			`{"role":"tool","tool_call_id":"toolu_1","content":"1","cache_control":{"type":"ephemeral","ttl":"1h"}}`,
			`{"role":"assistant","content":[{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{"query":"q"}},{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[]},{"type":"text","text":"b"}]}`,
			`{"role":"user","content":"next"}`,
			`{"role":"assistant","content":[{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"gAAA","status":null},{"type":"text","text":"c","phase":"commentary"}],"tool_calls":[{"id":"call_1","type":"function","function":{"name":"f","arguments":"{}"},"namespace":"n"}]}`,
			`{"role":"tool","tool_call_id":"call_1","content":"2"}`,
			`{"role":"assistant","content":[{"type":"web_search_call","id":"ws_1","status":"completed","action":{"type":"search","query":"q"}},{"type":"computer_call","id":"cu_1","call_id":"c"},{"type":"text","text":"d","phase":"final_answer"}]}`,
			`{"role":"user","content":"next"}`,
			`{"role":"assistant","content":[{"type":"reasoning","text":"thought","thought_signature":"c2ln"},{"type":"text","text":"e","thought_signature":"c2ln"},{"type":"gemini","part":{"executableCode":{"language":"PYTHON","code":"1"}}}],"tool_calls":[{"id":"call_2","type":"function","function":{"name":"f","arguments":"{}"},"thought_signature":"c2ln"},{"id":"call_3","type":"function","function":{"name":"f","arguments":"{}"},"extra_content":{"google":{"thought_signature":"c2ln"}}}]}`,
			`{"role":"tool","tool_call_id":"call_2","content":"3"}`,
			`{"role":"tool","tool_call_id":"call_3","content":"4"}`,
			`{"role":"assistant","content":"f","reasoning_content":"deep"}`,
			`{"role":"user","content":"next"}`,
			`{"role":"assistant","content":null,"refusal":"I will not."}`,
			`{"role":"user","content":"next"}`,
			`{"role":"assistant","content":null,"audio":{"id":"audio_1","data":"UklGRg==","expires_at":1,"transcript":"said"}}`,
			`{"role":"user","content":"next"}`,
			`{"role":"assistant","content":[{"type":"thinking","thinking":"unsigned"},{"type":"refusal","refusal":"No."}]}`,
			`{"role":"user","content":"last"}`,
			`{"role":"assistant","content":[{"type":"thinking","thinking":"cut","signature":"c2ln"}]}`)},
		{"order", "calls that stood among the parts", "", history(
			`{"role":"user","content":"hi"}`,
			`{"role":"assistant","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}],"tool_calls":[`+call("x", "{}")+`,`+call("y", "{}")+`],"call_positions":[1,2]}`,
			`{"role":"tool","tool_call_id":"x","content":"1"}`,
			`{"role":"tool","tool_call_id":"y","content":"2"}`)},
		{"images", "field report C35: images by URL and as data", "", history(
			`{"role":"user","content":[` +
				`{"type":"image_url","image_url":{"url":"https://example.com/a.png","detail":"low"}},` +
				`{"type":"image_url","image_url":{"url":"data:image/png;base64,` + PNG + `"}},` +
				`{"type":"image_url","image_url":"data:IMAGE/JPEG;charset=utf-8;base64,` + PNG + `"},` +
				`{"type":"image","source":{"type":"base64","media_type":"image/gif","data":"` + PNG + `"}},` +
				`{"type":"image","source":{"type":"url","url":"https://example.com/b.webp"}},` +
				`{"type":"image","source":{"type":"file","file_id":"file_1"}},` +
				`{"type":"input_image","file_id":"file-1","detail":"high"},` +
				`{"type":"image_url","image_url":{"url":"data:image/tiff;base64,` + PNG + `"}}]}`)},
		{"files", "audio, documents and what nobody knows", "", history(
			`{"role":"user","content":[` +
				`{"type":"input_audio","input_audio":{"data":"UklGRg==","format":"wav"}},` +
				`{"type":"file","file":{"filename":"a.pdf","file_data":"data:application/pdf;base64,JVBERi0="}},` +
				`{"type":"file","file":{"file_id":"file-1"}},` +
				`{"type":"input_file","file_url":"https://example.com/b.pdf"},` +
				`{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"JVBERi0="},"title":"c","cache_control":{"type":"ephemeral"}},` +
				`{"type":"document","source":{"type":"text","media_type":"text/plain","data":"plain"},"title":"d.txt"},` +
				`{"type":"image_asset_pointer","asset_pointer":"sediment://x"}]}`)},
		{"results", "field report C36: images in the results of tools", "", history(
			`{"role":"user","content":"hi"}`,
			`{"role":"assistant","content":null,"tool_calls":[`+call("a", "{}")+`,`+call("b", "{}")+`]}`,
			`{"role":"tool","tool_call_id":"a","content":[{"type":"text","text":"see"},{"type":"image_url","image_url":{"url":"data:image/png;base64,`+PNG+`"}}]}`,
			`{"role":"tool","tool_call_id":"b","content":[{"type":"image","source":{"type":"url","url":"https://example.com/a.png"}}]}`,
			`{"role":"user","content":"well?"}`)},
	}
}

func call(id, arguments string) string {
	raw, err := json.Marshal(arguments)
	if err != nil {
		panic(err)
	}
	return `{"id":"` + id + `","type":"function","function":{"name":"f","arguments":` + string(raw) + `}}`
}

func history(messages ...string) []sessionstore.Message {
	out := make([]sessionstore.Message, len(messages))
	for i, raw := range messages {
		m, err := sessionstore.DecodeMessage([]byte(raw))
		if err != nil {
			panic(err)
		}
		m.Seq = int64(i + 1)
		m.ID = string(rune('A' + i))
		out[i] = m
	}
	return out
}
