package agent

import (
	"context"
	"fmt"
	"strings"
	"time"

	"assay/internal/bench"
)

// take works on the answer of a turn. A nil stop means: ask again.
func (a *attempt) take(ctx context.Context, r reply) (*bench.Stop, error) {
	if r.unparsable {
		return a.takeUnparsable(ctx)
	}
	if r.Refusal != "" {
		return &bench.Stop{Reason: bench.StopModelRefused, Message: "the model refused: " + clip(r.Refusal)}, nil
	}
	if stop := a.overSequence(r.Response); stop != nil {
		return stop, nil
	}
	switch {
	case len(r.ToolCalls) > 0:
		a.reasoning, a.empty = 0, 0
		return a.takeCalls(ctx, r.Response)
	case r.Finish == bench.FinishLength:
		return a.cut(r.Response), nil
	case strings.TrimSpace(r.Text) != "":
		a.reasoning, a.empty = 0, 0
		return a.takeMessage(ctx, r.Response)
	case strings.TrimSpace(r.Reasoning) != "":
		a.empty = 0
		a.reasoning++
		if a.reasoning >= maxReasoningOnly {
			return &bench.Stop{Reason: bench.StopReasoningExhausted, Message: fmt.Sprintf(
				"%d turns in a row held nothing but reasoning", a.reasoning)}, nil
		}
		return nil, a.nudge(ctx, r.Response, reasoningOnlyText)
	}
	a.reasoning = 0
	a.empty++
	if a.empty >= maxEmpty {
		return &bench.Stop{Reason: bench.StopEmptyResponses, Message: fmt.Sprintf(
			"%d responses in a row held nothing", a.empty)}, nil
	}
	return nil, a.nudge(ctx, r.Response, emptyText)
}

// nudge answers a turn without a call.
func (a *attempt) nudge(ctx context.Context, r bench.Response, text string) error {
	a.history.assistant(r, nil)
	a.history.user(text)
	return a.step(ctx, bench.Step{Turn: a.turn(), Kind: bench.StepReminder, Answer: text, OK: true, Start: time.Now()})
}

// takeMessage works on a message without a call: once it is answered by the
// reminder and counts as a bad call, else it hands the work over.
func (a *attempt) takeMessage(ctx context.Context, r bench.Response) (*bench.Stop, error) {
	if !a.job.Reminder {
		return &bench.Stop{Reason: bench.StopFinalMessage, Message: "the model ended with a message instead of a call"}, nil
	}
	if a.result.Reminders > 0 {
		return &bench.Stop{Reason: bench.StopFinalMessage, Message: "the model ended with a message instead of a call, after one reminder"}, nil
	}
	if stop := a.bad(bench.BadNoCall); stop != nil {
		return stop, nil
	}
	a.result.Reminders++
	return nil, a.nudge(ctx, r, reminderText)
}

// takeUnparsable counts output that the server could not parse as a bad call: the
// text never reached us, so the history says only that it was there.
func (a *attempt) takeUnparsable(ctx context.Context) (*bench.Stop, error) {
	a.reasoning, a.empty = 0, 0
	stop := a.bad(bench.BadJSON)
	err := a.step(ctx, bench.Step{
		Turn: a.turn(), Kind: bench.StepTool, Bad: bench.BadJSON, Start: time.Now(),
		Answer: unparsableText,
	})
	if stop != nil || err != nil {
		return stop, err
	}
	a.history.assistant(bench.Response{}, nil)
	a.history.user(unparsableText)
	return nil, nil
}
