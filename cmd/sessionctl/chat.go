package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/agent"
	"github.com/spf13/cobra"
)

// shownOnReturn is how many messages a chat on a terminal shows of the session that it
// goes on with.
const shownOnReturn = 6

func (a *app) chatCmd() *cobra.Command {
	c := &chat{app: a}
	var id, user, system optional[string]
	cmd := &cobra.Command{
		Use:   "chat [flags]",
		Short: "Talk to a model, and keep the conversation",
		Long: `Send each line of standard input to an agent and print its answer as it comes. Both are
kept in the session, together, once the answer is complete; the whole history goes out
with each line, or its newest --last messages.

On a terminal Ctrl-D ends the conversation, and so does Ctrl-C: of an answer that it
interrupts, the text so far is kept. The next chat with the same --session goes on from
there. A --session that is missing is made with that id; without --session a new one is
made with the first line, and standard error says its id.

Agents:
  echo       answers with what it is sent, offline; the default
  openai     OpenAI's Chat Completions API, or with --base-url any server that speaks it,
             such as http://localhost:11434/v1/; the key is OPENAI_API_KEY
  anthropic  Anthropic's Messages API; the key is ANTHROPIC_API_KEY

A bolt store is open only while something is read or written, not while the chat waits
for its user or the model.`,
		Example: `  sessionctl chat --session notes
  echo "Where is my order?" | sessionctl chat --session ID --agent openai --model NAME`,
		Args: arguments(false),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c.session = sessionstore.Session{ID: id.or(""), UserID: user.or(""), System: system.or(""), AgentName: c.model.kind}
			if _, err := c.session.Prepare(); err != nil {
				return &usageError{err}
			}
			var err error
			if c.agent, err = c.model.agent(); err != nil {
				return err
			}
			return a.withBrief(cmd.Context(), func(store sessionstore.SessionStore) error {
				c.store = store
				return c.run(cmd.Context())
			})
		},
	}
	f := cmd.Flags()
	id.flag(f, "session", "`ID` of the session to go on with, or to make", validID)
	user.flag(f, "user", "`ID` of the user who owns a new session", notEmpty)
	system.flag(f, "system", "instructions of a new session, a `TEXT`", anyText)
	c.model.flags(f)
	countFlag(f, &c.last, "last", "send only the newest `N` messages; 0: all, the default")
	return cmd
}

// chat is one run of the command.
type chat struct {
	*app
	session sessionstore.Session // as a new one is made
	model   modelFlags
	agent   agent.Agent
	last    int

	store sessionstore.SessionStore
	conv  *agent.Conversation // nil until the session is there
	made  bool                // the session is new
	kept  bool                // and has something in it
}

func (c *chat) run(ctx context.Context) error {
	if err := c.goOn(ctx); err != nil {
		return err
	}
	defer c.leave(ctx)
	in := bufio.NewReader(c.in)
	for {
		line, err := c.line(in)
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case c.interactive && ctx.Err() != nil:
			c.note("") // after the ^C; all that was said is stored
			return nil
		case err != nil:
			return fmt.Errorf("standard input: %w", err)
		case strings.TrimSpace(line) == "":
			continue
		case !utf8.ValidString(line):
			return errors.New("standard input: a line is not valid UTF-8")
		}
		err = c.turn(ctx, line)
		c.settle(ctx, err)
		if err == nil {
			continue
		}
		if !c.interactive || ctx.Err() != nil || c.over(err) {
			return err
		}
		c.note("sessionctl: " + redacted(err.Error(), nil))
	}
}

// goOn opens the session if it is there, and shows where it stands to who is at a terminal.
func (c *chat) goOn(ctx context.Context) error {
	if c.session.ID == "" {
		return nil
	}
	s, err := c.store.GetSession(ctx, c.session.ID)
	switch {
	case errors.Is(err, sessionstore.ErrSessionNotFound):
		return nil // the first line makes it
	case err != nil:
		return err
	case c.session.UserID != "" && c.session.UserID != s.UserID:
		return usagef("session %s belongs to another user; --user is for a new one", s.ID)
	case c.session.System != "" && c.session.System != s.System:
		return usagef("session %s has other instructions; --system is for a new one, update changes them", s.ID)
	case s.Status == sessionstore.StatusPaused:
		return fmt.Errorf("session %s: %w; resume lets it go on", s.ID, sessionstore.ErrSessionPaused)
	case s.Status == sessionstore.StatusClosed:
		return fmt.Errorf("session %s: %w", s.ID, sessionstore.ErrSessionClosed)
	}
	c.conv = agent.New(c.manager(), s.ID, c.agent, c.options()...)
	if !c.interactive {
		return nil
	}
	c.note(fmt.Sprintf("session %s: %s", s.ID, count(s.MessageCount, "message")))
	if s.MessageCount == 0 {
		return nil
	}
	if s.MessageCount > shownOnReturn {
		c.note("…")
	}
	messages, err := c.conv.History(ctx, shownOnReturn)
	if err != nil {
		return err
	}
	for _, m := range messages {
		c.note(fmt.Sprintf("%s: %s", m.Role, gist(m.Content, m.ToolCallID, m.ToolCalls)))
	}
	return nil
}

// line reads a line, after a prompt if somebody is there to see it.
func (c *chat) line(in *bufio.Reader) (string, error) {
	if c.interactive {
		if err := c.print("> "); err != nil {
			return "", err
		}
	}
	var line strings.Builder
	for {
		part, err := in.ReadSlice('\n')
		line.Write(part)
		switch {
		case line.Len() > sessionstore.MaxAppendBytes:
			return "", &sessionstore.LimitError{What: "bytes of a line", Limit: sessionstore.MaxAppendBytes, Got: int64(line.Len())}
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF) && line.Len() > 0:
			err = nil
		case errors.Is(err, io.EOF) && c.interactive:
			c.note("")
		}
		return strings.TrimRight(line.String(), "\r\n"), err
	}
}

// turn sends a line and prints the answer.
func (c *chat) turn(ctx context.Context, line string) error {
	if err := c.start(ctx); err != nil {
		return err
	}
	begun := false // does the cursor stand in an answer
	end := func() {
		if begun {
			_ = c.print("\n") // if nobody reads any more, the error says so
		}
	}
	for e, err := range c.conv.Stream(ctx, sessionstore.UserMessage(line)) {
		if err != nil {
			end()
			return err
		}
		switch e := e.(type) {
		case agent.TextDelta:
			if e.Text == "" {
				continue
			}
			begun = true
			if err := c.print(lines(e.Text)); err != nil {
				return err
			}
		case agent.Restart:
			end()
			begun = false
			c.note("(the session has changed meanwhile; asked again)")
		case agent.Finish:
			end()
			c.remark(e.Response)
		}
	}
	return nil
}

// remark says what the text of an answer does not.
func (c *chat) remark(r agent.Response) {
	switch {
	case r.FinishReason == agent.FinishLength:
		c.note("(the answer was cut at the greatest number of tokens)")
	case len(r.ToolCalls) > 0:
		c.note("(the model called " + r.ToolCalls[0].Name + "; this chat has no tools)")
	case r.FinishReason == agent.FinishFiltered:
		c.note("(the provider withheld the rest)")
	case r.FinishReason == agent.FinishRefusal && r.Text == "":
		c.note("(the model declined" + refusal(r.Message) + ")")
	case r.Text == "":
		c.note("(the answer has no text)")
	}
}

// refusal is what the model gave as its reason, where that is no text of its answer.
func refusal(m sessionstore.Message) string {
	var why string
	if json.Unmarshal(m.Extra["refusal"], &why) != nil || why == "" {
		return ""
	}
	return ": " + why
}

// start makes the session if it is not there.
func (c *chat) start(ctx context.Context) (err error) {
	if c.conv != nil {
		return nil
	}
	conv, err := agent.Start(ctx, c.manager(), c.session, c.agent, c.options()...)
	if errors.Is(err, sessionstore.ErrSessionExists) && c.session.ID != "" {
		// Somebody else has made it meanwhile.
		if err := c.goOn(ctx); err != nil || c.conv != nil {
			return err
		}
	}
	if err == nil {
		c.conv, c.made = conv, true
	}
	return err
}

// settle says the id of a session that was made for this turn, if that left something in it.
func (c *chat) settle(ctx context.Context, turn error) {
	if !c.made || c.kept {
		return
	}
	if turn != nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), agent.DefaultStoreTimeout)
		defer cancel()
		if s, err := c.conv.Session(ctx); err == nil && s.LastSeq == 0 {
			return
		}
	}
	c.kept = true
	if c.session.ID == "" || c.interactive {
		c.note("session " + c.conv.SessionID())
	}
}

// leave removes a session that was made for turns which left nothing in it. One that was
// given its id by the user may be in use elsewhere, and stays.
func (c *chat) leave(ctx context.Context) {
	if !c.made || c.kept || c.session.ID != "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), agent.DefaultStoreTimeout)
	defer cancel()
	if err := c.store.DeleteSession(ctx, c.conv.SessionID()); err != nil {
		c.note("sessionctl: an empty session stays: " + redacted(err.Error(), nil))
	}
}

func (c *chat) manager() *sessionstore.Manager { return sessionstore.NewManager(c.store, nil) }

func (c *chat) options() []agent.Option {
	options := c.model.options()
	if c.last > 0 {
		options = append(options, agent.WithWindow(&sessionstore.Window{Last: c.last}))
	}
	return options
}

// over reports whether no later line can do better.
func (c *chat) over(err error) bool {
	for _, end := range []error{sessionstore.ErrSessionNotFound, sessionstore.ErrSessionPaused, sessionstore.ErrSessionClosed} {
		if errors.Is(err, end) {
			return true
		}
	}
	return false
}

// print writes a piece of an answer at once.
func (c *chat) print(text string) error {
	if _, err := io.WriteString(c.out, text); err != nil {
		return err
	}
	return c.out.Flush()
}

// note tells the user something that is no part of an answer.
func (c *chat) note(text string) { fmt.Fprintln(c.err, oneLine(text)) }
