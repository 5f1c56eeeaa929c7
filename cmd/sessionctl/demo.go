package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/sessionstore/sessionstore"
	"github.com/spf13/cobra"
)

func (a *app) demoCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "demo",
		Short: "Walk a conversation through its life and say what happens",
		Long: `Create a session, append a turn with a tool call, pause it, resume it, take a window of
its messages, close it, open the store again and read the history, on any store. The
session stays there; each run adds one.`,
		Args: arguments(false),
		RunE: func(cmd *cobra.Command, _ []string) error {
			d := &demo{app: a}
			err := d.run(cmd.Context())
			if d.store != nil {
				if cerr := d.store.Close(); err == nil {
					err = cerr
				}
			}
			return err
		},
	}
}

// demo is one run: the session it made, in the store as it is open now.
type demo struct {
	*app
	store sessionstore.SessionStore
	id    string
	steps int
}

func (d *demo) run(ctx context.Context) error {
	for _, step := range []func(context.Context) error{
		d.create, d.turn, d.pause, d.resume, d.window, d.chat, d.close, d.reopen, d.history,
	} {
		if err := step(ctx); err != nil {
			return fmt.Errorf("demo, step %d: %w", d.steps, err)
		}
	}
	return d.next()
}

// step announces a step; what follows tells about it.
func (d *demo) step(format string, args ...any) error {
	d.steps++
	if d.steps > 1 {
		if err := d.say(""); err != nil {
			return err
		}
	}
	return d.say("%d. %s", d.steps, fmt.Sprintf(format, args...))
}

func (d *demo) tell(format string, args ...any) error { return d.say("   "+format, args...) }

func (d *demo) create(ctx context.Context) (err error) {
	if err := d.step("Create a session in %s", sessionstore.RedactURL(d.storeURL())); err != nil {
		return err
	}
	if d.store, err = d.open(ctx, toCreate); err != nil {
		return err
	}
	s, err := d.store.CreateSession(ctx, sessionstore.Session{
		UserID: "ada", AgentName: "support", System: "You help customers of a book shop. Be brief.",
		Metadata: sessionstore.Metadata{"made_by": "sessionctl demo"},
	})
	if err != nil {
		return err
	}
	d.id = s.ID
	return d.tell("session %s of user %s with agent %s is %s", s.ID, s.UserID, s.AgentName, s.Status)
}

// append stores a batch and shows what was added.
func (d *demo) append(ctx context.Context, msgs ...sessionstore.Message) error {
	stored, err := d.store.AppendMessages(ctx, d.id, sessionstore.Append{Messages: msgs})
	if err != nil {
		return err
	}
	t := d.table("   SEQ", "ROLE", "CONTENT")
	for _, m := range stored {
		t.row("   "+strconv.FormatInt(m.Seq, 10), string(m.Role), gist(m.Content, m.ToolCallID, m.ToolCalls))
	}
	return t.flush()
}

func (d *demo) turn(ctx context.Context) error {
	if err := d.step("Append a turn with a tool call: four messages, all or none"); err != nil {
		return err
	}
	return d.append(ctx,
		sessionstore.UserMessage("Where is my order 1042?"),
		sessionstore.AssistantMessage("", sessionstore.ToolCall{ID: "call_1", Name: "track_order", Arguments: `{"order":1042}`}),
		sessionstore.ToolMessage("call_1", `{"status":"shipped","arrives":"Tuesday"}`),
		sessionstore.AssistantMessage("It is on its way and arrives on Tuesday. 📦"),
	)
}

func (d *demo) setStatus(ctx context.Context, to sessionstore.Status) error {
	s, err := d.store.UpdateSession(ctx, d.id, sessionstore.SessionUpdate{Status: &to})
	if err != nil {
		return err
	}
	return d.tell("the session is %s, version %d", s.Status, s.Version)
}

// refused appends a message that the store must not take.
func (d *demo) refused(ctx context.Context, want error) error {
	_, err := d.store.AppendMessages(ctx, d.id, sessionstore.Append{
		Messages: []sessionstore.Message{sessionstore.UserMessage("Are you there?")},
	})
	switch {
	case err == nil:
		return errors.New("a message was taken that should have been refused")
	case !errors.Is(err, want):
		return err
	}
	return d.tell("a message is refused: %v", err)
}

func (d *demo) pause(ctx context.Context) error {
	if err := d.step("Pause it: messages are refused until it is resumed"); err != nil {
		return err
	}
	if err := d.setStatus(ctx, sessionstore.StatusPaused); err != nil {
		return err
	}
	return d.refused(ctx, sessionstore.ErrSessionPaused)
}

func (d *demo) resume(ctx context.Context) error {
	if err := d.step("Resume it and append another turn"); err != nil {
		return err
	}
	if err := d.setStatus(ctx, sessionstore.StatusActive); err != nil {
		return err
	}
	return d.append(ctx,
		sessionstore.UserMessage("Thank you!"),
		sessionstore.AssistantMessage("You are welcome."),
	)
}

func (d *demo) window(ctx context.Context) error {
	const last = 3
	if err := d.step("Take a window of at most %d messages: it begins with a user's, and no call is parted from its result", last); err != nil {
		return err
	}
	msgs, err := sessionstore.NewManager(d.store, nil).ChatMessages(ctx, d.id, &sessionstore.Window{Last: last})
	if err != nil {
		return err
	}
	t := d.table("   ROLE", "CONTENT")
	for _, m := range msgs {
		t.row("   "+string(m.Role), gist(m.Content, m.ToolCallID, m.ToolCalls))
	}
	return t.flush()
}

func (d *demo) chat(ctx context.Context) error {
	if err := d.step("Take all of it as chat messages, ready to be sent to a chat-completions API"); err != nil {
		return err
	}
	msgs, err := sessionstore.NewManager(d.store, nil).ChatMessages(ctx, d.id, nil)
	if err != nil {
		return err
	}
	for _, m := range msgs {
		b, err := m.AppendJSON(nil)
		if err != nil {
			return err
		}
		if err := d.tell("%s", b); err != nil {
			return err
		}
	}
	return nil
}

func (d *demo) close(ctx context.Context) error {
	if err := d.step("Close the session: for good"); err != nil {
		return err
	}
	if err := d.setStatus(ctx, sessionstore.StatusClosed); err != nil {
		return err
	}
	return d.refused(ctx, sessionstore.ErrSessionClosed)
}

// outlives reports whether a store keeps its data when it is closed.
func outlives(rawURL string) bool { return scheme(rawURL) != "memory" }

func (d *demo) reopen(ctx context.Context) error {
	if !outlives(d.storeURL()) {
		return d.step("Reopen the store: not this one, which ends with its process")
	}
	if err := d.step("Close the store and open it again"); err != nil {
		return err
	}
	store := d.store
	d.store = nil
	if err := store.Close(); err != nil {
		return err
	}
	store, err := d.open(ctx, toRead)
	if err != nil {
		return err
	}
	d.store = store
	s, err := d.store.GetSession(ctx, d.id)
	if err != nil {
		return err
	}
	return d.tell("the session is still there, and still %s", s.Status)
}

func (d *demo) history(ctx context.Context) error {
	if err := d.step("Read the history"); err != nil {
		return err
	}
	t := d.table("   SEQ", "ROLE", "CREATED", "CONTENT")
	count := 0
	for page, err := range history(ctx, d.store, d.id, 0) {
		if err != nil {
			return err
		}
		for _, m := range page.Messages {
			count++
			t.row("   "+strconv.FormatInt(m.Seq, 10), string(m.Role), when(m.CreatedAt), gist(m.Content, m.ToolCallID, m.ToolCalls))
		}
	}
	if count != 6 {
		return fmt.Errorf("the history has %d messages, not the 6 that were appended", count)
	}
	return t.flush()
}

// next says where the data lies and what to try.
func (d *demo) next() error {
	if !outlives(d.storeURL()) {
		return d.lines("", "Done. Nothing is left of it; without --store memory: the session stays in "+defaultStore+".")
	}
	ctl := "  sessionctl " + d.storeOption()
	return d.lines(
		"",
		"Done. The session is in "+sessionstore.RedactURL(d.storeURL())+". Try:",
		ctl+"ls --user ada",
		ctl+"show "+d.id,
		ctl+"chat-messages --json "+d.id,
		ctl+"export",
		"(in a clone of the repository, sessionctl is: go run ./cmd/sessionctl)",
	)
}

// storeOption is the --store that the user gave, unless it may hold a password. The query
// of a bolt URL that could be opened holds none.
func (d *demo) storeOption() string {
	url := d.storeFlag
	if isBolt(url) {
		url, _, _ = strings.Cut(url, "?")
	}
	switch {
	case d.storeFlag == "":
		return ""
	case sessionstore.RedactURL(url) != url:
		return "--store … "
	}
	return "--store '" + strings.ReplaceAll(d.storeFlag, "'", `'\''`) + "' "
}

func (d *demo) lines(lines ...string) error {
	for _, line := range lines {
		if err := d.say("%s", line); err != nil {
			return err
		}
	}
	return nil
}
