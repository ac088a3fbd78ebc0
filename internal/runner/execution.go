package runner

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"assay/internal/bench"
)

// sameFault is how many attempts of an arm in a row may end invalid for the same
// reason before the rest of its cells is left alone.
const sameFault = 3

// maxUnended is how often a cell may lose its runner before it is left alone: a
// candidate may be what kills it.
const maxUnended = 10

// execution is the state of one Run.
type execution struct {
	*Runner
	job      Job
	states   []bench.CellState
	drain    <-chan struct{}
	arms     map[string]bench.Arm
	engines  map[string]Engine
	fault    map[string]error  // arms that are parked
	stops    map[string]string // last invalid stop of an arm, in words
	streak   map[string]streak
	boxes    *boxAhead
	gradings *gradings
	done     atomic.Int64 // cells complete
	drained  bool
}

// streak counts equal invalid stops of an arm in a row.
type streak struct {
	reason bench.StopReason
	n      int
}

func newExecution(ctx context.Context, r *Runner, job Job, states []bench.CellState, drain <-chan struct{}) *execution {
	x := &execution{
		Runner: r, job: job, states: states, drain: drain,
		arms: map[string]bench.Arm{}, engines: map[string]Engine{}, fault: map[string]error{},
		stops: map[string]string{}, streak: map[string]streak{},
		boxes: newBoxAhead(ctx, r.Boxes),
	}
	for _, a := range job.Arms {
		x.arms[a.Name] = a
	}
	for _, s := range states {
		if complete(s) {
			x.done.Add(1)
		}
	}
	x.gradings = newGradings(ctx, x)
	return x
}

func complete(s bench.CellState) bool { return s.Counting != 0 && s.Graded }

// exhausted reports whether a cell is not tried again.
func (j Job) exhausted(s bench.CellState) bool {
	if s.Counting != 0 {
		return s.Faults > j.Limits.InvalidRetries
	}
	return s.Failed > j.Limits.InvalidRetries || s.Unended > maxUnended
}

// Open reports whether a cell still needs an attempt, and with it its arm's
// engine.
func (j Job) Open(s bench.CellState) bool { return s.Counting == 0 && !j.exhausted(s) }

func (x *execution) close() {
	x.boxes.close()
	for _, e := range x.engines {
		_ = e.Close() // idle connections of a client; there is nothing to lose
	}
}

// event records and announces e.
func (x *execution) event(e bench.Event) error {
	e.Time = time.Now()
	e.Planned = len(x.states)
	e.Done = int(x.done.Load())
	ctx, cancel := context.WithTimeout(context.Background(), recordTimeout)
	defer cancel()
	if err := x.Recorder.AddEvent(ctx, x.job.Cohort, e); err != nil {
		return err
	}
	if x.Notify != nil {
		x.Notify(e)
	}
	return nil
}

func (x *execution) asked() bool {
	select {
	case <-x.drain:
		return true
	default:
		return false
	}
}

// cells runs what is left of the plan in its order.
func (x *execution) cells(ctx context.Context) error {
	for _, s := range x.states {
		if s.Counting != 0 && !s.Graded && !x.job.exhausted(s) {
			row := bench.AttemptRow{ID: s.Counting, Cell: s.Cell.Cell, Ended: true, Counts: true, Candidate: s.Candidate, Rejected: s.Rejected}
			x.gradings.add(grading{cell: s.Cell, row: row})
		}
	}
	last := ""
	for i, s := range x.states {
		if !x.job.Open(s) || x.fault[s.Cell.Arm] != nil {
			continue
		}
		if last != "" && last != s.Cell.Arm {
			x.gradings.armDone()
		}
		last = s.Cell.Arm
		if err := x.gradings.failed(); err != nil {
			return err
		}
		if ctx.Err() == nil && x.asked() {
			return x.drains(s)
		}
		engine, err := x.engine(ctx, s.Cell.Arm)
		if err != nil {
			return err
		}
		if engine == nil {
			continue
		}
		if ctx.Err() != nil {
			return ErrInterrupted
		}
		if x.asked() { // the server may have taken its time
			return x.drains(s)
		}
		if err := x.attempt(ctx, engine, s.Cell, x.more(i)); err != nil {
			return err
		}
	}
	return nil
}

// drains says before which cell the run stopped, as it was asked to.
func (x *execution) drains(s bench.CellState) error {
	x.drained = true
	return x.event(bench.Event{Kind: bench.EventDraining, Message: "stopped before " + s.Cell.Cell.String() + ", as asked"})
}

// more reports whether a cell after i will need a box.
func (x *execution) more(i int) bool {
	for _, s := range x.states[i+1:] {
		if x.job.Open(s) && x.fault[s.Cell.Arm] == nil {
			return true
		}
	}
	return false
}

// engine returns the open engine of an arm, or nil where the arm is parked: its
// server cannot be used, or is not the one that worked in this cohort before.
func (x *execution) engine(ctx context.Context, arm string) (Engine, error) {
	if e := x.engines[arm]; e != nil {
		return e, nil
	}
	e, err := x.Engines.Open(ctx, x.arms[arm])
	if err != nil {
		if ctx.Err() != nil {
			return nil, ErrInterrupted
		}
		return nil, x.park(arm, err)
	}
	before, err := x.Recorder.LastObserved(ctx, x.job.Cohort, arm)
	if err != nil {
		return nil, err
	}
	if before != nil {
		if change := before.Changed(e.Observed()); change != "" {
			return nil, x.park(arm, fmt.Errorf("its server changed since its last attempt in this cohort: %s; put back what ran then, or give the arm another name", change))
		}
	}
	x.engines[arm] = e
	return e, x.event(bench.Event{Kind: bench.EventArmReady, Message: describe(arm, e.Observed())})
}

// park leaves the remaining cells of an arm alone.
func (x *execution) park(arm string, err error) error {
	x.fault[arm] = err
	return x.event(bench.Event{Kind: bench.EventArmFailed, Message: fmt.Sprintf("arm %s: %v; its remaining cells are not run", arm, err)})
}

func describe(arm string, o bench.Observed) string {
	s := fmt.Sprintf("arm %s: %s", arm, o.Kind)
	if o.Build != "" {
		s += " " + o.Build
	}
	if o.Model != "" {
		s += ", model " + o.Model
	}
	if o.ContextPerSlot != nil {
		s += fmt.Sprintf(", %d tokens of context per slot", *o.ContextPerSlot)
	}
	if o.Simulated {
		s += " (simulated)"
	}
	return s
}

// summary reads the states again: what the record says is what was done.
func (x *execution) summary(ctx context.Context) (Summary, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordTimeout)
	defer cancel()
	states, err := x.Recorder.CellStates(ctx, x.job.Cohort)
	if err != nil {
		return Summary{}, err
	}
	sum := Summary{Planned: len(states), ArmFault: x.fault, Stops: x.stops}
	for _, s := range states {
		switch {
		case complete(s):
			sum.Complete++
			continue
		case s.Counting != 0 && s.Faults == 0:
			sum.Ungraded++
		case s.Counting != 0 || s.Failed > 0:
			sum.Invalid++
		default:
			sum.NotRun++
		}
		if x.job.exhausted(s) {
			sum.Exhausted++
		}
	}
	// Gradings that were skipped because the run was asked to stop count as well.
	sum.Drained = x.drained || x.asked() && sum.Ungraded > 0
	return sum, nil
}
