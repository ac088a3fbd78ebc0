package agent

import (
	"context"
	"fmt"
	"strings"
	"time"

	"assay/internal/bench"
)

// call is a tool call of an answer, made ready to be run.
type call struct {
	raw   bench.ToolCall
	id    string // in the history
	tool  tool
	args  arguments
	fault *fault
}

// prepare decodes the calls of an answer and gives each a valid form for the
// history. The last call of an answer that length cut is never trusted: a server
// may have closed what the model had not.
func (a *attempt) prepare(r bench.Response) (calls []call, valid []bench.ToolCall) {
	for i, raw := range r.ToolCalls {
		c := call{raw: raw, id: a.history.callID(raw.ID, a.turn(), i+1)}
		c.tool, c.args, c.fault = a.decode(raw)
		last := i == len(r.ToolCalls)-1
		if last && (r.Finish == bench.FinishLength || r.Finish == bench.FinishUnknown && c.fault != nil && c.fault.bad == bench.BadJSON) {
			c.fault = &fault{bench.BadTruncated, fmt.Sprintf("your answer reached its length limit of %s inside this call, "+
				"so it was cut and not run. Make it again in smaller pieces.", tokens(int64(a.asked)))}
		}
		v := bench.ToolCall{ID: c.id, Name: plainName(raw.Name), Arguments: "{}"}
		if c.fault == nil {
			v.Arguments = c.args.replayable(raw.Arguments)
		}
		calls, valid = append(calls, c), append(valid, v)
	}
	return calls, valid
}

func (a *attempt) decode(raw bench.ToolCall) (tool, arguments, *fault) {
	for _, t := range a.tools {
		if t.name == raw.Name {
			args, f := t.decode(raw.Arguments)
			return t, args, f
		}
	}
	return tool{}, arguments{}, &fault{bench.BadUnknownTool, fmt.Sprintf("there is no tool named %s. The tools are: %s.",
		quoted(raw.Name), strings.Join(a.toolNames(), ", "))}
}

func (a *attempt) toolNames() []string {
	var names []string
	for _, t := range a.tools {
		names = append(names, t.name)
	}
	return names
}

// takeCalls runs the calls of an answer in their order.
func (a *attempt) takeCalls(ctx context.Context, r bench.Response) (*bench.Stop, error) {
	calls, valid := a.prepare(r)
	a.history.assistant(r, valid)
	anyGood := false
	for i, c := range calls {
		if stop := a.ended(ctx); stop != nil {
			return stop, nil
		}
		if i >= maxCallsPerTurn {
			out := refuse("not run: at most %d calls of one turn are run. Make it again in the next turn.", maxCallsPerTurn)
			if err := a.answer(ctx, c, out, time.Now()); err != nil {
				return nil, err
			}
			continue
		}
		if c.fault == nil && c.tool.name == toolSubmit {
			return a.submitted(ctx, calls[i:])
		}
		stop, err := a.runCall(ctx, c)
		if stop != nil || err != nil {
			return stop, err
		}
		anyGood = anyGood || c.fault == nil
	}
	if !anyGood {
		return nil, nil
	}
	if n := a.repeats.turn(r.Text); n >= staleTurnRun {
		return &bench.Stop{
			Reason:  bench.StopNoProgress,
			Message: fmt.Sprintf("%d turns in a row repeated earlier messages, calls and answers", n),
		}, nil
	}
	return nil, nil
}

func (a *attempt) runCall(ctx context.Context, c call) (*bench.Stop, error) {
	start := time.Now()
	if c.fault != nil {
		if err := a.answer(ctx, c, refuse("%s", c.fault.text), start); err != nil {
			return nil, err
		}
		return a.bad(c.fault.bad), nil
	}
	out, err := a.execute(ctx, c)
	if err != nil {
		stop := a.boxStop(ctx, c, err)
		if err := a.step(ctx, c.step(a.turn(), refuse("%s", stop.Message), start)); err != nil {
			return nil, err
		}
		return stop, nil
	}
	if len(c.args.unknown) > 0 {
		note := fmt.Sprintf("\n(unknown fields were ignored: %s)", clip(strings.Join(c.args.unknown, ", ")))
		out.answer, out.same = out.answer+note, out.same+note
	}
	out.answer = show([]byte(out.answer), 0, a.job.Limits.ToolOutputBytes).text
	if err := a.answer(ctx, c, out, start); err != nil {
		return nil, err
	}
	if n := a.repeats.call(c.raw, out.same); n >= sameCallRun {
		return &bench.Stop{
			Reason:  bench.StopNoProgress,
			Message: fmt.Sprintf("the call %s was made %d times in a row with the same arguments and the same answer", c.tool.name, n),
		}, nil
	}
	return nil, nil
}

func (a *attempt) execute(ctx context.Context, c call) (outcome, error) {
	if c.tool.name == toolRun {
		a.ranCommand = true
		// The time may have run out since it was looked at; a wall of 0 would mean the
		// box's default.
		left := max(a.job.Limits.MaxTime-a.clock.elapsed(), time.Millisecond)
		return a.work.run(ctx, c.args.text["command"], left)
	}
	ctx, cancel := context.WithTimeout(ctx, boxPatience)
	defer cancel()
	switch c.tool.name {
	case toolRead:
		return a.work.read(ctx, c.args)
	case toolWrite:
		return a.work.write(ctx, c.args)
	case toolEdit:
		return a.work.edit(ctx, c.args)
	case toolList:
		return a.work.list(ctx, c.args)
	}
	return outcome{}, fmt.Errorf("tool %q has no implementation", c.tool.name)
}

// boxStop is the end that a box makes which no longer works.
func (a *attempt) boxStop(ctx context.Context, c call, err error) *bench.Stop {
	if ctx.Err() != nil {
		return a.ended(ctx)
	}
	return &bench.Stop{Reason: bench.StopSandboxLost, Message: fmt.Sprintf("the sandbox was lost in a call of %s: %s",
		c.tool.name, clip(err.Error()))}
}

// submitted ends the attempt with the first of the calls; those after it are
// written down and not run.
func (a *attempt) submitted(ctx context.Context, calls []call) (*bench.Stop, error) {
	for i, c := range calls {
		out := told("the work is handed over")
		if i > 0 {
			out = refuse("not run: the work was already handed over.")
		}
		if err := a.step(ctx, c.step(a.turn(), out, time.Now())); err != nil {
			return nil, err
		}
	}
	return &bench.Stop{Reason: bench.StopSubmitted, Message: "the model called submit"}, nil
}

// answer puts the answer to a call into the history and the transcript.
func (a *attempt) answer(ctx context.Context, c call, out outcome, start time.Time) error {
	a.history.answer(c.id, out.answer)
	return a.step(ctx, c.step(a.turn(), out, start))
}

func (c call) step(turn int, out outcome, start time.Time) bench.Step {
	s := bench.Step{
		Turn: turn, Kind: bench.StepTool, Tool: c.raw.Name, CallID: c.id, Arguments: c.raw.Arguments,
		Answer: out.answer, OK: out.ok, Start: start, Elapsed: time.Since(start),
	}
	if c.fault != nil {
		s.Bad = c.fault.bad
	}
	return s
}
