package runner

import (
	"context"
	"errors"
	"fmt"
	"time"

	"assay/agent"
	"assay/internal/bench"
	"assay/tasks"
)

// attempt makes one try at a cell: start row, workspace, agent, export, end row,
// grading queued.
func (x *execution) attempt(ctx context.Context, engine Engine, cell bench.PlannedCell, more bool) error {
	work, err := x.job.Work(cell)
	if err != nil {
		return err
	}
	box, err := x.boxes.take(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return ErrInterrupted
		}
		return fmt.Errorf("no box could be opened, twice in a row: %w", err)
	}
	defer box.Close()
	if ctx.Err() != nil {
		return ErrInterrupted
	}
	start := bench.AttemptStart{Worker: x.Worker, Observed: engine.Observed(), Environment: box.Environment(), Start: time.Now()}
	id, err := x.Recorder.BeginAttempt(ctx, x.job.Cohort, cell, start)
	if err != nil {
		return err
	}
	if err := x.event(bench.Event{Kind: bench.EventAttemptStarted, Cell: &cell.Cell, Attempt: id}); err != nil {
		return err
	}
	if more {
		x.boxes.next()
	}
	sums := &tally{AttemptRow: bench.AttemptRow{ID: id, Cell: cell.Cell, Simulated: start.Observed.Simulated}}
	end, err := x.work(ctx, sums, engine, box, cell, work)
	if err != nil {
		return err
	}
	rctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordTimeout)
	defer cancel()
	if err := x.Recorder.EndAttempt(rctx, id, end); err != nil {
		return err
	}
	stop := end.Result.Stop
	sums.end(end)
	if err := x.event(bench.Event{Kind: bench.EventAttemptEnded, Cell: &cell.Cell, Attempt: id, Row: &sums.AttemptRow,
		Message: fmt.Sprintf("%s: %s", stop.Reason, stop.Message)}); err != nil {
		return err
	}
	if stop.Reason.Invalid() {
		x.stops[cell.Arm] = stop.Message
		if stop.Reason == bench.StopInterrupted {
			return ErrInterrupted
		}
		return x.afterInvalid(ctx, cell.Arm, engine, stop)
	}
	delete(x.streak, cell.Arm)
	x.gradings.add(grading{cell: cell, row: sums.AttemptRow, last: x.asked()})
	return nil
}

// work lets the agent at the workspace and freezes what it left.
func (x *execution) work(ctx context.Context, sums *tally, engine Engine, box Box, cell bench.PlannedCell, w Work) (bench.AttemptEnd, error) {
	lost := func(what string, err error) bench.AttemptEnd {
		reason := bench.StopSandboxLost
		if ctx.Err() != nil {
			reason = bench.StopInterrupted
		}
		return bench.AttemptEnd{End: time.Now(), Result: bench.AgentResult{Stop: bench.Stop{Reason: reason, Message: fmt.Sprintf("%s: %v", what, err)}}}
	}
	if err := box.Put(ctx, w.Task.Workspace); err != nil {
		return lost("the workspace could not be laid", err), nil
	}
	arm := x.arms[cell.Arm]
	result, err := agent.Run(ctx, agent.Job{
		Instruction:    w.Task.Instruction,
		Limits:         x.job.Limits,
		Seed:           bench.SamplerSeed(cell.Seed, cell.Repeat),
		Replay:         arm.Replay,
		Reminder:       x.job.Reminder,
		ContextPerSlot: engine.Observed().ContextPerSlot,
	}, engine, box, transcript{x.Recorder, sums})
	if err != nil {
		return bench.AttemptEnd{}, err
	}
	end := bench.AttemptEnd{Result: result}
	if change := changed(ctx, engine, result); change != "" {
		end.Result.Stop = bench.Stop{Reason: bench.StopEngineChanged, Message: "the server changed during the attempt: " + change}
	}
	if result.Stop.Reason != bench.StopSandboxLost {
		ectx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordTimeout)
		defer cancel()
		e, err := box.Export(ectx, bench.DefaultExportLimits())
		switch {
		case err == nil:
			c := bench.NewCandidate(e)
			end.Candidate = &c
			if e.Rejected == "" { // of a rejected tree nothing is known
				end.ProtectedTouched = tasks.Touched(w.Task, e.Tree)
			}
		case !end.Result.Stop.Reason.Invalid():
			end.Result.Stop = bench.Stop{Reason: bench.StopSandboxLost, Message: fmt.Sprintf("the workspace could not be exported after the agent stopped (%s): %v", result.Stop.Reason, err)}
		}
	}
	end.End = time.Now()
	return end, nil
}

// changed asks a server that was lost for a moment whether it is still what it
// was: it may have been started anew with something else.
func changed(ctx context.Context, engine Engine, r bench.AgentResult) string {
	if r.Retries == 0 && r.Stop.Reason != bench.StopEngineLost {
		return ""
	}
	octx, cancel := context.WithTimeout(ctx, observeTimeout)
	defer cancel()
	now, err := engine.Observe(octx)
	if err != nil {
		return "" // unknown is not a change
	}
	return engine.Observed().Changed(now)
}

const observeTimeout = 15 * time.Second

// afterInvalid parks an arm whose server is gone or another one, or that fails in
// the same way again and again, rather than spend every cell on it.
func (x *execution) afterInvalid(ctx context.Context, arm string, engine Engine, stop bench.Stop) error {
	s := x.streak[arm]
	if s.reason != stop.Reason {
		s = streak{reason: stop.Reason}
	}
	s.n++
	x.streak[arm] = s
	switch {
	case stop.Reason == bench.StopEngineChanged,
		stop.Reason == bench.StopEngineRejected && stop.Limit == "": // a limit of ours concerns one answer only
		return x.park(arm, errors.New(stop.Message))
	case s.n >= sameFault:
		return x.park(arm, fmt.Errorf("%d attempts in a row ended with %s: %s", s.n, stop.Reason, stop.Message))
	case stop.Reason == bench.StopEngineLost:
		octx, cancel := context.WithTimeout(ctx, observeTimeout)
		defer cancel()
		now, err := engine.Observe(octx)
		if err != nil {
			return x.park(arm, err)
		}
		if change := engine.Observed().Changed(now); change != "" {
			return x.park(arm, fmt.Errorf("its server changed: %s", change))
		}
	}
	return nil
}
