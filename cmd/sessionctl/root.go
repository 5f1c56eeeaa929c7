package main

import (
	"bufio"
	"io"
	"strings"

	"github.com/sessionstore/sessionstore"
	"github.com/spf13/cobra"
)

// app is what the commands share: the streams and the global flags.
type app struct {
	in    io.Reader
	out   *bufio.Writer
	err   io.Writer
	width int // of the terminal that out is; 0: it is none

	interactive bool // somebody types what in has, and reads what out gets

	started bool // the command line is in order; what fails now is the work

	storeFlag string
	json      bool
}

const about = `Sessionctl keeps the conversations of users with agents in a session store.

The store is named by --store or SESSIONSTORE_URL:

  bolt:PATH      one file, the default: bolt:sessions.db
  postgres://…   a PostgreSQL database
  redis://…      a Redis server; redis+cluster://… a cluster
  mongodb://…    a MongoDB server or cluster; mongodb+srv://…
  memory:        lost when the command ends; good for the demo

Commands that read never create a file; new, import, copy and demo do. Where --json is
offered, output is for programs: JSON values of one line each.

Exit status: 0 done, 1 failed, 2 wrong command line.`

func (a *app) rootCmd() *cobra.Command {
	root := &cobra.Command{
		Use:              "sessionctl",
		Short:            "Keep conversations in a session store",
		Long:             about,
		SilenceErrors:    true,
		SilenceUsage:     true,
		Args:             cobra.ArbitraryArgs, // what is no command is judged below
		PersistentPreRun: func(*cobra.Command, []string) { a.started = true },
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				cmd.SetOut(a.err)
				if err := cmd.Help(); err != nil {
					return err
				}
				return usagef("a command is missing")
			}
			return unknownCommand(cmd, args[0])
		},
		SuggestionsMinimumDistance: 2,
		DisableFlagsInUseLine:      true,
	}
	root.SetIn(a.in)
	root.SetOut(a.out)
	root.SetErr(a.err)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		if strings.Contains(err.Error(), "://") { // it may hold a password
			return usagef("a URL where none belongs: it goes to --store; see %s --help", cmd.CommandPath())
		}
		return usagef("%w; see %s --help", err, cmd.CommandPath())
	})
	// The default is not the flag's: help would print it, and the variable may hold a
	// password.
	nameFlag(root.PersistentFlags(), &a.storeFlag, "store",
		"`URL` of the store (default: SESSIONSTORE_URL, else "+defaultStore+")")

	root.SetHelpCommand(&cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Explain a command",
		RunE: func(_ *cobra.Command, args []string) error {
			cmd, rest, err := root.Find(args)
			if err == nil && len(rest) > 0 {
				err = unknownCommand(cmd, rest[0])
			}
			if err != nil {
				return err
			}
			return cmd.Help()
		},
	})

	const (
		groupSessions = "sessions"
		groupMessages = "messages"
		groupStore    = "store"
	)
	root.AddGroup(
		&cobra.Group{ID: groupSessions, Title: "Sessions:"},
		&cobra.Group{ID: groupMessages, Title: "Messages:"},
		&cobra.Group{ID: groupStore, Title: "The store:"},
	)
	add := func(group string, cmds ...*cobra.Command) {
		for _, c := range cmds {
			c.GroupID = group
			c.DisableFlagsInUseLine = true
			if c.Name() != "import" && c.Name() != "backup" {
				c.ValidArgsFunction = cobra.NoFileCompletions // by a shell: its arguments are no files
			}
			root.AddCommand(c)
		}
	}
	root.AddCommand(a.demoCmd(), a.versionCmd())
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		if c.Name() == "completion" {
			c.Args = cobra.ArbitraryArgs
			c.RunE = func(cmd *cobra.Command, args []string) error {
				if len(args) > 0 {
					return unknownCommand(cmd, args[0])
				}
				return usagef("completion needs the name of a shell; see %s --help", cmd.CommandPath())
			}
		}
	}
	add(groupSessions, a.newCmd(), a.lsCmd(), a.updateCmd(),
		a.statusCmd("pause", "Refuse messages until the session is resumed", sessionstore.StatusPaused),
		a.statusCmd("resume", "Take messages again", sessionstore.StatusActive),
		a.statusCmd("close", "Refuse messages for good", sessionstore.StatusClosed),
		a.forkCmd(), a.rmCmd())
	add(groupMessages, a.chatCmd(), a.appendCmd(), a.showCmd(), a.chatMessagesCmd(), a.rewindCmd(), a.clearCmd())
	add(groupStore, a.importCmd(), a.exportCmd(), a.copyCmd(), a.verifyCmd(), a.purgeCmd(), a.migrateCmd(), a.compactCmd(), a.backupCmd())
	return root
}

func unknownCommand(of *cobra.Command, name string) error {
	if strings.Contains(name, "://") {
		return usagef("a URL is no command; it goes to --store") // it may hold a password
	}
	if near := of.SuggestionsFor(name); len(near) > 0 {
		return usagef("unknown command %q; did you mean %s?", name, strings.Join(near, " or "))
	}
	return usagef("unknown command %q; %s --help lists them", name, of.CommandPath())
}

// jsonFlag offers --json to a command.
func (a *app) jsonFlag(cmd *cobra.Command, what string) {
	cmd.Flags().BoolVar(&a.json, "json", false, "print "+what)
}

// arguments is a command's positional arguments: exactly the named ones, and any number
// more of the last if repeat is set. One that is named ID must be a valid id, and one that
// is named FILE no URL.
func arguments(repeat bool, names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < len(names) || len(args) > len(names) && !repeat {
			want := strings.Join(names, " ")
			switch {
			case repeat:
				want += "…"
			case want == "":
				want = "no arguments"
			}
			return usagef("%s takes %s; got %s", cmd.Name(), want, count(len(args), "argument"))
		}
		for i, arg := range args {
			switch names[min(i, len(names)-1)] {
			case "ID":
				if err := sessionstore.CheckID(arg); err != nil {
					return &usageError{err}
				}
			case "FILE":
				if strings.Contains(arg, "://") { // it may hold a password
					return usagef("%s takes a FILE, not a URL; that goes to --store", cmd.Name())
				}
			}
		}
		return nil
	}
}
