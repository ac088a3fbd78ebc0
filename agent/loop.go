package agent

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"assay/internal/bench"
)

// attempt is the state of one Run.
type attempt struct {
	job     Job
	model   Model
	journal Journal
	work    workspace
	tools   []tool
	history *history
	clock   taskClock
	repeats repeats
	result  bench.AgentResult

	steps     int
	used      int64 // tokens that the next prompt holds at least; 0: unknown
	asked     int   // max_tokens of the last request
	timedOut  bool  // our own time limit cut the last call
	reasoning int   // reasoning-only turns in a row
	empty     int   // empty responses in a row

	lastEnd    time.Time // end of the last answer; zero: no gap to measure
	ranCommand bool      // since lastEnd
}

// Run makes one attempt. Its result always has a stop reason, unless the error is
// not nil: then our side cannot record or go on, and the result holds what was
// reached. Cancelling ctx stops the attempt as interrupted.
func Run(ctx context.Context, job Job, m Model, b Box, j Journal) (bench.AgentResult, error) {
	if err := job.check(); err != nil {
		return bench.AgentResult{}, err
	}
	a := &attempt{
		job: job, model: m, journal: j,
		work:    workspace{box: b, limits: job.Limits},
		tools:   toolbox(),
		history: newHistory(job.Instruction, job.Replay == bench.ReplayStrip),
		repeats: newRepeats(),
	}
	a.result.BadCalls = map[bench.BadCall]int{}
	stop, err := a.loop(ctx)
	a.result.TaskTime = a.clock.elapsed()
	if err != nil {
		return a.result, fmt.Errorf("agent: %w", err)
	}
	a.result.Stop = *stop
	return a.result, nil
}

// turn is the number, from 1, of the answer that is worked on.
func (a *attempt) turn() int { return a.result.Turns }

func (a *attempt) loop(ctx context.Context) (*bench.Stop, error) {
	for {
		if stop := a.beforeRequest(ctx); stop != nil {
			return stop, nil
		}
		budget, stop := a.outputBudget()
		if stop != nil {
			return stop, nil
		}
		r, stop, err := a.ask(ctx, budget)
		if stop != nil || err != nil {
			return stop, err
		}
		stop, err = a.take(ctx, r)
		if stop != nil || err != nil {
			return stop, err
		}
	}
}

func (a *attempt) beforeRequest(ctx context.Context) *bench.Stop {
	if stop := a.ended(ctx); stop != nil {
		return stop
	}
	if limit := a.job.Limits.MaxTurns; a.result.Turns >= limit {
		return limitStop(bench.StopTurnLimit, "max_turns", counted(limit, "turn"), counted(a.result.Turns, "turn"),
			"the model had its turns and had not handed the work over")
	}
	return nil
}

// ended reports that the caller or the task clock has ended the attempt.
func (a *attempt) ended(ctx context.Context) *bench.Stop {
	if ctx.Err() != nil {
		return &bench.Stop{Reason: bench.StopInterrupted, Message: "the run was interrupted: " + context.Cause(ctx).Error()}
	}
	if a.clock.elapsed() >= a.job.Limits.MaxTime {
		return a.timeStop("between two steps")
	}
	return nil
}

func (a *attempt) timeStop(where string) *bench.Stop {
	return limitStop(bench.StopTimeLimit, "max_seconds", seconds(a.job.Limits.MaxTime), seconds(a.clock.elapsed()),
		"the task time was over "+where)
}

// limitStop is a stop by a limit, with value and what was reached in the words
// too.
func limitStop(reason bench.StopReason, limit, value, reached, what string) *bench.Stop {
	return &bench.Stop{
		Reason: reason, Limit: limit, Value: value, Reached: reached,
		Message: fmt.Sprintf("%s (limit %s %s, reached %s)", what, limit, value, reached),
	}
}

// bad counts a bad call and stops the attempt when there are too many.
func (a *attempt) bad(kind bench.BadCall) *bench.Stop {
	a.result.BadCalls[kind]++
	total := 0
	for _, n := range a.result.BadCalls {
		total += n
	}
	limit := a.job.Limits.MaxMalformedCalls
	if total <= limit {
		return nil
	}
	var kinds []string
	for _, k := range slices.Sorted(maps.Keys(a.result.BadCalls)) {
		kinds = append(kinds, fmt.Sprintf("%s %d", k, a.result.BadCalls[k]))
	}
	return limitStop(bench.StopMalformedCalls, "max_malformed_calls", counted(limit, "call"), counted(total, "call"),
		"too many bad calls: "+strings.Join(kinds, ", "))
}

// step writes a step of the transcript.
func (a *attempt) step(ctx context.Context, s bench.Step) error {
	s.Index, a.steps = a.steps, a.steps+1
	ctx, cancel := outlive(ctx)
	defer cancel()
	if err := a.journal.Step(ctx, s); err != nil {
		return fmt.Errorf("write step %d of the transcript: %w", s.Index, err)
	}
	return nil
}

// outlive is a context for writing down what happened, also after the attempt was
// cancelled.
func outlive(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), journalPatience)
}
