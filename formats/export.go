package formats

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/internal/wire"
)

// ExportOptions say what Export writes, and how. Nil and every zero value are the
// defaults.
type ExportOptions struct {
	// IDs names the sessions; not together with a Query. Neither: all.
	IDs []string

	// Query filters the sessions. A Cursor is ErrInvalid, its Limit of no effect.
	Query sessionstore.SessionQuery

	// Array writes one JSON array of conversations instead of one conversation a line.
	Array bool

	// DropUnanswered leaves out tool calls that have no result. Otherwise each is answered
	// with [sessionstore.NoToolResult], because what reads the file wants a result.
	DropUnanswered bool
}

// ExportReport says what an export wrote.
type ExportReport struct {
	Sessions int64    // conversations written
	Messages int64    // stored messages in them
	Empty    int64    // sessions left out because they have nothing that the format can hold
	Missing  []string // those of ExportOptions.IDs that do not exist

	// Left counts, by kind, what the format has no place for: "thinking part", "metadata of
	// a message", "call without a result" (which got one) and so on. Ids, times, and names
	// of agents are not counted.
	Left map[string]int64
}

// A target makes the record of one session in a format. Errors: wire.NothingToSend for a
// prompt that has nothing which the format can hold. What it leaves out it tells left.
type target func(p sessionstore.Prompt, left wire.Left) (wire.Object, error)

// targets holds every format that is written here; the native one is the root package's.
var targets = map[string]target{
	"anthropic": anthropicRecord,
	"finetune":  finetuneRecord,
	"langchain": langChainRecord,
	"openai":    openAIRecord,
	"responses": responsesRecord,
	"sharegpt":  shareGPTRecord,
	"vercel":    vercelRecord,
}

// ExportNames returns the formats that Export knows, sorted.
func ExportNames() []string {
	names := append(slices.Collect(maps.Keys(targets)), native)
	slices.Sort(names)
	return names
}

// Export writes sessions in a format to w, one conversation a line, newest first. The
// formats are
//
//	anthropic  {"system", "messages"} of the Messages API
//	finetune   lines of OpenAI's fine-tuning and preference data, with tools and weights;
//	           calls that end a conversation stay without results
//	langchain  {"messages": […]} of message dictionaries
//	native     what sessionstore.Export writes, which alone loses nothing
//	openai     {"messages": […]} of Chat Completions
//	responses  {"instructions", "input"} of the Responses API
//	sharegpt   {"conversations": […]}
//	vercel     {"id", "messages"} of UIMessages of version 5
//
// A conversation goes out as its API takes it: calls are paired with their results as in
// [sessionstore.Prompt], what would be refused is left out or put differently, and the
// report counts what is lost. What an import of the same format kept beside the messages
// (tools, model, weights and the like) goes out again. A session without anything to say is
// left out.
//
// Each session is written as it was at one moment; one that is deleted meanwhile is left
// out. Every session that is there from beginning to end is written, once, unless sessions
// are written to faster than they can be listed. The error is not nil for an unknown format
// and for options that are wrong (ErrInvalid), for a done context, and for a store or a w
// that fails; what was written is then incomplete.
//
// An export holds the history of one session at a time, and the ids of those written.
func Export(ctx context.Context, store sessionstore.SessionStore, format string, w io.Writer, opts *ExportOptions) (ExportReport, error) {
	var o ExportOptions
	if opts != nil {
		o = *opts
	}
	if format == native {
		return exportNative(ctx, store, w, &o)
	}
	record, ok := targets[format]
	if !ok {
		return ExportReport{}, &sessionstore.InvalidError{
			Field:  "format",
			Reason: fmt.Sprintf("%q is none of %s", format, strings.Join(ExportNames(), ", ")),
		}
	}
	q, err := o.Query.Prepare()
	switch {
	case err != nil:
		return ExportReport{}, err
	case q.Cursor != "":
		return ExportReport{}, invalid("query.cursor", "must be empty")
	case len(o.IDs) > 0 && (q.UserID != "" || q.AgentName != "" || q.ParentID != "" || len(q.Statuses) > 0):
		return ExportReport{}, invalid("query", "cannot be combined with ids")
	}
	ex := &exporter{
		manager: sessionstore.NewManager(store, nil),
		record:  record,
		window:  sessionstore.Window{DropUnanswered: o.DropUnanswered},

		training: format == "finetune",
		array:    o.Array,

		w:      bufio.NewWriterSize(w, 64<<10),
		report: ExportReport{Left: map[string]int64{}},
	}
	if len(o.IDs) > 0 {
		err = ex.named(ctx, o.IDs)
	} else {
		err = ex.all(ctx, q)
	}
	if err == nil {
		err = ex.end()
	}
	if err != nil {
		err = fmt.Errorf("export to %s: %w", format, err)
	}
	return ex.report, err
}

func exportNative(ctx context.Context, store sessionstore.SessionStore, w io.Writer, o *ExportOptions) (ExportReport, error) {
	switch {
	case o.Array:
		return ExportReport{}, invalid("array", "is not possible in the native format")
	case o.DropUnanswered:
		return ExportReport{}, invalid("drop_unanswered", "is not possible in the native format")
	}
	r, err := sessionstore.Export(ctx, store, w, &sessionstore.ExportOptions{IDs: o.IDs, Query: o.Query})
	return ExportReport{Sessions: r.Sessions, Messages: r.Messages, Missing: r.Missing, Left: map[string]int64{}}, err
}

type exporter struct {
	manager *sessionstore.Manager
	record  target
	window  sessionstore.Window

	training bool // calls that end a conversation stay without results
	array    bool

	w      *bufio.Writer
	report ExportReport
}

func (ex *exporter) named(ctx context.Context, ids []string) error {
	done := make(map[string]struct{})
	for _, id := range ids {
		if _, ok := done[id]; ok {
			continue
		}
		done[id] = struct{}{}
		ok, err := ex.session(ctx, id)
		if err != nil {
			return err
		}
		if !ok {
			ex.report.Missing = append(ex.report.Missing, id)
		}
	}
	return nil
}

// maxWalks bounds how often the list is walked: a session that is written to moves to the
// head of the list, past the walk, so that it is walked until nothing new is found.
const maxWalks = 10

func (ex *exporter) all(ctx context.Context, q sessionstore.SessionQuery) error {
	q.Limit = sessionstore.MaxSessions
	done := make(map[string]struct{})
	for range maxWalks {
		found := false
		for s, err := range ex.manager.Sessions(ctx, q) {
			if err != nil {
				return err
			}
			if _, ok := done[s.ID]; ok {
				continue
			}
			done[s.ID] = struct{}{}
			found = true
			if _, err := ex.session(ctx, s.ID); err != nil {
				return err
			}
		}
		if !found {
			break
		}
	}
	return nil
}

// session writes one session and reports whether it exists.
func (ex *exporter) session(ctx context.Context, id string) (bool, error) {
	p, err := ex.manager.Prompt(ctx, id, &ex.window)
	if errors.Is(err, sessionstore.ErrSessionNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if ex.training {
		p = withLastCalls(p)
	}
	left := map[string]int64{}
	o, err := ex.record(p, func(kind string) { left[kind]++ })
	if e, ok := errors.AsType[*sessionstore.InvalidError](err); ok && e.Field == "prompt" { // wire.NothingToSend
		ex.report.Empty++
		return true, nil
	}
	if err != nil {
		return true, fmt.Errorf("session %q: %w", clip(id), err)
	}
	stored := countPairing(p, left)
	if err := ex.write(o); err != nil {
		return true, err
	}
	ex.report.Sessions++
	ex.report.Messages += stored
	for kind, n := range left {
		ex.report.Left[kind] += n
	}
	return true, nil
}

// countPairing counts what the pairing of calls and results added and left out. It returns
// the number of stored messages in p.
func countPairing(p sessionstore.Prompt, left map[string]int64) (stored int64) {
	for _, m := range p.Messages {
		if isMadeUp(m) {
			left["call without a result"]++
		} else {
			stored++
		}
	}
	if n := p.Session.MessageCount - stored; n > 0 {
		left["unpaired, repeated or empty message"] += n
	}
	return stored
}

// isMadeUp reports whether m stands for the result of a call that has none.
func isMadeUp(m sessionstore.Message) bool {
	return m.Role == sessionstore.RoleTool && m.ID == "" && m.Seq == 0
}

func (ex *exporter) write(o wire.Object) error {
	begin, end := "", "\n"
	if ex.array {
		if end = ""; ex.report.Sessions == 0 {
			begin = "["
		} else {
			begin = ",\n"
		}
	}
	_, _ = ex.w.WriteString(begin) // the writer keeps its first error
	_, _ = ex.w.Write(o.Raw())
	_, err := ex.w.WriteString(end)
	return err
}

func (ex *exporter) end() error {
	if ex.array {
		if ex.report.Sessions == 0 {
			_, _ = ex.w.WriteString("[")
		}
		_, _ = ex.w.WriteString("]\n")
	}
	return ex.w.Flush()
}
