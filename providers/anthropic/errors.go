package anthropic

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	sdk "github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/option"

	"github.com/sessionstore/sessionstore/providers/internal/failures"
)

// Error is what the server said instead of an answer. Its text has no API key, even if
// the server's has. It matches the SDK's own error, unless that shows the key.
type Error struct {
	Status     int           // HTTP status; 200 for an error in a stream that had begun
	Code, Type string        // as the server says, such as the type "rate_limit_error"
	Message    string        // the server's, at most 1,000 bytes
	RequestID  string        // to give to the provider's support
	RetryAfter time.Duration // how long the server asks to wait; 0: it did not say
	err        error
}

func (e *Error) Error() string {
	s := "the server says " + strconv.Itoa(e.Status)
	if text := http.StatusText(e.Status); text != "" {
		s += " " + text
	}
	for _, part := range []string{e.Type, e.Message} {
		if part != "" {
			s += ": " + part
		}
	}
	if e.RequestID != "" {
		s += " (request " + e.RequestID + ")"
	}
	return s
}

// Unwrap returns the SDK's error, or nil.
func (e *Error) Unwrap() error { return e.err }

// call is one request to the server.
type call struct {
	options  []option.RequestOption
	response *http.Response
	secrets  failures.Secrets
}

func newCall(options []option.RequestOption) *call {
	c := &call{}
	note := func(r *http.Request, next option.MiddlewareNext) (*http.Response, error) {
		c.secrets.Note(r)
		return next(r)
	}
	c.options = append(c.options, options...)
	c.options = append(c.options, option.WithResponseInto(&c.response), option.WithMiddleware(note))
	return c
}

func (c *call) requestID() string {
	if c.response == nil {
		return ""
	}
	return c.response.Header.Get("Request-Id")
}

// fail returns err without what must not be shown.
func (c *call) fail(ctx context.Context, err error) error {
	var said *sdk.Error
	var transport *url.Error
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("anthropic: %w", context.Cause(ctx))
	case errors.As(err, &said):
		return fmt.Errorf("anthropic: %w", c.apiError(said))
	case errors.As(err, &transport): // its text has the URL
		return fmt.Errorf("anthropic: %s: %w", strings.ToLower(transport.Op), transport.Err)
	case c.secrets.In(err):
		return fmt.Errorf("anthropic: %w", &Error{Status: http.StatusOK, Message: c.secrets.Clean(err.Error()), RequestID: c.requestID()})
	}
	return fmt.Errorf("anthropic: %w", err)
}

func (c *call) apiError(said *sdk.Error) *Error {
	e := &Error{
		Status: said.StatusCode, Code: c.secrets.Clean(string(said.ErrorCode())), Type: c.secrets.Clean(string(said.Type())),
		Message: c.secrets.Clean(said.Message), RequestID: said.RequestID,
	}
	if said.Response != nil {
		e.RetryAfter = failures.RetryAfter(said.Response.Header, time.Now())
	}
	if e.Message == "" { // a proxy, or a server that is compatible only in part
		e.Message = c.secrets.Clean(strings.TrimSpace(said.RawJSON()))
	}
	if !c.secrets.In(said) {
		e.err = said
	}
	return e
}
