// Package stories generates histories as agents of any provider leave them behind, for
// the property tests of what sends them: the provider modules and the exporters.
package stories

import (
	"encoding/json"
	"fmt"
	"strings"

	"pgregory.net/rapid"

	"github.com/sessionstore/sessionstore"
)

// PNG is the data of a picture of one pixel.
const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

// Part parses a part, and panics if it is none.
func Part(raw string) sessionstore.Part {
	p, err := sessionstore.ParsePart([]byte(raw))
	if err != nil {
		panic(err)
	}
	return p
}

// attachments are parts of a user or of a tool's result, in every provider's shape.
var attachments = []string{
	`{"type":"image_url","image_url":{"url":"https://example.com/a.png","detail":"low"}}`,
	`{"type":"image_url","image_url":"data:image/png;base64,` + PNG + `"}`,
	`{"type":"image_url","image_url":{"url":"data:image/JPG;charset=x;base64,` + PNG + `"},"cache_control":{"type":"ephemeral"}}`,
	`{"type":"image_url","image_url":{"url":"data:image/svg+xml,%3Csvg/%3E"}}`,
	`{"type":"input_image","image_url":"https://example.com/b.webp"}`,
	`{"type":"input_image","file_id":"file-1"}`,
	`{"type":"image","source":{"type":"base64","media_type":"image/gif","data":"` + PNG + `"}}`,
	`{"type":"image","source":{"type":"url","url":"https://example.com/c.png"}}`,
	`{"type":"image","source":{"type":"file","file_id":"file_2"}}`,
	`{"type":"input_audio","input_audio":{"data":"UklGRg==","format":"wav"}}`,
	`{"type":"file","file":{"filename":"a.pdf","file_data":"data:application/pdf;base64,JVBERi0="}}`,
	`{"type":"file","file":{"file_id":"file-3"}}`,
	`{"type":"input_file","file_url":"https://example.com/d.pdf"}`,
	`{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"JVBERi0="},"title":"d"}`,
	`{"type":"document","source":{"type":"text","media_type":"text/plain","data":"plain"}}`,
	`{"type":"document","source":{"type":"url","url":"https://example.com/e.pdf"},"citations":{"enabled":true}}`,
	`{"type":"image_asset_pointer","asset_pointer":"sediment://x"}`,
	`{"type":"input_text","text":"hello"}`,
	`{"type":"text","text":"cached","cache_control":{"type":"ephemeral"}}`,
	`{"type":"text","text":null}`,
	`{"type":"text","text":" \n"}`,
}

// opaque are parts of an answer that only some provider understands.
var opaque = []string{
	`{"type":"reasoning","text":"hm"}`,
	`{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"gAAA","status":null}`,
	`{"type":"thinking","thinking":"let me see","signature":"c2ln"}`,
	`{"type":"thinking","thinking":"unsigned"}`,
	`{"type":"redacted_thinking","data":"ZGF0YQ=="}`,
	`{"type":"refusal","refusal":"I will not."}`,
	`{"type":"output_text","text":"a","annotations":[]}`,
	`{"type":"text","text":"b","citations":null}`,
	`{"type":"text","text":""}`,
	`{"type":"text","text":"c","phase":"commentary"}`,
	`{"type":"text","text":"d","thought_signature":"c2ln"}`,
	`{"type":"web_search_call","id":"ws_1","status":"completed","action":{"type":"search","query":"q"}}`,
	`{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{"query":"q"}}`,
	`{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[]}`,
	`{"type":"computer_call","id":"cu_1","call_id":"c"}`,
	`{"type":"gemini","part":{"executableCode":{"language":"PYTHON","code":"1"}}}`,
	`{"type":"image_url","image_url":{"url":"data:image/png;base64,` + PNG + `"}}`,
}

var ids = []string{"a", "b", "call_1", "toolu_01A", "functions.Bash:0", "functions_Bash_0", "call_a|fc_1", "call_a|fc_2",
	"", "é", "an id that is longer than forty characters, and than sixty-four characters too"}

var arguments = []string{"{}", "", " ", "null", `{"n":9007199254740993}`, `{"a":{"b":[1,2.50]}}`, "[1]", `"x"`, "{not json"}

var names = []string{"f", "get_weather", "functions.Bash", "", "a name with spaces", "1st"}

// Histories generates up to a few turns: texts that may be empty or blank, attachments,
// instructions anywhere, parallel calls with ids and arguments of any provider, results
// in any order, late, repeated or missing, and parts that are one provider's own.
func Histories() *rapid.Generator[[]sessionstore.Message] {
	return rapid.Custom(func(t *rapid.T) []sessionstore.Message {
		var ms []sessionstore.Message
		chance := func(percent int) bool { return rapid.IntRange(1, 100).Draw(t, "chance") <= percent }
		add := func(m sessionstore.Message) {
			m.ID, m.Seq = fmt.Sprintf("m%d", len(ms)), int64(len(ms)+1)
			m.Metadata = sessionstore.Metadata{}
			ms = append(ms, m)
		}
		content := func(list []string) sessionstore.Content {
			switch rapid.IntRange(0, 5).Draw(t, "content") {
			case 0:
				return sessionstore.Text("")
			case 1:
				return sessionstore.Text(" \n")
			case 2, 3:
				return sessionstore.Text(rapid.SampledFrom([]string{"hello", "two  words \n", "<&>\u2028 é 😀"}).Draw(t, "text"))
			}
			var parts []sessionstore.Part
			for range rapid.IntRange(0, 4).Draw(t, "parts") {
				parts = append(parts, Part(rapid.SampledFrom(list).Draw(t, "part")))
			}
			return sessionstore.Parts(parts...)
		}
		instruct := func(percent int) {
			for chance(percent) {
				role := rapid.SampledFrom([]sessionstore.Role{sessionstore.RoleSystem, sessionstore.RoleDeveloper}).Draw(t, "role")
				add(sessionstore.Message{Role: role, Content: content(attachments)})
			}
		}
		result := func(c sessionstore.ToolCall) {
			m := sessionstore.Message{Role: sessionstore.RoleTool, ToolCallID: c.ID, Content: content(attachments)}
			if chance(20) {
				m.Extra = map[string]json.RawMessage{"is_error": json.RawMessage("true")}
			}
			add(m)
		}
		answer := func() []sessionstore.ToolCall {
			m := sessionstore.Message{Role: sessionstore.RoleAssistant, Content: content(opaque)}
			if chance(10) {
				m.Content = sessionstore.Content{}
			}
			if chance(10) {
				m.Extra = map[string]json.RawMessage{
					"refusal":           json.RawMessage(rapid.SampledFrom([]string{`"no"`, "null", `""`}).Draw(t, "refusal")),
					"reasoning_content": json.RawMessage(`"hm"`),
					"audio":             json.RawMessage(`{"id":"audio_1","data":"UklGRg==","transcript":"said","expires_at":1}`),
				}
			}
			at := []int{}
			for range rapid.SampledFrom([]int{0, 0, 1, 2, 4}).Draw(t, "calls") {
				c := sessionstore.ToolCall{Type: "function",
					ID:        rapid.SampledFrom(ids).Draw(t, "id"),
					Name:      rapid.SampledFrom(names).Draw(t, "name"),
					Arguments: rapid.SampledFrom(arguments).Draw(t, "arguments"),
				}
				switch {
				case chance(10):
					c.Type, c.Arguments = "custom", "free text"
				case chance(10):
					c.Extra = map[string]json.RawMessage{"thought_signature": json.RawMessage(`"c2ln"`), "cache_control": json.RawMessage(`{"type":"ephemeral"}`)}
				}
				m.ToolCalls = append(m.ToolCalls, c)
				at = append(at, len(at)/2)
			}
			if len(at) > 0 && chance(30) {
				if m.Extra == nil {
					m.Extra = make(map[string]json.RawMessage)
				}
				m.Extra["call_positions"], _ = json.Marshal(at)
			}
			add(m)
			return m.ToolCalls
		}
		instruct(30)
		if chance(15) {
			answer()
		}
		var late []sessionstore.ToolCall
		for range rapid.IntRange(0, 4).Draw(t, "turns") {
			instruct(10)
			if chance(90) {
				m := sessionstore.Message{Role: sessionstore.RoleUser, Content: content(attachments)}
				m.Name = rapid.SampledFrom([]string{"", "", "ada", "Ada L. <a@b>"}).Draw(t, "speaker")
				add(m)
			}
			for range rapid.IntRange(0, 3).Draw(t, "steps") {
				instruct(5)
				calls := answer()
				for _, c := range rapid.Permutation(calls).Draw(t, "order") {
					switch {
					case chance(80):
						result(c)
						if chance(10) {
							result(c)
						}
					case chance(50):
						late = append(late, c)
					}
				}
				for len(late) > 0 && chance(30) {
					result(late[0])
					late = late[1:]
				}
			}
		}
		return ms
	})
}

// HasTurn reports whether a user or a tool says something in p, beyond white space.
func HasTurn(p sessionstore.Prompt) bool {
	for _, m := range p.Messages {
		if (m.Role == sessionstore.RoleUser || m.Role == sessionstore.RoleTool) && strings.TrimSpace(m.Content.String()) != "" {
			return true
		}
	}
	return false
}
