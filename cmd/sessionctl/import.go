package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/formats"
	"github.com/spf13/cobra"
)

// importMemory is what the garbage collector aims at during an import, whatever the file's
// size. It is what records of some kilobytes need; large ones go above it: two messages of
// 8 MiB in one page of a bolt database were measured at 48 MiB, with what is mapped of the
// database and the program.
const importMemory = 24 << 20

// frugal is a store that collects the garbage of each step of the restore of a session
// with large messages. The collector runs beside the import, and comes too late where a
// few messages of 8 MiB are all that it may hold.
type frugal struct{ sessionstore.SessionStore }

// largeMessage is the size of a text from which on frugal collects: a collection takes a
// millisecond, about as long as such a text takes to write.
const largeMessage = 1 << 20

// RestoreSession makes frugal a [sessionstore.Restorer].
func (f frugal) RestoreSession(ctx context.Context, s sessionstore.Session, messages iter.Seq2[sessionstore.Message, error]) (sessionstore.Session, error) {
	last, some := false, false // was the last message large, was one of them
	defer func() {
		if some {
			runtime.GC()
		}
	}()
	return sessionstore.RestoreSession(ctx, f.SessionStore, s, func(yield func(sessionstore.Message, error) bool) {
		for m, err := range messages {
			large := m.Content.IsText() && len(m.Content.String()) > largeMessage
			if last || large {
				runtime.GC()
			}
			last, some = large, some || large
			if !yield(m, err) {
				return
			}
		}
		if last {
			runtime.GC()
		}
	})
}

func (a *app) importCmd() *cobra.Command {
	var format string
	var o formats.Options
	names := formats.Names()
	cmd := &cobra.Command{
		Use:   "import [flags] FILE|-",
		Short: "Add the conversations of a file to the store",
		Long: `Add the conversations of a FILE, or with - of standard input, to the store. Each is
added whole or not at all. A second import of the same file adds nothing. Records that
cannot be read are reported on standard error, by line or index, and the others
imported; the exit status is then 1.

The format is found out from the beginning of the file, and named on standard error;
where that could be one of several, --format has to say which. The formats are

  anthropic  requests and answers of the Messages API
  chatgpt    ChatGPT's data export: the zip archive, or conversations*.json of it
  claudeai   Claude.ai's data export: the zip archive, or conversations.json of it
  langchain  message dictionaries, and rows of its Redis, Mongo and SQL histories
  native     what sessionctl export writes
  openai     chat completions: lists of messages, fine-tuning and preference data
  python     the dictionaries of the original Python models
  responses  items of the Responses API
  sharegpt   ShareGPT
  vercel     UIMessages of the AI SDK, version 4 and up

Of chatgpt and claudeai, the branch of a conversation that was open is imported, and the
others with --branches, as forks of it.

In a python file, where a conversation lies in many records, one that cannot be read may
have been a message of any of them, which is then imported without it. Mend the line and
import the file again: the conversation is replaced by the complete one if it is still
as it was imported, and otherwise reported and left alone. The same holds for a
conversation of a data export that has gone on since an earlier one was imported.

Sessions whose time to live has run out are left out; standard error says how many.`,
		Args: arguments(false, "FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if format != formats.Auto && !slices.Contains(names, format) {
				return usagef("unknown format %q: %s, or one of %s", format, formats.Auto, strings.Join(names, ", "))
			}
			in, size, err := a.input(args[0])
			if err != nil {
				return err
			}
			defer func() { _ = in.Close() }() // only read
			unmapProgram()
			if os.Getenv("GOMEMLIMIT") == "" {
				// Records of 16 MiB make garbage faster than it is collected by itself.
				defer debug.SetMemoryLimit(debug.SetMemoryLimit(importMemory))
			}
			bar := newProgress(a.err, size)
			o.OnProgress = bar.at
			o.OnFormat = func(format string) {
				bar.clear()
				fmt.Fprintf(a.err, "sessionctl: %s\n", oneLine(fmt.Sprintf("%s: the format is %s", args[0], format)))
			}
			o.OnError = func(e formats.RecordError) {
				bar.clear()
				fmt.Fprintf(a.err, "sessionctl: %s\n", oneLine(args[0]+": "+e.Error()))
			}
			return a.with(cmd.Context(), toCreate, func(store sessionstore.SessionStore) error {
				report, err := formats.Import(cmd.Context(), frugal{store}, format, in, &o)
				bar.clear()
				// What was imported stays, also where the import could not go on.
				if perr := a.imported(report); err == nil {
					err = perr
				}
				if report.Expired > 0 {
					fmt.Fprintf(a.err, "sessionctl: %s\n", oneLine(fmt.Sprintf("%s: %s had expired and stayed out",
						args[0], count(report.Expired, "session"))))
				}
				if report.Branches > 0 {
					fmt.Fprintf(a.err, "sessionctl: %s\n", oneLine(fmt.Sprintf("%s: %s stayed out; --branches imports them as forks",
						args[0], count(report.Branches, "alternative"))))
				}
				if err == nil && report.Failed > 0 {
					err = fmt.Errorf("import: %s could not be imported", count(report.Failed, "record"))
				}
				return err
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&format, "format", formats.Auto, "the file's `FORMAT`: "+strings.Join(names, ", ")+"; auto finds it out")
	f.BoolVar(&o.Branches, "branches", false, "import also the branches of a conversation that were not open (chatgpt, claudeai)")
	nameFlag(f, &o.UserID, "user", "`ID` of the user who owns sessions whose record names none")
	nameFlag(f, &o.AgentName, "agent", "`NAME` of the agent of sessions whose record names none")
	a.jsonFlag(cmd, "the counts")
	return cmd
}

// input opens a file, or standard input for "-". The size is 0 where it is not known.
func (a *app) input(name string) (io.ReadCloser, int64, error) {
	if name == "-" {
		return io.NopCloser(a.in), 0, nil
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	switch {
	case err != nil:
	case info.IsDir():
		err = fmt.Errorf("%s is a directory", name)
	case info.Mode().IsRegular():
		return f, info.Size(), nil
	default:
		return f, 0, nil
	}
	return nil, 0, errors.Join(err, f.Close())
}

func (a *app) imported(r formats.Report) error {
	if a.json {
		return a.jsonValue(struct {
			Sessions int64 `json:"sessions"`
			Messages int64 `json:"messages"`
			Skipped  int64 `json:"skipped"`
			Expired  int64 `json:"expired"`
			Branches int64 `json:"branches"`
			Failed   int64 `json:"failed"`
		}{r.Sessions, r.Messages, r.Skipped, r.Expired, r.Branches, r.Failed})
	}
	return a.say("imported %d sessions, %d messages, %d skipped", r.Sessions, r.Messages, r.Skipped)
}
