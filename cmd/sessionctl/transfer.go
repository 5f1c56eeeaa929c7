package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/formats"
	"github.com/spf13/cobra"
)

// importMemory is what the garbage collector aims at during an import, whatever the file's
// size. Records near the largest size go above it for a moment: one with messages of 3 MB
// was measured at 52 MB.
const importMemory = 40 << 20

func (a *app) importCmd() *cobra.Command {
	var format string
	var o formats.Options
	names := formats.Names()
	cmd := &cobra.Command{
		Use:   "import --format FORMAT FILE|-",
		Short: "Add the conversations of a file to the store",
		Long: `Add the conversations of a FILE, or with - of standard input, to the store. Each is
added whole or not at all. A second import of the same file adds nothing. Records that
cannot be read are reported on standard error, by line or index, and the others
imported; the exit status is then 1. In a python file, where a conversation lies in many
records, one that cannot be read may belong to any: nothing is then imported. Sessions
whose time to live has run out are left out; standard error says how many.`,
		Args: arguments(false, "FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case format == "":
				return usagef("import needs --format, one of %s", strings.Join(names, ", "))
			case !slices.Contains(names, format):
				return usagef("unknown format %q: one of %s", format, strings.Join(names, ", "))
			}
			in, size, err := a.input(args[0])
			if err != nil {
				return err
			}
			defer func() { _ = in.Close() }() // only read
			if os.Getenv("GOMEMLIMIT") == "" {
				// Records of 16 MiB make garbage faster than it is collected by itself.
				defer debug.SetMemoryLimit(debug.SetMemoryLimit(importMemory))
			}
			bar := newProgress(a.err, size)
			o.OnProgress = bar.at
			o.OnError = func(e formats.RecordError) {
				bar.clear()
				fmt.Fprintf(a.err, "sessionctl: %s\n", oneLine(args[0]+": "+e.Error()))
			}
			return a.with(cmd.Context(), toCreate, func(store sessionstore.SessionStore) error {
				report, err := formats.Import(cmd.Context(), store, format, in, &o)
				bar.clear()
				// What was imported stays, also where the import could not go on.
				if perr := a.imported(report); err == nil {
					err = perr
				}
				if report.Expired > 0 {
					fmt.Fprintf(a.err, "sessionctl: %s\n", oneLine(fmt.Sprintf("%s: %s had expired and stayed out",
						args[0], count(report.Expired, "session"))))
				}
				if err == nil && report.Failed > 0 {
					err = fmt.Errorf("import: %s could not be imported", count(report.Failed, "record"))
				}
				return err
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&format, "format", "", "the file's `FORMAT`: "+strings.Join(names, ", "))
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
			Failed   int64 `json:"failed"`
		}{r.Sessions, r.Messages, r.Skipped, r.Expired, r.Failed})
	}
	return a.say("imported %d sessions, %d messages, %d skipped", r.Sessions, r.Messages, r.Skipped)
}

func (a *app) exportCmd() *cobra.Command {
	var q sessionstore.SessionQuery
	cmd := &cobra.Command{
		Use:   "export [flags] [ID...]",
		Short: "Write sessions as JSON lines that import --format native takes back",
		Long: `Write all sessions with their messages to standard output, or those that the flags
choose, or those of the IDs: one JSON object a line. The last line holds the counts and
a hash, so that an import notices a file that was cut off.`,
		Args: func(_ *cobra.Command, ids []string) error {
			for _, id := range ids {
				if err := sessionstore.CheckID(id); err != nil {
					return &usageError{err}
				}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, ids []string) error {
			if _, err := q.Prepare(); err != nil {
				return &usageError{err}
			}
			if len(ids) > 0 && (q.UserID != "" || q.AgentName != "" || q.ParentID != "" || q.Statuses != nil) {
				return usagef("export takes either IDs or --user, --agent, --parent and --status")
			}
			return a.with(cmd.Context(), toRead, func(store sessionstore.SessionStore) error {
				report, err := sessionstore.Export(cmd.Context(), store, a.out, &sessionstore.ExportOptions{IDs: ids, Query: q})
				if err == nil && len(report.Missing) > 0 {
					err = fmt.Errorf("export of %q: %w; the rest is complete", report.Missing, sessionstore.ErrSessionNotFound)
				}
				return err
			})
		},
	}
	queryFlags(cmd, &q)
	return cmd
}
