package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/sessionstore/sessionstore"
	"github.com/spf13/cobra"
)

func (a *app) migrateCmd() *cobra.Command {
	var check bool
	cmd := &cobra.Command{
		Use:   "migrate [flags]",
		Short: "Bring the store's schema to the version of this program",
		Long: `Make what the store needs in its database, or bring it to the version of this program. It
is for deployments whose programs open the store with migrate=off, because their role may
not change the schema; migrate is run first, with the URL of a role that may. A migrate=off
in its own URL does not matter. Any number of them may run at the same time. A store that
is up to date is left as it is; one without a schema, like a bolt file, always is.

With --check nothing is changed, and the exit status is 1 if there is something to do.`,
		Example: `  sessionctl migrate --store postgres://owner@db.example.com/app`,
		Args:    arguments(false),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.migrate(cmd.Context(), check)
		},
	}
	cmd.Flags().BoolVar(&check, "check", false, "only say whether there is something to do")
	a.jsonFlag(cmd, "whether the store is up to date now, and the versions if that took a migration")
	return cmd
}

func (a *app) migrate(ctx context.Context, check bool) error {
	url := a.storeURL()
	access := toChange
	if check {
		access = toRead
	}
	nothing := func(sessionstore.SessionStore) error { return nil }
	err := withURL(ctx, withOption(url, "migrate", "off"), access, nothing)
	var old *sessionstore.SchemaError
	pending := errors.As(err, &old)
	if err != nil && !pending {
		return err
	}
	if !check {
		// In any case: not every backend looks when it is told not to migrate.
		if err := withURL(ctx, withoutOption(url, "migrate"), access, nothing); err != nil {
			return err
		}
	}
	if err := a.migrated(old, !check); err != nil {
		return err
	}
	if check && pending {
		return fmt.Errorf("migrate: %s: %w", sessionstore.RedactURL(url), old)
	}
	return nil
}

// migrated prints what there was to do, old, and whether it is done.
func (a *app) migrated(old *sessionstore.SchemaError, done bool) error {
	shown := sessionstore.RedactURL(a.storeURL())
	switch {
	case a.json:
		out := struct {
			UpToDate bool `json:"up_to_date"`
			From     *int `json:"from,omitempty"`
			To       *int `json:"to,omitempty"`
		}{UpToDate: done || old == nil}
		if old != nil {
			out.From, out.To = &old.Version, &old.Needed
		}
		return a.jsonValue(out)
	case old == nil:
		return a.say("%s: up to date, nothing to do", shown)
	case done:
		return a.say("%s: migrated from version %d to %d", shown, old.Version, old.Needed)
	}
	return nil // the error says it
}
