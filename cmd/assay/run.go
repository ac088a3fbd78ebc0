package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"assay/grader"
	"assay/internal/config"
	"assay/internal/plan"
	"assay/internal/runner"
	"assay/results"

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
	return execute(s, study, p, o.db, newProgress(s, o.json))
}

// execute runs a plan against a database and says how it ended.
func execute(s state, study config.Study, p plan.Plan, db string, out *progress) error {
	if err := notThereYet(study); err != nil {
		return err
	}
	work, err := material(p)
	if err != nil {
		return err
	}
	ctx, drain, stop := interruptible(s, out)
	defer stop()
	engines := &engines{getenv: s.getenv, idle: study.Limits.IdleTime}
	defer engines.close()
	if err := engines.preflight(ctx, p.Cohort.Arms); err != nil {
		return err
	}
	boxes, err := openBoxes(ctx, s, out.note)
	if err != nil {
		return err
	}
	store, err := results.Open(ctx, db, results.Options{Version: version(), Now: s.now})
	if err != nil {
		return err
	}
	defer store.Close()
	cohort, err := store.EnsureCohort(ctx, p.Cohort)
	if err != nil {
		return err
	}
	g := grader.New(graderBoxes{boxes}, grader.Options{})
	defer g.Close()
	for _, w := range p.Warnings {
		out.note("warning: " + w)
	}
	host, err := os.Hostname()
	if err != nil {
		host = "" // only a label of the attempt rows
	}
	r := runner.Runner{Engines: engines, Boxes: runnerBoxes{boxes}, Grader: g, Recorder: store, Notify: out.event, Worker: host}
	sum, err := r.Run(ctx, runner.Job{
		Cohort: cohort, Arms: p.Cohort.Arms, Limits: p.Cohort.Limits, Reminder: study.Reminder, Overlap: study.Overlap, Work: work,
	}, drain)
	if err != nil {
		return err
	}
	return ended(sum)
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
	if study.Sandbox == "docker" {
		faults = append(faults, errors.New(`[grading] sandbox = "docker" is not there yet; "bwrap" is`))
	}
	if len(faults) > 0 {
		return usageError{errors.Join(faults...)}
	}
	return nil
}

// ended turns a summary into the verb's error. Engines come first: they are what
// the user has to mend.
func ended(sum runner.Summary) error {
	if len(sum.ArmFault) > 0 {
		var errs []error
		for _, arm := range slices.Sorted(maps.Keys(sum.ArmFault)) {
			errs = append(errs, fmt.Errorf("arm %s: %w", arm, sum.ArmFault[arm]))
		}
		return errors.Join(errs...)
	}
	if sum.Drained {
		return fmt.Errorf("%w with %d of %d cells complete; the same command continues", runner.ErrInterrupted, sum.Complete, sum.Planned)
	}
	if open := sum.Planned - sum.Complete; open > 0 {
		return incompleteError{fmt.Sprintf("%d of %d cells are not complete (%d invalid, %d not run); the same command tries again", open, sum.Planned, sum.Invalid, sum.NotRun)}
	}
	return nil
}

// interruptible returns a context that the second interrupt cancels and a
// channel that the first closes.
func interruptible(s state, out *progress) (context.Context, <-chan struct{}, func()) {
	ctx, cancel := context.WithCancel(context.Background())
	signals, stop := s.signals()
	drain, done := make(chan struct{}), make(chan struct{})
	go func() {
		for n := 0; ; n++ {
			select {
			case <-signals:
			case <-done:
				return
			}
			switch n {
			case 0:
				out.note("interrupted: the running attempt will be finished (its limits bound it); again stops at once")
				close(drain)
			case 1:
				out.note("stopping now")
				cancel()
			}
		}
	}()
	return ctx, drain, func() {
		close(done)
		stop()
		cancel()
	}
}
