package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/sessionstore/sessionstore"
)

// appender is what has a canonical JSON form of its own. json.Marshal would escape
// "<", ">" and "&" in it.
type appender interface {
	AppendJSON(dst []byte) ([]byte, error)
}

// jsonLine prints v as one line.
func (a *app) jsonLine(v appender) error {
	b, err := v.AppendJSON(nil)
	if err != nil {
		return err
	}
	_, err = a.out.Write(append(b, '\n'))
	return err
}

// jsonValue prints a value of this command's own as one line.
func (a *app) jsonValue(v any) error {
	enc := json.NewEncoder(a.out)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// say prints a line for people.
func (a *app) say(format string, args ...any) error {
	_, err := fmt.Fprintln(a.out, oneLine(fmt.Sprintf(format, args...)))
	return err
}

// session prints the result of a command that changed one.
func (a *app) session(s sessionstore.Session, format string, args ...any) error {
	if a.json {
		return a.jsonLine(s)
	}
	return a.say(format, args...)
}

// count is a number of things in words.
func count[N int | int64](n N, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func when(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05Z") }

// gist is a message's content in one line: its text, what is not text by type, and its
// tool calls.
func gist(c sessionstore.Content, callID string, calls []sessionstore.ToolCall) string {
	var parts []string
	if callID != "" {
		parts = append(parts, "["+callID+"]")
	}
	if c.IsText() {
		parts = append(parts, c.String())
	} else {
		for _, p := range c.All() {
			parts = append(parts, partText(p))
		}
	}
	for _, call := range calls {
		parts = append(parts, callText(call))
	}
	return strings.Join(parts, " ")
}

func partText(p sessionstore.Part) string {
	switch {
	case p.Type() == "text":
		return p.Text()
	case strings.HasPrefix(p.ImageURL(), "data:"):
		return fmt.Sprintf("(image of %d bytes)", len(p.Raw()))
	case p.ImageURL() != "":
		return "(image " + p.ImageURL() + ")"
	}
	return "(" + p.Type() + ")"
}

func callText(call sessionstore.ToolCall) string {
	return fmt.Sprintf("%s(%s) [%s]", call.Name, call.Arguments, call.ID)
}

// indent writes text of several lines, set off by two spaces.
func indent(w io.Writer, text string) error {
	for line := range strings.SplitSeq(strings.TrimRight(lines(text), "\n"), "\n") {
		if _, err := fmt.Fprintf(w, "  %s\n", line); err != nil {
			return err
		}
	}
	return nil
}
