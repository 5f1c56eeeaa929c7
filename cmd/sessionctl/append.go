package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/sessionstore/sessionstore"
	"github.com/spf13/cobra"
)

// maxInput bounds what append reads: a full batch, were every character of it written
// as an escape.
const maxInput = 8 * sessionstore.MaxAppendBytes

func (a *app) appendCmd() *cobra.Command {
	var role, messageID, callID optional[string]
	var ifLast optional[int64]
	cmd := &cobra.Command{
		Use:   "append [flags] ID TEXT|-",
		Short: "Append a message, or a batch of messages as JSON from standard input",
		Long: `Append one message of the given text, or with - the messages on standard input: all of
them or none, as a JSON array, or as JSON objects one after the other. They have the
keys of a chat API: role, content, name, tool_call_id, tool_calls; and message_id,
agent_name, created_at and metadata. A batch whose messages all have a message_id may
be appended again: what is there already is not added twice.`,
		Example: `  sessionctl append ID "Where is my order?"
  echo '{"role":"assistant","content":null,"tool_calls":[{"id":"call_1","type":"function",
    "function":{"name":"track","arguments":"{\"order\":7}"}}]}' | sessionctl append ID -
  sessionctl append --role tool --call-id call_1 ID '{"status":"shipped"}'`,
		Args: arguments(false, "ID", "TEXT"),
		RunE: func(cmd *cobra.Command, args []string) error {
			batch := sessionstore.Append{IfLastSeq: ifLast.value}
			if args[1] == "-" {
				if role.given() || messageID.given() || callID.given() {
					return usagef("--role, --id and --call-id are for a message on the command line")
				}
				msgs, err := readMessages(a.in)
				if err != nil {
					return fmt.Errorf("standard input: %w", err)
				}
				batch.Messages = msgs
			} else {
				batch.Messages = []sessionstore.Message{{
					ID: messageID.or(""), Role: sessionstore.Role(role.or("user")),
					ToolCallID: callID.or(""), Content: sessionstore.Text(args[1]),
				}}
			}
			// Judged before the store is opened.
			if _, err := batch.Prepare(args[0]); err != nil {
				if args[1] != "-" {
					return &usageError{err}
				}
				return fmt.Errorf("standard input: %w", fromOne(err))
			}
			return a.with(cmd.Context(), toChange, func(store sessionstore.SessionStore) error {
				stored, err := store.AppendMessages(cmd.Context(), args[0], batch)
				if err != nil {
					return err
				}
				return a.appended(stored)
			})
		},
	}
	f := cmd.Flags()
	role.flag(f, "role", "who speaks, a `ROLE`: system, developer, user (the default), assistant or tool", func(s string) (string, error) {
		if !sessionstore.Role(s).Valid() {
			return "", errors.New("not one of system, developer, user, assistant and tool")
		}
		return s, nil
	})
	messageID.flag(f, "id", "the message's `ID` (default: a new UUID)", validID)
	callID.flag(f, "call-id", "`ID` of the tool call that the message answers", notEmpty)
	ifLast.flag(f, "if-last-seq", "only if the session's last `SEQ` is this", seqNumber)
	a.jsonFlag(cmd, "one message a line, as stored")
	return cmd
}

func validID(s string) (string, error) { return s, sessionstore.CheckID(s) }

func (a *app) appended(stored []sessionstore.Message) error {
	if a.json {
		for _, m := range stored {
			if err := a.jsonLine(m); err != nil {
				return err
			}
		}
		return nil
	}
	t := a.table("SEQ", "ROLE", "ID")
	for _, m := range stored {
		t.row(strconv.FormatInt(m.Seq, 10), string(m.Role), m.ID)
	}
	return t.flush()
}

// readMessages reads a JSON array of messages, or messages one after the other. It
// reads all of them before anything is stored.
func readMessages(r io.Reader) ([]sessionstore.Message, error) {
	b, err := io.ReadAll(io.LimitReader(r, maxInput+1))
	if err != nil {
		return nil, err
	}
	if len(b) > maxInput {
		return nil, &sessionstore.LimitError{What: "bytes of input", Limit: maxInput, Got: int64(len(b))}
	}
	raws, err := values(b)
	if err != nil {
		return nil, err
	}
	msgs := make([]sessionstore.Message, len(raws))
	for i, raw := range raws {
		if msgs[i], err = sessionstore.DecodeMessage(raw); err != nil {
			return nil, fmt.Errorf("message %d: %w", i+1, err)
		}
	}
	return msgs, nil
}

// fromOne counts the message that an error of the library is about from 1, as the errors
// of readMessages do: the library gives its index.
func fromOne(err error) error {
	var index int
	inner := errors.Unwrap(err)
	if _, no := fmt.Sscanf(err.Error(), "message %d of the batch:", &index); no != nil || inner == nil {
		return err
	}
	return fmt.Errorf("message %d: %w", index+1, inner)
}

// values splits JSON text into the elements of the array that it is, or into the values
// that follow each other.
func values(b []byte) ([]json.RawMessage, error) {
	b = bytes.TrimSpace(bytes.TrimPrefix(b, []byte("\ufeff")))
	var out []json.RawMessage
	if bytes.HasPrefix(b, []byte("[")) {
		return out, jsonError(json.Unmarshal(b, &out))
	}
	dec := json.NewDecoder(bytes.NewReader(b))
	for {
		var raw json.RawMessage
		switch err := dec.Decode(&raw); {
		case errors.Is(err, io.EOF):
			return out, nil
		case err != nil:
			return nil, jsonError(fmt.Errorf("after message %d: %w", len(out), err))
		}
		out = append(out, raw)
	}
}

// jsonError words the decoder's errors for people.
func jsonError(err error) error {
	var syntax *json.SyntaxError
	switch {
	case err == nil:
		return nil
	case errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("the JSON is cut off: %w", err)
	case errors.As(err, &syntax):
		return fmt.Errorf("no JSON at byte %d: %w", syntax.Offset, err)
	}
	return err
}

func jsonText(s string) bool { return json.Valid([]byte(s)) }
