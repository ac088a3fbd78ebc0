package main

import (
	"context"
	"errors"
	"io/fs"

	"assay/internal/report"
	"assay/results"

	"github.com/spf13/cobra"
)

func newReportCommand(s state) *cobra.Command {
	var format string
	c := &cobra.Command{
		Use:   "report DB",
		Short: "Print what a database says",
		Long:  "Prints counts and figures of every cohort in a database. It reads only.\n" + exitHelp,
		Args:  oneArg("database file"),
		RunE: func(_ *cobra.Command, args []string) error {
			if format != "text" && format != "json" {
				return usagef("--format %q is not known: text or json", format)
			}
			return printReport(s, args[0], format)
		},
	}
	c.Flags().StringVar(&format, "format", "text", "text or json")
	// It fails for a flag that does not exist; a test looks at what it offers.
	_ = c.RegisterFlagCompletionFunc("format", cobra.FixedCompletions([]string{"text", "json"}, cobra.ShellCompDirectiveNoFileComp))
	return c
}

func printReport(s state, db, format string) error {
	ctx := context.Background()
	r, err := results.OpenReader(ctx, db)
	if errors.Is(err, fs.ErrNotExist) {
		return usageError{err}
	}
	if err != nil {
		return err
	}
	defer r.Close()
	views, err := r.Cohorts(ctx)
	if err != nil {
		return err
	}
	rep := report.Build(version(), views)
	if format == "json" {
		return rep.WriteJSON(s.stdout)
	}
	return rep.WriteText(s.stdout)
}
