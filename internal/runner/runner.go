// Package runner executes planned cells: it opens engines and boxes, lets the
// agent work, freezes what it left, records everything as it happens, and has
// candidates graded beside the next attempt. It knows neither SQL nor HTTP.
package runner

import (
	"context"
	"errors"
	"fmt"
	"time"

	"assay/agent"
	"assay/internal/bench"
)

// Engine is an open model server of one arm.
type Engine interface {
	agent.Model
	Observed() bench.Observed
	// Observe asks the server again. An error means that it cannot be reached or
	// no longer serves the arm.
	Observe(ctx context.Context) (bench.Observed, error)
	Close() error
}

// Engines opens the engine of an arm. Errors are *bench.EngineError where the
// server is at fault.
type Engines interface {
	Open(ctx context.Context, arm bench.Arm) (Engine, error)
}

// Workspace is the part of a box that the runner itself needs.
type Workspace interface {
	Put(ctx context.Context, tree bench.Tree) error
	Export(ctx context.Context, l bench.ExportLimits) (bench.Export, error)
	Environment() bench.Environment
	Close() error
}

// Box is a fresh box for one attempt.
type Box interface {
	agent.Box
	Workspace
}

// Boxes opens boxes. Errors wrap bench.ErrBoxLost.
type Boxes interface {
	Open(ctx context.Context) (Box, error)
}

// Grader judges a candidate. An error is the context's; our own faults are in
// the grading.
type Grader interface {
	Grade(ctx context.Context, task bench.Task, f bench.Fixture, c bench.Candidate) (bench.Grading, error)
}

// Memory is what the record knows of earlier work.
type Memory interface {
	CellStates(ctx context.Context, cohort int64) ([]bench.CellState, error)
	// LastObserved is what the newest attempt of an arm saw; nil: there is none.
	LastObserved(ctx context.Context, cohort int64, arm string) (*bench.Observed, error)
	// Candidate returns a frozen tree; its bytes are those of its id.
	Candidate(ctx context.Context, id string) (bench.Candidate, error)
}

// Attempts is where attempts are written down.
type Attempts interface {
	BeginAttempt(ctx context.Context, cohort int64, cell bench.PlannedCell, s bench.AttemptStart) (int64, error)
	EndAttempt(ctx context.Context, attempt int64, e bench.AttemptEnd) error
}

// Journal is where an attempt's steps, its gradings and the run's events go.
type Journal interface {
	AddResponse(ctx context.Context, attempt int64, turn int, r bench.Response, fault *bench.EngineError) error
	AddStep(ctx context.Context, attempt int64, s bench.Step) error
	AddGrading(ctx context.Context, attempt int64, g bench.Grading) error
	AddEvent(ctx context.Context, cohort int64, e bench.Event) error
}

// Recorder remembers a run. Its errors end the run: nothing goes on unrecorded.
type Recorder interface {
	Memory
	Attempts
	Journal
}

// Work is the material of one cell.
type Work struct {
	Task    bench.Task
	Fixture bench.Fixture
}

// Job is what a run executes.
type Job struct {
	Cohort   int64
	Arms     []bench.Arm
	Limits   bench.Limits
	Reminder bool
	Overlap  bool // grade beside the next attempt; else when an arm's cells in a row are done
	Work     func(bench.PlannedCell) (Work, error)
}

// Runner wires the rooms below it.
type Runner struct {
	Engines  Engines
	Boxes    Boxes
	Grader   Grader
	Recorder Recorder
	Notify   func(bench.Event) // may be nil; must not block for long
	Worker   string            // name of this machine in attempt rows
}

// Summary says how a run ended. Planned is the sum of the four counts after it.
type Summary struct {
	Planned   int
	Complete  int               // cells with a counting attempt and a grading
	Ungraded  int               // cells whose counting attempt waits for its grading
	Invalid   int               // cells of which our side lost every try or grading so far
	NotRun    int               // cells without a try that ended
	Exhausted int               // incomplete cells that are not tried again
	ArmFault  map[string]error  // arms whose remaining cells were left alone
	Drained   bool              // stopped early because it was asked to
	Stops     map[string]string // last invalid stop of an arm, in words
}

// ErrInterrupted is returned when the run was stopped at once.
var ErrInterrupted = errors.New("interrupted")

const recordTimeout = time.Minute // last writes of an attempt after the run was told to stop

// Run executes the job's cells that are not complete. Closing drain lets the
// running attempt finish and starts no other; cancelling ctx stops at once and
// records the running attempt as interrupted. The error wraps ErrInterrupted, or
// says what of ours ended the run: the recorder, or boxes that cannot be opened.
func (r *Runner) Run(ctx context.Context, job Job, drain <-chan struct{}) (Summary, error) {
	states, err := r.Recorder.CellStates(ctx, job.Cohort)
	if err != nil {
		return Summary{}, interrupted(ctx, err)
	}
	x := newExecution(ctx, r, job, states, drain)
	defer x.close()
	if err = x.event(bench.Event{Kind: bench.EventRunStarted}); err == nil {
		err = x.cells(ctx)
	}
	if gerr := x.gradings.finish(); err == nil {
		err = gerr
	}
	if err == nil && ctx.Err() != nil {
		err = ErrInterrupted
	}
	sum, serr := x.summary(ctx)
	if err == nil {
		err = serr
	}
	eerr := x.event(bench.Event{Kind: bench.EventRunEnded, Message: sum.String()})
	if err == nil {
		err = eerr
	}
	return sum, interrupted(ctx, err)
}

func (s Summary) String() string {
	words := fmt.Sprintf("%d of %d cells complete, %d invalid, %d not run", s.Complete, s.Planned, s.Invalid, s.NotRun)
	if s.Ungraded > 0 {
		words += fmt.Sprintf(", %d to be graded", s.Ungraded)
	}
	return words
}
