package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/bolt"
	"github.com/sessionstore/sessionstore/verify"
	"github.com/spf13/cobra"
)

func (a *app) verifyCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "Check every session and message of the store",
		Args:  arguments(false),
		RunE: func(cmd *cobra.Command, _ []string) error {
			var report verify.Report
			err := a.with(cmd.Context(), toRead, func(store sessionstore.SessionStore) (err error) {
				report, err = verify.Store(cmd.Context(), store, nil)
				return err
			})
			if err != nil {
				return err
			}
			return a.verified(report)
		},
	}
	a.jsonFlag(cmd, "the report")
	return cmd
}

func (a *app) verified(r verify.Report) error {
	type problem struct {
		SessionID string `json:"session_id,omitempty"`
		Rule      string `json:"rule"`
		Detail    string `json:"detail"`
	}
	if a.json {
		out := struct {
			Sessions  int64     `json:"sessions"`
			Messages  int64     `json:"messages"`
			Unsettled int64     `json:"unsettled"`
			Total     int64     `json:"total_problems"`
			Problems  []problem `json:"problems"` // the first of them
		}{r.Sessions, r.Messages, r.Unsettled, r.Total, []problem{}}
		for _, p := range r.Problems {
			out.Problems = append(out.Problems, problem(p))
		}
		if err := a.jsonValue(out); err != nil {
			return err
		}
	} else {
		for _, p := range r.Problems {
			if err := a.say("%s", p); err != nil {
				return err
			}
		}
		if err := a.say("verified %s, %s: %s", count(r.Sessions, "session"), count(r.Messages, "message"), count(r.Total, "problem")); err != nil {
			return err
		}
		if r.Unsettled > 0 {
			if err := a.say("%s changed too fast to be judged", count(r.Unsettled, "session")); err != nil {
				return err
			}
		}
	}
	if r.Total > 0 {
		return fmt.Errorf("verify: %s", count(r.Total, "problem"))
	}
	return nil
}

func (a *app) purgeCmd() *cobra.Command {
	var limit int
	cmd := &cobra.Command{
		Use:   "purge [flags]",
		Short: "Remove expired sessions and what a crash left",
		Args:  arguments(false),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.with(cmd.Context(), toChange, func(store sessionstore.SessionStore) error {
				total, err := purge(cmd.Context(), store, limit)
				if err != nil {
					return err
				}
				if a.json {
					return a.jsonValue(struct {
						Purged int `json:"purged"`
					}{total})
				}
				return a.say("purged %s", count(total, "session"))
			})
		},
	}
	countFlag(cmd.Flags(), &limit, "limit", "at most `N` sessions; 0: all, the default")
	a.jsonFlag(cmd, `{"purged":N}`)
	return cmd
}

// purge removes up to limit expired sessions, 0 for all, in calls of a bounded size.
func purge(ctx context.Context, store sessionstore.SessionStore, limit int) (total int, err error) {
	for {
		ask := sessionstore.DefaultPurge
		if limit > 0 {
			ask = min(ask, limit-total)
		}
		n, err := sessionstore.PurgeExpired(ctx, store, ask)
		if total += n; err != nil || n < ask || total == limit {
			return total, err
		}
	}
}

func (a *app) compactCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "compact",
		Short: "Rewrite a bolt file without the space that deleted data left",
		Args:  arguments(false),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := a.onlyBolt("compact"); err != nil {
				return err
			}
			path, o, err := bolt.ParseURL(a.storeURL())
			if err == nil && o.Mode == bolt.ReadOnly {
				return usagef("compact writes the file anew, which mode=ro in its URL forbids")
			}
			// What is wrong with the URL or the file is said as for any other command.
			err = a.with(cmd.Context(), toChange, func(sessionstore.SessionStore) error { return nil })
			if err != nil {
				return err
			}
			r, err := bolt.Compact(cmd.Context(), path, &bolt.CompactOptions{Timeout: o.Timeout})
			if err != nil {
				return err
			}
			if a.json {
				return a.jsonValue(struct {
					Before int64 `json:"bytes_before"`
					After  int64 `json:"bytes_after"`
				}{r.Before, r.After})
			}
			return a.say("%s: %d bytes before, %d after", path, r.Before, r.After)
		},
	}
	a.jsonFlag(cmd, "the file's sizes")
	return cmd
}

func (a *app) backupCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "backup FILE|-",
		Short: "Copy a bolt file as it is at one moment",
		Long: `Copy the database of a bolt store as it is at one moment to a new FILE, or with - to
standard output. A file that exists is not overwritten.`,
		Args: arguments(false, "FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := a.onlyBolt("backup"); err != nil {
				return err
			}
			if args[0] == "-" {
				if a.width > 0 || a.json {
					return usagef("standard output is the database: it goes neither to a terminal nor with --json")
				}
				_, err := a.backup(cmd.Context(), a.out)
				return err
			}
			n, err := a.backupFile(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if a.json {
				return a.jsonValue(struct {
					File  string `json:"file"`
					Bytes int64  `json:"bytes"`
				}{args[0], n})
			}
			return a.say("%s: %d bytes", args[0], n)
		},
	}
	a.jsonFlag(cmd, "the file's name and size")
	return cmd
}

// backup writes the database to w.
func (a *app) backup(ctx context.Context, w io.Writer) (n int64, err error) {
	err = a.with(ctx, toRead, func(store sessionstore.SessionStore) error {
		db, ok := store.(*bolt.Store)
		if !ok {
			return fmt.Errorf("backup: %w", errors.ErrUnsupported)
		}
		n, err = db.Backup(ctx, w)
		return err
	})
	return n, err
}

// backupFile makes a new file that is complete as soon as it has its name.
func (a *app) backupFile(ctx context.Context, name string) (n int64, err error) {
	exists := fmt.Errorf("%s: %w; a backup overwrites nothing", name, fs.ErrExist)
	if _, err := os.Lstat(name); err == nil {
		return 0, exists
	}
	tmp, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+".*") // mode 0600
	if err != nil {
		return 0, err
	}
	defer func() { _ = os.Remove(tmp.Name()) }() // renamed, it is gone already
	n, err = a.backup(ctx, tmp)
	if err == nil {
		err = tmp.Sync()
	}
	if cerr := tmp.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return 0, err
	}
	// A link, unlike a rename, refuses to replace what appeared meanwhile. Some file
	// systems have none.
	if err = os.Link(tmp.Name(), name); errors.Is(err, fs.ErrExist) {
		return 0, exists
	} else if err != nil {
		err = os.Rename(tmp.Name(), name)
	}
	if err == nil {
		err = syncDir(filepath.Dir(name))
	}
	return n, err
}

// syncDir makes a new name in a directory durable, on systems where that is needed.
func syncDir(dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
