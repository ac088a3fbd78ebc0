package main

import (
	"context"
	"strings"

	"assay/internal/sandbox/kinds"

	"github.com/spf13/cobra"
)

// run does everything and returns the exit status.
func run(s state) int {
	if code, done := kinds.Hidden(s.args, s.stdin); done {
		return code
	}
	root := newRoot(s)
	err := root.ExecuteContext(context.Background())
	if err != nil {
		newProgress(s, false).lines("assay: ", err)
	}
	return exitCode(err)
}

func newRoot(s state) *cobra.Command {
	root := &cobra.Command{
		Use:   "assay",
		Short: "Which checkpoint, quantisation and server settings to run for coding work",
		Long: `assay runs an agent over coding tasks against each arm of a study (a checkpoint
with its server settings), judges the work with frozen acceptance tests in
sandboxes, and keeps every figure raw in one SQLite file.` + "\n" + exitHelp,
		Version:       version(),
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          noArgs,
		RunE:          func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	root.SetVersionTemplate("assay {{.Version}}\n")
	root.SetArgs(s.args)
	root.SetIn(s.stdin)
	root.SetOut(s.stdout)
	root.SetErr(s.stderr)
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return usagef("%v; see '%s --help'", err, c.CommandPath())
	})
	root.AddCommand(
		newRunCommand(s),
		newPlanCommand(s),
		newReportCommand(s),
		newDemoCommand(s),
		newScriptedCommand(s),
		newCleanCommand(s),
		newImageCommand(s),
		newDoctorCommand(s),
		newVersionCommand(s),
	)
	root.SetHelpCommand(newHelpCommand(root))
	root.InitDefaultCompletionCmd()
	if completion, _, err := root.Find([]string{"completion"}); err == nil {
		for _, c := range append(completion.Commands(), completion) {
			c.Args = noArgs // its own errors would not count as usage
		}
	}
	return root
}

func newHelpCommand(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Print the help of a command",
		RunE: func(_ *cobra.Command, args []string) error {
			c, rest, err := root.Find(args)
			if err != nil || len(rest) > 0 {
				return usagef("no help for %q: it is no command of assay", strings.Join(args, " "))
			}
			return c.Help()
		},
	}
}

func noArgs(c *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usagef("unknown command or argument %q; see '%s --help'", args[0], c.CommandPath())
	}
	return nil
}

// oneArg asks for exactly one argument, named in the message.
func oneArg(name string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) != 1 {
			return usagef("%s takes one argument, the %s; it got %d", c.CommandPath(), name, len(args))
		}
		return nil
	}
}
