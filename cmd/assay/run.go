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
	"assay/internal/bench"
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
	if info, err := os.Stat(filepath.Dir(db)); err != nil || !info.IsDir() {
		return usagef("the folder of the database %s does not exist: make it first", db)
	}
	work, err := material(p)
	if err != nil {
		return err
	}
	stops := listen(s, out)
	defer stops.end()
	sum, err := runPlan(stops, s, study, p, db, work, out)
	if err != nil {
		if stops.ctx.Err() != nil && !errors.Is(err, runner.ErrInterrupted) && errors.Is(err, context.Canceled) {
			return fmt.Errorf("%w: %v", runner.ErrInterrupted, err)
		}
		return err
	}
	if err := ended(sum); err != nil {
		return err
	}
	return out.failed()
}

// runPlan opens what a run needs, the record first where there is one: what is
// complete needs no server.
func runPlan(stops *stops, s state, study config.Study, p plan.Plan, db string, work func(bench.PlannedCell) (runner.Work, error), out *progress) (runner.Summary, error) {
	ctx := stops.ctx
	job := runner.Job{Arms: p.Cohort.Arms, Limits: p.Cohort.Limits, Reminder: study.Reminder, Overlap: study.Overlap, Work: work}
	engines := &engines{getenv: s.getenv, limits: p.Cohort.Limits}
	defer engines.close()

	r := record{path: db, plan: p.Cohort, options: results.Options{Version: version(), Now: s.now}}
	defer r.close()
	needed := p.Cohort.Arms
	if _, err := os.Stat(db); err == nil {
		if needed, err = r.needed(ctx, job); err != nil {
			return runner.Summary{}, err
		}
	}
	if err := engines.preflight(ctx, needed); err != nil {
		return runner.Summary{}, err
	}
	boxes, err := openBoxes(ctx, s, out.note)
	if err != nil {
		return runner.Summary{}, err
	}
	defer boxes.Close()
	if err := r.open(ctx); err != nil {
		return runner.Summary{}, err
	}
	job.Cohort = r.cohort
	g := grader.New(graderBoxes{boxes}, grader.Options{})
	defer g.Close()
	for _, w := range p.Warnings {
		out.note("warning: " + w)
	}
	host, err := os.Hostname()
	if err != nil {
		host = "" // only a label of the attempt rows
	}
	stops.running.Store(true)
	x := runner.Runner{
		Engines: engines, Boxes: runnerBoxes{boxes, p.Cohort.Limits}, Grader: g,
		Recorder: r.store, Notify: out.event, Worker: host,
	}
	return x.Run(ctx, job, stops.drain)
}

// record is the database of a run, opened when it is needed.
type record struct {
	path    string
	plan    bench.CohortPlan
	options results.Options
	store   *results.Store
	cohort  int64
}

func (r *record) open(ctx context.Context) error {
	if r.store != nil {
		return nil
	}
	store, err := results.Open(ctx, r.path, r.options)
	if err != nil {
		return err
	}
	r.store = store
	r.cohort, err = store.EnsureCohort(ctx, r.plan)
	return err
}

func (r *record) close() {
	if r.store != nil {
		_ = r.store.Close() // everything is written; the lock ends with the process
	}
}

// needed returns the arms that still have cells to run.
func (r *record) needed(ctx context.Context, job runner.Job) ([]bench.Arm, error) {
	if err := r.open(ctx); err != nil {
		return nil, err
	}
	states, err := r.store.CellStates(ctx, r.cohort)
	if err != nil {
		return nil, err
	}
	var arms []bench.Arm
	for _, a := range job.Arms {
		if slices.ContainsFunc(states, func(c bench.CellState) bool { return c.Cell.Arm == a.Name && job.Open(c) }) {
			arms = append(arms, a)
		}
	}
	return arms, nil
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
