package main

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"assay/internal/config"
	"assay/internal/runner"

	"github.com/spf13/cobra"
)

type runOptions struct {
	study string
	db    string
	json  bool
}

func newRunCommand(s state) *cobra.Command {
	var o runOptions
	c := &cobra.Command{
		Use:   "run STUDY.toml",
		Short: "Run what a study file plans, or what is left of it",
		Long: `Runs the cells of a study that are not complete, one after the other, and
writes every response, step, candidate and verdict into the database as it
happens. The same command continues a run that was stopped or killed.

The first interrupt (^C) finishes the running attempt, the second stops at once.
` + exitHelp,
		Args: oneArg("study file"),
		RunE: func(_ *cobra.Command, args []string) error {
			o.study = args[0]
			return runStudy(s, o)
		},
	}
	c.Flags().StringVar(&o.db, "db", "", "database file (default: the study file's name with .db)")
	c.Flags().BoolVar(&o.json, "json", false, "print events as JSON lines on stdout")
	return c
}

func runStudy(s state, o runOptions) error {
	study, p, err := loadPlan(o.study)
	if err != nil {
		return err
	}
	if o.db == "" {
		o.db = strings.TrimSuffix(o.study, filepath.Ext(o.study)) + ".db"
	}
	return execution{state: s, study: study, plan: p, db: o.db, out: newProgress(s, o.json)}.run()
}

// notThereYet refuses what a study file may ask for and this version cannot do,
// all of it at once.
func notThereYet(study config.Study) error {
	var faults []error
	for _, arm := range study.Arms {
		if arm.Command != "" {
			faults = append(faults, fmt.Errorf("arm %s has a command: starting servers is not there yet; start it yourself and give its url", arm.Name))
		}
	}
	for _, arm := range study.Arms {
		if arm.Parallel > 1 {
			faults = append(faults, fmt.Errorf("arm %s has parallel = %d: more than one attempt at a time is not there yet", arm.Name, arm.Parallel))
		}
	}
	return errors.Join(faults...)
}

// ended turns a summary into the verb's error: asked to stop, a server that could
// not be used, or cells that are left.
func ended(sum runner.Summary) error {
	if sum.Drained {
		return fmt.Errorf("%w with %s; the same command continues", runner.ErrInterrupted, sum)
	}
	if len(sum.ArmFault) > 0 {
		var errs []error
		for _, arm := range slices.Sorted(maps.Keys(sum.ArmFault)) {
			errs = append(errs, fmt.Errorf("arm %s: %w", arm, sum.ArmFault[arm]))
		}
		return oursError{errors.Join(errs...)}
	}
	if sum.Complete == sum.Planned {
		return nil
	}
	why := sum.String()
	for _, arm := range slices.Sorted(maps.Keys(sum.Stops)) {
		why += fmt.Sprintf("; arm %s last: %s", arm, sum.Stops[arm])
	}
	if sum.Exhausted > 0 {
		return incompleteError{fmt.Sprintf("%s; %d cells used up their invalid_retries and are not tried again", why, sum.Exhausted)}
	}
	return incompleteError{why + "; the same command tries again"}
}
