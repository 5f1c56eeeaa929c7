package agent

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/sessionstore/sessionstore"
)

// Export writes the session and its messages to w, as they are at one moment, in the form
// that [Import] and [sessionstore.Import] restore exactly, in any backend.
func (c *Conversation) Export(ctx context.Context, w io.Writer) error {
	r, err := c.manager.Export(ctx, w, &sessionstore.ExportOptions{IDs: []string{c.id}})
	if err == nil && len(r.Missing) > 0 {
		err = sessionstore.ErrSessionNotFound
	}
	return c.wrap("export", err)
}

// Import restores the session that [Conversation.Export] wrote to r, under its id, and
// returns a handle on it. One that is there already and equal is left as it is. A file of
// several sessions is restored in whole, and the handle is on the first.
//
// Errors: those of [sessionstore.Import]; the first [sessionstore.RecordError], such as
// [sessionstore.ErrSessionExists] for a session that is there with other content;
// [sessionstore.ErrSessionNotFound] if the session has expired since, or there is none.
func Import(ctx context.Context, m *sessionstore.Manager, r io.Reader, a Agent, opts ...Option) (*Conversation, error) {
	c, err := importFirst(ctx, m, r, a, opts)
	if err != nil {
		return nil, fmt.Errorf("agent: import: %w", err)
	}
	return c, nil
}

func importFirst(ctx context.Context, m *sessionstore.Manager, r io.Reader, a Agent, opts []Option) (*Conversation, error) {
	id, r, err := firstID(r)
	if err != nil {
		return nil, err
	}
	var failed error
	_, err = m.Import(ctx, r, &sessionstore.ImportOptions{OnError: func(e sessionstore.RecordError) {
		if failed == nil {
			failed = e
		}
	}})
	if err == nil {
		err = failed
	}
	if err != nil {
		return nil, err
	}
	if id == "" {
		return nil, sessionstore.ErrSessionNotFound
	}
	if _, err := m.Get(ctx, id); err != nil {
		return nil, err
	}
	return New(m, id, a, opts...), nil
}

// firstID looks for the first session of an export, and returns a reader of the whole.
// What is wrong with the file is for the import to find.
func firstID(r io.Reader) (string, io.Reader, error) {
	const lookahead = 4 * sessionstore.MaxStateBytes // for the header and a session in its least favourable spelling
	var seen bytes.Buffer
	lines := bufio.NewScanner(io.TeeReader(io.LimitReader(r, 2*lookahead), &seen))
	lines.Buffer(nil, lookahead)
	id := ""
	for id == "" && lines.Scan() {
		var line struct {
			Session struct {
				ID string `json:"session_id"`
			} `json:"session"`
			End json.RawMessage `json:"end"`
		}
		if json.Unmarshal(lines.Bytes(), &line) != nil || line.End != nil {
			break
		}
		id = line.Session.ID
	}
	if err := lines.Err(); err != nil && !errors.Is(err, bufio.ErrTooLong) {
		return "", nil, err
	}
	return id, io.MultiReader(&seen, r), nil
}
