package agent

import (
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/sessionstore/sessionstore"
)

// DefaultMaxSteps is how many answers a turn may have; see [WithMaxSteps].
const DefaultMaxSteps = 16

// DefaultStoreTimeout is how long the append of a turn may take; see [WithStoreTimeout].
const DefaultStoreTimeout = 30 * time.Second

// Option says how turns are made. Given to New, Open or Start it is for all turns of the
// conversation; given to a call, for that one, where it takes precedence.
type Option func(*settings)

type settings struct {
	system       *string
	temperature  *float64
	maxTokens    int
	metadata     sessionstore.Metadata
	schema       *Schema
	tools        []Tool
	maxSteps     int
	window       *sessionstore.Window
	wait         bool
	unfinished   Unfinished
	storeTimeout time.Duration
	onUnsaved    func(*UnsavedError)
	newID        func() string
}

func defaults() settings {
	return settings{
		maxSteps:     DefaultMaxSteps,
		storeTimeout: DefaultStoreTimeout,
		newID:        func() string { return uuid.Must(uuid.NewV7()).String() },
	}
}

// with returns s changed by opts. It shares nothing with s that an option changes in
// place.
func (s settings) with(opts []Option) settings {
	s.metadata = maps.Clone(s.metadata)
	for _, o := range opts {
		o(&s)
	}
	return s
}

// WithSystem sends other instructions than the session's System. They are not stored.
func WithSystem(text string) Option {
	return func(s *settings) { s.system = &text }
}

// WithTemperature sets [Request].Temperature.
func WithTemperature(t float64) Option {
	return func(s *settings) { s.temperature = &t }
}

// WithMaxTokens sets [Request].MaxTokens; 0 is the agent's own.
func WithMaxTokens(n int) Option {
	return func(s *settings) { s.maxTokens = n }
}

// WithMetadata adds to [Request].Metadata, key by key.
func WithMetadata(m sessionstore.Metadata) Option {
	m = m.Clone()
	return func(s *settings) {
		if s.metadata == nil {
			s.metadata = make(sessionstore.Metadata, len(m))
		}
		maps.Copy(s.metadata, m)
	}
}

// WithSchema asks for an answer in JSON.
func WithSchema(schema Schema) Option {
	schema.JSON = slices.Clone(schema.JSON)
	return func(s *settings) { s.schema = &schema }
}

// WithTools gives the model tools, in place of those given before; none takes them away.
// What it calls of them is run, and its next answer asked for, until it calls none or
// [WithMaxSteps] is reached.
func WithTools(tools ...Tool) Option {
	tools = slices.Clone(tools)
	return func(s *settings) { s.tools = tools }
}

// WithMaxSteps bounds how many answers of the model a call may ask for; less than 1 is
// [DefaultMaxSteps]. If the last of them calls tools again, those are not run: the call
// returns [ErrMaxSteps], and [Conversation.Continue] would go on.
func WithMaxSteps(n int) Option {
	return func(s *settings) {
		if s.maxSteps = n; n < 1 {
			s.maxSteps = DefaultMaxSteps
		}
	}
}

// WithWindow says which part of the history is sent. Its bounds do not count the input.
// Nil is the window of the [sessionstore.Manager].
func WithWindow(w *sessionstore.Window) Option {
	if w != nil {
		c := *w
		w = &c
	}
	return func(s *settings) { s.window = w }
}

// WithWait makes a turn wait for the one before it instead of failing with [ErrBusy], and
// run on the history that this leaves. If what came in between was written by another
// handle or process, which is seen only when the answer is to be stored, the answer is
// dropped and the model asked again, up to ten times; so a turn may cost several answers.
//
// Only what has stored nothing yet can run again. A turn that has stored a step of a tool
// loop and then finds a foreign message fails with ErrConflict all the same.
func WithWait(wait bool) Option {
	return func(s *settings) { s.wait = wait }
}

// Unfinished says what is kept of a turn whose answer is not complete.
type Unfinished int

// The ways to deal with an answer that is not complete.
const (
	// KeepPartial keeps the input and what came of the answer, marked as [Interrupted]. A
	// turn of which nothing came leaves no trace. It is the default.
	KeepPartial Unfinished = iota

	// KeepNothing leaves no trace of the turn, or of the step, if it has several.
	KeepNothing

	// KeepInput is KeepPartial, but the input is kept also if nothing came of the answer.
	// [Conversation.Continue], or the same turn again with its id, then asks for one.
	KeepInput
)

// WithUnfinished says what is kept of a turn whose answer is not complete.
func WithUnfinished(u Unfinished) Option {
	return func(s *settings) { s.unfinished = u }
}

// WithStoreTimeout bounds each append of a turn. It runs on after the call's context is
// done: what a model has said is kept. 0 or less is [DefaultStoreTimeout].
func WithStoreTimeout(d time.Duration) Option {
	return func(s *settings) {
		if s.storeTimeout = d; d <= 0 {
			s.storeTimeout = DefaultStoreTimeout
		}
	}
}

// WithOnUnsaved sets what is called when a turn could not be stored and nobody is left to
// be told so: the loop over [Conversation.Stream] was left by a break or a panic. It must
// not use the conversation.
func WithOnUnsaved(f func(*UnsavedError)) Option {
	return func(s *settings) { s.onUnsaved = f }
}

// WithNewID sets what makes the ids of messages that have none; nil: UUIDv7. Ids must be
// unique in their session.
func WithNewID(f func() string) Option {
	return func(s *settings) {
		if s.newID = f; f == nil {
			s.newID = defaults().newID
		}
	}
}
