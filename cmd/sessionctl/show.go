package main

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/sessionstore/sessionstore"
	"github.com/spf13/cobra"
)

func (a *app) showCmd() *cobra.Command {
	var last int
	var full bool
	cmd := &cobra.Command{
		Use:   "show [flags] ID",
		Short: "Show a session and its messages",
		Args:  arguments(false, "ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.with(cmd.Context(), toRead, func(store sessionstore.SessionStore) error {
				return a.show(cmd.Context(), store, args[0], last, full)
			})
		},
	}
	countFlag(cmd.Flags(), &last, "last", "only the newest `N` messages; 0: all, the default")
	cmd.Flags().BoolVar(&full, "full", false, "print whole texts, not one line for each message")
	a.jsonFlag(cmd, "the session, then one message a line")
	return cmd
}

func (a *app) show(ctx context.Context, store sessionstore.SessionStore, id string, last int, full bool) error {
	first := true
	t := &table{w: a.out, width: a.width}
	for page, err := range history(ctx, store, id, last) {
		if err != nil {
			return err
		}
		if first {
			if err := a.head(page.Session); err != nil {
				return err
			}
			if !a.json && len(page.Messages) > 0 {
				if err := a.say(""); err != nil {
					return err
				}
				if !full {
					t.row("SEQ", "ROLE", "CREATED", "CONTENT")
				}
			}
		}
		first = false
		for _, m := range page.Messages {
			switch {
			case a.json:
				err = a.jsonLine(m)
			case full:
				err = a.whole(m)
			default:
				t.row(strconv.FormatInt(m.Seq, 10), string(m.Role), when(m.CreatedAt), gist(m.Content, m.ToolCallID, m.ToolCalls))
			}
			if err != nil {
				return err
			}
		}
		if err := t.flush(); err != nil {
			return err
		}
	}
	return nil
}

// history yields the newest last messages of a session in pages, the oldest first; 0 is
// all of them, as many as there were at the first page. There is at least one page.
func history(ctx context.Context, store sessionstore.SessionStore, id string, last int) iter.Seq2[sessionstore.MessagePage, error] {
	if last > 0 {
		return newest(ctx, store, id, last)
	}
	return func(yield func(sessionstore.MessagePage, error) bool) {
		var q sessionstore.MessageQuery
		for {
			page, err := store.ListMessages(ctx, id, q)
			if !yield(page, err) || err != nil || !page.HasMore {
				return
			}
			if q.BeforeSeq == 0 {
				q.BeforeSeq = page.Session.LastSeq + 1
			}
			q.AfterSeq = page.Messages[len(page.Messages)-1].Seq
		}
	}
}

// newest reads backwards, so that it costs what it yields, and yields forwards.
func newest(ctx context.Context, store sessionstore.SessionStore, id string, last int) iter.Seq2[sessionstore.MessagePage, error] {
	return func(yield func(sessionstore.MessagePage, error) bool) {
		var pages []sessionstore.MessagePage
		for q := (sessionstore.MessageQuery{Newest: true}); ; {
			q.Limit = min(last, sessionstore.MaxMessages)
			page, err := store.ListMessages(ctx, id, q)
			if err != nil {
				yield(sessionstore.MessagePage{}, err)
				return
			}
			pages = append(pages, page)
			last -= len(page.Messages)
			if !page.HasMore || last == 0 {
				break
			}
			q.BeforeSeq = page.Messages[0].Seq
		}
		for _, page := range slices.Backward(pages) {
			if !yield(page, nil) {
				return
			}
		}
	}
}

// whole prints a message with all its text.
func (a *app) whole(m sessionstore.Message) error {
	if err := a.say("#%d %s, %s", m.Seq, m.Role, when(m.CreatedAt)); err != nil {
		return err
	}
	var text []string
	if m.ToolCallID != "" {
		text = append(text, "result of ["+m.ToolCallID+"]")
	}
	if m.Content.IsText() {
		text = append(text, m.Content.String())
	}
	for _, p := range m.Content.All() {
		text = append(text, partText(p))
	}
	for _, call := range m.ToolCalls {
		text = append(text, callText(call))
	}
	return indent(a.out, strings.Join(text, "\n"))
}

// head prints the session itself.
func (a *app) head(s sessionstore.Session) error {
	if a.json {
		return a.jsonLine(s)
	}
	t := &table{w: a.out, width: a.width}
	add := func(key, value string) {
		if value != "" {
			t.row(key, value)
		}
	}
	add("session", s.ID)
	add("status", string(s.Status))
	add("user", s.UserID)
	add("agent", s.AgentName)
	add("system", s.System)
	if len(s.Metadata) > 0 {
		text, err := metadataText(s)
		if err != nil {
			return err
		}
		add("metadata", text)
	}
	if s.ParentID != "" {
		add("fork of", fmt.Sprintf("%s at %d", s.ParentID, s.ForkSeq))
	}
	add("created", when(s.CreatedAt))
	add("updated", when(s.UpdatedAt))
	if !s.ExpiresAt.IsZero() {
		add("expires", fmt.Sprintf("%s (after %s)", when(s.ExpiresAt), s.TTL))
	}
	add("version", strconv.FormatInt(s.Version, 10))
	add("messages", fmt.Sprintf("%d, last seq %d", s.MessageCount, s.LastSeq))
	return t.flush()
}

// metadataText is the metadata as the session's JSON has it.
func metadataText(s sessionstore.Session) (string, error) {
	b, err := s.AppendJSON(nil)
	if err != nil {
		return "", err
	}
	var keys struct {
		Metadata json.RawMessage `json:"metadata"`
	}
	err = json.Unmarshal(b, &keys)
	return string(keys.Metadata), err
}
