package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"assay/grader"
	"assay/internal/bench"
	"assay/internal/config"
	"assay/internal/plan"
	"assay/internal/runner"
	"assay/internal/sandbox/kinds"
	"assay/results"
)

// execution is one run of a plan against a database.
type execution struct {
	state
	study config.Study
	plan  plan.Plan
	db    string
	out   *progress
}

// run says how the run ended.
func (x execution) run() error {
	if err := notThereYet(x.study); err != nil {
		return usageError{err}
	}
	if info, err := os.Stat(filepath.Dir(x.db)); err != nil || !info.IsDir() {
		return usagef("the folder of the database %s does not exist: make it first", x.db)
	}
	work, err := material(x.plan)
	if err != nil {
		return err
	}
	stops := listen(x.state, x.out)
	defer stops.end()
	sum, err := x.cells(stops, work)
	if err != nil {
		if stops.ctx.Err() != nil && !errors.Is(err, runner.ErrInterrupted) && errors.Is(err, context.Canceled) {
			return fmt.Errorf("%w: %v", runner.ErrInterrupted, err)
		}
		return err
	}
	if err := ended(sum); err != nil {
		return err
	}
	return x.out.failed()
}

// cells opens what a run needs, the record first where there is one (what is
// complete needs no server), and runs what is left.
func (x execution) cells(stops *stops, work func(bench.PlannedCell) (runner.Work, error)) (sum runner.Summary, err error) {
	ctx, cohort := stops.ctx, x.plan.Cohort
	job := runner.Job{Arms: cohort.Arms, Limits: cohort.Limits, Reminder: x.study.Reminder, Overlap: x.study.Overlap, Work: work}
	engines := &engines{getenv: x.getenv, limits: cohort.Limits, expect: map[string]config.Expect{}}
	for _, arm := range x.study.Arms {
		engines.expect[arm.Name] = arm.Expect
	}
	defer engines.close()

	rec := record{path: x.db, plan: cohort, options: results.Options{Version: version(), Now: x.now}}
	defer rec.close()
	needed := cohort.Arms
	if _, err := os.Stat(x.db); err == nil {
		if needed, err = rec.needed(ctx, job); err != nil {
			return runner.Summary{}, err
		}
	}
	if err := engines.preflight(ctx, needed); err != nil {
		return runner.Summary{}, err
	}
	boxes, err := kinds.Open(ctx, x.study.Sandbox, x.getenv, x.out.note)
	if err != nil {
		return runner.Summary{}, err
	}
	defer func() { err = errors.Join(err, boxes.Close()) }() // a box that is left is no success
	if err := rec.open(ctx); err != nil {
		return runner.Summary{}, err
	}
	job.Cohort = rec.cohort
	judged, err := newGraderBoxes(boxes)
	if err != nil {
		return runner.Summary{}, err
	}
	defer judged.close() // a box that does not end is found when the factory closes
	g := grader.New(judged, grader.Options{})
	defer g.Close() // the same
	for _, w := range x.plan.Warnings {
		x.out.note("warning: " + w)
	}
	host, err := os.Hostname()
	if err != nil {
		host = "" // only a label of the attempt rows
	}
	stops.running.Store(true)
	r := runner.Runner{
		Engines: engines, Boxes: runnerBoxes{boxes, cohort.Limits}, Grader: g,
		Recorder: rec.store, Notify: x.out.event, Worker: host,
	}
	return r.Run(ctx, job, stops.drain)
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
