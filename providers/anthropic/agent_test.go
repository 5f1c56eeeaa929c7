package anthropic_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"
	"time"

	sdk "github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/option"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/agent"
	"github.com/sessionstore/sessionstore/internal/stories"
	"github.com/sessionstore/sessionstore/internal/wirecheck"
	"github.com/sessionstore/sessionstore/memory"
	"github.com/sessionstore/sessionstore/providers/anthropic"
	"github.com/sessionstore/sessionstore/providers/internal/fakeapi"
)

const key = "sk-ant-secret-0123456789"

func newAgent(s *fakeapi.Server, o *anthropic.Options, options ...option.RequestOption) *anthropic.Agent {
	options = append([]option.RequestOption{option.WithoutEnvironmentDefaults(), option.WithBaseURL(s.URL), option.WithAPIKey(key), option.WithMaxRetries(0)}, options...)
	return anthropic.New(sdk.NewClient(options...), "m", o)
}

func ask(text string) agent.Request {
	return agent.Request{Input: sessionstore.UserMessage(text)}
}

// read returns the events of a stream, and its error.
func read(ctx context.Context, a agent.Agent, req agent.Request) (events []agent.Event, err error) {
	for e, err := range a.Stream(ctx, req) {
		if err != nil {
			return events, err
		}
		events = append(events, e)
	}
	return events, nil
}

func whole(content, reason string) string {
	return `{"id":"msg_1","type":"message","role":"assistant","model":"m-1","content":` + content + `,"stop_reason":"` + reason + `","stop_sequence":null,` +
		`"usage":{"input_tokens":3,"cache_read_input_tokens":4,"cache_creation_input_tokens":2,"output_tokens":5,"output_tokens_details":{"thinking_tokens":2}}}`
}

const start = `{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"m-1","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":3,"cache_read_input_tokens":4,"cache_creation_input_tokens":2,"output_tokens":1}}}`

func begin(i int, block string) string {
	return fmt.Sprintf(`{"type":"content_block_start","index":%d,"content_block":%s}`, i, block)
}

func delta(i int, d string) string {
	return fmt.Sprintf(`{"type":"content_block_delta","index":%d,"delta":%s}`, i, d)
}

func stop(i int) string { return fmt.Sprintf(`{"type":"content_block_stop","index":%d}`, i) }

func end(reason string) []string {
	return []string{`{"type":"message_delta","delta":{"stop_reason":"` + reason + `","stop_sequence":null},"usage":{"output_tokens":5,"output_tokens_details":{"thinking_tokens":2}}}`, `{"type":"message_stop"}`}
}

func streamOf(reason string, events ...string) []string {
	all := append([]string{start, `{"type":"ping"}`}, events...)
	return fakeapi.Named(append(all, end(reason)...)...)
}

// Field report C24: the same answer, whole and streamed, is one equal message. Field
// report C32: thinking keeps its signature.
func TestRunAndStreamAreEqual(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, content, reason string
		events                []string
		text                  string
		finish                agent.FinishReason
		message               string // as stored
	}{
		{"text", `[{"type":"text","text":"Hello","citations":null}]`, "end_turn",
			[]string{begin(0, `{"type":"text","text":""}`), delta(0, `{"type":"text_delta","text":"Hel"}`), delta(0, `{"type":"text_delta","text":"lo"}`), stop(0)},
			"Hello", agent.FinishStop, `{"role":"assistant","content":"Hello"}`},
		{"thinking, text and parallel calls", `[{"signature":"c2ln","thinking":"use\ntools <&>","type":"thinking"},{"type":"redacted_thinking","data":"ZGF0YQ=="},{"type":"text","text":"Wait."},` +
			`{"type":"tool_use","id":"toolu_1","name":"f","input":{"n": 9007199254740993}},{"type":"tool_use","id":"toolu_2","name":"g","input":{}}]`, "tool_use",
			[]string{
				begin(0, `{"type":"thinking","thinking":"","signature":""}`), delta(0, `{"type":"thinking_delta","thinking":"use\ntools "}`), delta(0, `{"type":"thinking_delta","thinking":"<&>"}`), delta(0, `{"type":"signature_delta","signature":"c2ln"}`), stop(0),
				begin(1, `{"type":"redacted_thinking","data":"ZGF0YQ=="}`), stop(1),
				begin(2, `{"type":"text","text":""}`), delta(2, `{"type":"text_delta","text":"Wait."}`), stop(2),
				begin(3, `{"type":"tool_use","id":"toolu_1","name":"f","input":{}}`), delta(3, `{"type":"input_json_delta","partial_json":""}`), delta(3, `{"type":"input_json_delta","partial_json":"{\"n\":"}`), delta(3, `{"type":"input_json_delta","partial_json":" 9007199254740993}"}`), stop(3),
				begin(4, `{"type":"tool_use","id":"toolu_2","name":"g","input":{}}`), delta(4, `{"type":"input_json_delta","partial_json":""}`), stop(4),
			}, "Wait.", agent.FinishToolCalls,
			`{"role":"assistant","content":[{"type":"thinking","thinking":"use\ntools <&>","signature":"c2ln"},{"type":"redacted_thinking","data":"ZGF0YQ=="},{"type":"text","text":"Wait."}],"tool_calls":[{"id":"toolu_1","type":"function","function":{"name":"f","arguments":"{\"n\":9007199254740993}"}},{"id":"toolu_2","type":"function","function":{"name":"g","arguments":"{}"}}]}`},
		{"a tool of the server", `[{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{"query":"q"}},{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[{"type":"web_search_result","url":"https://example.com","title":"t","encrypted_content":"ZQ==","page_age":null}]},{"type":"text","text":"Found."}]`, "end_turn",
			[]string{
				begin(0, `{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{}}`), delta(0, `{"type":"input_json_delta","partial_json":"{\"query\":\"q\"}"}`), stop(0),
				begin(1, `{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[{"type":"web_search_result","url":"https://example.com","title":"t","encrypted_content":"ZQ==","page_age":null}]}`), stop(1),
				begin(2, `{"type":"text","text":""}`), delta(2, `{"type":"text_delta","text":"Found."}`), stop(2),
			}, "Found.", agent.FinishStop,
			`{"role":"assistant","content":[{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{"query":"q"}},{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[{"type":"web_search_result","url":"https://example.com","title":"t","encrypted_content":"ZQ==","page_age":null}]},{"type":"text","text":"Found."}]}`},
		{"thinking between calls", `[{"type":"tool_use","id":"toolu_1","name":"f","input":{}},{"type":"thinking","thinking":"more","signature":"c2ln"},{"type":"tool_use","id":"toolu_2","name":"f","input":{}}]`, "tool_use",
			[]string{
				begin(0, `{"type":"tool_use","id":"toolu_1","name":"f","input":{}}`), stop(0),
				begin(1, `{"type":"thinking","thinking":"","signature":""}`), delta(1, `{"type":"thinking_delta","thinking":"more"}`), delta(1, `{"type":"signature_delta","signature":"c2ln"}`), stop(1),
				begin(2, `{"type":"tool_use","id":"toolu_2","name":"f","input":{}}`), stop(2),
			}, "", agent.FinishToolCalls,
			`{"role":"assistant","content":[{"type":"thinking","thinking":"more","signature":"c2ln"}],"tool_calls":[{"id":"toolu_1","type":"function","function":{"name":"f","arguments":"{}"}},{"id":"toolu_2","type":"function","function":{"name":"f","arguments":"{}"}}],"call_positions":[0,1]}`},
		{"nothing", `[]`, "end_turn", nil, "", agent.FinishStop, `{"role":"assistant","content":""}`},
		{"refusal", `[{"type":"text","text":"I"}]`, "refusal", []string{begin(0, `{"type":"text","text":"I"}`), stop(0)}, "I", agent.FinishRefusal, `{"role":"assistant","content":"I"}`},
		{"bound on tokens", `[{"type":"text","text":"I"}]`, "max_tokens", []string{begin(0, `{"type":"text","text":"I"}`), stop(0)}, "I", agent.FinishLength, `{"role":"assistant","content":"I"}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			header := map[string]string{"Request-Id": "req_1"}
			got, err := newAgent(fakeapi.New(t, fakeapi.Answer{Body: whole(c.content, c.reason), Header: header}), nil).Run(t.Context(), ask("hi"))
			if err != nil {
				t.Fatalf("Run() = %v", err)
			}
			want, err := sessionstore.DecodeMessage([]byte(c.message))
			if err != nil {
				t.Fatal(err)
			}
			want.Metadata, want.CreatedAt = nil, time.Time{}
			if !reflect.DeepEqual(got.Message, want) {
				t.Errorf("Run() gives the message\n%s, want\n%s", stories.JSON(t, got.Message), stories.JSON(t, want))
			}
			if got.Text != c.text || got.FinishReason != c.finish || got.Provider != "anthropic" || got.Model != "m-1" {
				t.Errorf("Run() = %q, %q of %s %s, want %q, %q of anthropic m-1", got.Text, got.FinishReason, got.Provider, got.Model, c.text, c.finish)
			}
			if u := (agent.Usage{InputTokens: 9, OutputTokens: 5, CachedTokens: 4, ReasoningTokens: 2}); got.Usage != u {
				t.Errorf("Run() has the usage %+v, want %+v", got.Usage, u)
			}
			s := fakeapi.New(t, fakeapi.Answer{Events: streamOf(c.reason, c.events...), Header: header})
			events, err := read(t.Context(), newAgent(s, nil), ask("hi"))
			if err != nil || len(events) == 0 {
				t.Fatalf("Stream() = %v, %v", events, err)
			}
			finish, ok := events[len(events)-1].(agent.Finish)
			if !ok || !reflect.DeepEqual(finish.Response, got) {
				t.Errorf("Stream() ends with\n%+v, want\n%+v", events[len(events)-1], got)
			}
			var a agent.Accumulator
			for _, e := range events[:len(events)-1] {
				a.Add(e)
			}
			sum, complete := a.Response()
			if complete || sum.Text != c.text || !reflect.DeepEqual(sum.ToolCalls, got.ToolCalls) || !sum.Message.Content.Equal(want.Content) {
				t.Errorf("the events add up to %s, want %s", stories.JSON(t, sum.Message), stories.JSON(t, want))
			}
			if string(s.Last("stream")) != "true" {
				t.Errorf("the request has stream %s", s.Last("stream"))
			}
		})
	}
}

// A tool's input that a bound on tokens has cut is no JSON, and must not become a call
// with no input at all.
func TestCutInputStaysCut(t *testing.T) {
	t.Parallel()
	s := fakeapi.New(t, fakeapi.Answer{Events: streamOf("max_tokens",
		begin(0, `{"type":"tool_use","id":"toolu_1","name":"delete","input":{}}`), delta(0, `{"type":"input_json_delta","partial_json":"{\"path\":\"/t"}`), stop(0))})
	events, err := read(t.Context(), newAgent(s, nil), ask("hi"))
	if err != nil {
		t.Fatalf("Stream() = %v", err)
	}
	const want = `{"path":"/t`
	finish, ok := events[len(events)-1].(agent.Finish)
	if !ok || len(finish.Response.Message.ToolCalls) != 1 || finish.Response.Message.ToolCalls[0].Arguments != want {
		t.Errorf("Stream() ends with %+v, want a call with the arguments %s", events[len(events)-1], want)
	}
}

func TestRequest(t *testing.T) {
	t.Parallel()
	s := fakeapi.New(t, fakeapi.Answer{Body: whole(`[{"type":"text","text":"{}"}]`, "end_turn")})
	half, tenth := 0.5, 0.1
	a := newAgent(s, &anthropic.Options{Temperature: &tenth, MaxTokens: 7, Params: func(p *sdk.MessageNewParams) { p.StopSequences = []string{"x"} }})
	req := agent.Request{
		System:      "be kind",
		History:     []sessionstore.Message{sessionstore.UserMessage("hi"), sessionstore.AssistantMessage("hello")},
		Input:       sessionstore.UserMessage("go on"),
		Temperature: &half,
		Metadata:    sessionstore.Metadata{"user_id": "u1", "other": 1},
		Schema:      &agent.Schema{Name: "n", JSON: json.RawMessage(`{"type":"object","maxProperties":9007199254740993}`)},
		Tools: []agent.Tool{
			{Name: "f", Description: "does f", Parameters: json.RawMessage(`{"type":"object","properties":{"n":{"type":"number","maximum":9007199254740993}},"required":["n"]}`), Strict: true},
			{Name: "g"},
		},
	}
	if _, err := a.Run(t.Context(), req); err != nil {
		t.Fatalf("Run() = %v", err)
	}
	for k, want := range map[string]string{
		"model":          `"m"`,
		"system":         `[{"text":"be kind","type":"text"}]`,
		"messages":       `[{"content":[{"text":"hi","type":"text"}],"role":"user"},{"content":[{"text":"hello","type":"text"}],"role":"assistant"},{"content":[{"text":"go on","type":"text"}],"role":"user"}]`,
		"temperature":    "0.5",
		"max_tokens":     "7",
		"metadata":       `{"user_id":"u1"}`,
		"stop_sequences": `["x"]`,
		"stream":         "",
	} {
		if got := string(s.Last(k)); got != want {
			t.Errorf("the request has %s = %s, want %s", k, got, want)
		}
	}
	if got := string(s.Last("output_config")); !strings.Contains(got, `"maxProperties":9007199254740993`) || !strings.Contains(got, `"json_schema"`) {
		t.Errorf("the request has output_config %s, want the schema", got)
	}
	tools := string(s.Last("tools"))
	for _, want := range []string{`"maximum":9007199254740993`, `"required":["n"]`, `"strict":true`, `"name":"g"`, `"additionalProperties":false`} {
		if !strings.Contains(tools, want) {
			t.Errorf("the request's tools have no %s: %s", want, tools)
		}
	}
	if r := s.Requests()[0]; r.Path != "/v1/messages" || r.Header.Get("Authorization") != "Bearer "+key {
		t.Errorf("asked %s with %v", r.Path, r.Header)
	}
	if _, err := newAgent(s, nil).Run(t.Context(), ask("x")); err != nil {
		t.Fatalf("Run() = %v", err)
	}
	if got := string(s.Last("max_tokens")); got != "8192" || s.Last("temperature") != nil {
		t.Errorf("the request has max_tokens %s and temperature %s, want 8192 and none", got, s.Last("temperature"))
	}
}

// noKey looks for the API key in what is printed of v.
func noKey(t *testing.T, v any) {
	t.Helper()
	for _, format := range []string{"%v", "%+v", "%#v", "%s", "%q"} {
		if s := fmt.Sprintf(format, v); strings.Contains(s, key) {
			t.Errorf("%s shows the API key: %s", format, s)
		}
	}
}

// noKeyWithin looks for the API key in an error and in all that it wraps.
func noKeyWithin(t *testing.T, err error) {
	t.Helper()
	for ; err != nil; err = errors.Unwrap(err) {
		for _, format := range []string{"%v", "%+v"} {
			if s := fmt.Sprintf(format, err); strings.Contains(s, key) {
				t.Errorf("%s of a %T shows the API key: %s", format, err, s)
			}
		}
	}
}

func TestServerErrors(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		answer fakeapi.Answer
		want   anthropic.Error
	}{
		{"refused key", fakeapi.Answer{Status: 401, Header: map[string]string{"Request-Id": "req_1"},
			Body: `{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key ` + key + `"}}`},
			anthropic.Error{Status: 401, Type: "authentication_error", Message: "invalid x-api-key [hidden]", RequestID: "req_1"}},
		{"rate limit", fakeapi.Answer{Status: 429, Header: map[string]string{"Retry-After": "7"},
			Body: `{"type":"error","error":{"type":"rate_limit_error","message":"slow down"}}`},
			anthropic.Error{Status: 429, Type: "rate_limit_error", Message: "slow down", RetryAfter: 7 * time.Second}},
		{"proxy", fakeapi.Answer{Status: 502, Body: `<html>bad gateway</html>`, Header: map[string]string{"Content-Type": "text/html"}},
			anthropic.Error{Status: 502, Message: `<html>bad gateway</html>`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			a := newAgent(fakeapi.New(t, c.answer), nil)
			_, runErr := a.Run(t.Context(), ask("hi"))
			_, streamErr := read(t.Context(), a, ask("hi"))
			for _, err := range []error{runErr, streamErr} {
				var got *anthropic.Error
				if !errors.As(err, &got) {
					t.Fatalf("got %v, want an *anthropic.Error", err)
				}
				if got.Status != c.want.Status || got.Type != c.want.Type || got.Message != c.want.Message ||
					got.RequestID != c.want.RequestID || got.RetryAfter != c.want.RetryAfter {
					t.Errorf("got %+v, want %+v", *got, c.want)
				}
				noKey(t, err)
				noKeyWithin(t, err)
			}
		})
	}
}

func TestNoKeyIsShown(t *testing.T) {
	t.Parallel()
	s := fakeapi.New(t, fakeapi.Answer{Cut: true})
	a := newAgent(s, &anthropic.Options{Request: []option.RequestOption{option.WithHeader("X-Other", key)}})
	noKey(t, a)
	noKey(t, *a)
	_, err := a.Run(t.Context(), ask("hi"))
	if err == nil {
		t.Error("Run() over a connection that is cut succeeds")
	}
	noKey(t, err)
	noKeyWithin(t, err)
	secret := newAgent(s, nil, option.WithBaseURL("http://user:"+key+"@127.0.0.1:1/?key="+key))
	_, err = secret.Run(t.Context(), ask("hi"))
	if err == nil {
		t.Error("Run() without a server succeeds")
	}
	noKey(t, err)
	noKeyWithin(t, err)
}

// The SDK tries again what was limited, after the time that the server asks for.
func TestRetryAfterALimit(t *testing.T) {
	t.Parallel()
	limited := fakeapi.Answer{Status: 429, Header: map[string]string{"Retry-After-Ms": "1"}, Body: `{"type":"error","error":{"type":"rate_limit_error","message":"slow down"}}`}
	s := fakeapi.New(t, limited, fakeapi.Answer{Body: whole(`[{"type":"text","text":"ok"}]`, "end_turn")})
	got, err := newAgent(s, nil, option.WithMaxRetries(1)).Run(t.Context(), ask("hi"))
	if err != nil || got.Text != "ok" || len(s.Requests()) != 2 {
		t.Errorf("Run() = %q, %v after %d requests, want ok after 2", got.Text, err, len(s.Requests()))
	}
}

func TestBrokenStreams(t *testing.T) {
	t.Parallel()
	hello := []string{start, begin(0, `{"type":"text","text":""}`), delta(0, `{"type":"text_delta","text":"Hel"}`)}
	for _, c := range []struct {
		name string
		more []string
		cut  bool
		is   error
		says string
	}{
		{"half sent", nil, false, io.ErrUnexpectedEOF, ""},
		{"cut", nil, true, io.ErrUnexpectedEOF, ""},
		{"error within", []string{`{"type":"error","error":{"type":"overloaded_error","message":"Overloaded ` + key + `"}}`}, false, nil, "overloaded_error: Overloaded [hidden]"},
		{"block out of order", []string{begin(7, `{"type":"text","text":""}`)}, false, nil, "index 7"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := fakeapi.New(t, fakeapi.Answer{Events: fakeapi.Named(append(hello[:3:3], c.more...)...), Cut: c.cut})
			events, err := read(t.Context(), newAgent(s, nil), ask("hi"))
			if err == nil || c.is != nil && !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("Stream() ends with %v, want %v and %q", err, c.is, c.says)
			}
			if !reflect.DeepEqual(events, []agent.Event{agent.TextDelta{Text: "Hel"}}) {
				t.Errorf("Stream() yields %v, want the text alone", events)
			}
			noKey(t, err)
			noKeyWithin(t, err)
		})
	}
}

// A stream that is cancelled or left closes its connection before it returns.
func TestStreamEndsWithItsReader(t *testing.T) {
	t.Parallel()
	waiting := fakeapi.Answer{Events: fakeapi.Named(start, begin(0, `{"type":"text","text":"Hel"}`)), Wait: make(chan struct{})}
	t.Run("cancelled", func(t *testing.T) {
		t.Parallel()
		s := fakeapi.New(t, waiting)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var last error
		for e, err := range newAgent(s, nil).Stream(ctx, ask("hi")) {
			if _, ok := e.(agent.TextDelta); ok {
				cancel()
			}
			last = err
		}
		if !errors.Is(last, context.Canceled) {
			t.Errorf("Stream() ends with %v, want context.Canceled", last)
		}
		<-s.Gone()
	})
	t.Run("left", func(t *testing.T) {
		t.Parallel()
		s := fakeapi.New(t, waiting)
		for range newAgent(s, nil).Stream(t.Context(), ask("hi")) {
			break
		}
		<-s.Gone()
	})
}

// A conversation over the agent: a tool loop with thinking, and what is sent at each step.
func TestConversation(t *testing.T) {
	t.Parallel()
	s := fakeapi.New(t,
		fakeapi.Answer{Events: streamOf("tool_use",
			begin(0, `{"type":"thinking","thinking":"","signature":""}`), delta(0, `{"type":"thinking_delta","thinking":"look"}`), delta(0, `{"type":"signature_delta","signature":"c2ln"}`), stop(0),
			begin(1, `{"type":"tool_use","id":"toolu_1","name":"clock","input":{}}`), stop(1))},
		fakeapi.Answer{Events: streamOf("end_turn", begin(0, `{"type":"text","text":"Noon."}`), stop(0))},
	)
	clock := agent.Tool{Name: "clock", Run: func(context.Context, sessionstore.ToolCall) (sessionstore.Content, error) {
		return sessionstore.Content{}, errors.New("no battery")
	}}
	store, err := memory.New(nil)
	if err != nil {
		t.Fatalf("memory.New() = %v", err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Errorf("Close() = %v", err)
		}
	})
	c, err := agent.Start(t.Context(), sessionstore.NewManager(store, nil), sessionstore.Session{ID: "s"}, newAgent(s, nil), agent.WithTools(clock))
	if err != nil {
		t.Fatalf("Start() = %v", err)
	}
	var last agent.Event
	for e, err := range c.Stream(t.Context(), sessionstore.UserMessage("time?")) {
		if err != nil {
			t.Fatalf("Stream() = %v", err)
		}
		last = e
	}
	finish, ok := last.(agent.Finish)
	if !ok || finish.Response.Text != "Noon." || len(finish.Response.Turn) != 4 {
		t.Fatalf("Stream() ends with %+v, want Noon. and a turn of 4 messages", last)
	}
	for i, r := range s.Requests() {
		if err := wirecheck.Anthropic(r.Body); err != nil {
			t.Errorf("request %d: %v\n%s", i, err, r.Body)
		}
	}
	want := `[{"content":[{"text":"time?","type":"text"}],"role":"user"},{"content":[{"signature":"c2ln","thinking":"look","type":"thinking"},{"id":"toolu_1","input":{},"name":"clock","type":"tool_use"}],"role":"assistant"},` +
		`{"content":[{"tool_use_id":"toolu_1","is_error":true,"content":[{"text":"Error: no battery","type":"text"}],"type":"tool_result"}],"role":"user"}]`
	if got := string(s.Last("messages")); got != want {
		t.Errorf("the last request has\n%s, want\n%s", got, want)
	}
}
