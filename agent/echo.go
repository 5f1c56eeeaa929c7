package agent

import (
	"context"
	"iter"
	"strings"

	"github.com/sessionstore/sessionstore"
)

// Echo is an agent that answers with the text it is sent, word by word if it streams. It
// needs no network: for tests, and to try a program out. Its tokens are words.
type Echo struct{}

// Run returns the text of what comes last in the request.
func (Echo) Run(ctx context.Context, req Request) (Response, error) {
	if err := ctx.Err(); err != nil {
		return Response{}, err
	}
	return echo(req), nil
}

// Stream yields the same, word by word.
func (Echo) Stream(ctx context.Context, req Request) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		r := echo(req)
		for word := range strings.SplitAfterSeq(r.Text, " ") {
			if err := ctx.Err(); err != nil {
				yield(nil, err)
				return
			}
			if word != "" && !yield(TextDelta{word}, nil) {
				return
			}
		}
		yield(Finish{r}, nil)
	}
}

func echo(req Request) Response {
	var last sessionstore.Message
	var in int64
	for _, m := range req.Prompt().Messages {
		last = m
		in += words(m.Content.String())
	}
	text := last.Content.String()
	return Response{
		Text:         text,
		Provider:     "echo",
		Model:        "echo",
		Usage:        Usage{InputTokens: in + words(req.System), OutputTokens: words(text)},
		FinishReason: FinishStop,
	}
}

func words(s string) int64 {
	var n int64
	for range strings.FieldsSeq(s) {
		n++
	}
	return n
}
