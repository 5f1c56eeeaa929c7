// Package fakeapi is a local HTTP server that answers from a script, for the tests of the
// agents: whole answers, server-sent events, errors, and connections that are cut.
package fakeapi

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// Answer is what the server says to one request.
type Answer struct {
	Status int // 0 is 200
	Header map[string]string
	Body   string          // whole, or
	Events []string        // each with its lines, sent and flushed one by one
	Cut    bool            // the connection breaks after that, without an end
	Wait   <-chan struct{} // after the events the server waits for it, or for the client to go
}

// Server answers requests in the order of its script; the last answer repeats.
type Server struct {
	URL string

	mu       sync.Mutex
	script   []Answer
	requests []Request
	gone     chan struct{}
}

// Request is what a client sent.
type Request struct {
	Path   string
	Header http.Header
	Body   []byte
}

// New starts a server, which is closed with the test.
func New(tb testing.TB, script ...Answer) *Server {
	tb.Helper()
	s := &Server{script: script, gone: make(chan struct{}, 16)}
	h := httptest.NewServer(s)
	tb.Cleanup(h.Close)
	s.URL = h.URL
	return s
}

// Requests returns what was asked so far.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Request(nil), s.requests...)
}

// Last returns the key of the last request's JSON body.
func (s *Server) Last(key string) json.RawMessage {
	rs := s.Requests()
	var body map[string]json.RawMessage
	if len(rs) == 0 || json.Unmarshal(rs[len(rs)-1].Body, &body) != nil {
		return nil
	}
	return body[key]
}

// Gone is sent to for each client that went away while the server waited.
func (s *Server) Gone() <-chan struct{} { return s.gone }

func (s *Server) next(r Request) Answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, r)
	a := s.script[0]
	if len(s.script) > 1 {
		s.script = s.script[1:]
	}
	return a
}

// ServeHTTP answers a request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	a := s.next(Request{r.URL.Path, r.Header.Clone(), body})
	for k, v := range a.Header {
		w.Header().Set(k, v)
	}
	if len(a.Events) > 0 {
		w.Header().Set("Content-Type", "text/event-stream")
	} else if w.Header().Get("Content-Type") == "" {
		w.Header().Set("Content-Type", "application/json")
	}
	if a.Status != 0 {
		w.WriteHeader(a.Status)
	}
	if _, err := io.WriteString(w, a.Body); err != nil {
		return
	}
	flush := http.NewResponseController(w)
	for _, e := range a.Events {
		if _, err := io.WriteString(w, e+"\n\n"); err != nil {
			return
		}
		if err := flush.Flush(); err != nil {
			return
		}
	}
	if a.Wait != nil {
		select {
		case <-a.Wait:
		case <-r.Context().Done():
			s.gone <- struct{}{}
		}
	}
	if a.Cut {
		if err := flush.Flush(); err == nil {
			panic(http.ErrAbortHandler)
		}
	}
}

// Data returns JSON objects as the events of a stream that have no name.
func Data(objects ...string) []string {
	events := make([]string, len(objects))
	for i, o := range objects {
		events[i] = "data: " + o
	}
	return events
}

// Named returns JSON objects as events that have the name of their "type".
func Named(objects ...string) []string {
	events := make([]string, len(objects))
	for i, o := range objects {
		var v struct{ Type string }
		if err := json.Unmarshal([]byte(o), &v); err != nil {
			panic(err)
		}
		events[i] = "event: " + v.Type + "\ndata: " + strings.ReplaceAll(o, "\n", " ")
	}
	return events
}
