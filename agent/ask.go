package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"assay/internal/bench"
)

// reply is what a turn brought: an answer, or the model's own output that the
// server could not parse.
type reply struct {
	bench.Response
	unparsable bool
}

// ask makes the request of a turn, again after an infrastructure fault.
func (a *attempt) ask(ctx context.Context, budget int) (reply, *bench.Stop, error) {
	a.asked = budget
	for retries, lowered := 0, 0; ; {
		r, fault, took, err := a.call(ctx)
		if err != nil {
			return reply{}, nil, err
		}
		if ctx.Err() != nil {
			return reply{}, a.ended(ctx), nil
		}
		if a.clock.elapsed() >= a.job.Limits.MaxTime && (fault == nil || a.timedOut) {
			return reply{}, a.outOfTime(r, fault, took), nil
		}
		if fault == nil {
			a.result.Turns++
			a.measure(r)
			return reply{Response: r}, nil, nil
		}
		if fault.Fault == bench.FaultUnparsable {
			a.result.Turns++
			return reply{Response: r, unparsable: true}, nil, nil
		}
		if fault.Fault == bench.FaultContextExceeded && lowered < maxLowered && a.lower(fault) {
			lowered++
			if err := a.asksLess(ctx, fault, took); err != nil {
				return reply{}, nil, err
			}
			continue
		}
		if !transient(fault.Fault) || retries >= engineRetries || a.result.Retries >= attemptRetries {
			return reply{}, a.faultStop(r, fault, retries), nil
		}
		retries++
		if stop, err := a.backOff(ctx, fault, took, retries); stop != nil || err != nil {
			return reply{}, stop, err
		}
	}
}

// outOfTime is the end of an attempt whose time ran out in a model call. A server
// from which not one byte had come for long is lost, not slow.
func (a *attempt) outOfTime(r bench.Response, fault *bench.EngineError, took time.Duration) *bench.Stop {
	enough := longSilence
	if idle := a.job.Limits.IdleTime; idle > 0 {
		enough = min(idle, longSilence)
	}
	if fault == nil || r.Marks.FirstByte != nil || r.RawTotal > 0 || took < enough {
		return a.timeStop("during a model call")
	}
	return &bench.Stop{
		Reason: bench.StopEngineLost, Limit: "max_seconds", Value: seconds(a.job.Limits.MaxTime), Reached: seconds(a.clock.elapsed()),
		Message: fmt.Sprintf("no byte for %s when max_seconds fired (limit %s): the engine was silent from the request on",
			seconds(took), seconds(a.job.Limits.MaxTime)),
	}
}

// lower reduces what is asked for where a server counts prompt and max_tokens
// together and refuses what is longer than its context. It reports whether there
// is less to ask for; a prompt that does not fit by itself is another matter.
func (a *attempt) lower(fault *bench.EngineError) bool {
	size := fault.ContextSize
	if size == nil {
		return false
	}
	room := int64(a.asked) / 2
	if fault.PromptTokens != nil {
		room = *size - *fault.PromptTokens
	}
	if room < minAnswer || room >= int64(a.asked) {
		return false
	}
	a.asked = int(room)
	if a.job.ContextPerSlot == nil || *size < *a.job.ContextPerSlot {
		a.job.ContextPerSlot = size // what the server did not say before
	}
	return true
}

// asksLess writes down that a request is made again with a smaller max_tokens.
func (a *attempt) asksLess(ctx context.Context, fault *bench.EngineError, lost time.Duration) error {
	a.clock.replace(lost, 0)
	return a.step(ctx, bench.Step{
		Turn: a.result.Turns + 1, Kind: bench.StepRetry, OK: true, Start: time.Now(),
		Answer: fmt.Sprintf("%s; asked again for at most %d tokens", describeFault(fault), a.asked),
	})
}

// call makes one model call under the task clock and writes it down. A fault says
// why there is no whole answer, took is what the call cost in task time.
func (a *attempt) call(ctx context.Context) (r bench.Response, fault *bench.EngineError, took time.Duration, err error) {
	a.clock.begin()
	left := a.job.Limits.MaxTime - a.clock.elapsed()
	limited, cancel := context.WithTimeout(ctx, left)
	defer cancel()
	start := time.Now()
	r, respondErr := a.model.Respond(limited, bench.Request{
		Messages:        slices.Clip(a.history.messages),
		Tools:           offered(a.tools),
		MaxOutputTokens: a.asked,
		Seed:            a.job.Seed,
	})
	end := time.Now()
	wall := end.Sub(start)
	took = wall
	a.idleGap(r, start, end)

	a.timedOut = false
	switch {
	case respondErr == nil && r.Complete:
	case errors.As(respondErr, &fault): // the engine's doing, also where our limit fired just after it
	case limited.Err() != nil:
		a.timedOut = true
		fault = &bench.EngineError{Fault: bench.FaultCut, Status: r.Status, Message: "ended by us: " + why(ctx), Err: respondErr}
	case respondErr == nil:
		fault = &bench.EngineError{Fault: bench.FaultCut, Status: r.Status, Message: "the answer has no end mark"}
	default:
		return r, nil, took, fmt.Errorf("model client: %w", respondErr)
	}
	if r.Simulated != nil {
		took = *r.Simulated
		a.clock.replace(wall, took)
	}
	a.lastEnd = time.Time{}
	if fault == nil || fault.Fault == bench.FaultUnparsable {
		a.lastEnd, a.ranCommand = answerEnd(r, start, end), false
	}
	return r, fault, took, a.record(ctx, r, fault, start, took)
}

func why(ctx context.Context) string {
	if ctx.Err() != nil {
		return "interrupted"
	}
	return "limit max_seconds"
}

func (a *attempt) record(ctx context.Context, r bench.Response, fault *bench.EngineError, start time.Time, took time.Duration) error {
	out, cancel := outlive(ctx)
	defer cancel()
	turn := a.result.Turns + 1
	if err := a.journal.Response(out, turn, r, fault); err != nil {
		return fmt.Errorf("write response of turn %d: %w", turn, err)
	}
	return a.step(ctx, bench.Step{Turn: turn, Kind: bench.StepModel, OK: fault == nil, Start: start, Elapsed: took})
}

// idleGap notes how long the engine had nothing to do since the last answer.
func (a *attempt) idleGap(r bench.Response, start, end time.Time) {
	if a.lastEnd.IsZero() {
		return
	}
	if sent := r.Marks.Start; sent.After(start) && sent.Before(end) {
		start = sent
	}
	a.result.EngineIdle = append(a.result.EngineIdle, bench.IdleGap{Elapsed: start.Sub(a.lastEnd), FileOnly: !a.ranCommand})
}

// answerEnd is when the last byte of an answer came, else when the call returned.
func answerEnd(r bench.Response, start, end time.Time) time.Time {
	if r.Marks.End != nil && !r.Marks.Start.IsZero() {
		if at := r.Marks.Start.Add(*r.Marks.End); at.After(start) && at.Before(end) {
			return at
		}
	}
	return end
}
