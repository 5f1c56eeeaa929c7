package storetest

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/sessionstore/sessionstore"
)

// The fidelity corpus: what a store must give back exactly as it was given. Each entry is
// there because some store somewhere has damaged it.

// corpusStrings are texts for every field that takes any text.
//
// Field report S01: U+0000 is rejected or stripped, and the six characters of its escape
// with it. Field report S02: text cut within a character.
var corpusStrings = []string{
	"",
	" ",
	"a\x00b",
	"\x00",
	`a\u0000b`,                       // the six characters, not the escape
	`{"id":"` + "\x00" + `"}`,        // a NUL within JSON within a string
	`\\u0000 \" \/ \x`,               // backslashes of all kinds
	"\u0001\u001f\u007f\u0080\u009f", // the control characters
	"line\nfeed\r\nand\ttab\v\f\b",
	"\u2028 and \u2029 end lines in JavaScript",
	"<script>&amp;</script> '\"`",
	"\U0001F600 \U0001F469\u200D\U0001F469\u200D\U0001F467\u200D\U0001F466 \U0001F1E9\U0001F1EA", // beyond U+FFFF, joined
	"\uFEFFa byte order mark and U+FFFD \uFFFD \uFFFE \U0010FFFF",
	"\u05e9\u05dc\u05d5\u05dd \u202eright to left\u202c \u0645\u0631\u062d\u0628\u0627",
	"e\u0301 is not \u00e9",
	"\u0130 \u0131 \u00df \u1e9e \ufb01", // what folding and normalization change
	"'; DROP TABLE messages; -- $1 %s {{.}} ${x} :name ?",
	"trailing spaces and newline  \n",
}

// corpusIDs differ from each other, but for a store that joins, folds, trims, normalizes
// or expands them.
//
// Field report S21: composite keys collide, or ids are patterns.
var corpusIDs = []string{
	"a", "A", "a ", " a", " ", "a:b", "a:b:c", "a/b", "a//b", "a|b", "a,b", "a.b", "a-b",
	"..", ".", "../a", "/", "*", "a*", "?", "[a]", "{a}", "{a}b", "%", "%25", "a%2Fb", "_", "a_b",
	"$a", "$", "'a'", `"a"`, `a\b`, `a\\b`, "`a`", "1", "01", "1.0", "0x1", "true", "null", "nil",
	"\u00e9", "e\u0301", "\u00c9", "\U0001F600", "\U0001F600\uFE0F", "\u05d0\u05d1", "\u202eab", "\u0130", "i\u0307",
	"\u212a", "k", "K", "\ufb01", "fi", "\u00a0", "\u200b", "\ufeff", "-a", "--", "+", "=", "a=b", "#", "a#b", "&", ";", "a;b", "~", "^", "(a)", "<a>", "@a", "!",
	"index", "meta", "messages", "sessions", "_id", "__proto__", "constructor",
	strings.Repeat("x", 255), strings.Repeat("x", 254) + "y", strings.Repeat("x", 254), strings.Repeat("\u00e9", 127), strings.Repeat("\U0010FFFF", 63),
}

// corpusMetadata has a value of every kind.
//
// Field report S28: keys with ".", "$" or empty. Field report S03: numbers beyond 2^53.
// Field report S43: nil and empty.
var corpusMetadata = []sessionstore.Metadata{
	nil,
	{},
	{"a.b": int64(1), "$x": int64(2), "": int64(3), "\u00e9": int64(4), "a": map[string]any{"b": int64(5), "$set": nil, "": ""}},
	{"a.b.c": "dots", ".": ".", "..": "..", "$": "$", "$where": "$where", "__proto__": map[string]any{"x": true}, "a\x00b": "\x00", "\u2028": `\u2028`},
	{"E": "upper", "e": "lower", "e\u0301": "decomposed", "\u00e9": "composed", " ": "space", "_id": "id", "_class": "c"},
	{"max": int64(math.MaxInt64), "min": int64(math.MinInt64), "2^53+1": int64(9007199254740993), "zero": int64(0), "minus one": int64(-1), "2^31": int64(1 << 31)},
	{"1.0": 1.0, "-0.0": math.Copysign(0, -1), "0.0": 0.0, "0.1": 0.1, "third": 1.0 / 3, "1e21": 1e21, "1e-7": 1e-7, "max": math.MaxFloat64, "min": math.SmallestNonzeroFloat64, "2^53": 9007199254740992.0},
	{"big": json.Number("9223372036854775808"), "bigger": json.Number("123456789012345678901234567890"), "1e400": json.Number("1e400"), "digits": json.Number("0.1000000000000000055511151231257827")},
	{"nil": nil, "true": true, "false": false, "empty list": []any{}, "empty map": map[string]any{}, "list": []any{nil, false, "", []any{}, map[string]any{}, int64(0), 0.0}},
	{"date": "2024-02-30T25:61:61Z", "oid": map[string]any{"$oid": "507f1f77bcf86cd799439011"}, "number": map[string]any{"$numberLong": "1"}, "text": "1", "bool": "true"},
	{"deep": deep(sessionstore.MaxDepth - 1)},
}

// deep is a value of n nested lists and objects.
func deep(n int) any {
	var v any = "bottom"
	for i := range n {
		if i%2 == 0 {
			v = []any{v}
		} else {
			v = map[string]any{"k": v}
		}
	}
	return v
}

// corpusRaw are JSON values for what is kept as it is spelled.
//
// Field report S04: objects whose keys are reordered, or whose duplicates are dropped.
var corpusRaw = []string{
	`null`, `true`, `0`, `1.0`, `-0`, `1e400`, `1E+2`, `9007199254740993`, `123456789012345678901234567890.10`,
	`""`, `"\u0000"`, `"\\u0000"`, `"\u2028"`, `"\/"`, `"\u00e9"`, `"\ud83d\ude00"`, `"<&>"`,
	`[]`, `{}`, `[null,[],{}]`, `{"b":1,"a":2,"a":3}`, `{"":{"":[]}}`, `{"$oid":"x","a.b":1}`,
	strings.Repeat("[", sessionstore.MaxDepth) + strings.Repeat("]", sessionstore.MaxDepth),
}

// corpusParts are content parts of the kinds that chat APIs have, and others.
//
// Field report C06: kinds of messages and fields that are dropped on the way.
var corpusParts = []string{
	`{"type":"text","text":"plain"}`,
	`{"type":"text","text":"","cache_control":{"type":"ephemeral","ttl":"1h"}}`,
	`{"text":"order of the keys","type":"text"}`,
	`{"type":"text","text":"a","text":"b"}`,
	`{"type":"text","text":null}`,
	`{"type":"text","text":"\u0000 \\u0000 \ud83d\ude00 \u2028"}`,
	`{"type":"image_url","image_url":{"url":"data:image/png;base64,iVBORw0KGgo=","detail":"low"}}`,
	`{"type":"image_url","image_url":"https://example.com/a.png?a=1&b=<2>"}`,
	`{"type":"image_url","image_url":null,"text":"none"}`,
	`{"type":"input_audio","input_audio":{"data":"UklGRg==","format":"wav"}}`,
	`{"type":"file","file":{"file_id":"file-1"}}`,
	`{"type":"file","file":{"file_data":"data:application/pdf;base64,JVBERi0=","filename":"\u00fc.pdf"}}`,
	`{"type":"refusal","refusal":"I will not."}`,
	`{"type":"thinking","thinking":"let me see","signature":"c2lnbmF0dXJlLw=="}`,
	`{"type":"thinking","thinking":"","signature":"EqQBCg=="}`,
	`{"type":"redacted_thinking","data":"ZGF0YQ=="}`,
	`{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"x/y+z="}`,
	`{"type":"tool_use","id":"toolu_1","name":"clock","input":{"n":9007199254740993,"f":1.0}}`,
	`{"type":"tool_result","tool_use_id":"toolu_1","is_error":true,"content":[{"type":"text","text":"n/a"}]}`,
	`{"type":"document","source":{"type":"url","url":"https://example.com"},"title":null,"citations":{"enabled":true}}`,
	`{"type":"output_text","text":"4","annotations":[{"type":"url_citation","start_index":0,"end_index":1}],"logprobs":[]}`,
	`{"type":"server_tool_use","id":"s","name":"web_search","input":{}}`,
	`{"type":"unheard of","nested":{"deeper":[{"a.b":{"$c":1E5}}]}}`,
	`{"type":5}`,
	`{}`,
	`{"":""}`,
	`{"type":"deep","v":` + strings.Repeat("[", sessionstore.MaxDepth-1) + strings.Repeat("]", sessionstore.MaxDepth-1) + `}`,
}

// corpusArguments are the arguments of tool calls, which are strings whatever is in them.
var corpusArguments = []string{
	"", " ", "{}", "null", `{"b":1, "a":2,"a":3}`, "{\n  \"indented\": true\n}", `{"n":9223372036854775807,"x":1e400,"f":1.0}`,
	`{"incomplete":`, `{"nul":"\u0000"}`, "\x00", `"a string"`, `{"text":"\ud83d"}`, "plain text, not JSON",
}

func corpusPart(raw string) sessionstore.Part {
	p, err := sessionstore.ParsePart([]byte(raw))
	if err != nil {
		panic(fmt.Sprintf("storetest: the corpus part %s: %v", raw, err))
	}
	return p
}

// corpusMessages returns the messages of the corpus, each with an id of its own.
func corpusMessages() []sessionstore.Message {
	type message = sessionstore.Message
	var out []message
	add := func(kind string, m message) {
		if m.ID == "" {
			m.ID = fmt.Sprintf("%03d %s", len(out), kind)
		}
		if m.Role == "" {
			m.Role = sessionstore.RoleUser
		}
		out = append(out, m)
	}
	for _, r := range []sessionstore.Role{sessionstore.RoleSystem, sessionstore.RoleDeveloper, sessionstore.RoleUser, sessionstore.RoleAssistant, sessionstore.RoleTool} {
		add("role", message{Role: r, Content: sessionstore.Text("as " + string(r))})
		add("null content", message{Role: r})
		add("empty text", message{Role: r, Content: sessionstore.Text("")})
		add("no parts", message{Role: r, Content: sessionstore.Parts()})
	}
	for _, s := range corpusStrings {
		add("text", message{Content: sessionstore.Text(s)})
		add("strings", message{
			Content: sessionstore.Parts(sessionstore.TextPart(s)), Metadata: sessionstore.Metadata{s: s, "list": []any{s}},
			Role: sessionstore.RoleAssistant, ToolCalls: []sessionstore.ToolCall{{ID: "c", Name: "f", Arguments: s}},
		})
	}
	for _, raw := range corpusParts {
		add("part", message{Role: sessionstore.RoleAssistant, Content: sessionstore.Parts(corpusPart(raw))})
	}
	var all []sessionstore.Part
	for _, raw := range corpusParts {
		all = append(all, corpusPart(raw))
	}
	add("all parts", message{Content: sessionstore.Parts(append(all, sessionstore.ImagePart("https://example.com/?q=<>&"))...)})
	for _, args := range corpusArguments {
		add("arguments", message{Role: sessionstore.RoleAssistant, ToolCalls: []sessionstore.ToolCall{{ID: "c1", Type: "function", Name: "f", Arguments: args}}})
	}
	var parallel []sessionstore.ToolCall
	for i, args := range corpusArguments {
		parallel = append(parallel, sessionstore.ToolCall{ID: fmt.Sprint("call_", len(corpusArguments)-i), Name: "f", Arguments: args})
	}
	add("parallel calls", message{Role: sessionstore.RoleAssistant, Content: sessionstore.Text("with text"), ToolCalls: parallel})
	add("custom call", message{Role: sessionstore.RoleAssistant, ToolCalls: []sessionstore.ToolCall{{ID: "c", Type: "custom", Name: "sh", Arguments: "ls -l\x00"}}})
	add("unknown call", message{Role: sessionstore.RoleAssistant, ToolCalls: []sessionstore.ToolCall{{ID: "", Type: "computer_use", Extra: map[string]json.RawMessage{"action": json.RawMessage(`{"x":1.0}`)}}}})
	add("keys in calls", message{Role: sessionstore.RoleAssistant, ToolCalls: []sessionstore.ToolCall{{
		ID: "c", Name: "f", Arguments: "{}",
		Extra: map[string]json.RawMessage{"index": json.RawMessage(`0`), "extra_content": json.RawMessage(`{"google":{"thought_signature":"a/b+c=="}}`), "function": json.RawMessage(`{"strict":true,"a":1,"a":2}`)},
	}}})
	add("tool result", message{Role: sessionstore.RoleTool, ToolCallID: "c", Name: "f", Content: sessionstore.Text("pong"), Extra: map[string]json.RawMessage{"is_error": json.RawMessage(`true`)}})
	add("refusal", message{Role: sessionstore.RoleAssistant, Extra: map[string]json.RawMessage{"refusal": json.RawMessage(`"no"`), "annotations": json.RawMessage(`[]`), "audio": json.RawMessage(`{"id":"a"}`), "function_call": json.RawMessage(`{"name":"f","arguments":""}`)}})
	for i, raw := range corpusRaw {
		add("unknown key", message{Extra: map[string]json.RawMessage{"raw": json.RawMessage(raw), fmt.Sprint("$k.", i): json.RawMessage(raw)}})
	}
	add("odd unknown keys", message{Extra: map[string]json.RawMessage{"": json.RawMessage(`1`), "a.b": json.RawMessage(`2`), "$c": json.RawMessage(`3`), "\x00": json.RawMessage(`4`), "Role": json.RawMessage(`5`), "_id": json.RawMessage(`6`)}})
	for _, m := range corpusMetadata {
		add("metadata", message{Metadata: m})
	}
	for _, s := range []string{"f", "\u00e9 \U0001F600", "mcp__server__tool.name:1/2", strings.Repeat("n", 4096), strings.Repeat("\u00e9", 2048)} {
		add("names", message{Role: sessionstore.RoleTool, Name: s, ToolCallID: s, AgentName: s[:min(len(s), 254)], ToolCalls: []sessionstore.ToolCall{{ID: s, Name: s, Type: s}}})
	}
	for _, id := range corpusIDs {
		add("id", message{ID: id, Content: sessionstore.Text(id)})
	}
	// Field report S06: times lose digits, or are rounded up across a day.
	for _, at := range []time.Time{
		time.Date(2024, 2, 29, 23, 59, 59, 999_999_999, time.UTC),
		time.Date(1, 1, 1, 0, 0, 0, 1000, time.UTC),
		time.Date(9999, 12, 31, 23, 59, 59, 999_999_999, time.UTC),
		time.Date(1969, 12, 31, 23, 59, 59, 1000, time.UTC),
		time.Date(1970, 1, 1, 0, 0, 0, 0, time.UTC),
		time.Date(1600, 7, 4, 12, 0, 0, 123_456_000, time.FixedZone("", -5*3600-1800)),
		time.Date(2024, 10, 27, 2, 30, 0, 1_500, time.FixedZone("CET", 3600)),
	} {
		add("time", message{CreatedAt: at, Content: sessionstore.Text("at " + at.String())})
	}
	for _, n := range []int{1 << 10, 64 << 10, 256<<10 - 1, 1 << 20} {
		add("long text", message{Content: sessionstore.Text(strings.Repeat("0123456789abcdef\u00e9\x00", n/19+1)[:n/19*19])})
	}
	add("many parts", message{Content: sessionstore.Parts(slices.Repeat([]sessionstore.Part{sessionstore.TextPart("x")}, 2000)...)})
	add("everything", message{
		Role: sessionstore.RoleAssistant, Content: sessionstore.Parts(all...), Name: "n", ToolCallID: "t", ToolCalls: parallel, AgentName: "agent",
		CreatedAt: epoch.Add(-time.Hour), Metadata: sessionstore.Metadata{"k": "v"}, Extra: map[string]json.RawMessage{"x": json.RawMessage(`1`)},
	})
	return out
}

// corpusSessions returns the sessions of the corpus: one for each id.
func corpusSessions() []sessionstore.Session {
	statuses := []sessionstore.Status{"", sessionstore.StatusActive, sessionstore.StatusPaused, sessionstore.StatusClosed}
	ttls := []time.Duration{0, time.Microsecond * 1500001, time.Hour + 999*time.Nanosecond, sessionstore.MaxTTL}
	var out []sessionstore.Session
	for i, id := range corpusIDs {
		s := sessionstore.Session{
			ID: id, AgentName: corpusIDs[(i+1)%len(corpusIDs)], UserID: corpusIDs[(i+2)%len(corpusIDs)],
			Status: statuses[i%len(statuses)], System: corpusStrings[i%len(corpusStrings)],
			Metadata: corpusMetadata[i%len(corpusMetadata)], TTL: ttls[i%len(ttls)],
		}
		if i%3 == 0 {
			s.ParentID, s.ForkSeq = corpusIDs[(i+3)%len(corpusIDs)], int64(i)<<32
			s.CreatedAt = time.Date(1+i*100, 2, 28, 23, 59, 59, 999_999_999, time.FixedZone("", 3600))
		}
		if i%2 == 0 {
			s.Extra = map[string]json.RawMessage{"raw": json.RawMessage(corpusRaw[i%len(corpusRaw)]), "$k." + id: json.RawMessage(`"\u0000"`)}
		}
		if i%5 == 0 {
			s.AgentName, s.UserID = "", ""
		}
		out = append(out, s)
	}
	return append(out, sessionstore.Session{ID: "large", System: strings.Repeat("\u00e9", 256<<10), Metadata: sessionstore.Metadata{"k": strings.Repeat("v", 256<<10)}})
}

// corpusCase writes the corpus through one handle and reads it through another, and
// after a restart where the backend has one: what a write returned, what was meant, and
// every later read must be equal, as values and byte for byte.
func corpusCase(e *env) {
	w := e.client()
	var want []state
	for _, s := range corpusSessions() {
		meant, err := s.Create(e.clock.Now())
		e.wantOK(err, "Session.Create", s)
		got := w.create(s)
		e.wantExactSession(called("CreateSession", s), got, meant)
		want = append(want, state{got, []sessionstore.Message{}})
	}
	const home = "corpus"
	messages := corpusMessages()
	log := state{w.create(sessionstore.Session{ID: home}), nil}
	for batch := range slices.Chunk(messages, 24) {
		a := sessionstore.Append{Messages: batch}
		meant, err := a.Prepare(home)
		e.wantOK(err, "Append.Prepare", home, a)
		got := w.append(home, a)
		if len(got) != len(batch) {
			e.Fatalf("%s\n  got:  %d messages\n  want: %d", called("AppendMessages", home, a), len(got), len(batch))
		}
		for i, m := range meant.Messages {
			m.Seq = int64(len(log.Messages) + 1)
			if m.CreatedAt.IsZero() {
				m.CreatedAt = e.clock.Now().Truncate(time.Microsecond)
			}
			e.wantExactMessage(fmt.Sprintf("AppendMessages of the corpus message %q", m.ID), got[i], m)
			log.Messages = append(log.Messages, got[i])
		}
	}
	log.Session = w.get(home)
	want = append(want, log)

	e.wantCorpus("through a second handle", e.client(), want)
	e.wantOK(w.Close(), "Close")
	if s, ok := e.reopen(); ok {
		e.wantCorpus("after a restart", e.on(s), want)
	} else {
		e.notExercised("the corpus after a restart: Backend.Reopen is nil")
	}
}

func (e *env) wantCorpus(how string, r client, want []state) {
	listed := map[string]sessionstore.Session{}
	for _, s := range r.walk(sessionstore.SessionQuery{}) {
		listed[s.ID] = s
	}
	for _, w := range want {
		e.wantExactSession(called("GetSession", w.Session.ID)+" "+how, r.get(w.Session.ID), w.Session)
		e.wantExactSession(fmt.Sprintf("ListSessions %s, the session %q", how, w.Session.ID), listed[w.Session.ID], w.Session)
		got := r.history(w.Session.ID)
		if len(got) != len(w.Messages) {
			e.Fatalf("%s %s\n  got:  %d messages\n  want: %d", called("ListMessages", w.Session.ID), how, len(got), len(w.Messages))
		}
		for i, m := range w.Messages {
			e.wantExactMessage(fmt.Sprintf("ListMessages %s, the message %q", how, m.ID), got[i], m)
		}
	}
	if len(listed) != len(want) {
		e.Errorf("ListSessions %s\n  got:  %d sessions\n  want: %d", how, len(listed), len(want))
	}
}

// wantExactSession compares as wantSame does, and the JSON byte for byte.
func (e *env) wantExactSession(what string, got, want sessionstore.Session) {
	e.wantSame(what, got, want)
	g, gerr := got.AppendJSON(nil)
	w, werr := want.AppendJSON(nil)
	e.wantBytes(what, g, gerr, w, werr)
}

func (e *env) wantExactMessage(what string, got, want sessionstore.Message) {
	e.wantSame(what, got, want)
	g, gerr := got.AppendJSON(nil)
	w, werr := want.AppendJSON(nil)
	e.wantBytes(what, g, gerr, w, werr)
}

func (e *env) wantBytes(what string, got []byte, gotErr error, want []byte, wantErr error) {
	if gotErr != nil || wantErr != nil {
		e.Errorf("%s: AppendJSON\n  got:  error %v\n  want: error %v", what, gotErr, wantErr)
	} else if string(got) != string(want) {
		e.Errorf("%s: AppendJSON\n  got:  %s\n  want: %s", what, clip(string(got), showBytes), clip(string(want), showBytes))
	}
}
