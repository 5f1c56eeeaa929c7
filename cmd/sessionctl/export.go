package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/formats"
	"github.com/spf13/cobra"
)

func (a *app) exportCmd() *cobra.Command {
	format := "native"
	var o formats.ExportOptions
	names := formats.ExportNames()
	cmd := &cobra.Command{
		Use:   "export [--format FORMAT] [flags] [ID...]",
		Short: "Write sessions in a format, by default one that import takes back exactly",
		Long: `Write all sessions with their messages to standard output, or those that the flags
choose, or those of the IDs.

The native format has one JSON object a line and loses nothing. The last line holds the
counts and a hash, so that an import notices a file that was cut off.

The other formats have one conversation a line, or with --array one JSON array of them, as
the API or program takes it that the format is of. What a format has no place for is left
out; standard error says of what kinds that was, and how many. A tool call without a
result gets one that says so, or is left out with --drop-unanswered.`,
		Args: func(_ *cobra.Command, ids []string) error {
			for _, id := range ids {
				if err := sessionstore.CheckID(id); err != nil {
					return &usageError{err}
				}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, ids []string) error {
			if _, err := o.Query.Prepare(); err != nil {
				return &usageError{err}
			}
			q := o.Query
			switch {
			case len(ids) > 0 && (q.UserID != "" || q.AgentName != "" || q.ParentID != "" || q.Statuses != nil):
				return usagef("export takes either IDs or --user, --agent, --parent and --status")
			case !slices.Contains(names, format):
				return usagef("unknown format %q: one of %s", format, strings.Join(names, ", "))
			case format == "native" && (o.Array || o.DropUnanswered):
				return usagef("the native format has neither --array nor --drop-unanswered")
			}
			o.IDs = ids
			return a.with(cmd.Context(), toRead, func(store sessionstore.SessionStore) error {
				report, err := formats.Export(cmd.Context(), store, format, a.out, &o)
				if line := leftOut(report); line != "" {
					fmt.Fprintf(a.err, "sessionctl: %s\n", oneLine("left out: "+line))
				}
				if err == nil && len(report.Missing) > 0 {
					err = fmt.Errorf("export of %q: %w; the rest is complete", report.Missing, sessionstore.ErrSessionNotFound)
				}
				return err
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&format, "format", format, "the `FORMAT` to write: "+strings.Join(names, ", "))
	f.BoolVar(&o.Array, "array", false, "write one JSON array")
	f.BoolVar(&o.DropUnanswered, "drop-unanswered", false, "leave out tool calls without a result")
	queryFlags(cmd, &o.Query)
	return cmd
}

// leftOut says what an export could not write.
func leftOut(r formats.ExportReport) string {
	var parts []string
	if r.Empty > 0 {
		parts = append(parts, count(r.Empty, "session")+" with nothing to say")
	}
	for _, kind := range slices.Sorted(maps.Keys(r.Left)) {
		parts = append(parts, fmt.Sprintf("%s: %d", kind, r.Left[kind]))
	}
	return strings.Join(parts, ", ")
}
