package main

import (
	"github.com/sessionstore/sessionstore"
	"github.com/spf13/cobra"
)

func (a *app) rewindCmd() *cobra.Command {
	var ifLast optional[int64]
	cmd := &cobra.Command{
		Use:   "rewind [flags] ID SEQ",
		Short: "Remove the messages after SEQ",
		Args:  arguments(false, "ID", "SEQ"),
		RunE: func(cmd *cobra.Command, args []string) error {
			seq, err := seqNumber(args[1])
			if err != nil {
				return usagef("SEQ %q: %w", args[1], err)
			}
			return a.truncate(cmd, args[0], sessionstore.Truncate{ThroughSeq: seq, IfLastSeq: ifLast.value})
		},
	}
	ifLast.flag(cmd.Flags(), "if-last-seq", "only if the session's last `SEQ` is this", seqNumber)
	a.jsonFlag(cmd, "the session")
	return cmd
}

func (a *app) clearCmd() *cobra.Command {
	var ifLast optional[int64]
	cmd := &cobra.Command{
		Use:   "clear [flags] ID",
		Short: "Remove all messages of a session",
		Args:  arguments(false, "ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.truncate(cmd, args[0], sessionstore.Truncate{IfLastSeq: ifLast.value})
		},
	}
	ifLast.flag(cmd.Flags(), "if-last-seq", "only if the session's last `SEQ` is this", seqNumber)
	a.jsonFlag(cmd, "the session")
	return cmd
}

func (a *app) truncate(cmd *cobra.Command, id string, t sessionstore.Truncate) error {
	return a.with(cmd.Context(), toChange, func(store sessionstore.SessionStore) error {
		s, err := store.TruncateMessages(cmd.Context(), id, t)
		if err != nil {
			return err
		}
		return a.session(s, "%s has %s; the next seq is %d", s.ID, count(s.MessageCount, "message"), s.LastSeq+1)
	})
}

func (a *app) chatMessagesCmd() *cobra.Command {
	window := sessionstore.Window{Count: estimate}
	cmd := &cobra.Command{
		Use:   "chat-messages [flags] ID",
		Short: "Print the messages as a chat-completions API takes them",
		Long: `Print the list of messages to send to a chat-completions API: the session's instructions
first, every tool call with its result, and a result that is missing replaced by an
error. The stored history is not changed.`,
		Args: arguments(false, "ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.with(cmd.Context(), toRead, func(store sessionstore.SessionStore) error {
				msgs, err := sessionstore.NewManager(store, nil).ChatMessages(cmd.Context(), args[0], &window)
				if err != nil {
					return err
				}
				if a.json {
					return a.chatArray(msgs)
				}
				return a.chatTable(msgs)
			})
		},
	}
	f := cmd.Flags()
	countFlag(f, &window.Last, "last", "at most `N` messages besides the leading system ones; 0: all, the default")
	countFlag(f, &window.Tokens, "tokens", "at most about `N` tokens, taken as a quarter of the bytes; 0: any number, the default")
	f.BoolVar(&window.DropUnanswered, "drop-unanswered", false, "leave out tool calls without a result, instead of answering them with an error")
	a.jsonFlag(cmd, "the JSON array to send")
	return cmd
}

// chatArray prints the array in one line, byte for byte as the library writes it.
func (a *app) chatArray(msgs []sessionstore.ChatMessage) error {
	b := []byte{'['}
	for i, m := range msgs {
		if i > 0 {
			b = append(b, ',')
		}
		var err error
		if b, err = m.AppendJSON(b); err != nil {
			return err
		}
	}
	_, err := a.out.Write(append(b, "]\n"...))
	return err
}

func (a *app) chatTable(msgs []sessionstore.ChatMessage) error {
	t := a.table("ROLE", "CONTENT")
	for _, m := range msgs {
		t.row(string(m.Role), gist(m.Content, m.ToolCallID, m.ToolCalls))
	}
	return t.flush()
}

// estimate is a rough count of a message's tokens, for a model of which nothing is known.
func estimate(m sessionstore.Message) int {
	b, err := m.ChatMessage().AppendJSON(nil)
	if err != nil {
		return 0
	}
	return (len(b) + 3) / 4
}
