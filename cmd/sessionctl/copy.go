package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"runtime/debug"
	"strings"
	"time"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/bolt"
	"github.com/spf13/cobra"
)

// copyMemory is what the garbage collector aims at during a copy, whatever the sessions'
// size.
const copyMemory = 96 << 20

func (a *app) copyCmd() *cobra.Command {
	var from, to string
	var o sessionstore.CopyOptions
	cmd := &cobra.Command{
		Use:   "copy --from URL --to URL [flags] [ID...]",
		Short: "Copy sessions from one store to another, of any kind",
		Long: `Copy all sessions of a store to another, or those that the flags choose, or those of the
IDs: exactly, with their ids, numbers, times and versions. Each is written whole or not at
all, and read back and compared by a hash. The source may be in use.

Run it again to go on after an interruption, or to catch up with what the source has
stored since: a session that the target has already is not written again, and one that
the target has in an older state is brought up to date. A session that the target has with
other content is reported by its ID and left as it is, above all one that was continued
there; --replace overwrites it. What was deleted at the source stays at the target.
While it runs, nobody else should write to the target's sessions.

Sessions whose time to live has run out are left out; standard error says how many. The
exit status is 1 if a session differs or could not be copied.`,
		Example: `  sessionctl copy --from bolt:sessions.db --to postgres://app@db.example.com/app
  sessionctl copy --from bolt:a.db --to bolt:b.db --replace order-7`,
		Args: sessionIDs,
		RunE: func(cmd *cobra.Command, ids []string) error {
			if err := checkCopy(a.storeFlag, from, to, ids, o.Query); err != nil {
				return err
			}
			o.IDs = ids
			if os.Getenv("GOMEMLIMIT") == "" {
				// Pages of 32 MiB make garbage faster than it is collected by itself.
				defer debug.SetMemoryLimit(debug.SetMemoryLimit(copyMemory))
			}
			return withURL(cmd.Context(), from, toRead, func(source sessionstore.SessionStore) error {
				return withURL(cmd.Context(), to, toCreate, func(target sessionstore.SessionStore) error {
					return a.copy(cmd.Context(), target, source, o)
				})
			})
		},
	}
	f := cmd.Flags()
	nameFlag(f, &from, "from", "`URL` of the store to copy from")
	nameFlag(f, &to, "to", "`URL` of the store to copy to")
	queryFlags(cmd, &o.Query)
	f.BoolVar(&o.Replace, "replace", false, "overwrite sessions that the target has with other content")
	f.BoolVar(&o.Recheck, "recheck", false, "compare all messages of sessions that the target has already, not only their records")
	a.jsonFlag(cmd, "one session a line that differs or failed, then the counts")
	return cmd
}

// sessionIDs are the arguments of a command that takes any number of ids.
func sessionIDs(_ *cobra.Command, ids []string) error {
	for _, id := range ids {
		if err := sessionstore.CheckID(id); err != nil {
			return &usageError{err}
		}
	}
	return nil
}

// checkCopy judges the command line before a store is opened.
func checkCopy(store, from, to string, ids []string, q sessionstore.SessionQuery) error {
	switch {
	case store != "":
		return usagef("copy takes --from and --to, not --store")
	case from == "" || to == "":
		return usagef("copy needs --from and --to")
	case isBolt(from) && isBolt(to) && sameFile(from, to):
		return usagef("copy: --from and --to are the same file, %s, which can be open only once", sessionstore.RedactURL(to))
	case sameStore(from, to):
		return usagef("copy: --from and --to are the same store, %s", sessionstore.RedactURL(to))
	case len(ids) > 0 && (q.UserID != "" || q.AgentName != "" || q.ParentID != "" || q.Statuses != nil):
		return usagef("copy takes either IDs or --user, --agent, --parent and --status")
	}
	if _, err := q.Prepare(); err != nil {
		return &usageError{err}
	}
	return nil
}

// sameFile reports whether two bolt URLs name the same file.
func sameFile(urlA, urlB string) bool {
	a, _, errA := bolt.ParseURL(urlA)
	b, _, errB := bolt.ParseURL(urlB)
	if errA != nil || errB != nil {
		return false // Open says what is wrong
	}
	infoA, errA := os.Stat(a)
	infoB, errB := os.Stat(b)
	if errA == nil && errB == nil {
		return os.SameFile(infoA, infoB)
	}
	a, errA = filepath.Abs(a)
	b, errB = filepath.Abs(b)
	return errA == nil && errB == nil && a == b
}

// sameStore reports whether two URLs surely name the same data: they are equal, but for
// what does not matter for that. A copy of a store to itself finds everything in its place;
// who wants it has made a mistake.
func sameStore(a, b string) bool {
	schemeA, restA, queryA := urlParts(a)
	schemeB, restB, queryB := urlParts(b)
	return schemeA == schemeB && restA == restB && reflect.DeepEqual(queryA, queryB)
}

func urlParts(raw string) (kind, rest string, query url.Values) {
	raw = withoutOption(withoutOption(raw, "migrate"), "timeout")
	rest, rawQuery, _ := strings.Cut(raw, "?")
	_, rest, _ = strings.Cut(rest, ":")
	query, err := url.ParseQuery(rawQuery)
	if err != nil {
		query = url.Values{"": {rawQuery}}
	}
	if kind = scheme(raw); kind == "postgresql" {
		kind = "postgres"
	}
	return kind, rest, query
}

func (a *app) copy(ctx context.Context, to, from sessionstore.SessionStore, o sessionstore.CopyOptions) error {
	bar := newCopyProgress(a.err)
	var werr error // of writing the JSON
	o.OnProgress = bar.at
	o.OnError = func(e sessionstore.SessionError) {
		if !a.json {
			bar.clear()
			fmt.Fprintf(a.err, "sessionctl: %s\n", oneLine(e.Error()))
			return
		}
		werr = errors.Join(werr, a.jsonValue(struct {
			ID      string `json:"session_id"`
			Differs bool   `json:"differs"` // the target has it with other content
			Error   string `json:"error"`
		}{e.SessionID, errors.Is(e, sessionstore.ErrSessionExists), e.Err.Error()}))
	}
	report, err := sessionstore.Copy(ctx, to, from, &o)
	bar.clear()
	// What was copied stays, also where the copy could not go on.
	if perr := errors.Join(werr, a.copied(report)); err == nil {
		err = perr
	}
	if report.Expired > 0 {
		fmt.Fprintf(a.err, "sessionctl: %s had expired and stayed out\n", count(report.Expired, "session"))
	}
	if err == nil {
		err = leftover(report)
	}
	return err
}

// copied prints what a copy did.
func (a *app) copied(r sessionstore.CopyReport) error {
	if a.json {
		return a.jsonValue(struct {
			Copied    int64 `json:"copied"`
			Updated   int64 `json:"updated"`
			Replaced  int64 `json:"replaced"`
			Same      int64 `json:"same"`
			Expired   int64 `json:"expired"`
			Different int64 `json:"different"`
			Failed    int64 `json:"failed"`
			Missing   int   `json:"missing"`
			Messages  int64 `json:"messages"`
		}{r.Copied, r.Updated, r.Replaced, r.Same, r.Expired, r.Different, r.Failed, len(r.Missing), r.Messages})
	}
	return a.say("%s", copyText(r))
}

// copyText is the counts of what was written and what was there, in words.
func copyText(r sessionstore.CopyReport) string {
	text := fmt.Sprintf("copied %s, %s", count(r.Copied, "session"), count(r.Messages, "message"))
	if r.Updated > 0 {
		text += fmt.Sprintf("; %d brought up to date", r.Updated)
	}
	if r.Replaced > 0 {
		text += fmt.Sprintf("; %d replaced", r.Replaced)
	}
	if r.Same > 0 {
		text += fmt.Sprintf("; %d there already", r.Same)
	}
	return text
}

// leftover is the error of a copy that went through but for some sessions.
func leftover(r sessionstore.CopyReport) error {
	var what []string
	if r.Different > 0 {
		what = append(what, fmt.Sprintf("%s: the target has other content (--replace overwrites it)", count(r.Different, "session")))
	}
	if r.Failed > 0 {
		what = append(what, count(r.Failed, "session")+" could not be copied")
	}
	if len(r.Missing) > 0 {
		what = append(what, fmt.Sprintf("%q: %v", r.Missing, sessionstore.ErrSessionNotFound))
	}
	if len(what) == 0 {
		return nil
	}
	return fmt.Errorf("copy: %s; the rest is complete", strings.Join(what, "; "))
}

// copyProgress shows how far a copy has come: on a terminal in one line, elsewhere by a line
// now and then.
type copyProgress struct {
	progress
	log  io.Writer // nil: a terminal
	next time.Time // no line to log before
}

// logEvery is how often a line is logged.
const logEvery = 10 * time.Second

func newCopyProgress(w io.Writer) *copyProgress {
	p := &copyProgress{progress: *newProgress(w, 0), next: time.Now().Add(logEvery)}
	if p.w == nil {
		p.log = w
	}
	return p
}

func (p *copyProgress) at(r sessionstore.CopyReport) {
	p.draw(func() string { return copyText(r) })
	if now := time.Now(); p.log != nil && !now.Before(p.next) {
		p.next = now.Add(logEvery)
		fmt.Fprintf(p.log, "sessionctl: %s so far\n", copyText(r))
	}
}
