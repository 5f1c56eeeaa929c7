package main

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/sessionstore/sessionstore"
	"github.com/spf13/cobra"
)

func (a *app) newCmd() *cobra.Command {
	var s sessionstore.Session
	var ttl optional[time.Duration]
	var meta metadataFlags
	cmd := &cobra.Command{
		Use:   "new [flags]",
		Short: "Create a session and print its id",
		Args:  arguments(false),
		RunE: func(cmd *cobra.Command, _ []string) error {
			s.TTL, s.Metadata = ttl.or(0), meta.set
			// Judged before the store is opened, which would create it.
			if _, err := s.Create(time.Now()); err != nil {
				return &usageError{err}
			}
			return a.with(cmd.Context(), toCreate, func(store sessionstore.SessionStore) error {
				out, err := store.CreateSession(cmd.Context(), s)
				if err != nil {
					return err
				}
				return a.session(out, "%s", out.ID)
			})
		},
	}
	f := cmd.Flags()
	nameFlag(f, &s.ID, "id", "the session's `ID` (default: a new UUID)")
	nameFlag(f, &s.UserID, "user", "`ID` of the user who owns it")
	nameFlag(f, &s.AgentName, "agent", "`NAME` of the agent")
	f.StringVar(&s.System, "system", "", "instructions for the agent (`TEXT`)")
	ttl.flag(f, "ttl", "`DURATION` without a change after which the session expires", lifetime)
	meta.add(f)
	a.jsonFlag(cmd, "the session")
	return cmd
}

func (a *app) lsCmd() *cobra.Command {
	var q sessionstore.SessionQuery
	var limit int
	cmd := &cobra.Command{
		Use:   "ls [flags]",
		Short: "List sessions, the last changed first",
		Args:  arguments(false),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if _, err := q.Prepare(); err != nil {
				return &usageError{err}
			}
			return a.with(cmd.Context(), toRead, func(store sessionstore.SessionStore) error {
				return a.list(cmd.Context(), store, q, limit)
			})
		},
	}
	queryFlags(cmd, &q)
	countFlag(cmd.Flags(), &limit, "limit", "at most `N` sessions; 0: all, the default")
	a.jsonFlag(cmd, "one session a line")
	return cmd
}

func queryFlags(cmd *cobra.Command, q *sessionstore.SessionQuery) {
	f := cmd.Flags()
	nameFlag(f, &q.UserID, "user", "only sessions of this user `ID`")
	nameFlag(f, &q.AgentName, "agent", "only sessions of this agent `NAME`")
	nameFlag(f, &q.ParentID, "parent", "only forks of this session `ID`")
	statusFlag(f, &q.Statuses)
}

// list prints up to limit sessions of the query, page by page; 0 is all of them.
func (a *app) list(ctx context.Context, store sessionstore.SessionStore, q sessionstore.SessionQuery, limit int) error {
	t := a.table("ID", "STATUS", "MESSAGES", "UPDATED", "USER", "AGENT")
	for left := limit; ; {
		q.Limit = sessionstore.MaxSessions
		if limit > 0 {
			q.Limit = min(left, q.Limit)
		}
		page, err := store.ListSessions(ctx, q)
		if err != nil {
			return err
		}
		for _, s := range page.Sessions {
			if a.json {
				if err := a.jsonLine(s); err != nil {
					return err
				}
				continue
			}
			t.row(s.ID, string(s.Status), strconv.FormatInt(s.MessageCount, 10), when(s.UpdatedAt), s.UserID, s.AgentName)
		}
		if !a.json {
			if err := t.flush(); err != nil {
				return err
			}
		}
		left -= len(page.Sessions)
		if page.Next == "" || limit > 0 && left <= 0 {
			return nil
		}
		q.Cursor = page.Next
	}
}

func (a *app) updateCmd() *cobra.Command {
	var agent, system optional[string]
	var ttl optional[time.Duration]
	var version optional[int64]
	var meta metadataFlags
	var remove []string
	var touch bool
	cmd := &cobra.Command{
		Use:   "update [flags] ID",
		Short: "Change a session's metadata, lifetime, agent or instructions",
		Args:  arguments(false, "ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			u := sessionstore.SessionUpdate{
				IfVersion: version.or(0), AgentName: agent.value, System: system.value, TTL: ttl.value,
				SetMetadata: meta.set, DeleteMetadata: remove, Touch: touch,
			}
			if !agent.given() && !system.given() && !ttl.given() && len(meta.set) == 0 && len(remove) == 0 && !touch {
				return usagef("nothing to update; see sessionctl update --help")
			}
			if _, err := u.Prepare(); err != nil {
				return &usageError{err}
			}
			return a.update(cmd.Context(), args[0], u, "updated")
		},
	}
	f := cmd.Flags()
	meta.add(f)
	f.StringArrayVar(&remove, "delete", nil, "remove the metadata `KEY`; may be given again")
	ttl.flag(f, "ttl", "`DURATION` without a change after which the session expires; 0: never", lifetime)
	f.BoolVar(&touch, "touch", false, "keep alive: move the expiry without another change")
	agent.flag(f, "agent", "hand the session to the agent of this `NAME`; empty: to none", anyText)
	system.flag(f, "system", "other instructions for the agent (`TEXT`)", anyText)
	version.flag(f, "if-version", "only if the session's version is `N`", versionNumber)
	a.jsonFlag(cmd, "the session")
	return cmd
}

func (a *app) statusCmd(name, short string, to sessionstore.Status) *cobra.Command {
	cmd := &cobra.Command{
		Use:   name + " ID",
		Short: short,
		Args:  arguments(false, "ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.update(cmd.Context(), args[0], sessionstore.SessionUpdate{Status: &to}, string(to))
		},
	}
	a.jsonFlag(cmd, "the session")
	return cmd
}

func (a *app) update(ctx context.Context, id string, u sessionstore.SessionUpdate, done string) error {
	return a.with(ctx, toChange, func(store sessionstore.SessionStore) error {
		s, err := store.UpdateSession(ctx, id, u)
		if err != nil {
			return err
		}
		return a.session(s, "%s is %s (version %d)", s.ID, done, s.Version)
	})
}

func (a *app) forkCmd() *cobra.Command {
	var fork sessionstore.Fork
	var at optional[int64]
	var user optional[string]
	var meta metadataFlags
	cmd := &cobra.Command{
		Use:   "fork [flags] ID",
		Short: "Create a session that starts with another's messages, and print its id",
		Args:  arguments(false, "ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			fork.AtSeq, fork.UserID, fork.Metadata = at.value, user.value, meta.set
			if _, err := fork.Prepare(); err != nil {
				return &usageError{err}
			}
			return a.with(cmd.Context(), toChange, func(store sessionstore.SessionStore) error {
				child, err := sessionstore.ForkSession(cmd.Context(), store, args[0], fork)
				if err != nil {
					return err
				}
				return a.session(child, "%s", child.ID)
			})
		},
	}
	f := cmd.Flags()
	at.flag(f, "at", "take the messages up to this `SEQ`; 0: none (default: all)", seqNumber)
	nameFlag(f, &fork.ID, "id", "the new session's `ID` (default: a new UUID)")
	user.flag(f, "user", "`ID` of the user who owns it (default: the other's)", notEmpty)
	meta.add(f)
	a.jsonFlag(cmd, "the new session")
	return cmd
}

func (a *app) rmCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "rm ID...",
		Short: "Delete sessions and all their messages",
		Args:  arguments(true, "ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.with(cmd.Context(), toChange, func(store sessionstore.SessionStore) error {
				for i, id := range args {
					if err := store.DeleteSession(cmd.Context(), id); err != nil {
						if i > 0 {
							return fmt.Errorf("%w (%d of %d are deleted)", err, i, len(args))
						}
						return err
					}
					if err := a.deleted(id); err != nil {
						return err
					}
				}
				return nil
			})
		},
	}
	a.jsonFlag(cmd, `a line {"deleted":ID} for each`)
	return cmd
}

func (a *app) deleted(id string) error {
	if a.json {
		return a.jsonValue(struct {
			Deleted string `json:"deleted"`
		}{id})
	}
	return a.say("%s is deleted", id)
}
