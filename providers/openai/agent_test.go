package openai_test

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

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/agent"
	"github.com/sessionstore/sessionstore/internal/wirecheck"
	"github.com/sessionstore/sessionstore/memory"
	"github.com/sessionstore/sessionstore/providers/internal/fakeapi"
	"github.com/sessionstore/sessionstore/providers/openai"
)

const key = "sk-secret-0123456789"

func newAgent(s *fakeapi.Server, o *openai.Options, options ...option.RequestOption) *openai.Agent {
	options = append([]option.RequestOption{option.WithBaseURL(s.URL + "/v1/"), option.WithAPIKey(key), option.WithMaxRetries(0)}, options...)
	return openai.New(sdk.NewClient(options...), "m", o)
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

func chunk(delta, finish string) string {
	if finish == "" {
		finish = "null"
	}
	return `{"id":"c1","object":"chat.completion.chunk","created":1,"model":"m-1","choices":[{"index":0,"delta":` + delta + `,"finish_reason":` + finish + `}]}`
}

const usageChunk = `{"id":"c1","object":"chat.completion.chunk","created":1,"model":"m-1","choices":[],"usage":{"prompt_tokens":9,"completion_tokens":5,"total_tokens":14,"prompt_tokens_details":{"cached_tokens":4},"completion_tokens_details":{"reasoning_tokens":2}}}`

func whole(message, finish string) string {
	return `{"id":"c1","object":"chat.completion","created":1,"model":"m-1","choices":[{"index":0,"message":` + message + `,"finish_reason":"` + finish +
		`","logprobs":null}],"usage":{"prompt_tokens":9,"completion_tokens":5,"total_tokens":14,"prompt_tokens_details":{"cached_tokens":4},"completion_tokens_details":{"reasoning_tokens":2}}}`
}

// Field report C24: the same answer, whole and streamed, is one equal message.
func TestRunAndStreamAreEqual(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, whole, finish string
		chunks              []string
		text                string
		reason              agent.FinishReason
		message             string // as stored
	}{
		{"text", `{"role":"assistant","content":"Hello","refusal":null,"annotations":[]}`, "stop",
			[]string{chunk(`{"role":"assistant","content":"","refusal":null}`, ""), chunk(`{"content":"Hel"}`, ""), chunk(`{"content":"lo"}`, ""), chunk(`{}`, `"stop"`)},
			"Hello", agent.FinishStop, `{"role":"assistant","content":"Hello"}`},
		{"parallel calls", `{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{\"x\":1}"}},{"id":"b","type":"function","function":{"name":"g","arguments":""}}]}`, "tool_calls",
			[]string{
				chunk(`{"role":"assistant","content":null,"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"f","arguments":""}}]}`, ""),
				chunk(`{"tool_calls":[{"index":0,"function":{"arguments":"{\"x\""}}]}`, ""),
				chunk(`{"tool_calls":[{"index":1,"id":"b","type":"function","function":{"name":"g","arguments":""}}]}`, ""),
				chunk(`{"tool_calls":[{"index":0,"function":{"arguments":":1}"}}]}`, ""),
				chunk(`{}`, `"tool_calls"`),
			}, "", agent.FinishToolCalls,
			`{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{\"x\":1}"}},{"id":"b","type":"function","function":{"name":"g","arguments":""}}]}`},
		{"calls of a server without indexes", `{"role":"assistant","content":"","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}},{"id":"b","type":"function","function":{"name":"f","arguments":"{}"}}]}`, "tool_calls",
			[]string{
				chunk(`{"role":"assistant","content":"","tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]}`, ""),
				chunk(`{"tool_calls":[{"index":0,"id":"b","type":"function","function":{"name":"f","arguments":"{}"}}]}`, `"tool_calls"`),
			}, "", agent.FinishToolCalls,
			`{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}},{"id":"b","type":"function","function":{"name":"f","arguments":"{}"}}]}`},
		{"refusal", `{"role":"assistant","content":null,"refusal":"I will not."}`, "stop",
			[]string{chunk(`{"role":"assistant","content":"","refusal":null}`, ""), chunk(`{"refusal":"I will"}`, ""), chunk(`{"refusal":" not."}`, ""), chunk(`{}`, `"stop"`)},
			"", agent.FinishRefusal, `{"role":"assistant","content":null,"refusal":"I will not."}`},
		{"reasoning of a compatible server", `{"role":"assistant","content":"4","reasoning_content":"2+2"}`, "length",
			[]string{chunk(`{"role":"assistant","content":"","reasoning_content":"2+"}`, ""), chunk(`{"content":"","reasoning_content":"2"}`, ""), chunk(`{"content":"4"}`, `"length"`)},
			"4", agent.FinishLength, `{"role":"assistant","content":"4","reasoning_content":"2+2"}`},
		{"a signature on a call", `{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"},"extra_content":{"google":{"thought_signature":"c2ln"}}}]}`, "tool_calls",
			[]string{chunk(`{"role":"assistant","tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"f","arguments":"{}"},"extra_content":{"google":{"thought_signature":"c2ln"}}}]}`, `"tool_calls"`)},
			"", agent.FinishToolCalls,
			`{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"},"extra_content":{"google":{"thought_signature":"c2ln"}}}]}`},
		{"lists in pieces", `{"role":"assistant","content":"a<b>","annotations":[{"u":"a<b&c"},{"u":"d>e"}]}`, "stop",
			[]string{chunk(`{"role":"assistant","content":"a","annotations":[]}`, ""), chunk(`{"content":"<","annotations":[{"u":"a<b&c"}]}`, ""),
				chunk(`{"content":"b>","annotations":[ {"u":"d>e"} ]}`, ""), chunk(`{}`, `"stop"`)},
			"a<b>", agent.FinishStop, `{"role":"assistant","content":"a<b>","annotations":[{"u":"a<b&c"},{"u":"d>e"}]}`},
		{"an id that comes late", `{"role":"assistant","content":null,"tool_calls":[{"type":"function","function":{"name":"f","arguments":"{}"},"id":"a"}]}`, "tool_calls",
			[]string{chunk(`{"role":"assistant","tool_calls":[{"index":0,"type":"function","function":{"name":"f","arguments":"{"}}]}`, ""),
				chunk(`{"tool_calls":[{"index":0,"id":"a","function":{"arguments":"}"}}]}`, `"tool_calls"`)},
			"", agent.FinishToolCalls,
			`{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]}`},
		{"nothing", `{"role":"assistant","content":null}`, "stop", []string{chunk(`{"role":"assistant","content":""}`, ""), chunk(`{}`, `"stop"`)},
			"", agent.FinishStop, `{"role":"assistant","content":""}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			run := newAgent(fakeapi.New(t, fakeapi.Answer{Body: whole(c.whole, c.finish), Header: map[string]string{"X-Request-Id": "req_1"}}), nil)
			got, err := run.Run(t.Context(), ask("hi"))
			if err != nil {
				t.Fatalf("Run() = %v", err)
			}
			want, err := sessionstore.DecodeMessage([]byte(c.message))
			if err != nil {
				t.Fatal(err)
			}
			want.Metadata, want.CreatedAt = nil, time.Time{}
			if !reflect.DeepEqual(got.Message, want) {
				t.Errorf("Run() gives the message\n%+v, want\n%+v", got.Message, want)
			}
			if got.Text != c.text || got.FinishReason != c.reason || got.Provider != "openai" || got.Model != "m-1" {
				t.Errorf("Run() = %q, %q of %s %s, want %q, %q of openai m-1", got.Text, got.FinishReason, got.Provider, got.Model, c.text, c.reason)
			}
			if u := (agent.Usage{InputTokens: 9, OutputTokens: 5, CachedTokens: 4, ReasoningTokens: 2}); got.Usage != u {
				t.Errorf("Run() has the usage %+v, want %+v", got.Usage, u)
			}
			s := fakeapi.New(t, fakeapi.Answer{Events: fakeapi.Data(append(c.chunks, usageChunk, "[DONE]")...), Header: map[string]string{"X-Request-Id": "req_1"}})
			events, err := read(t.Context(), newAgent(s, nil), ask("hi"))
			if err != nil || len(events) == 0 {
				t.Fatalf("Stream() = %v, %v", events, err)
			}
			finish, ok := events[len(events)-1].(agent.Finish)
			if !ok || !reflect.DeepEqual(finish.Response, got) {
				t.Errorf("Stream() ends with\n%+v, want\n%+v", events[len(events)-1], got)
			}
			// What the events before it add up to is the text and the calls.
			var a agent.Accumulator
			for _, e := range events[:len(events)-1] {
				a.Add(e)
			}
			sum, complete := a.Response()
			if complete || sum.Text != c.text || !reflect.DeepEqual(sum.ToolCalls, got.ToolCalls) {
				t.Errorf("the events add up to %q, %+v, want %q, %+v", sum.Text, sum.ToolCalls, c.text, got.ToolCalls)
			}
			if o := string(s.Last("stream_options")); o != `{"include_usage":true}` {
				t.Errorf("the request has stream_options %s", o)
			}
		})
	}
}

func TestRequest(t *testing.T) {
	t.Parallel()
	s := fakeapi.New(t, fakeapi.Answer{Body: whole(`{"role":"assistant","content":"{}"}`, "stop")})
	half, tenth := 0.5, 0.1
	a := newAgent(s, &openai.Options{Temperature: &tenth, MaxTokens: 7, Params: func(p *sdk.ChatCompletionNewParams) { p.Seed = sdk.Int(3) }})
	req := agent.Request{
		System:      "be kind",
		History:     []sessionstore.Message{sessionstore.UserMessage("hi"), sessionstore.AssistantMessage("hello")},
		Input:       sessionstore.UserMessage("go on"),
		Temperature: &half,
		Metadata:    sessionstore.Metadata{"user_id": "u1", "other": 1},
		Schema:      &agent.Schema{Name: "n", Description: "d", JSON: json.RawMessage(`{"type":"object"}`), Strict: true},
		Tools: []agent.Tool{
			{Name: "f", Description: "does f", Parameters: json.RawMessage(`{"type":"object","properties":{"n":{"type":"number","maximum":9007199254740993}}}`), Strict: true},
			{Name: "g"},
		},
	}
	if _, err := a.Run(t.Context(), req); err != nil {
		t.Fatalf("Run() = %v", err)
	}
	for k, want := range map[string]string{
		"model":                 `"m"`,
		"messages":              `[{"content":"be kind","role":"system"},{"content":"hi","role":"user"},{"content":"hello","role":"assistant"},{"content":"go on","role":"user"}]`,
		"temperature":           "0.5",
		"max_completion_tokens": "7",
		"user":                  `"u1"`,
		"seed":                  "3",
		"metadata":              "",
		"stream":                "",
		"response_format":       `{"json_schema":{"name":"n","strict":true,"description":"d","schema":{"type":"object"}},"type":"json_schema"}`,
	} {
		if got := string(s.Last(k)); got != want {
			t.Errorf("the request has %s = %s, want %s", k, got, want)
		}
	}
	tools := string(s.Last("tools"))
	for _, want := range []string{`"maximum":9007199254740993`, `"strict":true`, `"name":"g"`, `"additionalProperties":false`} {
		if !strings.Contains(tools, want) {
			t.Errorf("the request's tools have no %s: %s", want, tools)
		}
	}
	rs := s.Requests()
	if r := rs[0]; r.Path != "/v1/chat/completions" || r.Header.Get("Authorization") != "Bearer "+key {
		t.Errorf("asked %s with %v", r.Path, r.Header)
	}
	legacy := newAgent(s, &openai.Options{LegacyMaxTokens: true, Provider: "local"})
	got, err := legacy.Run(t.Context(), agent.Request{Input: sessionstore.UserMessage("x"), MaxTokens: 5})
	if err != nil || got.Provider != "local" {
		t.Errorf("Run() = %+v, %v, want an answer of local", got, err)
	}
	if string(s.Last("max_tokens")) != "5" || s.Last("max_completion_tokens") != nil {
		t.Errorf("the request has max_tokens %s and max_completion_tokens %s, want 5 and none", s.Last("max_tokens"), s.Last("max_completion_tokens"))
	}
}

func TestServerErrors(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		answer fakeapi.Answer
		want   openai.Error
	}{
		{"refused key", fakeapi.Answer{Status: 401, Header: map[string]string{"X-Request-Id": "req_1"},
			Body: `{"error":{"message":"Incorrect API key provided: ` + key + `.","type":"invalid_request_error","param":null,"code":"invalid_api_key"}}`},
			openai.Error{Status: 401, Code: "invalid_api_key", Type: "invalid_request_error", Message: "Incorrect API key provided: [hidden].", RequestID: "req_1"}},
		{"rate limit", fakeapi.Answer{Status: 429, Header: map[string]string{"Retry-After": "7"},
			Body: `{"error":{"message":"slow down","type":"requests","code":"rate_limit_exceeded"}}`},
			openai.Error{Status: 429, Code: "rate_limit_exceeded", Type: "requests", Message: "slow down", RetryAfter: 7 * time.Second}},
		{"server without a reason", fakeapi.Answer{Status: 500, Body: `{"detail":"out of memory"}`},
			openai.Error{Status: 500, Message: `{"detail":"out of memory"}`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			a := newAgent(fakeapi.New(t, c.answer), nil)
			_, runErr := a.Run(t.Context(), ask("hi"))
			_, streamErr := read(t.Context(), a, ask("hi"))
			for _, err := range []error{runErr, streamErr} {
				var got *openai.Error
				if !errors.As(err, &got) {
					t.Fatalf("got %v, want an *openai.Error", err)
				}
				if got.Status != c.want.Status || got.Code != c.want.Code || got.Type != c.want.Type || got.Message != c.want.Message ||
					got.RequestID != c.want.RequestID || got.RetryAfter != c.want.RetryAfter {
					t.Errorf("got %+v, want %+v", *got, c.want)
				}
				var said *sdk.Error
				if !errors.As(err, &said) || said.StatusCode != c.want.Status {
					t.Errorf("the SDK's error is not reachable in %v", err)
				}
				noKey(t, err)
			}
		})
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

func TestNoKeyIsShown(t *testing.T) {
	t.Parallel()
	s := fakeapi.New(t, fakeapi.Answer{Cut: true})
	a := newAgent(s, &openai.Options{Request: []option.RequestOption{option.WithHeader("X-Other", key)}})
	noKey(t, a)
	noKey(t, *a)
	_, err := a.Run(t.Context(), ask("hi"))
	if err == nil {
		t.Error("Run() over a connection that is cut succeeds")
	}
	noKey(t, err)
	secret := newAgent(s, nil, option.WithBaseURL("http://user:"+key+"@127.0.0.1:1/v1/?key="+key))
	_, err = secret.Run(t.Context(), ask("hi"))
	if err == nil {
		t.Error("Run() without a server succeeds")
	}
	noKey(t, err)
}

// The SDK tries again what was limited, after the time that the server asks for.
func TestRetryAfterALimit(t *testing.T) {
	t.Parallel()
	limited := fakeapi.Answer{Status: 429, Header: map[string]string{"Retry-After-Ms": "1"}, Body: `{"error":{"message":"slow down"}}`}
	s := fakeapi.New(t, limited, fakeapi.Answer{Body: whole(`{"role":"assistant","content":"ok"}`, "stop")})
	got, err := newAgent(s, nil, option.WithMaxRetries(1)).Run(t.Context(), ask("hi"))
	if err != nil || got.Text != "ok" || len(s.Requests()) != 2 {
		t.Errorf("Run() = %q, %v after %d requests, want ok after 2", got.Text, err, len(s.Requests()))
	}
}

func TestBrokenStreams(t *testing.T) {
	t.Parallel()
	hello := chunk(`{"role":"assistant","content":"Hel"}`, "")
	for _, c := range []struct {
		name   string
		answer fakeapi.Answer
		is     error
		says   string
	}{
		{"half sent", fakeapi.Answer{Events: fakeapi.Data(hello)}, io.ErrUnexpectedEOF, ""},
		{"half sent, ended", fakeapi.Answer{Events: fakeapi.Data(hello, "[DONE]")}, io.ErrUnexpectedEOF, ""},
		{"cut", fakeapi.Answer{Events: fakeapi.Data(hello), Cut: true}, io.ErrUnexpectedEOF, ""},
		{"error within", fakeapi.Answer{Events: fakeapi.Data(hello, `{"error":{"message":"overloaded `+key+`","type":"server_error","code":"overloaded"}}`)}, nil, "overloaded [hidden]"},
		{"no JSON", fakeapi.Answer{Events: fakeapi.Data(hello, `{"id":`)}, nil, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			events, err := read(t.Context(), newAgent(fakeapi.New(t, c.answer), nil), ask("hi"))
			if err == nil || c.is != nil && !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("Stream() ends with %v, want %v and %q", err, c.is, c.says)
			}
			if !reflect.DeepEqual(events, []agent.Event{agent.TextDelta{Text: "Hel"}}) {
				t.Errorf("Stream() yields %v, want the text alone", events)
			}
			noKey(t, err)
		})
	}
	t.Run("cut after the answer", func(t *testing.T) {
		t.Parallel()
		events, err := read(t.Context(), newAgent(fakeapi.New(t, fakeapi.Answer{Events: fakeapi.Data(hello, chunk(`{}`, `"stop"`)), Cut: true}), nil), ask("hi"))
		if err != nil || len(events) != 2 {
			t.Errorf("Stream() = %v, %v, want a complete answer", events, err)
		}
	})
}

// A stream that is cancelled or left closes its connection before it returns.
func TestStreamEndsWithItsReader(t *testing.T) {
	t.Parallel()
	waiting := fakeapi.Answer{Events: fakeapi.Data(chunk(`{"role":"assistant","content":"Hel"}`, "")), Wait: make(chan struct{})}
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
	t.Run("timed out", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		_, err := newAgent(fakeapi.New(t, fakeapi.Answer{Wait: make(chan struct{})}), nil).Run(ctx, ask("hi"))
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Run() = %v, want context.DeadlineExceeded", err)
		}
	})
}

func TestNothingToAnswer(t *testing.T) {
	t.Parallel()
	s := fakeapi.New(t, fakeapi.Answer{Status: 500})
	req := agent.Request{System: "be kind"}
	_, runErr := newAgent(s, nil).Run(t.Context(), req)
	_, streamErr := read(t.Context(), newAgent(s, nil), req)
	for _, err := range []error{runErr, streamErr} {
		if !errors.Is(err, sessionstore.ErrInvalid) {
			t.Errorf("got %v, want ErrInvalid", err)
		}
	}
	if n := len(s.Requests()); n != 0 {
		t.Errorf("%d requests were sent, want none", n)
	}
}

// A conversation over the agent: a tool loop, and what is sent at each step.
func TestConversation(t *testing.T) {
	t.Parallel()
	s := fakeapi.New(t,
		fakeapi.Answer{Events: fakeapi.Data(chunk(`{"role":"assistant","tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"clock","arguments":""}}]}`, `"tool_calls"`), "[DONE]")},
		fakeapi.Answer{Events: fakeapi.Data(chunk(`{"role":"assistant","content":"Noon."}`, `"stop"`), "[DONE]")},
	)
	clock := agent.Tool{Name: "clock", Run: func(context.Context, sessionstore.ToolCall) (sessionstore.Content, error) {
		return sessionstore.Text("12:00"), nil
	}}
	c := conversation(t, newAgent(s, nil), clock)
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
		var body struct{ Messages json.RawMessage }
		if err := json.Unmarshal(r.Body, &body); err != nil {
			t.Fatal(err)
		}
		if err := wirecheck.Chat(body.Messages); err != nil {
			t.Errorf("request %d: %v\n%s", i, err, body.Messages)
		}
	}
	want := `[{"content":"time?","role":"user"},{"content":null,"tool_calls":[{"id":"a","function":{"arguments":"{}","name":"clock"},"type":"function"}],"role":"assistant"},{"content":"12:00","tool_call_id":"a","role":"tool"}]`
	if got := string(s.Last("messages")); got != want {
		t.Errorf("the last request has\n%s, want\n%s", got, want)
	}
}

func conversation(t *testing.T, a agent.Agent, tools ...agent.Tool) *agent.Conversation {
	t.Helper()
	store, err := memory.New(nil)
	if err != nil {
		t.Fatalf("memory.New() = %v", err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Errorf("Close() = %v", err)
		}
	})
	m := sessionstore.NewManager(store, nil)
	c, err := agent.Start(t.Context(), m, sessionstore.Session{ID: "s"}, a, agent.WithTools(tools...))
	if err != nil {
		t.Fatalf("Start() = %v", err)
	}
	return c
}
