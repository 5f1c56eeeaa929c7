package formats_test

import "testing"

// apiSeeds are files of the APIs' formats in which something is rare or wrong.
var apiSeeds = []string{
	`{"system":[],"messages":[{"role":"user","content":[{"type":"tool_result"},{}]},{"role":"assistant","content":[{},{"type":"tool_use"},{"type":"thinking"}]}]}`,
	`{"role":"assistant","content":[{"type":"redacted_thinking","data":""},{"type":"text"}]}`,
	`[{"type":"function_call"},{"type":"reasoning"},{"role":"assistant","content":""},{"type":"custom_tool_call_output"},{"type":"compaction"}]`,
	`{"input":"","output":[{"type":"message","role":"assistant","content":[{"type":"refusal","refusal":""},{"type":"output_text","text":"a","annotations":1}]}]}`,
	`{"instructions":[],"input":[{"role":"user","content":[{"type":"input_image","image_url":"data:,"},{"type":"input_file"}]}]}`,
	`{"session_id":"a","message":"{}"}` + "\n" + `{"SessionId":"a","History":"{\"type\":\"remove\"}"}` + "\n" + `{"message_store:a":[]}`,
	`[{"lc":1,"id":[],"kwargs":{}},{"type":"ai","data":{"tool_calls":[{}],"invalid_tool_calls":[{}],"additional_kwargs":[]}},{"type":"function","data":{}}]`,
	`{"messages":[{"type":"ai","data":{"content":[""],"tool_calls":[{"id":"a","args":"{"}]}},{"type":"tool","data":{"tool_call_id":"a","status":"error"}}]}`,
}

func fuzzAPI(f *testing.F, format string) {
	f.Helper()
	addSeeds(f, "matrix/"+format+".json")
	for _, s := range apiSeeds {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, file string) { surviveImport(t, format, file) })
}

func FuzzAnthropic(f *testing.F) { fuzzAPI(f, "anthropic") }
func FuzzResponses(f *testing.F) { fuzzAPI(f, "responses") }
func FuzzLangChain(f *testing.F) { fuzzAPI(f, "langchain") }

// FuzzExport: any history goes out as the APIs take it. The python format gives messages
// that hold anything.
func FuzzExport(f *testing.F) {
	f.Add(`{"session_id":"s","messages":[{"role":"assistant","content":[{"type":"thinking","thinking":"a","signature":"b"}],"call_positions":[0],"tool_calls":[{"id":"","type":"x","function":{"name":""}}],"vercel":{"parts":[{"type":"text"},{"type":"tool-a","toolCallId":"b"}]}},{"role":"tool","content":[{"type":"image","source":{"type":"url","url":"hTTps://a"}}],"is_error":true,"langchain":1}]}`)
	f.Add(`{"session_id":"s","openai":{"non_preferred_output":[]},"anthropic":1,"messages":[{"role":"user","content":[{"type":"file","url":1,"mediaType":"a"}],"weight":2,"name":"a b"},{"role":"developer","content":" "}]}`)
	for _, format := range []string{"python", "anthropic", "responses", "openai"} {
		f.Add(testdata(f, "matrix/"+format+".json"))
	}
	f.Fuzz(func(t *testing.T, file string) { surviveImport(t, "python", file) })
}
